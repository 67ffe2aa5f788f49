"""How much of mpsn one warm forward pass of a layer runs: calls, functions, files and branches.

    python benchmarks/calls.py

Calls of Python functions of mpsn, and the lines that branch, each counted once, on the karate club;
beside them the calls of any package.
"""

import dis
import sys
from collections import Counter
from pathlib import Path

import networkx as nx
import torch
from torch_geometric.nn import GINConv

import mpsn

HERE = str(Path(mpsn.__file__).parent)


def count(run):
    """Return the calls by function, the lines that branch, and the number of calls anywhere."""
    calls, branches, everywhere = Counter(), set(), 0
    jumps = {}  # code to the line of each conditional jump, by offset

    def trace(frame, event, _):
        nonlocal everywhere
        everywhere += 1
        code = frame.f_code
        if not code.co_filename.startswith(HERE):
            return None
        calls[code] += 1
        if code not in jumps:
            steps = [step for step in dis.get_instructions(code) if "_IF_" in step.opname]
            jumps[code] = {step.offset: step.positions.lineno for step in steps}
        frame.f_trace_lines, frame.f_trace_opcodes = False, True

        def step(frame, event, _):
            if event == "opcode" and frame.f_lasti in jumps[frame.f_code]:
                branches.add((frame.f_code.co_filename, jumps[frame.f_code][frame.f_lasti]))
            return step

        return step

    sys.settrace(trace)
    try:
        run()
    finally:
        sys.settrace(None)
    return calls, branches, everywhere


def main():
    torch.manual_seed(0)
    K = mpsn.clique_complex(nx.karate_club_graph(), 2)
    xs = [torch.randn(n, 16, requires_grad=True) for n in K.counts]
    ends = K.incidence(1).table.T
    gin = GINConv(torch.nn.Linear(16, 16))
    layers = {
        "SINConv": (mpsn.nn.SINConv(16, 16, 2), K, xs),
        "SINConv without co-faces": (mpsn.nn.SINConv(16, 16, 2, coface_message=False), K, xs),
        "CINConv with lower neighbors": (mpsn.nn.CINConv(16, 16, 2, lower=True), K, xs),
        "GINConv of PyG": (gin, xs[0], torch.cat([ends, ends.flip(0)], 1)),
    }
    for name, (layer, *args) in layers.items():
        for _ in range(2):
            layer(*args)
        calls, branches, everywhere = count(lambda layer=layer, args=args: layer(*args))
        files = {code.co_filename for code in calls}
        print(
            f"{name}: {calls.total()} calls of {len(calls)} functions in {len(files)} files, "
            f"{len(branches)} lines that branch; {everywhere} calls of any package"
        )
        for code, number in calls.most_common() if "-v" in sys.argv else ():
            print(f"  {number:3} {Path(code.co_filename).name} {code.co_qualname}")


if __name__ == "__main__":
    main()
