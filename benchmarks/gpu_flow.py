"""Edge-flow training on a GPU. Run ``python benchmarks/gpu_flow.py [results.json]``.

Times the whole table of the synthetic set: 5 models x 5 seeds.
"""

import json
import statistics
import sys
import time
from pathlib import Path

import torch

from mpsn.datasets import synthetic_flows
from mpsn.nn.models import EdgeFlowNet
from mpsn_reproduction.experiment import Resources
from mpsn_reproduction.papers.flow import Training, train

CUDA = torch.device("cuda")
SEEDS = range(5)
MODELS = {
    "GNN L0-inv": {"act": "relu", "l0_inv": True, "upper": False},
    "MPSN L0-inv": {"act": "relu", "l0_inv": True},
    "MPSN ReLU": {"act": "relu"},
    "MPSN Id": {"act": "id"},
    "MPSN Tanh": {"act": "tanh"},
}


def train_row(data, settings, training):
    return train(
        lambda: EdgeFlowNet(**settings),
        data,
        training,
        SEEDS,
        Resources(CUDA, None, lambda n: None),
    )


def main():
    start = time.perf_counter()
    data = synthetic_flows()
    result = {
        "device": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "data": repr(data),
        "data_s": time.perf_counter() - start,
        "table": {},
    }
    print(result)
    twice = [train_row(data, MODELS["MPSN Tanh"], Training(epochs=1)) for _ in range(2)]
    result["same twice"] = twice[0] == twice[1]
    print("the same twice:", result["same twice"], flush=True)
    whole = time.perf_counter()
    for name, settings in MODELS.items():
        start = time.perf_counter()
        runs = train_row(data, settings, Training())
        row = {"seconds": time.perf_counter() - start}
        for part in ("train", "test"):
            values = [run.metrics[part] for run in runs]
            row[part] = [statistics.mean(values), statistics.stdev(values)]
        result["table"][name] = row
        print(name, row, flush=True)
    result["table_s"] = time.perf_counter() - whole
    result["peak_gib"] = torch.cuda.max_memory_allocated() / 2**30
    print(result["table_s"], result["peak_gib"])
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
