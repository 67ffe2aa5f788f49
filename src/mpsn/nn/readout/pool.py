"""From features of simplices to features of complexes."""

from torch import Tensor

from mpsn.complexes import SimplicialComplex
from mpsn.errors import LayerError
from mpsn.nn.functional.incidence import Reduce, check_reduce, coboundary
from mpsn.nn.functional.transposes import rows


def pool(K: SimplicialComplex, k: int, h: Tensor, reduce: Reduce = "sum") -> Tensor:
    r"""Add up or average the features of the k-simplices, per complex of a union.

    Args:
        K: A complex, or a union of C complexes.
        k: Dimension.
        h: Features (n_k, F), or (n_k, B, F) for a batch of cochains on one complex.
        reduce: ``"sum"`` or ``"mean"``; a complex without k-simplices gets zero either way.

    Returns:
        (C, F), or (B, F) for a batch on one complex.

    Example:
        >>> edge = SimplicialComplex.from_simplices([[0, 1]])
        >>> mpsn.nn.pool(mpsn.collate([edge, edge]), 0, torch.tensor([[1.0], [2.0], [3.0], [4.0]]))
        tensor([[3.],
                [7.]])
    """
    check_reduce(reduce)
    if h.shape[0] != K.count(k) or (h.dim() == 3 and K.num_complexes != 1):
        raise LayerError(
            f"Expected features of the {K.count(k)} {k}-simplices of {K.num_complexes} complexes, "
            f"one row each, got {tuple(h.shape)}; a batch (n, B, F) lives on one complex."
        )
    if h.dim() == 3:
        total = h.sum(dim=0)  # (B, F)
        return total / max(h.shape[0], 1) if reduce == "mean" else total
    total = coboundary(h, K.batch(k)[:, None], K.num_complexes)  # (C, F)
    if reduce == "sum":
        return total
    return total / rows(K.ptr(k).diff().clamp(min=1), total)
