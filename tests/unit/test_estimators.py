"""The estimators as a user meets them: any kind of graph in, sound predictions out."""

import copy
import gc
import weakref

import networkx as nx
import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score
from torch_geometric.utils import from_networkx

import mpsn
from mpsn.errors import FileError, GraphError, LayerError, MPSNError
from mpsn.estimators import EdgeFlowClassifier, SimplicialClassifier, SimplicialRegressor, load
from mpsn.estimators import _inputs as inputs
from mpsn.estimators._explain import without
from mpsn.estimators._trained import WARMUP
from mpsn.training._splits import hold_out

GRAPHS = [nx.gnp_random_graph(10, p, seed=i) for i in range(15) for p in (0.2, 0.6)]
NAMES = ["thin", "thick"] * 15
EDGES = [graph.number_of_edges() for graph in GRAPHS]
QUICK = {"hidden": 8, "epochs": 12, "device": "cpu", "members": 1}


@pytest.fixture(scope="module")
def model():
    return SimplicialClassifier(**QUICK).fit(GRAPHS, NAMES)


def test_classes_are_learned(model):
    assert model.classes_.tolist() == ["thick", "thin"]
    assert model.score(GRAPHS, NAMES) > 0.9
    chances = model.predict_proba(GRAPHS)
    assert chances.shape == (30, 2)
    np.testing.assert_allclose(chances.sum(axis=1), 1, rtol=1e-5)
    assert (model.classes_[chances.argmax(axis=1)] == model.predict(GRAPHS)).all()
    assert model.predict([]).shape == (0,)
    new = [nx.gnp_random_graph(10, p, seed=99) for p in (0.2, 0.6)]
    assert model.predict(new).tolist() == ["thin", "thick"]


def test_every_kind_of_graph_gives_the_same(model, tmp_path):
    graph = GRAPHS[3]
    nx.write_graphml(graph, tmp_path / "graph.graphml")
    nx.write_graph6(graph, tmp_path / "graph.g6")
    kinds = [
        graph,
        from_networkx(graph),
        mpsn.clique_complex(graph, 2),
        nx.to_scipy_sparse_array(graph),
        tmp_path / "graph.graphml",
        str(tmp_path / "graph.g6"),
    ]
    chances = model.predict_proba(kinds)
    np.testing.assert_allclose(chances, chances[:1].repeat(len(kinds), axis=0), rtol=1e-5)
    packed = mpsn.clique_complexes(GRAPHS, 2)
    np.testing.assert_allclose(model.predict_proba(packed), model.predict_proba(GRAPHS), rtol=1e-4)


def test_predictions_do_not_depend_on_the_company_of_a_graph(model):
    together = model.predict_proba(iter(GRAPHS))
    alone = np.concatenate([model.predict_proba([graph]) for graph in GRAPHS])
    np.testing.assert_allclose(together, alone, rtol=1e-3, atol=1e-6)


def test_graphs_of_a_stream_are_let_go(model, monkeypatch):
    monkeypatch.setattr(inputs, "CHUNK", 20)
    alive = weakref.WeakSet()
    most = 0

    def stream():
        nonlocal most
        for i in range(200):
            graph = nx.path_graph(2 + i % 5)
            alive.add(graph)
            if i % 20 == 19:
                gc.collect()
                most = max(most, len(alive))
            yield graph

    gc.freeze()  # what is there already, which takes long to look through
    try:
        assert model.predict(stream()).shape == (200,)
    finally:
        gc.unfreeze()
    assert 20 <= most <= 45  # a chunk, and the one before it at times


def test_the_same_seed_gives_the_same_model(model):
    torch.manual_seed(123)
    before = torch.get_rng_state()
    again = clone(model).fit(GRAPHS, NAMES)
    assert torch.equal(before, torch.get_rng_state())
    assert (again.predict_proba(GRAPHS) == model.predict_proba(GRAPHS)).all()
    other = clone(model).set_params(random_state=1).fit(GRAPHS, NAMES)
    assert other.histories_ != model.histories_


