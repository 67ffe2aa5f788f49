"""Several targets with gaps: masked losses, a kernel fitted task by task, scores, files."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import accuracy_score, r2_score
from sklearn.model_selection import cross_val_score
from sklearn.utils.class_weight import compute_class_weight
from torch_geometric.data import Data

import mpsn
from mpsn.errors import LeftOut, MPSNError
from mpsn.estimators import SimplicialClassifier, SimplicialRegressor, load
from mpsn.estimators._kernel import fit_weights
from mpsn.estimators._targets import Classes, Labels, Numbers, compare
from mpsn.training import loss_of

QUICK = {"hidden": 8, "epochs": 12, "members": 1, "device": "cpu"}
GRAPHS = [nx.gnp_random_graph(9, 0.2 + 0.01 * (i % 30), seed=i) for i in range(60)]
FULL = np.array([[g.number_of_edges(), sum(nx.triangles(g).values()) / 3] for g in GRAPHS])
GAPPY = np.where(np.random.default_rng(0).random(FULL.shape) < 0.3, np.nan, FULL)
GAPPY[5] = np.nan
GAPPY[6] = FULL[6]
LABELS = np.where(np.isnan(GAPPY), np.nan, np.nanmedian(GAPPY, axis=0) < GAPPY)
TASKS = ["edges", "triangles"]


@pytest.fixture(scope="module")
def numbers():
    with pytest.warns(LeftOut, match="none of their targets is known"):
        return SimplicialRegressor(**QUICK).fit(GRAPHS, GAPPY, tasks=TASKS)


@pytest.fixture(scope="module")
def labels():
    frame = pd.DataFrame(LABELS, columns=TASKS)
    with pytest.warns(LeftOut, match="none of their targets is known"):
        return SimplicialClassifier(**QUICK, class_weight="balanced").fit(GRAPHS, frame)


@pytest.mark.filterwarnings("ignore:predictions")
def test_numbers_of_several_tasks_are_learned(numbers):
    lost = int(np.isnan(GAPPY).all(axis=1).sum())
    assert numbers.n_graphs_ == 60 - lost
    assert numbers.targets_.names == ("edges", "triangles")
    assert numbers.targets_.known == tuple((~np.isnan(GAPPY)).sum(axis=0))
    assert numbers.targets_.mean == pytest.approx(np.nanmean(GAPPY, axis=0))
    assert numbers.targets_.scale == pytest.approx(np.nanstd(GAPPY, axis=0))
    found = numbers.predict(GRAPHS)
    assert found.shape == (60, 2)
    assert r2_score(FULL, found) > 0.8  # also where the targets were not known
    assert set(numbers.task_scores_) == set(TASKS)
    each = [numbers.task_scores_[task]["this model"] for task in TASKS]
    assert numbers.scores_["this model"] == pytest.approx(np.mean(each))
    text = numbers.summary()
    assert "edges 1" in text
    assert "R² of each target" in text
    assert f"({numbers.targets_.known[1]} known)" in text


@pytest.mark.filterwarnings("ignore:predictions")
def test_scores_are_those_of_known_targets(numbers, labels):
    for model, y, metric in ((numbers, GAPPY, r2_score), (labels, LABELS, accuracy_score)):
        found = model.predict(GRAPHS)
        known = ~np.isnan(y)
        weight = np.arange(60) + 1.0
        for share in (None, weight):
            wanted = [
                metric(y[k, t], found[k, t], sample_weight=None if share is None else share[k])
                for t, k in enumerate(known.T)
            ]
            assert model.score(GRAPHS, y, share) == pytest.approx(np.mean(wanted))
        with pytest.raises(MPSNError, match="Expected 2 targets per graph, got 3"):
            model.score(GRAPHS, np.zeros((60, 3)))


def test_labels_of_several_tasks_follow_scikit_learn(labels):
    chances, found = labels.predict_proba(GRAPHS), labels.predict(GRAPHS)
    assert chances.shape == found.shape == (60, 2)
    assert found.dtype == np.int64
    assert (found == (chances > 0.5)).all()
    assert labels.score(GRAPHS, LABELS) > 0.85
    assert [one.tolist() for one in labels.classes_] == [[0, 1], [0, 1]]
    assert labels.targets_.positive == tuple(np.nansum(LABELS, axis=0))
    assert labels.targets_.names == ("edges", "triangles")
    assert "tasks: edges (" in labels.summary()
    whole = np.nan_to_num(LABELS).astype(int)
    scores = cross_val_score(
        SimplicialClassifier(kernel=True), GRAPHS, whole, cv=2, scoring="roc_auc"
    )
    assert (scores > 0.6).all()


@pytest.mark.filterwarnings("ignore:predictions")
@pytest.mark.parametrize("kind", ["numbers", "labels"])
def test_files_and_explanations(kind, request, tmp_path):
    model = request.getfixturevalue(kind)
    model.save(tmp_path / "m.mpsn")
    again = load(tmp_path / "m.mpsn")
    np.testing.assert_array_equal(again.predict(GRAPHS), model.predict(GRAPHS))
    assert again.targets_ == model.targets_
    assert again.task_scores_ == model.task_scores_
    assert again.summary() == model.summary()
    both = model.predict_proba if kind == "labels" else model.predict
    first, second = both(GRAPHS[:1])[0]
    assert model.explain(GRAPHS[0]).output == pytest.approx(first, rel=1e-4, abs=1e-6)
    found = model.explain(GRAPHS[0], "triangles")
    assert found.output == pytest.approx(second, rel=1e-4, abs=1e-6)
    assert found.target == model.explain(GRAPHS[0], 1).target == "triangles"
    if kind == "labels":
        assert found.runner_up == "not triangles"
        assert found.margin == pytest.approx(2 * second - 1, abs=1e-5)
    with pytest.raises(MPSNError, match="Did you mean edges"):
        model.explain(GRAPHS[0], "edge")


def test_gaps_weigh_nothing():
    """The loss, and its gradient, are those of the known targets alone; no one known gives 0."""
    torch.manual_seed(0)
    outputs = torch.randn(20, 3, requires_grad=True)
    y = torch.randn(20, 3)
    y[torch.rand(20, 3) < 0.4] = torch.nan
    known = ~y.isnan()
    numbers = Numbers.learn(y.double().numpy(), ())
    loss = loss_of(numbers.losses[0])
    assert loss(outputs, y).item() == pytest.approx(
        torch.nn.functional.mse_loss(outputs[known], y[known]).item()
    )
    labels = torch.where(known, (y > 0).float(), torch.nan).numpy()
    tasks = Labels.learn(labels, ())
    encoded = tasks.encode(labels)
    for given_weights in (None, "balanced", {1: 3.0}):
        total, share = 0.0, 0.0
        for t in range(3):
            rows = known[:, t]
            truth = labels[rows, t]
            pair = {0: 1.0, 1: 1.0}
            if given_weights == "balanced":
                pair = compute_class_weight("balanced", classes=np.array([0, 1]), y=truth)
            elif given_weights:
                pair = pair | given_weights
            each = torch.tensor([pair[int(one)] for one in truth])
            total += torch.nn.functional.binary_cross_entropy_with_logits(
                outputs[rows, t], torch.tensor(truth), weight=each, reduction="sum"
            )
            share += each.sum()
        found = loss_of(tasks.losses[0], tasks.weigh(given_weights))(outputs, encoded)
        assert found.item() == pytest.approx((total / share).item(), rel=1e-5)
        (slope,) = torch.autograd.grad(found, outputs)
        assert ((slope != 0) == known).all()
    (slope,) = torch.autograd.grad(loss(outputs, y), outputs)
    assert ((slope != 0) == known).all()
    empty = torch.full((20, 3), torch.nan)
    assert loss(outputs, empty).item() == 0
    assert loss_of(tasks.losses[0])(outputs, tasks.encode(empty.numpy())).item() == 0


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6), st.booleans())
def test_a_kernel_is_fitted_to_each_task_where_it_is_known(seed, classes):
    import scipy.sparse

    rng = np.random.default_rng(seed)
    table = rng.integers(0, 3, (14, 5)).astype(float)
    y = rng.normal(size=(14, 4))
    y[rng.random(y.shape) < 0.3] = np.nan
    y[:, 1] = y[:, 0]  # the same gaps
    y[:, 3] = np.nan
    if classes:
        y = np.where(np.isnan(y), np.nan, y > 0)
        y[~np.isnan(y[:, 2]), 2] = 1
    encoded = torch.from_numpy(np.nan_to_num(y, nan=-1).astype(np.int8) if classes else y)
    weight, bias = fit_weights(scipy.sparse.csr_array(table), encoded, 4, 0.3)
    scale = np.maximum(table.max(axis=0), 1)
    for t in range(3):
        known = ~np.isnan(y[:, t])
        if classes and len(set(y[known, t])) < 2:
            many = (np.sum(y[known, t] == 1), known.sum())
            assert bias[t].item() == pytest.approx(
                np.log((1 + many[0]) / (1 + many[1] - many[0])), abs=1e-6
            )
            assert (weight[:, t] == 0).all()
            continue
        one = LogisticRegression(C=0.3, max_iter=1000) if classes else Ridge(alpha=0.1 / 0.3)
        one.fit(table[known] / scale, y[known, t])
        coefficients = one.coef_.reshape(-1) / scale
        np.testing.assert_allclose(weight[:, t], coefficients, rtol=1e-2, atol=1e-3)
        assert bias[t].item() == pytest.approx(np.reshape(one.intercept_, -1)[0], abs=1e-2)
    assert (weight[:, 3] == 0).all()
    assert bias[3] == 0


def test_tasks_with_too_little_are_not_scored():
    y = np.array([[1, 2.0], [2, np.nan], [3, np.nan], [4, np.nan]])
    targets = Numbers.learn(y, TASKS)
    means, tasks = compare(targets, {"this model": targets.encode(y)}, targets.encode(y))
    assert tasks == {"edges": {"this model": 1.0, "mean": pytest.approx(0.0)}}
    assert means == tasks["edges"]
    assert compare(targets, {}, targets.encode(y)[:1]) == ({}, {})
    one = Classes.learn(["a", "b", "b"])
    assert compare(one, {}, one.encode(["b", "b", "a"])) == (
        {"majority class": pytest.approx(2 / 3)},
        {},
    )


def test_targets_in_graphs_and_gaps_as_none():
    edges = torch.tensor([[0, 1], [1, 0]])
    rows = [[1.0, float("nan")], [0.0, 1.0], [1.0, 0.0], [float("nan"), 1.0]]
    data = [Data(edge_index=edges, num_nodes=2, y=torch.tensor([row])) for row in rows]
    model = SimplicialClassifier(kernel=True).fit(data)
    assert model.targets_ == Labels(("output 0", "output 1"), (3, 3), (2, 2))
    given_rows = [[None if value != value else value for value in row] for row in rows]
    assert SimplicialClassifier(kernel=True).fit(data, given_rows).targets_ == model.targets_
    data[1].y = torch.tensor([1.0])
    with pytest.raises(MPSNError, match="as many targets each, got Data with 1 at index 1"):
        SimplicialClassifier(kernel=True).fit(data)


@pytest.mark.parametrize(
    ("kind", "y", "said"),
    [
        (
            SimplicialClassifier,
            [[0, 2], [1, 0]],
            "Expected 0, 1 or NaN .* got 2; for other",
        ),
        (SimplicialClassifier, [["a", "b"], ["b", "a"]], "0, 1 or NaN .* got 'a'"),
        (SimplicialClassifier, [[0, np.nan], [1, None]], "known target of task 'output 1', got no"),
        (SimplicialRegressor, [[0.5, np.nan], [1, np.nan]], "known target of task 'output 1'"),
        (SimplicialRegressor, [[0.5, np.inf], [1, 2]], "with NaN or infinity; of several targets"),
        (SimplicialRegressor, [0.5, np.nan], "with NaN or infinity"),
    ],
)
def test_targets_that_cannot_be(kind, y, said):
    with pytest.raises(MPSNError, match=said):
        kind(kernel=True).fit(GRAPHS[:2], y)
    with pytest.raises(MPSNError, match="Expected 2 different names of tasks"):
        kind(kernel=True).fit(GRAPHS[:2], [[0, 1], [1, 0]], tasks=["a", "a"])


def test_predictions_stay_near_the_targets_of_the_fit():
    """Far outputs are bounded, and said; numbers that grow with graphs are not."""
    graphs = [nx.path_graph(n) for n in range(2, 12)] + [nx.star_graph(n) for n in range(3, 13)]
    y = [len(graph) for graph in graphs]
    model = SimplicialRegressor(kernel=True).fit(graphs, y)
    assert model.largest_ == (13, 12)
    longer = nx.path_graph(39)
    assert model.predict([longer]) == pytest.approx([39], rel=0.1)
    with torch.no_grad():
        model.model_.kernel.bias += 1000
    with pytest.warns(LeftOut, match=r"predictions \(2\): far beyond the targets in the fit"):
        found = model.predict([nx.path_graph(3), longer])
    assert found == pytest.approx([13 + 1.1, 38 / 12 * 13 + 1.1], rel=1e-5)
    assert model.explain(longer).output == pytest.approx(38 / 12 * 13 + 1.1, rel=1e-5)
    with torch.no_grad():
        model.model_.kernel.bias -= 2000
    with pytest.warns(LeftOut, match="far beyond"):
        low = model.predict([nx.path_graph(3), longer])
    mean = np.mean(y)
    assert low == pytest.approx([2 - 1.1, mean + 38 / 12 * (2 - mean) - 1.1], rel=1e-5)


def test_models_of_earlier_versions_have_no_names_and_bounds():
    targets = Numbers((1.0, 2.0), (1.0, 1.0), False)
    assert targets.names == ("output 0", "output 1")
    rows = np.full((1, 2), 1e6, np.float32)
    assert (targets.bound(rows, np.ones(1)) == rows).all()
    assert str(targets) == "numbers: 1 ± 1, 2 ± 1 in the fit"


def test_sizes_of_rings_are_features():
    graphs = [nx.cycle_graph(n) for n in (3, 4, 5, 6)] * 2
    model = SimplicialRegressor(lift="rings", kernel=True).fit(graphs, [3.0, 4, 5, 6] * 2)
    assert "the mean over vertices, ring_size (one-hot, 4 kinds)\n" in model.summary()
    (K,) = model._prepare([nx.cycle_graph(5)], model.features_)[0]
    assert K.x[2][0, -4:].tolist() == [0, 0, 1, 0]
    flat = SimplicialRegressor(kernel=True).fit([nx.complete_graph(n) for n in (3, 4)], [1.0, 2])
    assert "ring_size" not in flat.summary()
    squares = [mpsn.ring_complex(graph, 6) for graph in graphs]
    np.testing.assert_allclose(model.predict(squares), model.predict(graphs), rtol=1e-5)


def test_a_target_by_its_number_in_words():
    from mpsn.estimators._tasks import task_number

    assert task_number("1", ("a", "b")) == 1
    assert task_number("1", ("1", "b")) == 0  # a name comes first
    with pytest.raises(MPSNError, match="among a, b, or its number, got 2"):
        task_number("2", ("a", "b"))
