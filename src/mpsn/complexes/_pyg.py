"""The PyG data interface of complexes: moving, copying and batching."""

import copy
from collections.abc import Callable
from typing import Any, Self

from torch import Tensor
from torch_geometric.data import Batch
from torch_geometric.data.data import BaseData

from mpsn.complexes.incidence import Incidence


class PyGValue(BaseData):
    """A value that loads through PyG's ``DataLoader``.

    PyG's base class provides ``to``, ``cpu``, ``cuda``, ``clone``, ``detach`` and ``pin_memory``,
    all based on :meth:`apply`. Subclasses define ``_join`` and ``to_list``.
    """

    @classmethod
    def _join(cls, items: list[Any]) -> Any:
        raise NotImplementedError

    def to_list(self) -> list[Any]:
        """Split a batch into its items."""
        raise NotImplementedError

    @property
    def num_complexes(self) -> int:
        """Number of items."""
        raise NotImplementedError

    @property
    def _num_graphs(self) -> int:
        return self.num_complexes

    @_num_graphs.setter
    def _num_graphs(self, count: int) -> None:
        """Keep PyG's ``Batch`` from counting what it joined, which may be unions."""

    def apply(self, func: Callable[[Tensor], Tensor], *args: str) -> Self:
        """Return a copy with ``func`` applied to every tensor."""

        def each(value: Any) -> Any:
            if isinstance(value, tuple):
                return tuple(map(each, value))
            if isinstance(value, Incidence):
                return value.apply(func)
            return func(value) if isinstance(value, Tensor) else value

        out = copy.copy(self)
        out.__dict__.update({name: each(value) for name, value in self.__dict__.items()})
        return out

    __setattr__ = object.__setattr__
    __delattr__ = object.__delattr__

    def __getattr__(self, key: str) -> Any:
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{key}'")

    def __copy__(self) -> Self:
        out = type(self).__new__(type(self))
        out.__dict__.update(self.__dict__)
        return out

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self.clone()  # type: ignore[no-any-return]

    def share_memory_(self, *args: str) -> Self:
        """Move all tensors to shared memory, in place."""
        self.apply(Tensor.share_memory_)
        return self

    def __getitem__(self, key: object) -> Any:
        raise TypeError(f"Expected an attribute or a method of {self}, got an index: {key!r:.40}.")

    __iter__ = None

    @property
    def stores(self) -> "list[_Store]":
        """The storage that PyG's collate reads and writes."""
        return [_Store(self)]

    def stores_as(self, data: Self) -> Self:
        """Return the value itself: all values have the same layout."""
        return self


class _Store:
    """A storage with one attribute, the value itself; writing a list of values joins them."""

    _key = None

    def __init__(self, owner: PyGValue) -> None:
        self._owner = owner

    def keys(self) -> list[str]:
        return ["value"]

    def __getitem__(self, key: str) -> Any:
        return self._owner.to_list() if isinstance(self._owner, Batch) else self._owner

    def __setitem__(self, key: str, value: Any) -> None:
        if isinstance(value, list):
            flat = [one for item in value for one in (item if isinstance(item, list) else [item])]
            value = self._owner._join(flat)
        self._owner.__dict__.update(value.__dict__)
