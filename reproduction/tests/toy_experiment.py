"""An experiment that takes no time, for the tests of the engine."""

import json
import os
import time
from dataclasses import dataclass, replace
from pathlib import Path
from time import sleep
from typing import Self

from mpsn.errors import FileError, MissingDataError
from mpsn_reproduction.experiment import Experiment, Job, Record, Resources, Run
from mpsn_reproduction.table import Table


@dataclass(frozen=True)
class Inner:
    width: int = 2


@dataclass(frozen=True)
class ToyConfig:
    scale: float
    epochs: int = 3
    inner: Inner = Inner()
    sizes: tuple[int, ...] | None = None
    pause: float = 0.0

    def quick(self) -> Self:
        return replace(self, epochs=1)


def jobs(row: str, config: ToyConfig, seeds: tuple[int, ...]) -> list[Job]:
    return [Job(row, config, data, seeds, (0, 1)) for data in ("small one", "large one")]


def read(name: str, folder: Path | None) -> str:
    if folder is not None and name == "large one":
        raise MissingDataError(f"Expected the large one in {folder}, got nothing.")
    return name


def work(job: Job, resources: Resources) -> list[Run]:
    if job.config.scale < 0:
        raise FileError("Expected a scale above 0, got less.")
    if folder := os.environ.get("TOY_STARTS"):
        (Path(folder) / f"started-{os.getpid()}").touch()
    curves = []
    for epoch in range(job.config.epochs):
        curves.append(job.config.scale * epoch)
        sleep(job.config.pause)
        resources.tick(1)
    return [
        Run(s, f, {"score": job.config.scale * (10 * s + f)}, {"loss": curves})
        for s in job.seeds
        for f in job.folds
    ]


def table(records: list[Record]) -> Table:
    rows = [[str(r.job), str(len(r.runs))] for r in records]
    return Table("Toys & <things>", ["job", "runs"], rows, ["A note."])


def figures(records, data):
    from matplotlib import pyplot as plt

    figure, ax = plt.subplots(figsize=(2, 2))
    for record in records:
        ax.plot(record.runs[0].curve["loss"])
    return {"curves": figure}


def steps(job: Job) -> int:
    return job.config.epochs


EXPERIMENT = Experiment("toy", ToyConfig, jobs, read, work, steps, table, figures, 2)


def folder_of(name: str, folder: Path | None) -> Path | None:
    return folder


def logged(job: Job, resources: Resources) -> list[Run]:
    """Work on a Ray cluster, and note the beginning and the end in the folder of the data."""
    import ray

    name = f"{job}-{ray.get_runtime_context().get_node_id()}-{time.monotonic_ns()}"
    (resources.data / f"begun-{name}").touch()
    runs = work(job, resources)
    (resources.data / f"ended-{name}").touch()
    return runs


def refuse(job: Job, resources: Resources) -> list[Run]:
    raise FileError(f"Expected nothing to run, got the job {job}.")


LOGGED = replace(EXPERIMENT, read=folder_of, work=logged)


def contents(folder: Path) -> dict[str, object]:
    """Return all records without what differs between runs: times, memory and threads."""
    found = {}
    for path in sorted(folder.rglob("*.json")):
        values = json.loads(path.read_text())
        values["environment"].pop("threads")
        found[str(path.relative_to(folder))] = {
            k: v for k, v in values.items() if k not in ("seconds", "memory", "finished")
        }
    return found
