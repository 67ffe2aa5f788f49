"""Commands on models: fit, predict."""

import csv
import json
import sys
from contextlib import nullcontext
from itertools import islice
from pathlib import Path
from statistics import fmean, pstdev
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape

from mpsn.cli._cells import (
    Attributes,
    CellFiles,
    CellLabels,
    Dim,
    Epochs,
    Oriented,
    Patience,
    Precision,
    fit_cells,
    predict_cells,
)
from mpsn.cli._labels import (
    check_class_weight,
    cross_validate,
    describe_task,
    find_task,
    sizes,
    with_labels,
)
from mpsn.cli.output import AsJson, csv_cell, print_lines, refuse, split
from mpsn.errors import GraphError, visible

Data = Annotated[
    list[Path],
    typer.Argument(
        help="Graphs: folders (one per class), a folder, a file, a TU zip, a CSV of molecules."
    ),
]
Smiles = Annotated[
    str | None,
    typer.Option(help="Column of SMILES in a CSV of molecules. Defaults to the one named so."),
]
Labels = Annotated[Path | None, typer.Option(help="CSV of labels; its first column names graphs.")]
Unsafe = Annotated[
    bool,
    typer.Option(
        "--unsafe-pickle",
        help="Read .pt files. They are pickles, which can run any code.",
    ),
]
CHUNK = 1000  # graphs predicted at a time


