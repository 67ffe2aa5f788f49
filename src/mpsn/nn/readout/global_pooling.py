"""Pooling of cells."""

import copy

import torch
from torch import Tensor

from mpsn._rows.sums import wide
from mpsn.complexes.complex import Complex
from mpsn.complexes.incidence import Reduce
from mpsn.errors import LayerError


def global_pool(K: Complex, k: int, h: Tensor, reduce: str | torch.nn.Module = "sum") -> Tensor:
    r"""Sum, average or otherwise aggregate the k-cells of each complex of a union.

    Args:
        K: A complex, or a union of C complexes.
        k: Dimension.
        h: Features (n_k, F), or (n_k, B, F) for a batch of cochains on one complex.
        reduce: ``"sum"``, ``"mean"``, or an aggregation of PyG, or its name: ``"max"``,
            ``"softmax"``, ``SortAggregation(k)`` for the top k cells, or
            ``AttentionalAggregation(gate_nn)``. Zero for no cells. Defaults to ``"sum"``.

    Returns:
        (C, F), or (B, F) for a batch on one complex; as wide as the aggregation makes it.

    Example:
        >>> edge = SimplicialComplex.from_simplices([[0, 1]])
        >>> h = torch.tensor([[1.0], [2.0], [3.0], [4.0]])
        >>> mpsn.nn.global_pool(mpsn.collate([edge, edge]), 0, h)
        tensor([[3.],
                [7.]])
    """
    aggregation = as_aggregation(reduce)
    alone = K.num_complexes == 1 and isinstance(aggregation, str)
    if h.shape[0] != K.count(k) or (h.dim() == 3 and not alone):
        raise LayerError(
            f"Expected features of the {K.count(k)} {k}-cells of {K.num_complexes} complexes, "
            f"one row each, got {tuple(h.shape)}; a batch (n, B, F) lives on one complex, and is "
            f"summed or averaged."
        )
    if not isinstance(aggregation, str):
        return _aggregate(K, k, h, aggregation)
    if alone:
        total = h.sum(dim=0, keepdim=h.dim() == 2)  # (1, F) or (B, F)
        return total / max(h.shape[0], 1) if aggregation == "mean" else total
    return K.membership(k).from_faces(h, reduce=aggregation)


def _aggregate(K: Complex, k: int, h: Tensor, aggregation: torch.nn.Module) -> Tensor:
    """Aggregate with PyG; many aggregations fail on nothing, or do not make zero of it."""
    sizes, index = K.ptr(k).diff(), K.batch(k)
    if not len(index):
        h, index = h.new_zeros(len(sizes), h.shape[1]), torch.arange(len(sizes), device=h.device)
    out: Tensor = aggregation(wide(h), index, dim_size=len(sizes), dim=0).to(h.dtype)
    return torch.where((sizes > 0)[:, None], out, 0)


def as_aggregation(reduce: object) -> Reduce | torch.nn.Module:
    """Return ``"sum"``, ``"mean"``, or an aggregation of PyG, given itself or by name."""
    if reduce == "sum" or reduce == "mean":
        return reduce
    from torch_geometric.nn.aggr import Aggregation
    from torch_geometric.nn.resolver import aggregation_resolver

    try:
        aggregation = aggregation_resolver(reduce)
    except (TypeError, ValueError):
        aggregation = None
    if isinstance(aggregation, Aggregation):
        return aggregation  # type: ignore[no-any-return]
    raise LayerError(
        f"Expected reduce 'sum', 'mean', a PyG Aggregation, or the name of one without arguments, "
        f"such as 'max' or 'softmax', got {reduce!r:.60}."
    )


def width_of(aggregation: Reduce | torch.nn.Module, in_channels: int) -> int:
    """Return how wide the result of an aggregation of features of a width is."""
    if isinstance(aggregation, str):
        return in_channels
    with torch.no_grad():
        trial = copy.deepcopy(aggregation).eval()
        return int(trial(torch.zeros(2, in_channels), torch.tensor([0, 0]), dim=0).shape[-1])
