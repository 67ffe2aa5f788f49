"""Exact grouping by whole signatures: the step that every test repeats."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from mpsn._rows.rows import ends, ranges
from mpsn.wl import _segments_cpu as segments_cpu


class Multisets(NamedTuple):
    """One multiset of codes per receiver: that of receiver i is ``codes[ptr[i]:ptr[i + 1]]``."""

    ptr: Tensor
    codes: Tensor


class Distinct(NamedTuple):
    """The signatures of receivers: ``ids`` says which each has; ``first`` has each first."""

    ids: Tensor
    first: Tensor
    own: Tensor
    multisets: Sequence[Multisets]

    def keys(self) -> list[bytes]:
        """Return the whole signatures as bytes."""
        return signature_keys(self.own, self.multisets, self.first)


class Groups(NamedTuple):
    """``ids``: the group of each receiver, 0, 1, ...; ``first``: a member of each group."""

    ids: Tensor
    first: Tensor


def group(
    own: Tensor, multisets: Sequence[Multisets], bits: int = 64, compiled: bool | None = None
) -> Groups:
    """Group receivers that have the same color and the same multisets, exactly.

    A receiver that is alone with its color is a group by itself. For the others, a 64-bit hash of
    the signature proposes the groups, then every member is compared in full with the first of its
    group; signatures that share a hash are separated by their bytes. Groups are numbered by hash,
    then those of one receiver by color, so the numbers depend only on the multiset of signatures:
    not on the order of the receivers, the device, or the process.

    Args:
        own: Color of each receiver, (n,) int64.
        multisets: Any number of multisets per receiver; the order of their codes may be changed.
        bits: How many bits of the hash to use; fewer provoke collisions in tests.
        compiled: Whether to use compiled loops instead of torch. Defaults to True on the CPU.
    """
    compiled = own.device.type == "cpu" if compiled is None else compiled
    alone = _alone(own)
    if not len(alone):
        return _group(own, multisets, torch.arange(len(own), device=own.device), bits, compiled)
    shared = torch.ones(len(own), dtype=torch.bool, device=own.device)
    shared[alone] = False
    some = shared.nonzero().squeeze(1)
    found = _group(own, multisets, some, bits, compiled)
    ids = torch.empty_like(own)
    ids[some] = found.ids
    ids[alone] = torch.arange(len(alone), device=own.device) + len(found.first)
    return Groups(ids, torch.cat([found.first, alone]))


def _alone(own: Tensor) -> Tensor:
    """Return the receivers whose color no other has, in the order of colors that are close."""
    if not len(own):
        return own
    low, high = torch.stack(torch.aminmax(own)).tolist()
    if high - low >= 2 * len(own):
        return own[:0]
    color = own - low
    count = torch.bincount(color)
    last = torch.empty_like(count)
    last[color] = torch.arange(len(own), device=own.device)
    return last[count == 1]


def _group(
    own: Tensor, multisets: Sequence[Multisets], which: Tensor, bits: int, compiled: bool
) -> Groups:
    """Group the receivers ``which``, and return the groups of these."""
    hashes = own[which]
    if compiled:
        for ptr, codes in multisets:
            segments_cpu.fold(ptr.numpy(), codes.numpy(), which.numpy(), hashes.numpy())
        hashes >>= 64 - bits
        ids, first = map(torch.from_numpy, segments_cpu.propose(hashes.numpy()))
        order = hashes[first].argsort()
        rank = torch.empty_like(order)
        rank[order] = torch.arange(len(order))
        ids, first = rank[ids], first[order]
    else:
        multisets = _trim(multisets, which)
        for ptr, codes in multisets:
            hashes = _fold(ptr, codes, hashes)
        values, ids = torch.unique(hashes >> (64 - bits), return_inverse=True)
        first = _first(ids, len(values))
    differs = torch.zeros(len(first), dtype=torch.bool, device=own.device)
    mine = own[which]
    differs[ids[mine != mine[first[ids]]]] = True
    for ptr, codes in multisets:
        if compiled:
            arrays = (which, ids, first, ptr, codes, differs)
            segments_cpu.compare(*(t.numpy() for t in arrays))
        else:
            _compare(first[ids], ids, ptr, codes, differs)
    if bool(differs.any()):
        of_which = multisets if not compiled else _trim(multisets, which)
        ids, first = _split(Groups(ids, first), differs, mine, of_which)
    return Groups(ids, which[first])


def _first(ids: Tensor, count: int) -> Tensor:
    """Return the first receiver of each group."""
    everyone = torch.arange(len(ids), device=ids.device)
    return ids.new_full((count,), len(ids)).scatter_reduce(0, ids, everyone, "amin")


def _trim(multisets: Sequence[Multisets], which: Tensor) -> list[Multisets]:
    """Return the multisets of some receivers."""
    kept = []
    for ptr, codes in multisets:
        sizes = ptr.diff()[which]
        kept.append(Multisets(ends(sizes), codes[ranges(ptr[which], sizes)[1]]))
    return kept


def distinct(own: Tensor, multisets: Sequence[Multisets], trim: bool = False) -> Distinct:
    """Find the distinct signatures; with ``trim``, forget all others."""
    ids, first = group(own, multisets)
    if not trim:
        return Distinct(ids, first, own, multisets)
    everyone = torch.arange(len(first), device=own.device)
    return Distinct(ids, everyone, own[first], _trim(multisets, first))


def merge(parts: Sequence[Distinct]) -> Distinct:
    """Join the signatures of receivers that were grouped in parts."""
    if len(parts) == 1:
        return parts[0]
    multisets = []
    for same in zip(*(part.multisets for part in parts), strict=True):
        sizes = torch.cat([ptr.diff() for ptr, _ in same])
        codes = torch.cat([codes for _, codes in same])
        multisets.append(Multisets(ends(sizes), codes))
    found = distinct(torch.cat([part.own for part in parts]), multisets)
    renamed = torch.split(found.ids, [len(part.own) for part in parts])
    ids = [names[part.ids] for names, part in zip(renamed, parts, strict=True)]
    return found._replace(ids=torch.cat(ids))


def signature_keys(own: Tensor, multisets: Sequence[Multisets], which: Tensor) -> list[bytes]:
    """Return the whole signatures of the receivers ``which`` as bytes."""
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


def _fold(ptr: Tensor, codes: Tensor, hashes: Tensor) -> Tensor:
    receiver = torch.repeat_interleave(ptr.diff(), output_size=len(codes))
    total = torch.zeros_like(hashes).index_add_(0, receiver, segments_cpu.mix(codes))
    mixed: Tensor = segments_cpu.mix(hashes * segments_cpu.FIRST + total)
    return mixed


def _compare(first: Tensor, ids: Tensor, ptr: Tensor, codes: Tensor, differs: Tensor) -> None:
    size = ptr.diff()  # (n,)
    receiver = torch.repeat_interleave(size, output_size=len(codes))
    by_code = codes.sort().indices
    codes.copy_(codes[by_code[receiver[by_code].sort(stable=True).indices]])
    position = torch.arange(len(codes), device=codes.device)
    twin = (position + (ptr[first] - ptr[:-1])[receiver]).clamp_(max=max(len(codes) - 1, 0))
    differs[ids[size != size[first]]] = True
    differs[ids[receiver[codes != codes[twin]]]] = True


def _split(groups: Groups, differs: Tensor, own: Tensor, multisets: Sequence[Multisets]) -> Groups:
    """Split the groups whose members share a hash but not a signature."""
    members = differs[groups.ids].nonzero().squeeze(1)
    keys = signature_keys(own, multisets, members)
    rank = {key: i for i, key in enumerate(sorted(set(keys)))}
    within = torch.zeros_like(groups.ids)
    within[members] = torch.tensor([rank[key] for key in keys], device=own.device)
    values, ids = torch.unique(groups.ids * len(rank) + within, return_inverse=True)
    return Groups(ids, _first(ids, len(values)))
