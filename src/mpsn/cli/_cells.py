"""Models of cells: what `mpsn fit --cells` and `mpsn predict` do with them."""

import csv
import json
import sys
from contextlib import nullcontext
from itertools import zip_longest
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from mpsn.cli._output import csv_cell, print_lines
from mpsn.errors import FileError, GraphError, did_you_mean, visible

CellLabels = Annotated[
    Path | None,
    typer.Option(
        "--cells",
        help="CSV of labels of the cells of one complex: columns of vertices, then the label; "
        "empty labels, and cells that are not listed, are unknown.",
    ),
]
Dim = Annotated[
    int | None,
    typer.Option(min=0, help="With --cells: their dimension. Defaults to what is in the CSV."),
]
Attributes = Annotated[
    list[Path] | None,
    typer.Option(
        help="With a list of simplices: a CSV of vertices of cells and their attributes. Can be "
        "repeated, once for each dimension.",
    ),
]
Oriented = Annotated[
    bool,
    typer.Option(
        "--oriented", help="With --cells: attributes and numbers change sign with orientation."
    ),
]
Epochs = Annotated[
    int | None,
    typer.Option(min=1, help="Largest number of epochs. Defaults to 100; with --cells to 300."),
]
Patience = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Epochs without a better loss after which training stops. Defaults to 10; with "
        "--cells to 50.",
    ),
]


Precision = Annotated[
    str | None,
    typer.Option(
        help="Precision of the network: float32, the default; bf16, in less memory; or tf32, on a "
        "GPU.",
    ),
]


class CellFiles(NamedTuple):
    """What a model of cells is fitted to: a complex, the labels and the attributes of its cells."""

    data: list[Path]
    labels: Path
    attributes: list[Path]
    target: str | None
    dim: int | None


def fit_cells(
    files: CellFiles,
    out: Path,
    regress: bool | None,
    as_json: bool,
    *,
    max_dim: int,
    class_weight: str | None,
    **settings: Any,
) -> None:
    """Train a model of the cells of one complex, some of which a CSV labels, and save it."""
    from mpsn._files.io import check_writable
    from mpsn.cli._labels import check_class_weight, find_task
    from mpsn.estimators import CellClassifier, CellRegressor
    from mpsn.estimators._progress import forget

    check_writable(out, what="a model")
    rows = read_targets(files.labels, files.target, files.dim)
    dim = len(rows[0][0]) - 1
    max_dim = max(max_dim, dim)
    K = read_one(files.data, files.attributes, max_dim)
    y = [value for _, value in rows if value is not None]
    regress = find_task(y, (), regress)
    check_class_weight(class_weight, regress)
    settings |= {"dim": dim, "max_dim": max_dim, "verbose": sys.stderr.isatty()}
    model: Any = CellRegressor(**settings)
    if not regress:
        model = CellClassifier(class_weight=class_weight, **settings)
    model.fit(K, _named(K, rows), resume=out)
    model.save(out)
    if model.interrupted_:
        print("run the same command again to go on", file=sys.stderr)
    else:
        forget(out, model.members)
    kind = "regression" if regress else "classification"
    if as_json:
        values = {
            "model": str(out),
            "task": kind,
            "dim": dim,
            "cells": model.counts_[dim],
            "known": model.n_known_,
            "features": model.features_.describe(),
            "metric": model.targets_.metric,
            "held_out": model.scores_,
        }
        print(json.dumps(values))
        return
    print(f"task: {kind} of cells of dimension {dim}; --regress or --no-regress to choose")
    print_lines(model.summary())
    print(f"saved: {visible(out)}")


