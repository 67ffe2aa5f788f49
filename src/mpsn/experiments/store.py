"""The store: finished jobs as files that are written whole or not at all, and never changed.

A job of row ``sin`` lies at ``OUT/sr/sin-<digest of its config>/<data>-<digest of its runs>.json``.
A changed config is another folder, so its records never mix with old ones; small versions
(``--quick``) lie under ``OUT/sr-quick``. Nothing but the records is kept: what is left to do, the
tables and the figures all follow from them.
"""

import hashlib
import json
import os
import re
from collections.abc import Iterable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from mpsn.errors import UNREADABLE, FileError
from mpsn.experiments.configs import build, digest, plain
from mpsn.experiments.experiment import Job, Record, Run

FORMAT = 1


class Store:
    """The records of one experiment in a folder.

    Args:
        folder: Where they lie; made when the first one is written.
        config: The type of the experiment's config.
    """

    def __init__(self, folder: Path, config: type[Any]) -> None:
        self.folder, self.config = folder, config

    def path(self, job: Job) -> Path:
        """Return where the record of a job lies, or will lie."""
        runs = hashlib.sha256(repr((job.data, job.seeds, job.folds)).encode()).hexdigest()[:8]
        name = re.sub(r"[^A-Za-z0-9]+", "-", job.data).strip("-")
        return self._folder_of(job) / f"{name or 'runs'}-{runs}.json"

    def _folder_of(self, job: Job) -> Path:
        return self.folder / f"{job.row}-{digest(job.config)}"

    def write(self, record: Record) -> Path:
        """Write a record whole: to a file beside, flushed to the disk, then renamed."""
        job = record.job
        values = {
            "format": FORMAT,
            "row": job.row,
            "config": plain(job.config),
            "data": job.data,
            "seeds": job.seeds,
            "folds": job.folds,
            "runs": [asdict(run) | {"curve": _short(run.curve)} for run in record.runs],
            "seconds": record.seconds,
            "memory": record.memory,
            "environment": record.environment,
        }
        path = self.path(job)
        part = path.with_name(f".{path.name}.{os.getpid()}.part")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with part.open("w") as file:
                json.dump(values, file)
                file.flush()
                os.fsync(file.fileno())
            part.replace(path)
        except OSError as error:
            part.unlink(missing_ok=True)
            raise FileError(
                f"Expected to write the record {path}, got {error}. Records written before are "
                "kept: make room, or mend the folder, and give the same command again."
            ) from error
        return path

    def read(self, path: Path) -> Record:
        """Read one record."""
        try:
            values = json.loads(path.read_text())
            written = values["format"]
            if written == FORMAT:
                return self._record(values, str(path))
        except UNREADABLE as error:
            raise FileError(
                f"Expected a record at {path}, got {error}. Move the file away and its job will "
                "run again."
            ) from error
        raise FileError(
            f"Expected records of format {FORMAT}, got format {written!r} at {path}, written by "
            "another version of mpsn. Use that version, or another --out."
        )

    def _record(self, values: dict[str, Any], where: str) -> Record:
        config = build(self.config, values["config"], where)
        seeds, folds = tuple(values["seeds"]), tuple(values["folds"])
        job = Job(values["row"], config, values["data"], seeds, folds)
        runs = [Run(**run) for run in values["runs"]]
        return Record(job, runs, values["seconds"], values["memory"], values["environment"])

    def of(self, jobs: Iterable[Job]) -> list[Record]:
        """Return the records with the configs and the data of these jobs, whatever their seeds."""
        wanted = {(self._folder_of(job), job.data) for job in jobs}
        folders = sorted({folder for folder, _ in wanted})
        records = [self.read(path) for folder in folders for path in sorted(folder.glob("*.json"))]
        return once(r for r in records if (self._folder_of(r.job), r.job.data) in wanted)

    def newest(self) -> tuple[list[Record], int]:
        """Return the records of the last config written for each row, and how many others lie."""
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
    """Keep each run once, where processes that ran at the same time have recorded it twice."""
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
    """Return what is left of a job: the seeds of which some fold is not recorded."""
    done = {
        (run.seed, run.fold)
        for record in records
        if record.job.config == job.config and record.job.data == job.data
        for run in record.runs
    }
    seeds = tuple(s for s in job.seeds if any((s, fold) not in done for fold in job.folds))
    return replace(job, seeds=seeds) if seeds else None
