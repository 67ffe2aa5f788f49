"""Features of higher cells, from those of their vertices."""

from typing import Literal, TypeVar

from mpsn.complexes import Complex, Incidence, SimplicialComplex
from mpsn.errors import ComplexError

C = TypeVar("C", bound=Complex)


def lift_features(K: C, how: Literal["sum", "mean"] = "mean", max_dim: int | None = None) -> C:
    """Give every cell without features the sum or mean of its vertices' features.

    Args:
        K: A complex with vertex features.
        how: ``"sum"`` or ``"mean"``.
        max_dim: Largest dimension to fill; dimensions without cells get empty tensors (0, F).
            Defaults to the dimension of the complex.

    Example:
        >>> K = mpsn.clique_complex(nx.cycle_graph(3))
        >>> K = K.replace(x=[torch.tensor([[0.0], [3.0], [6.0]])])
        >>> [x.tolist() for x in mpsn.lift_features(K, "mean").x]
        [[[0.0], [3.0], [6.0]], [[1.5], [3.0], [4.5]], [[3.0]]]
    """
    if how not in ("sum", "mean"):
        raise ComplexError(f"Expected 'sum' or 'mean', got {how!r}.")
    vertex = K.x[0] if K.x else None
    if vertex is None:
        raise ComplexError(
            "Expected vertex features x[0] to lift, got none; set them with replace."
        )
    if how == "mean" and not vertex.is_floating_point():
        raise ComplexError(f"Expected floating-point features for a mean, got {vertex.dtype}.")
    top = K.dim if max_dim is None else max(max_dim, K.dim)
    x = list(K.x) + [None] * (top + 1 - len(K.x))
    for k in range(1, top + 1):
        if x[k] is None:
            x[k] = vertices(K, k).from_faces(vertex, reduce=how)  # (n_k, F)
    return K.replace(x=x)


def vertices(K: Complex, k: int) -> Incidence:
    """Return the unsigned incidence between the k-cells and their vertices.

    Example:
        >>> from mpsn.lifting.features import vertices
        >>> vertices(SimplicialComplex.from_simplices([[0, 1, 2]]), 2)
        Incidence(cells=1, count=3, width=3)
    """
    if isinstance(K, SimplicialComplex):
        return Incidence.unchecked(K.simplices(k).reshape(-1), K.num_nodes, k + 1)
    index, ptr = K.cells(k)
    return Incidence.unchecked(index, K.num_nodes, None, ptr)
