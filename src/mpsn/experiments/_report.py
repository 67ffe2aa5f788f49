"""One self-contained page with all tables and figures that a folder of records gives."""

import base64
import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from mpsn._io import atomic_write
from mpsn.errors import FileError
from mpsn.experiments._catalog import CATALOG
from mpsn.experiments._experiment import DataSets, Experiment, Record, Table
from mpsn.experiments._rows import find
from mpsn.experiments._store import Store
from mpsn.training._config import plain

PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>mpsn: results</title>
<style>
body { font: 1rem/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 60rem; padding: 1rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; }
th, td { border-bottom: 1px solid #ccc; padding: .3rem .7rem; text-align: left; }
img { height: auto; max-width: 100%; }
pre { overflow-x: auto; background: #f4f4f4; padding: .7rem; }
</style>
<h1>Results</h1>
{% for section in sections %}
<h2>{{ section.name }}</h2>
<h3>{{ section.table.title }}</h3>
<div class="wide"><table>
<tr>{% for cell in section.table.columns %}<th>{{ cell }}</th>{% endfor %}</tr>
{% for row in section.table.rows %}<tr>{% for cell in row %}<td>{{ cell }}</td>{% endfor %}</tr>
{% endfor %}</table></div>
{% for note in section.notes %}<p>{{ note }}</p>
{% endfor %}{% for name, image in section.images.items() %}
<figure><img alt="{{ name }}" src="data:image/png;base64,{{ image }}">
<figcaption>{{ name }}</figcaption></figure>
{% endfor %}
<details><summary>Where and how</summary>
{% for where in section.places %}<p>{{ where }}</p>{% endfor %}
{% for row, config in section.configs.items() %}<p>{{ row }}</p><pre>{{ config }}</pre>{% endfor %}
</details>
{% endfor %}
</html>
"""


@dataclass(frozen=True)
class Section:
    """The part of a report about one experiment.

    Attributes:
        name: Name of the experiment, with ``-quick`` if it is the small version.
        table: Its table.
        notes: Notes below the table.
        images: Figures, as PNG in base64.
        places: The environments its records come from.
        configs: The settings of each row.
    """

    name: str
    table: Table
    notes: list[str]
    images: dict[str, str]
    places: list[str]
    configs: dict[str, str]


def sections(runs: Path) -> Iterator[tuple[str, Experiment, list[Record], int]]:
    """Find the experiments recorded in a folder.

    Yields:
        Name of the section, the experiment, its records, and how many records of changed configs
        are left out.
    """
    for name in CATALOG:
        for section in (name, f"{name}-quick"):
            experiment = find(name)
            records, left = Store(runs / section, experiment.config).newest()
            if records:
                yield section, experiment, records, left


def report(runs: Path) -> str:
    """Return all tables and figures that a folder of records gives, as one HTML page.

    Args:
        runs: The folder, ``out`` of :func:`reproduce`.
    """
    from jinja2 import Environment

    found = [_section(*section) for section in sections(runs)]
    if not found:
        raise FileError(
            f"Expected records of experiments in {runs}, got none; make some with "
            "`mpsn reproduce --out DIR`, and pass DIR."
        )
    return Environment(autoescape=True).from_string(PAGE).render(sections=found)


def write(runs: Path, page: Path) -> None:
    """Write the report on a folder of records, whole or not at all."""
    text = report(runs)
    with atomic_write(page, "w", what="the report", parents=True) as file:
        file.write(text)


def _section(name: str, experiment: Experiment, records: list[Record], left: int) -> Section:
    table = experiment.table(records)
    notes = list(table.notes)
    if left:
        notes.append(f"Left out: {left} records of older settings.")
    places: dict[str, float] = {}
    for record in records:
        where = ", ".join(f"{key} {value}" for key, value in record.environment.items())
        places[where] = places.get(where, 0) + record.seconds
    return Section(
        name,
        table,
        notes,
        _images(experiment, records),
        [f"{where}: {seconds:.1f} s in all" for where, seconds in places.items()],
        {r.job.row: _lines(plain(r.job.config)) for r in records},
    )


def _images(experiment: Experiment, records: list[Record]) -> dict[str, str]:
    try:
        from matplotlib import pyplot as plt
    except ImportError:
        return {}
    images = {}
    for name, figure in experiment.figures(records, DataSets(experiment, None)).items():
        file = io.BytesIO()
        figure.savefig(file, format="png", dpi=110, bbox_inches="tight")
        plt.close(figure)
        images[name] = base64.b64encode(file.getvalue()).decode()
    return images


def _lines(config: dict[str, object]) -> str:
    return "\n".join(f"{key} = {value}" for key, value in config.items())
