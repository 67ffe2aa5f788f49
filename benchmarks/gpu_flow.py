"""Edge-flow training on a GPU. Run ``python benchmarks/gpu_flow.py [results.json]``.

Times a training step of five networks side by side in several forms, its parts, and the whole table
of the synthetic set: 5 models x 5 seeds, for which the goal is 90 s.
"""

import json
import statistics
import sys
import time
from pathlib import Path

import torch
from gpu_complexes import milliseconds

from mpsn.datasets import synthetic_flows
from mpsn.nn.models import EdgeFlowNet
from mpsn.training._capture import Capture
from mpsn_reproduction.engines.flow_stack import EdgeFlowStack, _product_of_rows
from mpsn_reproduction.engines.flow_training import Training, train, training_steps
from mpsn_reproduction.experiment import Resources

CUDA = torch.device("cuda")
SEEDS = range(5)
MODELS = {
    "GNN L0-inv": {"act": "relu", "l0_inv": True, "upper": False},
    "MPSN L0-inv": {"act": "relu", "l0_inv": True},
    "MPSN ReLU": {"act": "relu"},
    "MPSN Id": {"act": "id"},
    "MPSN Tanh": {"act": "tanh"},
}


def stack_of(settings, K):
    torch.manual_seed(0)
    return EdgeFlowStack([EdgeFlowNet(**settings).cuda() for _ in SEEDS], K)


def one_step(stack, flows, labels, form):
    """Return a function that takes one training step."""
    capture = Capture(CUDA, "captured" in form)
    steps = training_steps(stack, flows, labels, Training(), capture)
    index = torch.arange(5 * 64, device=CUDA).view(5, 64)

    def step():
        with capture.stream():
            steps.step((index, ()))

    return step


def parts(stack, K):
    """Time the pieces of one inner layer, in ms, and other ways to compute them."""
    products, E = stack.products, K.count(1)
    h = torch.randn(5 * E, 64, 64, device=CUDA)
    z = products.spread.times(h)
    weights = [torch.randn(5, 64, 64, device=CUDA) for _ in range(3)]
    q = products.project(h, z, weights)

    def bag(A, x):
        return torch.nn.functional.embedding_bag(
            A.index, x.flatten(1), A.ptr[:-1], mode="sum", per_sample_weights=A.weight.float()
        )

    def csr(A, x):
        matrix = torch.sparse_csr_tensor(
            A.ptr.int(),
            A.index.int(),
            A.weight.float(),
            (len(A.ptr) - 1, len(x)),
            check_invariants=False,
        )
        return lambda: matrix @ x.flatten(1)

    def of_weights():
        return [_product_of_rows(p, p, 64) for p in products.parts(h, z)]

    tasks = {
        "copy": lambda: h.clone(),
        "spread": lambda: products.spread.times(h),
        "spread, bag": lambda: bag(products.spread, h),
        "spread, csr": csr(products.spread, h),
        "collect": lambda: products.collect.times(q),
        "collect, csr": csr(products.collect, q),
        "project": lambda: products.project(h, z, weights),
        "gradients of weights": of_weights,
        "tanh": lambda: h.tanh(),
        "tanh backward": lambda: torch.ops.aten.tanh_backward(h, h),
        "abs, sum": lambda: h.view(5, E, 64, 64).abs().sum(1),
    }
    assert torch.allclose(bag(products.spread, h), z.flatten(1), atol=1e-4)
    out = {name: milliseconds(task) for name, task in tasks.items()}
    torch.set_float32_matmul_precision("high")
    out["project, tf32"] = milliseconds(tasks["project"])
    out["gradients of weights, tf32"] = milliseconds(tasks["gradients of weights"])
    torch.set_float32_matmul_precision("highest")
    return out


def train_row(data, settings, training):
    return train(
        lambda: EdgeFlowNet(**settings),
        data,
        training,
        SEEDS,
        Resources(CUDA, None, lambda n: None),
    )


def save(result):
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text(json.dumps(result, indent=1))


def main():
    start = time.perf_counter()
    data = synthetic_flows()
    result = {
        "device": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "data": repr(data),
        "data_s": time.perf_counter() - start,
        "step_ms": {},
        "table": {},
    }
    print(result)
    K, flows = data.complex.to(CUDA), data.x[:, data.train].cuda()
    labels = data.y[data.train].cuda()
    result["parts_ms"] = parts(stack_of(MODELS["MPSN Tanh"], K), K)
    print(json.dumps(result["parts_ms"], indent=1), flush=True)
    save(result)
    for name in ("MPSN Tanh", "GNN L0-inv"):
        for form in ("eager", "captured", "captured, tf32"):
            torch.set_float32_matmul_precision("high" if "tf32" in form else "highest")
            took = milliseconds(one_step(stack_of(MODELS[name], K), flows, labels, form), 20)
            result["step_ms"][f"{name}, {form}"] = took
            print(name, form, took, flush=True)
    torch.set_float32_matmul_precision("highest")
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
        save(result)
    result["table_s"] = time.perf_counter() - whole
    result["peak_gib"] = torch.cuda.max_memory_allocated() / 2**30
    print(result["table_s"], result["peak_gib"])
    save(result)


if __name__ == "__main__":
    main()
