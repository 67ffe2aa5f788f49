"""Conversion from and to the simplex trees of gudhi, with their filtration values."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from mpsn._rows.compiled import compiled
from mpsn._rows.packages import package
from mpsn.errors import ComplexError

if TYPE_CHECKING:
    from mpsn.complexes.simplicial import SimplicialComplex

Words = NDArray[np.int32]
Array = NDArray[np.int64]


class Nodes(NamedTuple):
    """The simplices of a tree: dimension, last vertex, the face without it, filtration value."""

    dim: Array
    last: Array
    parent: Array  # among those of its dimension
    value: NDArray[np.float64]


def from_gudhi(tree: Any) -> "SimplicialComplex":
    """Build from a gudhi ``SimplexTree``; filtration values become features x[k], (n_k, 1) float64.

    Vertex numbers other than 0, 1, ... become ``vertex_labels``.

    Example:
        >>> import gudhi
        >>> tree = gudhi.RipsComplex(points=[[0], [2], [5]]).create_simplex_tree(max_dimension=2)
        >>> K = SimplicialComplex.from_gudhi(tree)
        >>> K, K.x[1].T
        (SimplicialComplex(dim=2, counts=(3, 3, 1), features=(1, 1, 1)),
         tensor([[2., 5., 3.]], dtype=torch.float64))
    """
    from mpsn.complexes.simplicial import SimplicialComplex

    nodes = _nodes(tree)
    rows = [np.flatnonzero(nodes.dim == k) for k in range(int(nodes.dim.max(initial=-1)) + 1)]
    if not rows:
        return SimplicialComplex()
    names = nodes.last[rows[0]]
    n = len(names)
    plain = bool((names == np.arange(n)).all())
    vertex = nodes.last if plain else np.searchsorted(names, nodes.last)
    tables: list[Tensor] = []
    keys = torch.arange(n)  # parent * n + last of the simplices below, which ascend
    for k, at in enumerate(rows[1:], start=1):
        last, parent = torch.from_numpy(vertex[at]), torch.from_numpy(nodes.parent[at])
        if k == 1:
            table = torch.stack([last, parent], dim=1)
        else:  # the face that omits vertex i extends the parent's face i by the last vertex
            wanted = tables[-1][parent] * n + last[:, None]
            table = torch.cat([torch.searchsorted(keys, wanted), parent[:, None]], dim=1)
        tables.append(table)
        keys = parent * n + last
    x = [torch.from_numpy(nodes.value[at])[:, None] for at in rows]
    ptr = [torch.tensor([0, len(at)]) for at in rows]
    K = SimplicialComplex._of_tables(tables, ptr).replace(x=x)
    return K if plain else K.replace(vertex_labels=names.tolist())


def to_gudhi(K: "SimplicialComplex", filtration: Sequence[Tensor | None] | None = None) -> Any:
    """Return a gudhi ``SimplexTree``, to compute persistence for example.

    Args:
        filtration: Values per dimension, each (n_k,) or (n_k, 1), or None for zeros; no simplex may
            come before its faces. ``K.x`` of :meth:`from_gudhi`, ``[None, *K.x[1:]]`` of
            :func:`mpsn.rips_complex`. Defaults to zeros.
    """
    tree = package("gudhi", "tda").SimplexTree()
    given = [*(filtration or ()), *[None] * (K.dim + 1)]
    below = np.zeros(0)
    for k in range(K.dim + 1):
        rows, value = K.simplices(k).cpu().numpy(), given[k]
        values = np.zeros(len(rows)) if value is None else value.detach().double().cpu().numpy()
        if values.shape not in ((len(rows),), (len(rows), 1)):
            raise ComplexError(
                f"Expected a filtration value for each of the {len(rows)} simplices of dimension "
                f"{k}, got shape {values.shape}."
            )
        values = np.ascontiguousarray(values.reshape(-1))
        if k and (below[K.faces(k).cpu().numpy()] > values[:, None]).any():
            raise ComplexError(
                f"Expected filtration values at least as large as those of all faces, got smaller "
                f"ones in dimension {k}; take the maximum over the faces."
            )
        tree.insert_batch(np.ascontiguousarray(rows.T).astype(np.int32), values)
        below = values
    return tree


def _nodes(tree: Any) -> Nodes:
    """Read the nodes of a tree from its serialized form, in lexicographic order by dimension.

    That form lists siblings, each a vertex and a value, and then the children of each of them. It
    is read within a few milliseconds for 10^5 simplices; gudhi's iterators take as long as most of
    its constructions.
    """
    n = tree.num_simplices()
    raw = np.asarray(tree.__getstate__()).tobytes()
    header = len(raw) - 4 * (4 * n + 1)  # grows with the version of gudhi
    words = np.frombuffer(raw[max(header, 0) :], np.int32)
    dim, last, parent = np.empty((3, n), np.int64)
    at = np.empty((n, 2), np.int32)
    if len(words) != 4 * n + 1 or not _walk(words, tree.dimension() + 2, dim, last, parent, at):
        raise ComplexError(
            "Expected a SimplexTree as gudhi 3.11 to 3.13 store it, got another form; install "
            "gudhi==3.13, or pass the simplices to SimplicialComplex.from_simplices."
        )
    return Nodes(dim, last, parent, at.view(np.float64)[:, 0])


@compiled
def _walk(words: Words, depth: int, dim: Array, last: Array, parent: Array, at: Words) -> bool:
    """Fill the arrays of all nodes; return whether the words are those of a tree."""
    n, read, row = len(words), 1, 0
    following, end, total = np.zeros((3, depth + 1), np.int64)
    k, above, many = 0, -1, words[0]
    while True:
        if many < 0 or many > len(dim) - row or read + 3 * many > n or (many and k >= depth):
            return False
        following[k], end[k] = total[k], total[k] + many
        total[k] += many
        for _ in range(many):
            dim[row], last[row], parent[row] = k, words[read], above
            at[row] = words[read + 1 : read + 3]
            row, read = row + 1, read + 3
        while following[k] == end[k]:
            k -= 1
            if k < 0:
                return row == len(dim) and read == n
        if read >= n:
            return False
        above, many = following[k], words[read]
        following[k], k, read = above + 1, k + 1, read + 1
