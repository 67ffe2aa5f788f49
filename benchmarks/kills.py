"""Kill ``mpsn reproduce --jobs 2``, ``fit`` and ``predict`` at random moments, again and again.

    python benchmarks/kills.py [--kills 50] [--seed 0]

After every kill: no file is lost or damaged, no part of a file is left, and no process is left two
seconds later. In the end the same command runs to its end, and gives what it gives undisturbed.
"""

import argparse
import json
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import networkx as nx
import psutil

MPSN = [sys.executable, "-m", "mpsn"]
QUIET = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}


def records(folder: Path) -> dict[str, object]:
    """Return the results in all records; fails on one that is not whole."""
    return {
        str(path.relative_to(folder)): json.loads(path.read_text())["runs"]
        for path in folder.rglob("*.json")
    }


def contents(folder: Path) -> dict[str, object]:
    """Return all files but checkpoints, which a command that goes on replaces."""
    found = [path for path in folder.rglob("*.*") if ".resume" not in path.name]
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


def left_over(children: list[psutil.Process]) -> int:
    """Return the number of processes of a killed command after two seconds, and end them."""
    _, alive = psutil.wait_procs(children, timeout=2)
    left = 0
    for process in alive:
        with suppress(psutil.NoSuchProcess):
            left += process.status() != psutil.STATUS_ZOMBIE  # ended, and not yet collected
            process.kill()
    return left


def kill_often(
    name: str,
    command: Callable[[Path], list[str]],
    found: Callable[[Path], dict[str, object]],
    kills: int,
    rng: random.Random,
) -> bool:
    """Kill a command; print what was lost and left. The folder keeps what is in it."""
    with tempfile.TemporaryDirectory() as where:
        calm, hit = Path(where) / "calm", Path(where) / "hit"
        calm.mkdir()
        hit.mkdir()
        start = time.perf_counter()
        subprocess.run([*MPSN, *command(calm)], check=True, **QUIET)
        whole = time.perf_counter() - start
        lost = stray = orphans = killed = 0
        before: dict[str, object] = {}
        while killed < kills:
            victim = psutil.Popen([*MPSN, *command(hit)], **QUIET)
            with suppress(psutil.TimeoutExpired, subprocess.TimeoutExpired):
                victim.wait(timeout=rng.uniform(0, whole))
            ended = victim.poll() is not None
            if not ended:
                killed += 1
                children = victim.children(recursive=True)
                victim.kill()
                victim.wait()
                orphans += left_over(children)
            now = found(hit)
            lost += sum(now.get(path) != content for path, content in before.items())
            stray += len(list(hit.rglob("*.part")))
            before = now
            if ended:  # so that there is something to do again
                shutil.rmtree(hit)
                hit.mkdir()
                before = {}
        subprocess.run([*MPSN, *command(hit)], check=True, **QUIET)
        same = found(hit) == found(calm)
        print(
            f"{name}: {killed} kills, {lost} files lost or changed, "
            f"{stray} parts left, {orphans} processes left after 2 s; in the end "
            f"{'the same as' if same else 'NOT the same as'} undisturbed",
            flush=True,
        )
        return same and not (lost or stray or orphans)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    rng = random.Random(arguments.seed)
    with tempfile.TemporaryDirectory() as where:
        data = Path(where)
        for kind, p in (("thin", 0.2), ("thick", 0.6)):
            (data / kind).mkdir()
            for i in range(200):
                nx.write_graph6(nx.gnp_random_graph(15, p, seed=i), data / kind / f"{i}.g6")
        fit = ["fit", f"{data}/thin", f"{data}/thick", "--epochs", "5", "--device", "cpu"]
        subprocess.run([*MPSN, *fit, "-o", f"{data}/model.mpsn"], check=True, **QUIET)
        sr = ["reproduce", "sr", "--quick", "--seeds", "2", "--model", "gin,swl", "--jobs", "2"]
        predict = ["predict", f"{data}/model.mpsn", f"{data}/thin"]
        held = [
            kill_often(name, command, found, arguments.kills, rng)
            for name, command, found in (
                ("reproduce", lambda out: [*sr, "--out", str(out)], records),
                ("fit", lambda out: [*fit, "-o", str(out / "model.mpsn")], contents),
                ("predict", lambda out: [*predict, "-o", str(out / "p.csv")], contents),
            )
        ]
    sys.exit(not all(held))


if __name__ == "__main__":
    main()
