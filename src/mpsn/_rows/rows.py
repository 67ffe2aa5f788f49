"""Lists of lists of integers: which cells bound a cell, which hear of it, which form a graph."""

from collections.abc import Callable
from typing import Any, Self

import torch
import torch.nn.functional as nnf
from torch import Tensor
from torch._functorch.pyfunctorch import temporarily_clear_interpreter_stack

from mpsn._rows import cpu
from mpsn._rows.value import Value


class Rows(Value):
    """A list of rows of integers from 0 to ``count - 1``.

    An immutable value; what is derived from it and costs a sort is computed once and kept on it. A
    *position* is the place of an item in the list of all items.

    Args:
        item: The items, row after row, (nnz,) int64.
        count: Number of values that an item can have.
        width: Number of items of every row, if it is the same for all; otherwise pass ``ptr``.
        ptr: Offsets (n + 1,) of the rows in ``item``.

    Example:
        >>> from mpsn._rows.rows import Rows
        >>> edges = Rows(torch.tensor([0, 1, 1, 2]), count=3, width=2)
        >>> edges.T  # the edges of every vertex
        Rows([[0], [0, 1], [1]], count=2)
        >>> (edges.T @ edges).unique()  # the vertices of those
        Rows([[0, 1], [0, 1, 2], [1, 2]], count=3)
    """

    item: Tensor
    count: int
    width: int | None
    ptr: Tensor | None
    _kept: dict[Any, Any]

    def __init__(
        self, item: Tensor, count: int, width: int | None = None, ptr: Tensor | None = None
    ) -> None:
        self.__dict__.update(item=item, count=count, width=width, ptr=ptr, _kept={})

    def __len__(self) -> int:
        """Return the number n of rows."""
        if self.ptr is not None:
            return self.ptr.shape[0] - 1
        return self.item.shape[0] // self.width if self.width else 0

    @property
    def offsets(self) -> Tensor:
        """Offsets of the rows, (n + 1,) int64."""
        if self.ptr is not None:
            return self.ptr
        n, width, device = len(self), self.width or 0, self.item.device
        return self._keep("offsets", lambda: torch.arange(n + 1, device=device) * width)  # type: ignore[no-any-return]

    @property
    def sizes(self) -> Tensor:
        """Number of items of every row, (n,) int64."""
        return self.offsets.diff()

    @property
    def row(self) -> Tensor:
        """The row of every item, (nnz,) int64."""
        if self.ptr is not None:
            return torch.repeat_interleave(self.ptr.diff(), output_size=self.item.shape[0])
        return torch.arange(self.item.shape[0], device=self.item.device) // (self.width or 1)

    @property
    def positions(self) -> "Rows":
        """The positions of every value, (count) rows; ascending."""
        return self._keep("positions", lambda: _positions(self.item, self.count))  # type: ignore[no-any-return]

    @property
    def spans(self) -> "Rows":
        """The positions of every row."""
        nnz = self.item.shape[0]
        return Rows(torch.arange(nnz, device=self.item.device), nnz, self.width, self.ptr)

    @property
    def T(self) -> "Rows":
        """The rows that hold every value, (count) rows; ascending."""
        positions = self.positions
        return Rows(self.row[positions.item], len(self), ptr=positions.ptr)

    def take(self, index: Tensor) -> Self:
        """Return the rows of an index, in its order.

        Example:
            >>> rows = Rows(torch.tensor([5, 6, 7]), 8, ptr=torch.tensor([0, 1, 3]))
            >>> rows.take(torch.tensor([1]))
            Rows([[6, 7]], count=8)
        """
        width, ptr = self.width, None
        if width is None:
            _, position, ptr = self.positions_of(index)

        def chosen(t: Tensor) -> Tensor:
            return t[position] if width is None else t.view(-1, width)[index].reshape(-1)

        parts = {name: t if t is None else chosen(t) for name, t in self._entries().items()}
        return self._with(**parts, ptr=ptr)

    def positions_of(self, index: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return the positions of the items of some rows: place in the index, position, offsets."""
        start = self.starts(index)
        size = self.starts(index + 1) - start
        return *ranges(start, size), ends(size)

    def starts(self, index: Tensor) -> Tensor:
        """Return the offsets of some rows; ``len(self)`` counts as one."""
        return index * (self.width or 0) if self.ptr is None else self.ptr[index]

    def __matmul__(self, other: "Rows") -> "Rows":
        """Return rows of rows: row i of the result joins the rows of ``other`` that row i holds."""
        joined = other.take(self.item)
        if self.width is not None and joined.width is not None:
            return Rows(joined.item, other.count, self.width * joined.width)
        return Rows(joined.item, other.count, ptr=joined.offsets[self.offsets])

    def unique(self) -> "Rows":
        """Return the rows with ascending items, each once."""
        n = max(self.count, 1)
        key = torch.unique(self.row * n + self.item)
        sizes = torch.bincount(key // n, minlength=len(self))
        return Rows(key % n, self.count, ptr=ends(sizes))

    def others(self) -> "Rows":
        """Return, for every position, the other positions of its row, (nnz) rows.

        Example:
            >>> Rows(torch.tensor([7, 8, 9]), 10, width=3).others()
            Rows([[1, 2], [0, 2], [0, 1]], count=3)
        """
        nnz, device = self.item.shape[0], self.item.device
        if self.width is not None:
            own = torch.arange(self.width, device=device)
            other = torch.arange(self.width - 1, device=device)
            other = other + (other >= own[:, None])  # (width, width - 1)
            start = torch.arange(0, nnz, self.width, device=device)[:, None, None]
            position = (start + other).reshape(-1)
            # Rows of no items cannot be counted by their width.
            ptr = None if self.width > 1 else position.new_zeros(nnz + 1)
            return Rows(position, nnz, self.width - 1 or None, ptr)
        row = self.row
        size = self.sizes[row] - 1
        owner, other = ranges(self.offsets[row], size)
        return Rows(other + (other >= owner), nnz, ptr=ends(size))

    def cut(self, longest: int) -> "tuple[Rows, Rows]":
        """Return the rows in pieces of at most ``longest`` items, and the pieces of every row."""
        pieces = -(-self.sizes // longest)
        row, piece = ranges(torch.zeros_like(pieces), pieces)
        start = self.offsets[row] + piece * longest
        ptr = nnf.pad(start, (0, 1), value=self.item.shape[0])
        each = torch.arange(len(row), device=row.device)
        return Rows(self.item, self.count, ptr=ptr), Rows(each, len(row), ptr=ends(pieces))

    def apply(self, func: Callable[[Tensor], Tensor]) -> Self:
        """Return a copy with ``func``, such as a move to a device, applied to every tensor."""
        tensors = {**self._entries(), "ptr": self.ptr}
        new = {name: None if t is None else func(t) for name, t in tensors.items()}
        return self if all(new[name] is t for name, t in tensors.items()) else self._with(**new)

    def _entries(self) -> dict[str, Tensor | None]:
        """Return the tensors that have an entry for every item."""
        return {"item": self.item}

    def _with(self, **changes: Any) -> Self:
        """Return a copy with other attributes, and nothing kept."""
        return super()._with(**changes, _kept={})

    def _keep(self, key: Any, find: Callable[[], Any]) -> Any:
        if torch.compiler.is_compiling():
            return find()
        if key not in self._kept:
            with temporarily_clear_interpreter_stack():  # what is kept outlives any transform
                self._kept[key] = find()
        return self._kept[key]

    def __eq__(self, other: object) -> bool:
        """Return whether both are the same rows."""
        if not isinstance(other, Rows):
            return NotImplemented
        return (
            (self.count, len(self)) == (other.count, len(other))
            and torch.equal(self.item, other.item)
            and torch.equal(self.offsets, other.offsets)
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        parts = torch.split(self.item, self.sizes.tolist())
        return f"Rows({[part.tolist() for part in parts]!s:.70}, count={self.count})"


def ends(sizes: Tensor) -> Tensor:
    """Return the offsets (n + 1,) of rows of given sizes."""
    return nnf.pad(sizes.cumsum(0), (1, 0))


def ranges(start: Tensor, size: Tensor, total: int | None = None) -> tuple[Tensor, Tensor]:
    """Concatenate the ranges start[i], ..., start[i] + size[i] - 1.

    Returns for each number the range i it belongs to, and the number itself. A known ``total`` of
    the sizes avoids a device synchronization.

    Example:
        >>> ranges(torch.tensor([5, 0]), torch.tensor([2, 1]))
        (tensor([0, 0, 1]), tensor([5, 6, 0]))
    """
    owner = torch.repeat_interleave(size, output_size=total)
    shift = start - size.cumsum(0) + size
    return owner, torch.arange(len(owner), device=size.device) + shift[owner]


def _positions(item: Tensor, count: int) -> Rows:
    """Sort the positions of items by their values, and those of one value as they come."""
    if item.is_cpu and not torch.compiler.is_compiling():
        order, ptr = map(torch.from_numpy, cpu.count_sort(item.numpy(), count))
    else:
        values, order = torch.sort(item, stable=True)
        ptr = torch.searchsorted(values, torch.arange(count + 1, device=item.device))
    return Rows(order, item.shape[0], ptr=ptr)


def unique_rows(rows: Tensor, n: int) -> tuple[Tensor, Tensor]:
    """Return the different rows, ascending, and the position of each row among them.

    Entries are from 0 to ``n - 1``. As many columns as fit become one number, which is far faster
    than ``torch.unique(rows, dim=0)``.
    """
    key, bound = rows[:, 0], n
    for column in rows.T[1:]:
        if bound * n >= 1 << 63:
            key, bound = torch.unique(key, return_inverse=True)[1], len(rows)
        key, bound = key * n + column, bound * n
    values, position = torch.unique(key, return_inverse=True)
    out = rows.new_empty((len(values), rows.shape[1]))
    out[position] = rows
    return out, position
