"""Edge flows: the synthetic ones as described, the ocean's as published."""

import itertools
import os
import shutil
from pathlib import Path

import h5py
import numpy as np
import pytest
import torch

from mpsn.datasets import ocean_drifters, synthetic_flows
from mpsn.datasets._flows import CHECKPOINTS, END, HOLES, START, _inside
from mpsn.errors import FileError, MPSNError


@pytest.fixture(scope="module")
def data():
    return synthetic_flows(seed=3, points=400, train=40, test=20)


def test_the_complex_has_two_holes(data):
    K, points = data.complex, data.positions.numpy()
    assert K.betti_numbers() == (1, 2, 0)
    assert points.shape == (K.num_nodes, 2)
    assert all(not _inside(points, (hole, hole)).any() for hole in HOLES)
    assert K.simplices(2).unique().numel() == K.num_nodes  # every point is in a triangle


def test_walks_lead_from_start_to_end_by_way_of_their_checkpoint(data):
    points = data.positions.numpy()
    edges = set(map(tuple, data.complex.simplices(1).tolist()))
    for path, label in zip(data.paths, data.y.tolist(), strict=True):
        assert _inside(points[path[:1]], START).all()
        assert _inside(points[path[-1:]], END).all()
        assert _inside(points[path], CHECKPOINTS[label]).any()
        assert len(set(path)) == len(path)
        assert all((min(e), max(e)) in edges for e in itertools.pairwise(path))


def test_flows_start_and_end_where_their_walks_do(data):
    """B₁x is -1 at the first vertex of a walk, +1 at the last, 0 elsewhere."""
    ends = data.complex.boundary_matrix(1) @ data.x
    for i, path in enumerate(data.paths):
        expected = torch.zeros(data.complex.num_nodes)
        expected[path[0]], expected[path[-1]] = -1, 1
        assert torch.equal(ends[:, i], expected)
    assert data.x.abs().sum().item() == sum(len(path) - 1 for path in data.paths)


def test_split_classes_and_orientations(data):
    assert data.y[data.train].bincount().tolist() == [20, 20]
    assert data.y[~data.train].bincount().tolist() == [10, 10]
    assert bool((data.signs[:, data.train] == 1).all())
    test = data.signs[:, ~data.train].float()
    assert test.abs().eq(1).all()
    assert test.mean().abs() < 0.05
    assert len(torch.unique(test, dim=1).T) == 20  # each its own


def test_harmonic_coordinates_tell_the_classes_apart(data):
    """A walk round a hole cannot be deformed into one round its other side."""
    coordinates = (data.complex.harmonic_basis(1).T @ data.x.double()).T.numpy()  # (N, 2)
    means = [coordinates[data.y.numpy() == label].mean(axis=0) for label in (0, 1)]
    side = (coordinates - np.mean(means, axis=0)) @ (means[1] - means[0])
    assert ((side > 0) == (data.y.numpy() == 1)).mean() > 0.9


def test_seeds(data):
    again = synthetic_flows(seed=3, points=400, train=40, test=20)
    other = synthetic_flows(seed=4, points=400, train=40, test=20)
    assert again.complex == data.complex
    assert again.paths == data.paths
    assert torch.equal(again.signs, data.signs)
    assert other.complex != data.complex


@pytest.mark.parametrize("bad", [{"points": 10}, {"train": 3}, {"test": -2}])
def test_bad_sizes(bad):
    with pytest.raises(MPSNError, match="Expected points >= 100 and even numbers of flows"):
        synthetic_flows(**bad)


needs_data = pytest.mark.skipif("MPSN_DATA" not in os.environ, reason="MPSN_DATA is not set")


@needs_data
def test_the_ocean_as_published():
    data = ocean_drifters()
    assert data.complex.counts == (133, 320, 186)
    assert data.complex.betti_numbers() == (1, 2, 0)
    assert (data.x.min(), data.x.max()) == (-5, 6)
    assert data.y[data.train].bincount().tolist() == [91, 69]
    assert data.y[~data.train].bincount().tolist() == [19, 21]
    assert repr(data).endswith("train=160, test=40)")
    assert torch.equal(ocean_drifters().signs, data.signs)
    assert not torch.equal(ocean_drifters(seed=1).signs, data.signs)


@needs_data
def test_what_test_and_training_paths_of_the_ocean_share():
    """As the notes of the table say."""
    data = ocean_drifters()
    train = [p for p, known in zip(data.paths, data.train, strict=True) if known]
    test = [p for p, known in zip(data.paths, data.train, strict=True) if not known]
    assert sum(path in train for path in test) == 1
    ends = {(path[0], path[-1]) for path in train}
    assert sum((path[0], path[-1]) in ends for path in test) == 15


@needs_data
def test_damaged_ocean_files(tmp_path):
    (tmp_path / "ocean").mkdir()
    copy = tmp_path / "ocean" / "dataBuoys.jld2"
    shutil.copy(Path(os.environ["MPSN_DATA"]) / "ocean" / "dataBuoys.jld2", copy)
    copy.write_bytes(copy.read_bytes()[:100_000])
    with pytest.raises(FileError, match="damaged or of another kind"):
        ocean_drifters(data=tmp_path)


def test_other_files_in_place_of_the_ocean(tmp_path):
    (tmp_path / "ocean").mkdir()
    path = tmp_path / "ocean" / "dataBuoys.jld2"
    path.write_text("not HDF5")
    with pytest.raises(FileError, match="damaged or of another kind"):
        ocean_drifters(data=tmp_path)
    with h5py.File(path, "w") as file:
        file["elist"] = np.array([[1, 2], [2, 3]])
        file["tlist"] = np.zeros((3, 0), dtype=np.int64)
        file["HexcentersXY"] = np.zeros((3, 2))
        file["TrajectoriesNodes"] = np.zeros((0, 2), dtype=np.int64)
    with pytest.raises(FileError, match=r"with two holes in .*, got SimplicialComplex\(dim=1"):
        ocean_drifters(data=tmp_path)
