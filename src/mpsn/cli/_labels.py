"""Graphs and labels on the command line: what they are, and how well they are predicted."""

from collections import Counter
from collections.abc import Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

from rich.console import Console

from mpsn.errors import GraphError

if TYPE_CHECKING:
    from mpsn.datasets import GraphCollection


def with_labels(collection: "GraphCollection") -> tuple[Sequence[Any], list[Any]]:
    """Return graphs and their labels; of several targets lists, with None for gaps."""
    if collection.packed is not None:
        return collection.packed
    graphs, y = [], []
    for name, graph, label in collection:
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


def sizes(graphs: Sequence[Any]) -> dict[str, int]:
    """Count what was read, so that a file that was cut off is noticed."""
    from mpsn.complexes import ComplexDataset
    from mpsn.convert import as_graph
    from mpsn.datasets import is_molecule

    vertices = edges = 0
    if isinstance(graphs, ComplexDataset):
        vertices, edges = graphs.union.count(0), graphs.union.count(1)
    for graph in () if isinstance(graphs, ComplexDataset) else graphs:
        if is_molecule(graph):
            vertices, edges = vertices + graph.GetNumAtoms(), edges + graph.GetNumBonds()
        else:
            plain = as_graph(graph)
            vertices, edges = vertices + plain.num_nodes, edges + plain.edge_index.shape[1]
    return {"graphs": len(graphs), "vertices": vertices, "edges as listed": edges}


def find_task(y: list[Any], targets: tuple[str, ...], regress: bool | None) -> bool:
    """Return whether to predict numbers: what is asked for, or what the labels look like."""
    columns = list(zip(*y, strict=True)) if len(targets) > 1 else [y]
    labels = [[label for label in column if label is not None] for column in columns]
    numbers = [_are_numbers(column) for column in labels]
    if regress is None and len(set(numbers)) > 1:
        one, other = (targets[numbers.index(kind)] for kind in (True, False))
        raise GraphError(
            f"Expected targets that are all numbers or all classes, got numbers in {one} and "
            f"classes in {other}; fit a model for each kind, or predict numbers with --regress."
        )
    regress = all(numbers) if regress is None else regress
    wrong = [v for v in chain(*labels) if (isinstance(v, str) if regress else _is_fraction(v))]
    if wrong:
        what, option = ("numbers", "--regress") if regress else ("classes", "--no-regress")
        raise GraphError(f"Expected {what} as labels, got {wrong[0]!r:.40}; drop {option}.")
    return regress


def class_weights(weight: str | None, regress: bool) -> dict[str, str | None]:
    """Return the setting of a classifier; refuse unbalanced weights, and those of numbers."""
    if weight is not None and (regress or weight != "balanced"):
        raise GraphError(f"Expected --class-weight balanced, for classes, got {weight!r:.40}.")
    return {} if regress else {"class_weight": weight}


def describe_task(kind: str, y: list[Any], targets: tuple[str, ...]) -> str:
    """Return in words what is learned."""
    if len(targets) < 2:
        return f"{kind}, of {len(set(y))} different labels"
    gaps = sum(row.count(None) for row in y)
    return f"{kind}, of {len(targets)} targets, {gaps:,} of {len(y) * len(targets):,} missing"


def _are_numbers(y: list[Any]) -> bool:
    """Return whether labels look like numbers to predict: fractions, or most of them different."""
    varied = len(set(y)) > 20 and len(set(y)) > len(y) // 2
    return any(map(_is_fraction, y)) or (varied and not any(isinstance(v, str) for v in y))


def _is_fraction(label: Any) -> bool:
    return isinstance(label, float) and not label.is_integer()


def cross_validate(model: Any, graphs: Sequence[Any], y: list[Any], folds: int) -> dict[str, Any]:
    """Return the scores of a model, of the kernel alone, and of a guess, fold by fold."""
    from sklearn.base import clone, is_regressor
    from sklearn.model_selection import KFold, StratifiedKFold

    from mpsn.estimators._targets import compare

    plain = is_regressor(model) or isinstance(y[0], list)
    fewest = len(y) if plain else min(Counter(y).values())
    if folds > fewest:
        what = "graphs" if plain else "graphs of each class"
        raise GraphError(f"Expected at least {folds} {what} for --cv {folds}, got {fewest}.")
    cut = (KFold if plain else StratifiedKFold)(folds, shuffle=True, random_state=0)
    models = {"this model": model, "SWL kernel": clone(model).set_params(kernel=True)}
    scores: dict[str, list[float]] = {name: [] for name in models}
    with Console(stderr=True).status("cross-validation") as status:
        for i, (train, test) in enumerate(cut.split(graphs, None if plain else y)):
            status.update(f"cross-validation: fold {i + 1} of {folds}")
            truth = [y[j] for j in test]
            for name, one in models.items():
                one = clone(one).fit(_take(graphs, train), [y[j] for j in train])
                scores[name].append(float(one.score(_take(graphs, test), truth)))
            guess = compare(one.targets_, {}, one.targets_.encode(truth))[0]
            for name, score in guess.items():
                scores.setdefault(name, []).append(score)
    return scores


def _take(graphs: Sequence[Any], index: Any) -> Sequence[Any]:
    """Return some of the graphs; those of a packed file are read at once."""
    from mpsn.complexes import ComplexDataset

    return graphs[index] if isinstance(graphs, ComplexDataset) else [graphs[i] for i in index]
