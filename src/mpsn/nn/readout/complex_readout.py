"""The readout of SIN and MLP-sum: over the cells of each dimension, then over dimensions."""

from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor

from mpsn.complexes.complex import Complex
from mpsn.errors import LayerError
from mpsn.nn._checks import activation, check_input, cochains_of
from mpsn.nn.readout.global_pooling import as_aggregation, global_pool, width_of

DropoutPosition = Literal["before_sum", "after_sum"]


class ComplexReadout(torch.nn.Module):
    r"""Pool each dimension, transform, sum, transform (appendix F of the paper).

    .. math:: h_K = \mathrm{MLP}\Bigl(\sum_{p \in \text{dims}} \mathrm{MLP}_p\bigl(
        \mathrm{AGG}_{\sigma \in S_p} h_\sigma\bigr)\Bigr)

    MLP_p is a dense layer with a non-linearity; the outer MLP a dense layer, with the non-linearity
    if ``final_act`` is set. With a bias in MLP_p, a dimension without cells contributes a constant;
    without, zero (if the non-linearity maps 0 to 0).

    Args:
        in_channels: Width F of the features; the sum of all layers' widths for jumping knowledge.
        hidden: Width of MLP_p.
        out_channels: Width G of the result.
        dims: The dimensions to read.
        reduce: AGG: ``"sum"``, ``"mean"``, or an aggregation of PyG or its name, see
            :func:`mpsn.nn.global_pool`; or a list, one for each of ``dims``. Defaults to ``"sum"``.
        act: The non-linearity: an activation of torch, or ``"id"``. Defaults to ``"relu"``.
        bias: Whether MLP_p have biases. Defaults to True.
        shared: Whether all dimensions share one MLP_p. Defaults to False.
        dropout: Dropout rate. Defaults to 0.
        dropout_position: ``"before_sum"`` over dimensions (b in the paper's table), or
            ``"after_sum"``, before the last dense layer (a). Defaults to ``"after_sum"``.
        final_act: Whether the non-linearity follows the last dense layer. Defaults to False.

    Shapes:
        (n_k, F) per dimension in, (C, G) out for a union of C complexes.

    Example:
        >>> K = mpsn.collate([mpsn.clique_complex(nx.complete_graph(n)) for n in (2, 3, 4)])
        >>> xs = [torch.randn(n, 8) for n in K.counts]
        >>> mpsn.nn.ComplexReadout(8, 16, 5, dims=(0, 2))(K, xs).shape
        torch.Size([3, 5])
        >>> from torch_geometric.nn import SortAggregation
        >>> top = ["max", SortAggregation(k=2)]
        >>> mpsn.nn.ComplexReadout(8, 16, 5, dims=(0, 2), reduce=top)(K, xs).shape
        torch.Size([3, 5])
    """

    def __init__(
        self,
        in_channels: int,
        hidden: int,
        out_channels: int,
        *,
        dims: Sequence[int],
        reduce: str | torch.nn.Module | Sequence[str | torch.nn.Module] = "sum",
        act: str = "relu",
        bias: bool = True,
        shared: bool = False,
        dropout: float = 0.0,
        dropout_position: DropoutPosition = "after_sum",
        final_act: bool = False,
    ) -> None:
        super().__init__()
        if dropout_position not in ("before_sum", "after_sum"):
            raise LayerError(
                f"Expected dropout_position 'before_sum' or 'after_sum', got {dropout_position!r}."
            )
        if not dims or len(set(dims)) < len(dims):
            raise LayerError(f"Expected at least one dimension to read, each once, got {dims}.")
        self.in_channels, self.dims = in_channels, tuple(dims)
        each = [reduce] * len(dims) if isinstance(reduce, str | torch.nn.Module) else reduce
        if len(each) != len(dims):
            raise LayerError(
                f"Expected one way to reduce, or one for each of {len(dims)} dims, got {len(each)}."
            )
        self.reduce, self.dropout_position = list(map(as_aggregation, each)), dropout_position
        learned = [one for one in self.reduce if not isinstance(one, str)]
        self.aggregations = torch.nn.ModuleList(learned)
        self.dense = torch.nn.ModuleList(
            torch.nn.Linear(width_of(one, in_channels), hidden, bias=bias)
            for one in self.reduce[: 1 if shared else None]
        )
        self.dropout = torch.nn.Dropout(dropout)
        self.last = torch.nn.Linear(hidden, out_channels)
        self.act = activation(act)
        self.final_act = activation(act if final_act else "id")

    def forward(self, K: Complex, xs: Sequence[Tensor | None]) -> Tensor:
        """Return one row per complex; features may be None or missing where there are no cells."""
        check_input(K, xs)
        widths = dict.fromkeys(self.dims, self.in_channels)
        return self.read(K, cochains_of(K, xs, widths, self.last.weight))

    def read(self, K: Complex, xs: Sequence[Tensor]) -> Tensor:
        """Return one row per complex, from one tensor (n_k, F) for each of ``dims``."""
        return self.combine(self.pooled(K, xs))

    def pooled(self, K: Complex, xs: Sequence[Tensor]) -> list[Tensor]:
        """Return one tensor (C, F) for each of ``dims``."""
        each = enumerate(zip(self.dims, xs, strict=True))
        return [global_pool(K, k, x, self.reduce[i]) for i, (k, x) in each]

    def combine(self, pooled: Sequence[Tensor]) -> Tensor:
        """Return one row per complex, from one tensor (C, F) for each of ``dims``."""
        parts = []
        for i, rows in enumerate(pooled):
            dense = self.dense[min(i, len(self.dense) - 1)]
            part = self.act(dense(rows))  # (C, hidden)
            parts.append(self.dropout(part) if self.dropout_position == "before_sum" else part)
        total = torch.stack(parts).sum(0) if len(parts) > 1 else parts[0]
        if self.dropout_position == "after_sum":
            total = self.dropout(total)
        return self.final_act(self.last(total))

    def extra_repr(self) -> str:
        """Return the settings."""
        return f"dims={self.dims}, reduce={self.reduce}, dropout {self.dropout_position}"


def jump(layers: Sequence[Sequence[Tensor]]) -> list[Tensor]:
    r"""Jumping knowledge: concatenate the features of all layers, dimension by dimension.

    .. math:: h_\sigma = h_\sigma^{(1)} \,\|\, \ldots \,\|\, h_\sigma^{(L)}

    Args:
        layers: For each layer, its features per dimension, each (n_k, F).

    Returns:
        One tensor (n_k, L F) per dimension.

    Example:
        >>> layer = [torch.zeros(4, 2), torch.zeros(3, 2)]
        >>> [tuple(x.shape) for x in mpsn.nn.jump([layer, layer])]
        [(4, 4), (3, 4)]
    """
    return [torch.cat(per_layer, dim=-1) for per_layer in zip(*layers, strict=True)]
