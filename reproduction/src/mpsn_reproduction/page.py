"""One self-contained page with all tables and figures that a folder of records gives."""

import base64
import io
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple, get_args

from mpsn._files.io import atomic_write, check_writable
from mpsn.errors import FileError
from mpsn.training._config import plain
from mpsn.training._device import Precision
from mpsn_reproduction.catalog import CATALOG
from mpsn_reproduction.experiment import Experiment, Record
from mpsn_reproduction.rows import find
from mpsn_reproduction.rows import rows as rows_of
from mpsn_reproduction.store import Store, folder_name

NAMED = 5  # records that cannot be read, each with the reason; the others are counted


class Section(NamedTuple):
    """The records of an experiment in a precision, or of its small version; what is left out."""

    name: str
    experiment: Experiment
    records: list[Record]
    left_out: list[str]
    precision: str
    quick: bool


def sections(runs: Path) -> list[Section]:
    """Return what is in a folder, by experiment; records that cannot be read are named."""
    found, bad = [], []
    names = {
        folder_name(name, precision, quick): (name, precision, quick)
        for name, entry in CATALOG.items()
        for precision in (get_args(Precision) if entry.has_precision else ["float32"])
        for quick in (False, True)
    }
    if runs.name in names and not any((runs / section).is_dir() for section in names):
        runs, names = runs.parent, {runs.name: names[runs.name]}  # what `mpsn reproduce` prints
    for section, (name, precision, quick) in names.items():
        if not (runs / section).is_dir():
            continue
        experiment = find(name)
        store = Store(runs / section, experiment.config, experiment.check)
        records, older, refused = store.newest()
        notes = [f"Left out: {older} records of older settings."] if older else []
        if refused:
            more = f", and {len(refused) - NAMED} more" if len(refused) > NAMED else ""
            notes.append(
                f"Left out: {len(refused)} records that cannot be read{more}: "
                + " ".join(refused[:NAMED])
            )
        bad += refused
        if records:
            found.append(Section(section, experiment, records, notes, precision, quick))
    if not found:
        what = "a folder without runs" if runs.is_dir() else "no folder"
        raise FileError(
            f"Expected records of experiments in {runs}, got {what}; make some with "
            f"`mpsn reproduce --out DIR`, and pass DIR. {' '.join(bad[:NAMED])}".rstrip()
        )
    return found


def report(runs: Path) -> str:
    """Return all tables and figures that a folder of records gives, as one HTML page.

    Nothing but the records is read, and no data is made: pictures of data sets are not in it.

    Args:
        runs: The folder, ``out`` of :func:`reproduce`.
    """
    return _page(sections(runs))


def _page(found: list[Section]) -> str:
    from jinja2 import Environment

    parts = [_section(section) for section in found]
    page = resources.files("mpsn_reproduction").joinpath("report.html").read_text(encoding="utf-8")
    return Environment(autoescape=True).from_string(page).render(sections=parts)


def write_report(runs: Path, page: Path) -> list[str]:
    """Write the report on a folder of records, whole or not at all; return what it covers."""
    check_writable(page, what="the report", parents=True)
    found = sections(runs)
    text = _page(found)
    with atomic_write(page, "w", what="the report", parents=True) as file:
        file.write(text)
    return [section.name for section in found]


def _section(section: Section) -> dict[str, Any]:
    name, experiment, records, left_out, precision, quick = section
    version = [precision] * (precision != "float32") + ["quick"] * quick
    table = experiment.table(records)
    places: dict[str, float] = {}
    configs = {}
    for record in records:
        values = {"device": "", **record.environment}
        device = values.pop("device").replace("cpu", "CPU")
        where = ", ".join([device, *(f"{key} {value}" for key, value in values.items())])
        places[where] = places.get(where, 0) + record.seconds
        lines = (f"{key} = {value}" for key, value in plain(record.job.config).items())
        configs[record.job.row] = "\n".join(lines)
    return {
        "name": name,
        "title": table.title + (f" ({', '.join(version)})" if version else ""),
        "groups": table.groups(),
        "notes": [*table.remarks, *left_out],
        "commands": _commands(section),
        "seeds": _numbers({run.seed for r in records for run in r.runs}),
        "folds": _numbers({run.fold for r in records for run in r.runs}),
        "images": _images(experiment, records),
        "places": [f"{where}: {seconds:,.1f} s in all" for where, seconds in places.items()],
        "configs": configs,
    }


def _commands(section: Section) -> list[str]:
    """Return commands that give the records: one for the GPU, one for the CPU."""
    _, experiment, records, _, precision, quick = section
    usual = 2 if quick else experiment.seeds
    models: dict[bool, set[str]] = {}
    seeds = 0
    for record in records:
        job, gpu = record.job, record.environment.get("device", "cpu") != "cpu"
        models.setdefault(gpu, set()).add(job.config.model if experiment.select else job.row)
        planned = experiment.jobs(job.row, job.config, tuple(range(usual)))
        if len({seed for each in planned for seed in each.seeds}) == usual:  # not one at most
            seeds = max(seeds, 1 + max(job.seeds))
    seeds = seeds or usual
    rows = rows_of(experiment.name, experiment.config)
    every = {config.model if experiment.select else row for row, config in rows.items()}
    return [
        " ".join(
            [f"mpsn reproduce {experiment.name}"]
            + [f"--model {','.join(sorted(some))}"] * (some != every)
            + [f"--seeds {seeds}"] * (seeds != usual)
            + ["--quick"] * quick
            + ["--device cuda"] * gpu
            + [f"--precision {precision}"] * (precision != "float32")
            + ["--data DIR"] * CATALOG[experiment.name].reads_data
            + ["--out RUNS"]
        )
        for gpu, some in sorted(models.items(), reverse=True)
    ]


def _numbers(found: set[int]) -> str:
    return " to ".join(str(number) for number in sorted({min(found), max(found)}))


def _images(experiment: Experiment, records: list[Record]) -> dict[str, str]:
    """Return the figures by caption, as PNG in base64."""
    try:
        from matplotlib import pyplot as plt
    except ImportError:
        return {}
    images: dict[str, str] = {}
    for name, figure in experiment.figures(records, None).items():
        file = io.BytesIO()
        figure.savefig(file, format="png", dpi=130, bbox_inches="tight", transparent=True)
        plt.close(figure)
        images[str(figure.get_label()) or name.replace("_", " ")] = base64.b64encode(
            file.getvalue()
        ).decode()
    return images