def fit(
    data: Data,
    out: Annotated[Path, typer.Option("--out", "-o", help="Where to save the model.")],
    target: Annotated[
        str | None,
        typer.Option(
            help="What to predict: a column of the CSV, or an attribute of the graphs; several are "
            "separated by commas, and may have gaps."
        ),
    ] = None,
    labels: Labels = None,
    smiles: Smiles = None,
    cell_labels: CellLabels = None,
    dim: Dim = None,
    attributes: Attributes = None,
    oriented: Oriented = False,
    regress: Annotated[
        bool | None,
        typer.Option(
            help="Predict numbers, or classes. Defaults to what the labels look like.",
            show_default=False,
        ),
    ] = None,
    features: Annotated[
        list[str] | None,
        typer.Option(
            help="Comma-separated kinds of attributes, as in age=number,color=category; or, "
            "without kinds, the attributes to use (x, degree, constant or names).",
        ),
    ] = None,
    lift: Annotated[
        str | None,
        typer.Option(
            help="The cells: cliques, rings, cliques+rings, cubes, or another lift of graphs that "
            "mpsn lift names. Defaults to rings for molecules, to cliques for other graphs.",
        ),
    ] = None,
    max_dim: Annotated[int, typer.Option(help="Largest dimension of a cell.")] = 2,
    max_ring: Annotated[
        int | None,
        typer.Option(
            help="Largest number of vertices of a ring. Defaults to 8 for molecules, 6 for others."
        ),
    ] = None,
    hidden: Annotated[int, typer.Option(min=1, help="Width of the networks' layers.")] = 32,
    epochs: Epochs = None,
    patience: Patience = None,
    kernel: Annotated[
        bool | None,
        typer.Option(
            help="The SWL kernel alone, or networks alone. Defaults to both.", show_default=False
        ),
    ] = None,
    class_weight: Annotated[
        str | None, typer.Option(help="balanced: rare classes count as much as others.")
    ] = None,
    cv: Annotated[
        int | None, typer.Option(min=2, help="Also measure by cross-validation in so many folds.")
    ] = None,
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "auto",
    precision: Precision = None,
    seed: Annotated[
        int, typer.Option(min=0, max=2**32 - 1, help="Seed of all random numbers.")
    ] = 0,
    unsafe_pickle: Unsafe = False,
    as_json: AsJson = False,
) -> None:
    """Train a model on your own graphs, and save it.

    DATA is one of: two or more folders of graph files (GraphML, graph6, JSON, ...), one per class;
    one folder of graph files with a CSV of labels in it; a file of many graphs; a zip file or
    folder of the TU collection; a packed .npz of ComplexDataset.write, with labels. Some of the
    graphs are held out to decide when to stop, and to say how good the model is, beside simpler
    ones. Ctrl-C keeps the best model so far; the same command goes on where an earlier one was
    interrupted or killed.

    Example: mpsn fit cats/ dogs/ --out model.mpsn

    Example: mpsn fit networks/ --labels networks.csv --target weight --out model.mpsn

    Example: mpsn fit molecules.csv --smiles smiles --target soluble --out model.mpsn

    Example: mpsn fit molecules.csv --target toxic,active --out model.mpsn

    Example: mpsn fit cats/ dogs/ --features age=number,breed=category -o model.mpsn

    With --cells, DATA is one complex, and the model labels its vertices, edges, triangles, ...: a
    list of simplices in text (.txt, .simplices; the vertices of a simplex on each line) or JSON (a
    list of lists), or a graph file, which is lifted.

    Example: mpsn fit complex.txt --cells labels.csv --attributes ages.csv -o model.mpsn
    """
    from mpsn.cli._inputs import refuse_bounds

    both = {"epochs": epochs, "patience": patience, "precision": precision}
    given: dict[str, Any] = {name: value for name, value in both.items() if value is not None}
    if cell_labels is not None:
        whole = {"labels": labels, "smiles": smiles, "kernel": kernel is not None, "cv": cv}
        whole |= {"unsafe_pickle": unsafe_pickle}
        refuse("--cells", "only models of whole graphs take it", **whole)
        rest: dict[str, Any] = {"hidden": hidden, **given}
        cells = lift or "cliques"
        refuse_bounds(f"--lift {cells}", cells, max_ring=max_ring)
        rest |= {"lift": cells, "max_ring": 6 if max_ring is None else max_ring, "device": device}
        rest |= {"max_dim": max_dim, "oriented": oriented, "class_weight": class_weight}
        rest |= {"features": _features(split(",".join(features or []))), "random_state": seed}
        files = CellFiles(data, cell_labels, attributes or [], target, dim)
        fit_cells(files, out, regress, as_json, **rest)
        return
    own = {"dim": dim, "attributes": attributes, "oriented": oriented}
    refuse("a model of whole graphs", "it is for models of cells, with --cells", **own)
    if kernel:
        refuse("--kernel", "only networks are trained in epochs", **both)
    from mpsn._files.io import check_writable
    from mpsn.datasets import read_collection
    from mpsn.estimators import SimplicialClassifier, SimplicialRegressor
    from mpsn.training import agree, rank
    from mpsn.training.internal import forget

    agree(lambda: check_writable(out, what="a model"))
    found = read_collection(
        data, target=target, labels=labels, smiles=smiles, unsafe_pickle=unsafe_pickle
    )
    with Console(stderr=True).status(f"reading {escape(visible(found.kind))}"):
        graphs, y = with_labels(found)
    regress = find_task(y, found.targets, regress)
    kind = "regression" if regress else "classification"
    usual, longest = ("cliques", 6) if found.table is None else ("rings", 8)
    cells = lift or usual
    refuse_bounds(f"--lift {cells}", cells, max_ring=max_ring)
    check_class_weight(class_weight, regress)
    settings: dict[str, Any] = {} if regress else {"class_weight": class_weight}
    model = (SimplicialRegressor if regress else SimplicialClassifier)(
        features=_features(split(",".join(features or []))),
        lift=cells,
        max_dim=max_dim,
        max_ring=longest if max_ring is None else max_ring,
        hidden=hidden,
        kernel=kernel,
        device=device,
        random_state=seed,
        **given,
        **settings,
    )
    folds = cross_validate(model, graphs, y, cv) if cv else {}
    model.set_params(verbose=sys.stderr.isatty())
    model.fit(graphs, y, tasks=found.targets, resume=out)
    if rank():
        return
    model.save(out)
    if model.interrupted_:
        print("run the same command again to go on", file=sys.stderr)
    else:
        forget(out, model.members)
    read = sizes(graphs)
    if as_json:
        values: dict[str, Any] = {
            "model": str(out),
            "data": found.kind,
            "task": kind,
            "graphs": len(graphs),
            "read": read,
            "features": model.features_.describe(),
            "epochs": [len(run.train) for run in model.histories_],
            "validation_loss": [run.valid[run.best] for run in model.histories_ if run.valid],
            "metric": model.targets_.metric,
            "held_out": model.scores_,
            "targets": model.task_scores_,
            "cross_validation": folds,
        }
        print(json.dumps(values))
        return
    print(f"read: {', '.join(f'{count} {what}' for what, count in read.items())}")
    task = visible(describe_task(kind, y, found.targets))
    print(f"task: {task}; --regress or --no-regress to choose")
    print_lines(model.summary())
    if folds:
        print(f"  {model.targets_.metric} in {cv} folds of cross-validation")
    for name, scores in folds.items():
        print(f"    {name:<15}{fmean(scores):.3f} ± {pstdev(scores):.3f}")
    print(f"saved: {visible(out)}")


