"""Classifiers and regressors of cells: what they learn, their symmetries, files and errors."""

import json

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import mpsn
from labelled_cells import KINDS, half, torus
from mpsn.errors import FileError, GraphError, LayerError, LeftOut, MPSNError
from mpsn.estimators import CellClassifier, CellRegressor, SimplicialClassifier, load
from mpsn.estimators._given import Notes
from mpsn.estimators._on_cells import known
from mpsn.nn.models import CellNet
from mpsn.testing import assert_orientation_equivariant, assert_orientation_invariant
from mpsn.training._samples import Cells

QUICK = {"hidden": 8, "epochs": 5, "device": "cpu"}


def test_triangles_decide_and_a_graph_network_cannot_see_them():
    K, y = torus()
    model = CellClassifier(dim=1, epochs=80, device="cpu").fit(K, half(y, -1))
    assert model.score(K, np.where(np.arange(len(y)) % 2, -1, y)) == 1.0
    graph = CellClassifier(dim=1, max_dim=1, epochs=40, device="cpu")
    graph.fit(K.skeleton(1), half(y, -1))
    assert graph.score(K.skeleton(1), y) < 0.6
    other, truth = torus(9, seed=5)  # a complex that was not there in training
    assert model.score(other, truth) == 1.0
    assert "known cells of dimension 1 of 1 complex" in model.summary()
    assert model.scores_["this model"] == 1.0 > model.scores_["majority class"]


def test_numbers_and_rows_of_numbers():
    K, y = torus()
    model = CellRegressor(dim=1, epochs=100, device="cpu").fit(K, half(y, np.nan))
    assert model.score(K, y) > 0.99
    assert model.predict(K).shape == y.shape
    rows = np.stack([half(y, np.nan), 2 - half(y, np.nan)], axis=1)
    two = CellRegressor(dim=1, epochs=100, device="cpu").fit(K, rows)
    assert two.predict(K).shape == rows.shape
    assert two.score(K, np.stack([y, 2 - y], axis=1)) > 0.99


def test_many_complexes_and_unseen_ones():
    data = [torus(n, seed=n) for n in (5, 6, 7)]
    model = CellClassifier(dim=1, epochs=60, device="cpu")
    model.fit([K for K, _ in data], [half(y, -1) for _, y in data])
    assert len(model.histories_[0].train) > 5
    new = [torus(n, seed=n) for n in (4, 8)]
    found = model.predict([K for K, _ in new])
    assert [len(part) for part in found] == [K.count(1) for K, _ in new]
    assert model.score([K for K, _ in new], [y for _, y in new]) > 0.95
    assert model.predict([]) == []
    alone = [model.predict_proba(K) for K, _ in new]
    for one, together in zip(alone, model.predict_proba([K for K, _ in new]), strict=True):
        np.testing.assert_allclose(one, together, atol=1e-5)


@settings(max_examples=20)
@given(st.lists(st.integers(1, 6), min_size=1, max_size=9), st.integers(1, 30), st.data())
def test_steps_divide_the_known_cells_and_no_complex(sizes, size, data):
    union = mpsn.collate([mpsn.clique_complex(nx.path_graph(n)) for n in sizes])
    at = torch.tensor(data.draw(st.permutations(range(union.num_nodes))))
    at = at[: data.draw(st.integers(1, len(at)))]
    cells = Cells(mpsn.ComplexDataset(union), 0, torch.device("cpu"), at)
    used = torch.arange(len(at))
    parts = cells.steps(used, size, torch.Generator().manual_seed(0))
    assert torch.cat(list(parts)).sort().values.tolist() == used.tolist()
    homes = [set(union.batch(0)[at[part]].tolist()) for part in parts]
    assert all(homes)
    assert sum(map(len, homes)) == len(set.union(*homes))
    index = torch.arange(0, len(at), 2)
    reading = torch.nn.Identity()
    reading.forward = lambda K: torch.cat([K.batch(0)[:, None], K.x[0]], dim=1)
    named = union.replace(x=[torch.arange(union.num_nodes)[:, None]])
    found = Cells(mpsn.ComplexDataset(named), 0, torch.device("cpu"), at)(reading, index)
    assert found[:, 1].tolist() == at[index].tolist()


