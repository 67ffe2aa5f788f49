"""Wide batches: a mini-batch for each of several models, gathered as one complex."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import pad

from mpsn.complexes import ComplexDataset, SimplicialComplex
from mpsn.complexes._saving import from_parts
from mpsn.nn._checks import cochains


class WideBatch(NamedTuple):
    """One mini-batch of B complexes for each of M models, in M blocks of rows per dimension.

    The block of model m has R_k rows for k-simplices: those of its complexes come first, the rest
    is padding. A model has B + 1 complexes; the last one consists of the padding.
    """

    K: SimplicialComplex
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
            simplices.
        max_dim: Up to which dimension models read features. Edges are there in any case.

    Example:
        >>> graphs = [nx.complete_graph(n) for n in (2, 3, 4)]
        >>> data = mpsn.clique_complexes(graphs)
        >>> x = [torch.ones(n, 1) for n in data.union.counts]
        >>> data = WideData(mpsn.ComplexDataset(data.union.replace(x=x)), max_dim=2)
        >>> index = torch.tensor([[0, 1], [2, 3]])  # 3 complexes: number 3 stands for none
        >>> sizes = data.sizes(index)
        >>> sizes.tolist()  # per model and dimension
        [[5, 4, 1], [4, 6, 4]]
        >>> data.gather(index, rows=(6, 7, 5)).K
        SimplicialComplex(dim=2, counts=(12, 14, 10), features=(1, 1, 1), complexes=6)
    """

    def __init__(self, dataset: ComplexDataset, max_dim: int) -> None:
        union = dataset.union
        dims = range(max(max_dim, 1) + 1)
        # Complex number N, and row n_k of dimension k, stand for "none" and for padding.
        self._none = [union.count(k) for k in dims]
        self._start = [union.ptr(k) for k in dims]  # (N + 1,)
        self._size = [pad(start.diff(), (0, 1)) for start in self._start]  # (N + 1,)
        self._faces = [pad(union.faces(k), (0, 0, 0, 1), value=self._none[k - 1]) for k in dims[1:]]
        like = next((x for x in union.x if x is not None), torch.empty(0, 0, device=union.device))
        xs = cochains(union, union.x[: max_dim + 1], max_dim, like.shape[1], like)
        self._features = [pad(x, (0, 0, 0, 1)) for x in xs]
        self._sizes_on_host = torch.stack(self._size, dim=-1).cpu()  # (N + 1, D)

    def sizes(self, index: Tensor) -> Tensor:
        """Count the simplices of mini-batches on the host: (..., B) complexes to (..., D)."""
        return self._sizes_on_host[index].sum(-2)

    def gather(self, index: Tensor, rows: Sequence[int], padded: bool = True) -> WideBatch:
        """Gather the complexes ``index`` into blocks of given sizes.

        Args:
            index: Which complexes each model gets, (M, B) int64 on the device; N stands for none.
            rows: R_k per dimension. A block with padding in dimension k needs some in dimension
                k - 1 too. Nothing is checked, for that would mean waiting for the device.
            padded: Whether there may be padding; without, ``rows`` are the :meth:`sizes` of all.
        """
        models, many = index.shape
        faces, ptr, x, valid = [], [], [], []
        shift, spread = index.new_zeros(1), index.new_ones(1)  # of the dimension below
        for k, height in enumerate(rows):
            none = self._none[k]
            sizes = self._size[k][index]  # (M, B)
            n = sizes.sum(1)
            sizes = torch.cat([sizes, (height - n)[:, None]], 1)  # (M, B + 1)
            start = pad(self._start[k][index], (0, 1), value=none).view(-1)
            offsets = pad(sizes.view(-1).cumsum(0), (1, 0))  # (M (B + 1) + 1,)
            owner = torch.repeat_interleave(sizes.view(-1), output_size=models * height)
            place = torch.arange(models * height, device=index.device) - offsets[owner]
            source = (start[owner] + place).clamp_(max=none)  # (M R_k,)
            if k:
                # Padding hangs on padding: spread out, so that not all of it adds to one row.
                move = shift[owner] + place % spread[owner]
                faces.append(self._faces[k - 1].index_select(0, source) + move[:, None])
            if k < len(self._features):
                x.append(self._features[k].index_select(0, source))
            shift = offsets[:-1] - start
            spread = pad(sizes[:, many:].clamp(min=1), (many, 0), value=1).view(-1)
            ptr.append(offsets)
            valid.append(n)
        parts = {f"faces_{k}": table for k, table in enumerate(faces, 1)}
        parts |= {f"ptr_{k}": offsets for k, offsets in enumerate(ptr)}
        parts |= {f"x_{k}": features for k, features in enumerate(x)}
        K = from_parts(parts, check=False, num_vertices=models * rows[0])
        return WideBatch(K, tuple(valid), padded)
