"""Families of strongly regular graphs: three come with the library, six are downloaded."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from mpsn.convert import Graph, as_graph
from mpsn.datasets._files import read_graphs
from mpsn.datasets._named import named_graph
from mpsn.datasets._sources import locate
from mpsn.errors import FileError, GraphError

SOURCE = "https://raw.githubusercontent.com/twitter-research/cwn/main/datasets/SR_graphs/raw"
Parameters = tuple[int, int, int, int]


class Family(NamedTuple):
    """Number of graphs in a family, and the checksum of its file or how to construct it."""

    size: int
    sha256: str = ""
    construct: Callable[[], list[Graph]] | None = None


def strongly_regular(
    n: int, d: int, lam: int, mu: int, data: str | os.PathLike[str] | None = None
) -> list[Graph]:
    """Return all strongly regular graphs SR(n, d, λ, μ) of one of the paper's nine families.

    They have n vertices of degree d; adjacent vertices have λ common neighbors, others μ. No two
    graphs of a family are isomorphic, and 2-FWL cannot distinguish any two (a lemma of appendix A).

    SR(16,6,2,2), SR(25,12,5,6) and SR(28,12,6,4) come with the library. The others are read from
    local copies such as ``sr/sr261034.g6``, or downloaded. Every graph is checked to be strongly
    regular with these parameters.

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
    family = SR_FAMILIES.get(parameters)
    if family is None:
        raise GraphError(
            f"Expected parameters (n, d, λ, μ) among {', '.join(map(str, SR_FAMILIES))}, "
            f"got {parameters}."
        )
    if family.construct is not None:
        graphs, origin = family.construct(), f"SR{parameters}"
    else:
        file = f"sr{''.join(map(str, parameters))}.g6"
        path = locate(f"sr/{file}", f"{SOURCE}/{file}", family.sha256, data)
        graphs, origin = _read(path), str(path)
    wrong = [i for i, graph in enumerate(graphs) if not _is_strongly_regular(graph, parameters)]
    if wrong or len(graphs) != family.size:
        problem = f"graph {wrong[0]} is not" if wrong else f"got {len(graphs)}"
        raise FileError(
            f"Expected {family.size} strongly regular graphs with parameters {parameters} in "
            f"{origin}, {problem}; get a good copy from {SOURCE}."
        )
    return graphs


def _read(path: Path) -> list[Graph]:
    return [as_graph(graph) for graph in read_graphs(path)]


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


def _named(*names: str) -> list[Graph]:
    return [named_graph(name) for name in names]


SR_FAMILIES: dict[Parameters, Family] = {
    (16, 6, 2, 2): Family(2, construct=lambda: _named("rook4x4", "shrikhande")),
    (25, 12, 5, 6): Family(15, construct=lambda: _read(Path(__file__).with_name("sr251256.g6"))),
    (26, 10, 3, 4): Family(10, "f0b4b4ad4507835703444c0f0990733e2f7cc31524cf91d04ba4a109f1fd52ac"),
    (28, 12, 6, 4): Family(4, construct=lambda: _named("t8", "chang1", "chang2", "chang3")),
    (29, 14, 6, 7): Family(41, "ea303aa60f98f01e6cc619884cd7d5716bfc00c38b7feaee080c7ff312781625"),
    (35, 16, 6, 8): Family(
        3854, "1d5010ad4da362b1ba600abf02e9abfef9c4204226bcaf01db4926c71c4265b9"
    ),
    (35, 18, 9, 9): Family(227, "a63871afc7e8a3a0d390d705c38a40ecc58e22563dcec8fafc9ea2879a361eb7"),
    (36, 14, 4, 6): Family(180, "f47de3ca58e807e9edbd13002ce3e71ed3ab813aa1517f8babde7dd0ab075854"),
    (40, 12, 2, 4): Family(28, "b899979459e6304bfff848d112d0ac8d738c837e5e21dc6e9d310a386aee8be6"),
}