@pytest.mark.parametrize("dim", [0, 1, 2])
@pytest.mark.parametrize("kind", KINDS)
def test_any_kind_and_dimension(kind, dim):
    K = KINDS[kind]
    model = CellClassifier(dim=dim, **QUICK)
    names = model.cells(K)
    assert len({frozenset(name) for name in names}) == len(names)
    if len(names) < 2:
        return
    model.fit(K, [0, 1] + [-1] * (len(names) - 2))
    assert model.predict(K).shape == (len(names),)
    np.testing.assert_allclose(model.predict_proba(K).sum(axis=1), 1, rtol=1e-5)


def test_permutations_of_cells():
    K, y = torus(6)
    K = K.replace(x=[torch.rand(36, 2), None, torch.rand(K.count(2), 1)])
    order = {k: torch.randperm(n, generator=torch.manual_seed(k)) for k, n in enumerate(K.counts)}
    model = CellRegressor(dim=1, **QUICK).fit(K, y)
    found = model.predict(K.permute(order))
    np.testing.assert_allclose(found, model.predict(K)[order[1].numpy()], rtol=1e-3, atol=1e-4)


@settings(max_examples=15)
@given(st.sampled_from(["simplicial", "rings", "cubical"]), st.integers(0, 1000), st.booleans())
def test_reversed_cells(kind, seed, odd):
    """Numbers change sign with the orientation of their cells; classes do not depend on it."""
    random = torch.Generator().manual_seed(seed)
    K = KINDS[kind].bare()
    x = [torch.randn(n, 1 + k, generator=random) for k, n in enumerate(K.counts)]
    y = torch.randn(K.count(1), generator=random).numpy()
    masks = {k: torch.rand(K.count(k), generator=random) < 0.5 for k in (1, 2)}
    K = K.replace(x=x)
    L = K.flip(masks)
    if odd:
        model = CellRegressor(dim=1, oriented=True, **QUICK).fit(K, y)
        turned = np.where(masks[1].numpy(), -1, 1) * model.predict(L)
        assert np.abs(turned).max() > 1e-4
        np.testing.assert_allclose(turned, model.predict(K), rtol=1e-4, atol=1e-5)
    else:
        model = CellClassifier(dim=1, oriented=True, **QUICK).fit(K, y > 0)
        np.testing.assert_allclose(model.predict_proba(L), model.predict_proba(K), atol=1e-5)


def test_networks_of_the_test_kit():
    for kind in ("simplicial", "cell"):
        odd = CellNet(dim=1, oriented=True, odd=True).double()
        assert_orientation_equivariant(Listed(odd, dim=1), kind=kind)
        even = CellNet(dim=1, oriented=True).double()
        assert_orientation_invariant(Listed(even, dim=None), kind=kind)


@pytest.mark.parametrize("oriented", [False, True])
def test_networks_refuse_features_that_do_not_suit_them(oriented):
    K = mpsn.clique_complex(nx.karate_club_graph(), max_dim=2)
    net = CellNet(in_channels=(2, 0, 1), dim=1, oriented=oriented)
    xs = [torch.randn(34, 2), None, torch.randn(45, 1)]
    assert net(K, xs).shape == (78, 2)
    with pytest.raises(LayerError, match="features of the 45 2-cells, got none"):
        net(K, xs[:2])
    with pytest.raises(LayerError, match=r"0-cells of shape \(34, 2\)"):
        net(K, [torch.randn(34, 3), None, xs[2]])


class Listed(torch.nn.Module):
    """A network of cells in the form that the test kit takes: features of all dimensions."""

    def __init__(self, net, dim):
        super().__init__()
        self.net, self.given = net, dim
        self.in_channels, self.max_dim = 1, 2

    def forward(self, K, xs):
        out = self.net(K, xs)
        if self.given is None:
            return out.sum(dim=0, keepdim=True)
        return [torch.zeros(K.count(0), 1).double(), out, torch.zeros(K.count(2), 1).double()]


def test_flows_from_potentials():
    K = mpsn.clique_complex(nx.random_geometric_graph(80, 0.2, seed=3), max_dim=2).bare()
    potential = torch.linspace(0, 3, 80).sin()[:, None]
    flow = (K.boundary_matrix(1).T @ potential)[:, 0].numpy()
    K = K.replace(x=[potential])
    model = CellRegressor(dim=1, oriented=True, device="cpu").fit(K, half(flow, np.nan))
    assert model.score(K, flow) > 0.95
    blind = CellRegressor(dim=1, device="cpu", epochs=50).fit(K, half(flow, np.nan))
    assert blind.score(K, flow) < model.score(K, flow)


