"""Exact grouping by whole signatures: the step that every test repeats."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from mpsn._rows.rows import Rows, ends
from mpsn.wl import _segments_cpu as segments_cpu


def multisets_of(codes: Tensor, ptr: Tensor) -> Rows:
    """Return a multiset of codes per receiver: that of receiver i is ``codes[ptr[i]:ptr[i + 1]]``.

    Grouping may change the order of the codes of a receiver.
    """
    return Rows(codes, 1 << 62, ptr=ptr)


class Distinct(NamedTuple):
    """The signatures of receivers: ``ids`` says which each has; ``first`` has each first."""

    ids: Tensor
    first: Tensor
    own: Tensor
    multisets: Sequence[Rows]

    def keys(self) -> list[bytes]:
        """Return the whole signatures as bytes."""
        return signature_keys(self.own, self.multisets, self.first)


class Groups(NamedTuple):
    """``ids``: the group of each receiver, 0, 1, ...; ``first``: a member of each group."""

    ids: Tensor
    first: Tensor


def group(
    own: Tensor, multisets: Sequence[Rows], bits: int = 64, compiled: bool | None = None
) -> Groups:
    """Group receivers that have the same color and the same multisets, exactly.

    A 64-bit hash of the signature proposes the groups, then every member is compared in full with
    the first of its group; signatures that share a hash are separated by their bytes. Groups are
    numbered by hash, so the numbers depend only on the multiset of signatures: not on the order of
    the receivers, the device, or the process.

    Args:
        own: Color of each receiver, (n,) int64.
        multisets: Any number of multisets per receiver; the order of their codes may be changed.
        bits: How many bits of the hash to use; fewer provoke collisions in tests.
        compiled: Whether to use compiled loops instead of torch. Defaults to True on the CPU.
    """
    compiled = own.device.type == "cpu" if compiled is None else compiled
    hashes = own.clone()
    if compiled:
        for rows in multisets:
            segments_cpu.fold(*_arrays(rows), hashes.numpy())
        hashes >>= 64 - bits
        ids, first = map(torch.from_numpy, segments_cpu.propose(hashes.numpy()))
        order = hashes[first].argsort()
        rank = torch.empty_like(order)
        rank[order] = torch.arange(len(order))
        ids, first = rank[ids], first[order]
    else:
        for rows in multisets:
            total = torch.zeros_like(hashes).index_add_(0, rows.row, segments_cpu.mix(rows.item))
            hashes = segments_cpu.mix(hashes * segments_cpu.FIRST + total)
        values, ids = torch.unique(hashes >> (64 - bits), return_inverse=True)
        first = _first(ids, len(values))
    differs = torch.zeros(len(first), dtype=torch.bool, device=own.device)
    differs[ids[own != own[first[ids]]]] = True
    for rows in multisets:
        if compiled:
            segments_cpu.compare(ids.numpy(), first.numpy(), *_arrays(rows), differs.numpy())
        else:
            _compare(first[ids], ids, rows, differs)
    groups = Groups(ids, first)
    return _split(groups, differs, own, multisets) if bool(differs.any()) else groups


def _first(ids: Tensor, count: int) -> Tensor:
    """Return the first receiver of each group."""
    everyone = torch.arange(len(ids), device=ids.device)
    return ids.new_full((count,), len(ids)).scatter_reduce(0, ids, everyone, "amin")


def distinct(own: Tensor, multisets: Sequence[Rows], trim: bool = False) -> Distinct:
    """Find the distinct signatures; with ``trim``, forget all others."""
    ids, first = group(own, multisets)
    if not trim:
        return Distinct(ids, first, own, multisets)
    everyone = torch.arange(len(first), device=own.device)
    return Distinct(ids, everyone, own[first], [rows.take(first) for rows in multisets])


def merge(parts: Sequence[Distinct]) -> Distinct:
    """Join the signatures of receivers that were grouped in parts."""
    if len(parts) == 1:
        return parts[0]
    multisets = []
    for same in zip(*(part.multisets for part in parts), strict=True):
        sizes = torch.cat([rows.sizes for rows in same])
        multisets.append(multisets_of(torch.cat([rows.item for rows in same]), ends(sizes)))
    joined = distinct(torch.cat([part.own for part in parts]), multisets)
    renamed = torch.split(joined.ids, [len(part.own) for part in parts])
    ids = [names[part.ids] for names, part in zip(renamed, parts, strict=True)]
    return joined._replace(ids=torch.cat(ids))


def signature_keys(own: Tensor, multisets: Sequence[Rows], which: Tensor) -> list[bytes]:
    """Return the whole signatures of the receivers ``which`` as bytes."""
    receivers = which.cpu().numpy()
    header = [own.cpu().numpy()[receivers]]
    parts = []
    for rows in multisets:
        ptr, codes = _arrays(rows)
        segments_cpu.sort_segments(ptr, codes, receivers)
        header.append(ptr[receivers + 1] - ptr[receivers])
        parts.append((codes, ptr[receivers].tolist(), ptr[receivers + 1].tolist()))
    heads = np.stack(header, axis=1)
    return [
        b"".join([heads[i].tobytes(), *(v[a[i] : b[i]].tobytes() for v, a, b in parts)])
        for i in range(len(receivers))
    ]


def _arrays(rows: Rows) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    return rows.offsets.cpu().numpy(), rows.item.cpu().numpy()


def _compare(first: Tensor, ids: Tensor, rows: Rows, differs: Tensor) -> None:
    ptr, codes, size, receiver = rows.offsets, rows.item, rows.sizes, rows.row
    by_code = codes.sort().indices
    codes.copy_(codes[by_code[receiver[by_code].sort(stable=True).indices]])
    position = torch.arange(len(codes), device=codes.device)
    twin = (position + (ptr[first] - ptr[:-1])[receiver]).clamp_(max=max(len(codes) - 1, 0))
    differs[ids[size != size[first]]] = True
    differs[ids[receiver[codes != codes[twin]]]] = True


def _split(groups: Groups, differs: Tensor, own: Tensor, multisets: Sequence[Rows]) -> Groups:
    """Split the groups whose members share a hash but not a signature."""
    members = differs[groups.ids].nonzero().squeeze(1)
    keys = signature_keys(own, multisets, members)
    rank = {key: i for i, key in enumerate(sorted(set(keys)))}
    within = torch.zeros_like(groups.ids)
    within[members] = torch.tensor([rank[key] for key in keys], device=own.device)
    values, ids = torch.unique(groups.ids * len(rank) + within, return_inverse=True)
    return Groups(ids, _first(ids, len(values)))