def test_training_stops_early_and_keeps_the_best(model):
    noise = np.random.default_rng(0).integers(0, 2, 60)
    graphs = [nx.gnp_random_graph(8, 0.4, seed=i) for i in range(60)]
    settings = {"hidden": 8, "epochs": 60, "patience": 3, "device": "cpu", "members": 1}
    settings |= {"validation": 0.2, "kernel": False}
    noisy = SimplicialClassifier(**settings).fit(graphs, noise)
    (history,) = noisy.histories_
    assert len(history.valid) == len(history.train) < 60
    assert len(history.train) == max(history.best + 1, WARMUP) + 3
    assert history.valid[history.best] == min(history.valid)
    # the weights are those of that epoch
    seed = int(np.random.RandomState(0).randint(2**31 - 1))
    _, held = hold_out(torch.from_numpy(noise), 0.2, seed)
    logits = torch.from_numpy(noisy._outputs([graphs[i] for i in held]))
    loss = torch.nn.functional.cross_entropy(logits, torch.from_numpy(noise)[held])
    assert float(loss) == pytest.approx(min(history.valid), rel=1e-4)


def test_members_decide_together():
    settings = {**QUICK, "members": 3, "epochs": 3, "kernel": False}
    model = SimplicialClassifier(**settings).fit(GRAPHS, NAMES)
    alone = [SimplicialClassifier(**{**settings, "members": 1}).fit(GRAPHS, NAMES)]
    assert len(model.histories_) == 3
    assert len({run.train for run in model.histories_}) == 3
    assert model.histories_[0] == alone[0].histories_[0]
    K = next(iter(inputs.prepare(GRAPHS[:1], 2, model.features_)[0]))
    each = torch.stack([member(K) for member in model.model_.members])
    torch.testing.assert_close(model.model_(K), each.mean(dim=0))
    assert not torch.equal(each[0], each[1])


def test_class_weights_pull_towards_rare_classes():
    graphs = [nx.gnp_random_graph(8, 0.4, seed=i) for i in range(40)]
    y = np.arange(40) % 8 == 0
    chances = []
    for weight in (None, {False: 1, True: 50}):
        model = SimplicialClassifier(class_weight=weight, **QUICK).fit(graphs, y)
        chances.append(model.predict_proba(graphs)[:, 1].mean())
    assert chances[1] > chances[0] + 0.2


def test_numbers_are_learned():
    settings = {"device": "cpu", "hidden": 16, "epochs": 60, "members": 1}
    model = SimplicialRegressor(**settings).fit(GRAPHS, EDGES)
    assert model.predict(GRAPHS).shape == (30,)
    assert model.score(GRAPHS, EDGES) > 0.5
    both = np.stack([EDGES, np.negative(EDGES)], axis=1)
    assert SimplicialRegressor(**QUICK).fit(GRAPHS, both).predict(GRAPHS[:3]).shape == (3, 2)
    for wrong in (["a"] * 30, [np.nan] * 30):
        with pytest.raises(MPSNError, match="Expected"):
            model.fit(GRAPHS, wrong)


def test_cross_validation_and_targets_found_in_the_graphs():
    scores = cross_val_score(SimplicialClassifier(**QUICK), GRAPHS, NAMES, cv=2)
    assert scores.shape == (2,)
    data = [from_networkx(graph) for graph in GRAPHS]
    for i, item in enumerate(data):
        item.y = torch.tensor(i % 2)
    found = SimplicialClassifier(**QUICK).fit(data)
    assert found.classes_.tolist() == [0, 1]
    with pytest.raises(GraphError, match="pass y"):
        SimplicialClassifier(**QUICK).fit(GRAPHS)


def test_odd_graphs(model):
    odd = [nx.empty_graph(1), nx.path_graph(2), nx.DiGraph([(0, 1), (1, 0)])]
    assert np.isfinite(model.predict_proba(odd)).all()
    assert np.isfinite(model.predict_proba([nx.empty_graph(0)])).all()


