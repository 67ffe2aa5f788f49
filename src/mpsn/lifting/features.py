"""Features of higher simplices, from those of their vertices."""

from typing import Literal

from mpsn.complexes import SimplicialComplex
from mpsn.errors import ComplexError


def lift_features(
    K: SimplicialComplex, how: Literal["sum", "mean"] = "mean", max_dim: int | None = None
) -> SimplicialComplex:
    """Give every simplex without features the sum or mean of its vertices' features.

    Args:
        K: A complex with vertex features.
        how: ``"sum"`` or ``"mean"``.
        max_dim: Largest dimension to fill; dimensions without simplices get empty tensors (0, F).
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
            vertices = K.simplices(k)
            total = vertex[vertices[:, 0]]
            for column in range(1, k + 1):
                total = total + vertex[vertices[:, column]]  # (n_k, F)
            x[k] = total / (k + 1) if how == "mean" else total
    return K.replace(x=x)
