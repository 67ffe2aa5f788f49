"""The same sums, for those who hold a complex instead of its tables."""

from torch import Tensor

from mpsn.complexes import SimplicialComplex, incidence_signs
from mpsn.complexes.operators import Kind
from mpsn.errors import LayerError
from mpsn.nn.functional.incidence import Reduce, boundary, coboundary
from mpsn.nn.functional.neighbors import lower, upper


def incidence(K: SimplicialComplex, k: int, signed: bool) -> tuple[Tensor, Tensor | None]:
    """Return the face table of dimension k and its relative orientations, None if unsigned.

    Example:
        >>> K = SimplicialComplex.from_simplices([[0, 1]])
        >>> mpsn.nn.functional.incidence(K, 1, signed=True)
        (tensor([[1, 0]]), tensor([[ 1, -1]], dtype=torch.int8))
    """
    return K.faces(k), incidence_signs(K, k) if signed else None


def aggregate(
    K: SimplicialComplex,
    k: int,
    kind: Kind,
    h: Tensor,
    *,
    signed: bool = False,
    reduce: Reduce = "sum",
) -> Tensor:
    r"""Give every k-simplex the sum or mean over its neighbours of one kind, in linear time.

    Args:
        K: The complex.
        k: Dimension of the simplices that receive.
        kind: Who sends: ``"boundary"``, ``"coboundary"``, ``"lower"`` or ``"upper"``.
        h: Features of the senders, of dimension k-1, k+1, k and k respectively, (n, ..., F).
        signed: Whether to multiply features by the relative orientation.
        reduce: ``"sum"`` or ``"mean"``.

    Returns:
        (n_k, ..., F).

    Example:
        >>> K = SimplicialComplex.from_simplices([[0, 1, 2]])
        >>> mpsn.nn.functional.aggregate(K, 1, "upper", torch.tensor([[1.0], [2.0], [4.0]])).T
        tensor([[6., 5., 3.]])
    """
    senders = {"boundary": k - 1, "coboundary": k + 1, "lower": k, "upper": k}.get(kind)
    if senders is None:
        raise LayerError(
            f"Expected kind 'boundary', 'coboundary', 'lower' or 'upper', got {kind!r}."
        )
    expected = K.count(senders) if senders >= 0 else 0
    if h.shape[0] != expected:
        raise LayerError(
            f"Expected features of the {expected} {senders}-simplices, one row each, "
            f"got {h.shape[0]} rows."
        )
    down = kind in ("boundary", "lower")
    faces, signs = incidence(K, k if down else k + 1, signed)
    if kind == "boundary":
        return boundary(h, faces, signs, reduce)
    if kind == "coboundary":
        return coboundary(h, faces, K.count(k), signs, reduce)
    if kind == "lower":
        return lower(h, faces, K.count(k - 1) if k else 0, signs, reduce)
    return upper(h, faces, signs, reduce)
