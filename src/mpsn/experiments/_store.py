"""The store: finished jobs as files that are written whole or not at all, and never changed.

A job of row ``sin`` is at ``OUT/sr/sin-<digest of its config>/<data>-<digest of its runs>.json``.
A changed config is another folder, so its records never mix with old ones; small versions
(``--quick``) are under ``OUT/sr-quick``. Only records are stored: what is left to do, the tables
and the figures all follow from them.
"""

import hashlib
import json
import re
from collections.abc import Iterable
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any

from mpsn._io import atomic_write
from mpsn.errors import FileError
from mpsn.experiments._experiment import Job, Record
from mpsn.training._config import build, digest

FORMAT = 1


class Store:
    """The records of one experiment in a folder.

    Args:
        folder: The folder; created when the first record is written.
        config: The type of the experiment's config.
    """

    def __init__(self, folder: Path, config: type[Any]) -> None:
        self.folder, self.config = folder, config

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
                json.dump(values, file)
        except FileError as error:
            raise FileError(
                f"{error} Finished records are kept: run the same command again to resume."
            ) from error
        return path

    def read(self, path: Path) -> Record:
        """Read one record."""
        try:
            values = json.loads(path.read_text(encoding="utf-8"))
            written = values.pop("format", None) if isinstance(values, dict) else None
            if not isinstance(written, int):
                raise FileError("another file")
            if written == FORMAT:
                return self._record(values, str(path))
        except (OSError, ValueError, RecursionError) as error:
            raise FileError(
                f"Expected a record at {path}, got {error}. Move it away to run its job again."
            ) from error
        raise FileError(
            f"Expected records of format {FORMAT}, got format {written!r} at {path}, written by "
            "another version of mpsn. Use that version, or another --out."
        )

    def _record(self, values: dict[str, Any], where: str) -> Record:
        of_job = {field.name for field in fields(Job)}
        job = {name: values.pop(name) for name in of_job & values.keys()}
        if job.keys() != of_job:
            raise FileError(f"none of {', '.join(of_job - job.keys())}")
        job["config"] = build(self.config, job["config"], where)
        return build(Record, {**values, "job": build(Job, job, where)}, where)

    def of(self, jobs: Iterable[Job]) -> list[Record]:
        """Return the records with the configs and the data of these jobs, whatever their seeds."""
        wanted = {(self._folder_of(job), job.data) for job in jobs}
        folders = sorted({folder for folder, _ in wanted})
        records = [self.read(path) for folder in folders for path in sorted(folder.glob("*.json"))]
        return once(r for r in records if (self._folder_of(r.job), r.job.data) in wanted)

    def newest(self) -> tuple[list[Record], int]:
        """Return the records of the last config of each row, and the number of older records."""
        found: dict[str, dict[Path, list[Path]]] = {}
        for path in sorted(self.folder.glob("*/*.json")):
            row = path.parent.name.rpartition("-")[0]
            found.setdefault(row, {}).setdefault(path.parent, []).append(path)
        records, left = [], 0
        for folders in found.values():
            last = max(folders.values(), key=lambda paths: max(p.stat().st_mtime for p in paths))
            records += once(self.read(path) for path in last)
            left += sum(map(len, folders.values())) - len(last)
        return records, left


def _short(curves: dict[str, list[float]]) -> dict[str, list[float]]:
    """Return curves with six digits, so that records stay small."""
    return {name: [float(f"{x:.6g}") for x in values] for name, values in curves.items()}


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