def test_double_precision_agrees():
    K, y = torus(6)
    model = CellClassifier(dim=1, **QUICK).fit(K, y)
    union = model._prepare([K], Notes(), model.features_, ())[0]
    with torch.no_grad():
        single = model.model_(union.union)
        double = model.model_.double()(union.union.replace(x=[x.double() for x in union.union.x]))
    torch.testing.assert_close(single, double.float(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("y", "numbers", "expected"),
    [
        ([0, -1, 2], False, [True, False, True]),
        ([0, -1, 2], True, [True, True, True]),
        ([0.0, np.nan, -1.0], False, [True, False, False]),
        ([0.0, np.nan, -1.0], True, [True, False, True]),
        (np.array(["a", None, np.nan], dtype=object), False, [True, False, False]),
        (["a", "-1"], False, [True, True]),
        ([True, False], False, [True, True]),
        ([[1.0, 2.0], [np.nan, np.nan]], True, [True, False]),
        (np.zeros((0, 2)), True, []),
    ],
)
def test_what_is_known(y, numbers, expected):
    assert known(np.asarray(y), numbers).tolist() == expected


def test_words_with_gaps_and_mappings():
    graph = nx.relabel_nodes(nx.karate_club_graph(), {v: f"n{v}" for v in range(34)})
    edges = [("n0", "n1"), ("n33", "n32"), ("n2", "n0")]
    model = CellClassifier(dim=1, **QUICK).fit(graph, dict(zip(edges, "aba", strict=True)))
    assert model.n_known_ == 3
    assert model.classes_.tolist() == ["a", "b"]
    assert ("n0", "n1") in model.cells(graph)
    assert 0 <= model.score(graph, {("n1", "n0"): "a", ("n2", "n3"): "c"}) <= 0.5  # no such class
    vertices = CellClassifier(**QUICK).fit(graph, {"n0": 1, ("n1",): 0})
    assert vertices.n_known_ == 2
    gaps = ["x", np.nan, None, "y"] + [None] * 30
    assert CellClassifier(**QUICK).fit(graph, gaps).classes_.tolist() == ["x", "y"]
    grid = nx.grid_2d_graph(3, 3)  # vertices that are tuples themselves
    assert CellRegressor(**QUICK).fit(grid, {(0, 0): 1.0, (2, 2): 0.0}).n_known_ == 2


@pytest.mark.parametrize(
    ("settings", "y", "message"),
    [
        ({}, [-1] * 4, "Expected some known targets y of cells of dimension 0, got none among 4"),
        ({}, [0, 1], r"Expected targets y of the 4 cells of dimension 0, one each, got shape"),
        ({}, {9: 1}, "Expected cells by their vertices"),
        ({}, [1, 1, -1, -1], "at least two classes"),
        ({"dim": 3}, [0, 1, 0, 1], "Expected 0 <= dim <= max_dim=2"),
        ({"class_weight": {7: 1.0}}, [0, 1, 0, 1], "class_weight"),
        ({"features": ["nothing"]}, [0, 1, 0, 1], "Expected the attribute"),
    ],
)
def test_refused(settings, y, message):
    K = mpsn.clique_complex(nx.cycle_graph(4))
    with pytest.raises(MPSNError, match=message):
        CellClassifier(**QUICK, **settings).fit(K, y)


def test_more_is_refused():
    K = mpsn.clique_complex(nx.cycle_graph(4))
    with pytest.raises(MPSNError, match="known or unknown as a whole"):
        CellRegressor(**QUICK).fit(K, [[1, np.nan], [1, 2], [0, 0], [3, 3]])
    with pytest.raises(MPSNError, match="infinity"):
        CellRegressor(**QUICK).fit(K, [1, np.inf, 0, 0])
    with pytest.raises(GraphError, match="got 2 complexes and targets for 1"):
        CellRegressor(**QUICK).fit([K, K], [[1, 2, 3, 4]])
    model = CellRegressor(dim=1, oriented=True, **QUICK)
    model.fit(K.replace(x=[None, torch.ones(4, 2)]), [1, 2, 3, 4])
    with pytest.raises(GraphError, match=r"x\[1\] of one width .* 2 as in the fit"):
        model.predict(K)
    weighted = nx.Graph([(0, 1, {"weight": 1.5}), (1, 2, {"weight": 2.0})])
    with pytest.warns(LeftOut, match="have no sign"):
        CellRegressor(dim=1, oriented=True, **QUICK).fit(weighted, [1.0, 2.0])


def test_files_resume_and_clone(tmp_path):
    from sklearn.base import clone

    K, y = torus(6)
    K = K.replace(x=[torch.rand(36, 1), torch.rand(K.count(1), 2)])
    for model in (
        CellClassifier(dim=1, class_weight={0: 1.0, 1: 2.0, 2: 1.0}, **QUICK),
        CellRegressor(dim=1, oriented=True, members=2, **QUICK),
    ):
        path = tmp_path / f"{type(model).__name__}.mpsn"
        model.fit(K, y, resume=path)
        model.save(path)
        loaded = load(path)
        assert type(loaded) is type(model)
        loaded.model_.cpu()
        np.testing.assert_array_equal(loaded.predict(K), model.predict(K))
        assert loaded.summary() == model.summary()
        assert loaded.get_params()["dim"] == 1
        assert loaded.get_params().get("class_weight") == model.get_params().get("class_weight")
        again = clone(model).fit(K, y, resume=path)  # all epochs are there already
        np.testing.assert_array_equal(again.predict(K), model.predict(K))
        assert again.histories_ == model.histories_
        with pytest.raises(FileError, match="got 'Cell"):
            SimplicialClassifier.load(path)
        for damage in ({"signs": [[-1.0]]}, {"histories": []}, {"targets": {"mean": [0.0]}}):
            with pytest.raises(FileError, match="damaged"):
                load(_damaged(path, tmp_path / "damaged.mpsn", damage))
    with pytest.raises(FileError, match="lift by name"):
        CellClassifier(lift=mpsn.clique_complex, **QUICK).fit(K, [0, 1] * 18).save(path)


def _damaged(path, target, state):
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files}
    meta = json.loads(str(arrays.pop("meta")))
    meta["state"] |= state
    with target.open("wb") as file:
        np.savez(file, meta=np.array(json.dumps(meta)), **arrays)
    return target


