"""Wide batches: a mini-batch for each of several models, gathered as one complex."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import pad

from mpsn.complexes import ComplexDataset, Incidence
from mpsn.complexes.complex import Complex
from mpsn.nn._checks import cochains


class WideBatch(NamedTuple):
    """One mini-batch of B complexes for each of M models, in M blocks of rows per dimension.

    The block of model m has R_k rows for k-cells: those of its complexes come first, the rest
    is padding. A model has B + 1 complexes; the last one consists of the padding.
    """

    K: Complex
    """Union of the M (B + 1) complexes, with features; (M R_k, F) in dimension k."""
    valid: tuple[Tensor, ...]
    """How many rows of each block are no padding, (M,) int64 per dimension."""
    padded: bool
    """Whether there is any padding."""

    @property
    def models(self) -> int:
        """Number M of models."""
        return self.valid[0].shape[0]


class WideData:
    """A data set that assembles wide batches on the device, without the host.

    Args:
        dataset: The complexes, with features in dimensions 0, ..., ``max_dim`` where they have
            cells.
        max_dim: Up to which dimension models read features. Edges are there in any case.

    Example:
        >>> graphs = [nx.complete_graph(n) for n in (2, 3, 4)]
        >>> data = mpsn.clique_complexes(graphs)
        >>> x = [torch.ones(n, 1) for n in data.union.counts]
        >>> data = WideData(mpsn.ComplexDataset(data.union.replace(x=x)), max_dim=2)
        >>> index = torch.tensor([[0, 1], [2, 3]])  # 3 complexes: number 3 stands for none
        >>> sizes = data.sizes(index)
        >>> sizes.tolist()  # per model and dimension; where rows vary in length, of entries too
        [[5, 4, 1], [4, 6, 4]]
        >>> data.gather(index, rows=(6, 7, 5)).K
        SimplicialComplex(dim=2, counts=(12, 14, 10), features=(1, 1, 1), complexes=6)
    """

    def __init__(self, dataset: ComplexDataset[Any], max_dim: int) -> None:
        union: Complex = dataset.union
        dims = range(max(max_dim, 1) + 1)
        self._kind = type(union)
        # Complex number N, and row n_k of dimension k, stand for "none" and for padding.
        cells = [_Rows(union.ptr(k)) for k in dims]
        self._below = [union.incidence(k) for k in dims[1:]]
        ends = {
            k: _Rows(B.offsets[union.ptr(k)])
            for k, B in enumerate(self._below, 1)
            if B.ptr is not None
        }
        self._cells, self._entries = cells, ends
        self._faces = [
            pad(B.table, (0, 0, 0, 1), value=B.count)
            if B.ptr is None
            else pad(B.face, (0, 1), value=B.count)
            for B in self._below
        ]
        self._lengths = {k: pad(self._below[k - 1].offsets.diff(), (0, 1)) for k in ends}
        given = [x for x in union.x[: max_dim + 1] if x is not None]
        like = given[0] if given else torch.empty(0, 0, device=union.device)
        widths = [like.shape[1] if x is None else x.shape[1] for x in union.x[: max_dim + 1]]
        widths += [like.shape[1]] * (max_dim + 1 - len(widths))
        xs = cochains(union, union.x[: max_dim + 1], max_dim, widths, like)
        self._features = [pad(x, (0, 0, 0, 1)) for x in xs]
        self._sizes_on_host = torch.stack(
            [kind.size for kind in (*cells, *ends.values())], dim=-1
        ).cpu()  # (N + 1, D)

    def sizes(self, index: Tensor) -> Tensor:
        """Count the rows of mini-batches on the host: (..., B) complexes to (..., D).

        D is the number of dimensions, and of those where the number of faces varies: of these the
        entries are counted too.
        """
        return self._sizes_on_host[index].sum(-2)

    def gather(self, index: Tensor, rows: Sequence[int], padded: bool = True) -> WideBatch:
        """Gather the complexes ``index`` into blocks of given sizes.

        Args:
            index: Which complexes each model gets, (M, B) int64 on the device; N stands for none.
            rows: R_k per dimension, then numbers of entries, as in :meth:`sizes`. A block with
                padding in dimension k needs some in dimension k - 1 too, and one with padding in
                entries some in cells. Nothing is checked, for that would mean waiting for the
                device.
            padded: Whether there may be padding; without, ``rows`` are the :meth:`sizes` of all.
        """
        models, many = index.shape
        ptr, x, valid, incidences = [], [], [], []
        entries = iter(rows[len(self._cells) :])
        shift, spread = index.new_zeros(1), index.new_ones(1)  # of the dimension below
        for k, (kind, height) in enumerate(zip(self._cells, rows, strict=False)):
            at = kind.gather(index, height)
            if k:
                B, count = self._below[k - 1], models * rows[k - 1]
                if k not in self._entries:
                    face = self._faces[k - 1].index_select(0, at.source)
                    # Padding hangs on padding: spread out, so that not all of it adds to one row.
                    face += (shift[at.owner] + at.place % spread[at.owner])[:, None]
                    incidences.append(Incidence.unchecked(face.view(-1), count, B.width))
                else:
                    ends = self._entries[k].gather(index, next(entries))
                    face = self._faces[k - 1].index_select(0, ends.source)
                    face += shift[ends.owner] + ends.place % spread[ends.owner]
                    lengths = self._lengths[k].index_select(0, at.source)
                    # Cells of padding share the entries of padding evenly.
                    extra, cells = (t.sizes[:, many][at.owner // (many + 1)] for t in (ends, at))
                    cuts = [(at.place + i) * extra // cells.clamp(min=1) for i in (0, 1)]
                    none = at.source == kind.none
                    lengths = torch.where(none, cuts[1] - cuts[0], lengths)
                    offsets = pad(lengths.cumsum(0), (1, 0))
                    incidences.append(Incidence.unchecked(face, count, None, offsets))
            if k < len(self._features):
                x.append(self._features[k].index_select(0, at.source))
            shift = at.offsets[:-1] - at.start
            spread = pad(at.sizes[:, many:].clamp(min=1), (many, 0), value=1).view(-1)
            ptr.append(at.offsets)
            valid.append(at.sizes[:, :many].sum(1))
        K = self._kind.unchecked(incidences, ptr, num_vertices=models * rows[0], x=x)
        return WideBatch(K, tuple(valid), padded)


class _Gathered(NamedTuple):
    """Rows of M (B + 1) complexes, the last of each model being padding."""

    sizes: Tensor  # (M, B + 1)
    start: Tensor  # (M (B + 1),) in the data set
    offsets: Tensor  # (M (B + 1) + 1,) in the batch
    owner: Tensor  # (M R,) the complex of each row,
    place: Tensor  # its place in there,
    source: Tensor  # and in the data set


class _Rows:
    """The rows of one kind of N complexes, from offsets (N + 1,)."""

    def __init__(self, ptr: Tensor) -> None:
        self.start, self.size = ptr, pad(ptr.diff(), (0, 1))  # (N + 1,)
        self.none = int(ptr[-1])

    def gather(self, index: Tensor, height: int) -> _Gathered:
        """Return the rows of complexes (M, B) in blocks of one height."""
        total = index.shape[0] * height
        sizes = self.size[index]
        sizes = torch.cat([sizes, (height - sizes.sum(1))[:, None]], 1)
        start = pad(self.start[index], (0, 1), value=self.none).view(-1)
        offsets = pad(sizes.view(-1).cumsum(0), (1, 0))
        owner = torch.repeat_interleave(sizes.view(-1), output_size=total)
        place = torch.arange(total, device=index.device) - offsets[owner]
        source = (start[owner] + place).clamp_(max=self.none)
        return _Gathered(sizes, start, offsets, owner, place, source)
