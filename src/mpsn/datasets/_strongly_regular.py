"""Families of strongly regular graphs: three are constructed, six read or downloaded."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from mpsn.convert import Graph, as_graph
from mpsn.datasets._files import read_graphs
from mpsn.datasets._named import Adjacency, chang, rook, shrikhande, switch, to_graph, triangular
from mpsn.datasets._sources import locate
from mpsn.errors import FileError, GraphError
from mpsn.lifting import clique_complexes
from mpsn.wl import swl

SOURCE = "https://raw.githubusercontent.com/twitter-research/cwn/main/datasets/SR_graphs/raw"
Parameters = tuple[int, int, int, int]


class Family(NamedTuple):
    """Number of graphs in a family, and the checksum of its file or how to construct it."""

    size: int
    sha256: str = ""
    construct: Callable[[], list[Adjacency]] | None = None


def strongly_regular(
    n: int, d: int, lam: int, mu: int, data: str | os.PathLike[str] | None = None
) -> list[Graph]:
    """Return all strongly regular graphs SR(n, d, λ, μ) of one of the paper's nine families.

    They have n vertices of degree d; adjacent vertices have λ common neighbors, others μ. No two
    graphs of a family are isomorphic, and 2-FWL cannot distinguish any two (a lemma of appendix A).

    SR(16,6,2,2), SR(25,12,5,6) and SR(28,12,6,4) are constructed. The others are read from local
    copies such as ``sr/sr261034.g6``, or downloaded. Every graph is checked to be strongly regular
    with these parameters.

    Args:
        n: Number of vertices.
        d: Degree.
        lam: Number of common neighbors of adjacent vertices.
        mu: Number of common neighbors of other vertices.
        data: Folder of local copies. Defaults to the environment variable ``MPSN_DATA``.

    Example:
        >>> rook, shrikhande = mpsn.datasets.strongly_regular(16, 6, 2, 2)
        >>> mpsn.clique_complex(rook, None).counts, mpsn.clique_complex(shrikhande, None).counts
        ((16, 48, 32, 8), (16, 48, 32))
    """
    parameters = (n, d, lam, mu)
    path, family = locate_family(parameters, data), SR_FAMILIES[parameters]
    if family.construct is not None:
        graphs, where = [to_graph(adjacency) for adjacency in family.construct()], f"SR{parameters}"
    else:
        assert path is not None
        graphs, where = [as_graph(graph) for graph in read_graphs(path)], str(path)
    wrong = [i for i, graph in enumerate(graphs) if not _is_strongly_regular(graph, parameters)]
    if wrong or len(graphs) != family.size:
        problem = f"graph {wrong[0]} is not" if wrong else f"got {len(graphs)}"
        raise FileError(
            f"Expected {family.size} strongly regular graphs with parameters {parameters} in "
            f"{where}, {problem}; get a good copy from {SOURCE}."
        )
    return graphs


def locate_family(
    parameters: Parameters, data: str | os.PathLike[str] | None = None
) -> Path | None:
    """Return the file of a family, downloading it if needed; None if the family is constructed."""
    family = SR_FAMILIES.get(parameters)
    if family is None:
        raise GraphError(
            f"Expected parameters (n, d, λ, μ) among {', '.join(map(str, SR_FAMILIES))}, "
            f"got {parameters}."
        )
    if family.construct is not None:
        return None
    file = f"sr{''.join(map(str, parameters))}.g6"
    return locate(f"sr/{file}", f"{SOURCE}/{file}", family.sha256, data)


def _is_strongly_regular(graph: Graph, parameters: Parameters) -> bool:
    """Return whether A² = dI + λA + μ(J − I − A)."""
    n, d, lam, mu = parameters
    if graph.num_nodes != n:
        return False
    A = np.zeros((n, n), np.int64)
    u, v = graph.edge_index.numpy()
    A[u, v] = A[v, u] = 1
    one = np.eye(n, dtype=np.int64)
    return np.array_equal(A @ A, d * one + lam * A + mu * (1 - one - A))


def _sr25() -> list[Adjacency]:
    """Construct the fifteen SR(25,12,5,6) as descendants of regular two-graphs on 26 points.

    SWL distinguishes those returned, so no two are isomorphic; fifteen exist (Paulus, 1973).
    """
    squares = [np.add.outer(range(5), range(5)) % 5, np.array(NONCYCLIC)]
    lonely = [_paley25(), *map(_latin_square_graph, squares)]
    starts = [np.pad(adjacency, (0, 1)) for adjacency in lonely]
    starts += [_block_graph(triples) for triples in _triple_systems13()]
    starts += [~adjacency & ~np.eye(26, dtype=bool) for adjacency in starts]
    found = [_descendant(adjacency, v) for adjacency in starts for v in range(26)]
    labels = swl(clique_complexes([to_graph(graph) for graph in found], None)).classes()
    _, first = np.unique(labels.numpy(), return_index=True)
    return [found[i] for i in sorted(first.tolist())]


def _descendant(adjacency: Adjacency, v: int) -> Adjacency:
    """Isolate a vertex by switching at its neighbors, and remove it."""
    return np.delete(np.delete(switch(adjacency, adjacency[v]), v, axis=0), v, axis=1)


NONCYCLIC = ((0, 1, 2, 3, 4), (1, 0, 3, 4, 2), (2, 4, 0, 1, 3), (3, 2, 4, 0, 1), (4, 3, 1, 2, 0))


def _latin_square_graph(square: np.ndarray[tuple[int, ...], np.dtype[np.int64]]) -> Adjacency:
    """Return the graph of cells, adjacent if they share a row, a column or a symbol."""
    n = len(square)
    symbol = square.reshape(-1)
    return np.asarray(rook(n) | ((symbol[:, None] == symbol) & ~np.eye(n * n, dtype=bool)))


def _paley25() -> Adjacency:
    """Return the Paley graph: elements a + b√2 of the field of 25, adjacent at a square apart."""
    a, b = np.divmod(np.arange(25), 5)
    squares = np.unique(((a * a + 2 * b * b) % 5 * 5 + 2 * a * b % 5)[1:])
    return np.isin((a[:, None] - a) % 5 * 5 + (b[:, None] - b) % 5, squares)


def _triple_systems13() -> list[set[tuple[int, ...]]]:
    """Return the two Steiner triple systems on 13 points: the cyclic one, and one after a trade."""
    bases = ((0, 1, 4), (0, 2, 7))
    cyclic = {tuple(sorted((x + i) % 13 for x in base)) for base in bases for i in range(13)}
    pasch, traded = ({(0, 1, a), (0, 2, b), (1, b, 9), (2, a, 9)} for a, b in ((4, 7), (7, 4)))
    return [cyclic, (cyclic - pasch) | traded]


def _block_graph(blocks: set[tuple[int, ...]]) -> Adjacency:
    """Return the graph of blocks, adjacent if they share a point."""
    ordered = sorted(blocks)
    return np.array([[len({*one} & {*two}) == 1 for two in ordered] for one in ordered])


SR_FAMILIES: dict[Parameters, Family] = {
    (16, 6, 2, 2): Family(2, construct=lambda: [rook(4), shrikhande()]),
    (25, 12, 5, 6): Family(15, construct=_sr25),
    (26, 10, 3, 4): Family(10, "f0b4b4ad4507835703444c0f0990733e2f7cc31524cf91d04ba4a109f1fd52ac"),
    (28, 12, 6, 4): Family(
        4, construct=lambda: [triangular(8), *map(chang, ((2, 2, 2, 2), (8,), (3, 5)))]
    ),
    (29, 14, 6, 7): Family(41, "ea303aa60f98f01e6cc619884cd7d5716bfc00c38b7feaee080c7ff312781625"),
    (35, 16, 6, 8): Family(
        3854, "1d5010ad4da362b1ba600abf02e9abfef9c4204226bcaf01db4926c71c4265b9"
    ),
    (35, 18, 9, 9): Family(227, "a63871afc7e8a3a0d390d705c38a40ecc58e22563dcec8fafc9ea2879a361eb7"),
    (36, 14, 4, 6): Family(180, "f47de3ca58e807e9edbd13002ce3e71ed3ab813aa1517f8babde7dd0ab075854"),
    (40, 12, 2, 4): Family(28, "b899979459e6304bfff848d112d0ac8d738c837e5e21dc6e9d310a386aee8be6"),
}
