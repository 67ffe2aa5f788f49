"""Will these vertices form a simplex? Candidates, counterexamples, and that nothing leaks."""

from itertools import combinations

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

import mpsn
from mpsn.errors import ComplexError, FileError, MPSNError
from mpsn.estimators import SimplexPredictor, _simplices, load
from mpsn.estimators._candidates import draw_missing, faces_of, find_simplices
from mpsn.testing import complexes

QUICK = {"hidden": 8, "epochs": 3, "device": "cpu"}


def closing(n=150, seed=0):
    """Return a complex, and triangles: closed if most of their vertices have large features."""
    K = mpsn.clique_complex(nx.random_geometric_graph(n, 0.2, seed=seed), max_dim=2).bare()
    x = torch.rand(n, 1, generator=torch.Generator().manual_seed(seed))
    triangles = K.simplices(2)
    closed = (x[triangles, 0] > 0.5).sum(dim=1) >= 2
    every = {k: torch.arange(K.count(k)) for k in (0, 1)}
    return K.subcomplex({**every, 2: closed}).replace(x=[x]), triangles, closed


@given(complexes(max_vertices=6, max_dim=3), st.integers(0, 3), st.data())
def test_simplices_are_found(K, dim, data):
    if K.num_nodes <= dim:
        return
    choice = st.lists(
        st.integers(0, K.num_nodes - 1), min_size=dim + 1, max_size=dim + 1, unique=True
    )
    rows = sorted(map(sorted, data.draw(st.lists(choice, min_size=1, max_size=8))))
    there = {tuple(row): i for i, row in enumerate(K.simplices(dim).tolist())}
    found = find_simplices(K, torch.tensor(rows)).tolist()
    assert found == [there.get(tuple(row), -1) for row in rows]


@given(complexes(max_vertices=6, max_dim=3), st.integers(1, 3), st.integers(1, 30))
def test_counterexamples_are_missing_and_open_ones_first(K, dim, many):
    if not K.count(dim):
        return
    rows, is_open = draw_missing(K, dim, many, torch.Generator().manual_seed(0))
    assert len({tuple(row) for row in rows.tolist()}) == len(rows) <= many
    assert bool((rows.diff(dim=1) > 0).all())
    assert bool((find_simplices(K, rows) < 0).all())
    whole = (faces_of(K, rows)[-1] >= 0).all(dim=1)
    assert bool(whole[:is_open].all())
    sets = {frozenset(s) for s in K.to_simplices()}
    graph = K.to_networkx()
    cliques = (frozenset(c) for c in nx.enumerate_all_cliques(graph) if len(c) == dim + 1)
    expected = [
        c
        for c in cliques
        if c not in sets and all(frozenset(f) in sets for f in combinations(c, dim))
    ]
    if dim > 1:
        assert is_open == min(many, len(expected))


def test_triangles_that_close():
    K, triangles, closed = closing()
    test = torch.rand(K.count(2), generator=torch.Generator().manual_seed(1)) < 0.2
    every = {k: torch.arange(K.count(k)) for k in (0, 1)}
    shown = K.subcomplex({**every, 2: ~test})
    model = SimplexPredictor(epochs=40, device="cpu").fit(shown)
    positives, negatives = K.simplices(2)[test], triangles[~closed]
    candidates = torch.cat([positives, negatives])
    truth = [1] * len(positives) + [0] * len(negatives)
    chances = model.predict_proba(candidates)
    assert roc_auc_score(truth, chances[:, 1]) > 0.95
    assert model.auc_ > 0.85
    turned = candidates[:, [2, 0, 1]].numpy()
    np.testing.assert_allclose(model.predict_proba(turned), chances, atol=1e-6)
    assert model.score(candidates, np.array(truth) == 1) > 0.8
    assert f"{K.count(2) - int(test.sum()):,} simplices" in model.summary()


