"""All tables and figures that a folder of records gives: as one HTML page, or for the docs."""

import base64
import io
from collections.abc import Sequence
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import NamedTuple, get_args

from mpsn.errors import FileError
from mpsn.files import atomic_write, check_writable
from mpsn_reproduction.catalog import CATALOG, find
from mpsn_reproduction.experiment import Experiment, Record
from mpsn_reproduction.settings import Precision
from mpsn_reproduction.settings import rows as rows_of
from mpsn_reproduction.store import Store, folder_name
from mpsn_reproduction.table import Table

NAMED = 5  # records that cannot be read, each with the reason; the others are counted
MARKS = "**Bold** is the best of a column, *italics* are figures quoted from others.\n"
ABOUT = """\
Every table on this page follows from the records in `reproduction/results`, and every figure but
those of data sets: `mpsn report` makes the page from them. The commands give such records, with DIR
the folder of data sets; a GPU rounds differently, so expect other last digits. **Bold** is the best
of a column, *italics* are figures quoted from others, all else was measured here.
[Understanding the results](guides/results.md) says what ± and the protocols mean.
"""
HEAD = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>mpsn: results</title>
<style>
:root { color-scheme: light dark; }
body { font: 1rem/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 68rem; padding: 1rem; }
table { border-collapse: collapse; display: block; font-size: .9rem; overflow-x: auto; }
th, td { border-bottom: 1px solid #8888; padding: .25rem .8rem .25rem 0; text-align: left; }
td { white-space: nowrap; }
img { background: #fff; height: auto; max-width: 100%; }
code { overflow-wrap: anywhere; white-space: pre-wrap; }
</style>
"""


class Figure(NamedTuple):
    """A figure: its path from the page, its caption, and its picture."""

    path: str
    caption: str
    png: bytes


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
    parts, bad = [], []
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
            parts.append(Section(section, experiment, records, notes, precision, quick))
    if not parts:
        what = "a folder without runs" if runs.is_dir() else "no folder"
        raise FileError(
            f"Expected records of experiments in {runs}, got {what}; make some with "
            f"`mpsn reproduce --out DIR`, and pass DIR. {' '.join(bad[:NAMED])}".rstrip()
        )
    return parts


def report(runs: Path) -> str:
    """Return all tables and figures that a folder of records gives, as one HTML page.

    Nothing but the records is read, and no data is made: pictures of data sets are not in it.

    Args:
        runs: The folder, ``out`` of :func:`reproduce`.
    """
    return _html(sections(runs))


def write_report(runs: Path, page: Path) -> list[str]:
    """Write the report on a folder of records, whole or not at all; return what it covers."""
    check_writable(page, what="the report", parents=True)
    parts = sections(runs)
    text = _html(parts)
    with atomic_write(page, "w", what="the report", parents=True) as file:
        file.write(text)
    return [section.name for section in parts]


def write_docs(runs: Path, folder: Path) -> list[str]:
    """Write ``results.md`` and its figures into the folder of the docs; return what it covers.

    The words before each table are in ``papers/NAME.md``, beside the code of the experiment.
    """
    parts = sections(runs)
    texts = ["# Our results and the paper's\n", ABOUT]
    for section in parts:
        table = _table(section)
        if section.name == section.experiment.name:
            words = resources.files("mpsn_reproduction.papers") / f"{section.name}.md"
            text, figures = words.read_text(encoding="utf-8"), _figures(section)
        else:  # below the main one, whose notes and figures stand for it, too
            text, figures = f"### {table.title}\n", []
            table = replace(table, notes=[])
        texts.append(_markdown(section, table, text, figures))
        for figure in figures:
            path = folder / figure.path
            with atomic_write(path, "wb", what="a figure", parents=True) as file:
                file.write(figure.png)
    with atomic_write(folder / "results.md", "w", what="the page", parents=True) as file:
        file.write("\n".join(texts))
    return [section.name for section in parts]


def _html(parts: list[Section]) -> str:
    """Return the page in HTML, with its figures inside."""
    from markdown_it import MarkdownIt

    texts, figures = ["# Results\n", MARKS], []
    for section in parts:
        own, table = _figures(section), _table(section)
        texts.append(_markdown(section, table, f"## {table.title}\n", own))
        figures += own
    page = MarkdownIt("commonmark", {"html": False}).enable("table").render("\n".join(texts))
    for figure in figures:
        data = base64.b64encode(figure.png).decode()
        page = page.replace(f'src="{figure.path}"', f'src="data:image/png;base64,{data}"')
    return f"{HEAD}{page}"


def _markdown(section: Section, table: Table, words: str, figures: Sequence[Figure]) -> str:
    """Return a section in Markdown: words, commands, where it was run, table and figures."""
    commands = "".join(f"    {command}\n" for command in _commands(section))
    about = f"{_runs(section.records)}. {'; '.join(_places(section.records))}."
    pictures = "".join(f"\n![{figure.caption}]({figure.path})\n" for figure in figures)
    notes = "".join(f"\n{note}\n" for note in section.left_out)
    about = about[0].upper() + about[1:]
    return f"{words}\n{commands}\n{about}\n\n{table.markdown()}\n{pictures}{notes}"


def _table(section: Section) -> Table:
    table = section.experiment.table(section.records)
    version = [section.precision] * (section.precision != "float32") + ["quick"] * section.quick
    return replace(table, title=f"{table.title} ({', '.join(version)})") if version else table


def _runs(records: Sequence[Record]) -> str:
    seeds, folds = (
        {getattr(run, kind) for r in records for run in r.runs} for kind in ("seed", "fold")
    )
    return f"seeds {_numbers(seeds)}" + (f", folds {_numbers(folds)}" if folds != {0} else "")


def _places(records: Sequence[Record]) -> list[str]:
    """Return the hardware, and the seconds of all runs on it."""
    places: dict[str, float] = {}
    for record in records:
        machine = {"device": "cpu", "torch": "?", "cores": "?", **record.environment}
        device = machine["device"].replace("cpu", f"CPU with {machine['cores']} cores")
        place = f"{device}, torch {machine['torch']}"
        places[place] = places.get(place, 0) + record.seconds
    return [f"{place}: {seconds:,.0f} s in all" for place, seconds in places.items()]


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
            + [f"--model {','.join(sorted(names))}"] * (names != every)
            + [f"--seeds {seeds}"] * (seeds != usual)
            + ["--quick"] * quick
            + ["--device cuda"] * gpu
            + [f"--precision {precision}"] * (precision != "float32")
            + ["--data DIR"] * CATALOG[experiment.name].reads_data
            + ["--out RUNS"]
        )
        for gpu, names in sorted(models.items(), reverse=True)
    ]


def _numbers(numbers: set[int]) -> str:
    return " to ".join(str(number) for number in sorted({min(numbers), max(numbers)}))


def _figures(section: Section) -> list[Figure]:
    """Draw the figures of a section."""
    from matplotlib import pyplot as plt

    figures = []
    for name, figure in section.experiment.figures(section.records, None).items():
        file = io.BytesIO()
        figure.savefig(file, format="png", dpi=100, bbox_inches="tight")
        plt.close(figure)
        full = name if name.startswith(section.name) else f"{section.name}_{name}"
        caption = str(figure.get_label()) or name.replace("_", " ")
        figures.append(Figure(f"img/results/{full}.png", caption, file.getvalue()))
    return figures
