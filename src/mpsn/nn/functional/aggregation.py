"""Sums over the neighbors of one of the four kinds, given a complex."""

from typing import TYPE_CHECKING

from torch import Tensor

from mpsn.complexes.incidence import Reduce
from mpsn.complexes.internal import Kind
from mpsn.errors import LayerError

if TYPE_CHECKING:
    from mpsn.complexes.complex import Complex

# The method of an incidence that sums over each kind of senders.
SUMS = {"boundary": "from_faces", "coboundary": "from_cofaces", "lower": "lower", "upper": "upper"}


def aggregate(
    K: "Complex", k: int, kind: Kind, h: Tensor, *, signed: bool = False, reduce: Reduce = "sum"
) -> Tensor:
    r"""Return the sum or mean over the neighbors of every k-cell of one kind, in linear time.

    Args:
        K: The complex.
        k: Dimension of the receivers.
        kind: The senders: ``"boundary"``, ``"coboundary"``, ``"lower"`` or ``"upper"``.
        h: Features of the senders, of dimension k-1, k+1, k and k respectively, (n, ..., F).
        signed: Whether to multiply features by relative orientations. Defaults to False.
        reduce: ``"sum"`` or ``"mean"``. Defaults to ``"sum"``.

    Returns:
        (n_k, ..., F).

    Example:
        >>> K = SimplicialComplex.from_simplices([[0, 1, 2]])
        >>> mpsn.nn.functional.aggregate(K, 1, "upper", torch.tensor([[1.0], [2.0], [4.0]])).T
        tensor([[6., 5., 3.]])
    """
    if kind not in SUMS:
        raise LayerError(
            f"Expected kind 'boundary', 'coboundary', 'lower' or 'upper', got {kind!r}."
        )
    incidence = K.incidence(k if kind in ("boundary", "lower") else k + 1)
    out: Tensor = getattr(incidence, SUMS[kind])(h, signed=signed, reduce=reduce)
    return out
