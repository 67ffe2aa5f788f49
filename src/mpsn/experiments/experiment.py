"""What an experiment is: a typed config, jobs, a pure job function, a table and figures."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Job:
    """One pass: the runs that are computed together, and recorded together.

    Attributes:
        row: Name of the config, a row of the table.
        config: The experiment's typed config.
        data: Which data, where a row covers several.
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
    """What one seed and fold gave: final metrics, and curves over the epochs."""

    seed: int
    fold: int
    metrics: dict[str, float]
    curve: dict[str, list[float]] = field(default_factory=dict)


@dataclass(frozen=True)
class Place:
    """Where a job runs; nothing here may change what comes out.

    Attributes:
        device: The device to compute on.
        data: The user's folder of data sets, if any.
        tick: To be called with the number of steps done since the last call.
    """

    device: torch.device
    data: Path | None
    tick: Callable[[int], object]


@dataclass(frozen=True)
class Record:
    """A finished job, as it is kept: what it was, what came out, what it took and where.

    Attributes:
        job: The job.
        runs: Its results, one for each seed and fold.
        seconds: Wall time of the job.
        memory: Peak memory in bytes, of the GPU where one was used, else of the process.
        environment: Versions and hardware.
    """

    job: Job
    runs: list[Run]
    seconds: float
    memory: int
    environment: dict[str, str]


@dataclass(frozen=True)
class Table:
    """A table to be printed, put into a report or a document."""

    title: str
    columns: list[str]
    rows: list[list[str]]
    notes: list[str] = field(default_factory=list)

    def markdown(self) -> str:
        """Return the table as Markdown."""
        lines = [self.columns, ["---"] * len(self.columns), *self.rows]
        cells = [[cell.replace("|", "\\|") for cell in line] for line in lines]
        text = "\n".join("| " + " | ".join(line) + " |" for line in cells)
        return "\n\n".join([f"**{self.title}**", text, *self.notes])


def _nothing(job: Job, data: Path | None) -> None:
    """Say that no data is missing."""


@dataclass(frozen=True)
class Experiment:
    """A table or figure of the paper as a command.

    Attributes:
        name: Its name on the command line and under ``configs/``.
        config: A frozen dataclass, loaded from TOML, with a method ``quick()`` that returns the
            small version of itself.
        jobs: From the name of a row, its config and the seeds to the list of jobs.
        work: The pure job function: the same job gives the same runs.
        steps: How many steps ``work`` will report for a job.
        table: From records to the table, ours beside the paper's.
        figures: From records to named figures; pictures of the data itself need the user's folder.
        seeds: How many seeds the paper takes.
        missing: Says why the data of a job is not at hand, or nothing if it is.
    """

    name: str
    config: type[Any]
    jobs: Callable[[str, Any, tuple[int, ...]], list[Job]]
    work: Callable[[Job, Place], list[Run]]
    steps: Callable[[Job], int]
    table: Callable[[list[Record]], Table]
    figures: Callable[[list[Record], Path | None], "dict[str, Figure]"]
    seeds: int
    missing: Callable[[Job, Path | None], str | None] = _nothing