def test_wrong_input_is_said(model):
    with pytest.raises(NotFittedError):
        SimplicialClassifier().predict(GRAPHS)
    for graphs, y, match in [
        (GRAPHS, NAMES[:5], "30 graphs and 5 targets"),
        ([], [], "0 graphs"),
        (GRAPHS, ["same"] * 30, "at least two classes"),
        ([1] * 30, NAMES, "Expected a graph"),
    ]:
        with pytest.raises(MPSNError, match=match):
            SimplicialClassifier(**QUICK).fit(graphs, y)
    for settings, error in [
        ({"hidden": 0}, LayerError),
        ({"readout": "max"}, LayerError),
        ({"epochs": 0}, MPSNError),
        ({"validation": 1.5}, MPSNError),
        ({"device": "tpu9"}, MPSNError),
        ({"learning_rate": 0}, MPSNError),
        ({"learning_rate": float("inf")}, MPSNError),
        ({"learning_rate": "fast"}, MPSNError),
        ({"batch_size": 0}, MPSNError),
        ({"batch_size": True}, MPSNError),
        ({"validation": 2}, MPSNError),
        ({"validation": None}, MPSNError),
        ({"random_state": -5}, MPSNError),
        ({"random_state": "dice"}, MPSNError),
        *(({"max_dim": wrong}, MPSNError) for wrong in (-1, None, "2", 1.5)),
        ({"features": 3}, GraphError),
        ({"kernel": "yes"}, MPSNError),
        *(({"class_weight": wrong}, MPSNError) for wrong in ("x", 2, {"thin": -1}, {"fat": 1})),
        ({"class_weight": {"thin": float("inf")}}, MPSNError),
    ]:
        with pytest.raises(error, match="Expected"):
            SimplicialClassifier(**{**QUICK, **settings}).fit(GRAPHS, NAMES)
    with pytest.raises(GraphError, match="put it into a list"):
        model.predict(GRAPHS[0])


def test_the_summary_says_what_was_built(model):
    text = model.summary()
    for part in ("fitted to 30 graphs", "thick (15), thin (15)", "degree (one-hot", "held out"):
        assert part in text
    assert "networks         1 SIN; 2 layers" in text
    assert "accuracy on graphs held out, and used to stop and to mix\n" in text
    few = SimplicialClassifier(**QUICK, lift="rings").fit(GRAPHS[:6], NAMES[:6])
    assert "none held out: too few graphs" in few.summary()
    assert "networks         1 CIN; 2 layers" in few.summary()
    assert "50% of the output\n" in few.summary() + "\n"
    alone = SimplicialClassifier(**QUICK, kernel=True).fit(GRAPHS, NAMES).summary()
    assert "100% of the output\n" in alone
    assert "accuracy on graphs held out, and used to choose its penalty\n" in alone


@pytest.fixture(scope="module")
def networks():
    return SimplicialClassifier(**QUICK, kernel=False).fit(GRAPHS, NAMES)


def test_gradients_times_inputs(networks):
    found = networks.explain(mpsn.clique_complex(GRAPHS[1], max_dim=4), "thick")
    K = found.complex
    assert networks.explain(GRAPHS[1]).complex == K
    assert K.dim == 2
    assert [len(part) for part in found.contributions] == list(K.counts)
    assert found.by_dimension == pytest.approx([float(p.sum()) for p in found.contributions])
    # against finite differences of the log-odds: scale the features of one simplex a little
    network = copy.deepcopy(networks.model_.members[0]).double()

    def odds(xs):
        rows = network(K, xs)[0].detach()
        return float(rows[0] - rows[1])

    xs = [x.double() for x in K.x]
    for k, s in ((0, 2), (1, 5), (2, 1)):
        moved = [x.clone() for x in xs]
        moved[k][s] *= 1 + 1e-6
        change = (odds(moved) - odds(xs)) / 1e-6 * (found.output - 0.5) / odds(xs)
        assert found.contributions[k][s].item() == pytest.approx(change, rel=1e-2, abs=1e-4)
    for column, name in enumerate(networks.features_.names[0]):
        moved = [x.clone() for x in xs]
        for x in moved:
            x[:, column] *= 1 + 1e-6
        change = (odds(moved) - odds(xs)) / 1e-6 * (found.output - 0.5) / odds(xs)
        assert found.features[name] == pytest.approx(change, rel=1e-2, abs=1e-4)


def test_leaving_simplices_out(model):
    graph = nx.Graph([(0, 1), (1, 2), (0, 2), (2, 3)])
    found = model.explain(graph, "thin", "leave_out")
    K = found.complex
    rest = without(K, 0, 3)  # without the last vertex: a triangle
    assert rest.counts == (3, 3, 1)
    assert rest.faces(2).tolist() == [[2, 1, 0]]
    score = float(model.model_(rest).softmax(dim=1)[0, 1].detach())
    assert found.output == pytest.approx(model.predict_proba([graph])[0, 1], rel=1e-4)
    assert found.contributions[0][3].item() == pytest.approx(found.output - score, rel=1e-4)
    assert without(K, 1, 0).counts == (4, 3)  # an edge of the triangle, and so the triangle
    with pytest.raises(MPSNError, match="'gradient' or 'leave_out'"):
        model.explain(graph, method="magic")
    with pytest.raises(MPSNError, match="a class among thick, thin"):
        model.explain(graph, "medium")