def _features(words: tuple[str, ...]) -> "str | list[str] | dict[str, Any]":
    """Return the setting ``features`` of an estimator."""
    pairs = [word.rpartition("=") for word in words]
    if all(equals for _, equals, _ in pairs):
        return {name: kind for name, _, kind in pairs} or "auto"
    if any(equals for _, equals, _ in pairs):
        raise GraphError(
            f"Expected --features NAME=KIND for all, or names only, got {' and '.join(words)}."
        )
    return list(words)


def predict(
    model: Annotated[Path, typer.Argument(help="A model that `mpsn fit` saved.")],
    data: Data,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="CSV to write. Defaults to the screen.")
    ] = None,
    smiles: Smiles = None,
    attributes: Attributes = None,
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
    from mpsn._files.io import atomic_write
    from mpsn.datasets import read_collection
    from mpsn.estimators import (
        CellClassifier,
        CellRegressor,
        SimplicialClassifier,
        SimplicialRegressor,
        load,
    )

    estimator = load(model)
    if isinstance(estimator, (CellClassifier, CellRegressor)):
        refuse(model, "it is a model of cells", smiles=smiles, unsafe_pickle=unsafe_pickle)
        predict_cells(estimator, data, attributes or [], out, as_json)
        return
    if not isinstance(estimator, (SimplicialClassifier, SimplicialRegressor)):
        kind = type(estimator).__name__
        raise GraphError(f"Expected a model of graphs or cells, got a {kind} in {model}.")
    refuse(model, "it is a model of graphs", attributes=attributes)
    found = read_collection(data, smiles=smiles, labeled=False, unsafe_pickle=unsafe_pickle)
    items, table, done = iter(found), found.table, 0
    for column in _columns(estimator):
        if table is not None and column in table.head:
            raise GraphError(f"Expected a table without a column {column!r}, got one; rename it.")
    target = atomic_write(out, "w", what="predictions") if out else nullcontext(sys.stdout)
    with target as file, Console(stderr=True).status("predicting") as status:
        writer = csv.writer(file)
        while chunk := list(islice(items, CHUNK)):
            rows = _predictions(estimator, [graph for _, graph, _ in chunk])
            for i, (name, _, _) in enumerate(chunk):
                own = {"graph": name} if table is None else table.row(done + i)
                rows[i] = {**own, **rows[i]}
            if as_json:
                file.writelines(json.dumps(row) + "\n" for row in rows)
            else:
                if not done:
                    writer.writerow(map(csv_cell, rows[0]))
                writer.writerows(map(csv_cell, row.values()) for row in rows)
            done += len(chunk)
            status.update(f"predicting: {done} graphs")
    if out:
        print(f"{done} predictions: {visible(out)}", file=sys.stderr if as_json else sys.stdout)


def _columns(estimator: Any) -> list[str]:
    """Return the names of the columns to write: predictions, then probabilities."""
    several = () if estimator.targets_.flat else estimator.targets_.names
    names = [f"prediction of {name}" for name in several] or ["prediction"]
    kinds = several or estimator.classes_ if hasattr(estimator, "predict_proba") else ()
    return names + [f"probability of {kind}" for kind in kinds]


def _predictions(estimator: Any, graphs: list[Any]) -> list[dict[str, Any]]:
    """Return the columns to write for each graph; empty ones where there is none."""
    there, flat = [graph for graph in graphs if graph is not None], estimator.targets_.flat
    if hasattr(estimator, "predict_proba"):
        chances = estimator.predict_proba(there)
        best = estimator.classes_[chances.argmax(axis=1)] if flat else (chances > 0.5).astype(int)
        extra = [[round(p, 6) for p in row] for row in chances.tolist()]
    else:
        best = estimator.predict(there)
        extra = [[] for _ in there]
    first = (best[:, None] if flat else best).tolist()
    rows = iter([*values, *more] for values, more in zip(first, extra, strict=True))
    names = _columns(estimator)
    empty = dict.fromkeys(names)
    return [empty if g is None else dict(zip(names, next(rows), strict=True)) for g in graphs]
