"""Counts of regions against Whitney's formula, sign vectors, and closed forms."""

import warnings
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from mpsn.errors import MPSNError, TooLargeError
from mpsn.regions import (
    CloseCallWarning,
    _arithmetic,
    bounds,
    characteristic_polynomial,
    count,
    slice2d,
)

entries = st.integers(-2, 2)
matrices = st.integers(1, 4).flatmap(
    lambda n: st.lists(st.lists(entries, min_size=n, max_size=n), min_size=1, max_size=8)
)


def whitney(W, b=None):
    """Whitney's theorem as it stands, from t^N down: a sum over the sets of rows that meet.

    Zero rows are no hyperplanes.
    """
    W = np.array(W, float)
    n, cuts = W.shape[1], W.any(axis=1)
    lines = np.column_stack([W, np.zeros(len(W)) if b is None else b])[cuts].astype(float)
    chi = [0] * (n + 1)
    for size in range(len(lines) + 1):
        for B in map(list, combinations(range(len(lines)), size)):
            rank = np.linalg.matrix_rank(lines[B, :n]) if B else 0
            if not B or np.linalg.matrix_rank(lines[B]) == rank:
                chi[rank] += (-1) ** size
    return tuple(chi)


def regions_of(chi):
    """Return the number of regions, (-1)^N chi(-1), by Zaslavsky's theorem."""
    return abs(sum((-1) ** k * coefficient for k, coefficient in enumerate(chi)))


def sign_vectors(W, b=None):
    """Regions as the sign vectors that some x has, each by a linear program."""
    W = np.array(W, float)
    b = np.zeros(len(W)) if b is None else np.array(b, float)
    cuts = np.abs(W).max(axis=1) > 0
    W, b = W[cuts], b[cuts]
    found = 0
    for signs in product((-1, 1), repeat=len(W)):
        s = np.array(signs)[:, None]
        # maximize the slack t of s (W x + b) >= t, t <= 1
        A = np.column_stack([-s * W, np.ones(len(W))])
        c = np.zeros(W.shape[1] + 1)
        c[-1] = -1
        limits = [(-1e4, 1e4)] * W.shape[1] + [(None, 1)]
        found += linprog(c, A, s[:, 0] * b, bounds=limits).x[-1] > 1e-7
    return found


@settings(max_examples=200)
@given(matrices, st.data())
def test_every_coefficient_by_whitneys_theorem(W, data):
    """Of the central arrangement, and of an affine one with the same normals."""
    for b in (None, data.draw(st.lists(entries, min_size=len(W), max_size=len(W)))):
        chi = whitney(W, b)
        assert characteristic_polynomial(W, b) == characteristic_polynomial(W, b, exact=True) == chi
        assert count(W, b) == count(W, b, exact=True) == regions_of(chi)


@settings(max_examples=40)
@given(matrices.filter(lambda W: len(W) <= 6), st.data())
def test_counts_by_sign_vectors(W, data):
    assert count(W) == sign_vectors(W)
    b = data.draw(st.lists(entries, min_size=len(W), max_size=len(W)))
    assert count(W, b) == count(W, b, exact=True) == sign_vectors(W, b)


@pytest.mark.parametrize("seed", range(30))
def test_random_float_matrices_of_low_rank(seed):
    rng = np.random.default_rng(seed)
    W = rng.standard_normal((9, 3)) @ rng.standard_normal((3, 5))
    W[7] = -3 * W[2]
    assert count(W) == regions_of(whitney(W)) == bounds.dense(3, 8)


def test_known_arrangements():
    boolean = np.eye(5)
    assert count(boolean) == 32
    assert characteristic_polynomial(boolean) == (1, -5, 10, -10, 5, -1)
    braid = [[int(i == u) - int(i == v) for i in range(5)] for u, v in combinations(range(5), 2)]
    assert count(braid) == 120  # one region per order of five numbers
    assert characteristic_polynomial(braid) == (1, -10, 35, -50, 24, 0)
    shi = [row for row in braid for _ in range(2)]
    assert count(shi, [0, -1] * 10) == 6**4  # (n + 1)^(n - 1) parking functions


