"""Graphs as counts of colors: Weisfeiler-Lehman features for scikit-learn."""

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, Literal, Self

import networkx as nx
import numpy as np
import scipy.sparse
import torch
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from mpsn.complexes.internal import Kind
from mpsn.convert import as_graph
from mpsn.errors import ColoringError
from mpsn.lifting import AnyLift, Lift
from mpsn.wl import Palette, Refinement, swl, wl


class _ColorCounts(TransformerMixin, BaseEstimator):
    """Count the colors of every round: one column per color seen in fitting, then the others.

    Unseen colors have one column per round and dimension, in this order; dimensions above those of
    the fit share the column of the highest.
    """

    rounds: int | None

    @abstractmethod
    def _refine(self, graphs: list[object], rounds: int | None, palette: Palette) -> Refinement:
        """Run the test."""

    def fit(self, graphs: Sequence[object], y: object = None) -> Self:
        """Learn the colors of graphs."""
        self.fit_transform(graphs, y)
        return self

    def fit_transform(self, graphs: Sequence[object], y: object = None) -> Any:
        """Learn the colors of graphs and count them."""
        self.palette_ = Palette()
        refinement = self._refine(list(graphs), self.rounds, self.palette_)
        self.rounds_, self.levels_ = refinement.rounds, len(refinement.ptr)
        return self._count(refinement)

    def transform(self, graphs: Sequence[object]) -> Any:
        """Count colors, (graphs, features) as scipy CSR of int64."""
        check_is_fitted(self, "palette_")
        return self._count(self._refine(list(graphs), self.rounds_, self.palette_.copy()))

    def _count(self, refinement: Refinement) -> Any:
        seen = len(self.palette_)
        rows, columns = [], []
        for turn, colors in enumerate(refinement.colors):
            for k, color in enumerate(colors):
                unseen = seen + turn * self.levels_ + min(k, self.levels_ - 1)
                columns.append(torch.where(color < seen, color, unseen))
                rows.append(torch.repeat_interleave(refinement.ptr[k].diff()))
        # scikit-learn's linear models take only 32-bit indices
        row, column = (torch.cat(part).to("cpu", torch.int32).numpy() for part in (rows, columns))
        shape = (refinement.num_complexes, seen + (self.rounds_ + 1) * self.levels_)
        return scipy.sparse.csr_array((np.ones(len(row), np.int64), (row, column)), shape=shape)


class WLKernel(_ColorCounts):
    """Weisfeiler-Lehman features: the number of vertices of each color, in all rounds.

    A linear model on them is the Weisfeiler-Lehman subtree kernel. Colors not seen in fitting are
    counted in one extra column per round; these columns come last.

    Args:
        rounds: Number of rounds; None to run until the graphs of the fit are stable.
        initial: "uniform" to start all vertices with one color, "features" to start with their
            rows of x, or with the attributes that all vertices of all networkx graphs have.

    Example:
        >>> features = mpsn.estimators.WLKernel(rounds=1).fit_transform([nx.path_graph(3)])
        >>> features.toarray()  # 3 vertices; 2 ends, 1 middle; none unseen
        array([[3, 2, 1, 0, 0]])
    """

    def __init__(
        self, rounds: int | None = 3, initial: Literal["uniform", "features"] = "uniform"
    ) -> None:
        self.rounds = rounds
        self.initial = initial

    def _refine(self, graphs: list[object], rounds: int | None, palette: Palette) -> Refinement:
        if self.initial not in ("uniform", "features"):
            raise ColoringError(f"Expected 'uniform' or 'features', got {self.initial!r}.")
        colors = None
        if self.initial == "features":
            if not len(palette):  # a fit
                self.attributes_ = _common_attributes(graphs)
            colors = [_vertex_features(graph, self.attributes_) for graph in graphs]
            if any(rows is None for rows in colors):
                raise ColoringError(
                    "Expected vertex features x, or attributes of all vertices, in all graphs, got "
                    "a graph without; use initial='uniform'."
                )
        return wl(graphs, colors, rounds=rounds, palette=palette)


class SWLKernel(_ColorCounts):
    """Simplicial Weisfeiler-Lehman features: the number of cells of each color, in all rounds.

    Graphs are lifted to their clique complexes, or by another lift. Colors not seen in fitting are
    counted in one extra column per round and dimension; these columns come last.

    Args:
        rounds: Number of rounds; None to run until the graphs of the fit are stable.
        max_dim: Largest dimension of cliques; None for all of them.
        adjacencies: As for :func:`mpsn.wl.swl`.
        initial: As for :func:`mpsn.wl.swl`.
        lift: "cliques"; "rings", with chordless cycles as 2-cells; "cliques+rings", with cliques of
            four and more vertices as well; "cubes"; or a function from a graph,
            as ``(edge_index, num_nodes)``, to a complex.
        max_ring: Largest number of vertices of a ring.

    Example:
        >>> from sklearn.pipeline import make_pipeline
        >>> from sklearn.svm import LinearSVC
        >>> graphs = [nx.cycle_graph(n) for n in (3, 4)] * 5
        >>> model = make_pipeline(mpsn.estimators.SWLKernel(), LinearSVC()).fit(graphs, [0, 1] * 5)
        >>> model.predict([nx.cycle_graph(4)])
        array([1])
    """

    def __init__(
        self,
        rounds: int | None = 3,
        max_dim: int | None = 2,
        adjacencies: Sequence[Kind] = ("boundary", "upper"),
        initial: Literal["dimension", "features"] = "dimension",
        lift: AnyLift = "cliques",
        max_ring: int = 6,
    ) -> None:
        self.rounds = rounds
        self.max_dim = max_dim
        self.adjacencies = adjacencies
        self.initial = initial
        self.lift = lift
        self.max_ring = max_ring

    def _refine(self, graphs: list[object], rounds: int | None, palette: Palette) -> Refinement:
        lift = Lift.of(self.lift, max_dim=self.max_dim, max_ring=self.max_ring)
        complexes: Any
        if self.initial == "features":
            complexes = lift.many(graphs)
        elif lift.takes_edges:
            complexes = lift.many([(g.edge_index, g.num_nodes) for g in map(as_graph, graphs)])
        else:
            complexes = [lift(graph).bare() for graph in graphs]
        return swl(
            complexes, self.adjacencies, initial=self.initial, rounds=rounds, palette=palette
        )


def _common_attributes(graphs: Iterable[object]) -> list[Any]:
    """Return the names of the attributes that all vertices of all networkx graphs have."""
    vertices = [data for g in graphs if isinstance(g, nx.Graph) for _, data in g.nodes(data=True)]
    return sorted(set(vertices[0]).intersection(*vertices), key=str) if vertices else []


def _vertex_features(graph: object, names: Sequence[Any]) -> Any:
    """Return the rows of x, or the values of a networkx graph's attributes; None without any."""
    if not isinstance(graph, nx.Graph):
        return as_graph(graph).x
    vertices = [data for _, data in graph.nodes(data=True)]
    if not names or not all(name in data for data in vertices for name in names):
        return None
    return [tuple((type(data[name]).__name__, data[name]) for name in names) for data in vertices]