def test_an_explanation_is_drawn_with_names(model):
    from matplotlib import pyplot as plt

    found = model.explain(nx.Graph([("ann", "bob"), ("bob", "carl"), ("ann", "carl")]))
    assert {name for vertices, _ in found.top() for name in vertices} == {"ann", "bob", "carl"}
    largest = max(abs(value) for _, value in found.top())
    assert abs(found.top(1)[0][1]) == largest
    ax = found.draw()
    assert ax.get_title() == str(found)
    assert ax.figure.axes[-1].get_ylabel() == "contribution to the probability"
    plt.close(ax.figure)


@pytest.fixture(scope="module")
def flows():
    """Return a complex with one hole, and noisy flows around it in two directions."""
    K = mpsn.clique_complex(nx.Graph([(i, (i + j) % 9) for i in range(9) for j in (1, 2)]))
    rng = np.random.default_rng(0)
    ascending = K.simplices(1).numpy()
    step = (ascending[:, 1] - ascending[:, 0]) % 9
    around = np.where(step <= 2, 1.0, -1.0)
    X = np.array([around * (1 if i % 2 else 0.1) + rng.normal(0, 0.1, 18) for i in range(40)])
    return K, X, np.arange(40) % 2


@pytest.fixture(scope="module")
def flow_model(flows):
    K, X, y = flows
    return EdgeFlowClassifier(K, hidden=8, layers=2, epochs=40, learning_rate=0.01).fit(X, y)


def test_flows_are_learned_whatever_the_orientation(flows, flow_model):
    K, X, y = flows
    assert flow_model.score(X, y) > 0.9
    assert flow_model.n_features_in_ == 18
    turned = torch.rand(18, generator=torch.manual_seed(0)) < 0.5
    signs = np.where(turned.numpy(), -1.0, 1.0)
    other = clone(flow_model)
    other.__dict__.update(flow_model.__dict__)
    other.set_params(complex=K.flip({1: turned}))
    expected = flow_model.predict_proba(X)
    np.testing.assert_allclose(other.predict_proba(X * signs), expected, rtol=1e-4, atol=1e-6)
    assert np.abs(flow_model.predict_proba(X * signs) - expected).max() > 0.01


def test_wrong_flows_are_said(flows, flow_model):
    K, X, y = flows
    with pytest.raises(NotFittedError):
        EdgeFlowClassifier(K).predict(X)
    with pytest.raises(MPSNError, match="a column per edge"):
        EdgeFlowClassifier(K).fit(X[:, :5], y)
    with pytest.raises(ValueError, match="18 features"):
        flow_model.predict(X[:, :5])
    with pytest.raises(MPSNError, match="for each of 40 signals, got 3"):
        EdgeFlowClassifier(K).fit(X, y[:3])


@pytest.mark.parametrize("kind", ["classifier", "regressor", "flow"])
def test_saved_models_are_the_same(kind, tmp_path, model, flows, flow_model):
    path = tmp_path / "model.mpsn"
    if kind == "flow":
        saved, X = flow_model, flows[1]
    elif kind == "regressor":
        saved, X = SimplicialRegressor(**QUICK).fit(GRAPHS, EDGES), GRAPHS
    else:
        saved, X = model, GRAPHS
    saved.save(path)
    assert [p.name for p in tmp_path.iterdir()] == ["model.mpsn"]
    for loaded in (load(path), type(saved).load(path)):
        assert type(loaded) is type(saved)
        assert loaded.summary() == saved.summary()
        function = "predict" if kind == "regressor" else "predict_proba"
        assert (getattr(loaded, function)(X) == getattr(saved, function)(X)).all()
    assert clone(loaded).get_params().keys() == saved.get_params().keys()


def test_features_that_are_all_the_same_are_not_normalised():
    """Batch normalisation would divide rounding by rounding, and fail on graphs it has not seen."""
    rings = [nx.circulant_graph(n, [1, 2]) for n in range(10, 40)]  # triangles, all of degree 4
    plain = [nx.random_regular_graph(4, n, seed=n) for n in range(10, 40)]
    y = ["ring"] * 30 + ["plain"] * 30
    model = SimplicialClassifier(epochs=20, members=1).fit(rings + plain, y)
    assert not model.model_.members[0].settings["norm"]
    new = [nx.circulant_graph(21, [1, 2]), nx.random_regular_graph(4, 21, seed=99)]
    assert model.predict(new).tolist() == ["ring", "plain"]
    other = SimplicialClassifier(epochs=1, members=1).fit(
        [*rings[:5], nx.path_graph(4)], [0, 1] * 3
    )
    assert other.model_.members[0].settings["norm"]


