"""The command that predicts, for graphs or for the cells of a complex."""

import csv
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from mpsn.cli._inputs import read_one
from mpsn.cli._options import Attributes, Data, Device, Smiles, Unsafe
from mpsn.cli.output import AsJson, csv_cell, refuse
from mpsn.errors import GraphError, visible

if TYPE_CHECKING:
    from mpsn.estimators import (
        CellClassifier,
        CellRegressor,
        SimplicialClassifier,
        SimplicialRegressor,
    )

    GraphModel = SimplicialClassifier | SimplicialRegressor
    CellModel = CellClassifier | CellRegressor

CHUNK = 1000  # graphs predicted at a time


def predict(
    model: Annotated[Path, typer.Argument(help="A model that `mpsn fit` saved.")],
    data: Data,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="CSV to write. Defaults to the screen.")
    ] = None,
    smiles: Smiles = None,
    attributes: Attributes = None,
    device: Device = "auto",
    unsafe_pickle: Unsafe = False,
    as_json: AsJson = False,
) -> None:
    """Predict the classes or numbers of graphs.

    The result is CSV, or lines of JSON. Graphs are read, predicted and written a thousand at a
    time, so any number of them works. A table of molecules keeps its columns; predictions are empty
    where a molecule cannot be read.

    Example: mpsn predict model.mpsn new_graphs/ -o predictions.csv

    Example: mpsn predict model.mpsn molecules.csv --smiles smiles -o predictions.csv

    A model of cells (mpsn fit --cells) predicts all cells of one complex, each on a line with its
    vertices.

    Example: mpsn predict model.mpsn complex.txt --attributes ages.csv -o predictions.csv
    """
    from mpsn.datasets import read_collection
    from mpsn.estimators import (
        CellClassifier,
        CellRegressor,
        SimplicialClassifier,
        SimplicialRegressor,
        load,
    )
    from mpsn.training import pick_device

    estimator = load(model)
    estimator.model_.to(pick_device(device))
    if isinstance(estimator, (CellClassifier, CellRegressor)):
        refuse(model, "it is a model of cells", smiles=smiles, unsafe_pickle=unsafe_pickle)
        _predict_cells(estimator, data, attributes or [], out, as_json)
        return
    if not isinstance(estimator, (SimplicialClassifier, SimplicialRegressor)):
        kind = type(estimator).__name__
        raise GraphError(f"Expected a model of graphs or cells, got a {kind} in {model}.")
    refuse(model, "it is a model of graphs", attributes=attributes)
    collection = read_collection(data, smiles=smiles, labeled=False, unsafe_pickle=unsafe_pickle)
    table, columns = collection.table, _columns(estimator)
    names = ["graph"] if table is None else table.head
    if taken := [column for column in columns if column in names]:
        raise GraphError(f"Expected a table without a column {taken[0]!r}, got one; rename it.")
    items, done = iter(collection), 0
    with (
        _written(out, [*names, *columns], as_json) as write,
        Console(stderr=True).status("predicting") as status,
    ):
        while chunk := list(islice(items, CHUNK)):
            rows = _predictions(estimator, [graph for _, graph, _ in chunk])
            own = [[name] for name, _, _ in chunk]
            if table is not None:
                own = table.rows[done : done + len(chunk)]
            write([[*cells, *row] for cells, row in zip(own, rows, strict=True)])
            done += len(chunk)
            status.update(f"predicting: {done} graphs")


def _columns(estimator: "GraphModel") -> list[str]:
    """Return the names of the columns to write: predictions, then probabilities."""
    targets = () if estimator.targets_.flat else estimator.targets_.names
    names = [f"prediction of {name}" for name in targets] or ["prediction"]
    kinds = targets or estimator.classes_ if hasattr(estimator, "predict_proba") else ()
    return names + [f"probability of {kind}" for kind in kinds]


def _predictions(estimator: "GraphModel", graphs: list[Any]) -> list[list[Any]]:
    """Return the cells to write for each graph; empty ones where there is none."""
    present, flat = [graph for graph in graphs if graph is not None], estimator.targets_.flat
    if hasattr(estimator, "predict_proba"):
        chances = estimator.predict_proba(present)
        best = estimator.classes_[chances.argmax(axis=1)] if flat else (chances > 0.5).astype(int)
        extra = [[round(p, 6) for p in row] for row in chances.tolist()]
    else:
        best = estimator.predict(present)
        extra = [[] for _ in present]
    first = (best[:, None] if flat else best).tolist()
    rows = iter([*values, *more] for values, more in zip(first, extra, strict=True))
    empty = [None] * len(_columns(estimator))
    return [empty if graph is None else next(rows) for graph in graphs]


def _predict_cells(
    model: "CellModel", data: list[Path], attributes: list[Path], out: Path | None, as_json: bool
) -> None:
    """Write the predictions for all cells of a complex, each with its vertices."""
    K = read_one(data, attributes, model.max_dim)
    cells = model.cells(K)
    width = max(map(len, cells), default=0)
    columns = [f"v{i}" for i in range(width)]
    if hasattr(model, "predict_proba"):
        chances = model.predict_proba(K)
        best = model.classes_[chances.argmax(axis=1)].tolist()
        columns += ["prediction", *(f"probability of {name}" for name in model.classes_)]
        values = [
            [one, *(round(p, 6) for p in row)]
            for one, row in zip(best, chances.tolist(), strict=True)
        ]
    else:
        predicted = model.predict(K).reshape(len(cells), -1)
        outputs = range(predicted.shape[1])
        columns += [f"prediction {i}" for i in outputs] if len(outputs) > 1 else ["prediction"]
        values = predicted.tolist()
    vertices = ([*cell, *[None] * (width - len(cell))] for cell in cells)
    with _written(out, columns, as_json) as write:
        write([[*names, *row] for names, row in zip(vertices, values, strict=True)])


@contextmanager
def _written(
    out: Path | None, columns: Sequence[str], as_json: bool
) -> Iterator[Callable[[list[list[Any]]], None]]:
    """Yield a function that writes rows as CSV or lines of JSON, to a file or the screen."""
    from mpsn._files.io import atomic_write

    count = -1  # of rows; the header is written with the first
    target = atomic_write(out, "w", what="predictions") if out else nullcontext(sys.stdout)
    with target as file:
        writer = csv.writer(file)

        def write(rows: list[list[Any]]) -> None:
            nonlocal count
            if as_json:
                lines = (dict(zip(columns, row, strict=True)) for row in rows)
                file.writelines(json.dumps(line, default=str) + "\n" for line in lines)
            else:
                if count < 0:
                    writer.writerow(map(csv_cell, columns))
                writer.writerows(map(csv_cell, row) for row in rows)
            count = max(count, 0) + len(rows)

        yield write
    if out:
        print(f"{count} predictions: {visible(out)}", file=sys.stderr if as_json else sys.stdout)
