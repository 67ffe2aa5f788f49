"""What the estimators do with the data they are given: use it, or say that they do not."""

import json
import warnings

import networkx as nx
import numpy as np
import pytest
import scipy.sparse
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Data
from torch_geometric.utils import from_networkx

import mpsn
from mpsn.errors import GraphError, LeftOut
from mpsn.estimators import SimplicialClassifier, load
from mpsn.estimators._columns import Column, learn
from mpsn.estimators._given import Notes
from mpsn.estimators._inputs import prepare

QUICK = {"hidden": 8, "epochs": 1, "device": "cpu", "members": 1}


def fitted(graphs, **settings):
    y = np.arange(len(graphs)) % 2
    return SimplicialClassifier(**{**QUICK, **settings}).fit(graphs, y)


def painted(seed, vertices=None, edges=None, kind=nx.Graph):
    """Return a random graph whose vertices and edges have attributes."""
    graph = kind(nx.gnp_random_graph(6, 0.5, seed=seed))
    for v in graph:
        graph.nodes[v].update({name: value(v) for name, value in (vertices or {}).items()})
    for *ends, data in graph.edges(data=True):
        data.update({name: value(*ends) for name, value in (edges or {}).items()})
    return graph


def features(model, k):
    return [column.name for column in model.features_.columns[k]]


def column(model, name, k=0):
    return next(c for c in model.features_.columns[k] if c.name == name)


