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
from mpsn.experiments.experiment import Place
from mpsn.experiments.flow_training import Training, epoch, orders, train
from mpsn.nn.models import EdgeFlowConfig, EdgeFlowNet, EdgeFlowStack
from mpsn.nn.models.edge_flow_stack import _bag

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
    return EdgeFlowStack([EdgeFlowNet(EdgeFlowConfig(**settings)).cuda() for _ in SEEDS], K)


def one_step(stack, flows, labels, form):
    """Return a function that takes one training step."""
    order = next(iter(orders(len(labels), Training(epochs=1), SEEDS)))[:1].cuda()
    run = torch.compile(stack) if form == "compiled" else stack
    adam = torch.optim.Adam(stack.parameters(), fused=True, capturable=form == "captured")
    step = lambda: epoch(run, adam, flows, labels, order)  # noqa: E731
    if form != "captured":
        return step
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    return graph.replay


def parts(stack, K):
    """Time the pieces of one inner layer, in ms, and other ways to compute them."""
    products, E = stack.products, K.count(1)
    h = torch.randn(5, E, 64, 64, device=CUDA)
    z = _bag(products.spread, h)
    weights = [torch.randn(5, 64, 64, device=CUDA) for _ in range(3)]
    q = products.project(h, z, weights)
    grad = torch.randn_like(h)

    def sparse(product, rows, columns):
        index, offsets, values = product
        ptr = torch.cat([offsets, offsets.new_tensor([len(index)])])
        return torch.sparse_csr_tensor(
            ptr.int(), index.int(), values.float(), (5 * rows, 5 * columns), device=CUDA
        )

    M = sum(products.blocks)
    spread, collect = sparse(products.spread, M, E), sparse(products.collect, E, E + M)
    flat_h, flat_q = h.flatten(0, 1).flatten(1), q.flatten(0, 1).flatten(1)
    tasks = {
        "copy": lambda: h.clone(),
        "spread, bag": lambda: _bag(products.spread, h),
        "collect, bag": lambda: _bag(products.collect, q),
        "spread, csr": lambda: spread @ flat_h,
        "collect, csr": lambda: collect @ flat_q,
        "project": lambda: products.project(h, z, weights),
        "gradients of weights": lambda: [p.mT @ p for p in products.parts(h, z)],
        "tanh": lambda: h.tanh(),
        "tanh backward": lambda: torch.ops.aten.tanh_backward(grad, h),
        "abs, sum": lambda: h.abs().sum(1),
    }
    out = {name: milliseconds(task) for name, task in tasks.items()}
    torch.set_float32_matmul_precision("high")
    out["project, tf32"] = milliseconds(tasks["project"])
    out["gradients of weights, tf32"] = milliseconds(tasks["gradients of weights"])
    torch.set_float32_matmul_precision("highest")
    return out


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
    for name in ("MPSN Tanh", "GNN L0-inv"):
        for form in ("eager", "eager, tf32", "captured", "compiled"):
            torch.set_float32_matmul_precision("high" if "tf32" in form else "highest")
            try:
                step = one_step(stack_of(MODELS[name], K), flows, labels, form)
                took = milliseconds(step, 20)
            except Exception as error:
                took = repr(error)[:300]
            result["step_ms"][f"{name}, {form}"] = took
            print(name, form, took, flush=True)
    torch.set_float32_matmul_precision("highest")
    whole = time.perf_counter()
    for name, settings in MODELS.items():
        start = time.perf_counter()
        make = lambda settings=settings: EdgeFlowNet(EdgeFlowConfig(**settings))  # noqa: E731
        runs = train(make, data, Training(), SEEDS, Place(CUDA, None, lambda n: None))
        torch.cuda.synchronize()
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
