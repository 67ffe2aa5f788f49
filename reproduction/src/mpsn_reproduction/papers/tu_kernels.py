"""Graph kernels with support vector machines, on the folds of a TU set."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from mpsn.complexes import ComplexDataset
from mpsn.convert import Graph
from mpsn.datasets import TUDataset
from mpsn.errors import ConfigError
from mpsn_reproduction.papers.folds import Folds, strata, stratify
from mpsn_reproduction.papers.graph_kernels import graphlets, propagation, walks

Array = NDArray[Any]
Kernel = Literal["wl", "swl", "propagation", "walk", "graphlet"]


@dataclass(frozen=True)
class KernelConfig:
    """Settings of a kernel with a support vector machine."""

    test: Kernel
    """What to count: colors of vertices (WL), or of simplices up to triangles (SWL); bins of
    diffusing labels (propagation); walks by their sequences of labels (walk); or induced subgraphs
    on three vertices (graphlet)."""
    rounds: tuple[int, ...] = (0, 1, 2, 3, 4, 5)
    """Numbers of rounds to select from: of refinement or diffusion, or steps of the walks at most;
    for graphlets, which have none, (0,)."""
    costs: tuple[float, ...] = (0.1, 1.0, 10.0, 100.0)
    """Values of C, the cost of errors, to select from."""
    parts: int = 3
    """Number of parts of the cross-validation inside the training part of a fold."""

    def __post_init__(self) -> None:
        if self.test == "graphlet" and self.rounds != (0,):
            raise ConfigError(f"Expected rounds = [0] for graphlets, got {[*self.rounds]}.")


def kernel_runs(
    config: KernelConfig,
    data: TUDataset,
    folds: Folds,
    which: Sequence[int],
    tick: Callable[[int], object],
) -> list[dict[str, list[float]]]:
    """Fit a machine for every number of rounds and cost, on every fold asked for.

    The kernel is the cosine between two graphs' counts over all rounds. Vertices start with their
    labels, if the set has any; without, only diffusion uses the features of the set. Accuracies
    over all pairs (rounds, cost): ``val``, by cross-validation inside the training part, ``test``,
    and ``val_test``, equal to ``test``: the selected machine is fitted to the whole training part
    again.
    """
    curves: list[dict[str, list[float]]] = [{"val": [], "test": []} for _ in which]
    y = data.y.numpy()
    for kernel in grams(config.test, data.complexes, config.rounds, data.labeled):
        for fold, curve in zip(which, curves, strict=True):
            train, test = (folds.splits[fold][part].numpy() for part in ("train", "test"))
            part = stratify(strata(data.y[train]), config.parts).numpy()
            for cost in config.costs:
                right = [
                    _score(kernel, y, train[part != k], train[part == k], cost) * (part == k).sum()
                    for k in range(config.parts)
                ]
                curve["val"].append(float(sum(right)) / len(train))
                curve["test"].append(_score(kernel, y, train, test, cost))
            tick(1)
    return [{**curve, "val_test": curve["test"]} for curve in curves]


def grams(
    test: Kernel, data: ComplexDataset[Any], rounds: Sequence[int], labeled: bool
) -> Iterator[Array]:
    """Yield the kernel of all pairs of graphs, (graphs, graphs), for each number of rounds.

    It has ones on the diagonal. Colors that only test graphs have change no product of theirs with
    other graphs. A graph without anything to count, as graphlets on two vertices, has zeros only.
    """
    count = _counter(test, data, labeled)
    for number in rounds:
        counts = count(number).astype(np.float64)
        products = (counts @ counts.T).toarray()
        length = np.sqrt(products.diagonal())
        length[length == 0] = 1
        yield products / (length[:, None] * length)


def _counter(test: Kernel, data: ComplexDataset[Any], labeled: bool) -> Callable[[int], Any]:
    """Return the function from a number of rounds to counts, (graphs, F) as scipy CSR."""
    from mpsn.estimators import SWLKernel, WLKernel

    K = data.union
    if test == "graphlet":
        return lambda rounds: graphlets(K)
    if test == "propagation":
        return lambda steps: propagation(K, K.x[0], steps)
    if test == "walk":
        none = np.zeros(K.num_nodes, np.int64)
        labels = np.unique(K.x[0], axis=0, return_inverse=True)[1] if labeled else none
        return lambda steps: walks(K, labels, steps)
    graphs = [Graph(one.simplices(1).T, one.num_nodes, one.x[0]) for one in data]
    kind: Any = WLKernel if test == "wl" else SWLKernel  # up to triangles
    initial = "features" if labeled else "uniform" if test == "wl" else "dimension"
    return lambda rounds: kind(rounds, initial=initial).fit_transform(graphs)


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