def test_zero_parallel_and_repeated_rows():
    assert count([[0, 0]]) == 1
    assert count([[1, 2], [0, 0], [2, 4], [-1, -2], [1, 2]]) == 2
    assert count([[1, 0], [1, 0], [0, 0]], [0, 1, 5]) == 3  # two parallel lines; 5 = 0 is no line
    assert count([[1e-30, 0], [0, 1e30]], exact=True) == 4


exponents = st.integers(-30, 30)


@settings(max_examples=200)
@given(matrices, st.data())
def test_the_scale_of_a_row_does_not_matter(W, data):
    powers = [data.draw(exponents) for _ in W]
    scaled = [[entry * 10.0**p for entry in row] for row, p in zip(W, powers, strict=True)]
    truth = [[entry * Fraction(10) ** p for entry in row] for row, p in zip(W, powers, strict=True)]
    assert count(scaled) == count(truth, exact=True) == count(W, exact=True)


@settings(max_examples=200)
@given(matrices, st.data())
def test_the_scale_of_biases_and_inputs_does_not_matter(W, data):
    biases, powers = [data.draw(entries) for _ in W], [data.draw(exponents) for _ in W]
    whole = data.draw(exponents)
    scaled = [[entry * 10.0**p for entry in row] for row, p in zip(W, powers, strict=True)]
    b = [entry * 10.0 ** (p + whole) for entry, p in zip(biases, powers, strict=True)]
    assert count(scaled, b) == count(W, biases, exact=True)


def test_the_least_and_the_largest_numbers():
    W = np.random.default_rng(0).standard_normal((5, 3))
    assert count(1e-13 * W) == count(1e300 * W) == count(W) == 22
    assert count([[1e-13, 0], [0, 1]]) == 4
    assert count([[5e-324, 0], [0, 1.7e308]]) == 4
    assert count([[1.0]], [1e13]) == count([[1e-300]], [1e300]) == 2
    assert count([[1.0], [1.0], [1.0]], [0.0, 1.0, 1e5]) == 4
    assert count([[0.0]], [1e-13]) == 1


@given(matrices, st.data())
def test_biases_too_different_in_size_cause_a_warning(W, data):
    b = [data.draw(entries) * Fraction(10) ** data.draw(exponents) for _ in W]
    with warnings.catch_warnings(record=True) as issued:
        warnings.simplefilter("always")
        found = count(W, b)
    assert {warning.category for warning in issued} <= {CloseCallWarning}
    assert issued or found == count(W, b, exact=True)
    with pytest.warns(CloseCallWarning, match=r"biases whose sizes differ by a factor of 1e\+13"):
        count(np.ones((3, 1)), [1.0, 2.0, 1e13])


def test_many_rows():
    W = np.random.default_rng(0).standard_normal((20_000, 12))
    with pytest.raises(TooLargeError, match="20000 hyperplanes of rank 12"):
        count(W)
    angles = np.random.default_rng(0).permutation(30_000) * np.pi / 30_000
    assert count(np.column_stack([np.cos(angles), np.sin(angles)])) == 60_000


@pytest.mark.parametrize("n", [2, 3, 7])
def test_repeats_among_many_rows_are_those_found_by_comparing_all(n, monkeypatch):
    rng = np.random.default_rng(n)
    rows = rng.integers(-2, 3, (400, n)) * 10.0 ** rng.integers(-30, 30, (400, 1))
    rows = np.concatenate([rows, -rows[rng.permutation(400)] / 3])
    rows[:200] *= 1 + 1e-15 * rng.standard_normal((200, n))
    found = []
    for most in (0, 10**9):
        monkeypatch.setattr(_arithmetic, "MAX_TABLE", most)
        found.append(count(rows) if n < 7 else len(_arithmetic.Float()._distinct(rows * 1e30)))
    assert found[0] == found[1]


