"""What an experiment is: a typed config, jobs, a pure job function, a table and figures."""

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from mpsn.errors import FileError
from mpsn_reproduction.table import Cell, Table, difference

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Job:
    """Runs that are computed and recorded together.

    Attributes:
        row: Name of the config, a row of the table.
        config: The experiment's typed config.
        data: Name of the data, if a row covers several data sets.
        seeds: Seeds of the runs.
        folds: Folds of the runs; there is one run for each seed and fold.
    """

    row: str
    config: Any
    data: str = ""
    seeds: tuple[int, ...] = (0,)
    folds: tuple[int, ...] = (0,)

    def __str__(self) -> str:
        return f"{self.row} {self.data}".strip()


@dataclass(frozen=True)
class Run:
    """The result of one seed and fold: final metrics, and curves over the epochs."""

    seed: int
    fold: int
    metrics: dict[str, int | float]
    curve: dict[str, list[float]] = field(default_factory=dict)


@dataclass(frozen=True)
class Resources:
    """What a job is given beside its settings.

    Attributes:
        device: The device to compute on.
        data: The data set of the job, as ``Experiment.read`` returned it.
        tick: To be called with the number of steps done since the last call.
    """

    device: torch.device
    data: Any
    tick: Callable[[int], object]


@dataclass(frozen=True)
class Record:
    """A finished job with its results, as it is stored.

    Attributes:
        job: The job.
        runs: Its results, one for each seed and fold.
        seconds: Wall time of the job.
        memory: Peak memory in bytes, of the GPU if one was used, else of the process.
        environment: Versions and hardware.
        finished: When the job was done, in seconds since 1970; 0 in records of earlier versions.
    """

    job: Job
    runs: list[Run]
    seconds: float
    memory: int
    environment: dict[str, str]
    finished: float = 0.0


def by_row(records: Sequence[Record], order: Iterable[str] = ()) -> dict[str, list[Run]]:
    """Return the runs of each row that has any; rows in ``order`` come first."""
    runs: dict[str, list[Run]] = {row: [] for row in order}
    for record in records:
        runs.setdefault(record.job.row, []).extend(record.runs)
    return {row: of_row for row, of_row in runs.items() if of_row}


def differences(
    runs: Mapping[str, Sequence[Run]], a: str, b: str, metrics: Sequence[str], digits: int = 1
) -> list[Cell]:
    """Return how far row a is above row b in some metrics, paired by seed and fold.

    Empty if a row is missing, or if they have fewer than two runs in common.
    """
    if a not in runs or b not in runs:
        return []
    ours, theirs = (
        [{(run.seed, run.fold): run.metrics[metric] for run in runs[row]} for metric in metrics]
        for row in (a, b)
    )
    cells = [difference(x, y, digits) for x, y in zip(ours, theirs, strict=True)]
    return cells if any(cells) else []


def _data_of(job: Job) -> str:
    return job.data


class Measured(NamedTuple):
    """What every run of a job has: names of metrics, and the lengths of curves by name."""

    metrics: tuple[str, ...] = ()
    curves: Mapping[str, int] = MappingProxyType({})


def _nothing(job: Job) -> Measured:
    return Measured()


@dataclass(frozen=True)
class Experiment:
    """A table or figure of the paper as a command.

    Attributes:
        name: Its name on the command line and under ``configs``.
        config: A frozen dataclass, loaded from TOML, with a method ``quick()`` that returns a small
            version of itself.
        jobs: From the name of a row, its config and the seeds to the list of jobs.
        read: Reads or makes a data set, given its source and the user's folder of data sets.
        work: The pure job function: the same job gives the same runs.
        steps: Number of steps that ``work`` reports for a job.
        table: From records to the table, ours beside the paper's.
        figures: From records, and data sets to draw if they may be read, to figures by name.
        seeds: Number of seeds in the paper.
        source: What ``read`` needs to know of a job's data set. Defaults to its name.
        select: From names of data sets and models, as given on the command line, to configs by the
            names of their rows. Defaults to the rows named by the models.
        measured: What the table and the figures rely on in the runs of a job.
        parallel: Whether several processes can do the work together.
    """

    name: str
    config: type[Any]
    jobs: Callable[[str, Any, tuple[int, ...]], list[Job]]
    read: Callable[[Any, Path | None], Any]
    work: Callable[[Job, Resources], list[Run]]
    steps: Callable[[Job], int]
    table: Callable[[list[Record]], Table]
    figures: Callable[[list[Record], "DataSets | None"], "dict[str, Figure]"]
    seeds: int
    source: Callable[[Job], Hashable] = _data_of
    select: Callable[[Sequence[str], Sequence[str]], dict[str, Any]] | None = None
    measured: Callable[[Job], Measured] = _nothing
    parallel: bool = False

    def check(self, record: Record) -> None:
        """Refuse a record that the table and the figures cannot be made from."""
        job = record.job
        asked = [j for j in self.jobs(job.row, job.config, job.seeds) if j.data == job.data]
        if not {*job.folds} <= {fold for j in asked for fold in j.folds}:
            raise FileError(f"data {job.data!r:.40} or folds that its settings do not ask for")
        metrics, curves = self.measured(job)
        for run in record.runs:
            for name in metrics:
                if not math.isfinite(run.metrics.get(name, math.nan)):
                    raise FileError(f"a run without {name}")
            for name, length in curves.items():
                if length < 1 or len(run.curve.get(name, ())) != length:
                    raise FileError(f"a run without {length} values of {name}")


class DataSets:
    """The data sets of an experiment, each read once, when it is first needed.

    Args:
        experiment: The experiment.
        folder: The user's folder of data sets.
    """

    def __init__(self, experiment: Experiment, folder: Path | None) -> None:
        self.experiment, self.folder = experiment, folder
        self._sets: dict[Hashable, Any] = {}

    def of(self, job: Job) -> Any:
        """Return the data set of a job."""
        source = self.experiment.source(job)
        if source not in self._sets:
            self._sets[source] = self.experiment.read(source, self.folder)
        return self._sets[source]
