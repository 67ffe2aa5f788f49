"""Kernels of the WL and SWL tests with support vector machines, on the folds of a TU set."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from mpsn.complexes._graphs import Graph
from mpsn.datasets._folds import Folds, strata, stratify
from mpsn.datasets._tu import TUDataset

Array = NDArray[Any]


@dataclass(frozen=True)
class KernelConfig:
    """Settings of a kernel with a support vector machine."""

    test: Literal["wl", "swl"]
    """Which colors to count: those of vertices (WL), or of simplices up to triangles (SWL)."""
    rounds: tuple[int, ...] = (0, 1, 2, 3, 4, 5)
    """Numbers of rounds to select from."""
    costs: tuple[float, ...] = (0.1, 1.0, 10.0, 100.0)
    """Values of C, the cost of errors, to select from."""
    parts: int = 3
    """Number of parts of the cross-validation inside the training part of a fold."""


def kernel_runs(
    config: KernelConfig,
    data: TUDataset,
    folds: Folds,
    which: Sequence[int],
    tick: Callable[[int], object],
) -> list[dict[str, list[float]]]:
    """Fit a machine for every number of rounds and cost, on every fold asked for.

    The kernel is the cosine between two graphs' counts of colors over all rounds. Vertices start
    with their labels, if the set has any. Accuracies over all pairs (rounds, cost): ``val``, by
    cross-validation inside the training part, ``test``, and ``val_test``, equal to ``test``: the
    selected machine is fitted to the whole training part again.
    """
    curves: list[dict[str, list[float]]] = [{"val": [], "test": []} for _ in which]
    y = data.y.numpy()
    graphs = [Graph(K.simplices(1).T, K.num_nodes, K.x[0]) for K in data.complexes]
    for rounds in config.rounds:
        kernel = gram(config.test, graphs, rounds, data.labeled)
        for fold, curve in zip(which, curves, strict=True):
            train, test = folds.train[fold].numpy(), folds.test[fold].numpy()
            part = stratify(strata(data.y[folds.train[fold]]), config.parts).numpy()
            for cost in config.costs:
                right = [
                    _score(kernel, y, train[part != k], train[part == k], cost) * (part == k).sum()
                    for k in range(config.parts)
                ]
                curve["val"].append(float(sum(right)) / len(train))
                curve["test"].append(_score(kernel, y, train, test, cost))
            tick(1)
    return [{**curve, "val_test": curve["test"]} for curve in curves]


def gram(test: Literal["wl", "swl"], graphs: Sequence[Graph], rounds: int, labeled: bool) -> Array:
    """Return the kernel of all pairs of graphs, (graphs, graphs), with ones on the diagonal.

    Colors that only test graphs have change no product of theirs with other graphs.
    """
    from mpsn.wl import SWLKernel, WLKernel

    if test == "wl":
        counter: Any = WLKernel(rounds, "features" if labeled else "uniform")
    else:
        counter = SWLKernel(rounds, 2, initial="features" if labeled else "dimension")
    counts = counter.fit_transform(graphs).astype(np.float64)
    products = (counts @ counts.T).toarray()
    length = np.sqrt(products.diagonal())
    cosine: Array = products / (length[:, None] * length)
    return cosine


def _score(kernel: Array, y: Array, train: Array, test: Array, cost: float) -> float:
    from sklearn.kernel_ridge import KernelRidge
    from sklearn.svm import SVC

    if y.dtype.kind == "f":
        ridge = KernelRidge(kernel="precomputed", alpha=1 / cost)
        ridge.fit(kernel[np.ix_(train, train)], y[train])
        return 1 - float(((ridge.predict(kernel[np.ix_(test, train)]) - y[test]) ** 2).mean())
    machine = SVC(kernel="precomputed", C=cost, cache_size=1000)
    machine.fit(kernel[np.ix_(train, train)], y[train])
    return float(machine.score(kernel[np.ix_(test, train)], y[test]))
