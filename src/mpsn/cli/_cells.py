"""Models of cells: what `mpsn fit --cells` and `mpsn predict` do with them."""

import csv
import json
import sys
from contextlib import nullcontext
from itertools import zip_longest
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from mpsn.cli.output import csv_cell, print_lines
from mpsn.errors import FileError, GraphError, visible

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
    from mpsn.datasets import read_cell_labels
    from mpsn.estimators import CellClassifier, CellRegressor
    from mpsn.training.internal import forget

    check_writable(out, what="a model")
    labels = read_cell_labels(files.labels, files.target, files.dim)
    dim = len(next(iter(labels))) - 1
    max_dim = max(max_dim, dim)
    K = read_one(files.data, files.attributes, max_dim)
    targets = _named(K, labels, files.labels)
    y = [value for value in labels.values() if value is not None]
    regress = find_task(y, (), regress)
    check_class_weight(class_weight, regress)
    settings |= {"dim": dim, "max_dim": max_dim, "verbose": sys.stderr.isatty()}
    model: Any = CellRegressor(**settings)
    if not regress:
        model = CellClassifier(class_weight=class_weight, **settings)
    model.fit(K, targets, resume=out)
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
    from mpsn.datasets import is_simplices, read_complex, read_graphs

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


def _named(K: Any, labels: dict[tuple[str, ...], Any], path: Path) -> dict[tuple[Any, ...], Any]:
    """Return labels by cells, whose vertices have the names of the complex, not words."""
    from mpsn.complexes import Complex
    from mpsn.convert import as_graph

    graph = K if isinstance(K, Complex) else as_graph(K)
    names = graph.vertex_labels if isinstance(graph, Complex) else graph.labels
    by_word = {str(name): name for name in names or range(graph.num_nodes)}
    if strange := [word for cell in labels for word in cell if word not in by_word]:
        raise FileError(
            f"Expected vertices of the complex in {path}, such as {', '.join([*by_word][:3]):.60}, "
            f"got {len(strange):,} others, such as {strange[0]!r:.60}; correct the names, or "
            f"--dim, the dimension of the cells."
        )
    return {tuple(by_word[word] for word in cell): label for cell, label in labels.items()}