@pytest.mark.parametrize("dim", [1, 2])
def test_no_network_sees_what_it_predicts(monkeypatch, dim):
    """Each simplex is predicted on a complex without it, and every other one is there for it."""
    K = mpsn.clique_complex(nx.random_geometric_graph(40, 0.35, seed=2), max_dim=dim).bare()
    seen = []

    class Spy(_simplices.OnCandidates):
        def __init__(self, complexes, *args):
            super().__init__(complexes, *args)
            seen.append(self)

        def __call__(self, network, index):
            for f in torch.unique(self.fold[index]).tolist():
                L = self.complexes[f]
                corners = self.faces[0][index[self.fold[index] == f]]  # the vertices
                assert bool((find_simplices(L, corners) < 0).all())
            return super().__call__(network, index)

    monkeypatch.setattr(_simplices, "OnCandidates", Spy)
    SimplexPredictor(dim=dim, **QUICK).fit(K)
    (spy,) = seen
    hidden = [K.count(dim) - L.count(dim) for L in spy.complexes]
    assert min(hidden) > 0
    assert sum(hidden) == K.count(dim)
    assert all(L.count(k) == K.count(k) for L in spy.complexes for k in range(dim))


def test_degrees_do_not_tell_of_hidden_edges():
    K = mpsn.SimplicialComplex.from_graph(nx.star_graph(8))
    hidden = torch.arange(8) == 3
    data, _ = _simplices.prepare([_simplices.without(K, 1, hidden)], 1)
    degree_of_leaf, degree_of_hidden = data.union.x[0][1], data.union.x[0][4]
    assert not torch.equal(degree_of_leaf, degree_of_hidden)


def test_files_names_and_faces_that_are_missing(tmp_path):
    K, _, _ = closing(40)
    named = K.replace(vertex_labels=[f"v{i}" for i in range(40)])
    model = SimplexPredictor(**QUICK).fit(named)
    model.save(tmp_path / "model.mpsn")
    loaded = load(tmp_path / "model.mpsn")
    loaded.model_.cpu()
    candidates = [["v0", "v1", "v2"], ["v3", "v39", "v7"]]  # most of their edges are not there
    np.testing.assert_array_equal(loaded.predict_proba(candidates), model.predict_proba(candidates))
    assert loaded.summary() == model.summary()
    assert loaded.predict(candidates).dtype == bool
    assert model.predict_proba(np.zeros((0, 3), str)).shape == (0, 2)
    with pytest.raises(ComplexError, match="rows of vertices"):
        model.predict([["v0", "v1", "who"]])
    with pytest.raises(FileError, match="got 'SimplexPredictor'"):
        mpsn.estimators.CellClassifier.load(tmp_path / "model.mpsn")


def test_refused():
    K, _, _ = closing(40)
    model = SimplexPredictor(**QUICK).fit(K)
    for wrong in ([[0, 1]], [[0, 1, 1]], [[0, 1, 40]], [[-1, 0, 1]], [[0.5, 1, 2]]):
        with pytest.raises(ComplexError, match="Expected"):
            model.predict(wrong)
    with pytest.raises(ComplexError, match="Expected one SimplicialComplex, got Graph"):
        SimplexPredictor().fit(nx.path_graph(3))
    with pytest.raises(ComplexError, match="at least two simplices of dimension 2"):
        SimplexPredictor().fit(mpsn.clique_complex(nx.path_graph(3)))
    with pytest.raises(MPSNError, match="got all of them"):
        SimplexPredictor(**QUICK).fit(mpsn.clique_complex(nx.complete_graph(5)))


def test_names_of_any_kind():
    graph = nx.grid_2d_graph(4, 4)
    graph.add_edges_from([((i, j), (i + 1, j + 1)) for i in range(3) for j in range(3)])
    graph = nx.relabel_nodes(graph, {(3, 3): "corner", (3, 2): 7})
    model = SimplexPredictor(epochs=1).fit(mpsn.clique_complex(graph))
    found = model.predict_proba([[(0, 0), (0, 1), (1, 1)], [7, "corner", (2, 2)]])
    number = {name: i for i, name in enumerate(graph)}
    plain = SimplexPredictor(epochs=1).fit(
        mpsn.clique_complex(nx.relabel_nodes(graph, number, copy=True))
    )
    rows = [[number[0, 0], number[0, 1], number[1, 1]], [number[7], number["corner"], number[2, 2]]]
    assert np.allclose(found, plain.predict_proba(rows))
    assert model.predict(np.zeros((0, 3), int)).shape == (0,)
    with pytest.raises(ComplexError, match="rows of vertices of the complex"):
        model.predict([[(0, 0), (0, 1), "nobody"]])
