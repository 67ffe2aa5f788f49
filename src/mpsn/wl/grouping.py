"""Exact grouping by whole signatures: the one step that every test of the ladder repeats."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from mpsn.wl import segments_cpu


class Multisets(NamedTuple):
    """One multiset of codes per receiver: that of receiver i is ``codes[ptr[i]:ptr[i + 1]]``."""

    ptr: Tensor
    codes: Tensor


class Groups(NamedTuple):
    """``ids``: the group of each receiver, 0, 1, ...; ``first``: a member of each group."""

    ids: Tensor
    first: Tensor


def group(own: Tensor, multisets: Sequence[Multisets], bits: int = 64) -> Groups:
    """Put receivers with the same color and the same multisets into one group, exactly.

    A 64-bit hash of the signature proposes the groups, then every member is compared in full with
    the first of its group; where two signatures share a hash they are taken apart by their bytes.
    Groups are numbered by hash, so the numbers depend on the set of signatures alone: not on the
    order of the receivers, the device, or the process.

    Args:
        own: Color of each receiver, (n,) int64.
        multisets: Any number of multisets per receiver; their codes may be reordered inside each.
        bits: How many bits of the hash to use; fewer only to test what happens when it fails.

    Example:
        >>> from mpsn.wl.grouping import Multisets, group
        >>> around = Multisets(torch.tensor([0, 2, 4, 6]), torch.tensor([5, 7, 5, 5, 7, 5]))
        >>> ids = group(torch.zeros(3, dtype=torch.int64), [around]).ids
        >>> bool(ids[0] == ids[2]), bool(ids[0] == ids[1])
        (True, False)
    """
    propose = _propose_cpu if own.device.type == "cpu" else _propose_torch
    groups, doubtful = propose(own, multisets, bits)
    return _split(groups, doubtful, own, multisets) if doubtful.numel() else groups


def signature_keys(own: Tensor, multisets: Sequence[Multisets], which: Tensor) -> list[bytes]:
    """Return the whole signature of the receivers ``which`` as bytes, equal only if they are."""
    rows = which.cpu().numpy()
    header = [own.cpu().numpy()[rows]]
    parts = []
    for ptr, codes in multisets:
        starts, values = ptr.cpu().numpy(), codes.cpu().numpy()
        segments_cpu.sort_segments(starts, values, rows)
        header.append(starts[rows + 1] - starts[rows])
        parts.append((values, starts[rows].tolist(), starts[rows + 1].tolist()))
    heads = np.stack(header, axis=1)
    return [
        b"".join([heads[i].tobytes(), *(v[a[i] : b[i]].tobytes() for v, a, b in parts)])
        for i in range(len(rows))
    ]


def _propose_cpu(own: Tensor, multisets: Sequence[Multisets], bits: int) -> tuple[Groups, Tensor]:
    hashes = own.numpy().copy()
    for ptr, codes in multisets:
        segments_cpu.fold(ptr.numpy(), codes.numpy(), hashes)
    hashes >>= 64 - bits
    order = np.argsort(hashes)
    hashes, owns = hashes[order], own.numpy()[order]
    ids, starts = _number(torch.from_numpy(hashes), torch.from_numpy(order))
    differs = np.zeros(len(starts) - 1, np.bool_)
    mixed = (owns[1:] != owns[:-1]) & (hashes[1:] == hashes[:-1])
    differs[ids.numpy()[order[1:][mixed]]] = True
    for ptr, codes in multisets:
        segments_cpu.compare(order, starts.numpy(), ptr.numpy(), codes.numpy(), differs)
    return Groups(ids, torch.from_numpy(order)[starts[:-1]]), torch.from_numpy(differs).nonzero()


def _propose_torch(own: Tensor, multisets: Sequence[Multisets], bits: int) -> tuple[Groups, Tensor]:
    hashes = own.clone()
    receivers = [torch.repeat_interleave(ptr.diff(), output_size=len(c)) for ptr, c in multisets]
    for receiver, (_, codes) in zip(receivers, multisets, strict=True):
        total = torch.zeros_like(hashes).index_add_(0, receiver, _mix(codes))
        hashes = _mix(hashes * segments_cpu.FIRST + total)
    hashes, order = (hashes >> (64 - bits)).sort()
    ids, starts = _number(hashes, order)
    groups = Groups(ids, order[starts[:-1]])
    first = groups.first[ids]  # (n,)
    wrong = own != own[first]
    for receiver, (ptr, codes) in zip(receivers, multisets, strict=True):
        size = ptr.diff()
        wrong |= size != size[first]
        by_code = codes.sort().indices
        codes.copy_(codes[by_code[receiver[by_code].sort(stable=True).indices]])
        position = torch.arange(len(codes), device=own.device)
        twin = (position + (ptr[first] - ptr[:-1])[receiver]).clamp_(max=max(len(codes) - 1, 0))
        wrong[receiver[codes != codes[twin]]] = True
    return groups, torch.unique(ids[wrong])


def _mix(x: Tensor) -> Tensor:
    """Scramble 64 bits as :func:`mpsn.wl.segments_cpu.mix` does."""
    x = x + segments_cpu.START
    x = (x ^ ((x >> 30) & 0x3FFFFFFFF)) * segments_cpu.FIRST
    x = (x ^ ((x >> 27) & 0x1FFFFFFFFF)) * segments_cpu.SECOND
    return x ^ ((x >> 31) & 0x1FFFFFFFF)


def _number(hashes: Tensor, order: Tensor) -> tuple[Tensor, Tensor]:
    """Number the runs of equal hashes; return each receiver's number and where the runs start."""
    new = torch.ones(len(order) + 1, dtype=torch.bool, device=order.device)
    torch.ne(hashes[1:], hashes[:-1], out=new[1:-1])
    starts = new.nonzero().squeeze(1)
    ids = torch.empty_like(order)
    ids[order] = new[:-1].cumsum(0) - 1
    return ids, starts


def _split(groups: Groups, doubtful: Tensor, own: Tensor, multisets: Sequence[Multisets]) -> Groups:
    """Take apart the groups whose members share a hash but not a signature."""
    members = torch.isin(groups.ids, doubtful).nonzero().squeeze(1)
    keys = signature_keys(own, multisets, members)
    rank = {key: i for i, key in enumerate(sorted(set(keys)))}
    within = torch.zeros_like(groups.ids)
    within[members] = torch.tensor([rank[key] for key in keys], device=own.device)
    values, ids = torch.unique(groups.ids * len(rank) + within, return_inverse=True)
    everyone = torch.arange(len(ids), device=own.device)
    first = torch.full_like(values, len(ids)).scatter_reduce(0, ids, everyone, "amin")
    return Groups(ids, first)
