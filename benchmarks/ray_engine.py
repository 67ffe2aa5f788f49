"""What the Ray engine costs and survives, on a cluster of two cores on this machine.

    python benchmarks/ray_engine.py [--part many|long|kills] [--jobs 20] [--kills 20]

many:  1000 jobs of a millisecond, beside the same in this process without an engine
long:  a sweep of jobs of ten seconds (which sleep), beside the time that the jobs alone take
kills: workers are killed while they run jobs of half a second; all jobs are recorded once
"""

import argparse
import os
import random
import signal
import tempfile
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from mpsn_reproduction import LocalEngine, RayEngine
from mpsn_reproduction.cluster import connect
from mpsn_reproduction.engine import run
from mpsn_reproduction.experiment import Experiment, Job, Run
from mpsn_reproduction.table import Table

CORES = 2


@dataclass(frozen=True)
class Pause:
    number: int
    seconds: float


def work(job, resources):
    time.sleep(job.config.seconds)
    return [Run(seed, 0, {"number": job.config.number}) for seed in job.seeds]


PAUSES = Experiment(
    "pauses",
    Pause,
    jobs=lambda row, config, seeds: [Job(row, config, seeds=seeds)],
    read=lambda source, folder: None,
    work=work,
    steps=lambda job: 1,
    table=lambda records: Table("", [], []),
    figures=lambda records, data: {},
    seeds=1,
)


def sweep(many, seconds, engine):
    """Return the wall time of a sweep; check that every job is recorded, and once."""
    configs = {f"row{i}": Pause(i, seconds) for i in range(many)}
    with tempfile.TemporaryDirectory() as out:
        began = time.perf_counter()
        records = run(PAUSES, configs, 1, out=Path(out), engine=engine).records
        took = time.perf_counter() - began
        files = list(Path(out).rglob("*.json"))
    found = sorted(run.metrics["number"] for record in records for run in record.runs)
    assert found == list(range(many)), "jobs were lost, or recorded twice"
    assert len(files) == many
    return took


def workers():
    """Return the processes of our workers that run a job."""
    found = []
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            if "ray::_perform" in " ".join(process.cmdline()):
                found.append(process)
    return found


def kill_often(kills, done, rng):
    """Kill a random worker again and again, while it runs a job."""
    killed = 0
    while killed < kills and not done.is_set():
        time.sleep(rng.uniform(0.1, 1.0))
        if running := workers():
            with suppress(psutil.NoSuchProcess):
                rng.choice(running).send_signal(signal.SIGKILL)
                killed += 1
    return killed


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", choices=["many", "long", "kills"])
    parser.add_argument("--jobs", type=int, default=20, help="jobs of ten seconds")
    parser.add_argument("--kills", type=int, default=20)
    arguments = parser.parse_args()
    parts = [arguments.part] if arguments.part else ["many", "long", "kills"]

    began = time.perf_counter()
    os.environ.pop("RAY_ADDRESS", None)
    connect(None)
    start = time.perf_counter() - began
    began = time.perf_counter()
    sweep(CORES, 0.0, RayEngine())
    imports = time.perf_counter() - began
    print(f"start {start:.1f} s, imports {imports:.1f} s (load {os.getloadavg()[0]:.1f})")
    if "many" in parts:
        alone = sweep(1000, 0.001, LocalEngine())
        began = time.process_time()
        took = sweep(1000, 0.001, RayEngine())
        print(
            f"1000 jobs of 1 ms: {took:.1f} s, {time.process_time() - began:.1f} s of CPU here; "
            f"{alone:.1f} s one after another without Ray (load {os.getloadavg()[0]:.1f})"
        )
    if "long" in parts:
        took, ideal = sweep(arguments.jobs, 10.0, RayEngine()), arguments.jobs * 10 / CORES
        print(
            f"{arguments.jobs} jobs of 10 s on {CORES} cores: {took:.1f} s, {took / ideal - 1:.1%} "
            f"more than the jobs alone; {(took + start + imports) / ideal - 1:.1%} with start and "
            "imports"
        )
    if "kills" in parts:
        done, killed = threading.Event(), []
        rng = random.Random(0)
        thread = threading.Thread(
            target=lambda: killed.append(kill_often(arguments.kills, done, rng))
        )
        thread.start()
        many = 4 * arguments.kills
        took = sweep(many, 0.5, RayEngine())
        done.set()
        thread.join()
        print(f"{killed[0]} kills in {took:.0f} s: {many} of {many} jobs recorded, each once")


if __name__ == "__main__":
    main()