def test_close_calls_among_many_rows_cause_a_warning(monkeypatch):
    monkeypatch.setattr(_arithmetic, "MAX_TABLE", 0)
    test_close_calls_cause_a_warning()


def test_tensors():
    linear = torch.nn.Linear(3, 5)
    W, b = linear.weight.tolist(), linear.bias.tolist()
    assert count(linear.weight) == count(W) == 22
    assert count(linear.weight, linear.bias, exact=True) == count(W, b) == 26
    assert characteristic_polynomial(linear.weight) == characteristic_polynomial(W)
    assert count(torch.eye(3, dtype=torch.bfloat16).to_sparse()) == 8
    five_lines = 1 + 5 + 10  # regions of a plane, in general position
    assert slice2d(linear.weight, linear.bias).regions == slice2d(W, b).regions == five_lines
    plane = {"origin": linear.weight[0], "directions": linear.weight[1:3]}
    ours = slice2d(linear.weight, **plane)
    theirs = slice2d(W, **{name: part.tolist() for name, part in plane.items()})
    assert np.array_equal(ours.lines, theirs.lines)
    assert ours.regions == theirs.regions == five_lines


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.longdouble, np.int8, np.int64])
def test_exact_counts_of_numpy_numbers(kind):
    W = [[kind(100), kind(50)], [kind(2), kind(1)], [kind(3), kind(7)]]
    assert count(W, exact=True) == count(np.array(W), exact=True) == 4
    large = [[np.int64(2**62), np.int64(2**62 - 1)], [np.int64(2**61), np.int64(2**61)]]
    assert count(large, exact=True) == 4


def test_fractions_are_taken_as_they_are():
    third = Fraction(1, 3)
    assert count([[third, 1], [1, 3]], exact=True) == 2
    assert count([[1 / 3, 1], [1, 3]], exact=True) == 4  # as floats they are not parallel
    assert count([[1 / 3, 1], [1, 3]]) == 2  # to within the tolerance they are


@pytest.mark.parametrize("large", [3145728, 3 * 10**9, 2**60])
def test_integers_merged_within_the_tolerance_cause_a_warning(large):
    W = [[-1, large], [1, -large - 1]]
    with pytest.warns(CloseCallWarning, match="rows, 1 of them parallel to others only"):
        assert count(W) == 2
    assert count(W, exact=True) == 4
    with pytest.warns(CloseCallWarning, match="rows, 1 of them parallel"):
        count([[1], [1]], [2**60, 2**60 + 1])
    with pytest.warns(CloseCallWarning, match=r"a difference of 2\.0e-13, near the tolerance"):
        count([[1.5, 0.0], [1.5, 3e-13]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert count([[large, 1], [3 * large, 3], [-large, -1]]) == 2
        assert count([[Fraction(1, 3), 1], [1, 3]]) == 2


def test_close_calls_cause_a_warning():
    with pytest.warns(CloseCallWarning, match=r"difference of 5\.0e-10, near the tolerance 1e-10"):
        assert count([[1.0, 0.0], [1.0, 5e-10]]) == 4
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert count([[1.0, 0.0], [1.0, 1e-4]]) == 4
        assert count([[1.0, 0.0], [1.0, 1e-16]]) == 2
        assert count([[1.0, 0.0], [1.0, 5e-10]], exact=True) == 4


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([[1.0, np.nan]],), "finite numbers in W and b, got NaN or infinity"),
        (([[1.0, np.inf]],), "finite numbers"),
        (([[1.0]], [np.nan]), "finite numbers"),
        (([],), r"shape \(M, N\) with entries, got shape \(0,\)"),
        ((np.zeros((0, 3)),), r"got shape \(0, 3\)"),
        ((np.zeros((3, 0)),), r"got shape \(3, 0\)"),
        (([1.0, 2.0],), r"got shape \(2,\)"),
        (([["a", "b"]],), "Expected numbers"),
        (([[1, 2], [3, 4]], [1]), r"biases b of shape \(2,\), got \(1,\)"),
    ],
)
def test_bad_matrices(arguments, message):
    with pytest.raises(MPSNError, match=message):
        count(*arguments)


