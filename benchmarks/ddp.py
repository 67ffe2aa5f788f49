"""Train one network in one process, and in several: time per epoch.

    MPSN_DATA=DIR python benchmarks/ddp.py [--processes 2] [--rounds 3] [--device cpu]

IMDB-BINARY with the settings of ``mpsn reproduce tu`` (``tu``) and of ``SimplicialClassifier``
(``fit``). Each process has one thread. Rounds of one and of several processes take turns; the
fastest epoch of each counts. Where other programs run, compare process times: they leave out the
time that a process waits.
"""

import argparse
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import torch
from torch import distributed as dist
from tu_data import setup, splits

from mpsn.datasets import TU
from mpsn.estimators import SimplicialClassifier
from mpsn.training import Trainer, joined, rank, world_size
from mpsn_reproduction.experiment import Resources
from mpsn_reproduction.train import train_classifiers

EPOCHS = 4


class Clock:
    """Notes wall and process time of epochs."""

    def __init__(self) -> None:
        self.at: list[tuple[float, float]] = []

    def tick(self, _: object) -> None:
        """Note the end of an epoch."""
        self.at.append((time.perf_counter(), time.process_time()))

    def best(self) -> list[float]:
        """Return the shortest wall and process time of an epoch."""
        each = [
            [end - start for start, end in zip(a, b, strict=True)]
            for a, b in zip(self.at, self.at[1:], strict=False)
        ]
        return [min(times) for times in zip(*each, strict=True)]


def work(kind: str, device: str, graphs: int) -> dict[str, object]:
    """Train; return the times of an epoch in all processes."""
    data, clock = TU("IMDB-BINARY"), Clock()
    some = torch.randperm(len(data.y), generator=torch.Generator().manual_seed(1))[:graphs]
    complexes, y = data.complexes[some], data.y[some]
    if kind == "tu":
        settings, build = setup(data, "sin", EPOCHS)
        split = splits(y)[0]
        place = Resources(torch.device(device), None, clock.tick)
        train_classifiers(build, complexes, y, [split], [0], settings, place)
    else:
        how = Trainer.settings(lr=0.01, batch_size=64, epochs=EPOCHS, callbacks=[clock.tick])
        model = SimplicialClassifier(members=1, kernel=False, device=device, trainer=how)
        model.fit(list(complexes), y.numpy())
    times = [clock.best()]
    if world_size() > 1:
        times = [[0.0, 0.0]] * world_size()
        dist.all_gather_object(times, clock.best())
    return {"wall": max(wall for wall, _ in times), "cpu": [cpu for _, cpu in times]}


def start(kind: str, device: str, graphs: int, processes: int) -> dict[str, object]:
    """Run :func:`work` in several processes of their own."""
    with socket.socket() as free, tempfile.TemporaryDirectory() as folder:
        free.bind(("127.0.0.1", 0))
        place = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free.getsockname()[1])}
        free.close()
        out, running = Path(folder) / "out.json", []
        for number in range(processes):
            own = {"RANK": number, "LOCAL_RANK": number, "WORLD_SIZE": processes}
            own["OMP_NUM_THREADS"] = 1
            env = {**os.environ, **place, **{name: str(value) for name, value in own.items()}}
            command = [sys.executable, __file__, "--work", kind, "--device", device]
            command += ["--graphs", str(graphs), "--out", str(out)]
            running.append(subprocess.Popen(command, env=env))
        failed = [process.wait() for process in running]
        if any(failed):
            raise SystemExit(f"{kind} failed in {processes} processes")
        return json.loads(out.read_text())


def main() -> None:
    """Compare one process with several."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--kinds", default="tu,fit")
    parser.add_argument("--graphs", type=int, default=1000)
    parser.add_argument("--work", help=argparse.SUPPRESS)
    parser.add_argument("--out", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.work:
        torch.set_num_threads(1)
        with joined():
            found = work(given.work, given.device, given.graphs)
            if rank() == 0:
                given.out.write_text(json.dumps(found))
        return
    for kind in given.kinds.split(","):
        rounds = [
            [start(kind, given.device, given.graphs, n) for n in (1, given.processes)]
            for _ in range(given.rounds)
        ]
        one, many = zip(*rounds, strict=True)
        walls = [min(found["wall"] for found in each) for each in (one, many)]
        cpus = [min(max(found["cpu"]) for found in each) for each in (one, many)]
        print(
            f"{kind}: epoch {walls[0]:.2f} s in one process, {walls[1]:.2f} s in "
            f"{given.processes}: {walls[0] / walls[1]:.2f}x; process time {cpus[0]:.2f} s, "
            f"{cpus[1]:.2f} s each: {cpus[0] / cpus[1]:.2f}x",
            flush=True,
        )


if __name__ == "__main__":
    main()