def said(function, *matches):
    """Return what a call returns, which must warn once for each of the matches, and of no more."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        out = function()
    texts = [str(w.message) for w in caught]
    assert all(w.category is LeftOut for w in caught)
    assert len(texts) == len(matches), texts
    for match in matches:
        assert any(match in text for text in texts), texts
    return out


def test_attributes_join_the_structure():
    values = {"color": lambda v: "red" if v % 2 else "blue", "mass": lambda v: v / 3}
    model = fitted([painted(i, values) for i in range(4)])
    assert features(model, 0) == ["color", "mass", "degree"]
    mass = [v / 3 for v in range(6)]
    assert column(model, "mass").mean == pytest.approx(np.mean(mass))
    assert column(model, "mass").scale == pytest.approx(np.std(mass))
    assert column(model, "color").kinds == ("blue", "red")
    data = [from_networkx(nx.star_graph(3)) for _ in range(4)]
    for item in data:
        item.x = torch.tensor([[0.0, 5], [1, 6], [0, 7], [0, 7]])
    assert features(fitted(data), 0) == ["x.0", "x.1", "degree"]
    assert column(fitted(data), "x.0") == Column("x.0")  # 0 and 1 stay
    big = [nx.star_graph(n) for n in range(1, 140)]  # too many degrees for a feature each
    model = fitted([*big, nx.path_graph(4)])
    assert features(model, 0) == ["constant", "degree"]
    assert not column(model, "degree").kinds


@pytest.mark.parametrize(
    ("values", "kinds"),
    [
        (range(100), False),
        ([18, 25, 31, 47] * 5, True),
        ([True, False], True),
        (range(40, 60), False),
        (range(16), True),
    ],
)
def test_many_integers_are_numbers(values, kinds):
    found = learn("age", np.array(list(values), dtype=object), "age", None, False)
    assert bool(found.kinds) == kinds


def test_codes_in_matrices_are_kinds_and_ages_are_not():
    codes = np.arange(37)  # the labels of a TU set, of atoms in a molecule
    assert len(learn("x.0", codes, "x", None, False).kinds) == 37
    assert not learn("x.0", codes + 18, "x", None, False).kinds
    assert not learn("x.0", codes.astype(float), "x", None, False).kinds


def test_the_user_says_what_is_a_number():
    graphs = [painted(i, {"age": lambda v: v, "size": lambda v: v}) for i in range(4)]
    assert column(fitted(graphs), "age").kinds == tuple(range(6))
    model = fitted(graphs, features={"age": "number"})
    assert not column(model, "age").kinds
    assert column(model, "size").kinds == tuple(range(6))
    assert features(model, 0) == ["age", "size", "degree"]
    floats = [painted(i, {"code": lambda v: v / 2}) for i in range(4)]
    model = fitted(floats, features={"code": "category"})
    assert column(model, "code").kinds == (0.0, 0.5, 1.0, 1.5, 2.0, 2.5)
    data = [Data(x=torch.tensor([[3, 5], [4, 5]]), edge_index=torch.tensor([[0, 1], [1, 0]]))] * 4
    assert column(fitted(data, features={"x": "number"}), "x.0").scale == 0.5
    words = [painted(i, {"code": lambda v: f"{v}"}) for i in range(4)]
    for wrong, wish, match in [
        (words, {"code": "number"}, "Expected numbers in 'code' of vertices, got '0'"),
        (words, {"cod": "number"}, "Did you mean code?"),
        (words, {"code": "color"}, "as 'number' or 'category', got 'color'"),
        (
            words,
            ["weight"],
            r"attribute 'weight' in the graphs, got none\. (Did .*\? )?There are: ",
        ),
        (words, "code", r"write \['code'\]"),
    ]:
        with pytest.raises(GraphError, match=match):
            fitted(wrong, features=wish)


def test_only_what_is_asked_for():
    values = {"color": lambda v: "red" if v % 2 else "blue", "mass": lambda v: v / 3}
    edges = {"weight": lambda u, v: u + v / 7}
    graphs = [painted(i, values, edges) for i in range(4)]
    for wish, found in [
        (["mass"], [["mass"], [], []]),
        (["mass", "degree", "weight"], [["mass", "degree"], ["weight"], []]),
        (["weight"], [["constant"], ["weight"], []]),
        ("degree", [["degree"], [], []]),
        ("constant", [["constant"], [], []]),
    ]:
        model = fitted(graphs, features=wish)
        assert [features(model, k) for k in range(3)] == found
    assert fitted(graphs, features="constant").n_features_in_ == 1


def test_numbers_are_standardized_whatever_they_are():
    def encoded(values, dtype=None):
        array = np.array(values, dtype=dtype or object)
        found = learn("a", array, "a", "number", True)
        json.dumps([found.mean, found.scale], allow_nan=False)
        return found.encode(array, "a", Notes())[:, 0]

    assert encoded([3.7, 3.7, 3.7]).tolist() == [0, 0, 0]
    noise = [0.3, 0.1 + 0.2, 0.3]  # not the same to the last bit
    assert encoded(noise).tolist() == [0, 0, 0]
    assert learn("a", np.array(noise, dtype=object), "a", None, False) == "constant"
    assert encoded(np.float32([1e9, 1e9 + 64, 1e9]), np.float32).tolist() == [0, 0, 0]
    times = encoded([1.6e9 + i for i in range(8)])  # differences far below the size
    np.testing.assert_allclose([times.mean(), times.std()], [0, 1], atol=1e-6)
    outlier = encoded([1.0, 2.0, 3.0, 4.0, 5.0, 1e12])
    assert np.diff(outlier).min() > 0.1  # still told apart
    assert outlier[-1] < 1000
    huge = encoded([1.7e308, -1.7e308, 0.0, 5e-324, 1.0])
    assert np.isfinite(huge).all()
    with pytest.raises(GraphError, match="finite numbers"):
        encoded([1.0, float("inf")])


def test_missing_values_are_kept_and_marked():
    """An attribute that one vertex lacks used to be dropped."""
    graphs = [
        painted(i, {"mass": lambda v: float(v), "color": lambda v: "rg"[v % 2]}) for i in range(4)
    ]
    del graphs[0].nodes[2]["mass"], graphs[1].nodes[3]["color"]
    graphs[2].nodes[0]["mass"] = float("nan")
    model = said(lambda: fitted(graphs))
    assert column(model, "mass").missing
    assert column(model, "mass").width == 2
    assert column(model, "color").width == 3
    (K,) = prepare(graphs[:1], 2, model.features_)[0]
    assert features(model, 0)[:2] == ["color", "mass"]
    assert K.x[0][2, 3:5].tolist() == [0, 1]  # the mean, and missing
    assert K.x[0][1, 4] == 0
    (K,) = prepare(graphs[1:2], 2, model.features_)[0]
    assert K.x[0][3, :3].tolist() == [0, 0, 1]
    one = painted(9, {"color": lambda v: "r"})  # a whole graph without
    assert said(lambda: model.predict([one])).shape == (1,)
    # missing only later
    whole = fitted([painted(i, {"mass": lambda v: float(v)}) for i in range(4)])
    said(
        lambda: whole.predict(graphs[:1]),
        "missing values of 'mass' of vertices (1): the fit had none",
        "values of 'color' of vertices (6): the fit had no such attribute",
    )
    with pytest.raises(
        GraphError, match="attribute 'mass' of vertices, as in the fit, in all graphs, got graph 1"
    ):
        whole.predict([graphs[3], nx.path_graph(3)])


def test_kinds_and_degrees_not_seen_in_the_fit():
    model = fitted([painted(i, {"color": lambda v: "rg"[v % 2]}) for i in range(4)])
    blue = painted(9, {"color": lambda v: "b" if v < 2 else "r"})
    said(
        lambda: model.predict([blue]),
        "values of 'color' of vertices (2): not seen in the fit, such as 'b'",
    )
    many = [painted(9, {"color": lambda v: "b"})] * 1500  # in two parts
    said(lambda: model.predict_proba(many), "vertices (9,000): not seen")
    (K,) = prepare([blue], 2, model.features_)[0]
    assert not K.x[0][:2, :2].any()
    plain = fitted([nx.path_graph(4), nx.cycle_graph(5)] * 4)
    assert column(plain, "degree").kinds == (1, 2)
    (star,) = prepare([nx.star_graph(7)], 2, plain.features_)[0]
    assert star.x[0].tolist() == [[0, 1], *[[1, 0]] * 7]  # degree 7 counts as 2
    assert said(lambda: plain.predict([nx.star_graph(7)])).shape == (1,)


def weighted(seed, how):
    """Return a graph with weights on its edges, as people have it."""
    graph = painted(seed, edges={"weight": lambda u, v: (3 * u + v) / 5})
    if how == "networkx":
        return graph
    if how == "scipy":
        return nx.to_scipy_sparse_array(graph)
    data = Data(edge_index=from_networkx(graph).edge_index, num_nodes=6)
    weights = torch.tensor([graph.edges[u, v]["weight"] for u, v in data.edge_index.T.tolist()])
    if how == "edge_weight":
        data.edge_weight = weights
    else:
        data.edge_attr = weights[:, None]
    if how == "complex":
        return mpsn.clique_complex(data)
    return data


@pytest.mark.parametrize(
    ("how", "name"),
    [
        ("networkx", "weight"),
        ("scipy", "weight"),
        ("edge_weight", "edge_weight.0"),
        ("edge_attr", "edge_attr.0"),
        ("complex", "edge_attr.0"),
    ],
)
def test_attributes_of_edges_are_used(how, name):
    graphs = [weighted(i, how) for i in range(6)]
    model = said(lambda: fitted(graphs))
    assert features(model, 1) == [name]
    K = mpsn.clique_complex(weighted(3, "networkx"))
    (got,) = prepare(graphs[3:4], 2, model.features_)[0]
    right = weighted(3, "networkx").edges
    raw = torch.tensor([right[u, v]["weight"] for u, v in K.simplices(1).tolist()])
    rule = column(model, name, 1)
    torch.testing.assert_close(got.x[1][:, -1], (raw - rule.mean) / rule.scale)
    torch.testing.assert_close(got.x[1][:, :-1], got.x[0][K.simplices(1)].mean(dim=1))
    assert model.model_.members[0].in_channels == model.features_.widths
    # and they change the prediction
    other = weighted(3, "networkx")
    for *_, data in other.edges(data=True):
        data["weight"] += 3
    if how == "networkx":
        assert (model.predict_proba([other]) != model.predict_proba(graphs[3:4])).any()


def test_vertices_hear_of_the_features_of_their_edges():
    graphs = [painted(i, edges={"bond": lambda u, v: "ab"[(u + v) % 2]}) for i in range(6)]
    assert fitted(graphs).model_.members[0].settings["coface_message"]
    assert not fitted([nx.path_graph(3)] * 4).model_.members[0].settings["coface_message"]


def test_features_of_triangles_are_used():
    def dressed(seed):
        K = mpsn.clique_complex(nx.gnp_random_graph(7, 0.7, seed=seed))
        g = torch.Generator().manual_seed(seed)
        widths = (2, 0, 3)
        x = [
            torch.randn(n, w, generator=g) if w else None
            for n, w in zip(K.counts, widths, strict=True)
        ]
        return K.replace(x=x)

    Ks = [dressed(i) for i in range(4)]
    model = said(lambda: fitted(Ks))
    assert features(model, 0) == ["x.0", "x.1", "degree"]
    assert features(model, 2) == ["x[2].0", "x[2].1", "x[2].2"]
    (K,) = prepare(Ks[:1], 2, model.features_)[0]
    scale = torch.tensor([(c.mean, c.scale) for c in model.features_.columns[2]])
    torch.testing.assert_close(K.x[2][:, -3:], (Ks[0].x[2] - scale[:, 0]) / scale[:, 1])
    # those that only repeat the vertices add nothing
    for how in ("sum", "mean"):
        lifted = [mpsn.lift_features(K.replace(x=K.x[:1]), how) for K in Ks]
        assert [features(fitted(lifted), k) for k in (1, 2)] == [[], []]
    # but where the fit had others, they are read, whatever they are
    zero = Ks[0].replace(x=[None if x is None else 0 * x for x in Ks[0].x])
    level = [K.replace(x=[K.x[2][:1].repeat(7, 1), None, K.x[2]]) for K in Ks]
    assert fitted(level).predict([zero.replace(x=[torch.zeros(7, 3), None, zero.x[2]])]).shape == (
        1,
    )
    deep = mpsn.clique_complex(nx.complete_graph(5), max_dim=3)
    said(lambda: fitted([deep] * 4), "cells of higher dimension (20): max_dim is 2")


def test_codes_of_every_dimension_are_kinds():
    """As molecules have them: small integers on atoms, bonds and rings."""
    K = mpsn.clique_complex(nx.complete_graph(6))
    Ks = [K.replace(x=[torch.arange(2 * n).view(n, 2) % 5 for n in K.counts]) for _ in range(4)]
    model = fitted(Ks)
    for k in range(3):
        given = [c for c in model.features_.columns[k] if c.name != "degree"]
        assert [c.kinds for c in given] == [tuple(range(5))] * 2
    assert model.features_.widths[1:] == (model.n_features_in_ + 10,) * 2


def test_directions_are_used_and_what_is_lost_is_said():
    """A star pointing out, and one pointing in, were the same."""
    out, into = nx.DiGraph([(0, i) for i in (1, 2, 3)]), nx.DiGraph([(i, 0) for i in (1, 2, 3)])
    model = said(
        lambda: fitted([out, into] * 3), "edges with a direction (18): used for out-degrees"
    )
    assert features(model, 0) == ["degree", "out_degree"]
    assert features(model, 1) == []  # no edge goes both ways
    assert (model.predict_proba([out]) != model.predict_proba([into])).any()
    mixed = nx.DiGraph([(0, 1), (1, 0), (1, 2)])
    model = said(lambda: fitted([mixed] * 4), "edges with a direction (4)")
    assert features(model, 1) == ["both_ways"]
    (K,) = prepare([mixed], 2, model.features_)[0]
    assert K.x[1][:, -1].tolist() == [1, 0]
    assert K.x[0][:, -1].argmin() == 2
    # the same as PyG lists it
    data = said(lambda: fitted([from_networkx(mixed)] * 4), "edges with a direction (4)")
    assert data.features_.columns == model.features_.columns
    plain = fitted([nx.path_graph(3), nx.path_graph(4)] * 2)
    said(lambda: plain.predict([out]), "edges with a direction (3): the features have none")
    said(lambda: plain.predict([nx.DiGraph([(0, 1), (1, 0)])]))


def test_edges_listed_once_are_undirected():
    once = Data(edge_index=torch.tensor([[0, 1, 2], [1, 2, 3]]), num_nodes=4)
    model = said(
        lambda: fitted([once] * 4), "edges listed in one direction (12): taken as undirected"
    )
    assert features(model, 0) == ["degree"]
    said(lambda: fitted([(once.edge_index, 4)] * 4))  # pairs are lists of edges
    upper = scipy.sparse.triu(nx.to_scipy_sparse_array(nx.path_graph(4)))
    said(lambda: fitted([upper] * 4), "edges listed in one direction (12)")


def test_multiple_edges_count():
    graphs = [nx.MultiGraph([(0, 1)] * (1 + i % 2) + [(1, 2)]) for i in range(6)]
    model = said(lambda: fitted(graphs))
    assert features(model, 1) == ["multiplicity"]
    (K,) = prepare(graphs[1:2], 2, model.features_)[0]
    assert K.x[1][0, -1] > K.x[1][1, -1]
    plain = fitted([nx.path_graph(3), nx.path_graph(4)] * 2)
    said(lambda: plain.predict(graphs[:2]), "multiple edges (1): each counts once")


def test_different_values_of_one_edge():
    """PyG lists an edge in each direction; the attribute of one of them was kept."""
    ends = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    data = [
        Data(edge_index=ends, num_nodes=3, edge_attr=torch.tensor([1.0, 3, i, i])) for i in (0, 4)
    ]
    model = said(lambda: fitted(data * 2), "edges with several different values (4)")
    rule = column(model, "edge_attr.0", 1)
    (K,) = prepare(data[:1], 2, model.features_)[0]
    np.testing.assert_allclose(
        K.x[1][:, -1], (np.array([2.0, 0]) - rule.mean) / rule.scale, rtol=1e-5
    )
    for lift in (mpsn.clique_complex, mpsn.SimplicialComplex.from_graph):
        K = said(lambda lift=lift: lift(data[0]), "different values (1): that of the first listing")
        assert K.x[1].tolist() == [[1], [0]]
    same = Data(edge_index=ends, num_nodes=3, edge_attr=torch.tensor([1.0, 1, 2, 2]))
    said(lambda: mpsn.clique_complex(same))


def test_what_cannot_be_used_is_said():
    graphs = [
        painted(i, {"name": lambda v, i=i: f"{i} {v}", "tag": lambda v: {"a": v}})
        for i in range(20)
    ]
    graphs[0].add_edge(0, 0)
    model = said(
        lambda: fitted(graphs),
        "values of 'name' of vertices (120): 120 different words, taken for names",
        "values of 'tag' of vertices (120): neither numbers nor words",
        "self-loops (1): the vertices of a simplex are distinct",
    )
    for part in ("120 different words", "neither numbers nor words", "self-loops (1)"):
        assert part in model.summary()
    data = [from_networkx(nx.path_graph(3)) for _ in range(4)]
    for item in data:
        item.pos = torch.zeros(3, 2)
    said(lambda: fitted(data), "graphs with 'pos' (4): only x, edge_attr and edge_weight are used")
    with pytest.raises(
        GraphError, match=r"Expected 'x' of one width in all graphs, got widths 1 and 2"
    ):
        fitted([Data(x=torch.ones(2, w), edge_index=torch.zeros(2, 0).long()) for w in (1, 2)])


def test_the_summary_lists_the_features_of_each_dimension():
    graphs = [
        painted(i, {"age": lambda v: v / 2, "unit": lambda v: "m"}, {"w": lambda u, v: "ab"[u % 2]})
        for i in range(4)
    ]
    text = fitted(graphs).summary()
    assert "vertices         age (a number), degree (one-hot" in text
    assert "edges            the mean over vertices, w (one-hot, 2 kinds)" in text
    assert "2-cells          the mean over vertices\n" in text
    assert "constant         'unit' of vertices; not used" in text


def test_lists_of_numbers_are_matrices():
    graphs = [
        painted(i, {"pos": lambda v: [v / 2, v**2 / 3], "gap": lambda v: np.array([v / 3])})
        for i in range(4)
    ]
    del graphs[0].nodes[0]["pos"]
    model = said(lambda: fitted(graphs))
    assert features(model, 0) == ["gap.0", "pos.0", "pos.1", "degree"]
    assert column(model, "pos.1").missing


def test_a_model_file_holds_the_encoding(tmp_path):
    values = {"color": lambda v: "rg"[v % 2], "mass": lambda v: v / 3}
    graphs = [
        painted(i, values, {"weight": lambda u, v: u - v / 3, "bond": lambda u, v: u % 2})
        for i in range(6)
    ]
    del graphs[0].nodes[0]["mass"]
    model = fitted(graphs, features={"bond": "number"})
    model.save(tmp_path / "m.mpsn")
    loaded = load(tmp_path / "m.mpsn")
    assert loaded.features_ == model.features_
    assert loaded.features == {"bond": "number"}
    assert loaded.summary() == model.summary()
    assert (loaded.predict_proba(graphs) == model.predict_proba(graphs)).all()
    assert loaded.explain(graphs[0]).complex == model.explain(graphs[0]).complex


ATTRIBUTES = st.fixed_dictionaries(
    {},
    optional={
        "number": st.floats(-1e6, 1e6),
        "many": st.integers(-100, 100),
        "word": st.sampled_from("abc"),
        "mixed": st.sampled_from(["a", 1, True, None]),
        "vector": st.lists(st.floats(-5, 5), min_size=2, max_size=2),
    },
)


@st.composite
def collections(draw):
    graphs = []
    for _ in range(draw(st.integers(1, 4))):
        kind = draw(st.sampled_from([nx.Graph, nx.DiGraph, nx.MultiDiGraph]))
        n = draw(st.integers(1, 5))
        graph = kind()
        for v in range(n):
            graph.add_node(v, **draw(ATTRIBUTES))
        ends = st.tuples(st.integers(0, n - 1), st.integers(0, n - 1))
        for u, v in draw(st.lists(ends, max_size=8)):
            graph.add_edge(u, v, **draw(ATTRIBUTES))
        graphs.append(graph)
    return graphs


def shuffled(graph, order):
    out = type(graph)()
    out.add_nodes_from((v, graph.nodes[v]) for v in order)
    out.add_edges_from(list(graph.edges(data=True))[::-1])
    return out


@settings(max_examples=60)
@given(graphs=collections(), data=st.data())
def test_the_order_of_graphs_and_vertices_does_not_matter(graphs, data):
    try:
        whole, encoding = prepare(graphs, 2)
    except GraphError:
        return  # vectors and single values under one name
    again, _ = prepare(graphs, 2, encoding)  # as in the fit
    for x, same in zip(whole.union.x, again.union.x, strict=True):
        assert torch.equal(x, same)
    order = data.draw(st.permutations(range(len(graphs))))
    orders = [data.draw(st.permutations(list(graph))) for graph in graphs]
    moved, other = prepare([shuffled(graphs[i], orders[i]) for i in order], 2)
    assert other.columns == encoding.columns
    assert sorted(other.left_out) == sorted(encoding.left_out)
    for i, K in zip(order, moved, strict=True):
        right = whole[i]
        for k, x in enumerate(K.x):
            named = [frozenset(orders[i][v] for v in cell) for cell in K.simplices(k).tolist()]
            rows = {
                frozenset(cell): row
                for cell, row in zip(right.simplices(k).tolist(), right.x[k], strict=True)
            }
            assert len(rows) == len(x)
            for name, row in zip(named, x, strict=True):
                torch.testing.assert_close(row, rows[name], atol=1e-5, rtol=1e-5)
