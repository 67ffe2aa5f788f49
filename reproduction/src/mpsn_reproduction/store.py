"""The store: finished jobs as files that are written whole or not at all, and never changed.

A job of row ``sin`` is at ``OUT/sr/sin-<digest of its config>/<data>-<digest of its runs>.json``.
A changed config is another folder, so its records never mix with old ones; small versions
(``--quick``) are under ``OUT/sr-quick``, and runs with ``--precision bf16`` under
``OUT/flow-bf16``. Only records are stored: what is left to do, the tables and the figures all
follow from them.
"""

import hashlib
import json
import math
import re
from collections.abc import Callable, Iterable
from dataclasses import asdict, fields, replace
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from mpsn._files.io import atomic_write
from mpsn.errors import FileError
from mpsn.training._config import build, digest
from mpsn_reproduction.experiment import Job, Record

FORMAT = 1
MOST_BYTES = 1 << 24  # of a record; the largest in results/ has 100 kB
LARGEST = 1e15  # number in a record


def folder_name(experiment: str, precision: str | None = None, quick: bool = False) -> str:
    """Return the name of the folder of an experiment's records.

    Example:
        >>> from mpsn_reproduction.store import folder_name
        >>> folder_name("flow"), folder_name("flow", "bf16", quick=True)
        ('flow', 'flow-bf16-quick')
    """
    other = [precision] if precision and precision != "float32" else []
    return "-".join([experiment, *other, *["quick"] * quick])


class Found(NamedTuple):
    """Records, the number of those of older configs, and why others cannot be read."""

    records: list[Record]
    older: int
    bad: list[str]


class Store:
    """The records of one experiment in a folder.

    Args:
        folder: The folder; created when the first record is written.
        config: The type of the experiment's config.
        check: Raises an error about records that the experiment cannot use. Defaults to none.
    """

    def __init__(
        self,
        folder: Path,
        config: type[Any],
        check: Callable[[Record], object] = lambda record: None,
    ) -> None:
        self.folder, self.config, self.check = folder, config, check

    def path(self, job: Job) -> Path:
        """Return the path of the record of a job."""
        runs = hashlib.sha256(repr((job.data, job.seeds, job.folds)).encode()).hexdigest()[:8]
        name = re.sub(r"[^A-Za-z0-9]+", "-", job.data).strip("-")
        return self._folder_of(job) / f"{name or 'runs'}-{runs}.json"

    def _folder_of(self, job: Job) -> Path:
        return self.folder / f"{job.row}-{digest(job.config)}"

    def write(self, record: Record) -> Path:
        """Write a record, whole or not at all; return its path."""
        path = self.path(record.job)
        values = {"format": FORMAT, **asdict(record.job), **asdict(record)}
        del values["job"]
        for run in values["runs"]:
            run["curve"] = _short(run["curve"])
        try:
            with atomic_write(path, "w", what="the record", parents=True) as file:
                json.dump(values, file, default=dict)
        except FileError as error:
            raise FileError(
                f"{error} Finished records are kept: run the same command again to resume."
            ) from error
        return path

    def read(self, path: Path) -> Record:
        """Read one record."""
        try:
            values = json.loads(_text(path))
            written = values.pop("format", None) if isinstance(values, dict) else None
            if not isinstance(written, int):
                raise FileError("another file")
            if written == FORMAT:
                json.dumps(values, ensure_ascii=False).encode()  # words that no page can show
                record = self._record(values, str(path))
                _check(record)
                self.check(record)
                if (record.job.row, self.path(record.job).name) != (_row_of(path), path.name):
                    raise FileError("the record of another job")
                return record
        except (OSError, ValueError, RecursionError) as error:
            raise FileError(
                f"Expected a record at {path}, got {error!s:.300}. Move it away to run its job "
                "again."
            ) from error
        raise FileError(
            f"Expected records of format {FORMAT}, got format {written!r:.20} at {path}, written "
            "by another version of mpsn. Use that version, or another --out."
        )

    def _record(self, values: dict[str, Any], where: str) -> Record:
        of_job = {field.name for field in fields(Job)}
        job = {name: values.pop(name) for name in of_job & values.keys()}
        if job.keys() != of_job:
            raise FileError(f"none of {', '.join(sorted(of_job - job.keys()))}")
        job["config"] = build(self.config, job["config"], where)
        return build(Record, {**values, "job": build(Job, job, where)}, where)

    def of(self, jobs: Iterable[Job]) -> list[Record]:
        """Return the records with the configs and the data of these jobs, whatever their seeds."""
        wanted = {(self._folder_of(job), job.data) for job in jobs}
        folders = sorted({folder for folder, _ in wanted})
        records = [self.read(path) for folder in folders for path in sorted(folder.glob("*.json"))]
        return once(r for r in records if (self._folder_of(r.job), r.job.data) in wanted)

    def newest(self) -> Found:
        """Return the records of the last config of each row, and what is left out."""
        found: dict[str, dict[Path, list[Record]]] = {}
        bad = []
        for path in sorted(self.folder.glob("*/*.json")):
            try:
                record = self.read(path)
            except FileError as error:
                bad.append(str(error))
            else:
                found.setdefault(record.job.row, {}).setdefault(path.parent, []).append(record)
        records, older = [], 0
        for folders in found.values():
            last = max(folders.values(), key=lambda many: max(r.finished for r in many))
            records += once(last)
            older += sum(map(len, folders.values())) - len(last)
        return Found(records, older, bad)


