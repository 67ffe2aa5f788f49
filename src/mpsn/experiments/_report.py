"""One self-contained page with all tables and figures that a folder of records gives."""

import base64
import io
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Any

from mpsn._io import atomic_write
from mpsn.errors import FileError
from mpsn.experiments._catalog import CATALOG
from mpsn.experiments._experiment import DataSets, Experiment, Record
from mpsn.experiments._rows import find
from mpsn.experiments._store import Store
from mpsn.training._config import plain


def sections(runs: Path) -> Iterator[tuple[str, Experiment, list[Record], int]]:
    """Yield the name, experiment, records, and number of older records of what is in a folder."""
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
    page = resources.files("mpsn.experiments").joinpath("report.html").read_text(encoding="utf-8")
    return Environment(autoescape=True).from_string(page).render(sections=found)


def write_report(runs: Path, page: Path) -> None:
    """Write the report on a folder of records, whole or not at all."""
    text = report(runs)
    with atomic_write(page, "w", what="the report", parents=True) as file:
        file.write(text)


def _section(name: str, experiment: Experiment, records: list[Record], left: int) -> dict[str, Any]:
    table = experiment.table(records)
    older = [f"Left out: {left} records of older settings."] if left else []
    places: dict[str, float] = {}
    configs = {}
    for record in records:
        where = ", ".join(f"{key} {value}" for key, value in record.environment.items())
        places[where] = places.get(where, 0) + record.seconds
        lines = (f"{key} = {value}" for key, value in plain(record.job.config).items())
        configs[record.job.row] = "\n".join(lines)
    return {
        "name": name,
        "table": table,
        "notes": [*table.notes, *older],
        "images": _images(experiment, records),
        "places": [f"{where}: {seconds:.1f} s in all" for where, seconds in places.items()],
        "configs": configs,
    }


def _images(experiment: Experiment, records: list[Record]) -> dict[str, str]:
    """Return the figures by name, as PNG in base64."""
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