def predict_cells(
    model: Any, data: list[Path], attributes: list[Path], out: Path | None, as_json: bool
) -> None:
    """Write the predictions for all cells of a complex, each with its vertices."""
    from mpsn._files.io import atomic_write

    K = read_one(data, attributes, model.max_dim)
    cells = model.cells(K)
    columns: dict[str, list[Any]] = {}
    wide = zip_longest(*cells)
    columns |= {f"v{i}": list(part) for i, part in enumerate(wide)}
    if hasattr(model, "predict_proba"):
        chances = model.predict_proba(K)
        columns["prediction"] = model.classes_[chances.argmax(axis=1)].tolist()
        for name, part in zip(model.classes_, chances.T.tolist(), strict=True):
            columns[f"probability of {name}"] = [round(p, 6) for p in part]
    else:
        found = model.predict(K).reshape(len(cells), -1)
        several = [f"prediction {i}" for i in range(found.shape[1])]
        names = ["prediction"] if len(several) == 1 else several
        columns |= dict(zip(names, found.T.tolist(), strict=True))
    rows = zip(*columns.values(), strict=True)
    target = atomic_write(out, "w", what="predictions") if out else nullcontext(sys.stdout)
    with target as file:
        if as_json:
            file.writelines(
                json.dumps(dict(zip(columns, row, strict=True)), default=str) + "\n" for row in rows
            )
        else:
            writer = csv.writer(file)
            writer.writerow(map(csv_cell, columns))
            writer.writerows(map(csv_cell, row) for row in rows)
    if out:
        where = sys.stderr if as_json else sys.stdout
        print(f"{len(cells)} predictions: {visible(out)}", file=where)


def read_one(data: list[Path], attributes: list[Path], max_dim: int) -> Any:
    """Return the complex of a list of simplices, or the graph of another file."""
    from mpsn.datasets import read_complex, read_graphs
    from mpsn.datasets._simplices import is_simplices

    if len(data) != 1:
        raise GraphError(f"Expected one complex or graph for a model of cells, got {len(data)}.")
    (path,) = data
    text = path.suffix == ".txt" or path.name.endswith(".txt.gz")
    if text or is_simplices(path):
        return read_complex(path, attributes, max_dim=max_dim)
    if attributes:
        raise FileError(
            f"Expected --attributes with a list of simplices (.txt, .simplices, .json), got "
            f"{path}; a graph file holds its own attributes."
        )
    found = read_graphs(path)
    if len(found) != 1:
        raise GraphError(f"Expected one graph in {path}, got {len(found)}.")
    return found[0]


def read_targets(
    path: Path, target: str | None, dim: int | None
) -> list[tuple[tuple[str, ...], Any]]:
    """Return cells, as words for their vertices, and their targets; None where unknown."""
    from mpsn.datasets._tables import check_label, is_gap, read_rows, typed

    head, *rows = read_rows(path, "a CSV of labels of cells") or [[]]
    if target is not None and target not in head[1:]:
        raise FileError(
            f"Expected a column {target!r} in {path}, got {', '.join(head)}."
            f"{did_you_mean(target, head)}"
        )
    column = len(head) - 1 if target is None else head.index(target, 1)
    width = column if dim is None else dim + 1
    if not 1 <= width <= column or not rows:
        raise FileError(
            f"Expected a header, then {'' if dim is None else f'{dim + 1} '}vertices of a cell and "
            f"its label on each line of {path}, got columns {', '.join(head):.100}; --target names "
            f"the column of the label, and --dim the dimension of the cells."
        )
    for number, row in enumerate(rows, start=2):
        if len(row) != len(head):
            raise FileError(
                f"Expected {len(head)} columns on line {number} of {path}, got {len(row)}."
            )
    words = [row[column] for row in rows]
    known = iter(typed([word for word in words if not is_gap(word)]))
    found = []
    for row, word in zip(rows, words, strict=True):
        cell = tuple(name.strip() for name in row[:width])
        value = None if is_gap(word) else next(known)
        check_label(" ".join(cell), value)
        found.append((cell, value))
    return found


def _named(K: Any, rows: list[tuple[tuple[str, ...], Any]]) -> dict[tuple[Any, ...], Any]:
    """Return targets by cells, whose vertices have the names of the complex, not words."""
    from mpsn.estimators._inputs import vertex_names

    names = vertex_names(K)
    if names is None:
        names = tuple(range(K.num_nodes if hasattr(K, "num_nodes") else len(K)))
    known = {str(name): name for name in names}
    found: dict[tuple[Any, ...], Any] = {}
    for cell, value in rows:
        key = tuple(known.get(word, word) for word in cell)
        if key in found:
            raise GraphError(f"Expected each cell once, got {' '.join(cell)} again.")
        found[key] = value
    return found
