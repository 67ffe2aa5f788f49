"""The command that fits a model, of graphs or of the cells of a complex."""

import json
import sys
from pathlib import Path
from statistics import fmean, pstdev
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape

from mpsn.cli._inputs import read_one, refuse_bounds
from mpsn.cli._labels import (
    class_weights,
    cross_validate,
    describe_task,
    find_task,
    sizes,
    with_labels,
)
from mpsn.cli._options import Attributes, Data, Device, Smiles, Unsafe
from mpsn.cli.output import AsJson, print_lines, refuse, split
from mpsn.errors import FileError, GraphError, visible

if TYPE_CHECKING:
    from mpsn.estimators import (
        CellClassifier,
        CellRegressor,
        SimplicialClassifier,
        SimplicialRegressor,
    )

    Estimator = SimplicialClassifier | SimplicialRegressor | CellClassifier | CellRegressor


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
    labels: Annotated[
        Path | None, typer.Option(help="CSV of labels; its first column names graphs.")
    ] = None,
    smiles: Smiles = None,
    cell_labels: Annotated[
        Path | None,
        typer.Option(
            "--cells",
            help="CSV of labels of the cells of one complex: columns of vertices, then the label; "
            "empty labels, and cells that are not listed, are unknown.",
        ),
    ] = None,
    dim: Annotated[
        int | None,
        typer.Option(min=0, help="With --cells: their dimension. Defaults to what is in the CSV."),
    ] = None,
    attributes: Attributes = None,
    oriented: Annotated[
        bool,
        typer.Option(
            "--oriented", help="With --cells: attributes and numbers change sign with orientation."
        ),
    ] = False,
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
    epochs: Annotated[
        int | None,
        typer.Option(min=1, help="Largest number of epochs. Defaults to 100; with --cells to 300."),
    ] = None,
    patience: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Epochs without a better loss after which training stops. Defaults to 10; with "
            "--cells to 50.",
        ),
    ] = None,
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
    device: Device = "auto",
    precision: Annotated[
        str | None,
        typer.Option(
            help="Precision of the network: float32, the default; bf16, in less memory; or tf32, "
            "on a GPU.",
        ),
    ] = None,
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
    training = {"epochs": epochs, "patience": patience, "precision": precision}
    settings: dict[str, Any] = {
        "features": _features(features or []),
        "max_dim": max_dim,
        "hidden": hidden,
        "device": device,
        "random_state": seed,
        **{name: value for name, value in training.items() if value is not None},
    }
    if cell_labels is not None:
        whole = {"labels": labels, "smiles": smiles, "kernel": kernel is not None, "cv": cv}
        whole |= {"unsafe_pickle": unsafe_pickle}
        refuse("--cells", "only models of whole graphs take it", **whole)
        settings |= {"oriented": oriented, **_lift(lift or "cliques", max_ring, 6)}
        files = (data, attributes or [], cell_labels)
        _fit_cells(files, target, dim, out, regress, class_weight, settings, as_json)
        return
    own = {"dim": dim, "attributes": attributes, "oriented": oriented}
    refuse("a model of whole graphs", "it is for models of cells, with --cells", **own)
    if kernel:
        refuse("--kernel", "only networks are trained in epochs", **training)
    from mpsn._files.io import check_writable
    from mpsn.datasets import read_collection
    from mpsn.estimators import SimplicialClassifier, SimplicialRegressor
    from mpsn.training import agree, rank

    agree(lambda: check_writable(out, what="a model"))
    collection = read_collection(
        data, target=target, labels=labels, smiles=smiles, unsafe_pickle=unsafe_pickle
    )
    with Console(stderr=True).status(f"reading {escape(visible(collection.kind))}"):
        graphs, y = with_labels(collection)
    regress = find_task(y, collection.targets, regress)
    usual, longest = ("cliques", 6) if collection.table is None else ("rings", 8)
    settings |= {"kernel": kernel, **_lift(lift or usual, max_ring, longest)}
    settings |= class_weights(class_weight, regress)
    model = (SimplicialRegressor if regress else SimplicialClassifier)(**settings)
    folds = cross_validate(model, graphs, y, cv) if cv else {}
    model.set_params(verbose=sys.stderr.isatty())
    model.fit(graphs, y, tasks=collection.targets, resume=out)
    if rank():
        return
    read = sizes(graphs)
    values = {
        "data": collection.kind,
        "graphs": len(graphs),
        "read": read,
        "epochs": [len(run.train) for run in model.histories_],
        "validation_loss": [run.valid[run.best] for run in model.histories_ if run.valid],
        "targets": model.task_scores_,
        "cross_validation": folds,
    }
    if not as_json:
        print(f"read: {', '.join(f'{count} {what}' for what, count in read.items())}")
    kind = "regression" if regress else "classification"
    _finish(model, out, kind, describe_task(kind, y, collection.targets), values, as_json)


