"""Attention over the neighbors of cells."""

from math import prod
from typing import TYPE_CHECKING, Literal

import torch
import torch.nn.functional as nnf
from torch import Tensor

from mpsn._rows.sums import per_row
from mpsn.complexes.internal import Kind, pairs_of
from mpsn.errors import LayerError
from mpsn.nn._checks import Activation

if TYPE_CHECKING:
    from mpsn.complexes.complex import Complex


def leaky_relu(score: Tensor) -> Tensor:
    """Return LeakyReLU with the slope 0.2 of graph attention networks."""
    return nnf.leaky_relu(score, 0.2)


def attention(
    K: "Complex",
    k: int,
    kind: Kind,
    value: Tensor,
    sender: Tensor,
    receiver: Tensor | None = None,
    *,
    act: Activation = leaky_relu,
    signed: bool = False,
    loops: bool = False,
) -> Tensor:
    r"""Return the mean over the neighbors of every k-cell of one kind, weighted by attention.

    .. math:: m_\sigma = \sum_{\tau \in N(\sigma)} \alpha_{\sigma\tau}\, o_{\sigma\tau} v_\tau,
        \qquad \alpha_{\sigma\cdot} = \operatorname{softmax}_{\tau \in N(\sigma)}
        f(s_\tau + r_\sigma)

    Exponents are taken relative to the largest score of each receiver, so hubs are exact. Pairs
    that share a face are quadratically many at hubs; without ``receiver`` scores, which cancel
    unless f mixes them with those of senders, no pairs are listed and the cost is linear.

    Args:
        K: The complex.
        k: Dimension of the receivers.
        kind: The senders: ``"boundary"``, ``"coboundary"``, ``"lower"`` or ``"upper"``.
        value: v, features of the senders, (n, ..., H, F) for H heads.
        sender: s, scores of the senders, (n, ..., H).
        receiver: r, scores of the receivers, (n_k, ..., H). Defaults to none.
        act: f, of scores. Defaults to LeakyReLU with slope 0.2.
        signed: Whether to multiply values by relative orientations; scores must then not depend on
            the orientation. Defaults to False.
        loops: Whether a cell that has a face, for ``"lower"``, or co-face, for ``"upper"``, is its
            own neighbor too, as on the diagonal of a Laplacian. Defaults to False.

    Returns:
        (n_k, ..., H, F); zeros for cells without neighbors.

    Example:
        >>> K = SimplicialComplex.from_simplices([[0, 1, 2]])
        >>> value = torch.tensor([[[1.0]], [[2.0]], [[4.0]]])
        >>> mpsn.nn.functional.attention(K, 1, "upper", value, torch.zeros(3, 1))[:, 0, 0]
        tensor([3.0000, 2.5000, 1.5000])
    """
    near = kind in ("lower", "upper")
    if loops and not near:
        raise LayerError(f"Expected kind 'lower' or 'upper' with loops=True, got {kind!r}.")
    between, width = value.shape[1:-1], value.shape[-1]
    value = value.reshape(value.shape[0], prod(between), width)
    sender = sender.reshape(sender.shape[0], prod(between))
    receiver = None if receiver is None else receiver.reshape(receiver.shape[0], prod(between))
    if near and receiver is None:
        total, top = _without_pairs(K, k, kind, value, act(sender), signed)
    else:
        pairs = pairs_of(K, k, kind)
        score = sender.index_select(0, pairs.sender)
        if receiver is not None:
            score = score + receiver.index_select(0, pairs.receiver)
        score = act(score)  # (P, H)
        top = _largest(score, pairs.receiver, K.count(k))
        weight = (score - top[pairs.receiver]).exp()
        sent = value.index_select(0, pairs.sender)
        if signed:
            sent = sent * pairs.sign.to(sent.dtype)[:, None, None]
        sent = _weighted(sent, weight)
        total = sent.new_zeros(K.count(k), *sent.shape[1:]).index_add(0, pairs.receiver, sent)
    if loops:
        own = act(sender if receiver is None else sender + receiver)
        shares = K.incidence(k + 1).degree if kind == "upper" else K.incidence(k).sizes
        most = torch.maximum(top, own.detach())
        weight = (own - most).exp() * per_row(shares > 0, own)
        total = total * (top - most).exp()[..., None] + _weighted(value, weight)
    mean = total[..., :-1] / total[..., -1:].clamp(min=torch.finfo(total.dtype).tiny)
    return mean.view(K.count(k), *between, width)


def _without_pairs(
    K: "Complex", k: int, kind: Kind, value: Tensor, score: Tensor, signed: bool
) -> tuple[Tensor, Tensor]:
    """Return weighted sums (n_k, H, F + 1) over lower or upper neighbors, and largest scores.

    In each group of cells with a shared cell, all but the largest receive from it, relative to its
    score; the largest itself receives from the others, relative to the second largest.
    """
    up = kind == "upper"
    B = K.incidence(k + 1 if up else k)
    group, member, groups = (B.cell, B.face, len(B)) if up else (B.face, B.cell, B.count)
    sent, s = (B.gather(value), B.gather(score)) if up else (B.spread(value), B.spread(score))
    sign = B.signs.to(value.dtype)[:, None, None] if signed else None
    sent = sent if sign is None else sign * sent  # (nnz, H, F)

    first = _largest(s, group, groups)
    entry = torch.arange(s.shape[0], device=s.device)[:, None].expand_as(s)
    held = torch.where(s.detach() == first[group], entry, s.shape[0])
    start = held.new_full((groups, s.shape[1]), s.shape[0])
    leader = start.scatter_reduce(0, group[:, None].expand_as(s), held, "amin")
    leads = entry == leader[group]  # one entry for each group and head
    lowest = torch.finfo(s.dtype).min
    second = _largest(s.detach().masked_fill(leads, lowest), group, groups)

    within: Literal["cells", "faces"] = "cells" if up else "faces"
    others = B.sum_others(_weighted(sent, (s - first[group]).exp()), within)
    weight = (s - second[group]).masked_fill(leads, lowest).exp()
    total = torch.where(leads[..., None], B.sum_others(_weighted(sent, weight), within), others)

    relative = torch.where(leads, second[group], first[group])
    top = _largest(relative, member, K.count(k))
    total = total * (relative - top[member]).exp()[..., None]
    if sign is not None:
        total = torch.cat([sign * total[..., :-1], total[..., -1:]], dim=-1)
    return (B.to_faces(total) if up else B.to_cells(total)), top


def _weighted(value: Tensor, weight: Tensor) -> Tensor:
    """Return weighted values beside their weights, (n, H, F + 1)."""
    return torch.cat([value * weight[..., None], weight[..., None]], dim=-1)


def _largest(score: Tensor, group: Tensor, groups: int) -> Tensor:
    """Return the largest score of every group, (groups, H), without gradients."""
    with torch.no_grad():
        lowest = torch.finfo(score.dtype).min
        start = score.new_full((groups, score.shape[1]), lowest)
        index = group[:, None].expand_as(score)
        return start.scatter_reduce(0, index, score.detach(), "amax")
