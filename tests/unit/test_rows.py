"""Rows of integers against lists of lists."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from mpsn._rows.rows import Rows, ends, ranges


def pack(lists, count, width=None):
    item = torch.tensor([i for row in lists for i in row], dtype=torch.int64)
    ptr = torch.tensor([0, *map(len, lists)]).cumsum(0) if width is None else None
    return Rows(item, count, width, ptr)


def unpack(rows):
    return [rows.item[i:j].tolist() for i, j in zip(rows.offsets, rows.offsets[1:], strict=False)]


@st.composite
def lists_of_lists(draw, count=None):
    """Draw rows as lists, the number of values, and the width if it is the same for all."""
    count = draw(st.integers(0, 6)) if count is None else count
    items = st.integers(0, count - 1) if count else st.nothing()
    width = draw(st.none() | st.integers(1, 4)) if count else None
    sizes = {"max_size": 5} if width is None else {"min_size": width, "max_size": width}
    rows = st.lists(items, **sizes) if count else st.just([])
    return draw(st.lists(rows, max_size=6)), count, width


@given(lists_of_lists(), st.data())
def test_every_method_is_that_of_lists(drawn, data):
    lists, count, _ = drawn
    rows = pack(*drawn)
    nnz = sum(map(len, lists))
    assert (len(rows), unpack(rows)) == (len(lists), lists)
    assert rows.sizes.tolist() == [len(row) for row in lists]
    row = [r for r, items in enumerate(lists) for _ in items]
    item = [i for items in lists for i in items]
    assert rows.row.tolist() == row
    assert unpack(rows.positions) == [
        [p for p in range(nnz) if item[p] == value] for value in range(count)
    ]
    assert unpack(rows.T) == [[row[p] for p in range(nnz) if item[p] == v] for v in range(count)]
    assert (rows.T.count, len(rows.T)) == (len(lists), count)
    assert unpack(rows.spans) == [[p for p in range(nnz) if row[p] == r] for r in range(len(lists))]
    assert unpack(rows.unique()) == [sorted(set(items)) for items in lists]
    others = [[p for p in range(nnz) if row[p] == row[q] and p != q] for q in range(nnz)]
    assert unpack(rows.others()) == others
    assert rows.others().count == nnz
    index = data.draw(st.lists(st.integers(0, len(lists) - 1)) if lists else st.just([]))
    index = torch.tensor(index, dtype=torch.int64)
    assert unpack(rows.take(index)) == [lists[r] for r in index.tolist()]
    place, position, offsets = rows.positions_of(index)
    assert torch.equal(index[place], rows.row[position])
    assert unpack(Rows(rows.item[position], count, ptr=offsets)) == [lists[r] for r in index]
    longest = data.draw(st.integers(1, 4))
    pieces, of_row = rows.cut(longest)
    cut = [items[i : i + longest] for items in lists for i in range(0, len(items), longest)]
    assert unpack(pieces) == cut
    joined = [[i for piece in pieces_of for i in cut[piece]] for pieces_of in unpack(of_row)]
    assert joined == lists


@given(st.data())
def test_rows_of_rows(data):
    inner, count, width = data.draw(lists_of_lists())
    outer, middle, outer_width = data.draw(lists_of_lists(len(inner)))
    product = pack(outer, middle, outer_width) @ pack(inner, count, width)
    assert unpack(product) == [[i for r in row for i in inner[r]] for row in outer]
    assert product.count == count


@given(lists_of_lists(), lists_of_lists())
def test_they_are_equal_if_the_lists_are(one, two):
    (a, m, _), (b, n, _) = one, two
    assert (pack(*one) == pack(*two)) == ((a, m) == (b, n))
    assert pack(*one) == pack(a, m)  # with offsets


def test_they_are_immutable_values():
    rows = Rows(torch.tensor([0, 1]), 2, width=1)
    with pytest.raises(AttributeError, match="cannot assign to 'count': Rows is immutable"):
        rows.count = 3
    with pytest.raises(AttributeError, match="cannot delete 'item': Rows is immutable"):
        del rows.item
    assert rows.positions is rows.positions  # found once
    assert rows.apply(lambda t: t) is rows
    assert rows.apply(torch.clone) == rows
    assert rows != [[0], [1]]
    assert repr(rows) == "Rows([[0], [1]], count=2)"


def test_offsets_and_ranges():
    assert ends(torch.tensor([2, 0, 1])).tolist() == [0, 2, 2, 3]
    owner, number = ranges(torch.tensor([5, 9, 0]), torch.tensor([2, 0, 1]))
    assert (owner.tolist(), number.tolist()) == ([0, 0, 2], [5, 6, 0])
