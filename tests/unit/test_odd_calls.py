"""Calls that are wrong: each ends in an error of ours that says what was expected."""

import io
import pickle

import networkx as nx
import numpy as np
import pytest
import torch

import mpsn
from mpsn import ComplexDataset, SimplicialComplex, clique_complex, clique_complexes
from mpsn.complexes import Incidence
from mpsn.errors import MPSNError
from mpsn.estimators import CellClassifier, SimplicialClassifier, SimplicialRegressor

GRAPHS = [nx.path_graph(3), nx.cycle_graph(3)] * 2
SMALL = {"hidden": 2, "layers": 1, "epochs": 1, "device": "cpu"}
TARGETS = {
    "ragged": [[1], [1, 2]] * 2,
    "text": "abab",
    "bytes": [b"a", b"b"] * 2,
    "an array of bytes": np.array([b"a", b"b"] * 2),
    "a dictionary": {0: 1},
    "a set": {0, 1, 2, 3},
    "a number": 5,
    "complex": [1j, 2] * 2,
    "on no device": torch.zeros(4, device="meta"),
}


@pytest.mark.parametrize("y", TARGETS.values(), ids=TARGETS)
def test_targets(y):
    for kind in (SimplicialClassifier, SimplicialRegressor):
        with pytest.raises(MPSNError, match=r"targets y"):
            kind(**SMALL, members=1).fit(GRAPHS, y)
    if not isinstance(y, dict):
        with pytest.raises(MPSNError, match=r"targets y"):
            CellClassifier(**SMALL, dim=0, max_dim=1).fit(clique_complex(nx.path_graph(4)), y)


def test_targets_that_hold_numbers():
    """Of torch, whatever its layout is, and whether gradients flow to it."""
    y = torch.tensor([0.0, 1.0, 0.0, 1.0])
    plain = SimplicialRegressor(**SMALL, members=1, random_state=0).fit(GRAPHS, y).predict(GRAPHS)
    for same in (y.to_sparse(), y.clone().requires_grad_()):
        model = SimplicialRegressor(**SMALL, members=1, random_state=0).fit(GRAPHS, same)
        assert (model.predict(GRAPHS) == plain).all()


@pytest.mark.parametrize("lift", [["cliques"], {"cliques"}, {"a": 1}, b"cliques", 5, None])
def test_lifts(lift):
    model = SimplicialClassifier(**SMALL, members=1, lift=lift)
    for call in (
        lambda: mpsn.Lift(lift),
        lambda: mpsn.Lift.of(lift),
        lambda: model.fit(GRAPHS, "abab"),
    ):
        with pytest.raises(MPSNError, match=r"Expected a (lift|list of targets)"):
            call()


def test_no_list():
    for nothing in (None, 5):
        for call in (clique_complexes, mpsn.ring_complexes, SimplicialComplex.from_simplices):
            with pytest.raises(MPSNError, match=r"Expected a list of (graphs|simplices), got"):
                call(nothing)


def test_no_character_in_a_path():
    K = clique_complex(GRAPHS[0])
    for ending in ("", ".npz", ".g6", ".json", ".simplices", ".csv"):
        path = "a\0b" + ending
        for call in (K.save, mpsn.load, ComplexDataset.open, mpsn.read_graphs, mpsn.read_molecules):
            with pytest.raises(MPSNError, match="Expected"):
                call(path)


@pytest.fixture
def _on_meta():
    torch.set_default_device("meta")
    yield
    torch.set_default_device(None)


@pytest.mark.usefixtures("_on_meta")
def test_the_default_device_meta():
    points = [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]
    for call in (
        lambda: clique_complex(GRAPHS[0]),
        lambda: mpsn.ring_complex(GRAPHS[0]),
        lambda: mpsn.cube_complex(GRAPHS[0]),
        lambda: mpsn.rips_complex(points, radius=2.0),
        lambda: mpsn.cubical_complex(points),
        lambda: mpsn.mesh_complex((points, [[0, 1, 2]])),
        lambda: SimplicialComplex.from_simplices([[0, 1, 2]]),
        lambda: SimplicialClassifier(**SMALL).fit(GRAPHS, [0, 1, 0, 1]),
    ):
        with pytest.raises(MPSNError, match=r"Expected a device that holds numbers, got meta"):
            call()


def test_the_device_meta():
    with pytest.raises(MPSNError, match=r"Expected a device that holds numbers, got meta"):
        clique_complex(GRAPHS[0], device="meta")


def saved(value):
    file = io.BytesIO()
    torch.save(value, file)
    file.seek(0)
    return file


def test_files_of_torch(tmp_path):
    """They are read weights only, which is the default."""
    K = clique_complex(nx.complete_graph(4), max_dim=3)
    K = K.replace(x=[None, torch.rand(6, 2)], y=[1], vertex_labels=["a", "b", "c", (1, "d")])
    turned = K.replace(orientation=[None, torch.tensor([1, -1, 1, 1, 1, -1])])
    data = clique_complexes(GRAPHS)
    data.save(tmp_path / "data.npz")
    rings, cubes = mpsn.ring_complex(GRAPHS[1]), mpsn.cube_complex(nx.hypercube_graph(3))
    opened = ComplexDataset.open(tmp_path / "data.npz")
    for value in (K, turned, rings, cubes, data, opened, rings.incidence(2), K.incidence(2)):
        assert torch.load(saved(value), weights_only=True) == value
        assert pickle.loads(pickle.dumps(value)) == value


def test_files_of_torch_are_checked(monkeypatch):
    """What points outside of the cells would be read by compiled code."""
    K, wrong = clique_complex(nx.path_graph(3)), torch.tensor([1, 0, 2, 10**6])
    bad = Incidence.unchecked(wrong, 3, 2)
    with pytest.raises(MPSNError, match="faces from 0 to 2"):
        torch.load(saved(bad), weights_only=True)
    for broken in (K._with(_incidences=(bad,)), K._with(_ptr=(K.ptr(0), torch.tensor([0, 3])))):
        with pytest.raises(MPSNError, match="Expected"):
            torch.load(saved(broken), weights_only=True)
    for value in (K, K.incidence(1)):  # as a stranger would, to pass the checks by
        monkeypatch.setattr(type(value), "__reduce_ex__", object.__reduce_ex__)
        with pytest.raises(pickle.UnpicklingError):
            torch.load(saved(value), weights_only=True)
        monkeypatch.undo()
