"""Datasets of complexes, stored as one union: indexing, batching, saving and loading."""

import operator
import os
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Self, SupportsIndex, cast, overload

import torch
from torch import Tensor
from typing_extensions import TypeVar

from mpsn._rows.checks import as_index, check_features
from mpsn._rows.value import SAVED
from mpsn.complexes._batching import cut, cut_table, take
from mpsn.complexes._collating import collate
from mpsn.complexes._mapped import map_union, write_union
from mpsn.complexes._padding import Padding, Shape
from mpsn.complexes._saving import load
from mpsn.complexes.complex import Complex
from mpsn.complexes.simplicial import SimplicialComplex
from mpsn.errors import ComplexError, FileError

CHUNK = 1024  # complexes
Index = slice | Sequence[int] | Tensor
C = TypeVar("C", bound=Complex, default=SimplicialComplex)


class ComplexDataset(Sequence[C]):
    """A dataset of complexes for training, stored as their disjoint union.

    ``dataset[i]`` is a complex, ``dataset[[3, 1]]`` or ``dataset[:10]`` a dataset, and
    ``dataset.batch([3, 1])`` the union of the selected complexes, assembled on the dataset's device
    without a Python loop over them.

    Args:
        complexes: A list of complexes, or a union of them.

    Example:
        >>> data = mpsn.clique_complexes([nx.complete_graph(n) for n in (2, 3, 4)])
        >>> data
        ComplexDataset(3 complexes, counts=(9, 10, 5))
        >>> data.batch([2, 0])
        SimplicialComplex(dim=2, counts=(6, 7, 4), complexes=2)
    """

    def __init__(self, complexes: Sequence[C] | C) -> None:
        one = isinstance(complexes, Complex)
        self.union = cast(C, complexes if one else collate(complexes))
        self._path: Path | None = None  # of the file that the tensors are maps of

    @cached_property
    def _cuts(self) -> Tensor:
        return cut_table(self.union)

    @cached_property
    def _padding(self) -> Padding:
        return Padding(self.union)

    def __len__(self) -> int:
        return self.union.num_complexes

    @overload
    def __getitem__(self, index: int) -> C: ...
    @overload
    def __getitem__(self, index: Index) -> Self: ...
    def __getitem__(self, index: int | Index) -> C | Self:
        # Lists have no __index__; arrays and tensors have one, and a number of axes.
        if not hasattr(index, "__index__") or getattr(index, "ndim", False):
            return type(self)(self.batch(cast(Index, index)))
        one = operator.index(index)
        if not -len(self) <= one < len(self):
            raise IndexError(f"Expected an index below {len(self)}, got {one}.")
        return self._valid(cut(self.union, self._cuts[:, :, one].tolist()))

    def __getitems__(self, index: list[int]) -> C:
        """Return what :class:`mpsn.DataLoader` makes a batch of: the batch itself."""
        return self.batch(index)

    def __reduce_ex__(self, protocol: SupportsIndex) -> tuple[Any, ...]:
        """Pickle a dataset that was opened as its path, for the workers of a DataLoader."""
        if protocol == SAVED:
            return restored, (self.union,)
        if self._path is None:
            return type(self), (self.union,)
        return type(self).open, (self._path,)

    def __eq__(self, other: object) -> bool:
        """Return whether all complexes agree, in order."""
        return self.union == other.union if isinstance(other, ComplexDataset) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"ComplexDataset({len(self)} complexes, counts={self.union.counts})"

    @property
    def path(self) -> Path | None:
        """The file that the dataset was opened from, and stays in; None in memory."""
        return self._path

    @property
    def y(self) -> Tensor | None:
        """Labels of all complexes, one row each."""
        return self.union.y

    @property
    def counts(self) -> Tensor:
        """Number of cells, (complexes, dim + 1) int64, one column per dimension."""
        return torch.stack([self.union.ptr(k).diff() for k in range(len(self.union._ptr))], dim=1)

    def batch(self, index: Index, *, pad: Shape | None = None) -> C:
        """Return the union of the selected complexes, in that order.

        Args:
            index: Slice, list or tensor of positions, or a boolean mask.
            pad: A shape, as :meth:`padded_shape` returns: one more complex, of padding, fills the
                union up to it. Then ``index`` is a tensor of positions on the dataset's device,
                which are not checked, and nothing waits for the device: such batches can be made
                in a CUDA graph. Labels are left out. Defaults to none.
        """
        if pad is not None:
            return cast(C, self._padding.batch(cast(Tensor, index), pad))
        n, device = len(self), self.union.device
        chosen = range(n)[index] if isinstance(index, slice) else index
        positions = as_index(chosen, n, "complexes", device, least=-n)
        return self._valid(take(self.union, self._cuts, positions % max(n, 1)))

    def padded_shape(self, index: Tensor) -> Shape:
        """Return a shape for :meth:`batch` into which all batches of an index (..., B) fit.

        It has a number of cells for every dimension, all different, then the number of entries of
        every incidence of cells that vary in their number of faces.

        Example:
            >>> data = mpsn.clique_complexes([nx.complete_graph(n) for n in (2, 3, 4)])
            >>> shape = data.padded_shape(torch.tensor([[0, 1], [2, 0]]))
            >>> data.batch(torch.tensor([2, 0]), pad=shape)
            SimplicialComplex(dim=2, counts=(128, 192, 256), complexes=3)
        """
        return self._padding.shape(index)

    def _valid(self, K: C) -> C:
        """Check the features that were read from a file; cells were checked when it was opened."""
        if self._path is not None:
            try:
                check_features(K._x, K.counts)
            except ComplexError as error:
                raise FileError(
                    f"Expected a valid dataset in {self._path}; {error!s:.300}; write it again."
                ) from error
        return K

    def to(self, device: torch.device | str) -> Self:
        """Return the dataset on another device."""
        return type(self)(self.union.to(device))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save the dataset to one ``.npz`` file, as ``Complex.save`` does."""
        self.union.save(path)

    @classmethod
    def write(
        cls, path: str | os.PathLike[str], complexes: Iterable[C], chunk: int = CHUNK
    ) -> Self:
        """Write complexes to a file one after another, and open it.

        Nothing is left at ``path`` if the process is killed. Complexes must have no vertex labels,
        and the default orientation.

        Args:
            path: The file, as :meth:`save` writes it.
            complexes: Any iterable, such as a generator.
            chunk: Number of complexes held in memory. Defaults to 1024.

        Example:
            >>> cycles = (mpsn.clique_complex(nx.cycle_graph(n)) for n in range(3, 100))
            >>> mpsn.ComplexDataset.write(tmp_path / "cycles.npz", cycles)
            ComplexDataset(97 complexes, counts=(4947, 4947, 1))
        """
        write_union(path, complexes, chunk)
        return cls.open(path)

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Self:
        """Open a dataset written by :meth:`save` or :meth:`write` without reading it.

        Its tensors are maps of the file: :meth:`batch` reads the pages it needs, so that a dataset
        may be larger than memory, and processes share it. Sizes and cells are checked now, in one
        pass, the features of a batch when it is made. The file must not change while it is open.
        """
        out = cls(cast(C, map_union(path)))
        out._path = Path(path).resolve()
        return out

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Load a dataset written by :meth:`save`; its contents are validated."""
        return cls(cast(C, load(path)))


def restored(union: C) -> ComplexDataset[C]:
    """Return a dataset from a file of ``torch.save``: ``torch.load`` may call this on any."""
    return ComplexDataset(union)


torch.serialization.add_safe_globals([restored])


def open_or_load(path: Path) -> ComplexDataset[Any]:
    """Open a dataset, or load it if its file is compressed, or else cannot stay where it is."""
    try:
        return ComplexDataset.open(path)
    except FileError:
        return ComplexDataset.load(path)


def labels_by_complex(dataset: ComplexDataset[Any]) -> Tensor | None:
    """Return the labels of all complexes, (N, targets), if each has as many, else None."""
    y, offsets, number = dataset.y, dataset.union._y_ptr, len(dataset)
    if y is None or not number:
        return None
    each = torch.ones(number) if offsets is None else offsets.diff()
    if each.min() != each.max() or len(y) != each.sum():
        return None
    return y.reshape(number, -1)
