"""Cubical complexes of images and volumes against cell by cell definitions."""

from itertools import product

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from mpsn import CubicalComplex, cubical_complex
from mpsn.errors import ComplexError, TooLargeError

shapes = st.lists(st.integers(1, 3), min_size=1, max_size=4).map(tuple)


def by_definition(values, mask, pixels):
    """Values of all cells by dimension: odd coordinates are intervals, even ones are points."""
    cells = [{} for _ in range(values.ndim + 1)]
    top = pixels == "cells"
    for cell in product(*(range(2 * n + 1 if top else 2 * n - 1) for n in values.shape)):
        if top:  # the entries around the cell
            near = [
                [i for i in ((c - 1) // 2, c // 2) if 0 <= i < n]
                for c, n in zip(cell, values.shape, strict=True)
            ]
        else:  # its vertices
            near = [{c // 2, (c + 1) // 2} for c in cell]
        entries = set(product(*near))
        kept = [values[i] for i in entries if mask[i]]
        if kept if top else len(kept) == len(entries):
            cells[sum(c % 2 for c in cell)][cell] = min(kept) if top else max(kept)
    return cells


@given(shapes, st.sampled_from(["cells", "vertices"]), st.booleans(), st.integers(0, 99))
def test_cells_values_and_masks(shape, pixels, masked, seed):
    rng = np.random.default_rng(seed)
    values = rng.random(shape)
    mask = rng.random(shape) < 0.7 if masked else np.ones(shape, bool)
    K = cubical_complex(values, pixels=pixels, mask=mask if masked else None)
    expected = by_definition(values, mask, pixels)
    assert list(K.counts) == [len(level) for level in expected if level]
    for k, n in enumerate(K.counts):
        assert K.x[k].shape == (n, 1)
        assert sorted(K.x[k][:, 0].tolist()) == sorted(expected[k].values())
    faces = [K.faces(k) for k in range(1, K.dim + 1)]
    assert CubicalComplex(K.num_nodes, faces) == K.bare()  # with the default signs
    assert all(K.incidence(k).sign is None for k in range(1, K.dim + 1))


@given(shapes, st.integers(0, 99))
def test_sublevel_sets_are_closed(shape, seed):
    values = torch.rand(shape, generator=torch.Generator().manual_seed(seed))
    for pixels in ("cells", "vertices"):
        K = cubical_complex(values, pixels=pixels)
        for k in range(1, K.dim + 1):
            assert (K.x[k - 1][K.faces(k), 0] <= K.x[k]).all()


def test_order_of_the_cells():
    K = cubical_complex([[0.0, 1.0], [2.0, 3.0]])
    assert K.x[2].T.tolist() == [[0, 1, 2, 3]]
    assert K.x[0].view(3, 3).tolist() == [[0, 0, 1], [0, 0, 1], [2, 2, 3]]
    # Edges along axis 0 come first; the first square lies between vertices 0, 1, 3 and 4.
    assert K.faces(1)[[0, 6]].tolist() == [[3, 0], [1, 0]]
    assert K.cells(2)[0][:4].tolist() == [0, 1, 3, 4]


def test_a_ring_and_a_hollow_cube():
    mask = torch.ones(3, 3, dtype=torch.bool)
    mask[1, 1] = False
    assert cubical_complex(torch.zeros(3, 3), mask=mask).betti_numbers() == (1, 1, 0)
    hollow = torch.ones(3, 3, 3, dtype=torch.bool)
    hollow[1, 1, 1] = False
    assert cubical_complex(hollow, mask=hollow).betti_numbers() == (1, 0, 1, 0)
    nothing = cubical_complex(torch.zeros(2, 2), mask=torch.zeros(2, 2, dtype=torch.bool))
    assert nothing.counts == ()


def test_kinds_of_numbers():
    assert cubical_complex([1, 2, 3]).x[0].dtype == torch.float32
    assert cubical_complex(np.ones((2, 2))).x[0].dtype == torch.float64
    assert cubical_complex(np.eye(2, dtype=bool)).x[2].T.tolist() == [[1, 0, 0, 1]]
    assert cubical_complex(np.zeros((1,) * 40), pixels="vertices").counts == (1,)


@pytest.mark.parametrize(
    ("array", "said"),
    [
        (np.zeros((0, 3)), r"at least one axis and one entry, got .* of shape \(0, 3\)"),
        (3.0, r"at least one axis and one entry, got .* of shape \(\)"),
        ([[1.0, np.nan]], r"finite values, got nan at \[0, 1\].*mask"),
        ([np.inf], "finite values, got inf"),
        ([1j], "real numbers"),
        ("image", "the array as a tensor of numbers"),
    ],
)
def test_bad_arrays(array, said):
    with pytest.raises(ComplexError, match=said):
        cubical_complex(array)


def test_bad_masks_and_options():
    with pytest.raises(ComplexError, match=r"array's shape \(2, 2\), got torch.bool of shape \(2"):
        cubical_complex(np.zeros((2, 2)), mask=np.ones(2, bool))
    with pytest.raises(ComplexError, match="mask of booleans"):
        cubical_complex(np.zeros((2, 2)), mask=np.ones((2, 2), int))
    with pytest.raises(ComplexError, match="pixels='cells' or 'vertices', got 'edges'"):
        cubical_complex([1.0], pixels="edges")


def test_too_large_is_refused():
    with pytest.raises(TooLargeError, match=r"shape \(100, 100\) with 40401 cells, which need"):
        cubical_complex(torch.zeros(100, 100), max_bytes=100_000)
    with pytest.raises(TooLargeError):  # 3^60 cells
        cubical_complex(np.zeros((1,) * 60))


def test_an_image_too_large_is_refused_before_it_is_read():
    with pytest.raises(TooLargeError):
        cubical_complex(torch.zeros(1).expand(10**5, 10**5))