def test_endless_counts_are_refused_with_the_estimate():
    W = np.random.default_rng(0).standard_normal((200, 20))
    with pytest.raises(TooLargeError, match=r"200 hyperplanes of rank 20: up to .*e\+2\d steps"):
        count(W)
    assert count(np.kron(np.eye(60), [[1.0], [2.0]])) == 2**60  # large, but a product


def area(polygon):
    x, y = polygon.T
    return abs(np.dot(x, np.roll(y, -1)) - np.dot(y, np.roll(x, -1))) / 2


@pytest.mark.parametrize("seed", range(12))
def test_slices_are_cut_into_exactly_as_many_polygons_as_there_are_regions(seed):
    rng = np.random.default_rng(seed)
    W = rng.integers(-2, 3, (7, 4)).astype(float)
    W[5:] = W[3:5]  # repeated rows
    b = rng.integers(-2, 3, 7) * (seed % 2)  # no biases, or some
    b[5] = b[3]
    origin, directions = rng.standard_normal(4), rng.standard_normal((2, 4))
    cut = slice2d(W, b, origin=origin, directions=directions)
    points = rng.standard_normal((9, 2))
    there = (origin + points @ directions) @ W.T + b  # before the activation
    np.testing.assert_allclose(points @ cut.lines[:, :2].T + cut.lines[:, 2], there, atol=1e-12)
    assert len(cut.polygons) == cut.regions
    x0, x1, y0, y1 = cut.window
    assert sum(map(area, cut.polygons)) == pytest.approx((x1 - x0) * (y1 - y0))
    centers = np.array([polygon.mean(axis=0) for polygon in cut.polygons])
    signs = np.sign(centers @ cut.lines[:, :2].T + cut.lines[:, 2])
    assert len(np.unique(signs, axis=0)) == cut.regions  # no two polygons are one region
    assert cut.regions == sign_vectors(cut.lines[:, :2], cut.lines[:, 2])


def test_slices_that_are_given():
    W = [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
    through_zero = slice2d(W, origin=[0, 0, 0], directions=[[1, 0, 0], [0, 1, 0]])
    assert through_zero.regions == 4
    above = slice2d(W, origin=[0, 0, 5], directions=[[1, 0, 0], [0, 0, 1]], window=(-1, 1, -1, 1))
    assert above.regions == 4
    assert len(above.polygons) == 2  # the window is above the plane x_3 = 0
    assert slice2d(np.zeros((2, 3))).regions == 1
    assert slice2d([[1, 0], [1, 0]], [0, 1], origin=[0, 0], directions=np.eye(2)).regions == 3


@pytest.mark.parametrize("scale", [1e-200, 1e-13, 1e100])
def test_slices_of_any_scale(scale):
    W = np.random.default_rng(0).standard_normal((6, 3))
    assert slice2d(scale * W).regions == slice2d(W).regions == 22
    plane, point = [[0.1, 0.2, -0.1]], [0.1, 0.1, 0.3]  # a point of the plane, but for rounding
    assert np.dot(plane[0], point) != 0
    assert slice2d(scale * np.array(plane), origin=point).lines[0, 2] == 0


def test_bad_slices():
    for b in (1.0, [1.0], [1.0] * 4, [[1.0]] * 3, [1.0, 2.0, np.nan]):
        with pytest.raises(MPSNError, match=r"biases b of shape \(3,\), got"):
            slice2d(np.eye(3), b)
    with pytest.raises(MPSNError, match="N >= 2"):
        slice2d([[1.0]])
    with pytest.raises(MPSNError, match="two independent directions"):
        slice2d(np.eye(3), directions=[[1, 0, 0], [2, 0, 0]])
    with pytest.raises(MPSNError, match=r"origin of shape \(3,\)"):
        slice2d(np.eye(3), origin=[0, 0])
