"""Load test: predict a stream of 100 000 small graphs through the command line, in flat memory.

    python benchmarks/predict_stream.py [GRAPHS]

Fits a model, writes a graph6 file, runs ``mpsn predict`` on its first tenth and on all of it, each
in a process of its own, and prints graphs per second and peak memory of both.
"""

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import networkx as nx

from mpsn.estimators import SimplicialClassifier

RUN = "import sys; from mpsn.cli import main; sys.argv = ['mpsn', *sys.argv[1:]]; main()"


def main() -> None:
    many = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    some = [nx.gnp_random_graph(12, p, seed=i) for i in range(100) for p in (0.2, 0.5)]
    lines = [nx.to_graph6_bytes(graph, header=False) for graph in some]
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "model.mpsn"
        SimplicialClassifier(epochs=5).fit(some, [0, 1] * 100).save(model)
        for n in (many // 10, many):
            file = Path(folder) / f"{n}.g6"
            with file.open("wb") as out:
                out.writelines(lines[i % len(lines)] for i in range(n))
            start = time.perf_counter()
            subprocess.run(
                [sys.executable, "-c", RUN, "predict", model, file, "-o", file.with_suffix(".csv")],
                check=True,
            )
            seconds = time.perf_counter() - start
            peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
            rows = sum(1 for _ in file.with_suffix(".csv").open()) - 1
            print(
                f"{rows} graphs in {seconds:.0f} s, {rows / seconds:.0f} a second, {peak:.0f} MiB"
            )


if __name__ == "__main__":
    main()
