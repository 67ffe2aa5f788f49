"""Transformers on the cells of complexes."""

from collections.abc import Sequence
from typing import Literal, get_args

import torch
import torch.nn.functional as nnf
from torch import Tensor

from mpsn.complexes.complex import Complex
from mpsn.errors import LayerError
from mpsn.nn._checks import check_least, cochains
from mpsn.nn._layer import Layer

Mode = Literal["general", "pairwise"]


class CellTransformerConv(Layer):
    r"""A block of the cellular transformer (Ballester et al. 2024).

    .. math::
        Z_k &= H_k + \sum_l \operatorname{softmax}\Bigl(\tfrac{1}{\sqrt{d}}
            (\bar H_k Q_{kl}) (\bar H_l K_{kl})^\top\Bigr) \bar H_l V_{kl} O_{kl} \\
        H_k' &= Z_k + \mathrm{MLP}_k(\bar Z_k)

    with layer norms, written as bars. With ``mode="pairwise"``, the k-cells attend to those of each
    dimension l apart, as in the sum; with ``"general"``, each cell attends to all cells of its
    complex at once, with one set of weights. The layer sees a complex only as a set: give it
    encodings of the cells' positions with their features, see :mod:`mpsn.lifting`.

    Args:
        channels: Width F of input and output, a multiple of ``heads``.
        max_dim: Largest dimension of the cells used.
        heads: Number of heads. Defaults to 4.
        mode: ``"general"`` or ``"pairwise"``. Defaults to ``"general"``.
        dropout: Dropout rate of the attention and of the perceptrons. Defaults to 0.

    Shapes:
        One tensor (n_k, F) per dimension 0, ..., max_dim in and out. Cells of different complexes
        of a union do not attend to each other; complexes are padded to the largest.

    Example:
        >>> K = mpsn.clique_complex(nx.karate_club_graph(), max_dim=2)
        >>> layer = mpsn.nn.CellTransformerConv(8, max_dim=2, mode="pairwise")
        >>> [tuple(x.shape) for x in layer(K, [torch.randn(n, 8) for n in K.counts])]
        [(34, 8), (78, 8), (45, 8)]
    """

    def __init__(
        self,
        channels: int,
        max_dim: int,
        heads: int = 4,
        *,
        mode: Mode = "general",
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        check_least(0, max_dim=max_dim)
        check_least(1, heads=heads)
        if channels % heads:
            raise LayerError(f"Expected channels as a multiple of heads={heads}, got {channels}.")
        if mode not in get_args(Mode):
            raise LayerError(f"Expected mode 'general' or 'pairwise', got {mode!r}.")
        self.in_channels = self.out_channels = channels
        self.max_dim, self.heads, self.mode, self.rate = max_dim, heads, mode, dropout
        dims = range(max_dim + 1)
        names = ["all"] if mode == "general" else [f"{k} {near}" for k in dims for near in dims]

        def dense() -> torch.nn.ModuleDict:
            return torch.nn.ModuleDict({n: torch.nn.Linear(channels, channels) for n in names})

        self.query, self.key, self.value, self.out = dense(), dense(), dense(), dense()
        self.norms = torch.nn.ModuleList(torch.nn.LayerNorm(channels) for _ in dims)
        self.mlps = torch.nn.ModuleList(
            torch.nn.Sequential(
                torch.nn.LayerNorm(channels),
                torch.nn.Linear(channels, 2 * channels),
                torch.nn.GELU(),
                torch.nn.Dropout(dropout),
                torch.nn.Linear(2 * channels, channels),
                torch.nn.Dropout(dropout),
            )
            for _ in dims
        )

    def forward(self, K: Complex, xs: Sequence[Tensor | None]) -> list[Tensor]:
        """Return new features per dimension; the inputs are not modified."""
        like = self.norms[0].weight
        hs = cochains(K, xs, self.max_dim, self.in_channels, like)  # type: ignore[arg-type]
        dims, complexes = range(self.max_dim + 1), K.num_complexes
        normed = [norm(h) for norm, h in zip(self.norms, hs, strict=True)]
        home = [K.batch(k) for k in dims]
        if self.mode == "general":
            rows, owner = torch.cat(normed), torch.cat(home)
            order = owner.argsort(stable=True)
            rows, owner = rows[order], owner[order]
            mixed = self._attend("all", rows, rows, owner, owner, complexes)
            back = torch.empty_like(order)
            back[order] = torch.arange(len(order), device=order.device)
            received = list(torch.split(mixed[back], [len(h) for h in hs]))
        else:
            received = []
            for k in dims:
                messages = [
                    self._attend(
                        f"{k} {near}", normed[k], normed[near], home[k], home[near], complexes
                    )
                    for near in dims
                ]
                received.append(torch.stack(messages).sum(0))
        out = [h + message for h, message in zip(hs, received, strict=True)]
        return [h + mlp(h) for h, mlp in zip(out, self.mlps, strict=True)]

    def _attend(
        self, name: str, receiver: Tensor, sender: Tensor, to: Tensor, of: Tensor, complexes: int
    ) -> Tensor:
        """Return what receivers get from the senders of their complex, (n, F)."""
        query, places = padded(self.query[name](receiver), to, complexes)
        key, used = padded(self.key[name](sender), of, complexes)
        value, _ = padded(self.value[name](sender), of, complexes)
        mask = key.new_zeros(key.shape[:2], dtype=torch.bool)
        mask[of, used] = True  # (C, N)
        q, k, v = (
            h.reshape(*h.shape[:2], self.heads, self.in_channels // self.heads).transpose(1, 2)
            for h in (query, key, value)
        )
        out = nnf.scaled_dot_product_attention(
            q,
            k,
            v,
            attn_mask=mask[:, None, None],
            dropout_p=self.rate if self.training else 0.0,
        )
        rows = out.transpose(1, 2).flatten(2)[to, places]
        heard = mask.any(dim=1)[to]  # else attention is over nothing
        message: Tensor = self.out[name](torch.where(heard[:, None], rows, 0))
        return message


def padded(rows: Tensor, owner: Tensor, owners: int) -> tuple[Tensor, Tensor]:
    """Return rows as a table (owners, longest, F), and the place of each row in its line.

    Rows are those of owner 0, 1, ... in order.

    Example:
        >>> from mpsn.nn.conv.transformer import padded
        >>> table, place = padded(torch.ones(3, 1), torch.tensor([0, 0, 1]), 2)
        >>> table[..., 0].tolist(), place.tolist()
        ([[1.0, 1.0], [1.0, 0.0]], [0, 1, 0])
    """
    sizes = torch.bincount(owner, minlength=owners)
    place = torch.arange(len(owner), device=owner.device) - (sizes.cumsum(0) - sizes)[owner]
    longest = int(sizes.max()) if len(owner) else 0
    table = rows.new_zeros(owners, longest, rows.shape[-1])
    return table.index_put((owner, place), rows), place
