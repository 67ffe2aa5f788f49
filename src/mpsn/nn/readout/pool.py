"""Pooling of cells."""

from torch import Tensor

from mpsn.complexes.complex import Complex
from mpsn.complexes.incidence import Reduce
from mpsn.errors import LayerError


def pool(K: Complex, k: int, h: Tensor, reduce: Reduce = "sum") -> Tensor:
    r"""Sum or average the features of the k-cells of each complex of a union.

    Args:
        K: A complex, or a union of C complexes.
        k: Dimension.
        h: Features (n_k, F), or (n_k, B, F) for a batch of cochains on one complex.
        reduce: ``"sum"`` or ``"mean"``, zero for no cells. Defaults to ``"sum"``.

    Returns:
        (C, F), or (B, F) for a batch on one complex.

    Example:
        >>> edge = SimplicialComplex.from_simplices([[0, 1]])
        >>> mpsn.nn.pool(mpsn.collate([edge, edge]), 0, torch.tensor([[1.0], [2.0], [3.0], [4.0]]))
        tensor([[3.],
                [7.]])
    """
    if reduce not in ("sum", "mean"):
        raise LayerError(f"Expected reduce 'sum' or 'mean', got {reduce!r}.")
    if h.shape[0] != K.count(k) or (h.dim() == 3 and K.num_complexes != 1):
        raise LayerError(
            f"Expected features of the {K.count(k)} {k}-cells of {K.num_complexes} complexes, "
            f"one row each, got {tuple(h.shape)}; a batch (n, B, F) lives on one complex."
        )
    if K.num_complexes == 1:
        total = h.sum(dim=0, keepdim=h.dim() == 2)  # (1, F) or (B, F)
        return total / max(h.shape[0], 1) if reduce == "mean" else total
    return K.membership(k).boundary(h, reduce=reduce)
