"""Batches of a fixed shape: the union of some complexes, and one more that fills it up."""

from typing import TypeVar

import torch
import torch.nn.functional as nnf
from torch import Tensor

from mpsn._rows.rows import ranges
from mpsn.complexes.complex import Complex
from mpsn.complexes.incidence import Incidence

C = TypeVar("C", bound=Complex)
Shape = tuple[int, ...]

STEP = 64  # numbers of rows are multiples of it
SLACK = 64  # least number of rows of padding, over which the cells above are spread


class Padding:
    """Makes batches of a fixed shape from a union, without asking its device for any size.

    A *kind* of rows is the cells of one dimension, or the entries of an incidence whose cells vary
    in their number of faces; a *shape* is the number of rows of every kind.

    Args:
        union: The complexes to choose from.
    """

    def __init__(self, union: Complex) -> None:
        self.union = union
        dims = range(len(union.counts) or 1)
        self._incidences = [union.incidence(k) for k in dims[1:]]
        self._varying = [k for k, B in enumerate(self._incidences, 1) if B.width is None]
        offsets = [union.ptr(k) for k in dims]
        offsets += [self._incidences[k - 1].offsets[union.ptr(k)] for k in self._varying]
        self._start = torch.stack([ends[:-1] for ends in offsets])  # (kinds, N)
        self._sizes = torch.stack([ends.diff() for ends in offsets])  # (kinds, N)
        self._on_host = self._sizes.cpu()
        self._totals = [int(sizes) for sizes in self._on_host.sum(1)]

    def shape(self, index: Tensor) -> Shape:
        """Return a shape into which batches (..., B) fit, with different numbers of cells."""
        need = self._on_host[:, index.cpu()].sum(-1).reshape(len(self._on_host), -1)
        most = need.amax(1).tolist() if need.shape[1] else [0] * len(need)
        used = {index.shape[-1] + 1}
        shape = []
        for rows in most:
            if rows:
                rows = -(-(rows + SLACK) // STEP) * STEP
                while rows in used:
                    rows += STEP
                used.add(rows)
            shape.append(rows)
        return tuple(shape)

    def batch(self, index: Tensor, shape: Shape) -> Complex:
        """Return the union of the complexes ``index`` (B,), and of one that is padding.

        The cells of padding are copies of some cells, whose faces are other cells of padding.
        """
        start, sizes = self._start[:, index], self._sizes[:, index]  # (kinds, B)
        rest = torch.stack([rows - used for rows, used in zip(shape, sizes.sum(1), strict=True)])
        sizes = torch.cat([sizes, rest[:, None]], dim=1)  # (kinds, B + 1)
        ends = nnf.pad(sizes.cumsum(1), (1, 0))
        start = nnf.pad(start, (0, 1))
        dims = range(len(self._incidences) + 1)
        chosen = [self._rows(kind, start, sizes, shape) for kind in range(len(shape))]
        incidences = []
        for k, B in enumerate(self._incidences, 1):
            kind = k if B.width is not None else len(dims) + self._varying.index(k)
            owner, source = chosen[kind]
            face = B.table[source] if B.width is not None else B.face[source][:, None]
            face = face + (ends[k - 1, :-1] - start[k - 1])[owner][:, None]
            place = torch.arange(shape[kind], device=owner.device) - ends[kind, owner]
            padding = ends[k - 1, -2] + place % rest[k - 1].clamp(min=1)
            face = torch.where((owner == len(index))[:, None], padding[:, None], face)
            sign = None if B.sign is None else B.sign.view(-1, B.width or 1)[source].reshape(-1)
            ptr = self._offsets(k, chosen[k], ends, rest[kind]) if B.width is None else None
            parts = (face.reshape(-1), shape[k - 1], B.width, ptr, sign)
            incidences.append(Incidence.unchecked(*parts))
        x = [
            None if x is None else x[chosen[k][1]] if k < len(dims) else x[:0]
            for k, x in enumerate(self.union.x)
        ]
        return self.union.unchecked(
            incidences, ends[: len(dims)].unbind(), num_vertices=shape[0], x=x
        )

    def _rows(self, kind: int, start: Tensor, sizes: Tensor, shape: Shape) -> tuple[Tensor, Tensor]:
        """Return the complex of every row of a kind, and the row of the union that it copies."""
        owner, source = ranges(start[kind], sizes[kind], shape[kind])
        return owner, source.clamp_(max=max(self._totals[kind] - 1, 0))

    def _offsets(
        self, k: int, cells: tuple[Tensor, Tensor], ends: Tensor, entries: Tensor
    ) -> Tensor:
        """Return the offsets of the k-cells; those of padding share its entries evenly."""
        owner, source = cells
        sizes = self._incidences[k - 1].sizes[source]
        first, last = ends[k, -2], ends[k, -1]
        place = torch.arange(len(owner), device=owner.device) - first
        cuts = [(place + i) * entries // (last - first).clamp(min=1) for i in (0, 1)]
        sizes = torch.where(owner == ends.shape[1] - 2, cuts[1] - cuts[0], sizes)
        return nnf.pad(sizes.cumsum(0), (1, 0))
