"""Closed forms for the number of regions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpsn.errors import MPSNError
from mpsn.regions import bounds


@given(st.integers(0, 6), st.integers(0, 8))
def test_dense_bounds(n, m):
    expected = (
        1
        if 0 in (n, m)
        else 2
        * sum(
            np.prod(range(m - j, m), dtype=int) // max(1, np.prod(range(1, j + 1), dtype=int))
            for j in range(n)
        )
    )
    assert bounds.dense(n, m) == expected


def test_bounds_of_the_triangle_example():
    counts = (3, 3, 1)
    assert bounds.gnn(3, 1, 3) == 8
    assert bounds.scnn(counts, 1, 3) == 2**7
    assert bounds.mpsn_upper(counts, 1, 3) == (2 * (1 + 2)) ** 3 * (2 * 4) ** 3 * (2 * 3)
    assert bounds.mpsn_trivial(counts, 1, 3) == 120_920
    assert bounds.scnn([3], [2], [4]) == bounds.gnn(3, 2, 4)
    assert bounds.gnn(2, 1, 3, affine=True) == 16
    assert bounds.mpsn_upper((2, 1), (1, 2), 5, affine=True) == bounds.dense(3, 5, affine=True) ** 3


def test_bad_bounds():
    with pytest.raises(MPSNError, match=r"one width per dimension \(3\), got 2"):
        bounds.scnn((3, 3, 1), [1, 1], 3)
    with pytest.raises(MPSNError, match="outputs >= 0, got -1"):
        bounds.dense(1, -1)
    with pytest.raises(MPSNError, match=r"counts\[1\] >= 0"):
        bounds.mpsn_upper((3, -3), 1, 3)
    with pytest.raises(MPSNError, match=r"Expected d_1 >= d_0 for the lower bound, got 1 < 2"):
        bounds.mpsn_lower([np.eye(2)], [np.eye(2)], [2, 1], 3)
    with pytest.raises(MPSNError, match=r"rank \(O_0\)_C >= rank \(M_0\)_C"):
        bounds.mpsn_lower([np.eye(2)], [np.ones((2, 1))], 1, 3)


def test_bounds_of_numpy_sizes_are_exact():
    expected = bounds.scnn((30, 30, 10), 3, 30)
    assert expected == 872**70
    assert bounds.scnn(np.array([30, 30, 10]), np.int64(3), np.array([30] * 3)) == expected
    for bound in (bounds.mpsn_upper, bounds.mpsn_trivial):
        found = bound(np.array([30, 30, 10]), np.int32(3), np.int64(30))
        assert type(found) is int
        assert found == bound((30, 30, 10), 3, 30)
    assert bounds.gnn(np.int64(70), np.uint8(3), np.int64(30)) == expected
    assert bounds.mpsn_lower([np.eye(2)], [np.eye(2)], np.int64(1), np.int64(3)) == 4


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: bounds.dense(2.0, 3), r"inputs as an integer, got 2\.0"),
        (lambda: bounds.gnn(3, "1", 3), r"inputs\[0\] as an integer, got '1'"),
        (lambda: bounds.scnn((3, 1.5), 1, 3), r"counts\[1\] as an integer, got 1\.5"),
        (lambda: bounds.scnn(3, 1, 3), r"integers counts >= 0, got 3"),
        (lambda: bounds.scnn((3, 3), 1.5, 3), r"integers inputs >= 0, got 1\.5"),
        (lambda: bounds.mpsn_upper((3,), 1, None), r"outputs as an integer, got None"),
        (lambda: bounds.mpsn_trivial((3,), 1, 2.0), r"outputs as an integer, got 2\.0"),
        (lambda: bounds.mpsn_lower([np.eye(2)], [np.eye(2)], 1, 3.0), r"outputs as an integer"),
    ],
)
def test_sizes_that_are_no_integers(call, message):
    with pytest.raises(MPSNError, match=message):
        call()
