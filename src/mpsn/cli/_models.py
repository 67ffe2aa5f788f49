"""Commands on models: fit, predict."""

import csv
import json
import sys
from collections import Counter
from contextlib import nullcontext
from itertools import islice
from pathlib import Path
from statistics import fmean, pstdev
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer
from rich.console import Console
from rich.markup import escape

from mpsn.cli._output import AsJson, csv_cell, print_lines, split
from mpsn.errors import GraphError, visible

if TYPE_CHECKING:
    from mpsn.datasets._collections import GraphCollection

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
        typer.Option(help="What to predict: a column of the CSV, or an attribute of the graphs."),
    ] = None,
    labels: Labels = None,
    smiles: Smiles = None,
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
            help="The cells: cliques, rings, cliques+rings or cubes. Defaults to rings for "
            "molecules, to cliques for other graphs.",
        ),
    ] = None,
    max_dim: Annotated[int, typer.Option(help="Largest dimension of a cell.")] = 2,
    max_ring: Annotated[
        int | None,
        typer.Option(
            help="Largest number of vertices of a ring. Defaults to 18 for molecules, 6 for others."
        ),
    ] = None,
    hidden: Annotated[int, typer.Option(min=1, help="Width of the networks' layers.")] = 32,
    epochs: Annotated[int, typer.Option(min=1, help="Largest number of epochs.")] = 100,
    patience: Annotated[
        int, typer.Option(min=1, help="Epochs without a better loss after which training stops.")
    ] = 10,
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
    seed: Annotated[
        int, typer.Option(min=0, max=2**32 - 1, help="Seed of all random numbers.")
    ] = 0,
    unsafe_pickle: Unsafe = False,
    as_json: AsJson = False,
) -> None:
    """Train a model on your own graphs, and save it.

    DATA is one of: two or more folders of graph files (GraphML, graph6, JSON, ...), one per class;
    one folder of graph files with a CSV of labels in it; a file of many graphs; a zip file or
    folder of the TU collection. Some of the graphs are held out to decide when to stop, and to say
    how good the model is, beside simpler ones. Ctrl-C keeps the best model so far; the same command
    goes on where an earlier one was interrupted or killed.

    Example: mpsn fit cats/ dogs/ --out model.mpsn

    Example: mpsn fit networks/ --labels networks.csv --target weight --out model.mpsn

    Example: mpsn fit molecules.csv --smiles smiles --target soluble --out model.mpsn

    Example: mpsn fit cats/ dogs/ --features age=number,breed=category -o model.mpsn
    """
    from mpsn._io import check_writable
    from mpsn.datasets._collections import read_collection
    from mpsn.estimators import SimplicialClassifier, SimplicialRegressor
    from mpsn.estimators._progress import forget

    check_writable(out, what="a model")
    found = read_collection(
        data, target=target, labels=labels, smiles=smiles, unsafe_pickle=unsafe_pickle
    )
    with Console(stderr=True).status(f"reading {escape(visible(found.kind))}"):
        graphs, y = _with_labels(found)
    regress = _are_numbers(y) if regress is None else regress
    wrong = [v for v in y if (isinstance(v, str) if regress else _is_fraction(v))]
    if wrong:
        what, option = ("numbers", "--regress") if regress else ("classes", "--no-regress")
        raise GraphError(f"Expected {what} as labels, got {wrong[0]!r:.40}; drop {option}.")
    kind = "regression" if regress else "classification"
    cells, longest = ("cliques", 6) if found.table is None else ("rings", 18)
    if class_weight is not None and (regress or class_weight != "balanced"):
        raise GraphError(
            f"Expected --class-weight balanced, for classes, got {class_weight!r:.40}."
        )
    settings: dict[str, Any] = {} if regress else {"class_weight": class_weight}
    model = (SimplicialRegressor if regress else SimplicialClassifier)(
        features=_features(split(",".join(features or []))),
        lift=cast("Any", cells if lift is None else lift),  # its name is checked there
        max_dim=max_dim,
        max_ring=longest if max_ring is None else max_ring,
        hidden=hidden,
        epochs=epochs,
        patience=patience,
        kernel=kernel,
        device=device,
        random_state=seed,
        **settings,
    )
    folds = _cross_validate(model, graphs, y, cv) if cv else {}
    model.set_params(verbose=sys.stderr.isatty())
    model.fit(graphs, y, resume=out)
    model.save(out)
    if model.interrupted_:
        print("run the same command again to go on", file=sys.stderr)
    else:
        forget(out, model.members)
    read = _sizes(graphs)
    if as_json:
        runs = model.histories_
        values: dict[str, Any] = {
            "model": str(out),
            "data": found.kind,
            "task": kind,
            "graphs": len(graphs),
            "read": read,
            "features": model.features_.describe(),
            "epochs": [len(run.train) for run in runs],
            "validation_loss": [run.valid[run.best] for run in runs if run.valid],
            "metric": model.targets_.metric,
            "held_out": model.scores_,
            "cross_validation": folds,
        }
        print(json.dumps(values))
        return
    print(f"read: {', '.join(f'{count} {what}' for what, count in read.items())}")
    print(f"task: {kind}, of {len(set(y))} different labels; --regress or --no-regress to choose")
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