RINGS = [nx.cycle_graph(n) for n in (5, 6)] * 12
SIZES = [5, 6] * 12


def test_lifts_by_name_are_saved_with_the_model(tmp_path):
    model = SimplicialClassifier(lift="rings", max_ring=5, **QUICK).fit(RINGS, SIZES)
    assert model.counts_ == (132, 132, 12)  # only the pentagons are filled
    assert "rings of up to 5 vertices" in model.summary()
    model.save(tmp_path / "model.mpsn")
    same = load(tmp_path / "model.mpsn")
    assert (same.lift, same.max_ring) == ("rings", 5)
    np.testing.assert_allclose(same.predict_proba(RINGS), model.predict_proba(RINGS), rtol=1e-5)
    (cell, _), *_ = [row for row in model.explain(RINGS[0]).top(20) if len(row[0]) > 2]
    assert cell == [0, 1, 2, 3, 4]
    left = model.explain(RINGS[0], method="leave_out")
    assert [len(part) for part in left.contributions] == [5, 5, 1]
    squares = [nx.cycle_graph(4), nx.path_graph(4)] * 12
    both = SimplicialClassifier(lift="cliques+rings", max_dim=3, **QUICK).fit(squares, [0, 1] * 12)
    assert both.counts_ == (96, 84, 12)
    assert SimplicialClassifier(lift="cubes", **QUICK).fit(squares, [0, 1] * 12).counts_[2] == 12


def test_lifts_by_function_and_complexes_of_all_kinds(tmp_path):
    model = SimplicialClassifier(lift=lambda graph: mpsn.ring_complex(graph, 5), **QUICK)
    model.fit(RINGS, SIZES)
    named = SimplicialClassifier(lift="rings", max_ring=5, **QUICK).fit(RINGS, SIZES)
    np.testing.assert_allclose(model.predict_proba(RINGS), named.predict_proba(RINGS), rtol=1e-5)
    kinds = [RINGS[0], mpsn.ring_complex(RINGS[0], 5)]
    chances = named.predict_proba([*kinds, mpsn.clique_complex(RINGS[1])])
    np.testing.assert_allclose(chances[:2], named.predict_proba(kinds), rtol=1e-5)
    np.testing.assert_allclose(chances[0], chances[1], rtol=1e-5)
    with pytest.raises(FileError, match="Expected a lift by name, such as 'rings', in a model"):
        model.save(tmp_path / "model.mpsn")


@pytest.mark.parametrize(
    ("lift", "message"),
    [
        ("ring", "Expected a lift among cliques, rings, .* Did you mean rings"),
        (lambda graph: mpsn.SimplicialComplex(3), "keeps the 5 vertices of a graph, got 3"),
        (lambda graph: mpsn.SimplicialComplex(graph[1]), "keeps all edges of a graph"),
        (lambda graph: graph, "a lift that returns a complex"),
    ],
)
def test_bad_lifts(lift, message):
    with pytest.raises(GraphError, match=message):
        SimplicialClassifier(lift=lift, **QUICK).fit(RINGS, SIZES)


def test_flows_on_squares_are_saved_with_their_complex(tmp_path):
    K = mpsn.cubical_complex(torch.ones(3, 3), mask=torch.arange(9).view(3, 3) != 4).bare()
    K = K.flip({1: torch.arange(K.count(1)) % 3 == 0})
    around = K.harmonic_basis(1)[:, 0].numpy()
    noise = np.random.default_rng(0).normal(scale=0.05, size=(40, K.count(1)))
    flows = noise + np.outer(np.arange(40) % 2, around)
    model = EdgeFlowClassifier(K, epochs=15, device="cpu").fit(flows, np.arange(40) % 2)
    assert model.score(flows, np.arange(40) % 2) > 0.9
    model.save(tmp_path / "model.mpsn")
    same = load(tmp_path / "model.mpsn")
    assert same.complex == K
    np.testing.assert_allclose(same.predict_proba(flows), model.predict_proba(flows), rtol=1e-5)
