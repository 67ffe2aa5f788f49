"""Messages between neighbours, in linear time: every sum leaves one term out of a shared total."""

from collections.abc import Sequence

import torch
from torch import Tensor

from mpsn.nn.functional.incidence import (
    Reduce,
    boundary,
    check_messages,
    check_reduce,
    coboundary,
    degree,
    gather,
    scatter,
)
from mpsn.nn.functional.transposes import (
    Exchange,
    add,
    differentiable,
    exchange_rows,
    others,
    rows,
    times,
)


def upper(h: Tensor, faces: Tensor, signs: Tensor | None = None, reduce: Reduce = "sum") -> Tensor:
    r"""Give every simplex the sum or mean over its upper neighbours, :math:`m_\uparrow`.

    .. math:: \sum_{\tau \in N_\uparrow(\sigma)} o_{\sigma\tau} h_\tau
        = \bigl(B_{k+1} B_{k+1}^\top h - \operatorname{diag}(|B_{k+1}| 1)\, h\bigr)_\sigma

    Two sparse products; the matrix :math:`B_{k+1} B_{k+1}^\top` is never formed. As h is taken off
    a sum that it was in, rounding is that of the sum, and infinities do not leave it.

    Args:
        h: Features of the k-simplices, (n_k, ..., F).
        faces: Face table of dimension k+1, (n_{k+1}, k+2).
        signs: Relative orientations (n_{k+1}, k+2), or None for the unsigned sum.
        reduce: ``"sum"`` or ``"mean"``; the mean over no neighbour is zero.

    Returns:
        (n_k, ..., F).

    Example:
        >>> K = SimplicialComplex.from_simplices([[0, 1], [0, 2]])
        >>> mpsn.nn.functional.upper(torch.tensor([[1.0], [2.0], [4.0]]), K.faces(1))
        tensor([[6.],
                [1.],
                [1.]])
    """
    check_reduce(reduce)
    n = h.shape[0]
    own = degree(faces, n, h)  # (n_k,)
    total = coboundary(boundary(h, faces, signs), faces, n, signs)
    rest = torch.addcmul(total, rows(own, h), h, value=-1)
    return _mean(rest, own * (faces.shape[1] - 1), reduce)


def lower(
    h: Tensor, faces: Tensor, count: int, signs: Tensor | None = None, reduce: Reduce = "sum"
) -> Tensor:
    r"""Give every simplex the sum or mean over its lower neighbours, :math:`m_\downarrow`.

    .. math:: \sum_{\tau \in N_\downarrow(\sigma)} o_{\sigma\tau} h_\tau
        = \bigl(B_k^\top B_k h - (k+1)\, h\bigr)_\sigma

    Linear in the number of simplices, where the pairs themselves can be quadratically many. As h is
    taken off a sum that it was in, rounding is that of the sum, and infinities do not leave it.

    Args:
        h: Features of the k-simplices, (n_k, ..., F).
        faces: Face table of dimension k, (n_k, k+1).
        count: Number n_{k-1} of (k-1)-simplices.
        signs: Relative orientations (n_k, k+1), or None for the unsigned sum.
        reduce: ``"sum"`` or ``"mean"``; the mean over no neighbour is zero.

    Returns:
        (n_k, ..., F).

    Example:
        >>> K = SimplicialComplex.from_simplices([[0, 1], [1, 2], [3, 4]])
        >>> h = torch.tensor([[1.0], [2.0], [4.0]])
        >>> mpsn.nn.functional.lower(h, K.faces(1), 5, reduce="mean")  # the last edge is alone
        tensor([[2.],
                [1.],
                [0.]])
    """
    check_reduce(reduce)
    if faces.shape[1] == 0:  # vertices have no faces to share
        return torch.zeros_like(h)
    total = boundary(coboundary(h, faces, count, signs), faces, signs)
    rest = torch.sub(total, h, alpha=faces.shape[1])
    return _mean(rest, _partners(faces, count, h, reduce), reduce)