def _are_numbers(y: list[Any]) -> bool:
    """Return whether labels look like numbers to predict: fractions, or most of them different."""
    many = len(set(y)) > 20 and len(set(y)) > len(y) // 2
    return any(map(_is_fraction, y)) or (many and not any(isinstance(v, str) for v in y))


def _is_fraction(label: Any) -> bool:
    return isinstance(label, float) and not label.is_integer()


def _sizes(graphs: list[Any]) -> dict[str, int]:
    """Count what was read, so that a file that was cut off is noticed."""
    from mpsn.complexes._graphs import as_graph
    from mpsn.datasets._molecules import is_molecule

    vertices = edges = 0
    for graph in graphs:
        if is_molecule(graph):
            vertices, edges = vertices + graph.GetNumAtoms(), edges + graph.GetNumBonds()
        else:
            plain = as_graph(graph)
            vertices, edges = vertices + plain.num_nodes, edges + plain.edge_index.shape[1]
    return {"graphs": len(graphs), "vertices": vertices, "edges as listed": edges}


def _cross_validate(model: Any, graphs: list[Any], y: list[Any], folds: int) -> dict[str, Any]:
    """Return the scores of a model, of the kernel alone, and of a guess, fold by fold."""
    from sklearn.base import clone, is_regressor
    from sklearn.dummy import DummyClassifier, DummyRegressor
    from sklearn.model_selection import KFold, StratifiedKFold

    regress = is_regressor(model)
    fewest = len(y) if regress else min(Counter(y).values())
    if folds > fewest:
        what = "graphs" if regress else "graphs of each class"
        raise GraphError(f"Expected at least {folds} {what} for --cv {folds}, got {fewest}.")
    cut = (KFold if regress else StratifiedKFold)(folds, shuffle=True, random_state=0)
    models = {"this model": model, "SWL kernel": clone(model).set_params(kernel=True)}
    models["mean" if regress else "majority class"] = (
        DummyRegressor() if regress else DummyClassifier()
    )
    scores: dict[str, list[float]] = {name: [] for name in models}
    with Console(stderr=True).status("cross-validation") as status:
        for i, (train, test) in enumerate(cut.split(graphs, y)):
            status.update(f"cross-validation: fold {i + 1} of {folds}")
            for name, one in models.items():
                one = clone(one).fit([graphs[j] for j in train], [y[j] for j in train])
                found = one.score([graphs[j] for j in test], [y[j] for j in test])
                scores[name].append(float(found))
    return scores


def _with_labels(found: "GraphCollection") -> tuple[list[Any], list[Any]]:
    graphs, y = [], []
    for name, graph, label in found:
        if graph is None:
            continue
        if label is None:
            raise GraphError(
                f"Expected a label for every graph, got none for {name}; give a CSV with --labels, "
                f"a folder per class, or name a column or an attribute of the graphs with --target."
            )
        graphs.append(graph)
        y.append(label)
    return graphs, y


def predict(
    model: Annotated[Path, typer.Argument(help="A model that `mpsn fit` saved.")],
    data: Data,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="CSV to write. Defaults to the screen.")
    ] = None,
    smiles: Smiles = None,
    unsafe_pickle: Unsafe = False,
    as_json: AsJson = False,
) -> None:
    """Predict the classes or numbers of graphs.

    The result is CSV, or lines of JSON. Graphs are read, predicted and written a thousand at a
    time, so any number of them works. A table of molecules keeps its columns; predictions are empty
    where a molecule cannot be read.

    Example: mpsn predict model.mpsn new_graphs/ -o predictions.csv

    Example: mpsn predict model.mpsn molecules.csv --smiles smiles -o predictions.csv
    """
    from mpsn._io import atomic_write
    from mpsn.datasets._collections import read_collection
    from mpsn.estimators import EdgeFlowClassifier, load

    estimator = load(model)
    if isinstance(estimator, EdgeFlowClassifier):
        raise GraphError(f"Expected a model of graphs, got one of edge flows in {model}.")
    found = read_collection(data, smiles=smiles, unsafe_pickle=unsafe_pickle)
    items, table, done = iter(found), found.table, 0
    if table is not None and "prediction" in table.head:
        raise GraphError("Expected a table without a column 'prediction', got one; rename it.")
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


def _predictions(estimator: Any, graphs: list[Any]) -> list[dict[str, Any]]:
    """Return the columns to write for each graph; empty ones where there is none."""
    there = [graph for graph in graphs if graph is not None]
    if hasattr(estimator, "predict_proba"):
        chances = estimator.predict_proba(there)
        best = estimator.classes_[chances.argmax(axis=1)].tolist()
        keys = [f"probability of {name}" for name in estimator.classes_]
        extra = [[round(p, 6) for p in row] for row in chances.tolist()]
    else:
        best, keys = estimator.predict(there).tolist(), []
        extra = [[] for _ in best]
    rows = iter([value, *more] for value, more in zip(best, extra, strict=True))
    names = ["prediction", *keys]
    empty = dict.fromkeys(names)
    return [empty if g is None else dict(zip(names, next(rows), strict=True)) for g in graphs]