def test_explanations_end_where_messages_do():
    K = mpsn.clique_complex(nx.path_graph(12)).replace(x=[torch.rand(12, 1)])
    model = CellRegressor(dim=1, layers=1, **QUICK).fit(K, np.arange(11.0))
    found = model.explain(K, (4, 3))
    near = found.contributions[0].abs() > 0
    assert near.nonzero()[:, 0].tolist() == [3, 4]
    assert found.output == pytest.approx(model.predict(K)[3], rel=1e-4)
    assert found.contributions[1].abs()[[0, 1, 6, 7, 8, 9, 10]].max() == 0
    signed = CellRegressor(dim=1, oriented=True, **QUICK)
    signed.fit(K.replace(x=[None, torch.rand(11, 1)]), np.arange(11.0))
    assert "x[1].0" in signed.explain(K.replace(x=[None, torch.rand(11, 1)]), 0).features
    with pytest.raises(GraphError, match="from 0 to 10"):
        model.explain(K, 11)


def test_progress_and_hypergraphs(capsys):
    xgi = pytest.importorskip("xgi")
    H = xgi.Hypergraph([["a", "b", "c"], ["c", "d"], ["d", "e", "f"]])
    K = mpsn.SimplicialComplex.from_xgi(H)
    assert K.counts == (6, 7, 2)
    model = CellClassifier(dim=2, **QUICK, verbose=True)
    model.fit(K, {("a", "b", "c"): "left", ("f", "d", "e"): "right"})
    assert "network 1 of 1" in capsys.readouterr().err
    assert set(model.predict(K)) <= {"left", "right"}


@pytest.mark.parametrize("kind", [np.asarray, torch.from_numpy])
def test_one_cloud_of_points_needs_no_list(kind):
    points = kind(np.random.default_rng(0).random((12, 2)))
    model = CellClassifier(lift="alpha", **QUICK).fit(points, [0, 1] * 6)
    assert model.predict(points).tolist() == model.predict([points])[0].tolist()
    with pytest.raises(GraphError, match="put it into a list"):
        mpsn.estimators.SimplicialClassifier(lift="alpha").fit(points, [0, 1] * 6)


def test_a_cell_twice_and_several_complexes_are_refused():
    graph = nx.complete_graph(4)
    model = CellClassifier(dim=1, epochs=1)
    with pytest.raises(GraphError, match=r"each cell once in y, got \(0, 1\) and \(1, 0\)"):
        model.fit(graph, {(0, 1): "a", (0, 2): "b", (1, 0): "b"})
    model.fit(graph, {(0, 1): "a", (0, 2): "b"})
    with pytest.raises(GraphError, match="one complex or graph, got several"):
        model.explain([graph, graph], 0)
