"""The store: finished jobs as files that are written whole or not at all, and never changed.

A job of row ``sin`` is at ``OUT/sr/sin/SR-16-6-2-2-seeds-0-to-9-<key>.json``. It is found by what
was asked: row, data, seeds, folds, and the settings that differ from the defaults of their classes,
so a new setting with a default changes nothing. The key only keeps files apart. Small versions
(``--quick``) are under ``OUT/sr-quick``, and runs with ``--precision bf16`` under
``OUT/flow-bf16``. Only records are stored: what is left to do, the tables and the figures all
follow from them.
"""

import hashlib
import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, Field, asdict, fields, is_dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from mpsn.errors import ConfigError, FileError
from mpsn.files import atomic_write
from mpsn.training import from_plain
from mpsn_reproduction.experiment import Job, Record
from mpsn_reproduction.settings import Network, plain

FORMAT = 2
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


def differing(config: Any) -> dict[str, Any]:
    """Return the settings that differ from the defaults of their classes, as plain values.

    Example:
        >>> from dataclasses import dataclass
        >>> from mpsn_reproduction.store import differing
        >>> @dataclass(frozen=True)
        ... class Training:
        ...     lr: float = 0.1
        ...     epochs: int = 10
        >>> differing(Training(lr=0.1, epochs=20))
        {'epochs': 20}
    """
    special: dict[str, Any] = json.loads(json.dumps(_differing(config)))
    if _makes(special, config):
        return special
    complete = plain(config)
    return {name: _told_apart(name, special[name], complete, config) for name in special}


def _told_apart(name: str, value: Any, complete: dict[str, Any], config: Any) -> Any:
    """Add a setting at its default where only that tells one class from another."""
    defaults = complete[name] if isinstance(value, dict) else {}
    for more in ({}, *({key: default} for key, default in defaults.items())):
        longer = {**value, **more} if more else value
        if _makes(complete | {name: longer}, config):
            return longer
    return complete[name]


def _makes(values: dict[str, Any], config: Any) -> bool:
    try:
        return bool(from_plain(type(config), values, "a record") == config)
    except ConfigError:
        return False


def _differing(value: Any) -> Any:
    if is_dataclass(value):
        pairs = [(field, getattr(value, field.name)) for field in fields(value)]
        return {field.name: _differing(v) for field, v in pairs if v != _default(field)}
    if isinstance(value, Network):
        defaults = Network(value.model)
        return {name: _differing(v) for name, v in value.items() if v != defaults[name]}
    if isinstance(value, Mapping):
        return {name: _differing(each) for name, each in value.items()}
    return [_differing(each) for each in value] if isinstance(value, (list, tuple)) else value


def _default(field: Field[Any]) -> Any:
    return field.default if field.default_factory is MISSING else field.default_factory()


def words(config: Any) -> str:
    """Return a text that is the same for two configs if and only if they are equal."""
    return json.dumps(differing(config), sort_keys=True)


class Newest(NamedTuple):
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
        asked = json.dumps([job.data, job.seeds, job.folds, words(job.config)])
        key = hashlib.sha256(asked.encode()).hexdigest()[:8]
        return self.folder / job.row / f"{label(job)}-{key}.json"

    def write(self, record: Record) -> Path:
        """Write a record, whole or not at all; return its path."""
        path = self.path(record.job)
        job = {f.name: getattr(record.job, f.name) for f in fields(Job) if f.name != "config"}
        values = {"format": FORMAT, "settings": differing(record.job.config), **job}
        values |= asdict(replace(record, job=None))  # type: ignore[arg-type]
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
            values = json.loads(_text(path))
            written = values.pop("format", None) if isinstance(values, dict) else None
            if not isinstance(written, int):
                raise FileError("another file")
            if written == FORMAT:
                json.dumps(values, ensure_ascii=False).encode()  # words that no page can show
                record = self._record(values, str(path))
                _check(record)
                self.check(record)
                if record.job.row != path.parent.name or label(record.job) != _named(path):
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
        values["config"] = from_plain(self.config, values.pop("settings", None), where)
        job = {field.name: values.pop(field.name, None) for field in fields(Job)}
        return from_plain(Record, {**values, "job": from_plain(Job, job, where)}, where)

    def of(self, jobs: Iterable[Job]) -> list[Record]:
        """Return the records with the configs and the data of these jobs, whatever their seeds."""
        wanted = {(job.row, job.data, words(job.config)) for job in jobs}
        paths = [p for row, _, _ in wanted for p in (self.folder / row).glob("*.json")]
        records = [self.read(path) for path in sorted({*paths})]
        return once(r for r in records if (r.job.row, r.job.data, words(r.job.config)) in wanted)

    def newest(self) -> Newest:
        """Return the records of the last config of each row, and what is left out."""
        rows: dict[str, dict[str, list[Record]]] = {}
        bad = []
        for path in sorted(self.folder.glob("*/*.json")):
            try:
                record = self.read(path)
            except FileError as error:
                bad.append(str(error))
            else:
                by_config = rows.setdefault(record.job.row, {})
                by_config.setdefault(words(record.job.config), []).append(record)
        records, older = [], 0
        for by_config in rows.values():
            last = max(by_config.values(), key=lambda same: max(r.finished for r in same))
            records += once(last)
            older += sum(map(len, by_config.values())) - len(last)
        return Newest(records, older, bad)


def label(job: Job) -> str:
    """Return data, seeds and folds in words: what a file of a record is called before its key."""
    data = re.sub(r"[^A-Za-z0-9]+", "-", job.data).strip("-")
    folds = [_numbers("fold", job.folds)] if job.folds != (0,) else []
    return "-".join([*[data] * bool(data), _numbers("seed", job.seeds), *folds])


def _numbers(kind: str, numbers: Sequence[int]) -> str:
    ends = sorted({min(numbers, default=0), max(numbers, default=0)})
    return f"{kind}{'s' * (len(ends) > 1)}-" + "-to-".join(map(str, ends))


def _named(path: Path) -> str:
    return path.stem.rpartition("-")[0]


def _text(path: Path) -> str:
    """Return the content of a file, if it is one, and not too large for a record."""
    if not path.is_file():
        raise FileError("no file")
    with path.open("rb") as file:
        content = file.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise FileError(f"more than {MOST_BYTES:,} bytes")
    return content.decode()


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
        settings = words(job.config)
        for run in record.runs:
            key = (job.row, settings, job.data, run.seed, run.fold)
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
