"""SIN against pair lists on a GPU, and a layer in single, TF32 and half precision.

Run ``python benchmarks/gpu_nn.py [results.json] [precision]``; the last word for precisions only.
"""

import json
import sys
from pathlib import Path

import torch
from gpu_complexes import milliseconds
from pair_lists import contest
from side_by_side import small_world

import mpsn
from mpsn import nn
from mpsn.training._device import computing, products

GOALS = {"eager": 2.5, "compiled": 8.0, "memory": 0.25, "bf16_ms": 25, "bf16_memory": 0.6}


def peak(function):
    """Return the most memory a call takes beyond what is held before it, in GiB."""
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    function()
    torch.cuda.synchronize()
    return (torch.cuda.max_memory_allocated() - before) / 2**30


def precisions(K, width, device="cuda"):
    """Return name -> function: a layer forward and backward, by precision, eager and compiled."""
    torch.manual_seed(0)
    layer = nn.SINConv(width, width, max_dim=2).to(device)
    hs = [torch.randn(n, width, device=device, requires_grad=True) for n in K.counts]
    found = {}
    for mode, run in (("eager", layer), ("compiled", torch.compile(layer))):
        for precision in ("float32", "tf32", "bf16"):

            def step(run=run, precision=precision):
                for t in (*hs, *layer.parameters()):
                    t.grad = None
                with products(precision, torch.device(device)):
                    with computing(precision, torch.device(device)):
                        out = run(K, hs)
                    torch.autograd.backward(out, [torch.ones_like(y) for y in out])

            found[f"{precision} {mode}"] = step
    return found


def main():
    edges = torch.from_numpy(small_world(100_000, 20, 0.1)).cuda()
    K = mpsn.clique_complex((edges, 100_000), 2)
    rows = []
    tasks = {} if "precision" in sys.argv[2:] else contest(K, width=64, device="cuda")
    for task, contestants in {**tasks, "precision": precisions(K, 64)}.items():
        for who, run in contestants.items():
            ms = milliseconds(run)
            rows.append({"task": task, "who": who, "ms": ms, "peak_gib": peak(run)})
            first = next(row for row in rows if row["task"] == task)
            rows[-1]["faster"] = first["ms"] / ms
            rows[-1]["memory"] = rows[-1]["peak_gib"] / first["peak_gib"]
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, {K}, width 64, {GOALS=}")
    print(f"{'task':18} {'who':14} {'ms':>8} {'GiB':>7} {'faster':>7} {'memory':>7}")
    for r in rows:
        print(
            f"{r['task']:18} {r['who']:14} {r['ms']:8.2f} {r['peak_gib']:7.2f} "
            f"{r['faster']:7.2f} {r['memory']:7.2f}"
        )
    if len(sys.argv) > 1:
        about = {"device": torch.cuda.get_device_name(), "torch": torch.__version__}
        Path(sys.argv[1]).write_text(json.dumps({**about, "counts": K.counts, "rows": rows}))


if __name__ == "__main__":
    main()
