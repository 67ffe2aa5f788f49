"""Grouping is exact, however bad the hash, and the same on every device."""

from functools import partial

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from mpsn.wl._grouping import group, multisets_of, segments_cpu

receivers = st.lists(
    st.tuples(
        st.integers(0, 2),
        st.lists(st.integers(0, 3), max_size=4),
        st.lists(st.sampled_from([0, 7, 2**61]), max_size=40),
    ),
    max_size=12,
)


def tensors(rows):
    own = torch.tensor([row[0] for row in rows], dtype=torch.int64)
    multisets = []
    for part in (1, 2):
        sizes = torch.tensor([0, *(len(row[part]) for row in rows)])
        codes = torch.tensor([code for row in rows for code in row[part]], dtype=torch.int64)
        multisets.append(multisets_of(codes, sizes.cumsum(0)))
    return own, multisets


on_torch = partial(group, compiled=False)  # what runs on a GPU, here on the CPU


@pytest.mark.parametrize("bits", [64, 3, 1])
@pytest.mark.parametrize("how", [group, on_torch])
@given(receivers)
def test_equal_exactly_if_signatures_are(how, bits, rows):
    ids, first = how(*tensors(rows), bits)
    keys = [(own, sorted(one), sorted(two)) for own, one, two in rows]
    for i, key in enumerate(keys):
        assert [ids[j] == ids[i] for j in range(len(rows))] == [other == key for other in keys]
    assert sorted(set(ids.tolist())) == list(range(len(first)))
    assert ids[first].tolist() == list(range(len(first)))


@pytest.mark.parametrize("bits", [64, 2])
@given(receivers)
def test_both_ways_agree_on_the_numbers(bits, rows):
    assert torch.equal(group(*tensors(rows), bits).ids, on_torch(*tensors(rows), bits).ids)


@pytest.mark.parametrize("bits", [64, 2])
@given(receivers, st.randoms())
def test_numbers_do_not_depend_on_the_order(bits, rows, random):
    order = list(range(len(rows)))
    random.shuffle(order)
    ids = group(*tensors(rows), bits).ids
    shuffled = [(rows[i][0], rows[i][1][::-1], rows[i][2][::-1]) for i in order]
    assert torch.equal(group(*tensors(shuffled), bits).ids, ids[torch.tensor(order).long()])


def test_the_hash_is_fixed():
    """Colors must not change from process to process, nor from version to version."""
    hashes = np.array([5, 5])
    segments_cpu.fold(np.array([0, 2, 3]), np.array([1, 2, 3]), hashes)
    assert hashes.tolist() == [5887095061769293279, -2806399355676130225]