def _text(path: Path) -> str:
    """Return the content of a file, if it is one, and not too large for a record."""
    if not path.is_file():
        raise FileError("no file")
    with path.open("rb") as file:
        content = file.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise FileError(f"more than {MOST_BYTES:,} bytes")
    return content.decode()


def _row_of(path: Path) -> str:
    return path.parent.name.rpartition("-")[0]


def _check(record: Record) -> None:
    """Refuse values that no job gives."""
    job, runs = record.job, record.runs
    if not re.fullmatch(r"[\w.-]{1,200}", job.row, re.ASCII):
        raise FileError(f"row {job.row!r:.40}")
    if len(runs) != len(job.seeds) * len(job.folds) or {(r.seed, r.fold) for r in runs} != {
        (seed, fold) for seed in job.seeds for fold in job.folds
    }:
        raise FileError("other runs than one for each seed and fold")
    numbers = [record.seconds, record.memory, record.finished]
    if not all(0 <= value <= LARGEST for value in numbers):
        raise FileError(f"seconds, bytes and a time of {numbers!s:.80}")
    for run in runs:
        for value in (*run.metrics.values(), *chain.from_iterable(run.curve.values())):
            if abs(value) > LARGEST:  # nan is allowed: a training that diverged
                raise FileError(f"a value of {value!s:.40}")


def _short(curves: dict[str, list[float]]) -> dict[str, list[float]]:
    """Return curves with six digits, so that records stay small; nan where training diverged."""
    return {
        name: [float(f"{x:.6g}") if abs(x) <= LARGEST else math.nan for x in values]
        for name, values in curves.items()
    }


def once(records: Iterable[Record]) -> list[Record]:
    """Drop repeated runs, which processes that ran at the same time may have recorded twice."""
    seen: set[tuple[str, str, str, int, int]] = set()
    kept = []
    for record in records:
        job, runs = record.job, []
        for run in record.runs:
            key = (job.row, digest(job.config), job.data, run.seed, run.fold)
            if key not in seen:
                seen.add(key)
                runs.append(run)
        if runs:
            kept.append(replace(record, runs=runs))
    return kept


def remaining(job: Job, records: Iterable[Record]) -> Job | None:
    """Return the rest of a job: the seeds of which some fold is not recorded."""
    done = {
        (run.seed, run.fold)
        for record in records
        if record.job.config == job.config and record.job.data == job.data
        for run in record.runs
    }
    seeds = tuple(s for s in job.seeds if any((s, fold) not in done for fold in job.folds))
    return replace(job, seeds=seeds) if seeds else None