def _features(options: list[str]) -> "str | list[str] | dict[str, Any]":
    """Return the setting ``features`` of an estimator."""
    words = split(",".join(options))
    pairs = [word.rpartition("=") for word in words]
    if all(equals for _, equals, _ in pairs):
        return {name: kind for name, _, kind in pairs} or "auto"
    if any(equals for _, equals, _ in pairs):
        raise GraphError(
            f"Expected --features NAME=KIND for all, or names only, got {' and '.join(words)}."
        )
    return list(words)


def _lift(lift: str, max_ring: int | None, longest: int) -> dict[str, Any]:
    """Return the settings ``lift`` and ``max_ring`` of an estimator."""
    refuse_bounds(f"--lift {lift}", lift, max_ring=max_ring)
    return {"lift": lift, "max_ring": longest if max_ring is None else max_ring}


def _finish(
    model: "Estimator", out: Path, kind: str, task: str, values: dict[str, Any], as_json: bool
) -> None:
    """Save a model, and print what it is and how good."""
    from mpsn.training.internal import forget

    model.save(out)
    if model.interrupted_:
        print("run the same command again to go on", file=sys.stderr)
    else:
        forget(out, model.members)
    metric = model.targets_.metric
    if as_json:
        measured = {"features": model.features_.describe(), "held_out": model.scores_}
        print(json.dumps({"model": str(out), "task": kind, "metric": metric, **measured, **values}))
        return
    print(f"task: {visible(task)}; --regress or --no-regress to choose")
    print_lines(model.summary())
    for i, (name, scores) in enumerate(values.get("cross_validation", {}).items()):
        if not i:
            print(f"  {metric} in {len(scores)} folds of cross-validation")
        print(f"    {name:<15}{fmean(scores):.3f} ± {pstdev(scores):.3f}")
    print(f"saved: {visible(out)}")


def _fit_cells(
    files: tuple[list[Path], list[Path], Path],
    target: str | None,
    dim: int | None,
    out: Path,
    regress: bool | None,
    class_weight: str | None,
    settings: dict[str, Any],
    as_json: bool,
) -> None:
    """Train a model of the cells of one complex, some of which a CSV labels, and save it."""
    from mpsn._files.io import check_writable
    from mpsn.datasets import read_cell_labels
    from mpsn.estimators import CellClassifier, CellRegressor

    data, attributes, cell_labels = files
    check_writable(out, what="a model")
    labels = read_cell_labels(cell_labels, target, dim)
    dim = len(next(iter(labels))) - 1
    max_dim = max(settings["max_dim"], dim)
    K = read_one(data, attributes, max_dim)
    targets = _named(K, labels, cell_labels)
    regress = find_task([value for value in labels.values() if value is not None], (), regress)
    settings |= {"dim": dim, "max_dim": max_dim, "verbose": sys.stderr.isatty()}
    settings |= class_weights(class_weight, regress)
    model = (CellRegressor if regress else CellClassifier)(**settings)
    model.fit(K, targets, resume=out)
    values = {"dim": dim, "cells": model.counts_[dim], "known": model.n_known_}
    kind = "regression" if regress else "classification"
    _finish(model, out, kind, f"{kind} of cells of dimension {dim}", values, as_json)


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