def upper_exchange(
    messages: Sequence[Tensor],
    faces: Tensor,
    count: int,
    signs: Tensor | None = None,
    reduce: Reduce = "sum",
) -> Tensor:
    r"""Sum messages :math:`\varphi(h_\tau, h_{\sigma\cup\tau})` over the upper neighbours τ of σ.

    The message of a face τ to a co-face δ is computed once; then each face of δ receives what the
    *other* faces sent. That is (k+2) n_{k+1} messages, where there are (k+2)(k+1) n_{k+1} pairs.

    Args:
        messages: For each column i of the table, the messages φ(h_τ, h_δ) of the faces τ in it,
            k+2 tensors (n_{k+1}, ..., F).
        faces: Face table of dimension k+1, (n_{k+1}, k+2).
        count: Number n_k of k-simplices.
        signs: Relative orientations (n_{k+1}, k+2), to multiply each message by
            :math:`o_{\sigma\delta} o_{\tau\delta}`, or None.
        reduce: ``"sum"`` or ``"mean"``; the mean over no neighbour is zero.

    Returns:
        (n_k, ..., F).

    Example:
        >>> K = SimplicialComplex.from_simplices([[0, 1], [0, 2]])
        >>> vertex, edge = torch.tensor([[1.0], [2.0], [4.0]]), torch.tensor([[10.0], [20.0]])
        >>> messages = [h + edge for h in mpsn.nn.functional.gather(vertex, K.faces(1))]
        >>> mpsn.nn.functional.upper_exchange(messages, K.faces(1), 3)
        tensor([[36.],
                [11.],
                [21.]])
    """
    check_reduce(reduce)
    check_messages(messages, faces, signs)
    if signs is None and not torch.compiler.is_compiling():
        out = differentiable(Exchange, exchange_rows, faces, count, *messages)
    else:
        out = scatter(others(times(signs, messages)), faces, count, signs)
    senders = degree(faces, count, out) * (faces.shape[1] - 1) if reduce == "mean" else None
    return _mean(out, senders, reduce)


def lower_exchange(
    messages: Sequence[Tensor],
    faces: Tensor,
    count: int,
    signs: Tensor | None = None,
    reduce: Reduce = "sum",
) -> Tensor:
    r"""Sum messages :math:`\varphi(h_\tau, h_{\sigma\cap\tau})` over the lower neighbours τ of σ.

    The message of a simplex τ to its face δ is computed once and added up per face; each simplex
    takes the totals of its faces without its own share. That is (k+1) n_k messages, where the
    paper counts :math:`O(n_k^2)` pairs.

    Args:
        messages: For each column i of the table, the messages φ(h_τ, h_δ) to the faces δ in it,
            k+1 tensors (n_k, ..., F).
        faces: Face table of dimension k ≥ 1, (n_k, k+1).
        count: Number n_{k-1} of (k-1)-simplices.
        signs: Relative orientations (n_k, k+1), to multiply each message by
            :math:`o_{\sigma\delta} o_{\tau\delta}`, or None.
        reduce: ``"sum"`` or ``"mean"``; the mean over no neighbour is zero.

    Returns:
        (n_k, ..., F).

    Example:
        >>> K = SimplicialComplex.from_simplices([[0, 1], [1, 2]])
        >>> edge, vertex = torch.tensor([[1.0], [2.0]]), torch.tensor([[0.0], [10.0], [0.0]])
        >>> messages = [edge + h for h in mpsn.nn.functional.gather(vertex, K.faces(1))]
        >>> mpsn.nn.functional.lower_exchange(messages, K.faces(1), 3)
        tensor([[12.],
                [11.]])
    """
    check_reduce(reduce)
    totals = scatter(messages, faces, count, signs)  # (n_{k-1}, ..., F)
    out = boundary(totals, faces, signs) - add(messages)  # own share: o² = 1
    return _mean(out, _partners(faces, count, out, reduce), reduce)


def _partners(faces: Tensor, count: int, like: Tensor, reduce: Reduce) -> Tensor | None:
    """Count the lower neighbours of every simplex, (n_k,), if a mean needs them."""
    if reduce == "sum":
        return None
    return add(gather(degree(faces, count, like) - 1, faces))


def _mean(total: Tensor, senders: Tensor | None, reduce: Reduce) -> Tensor:
    if reduce == "sum" or senders is None:
        return total
    return total / rows(senders.clamp(min=1), total)
