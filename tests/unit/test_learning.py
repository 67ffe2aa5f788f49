"""Learning that can be trusted: sane starts, one model per seed, scores, interrupts, units."""

import _thread
import threading
import time
import warnings

import networkx as nx
import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.metrics import r2_score

import mpsn
from mpsn.errors import FileError, TrainingInterrupted
from mpsn.estimators import SimplicialClassifier, SimplicialRegressor, load
from mpsn.estimators._kernel import ROUNDS, ColorSum, find_colors, fit_weights
from mpsn.estimators._trained import WARMUP
from mpsn.training import Run, _resume

GRAPHS = [nx.gnp_random_graph(9, p, seed=i) for i in range(15) for p in (0.2, 0.6)]
NAMES = ["thin", "thick"] * 15
QUICK = {"hidden": 8, "epochs": 6, "members": 2, "device": "cpu"}


def weights(model):
    return list(model.model_.state_dict().items())


def same(one, two):
    return all(a == b and torch.equal(x, y) for (a, x), (b, y) in zip(one, two, strict=True))


def mixed_graphs():
    """Return random graphs, rings and wheels in random order, and what to count in them."""
    rng = np.random.default_rng(0)
    graphs = [nx.gnp_random_graph(int(n), 0.3, seed=int(n)) for n in rng.integers(5, 25, 50)]
    graphs += [nx.cycle_graph(n) for n in range(4, 39)] + [nx.wheel_graph(n) for n in range(5, 30)]
    order = rng.permutation(len(graphs))
    graphs = [graphs[i] for i in order]
    triangles = [sum(nx.triangles(graph).values()) // 3 for graph in graphs]
    counts = [(len(g), g.number_of_edges(), t) for g, t in zip(graphs, triangles, strict=True)]
    return graphs, np.array(counts, dtype=float)


def test_counts_are_learned_by_default():
    graphs, counts = mixed_graphs()
    model = SimplicialRegressor(epochs=10).fit(graphs[:80], counts[:80])
    found = r2_score(counts[80:], model.predict(graphs[80:]), multioutput="raw_values")
    assert (found > 0.9).all()  # from 0.958 on for six seeds
    assert model.scores_["this model"] > 0.9 > model.scores_["mean"] + 0.5


def test_networks_alone_count_too():
    rings = [nx.cycle_graph(n) for n in range(4, 64)]
    sizes = np.arange(4.0, 64)
    settings = {"kernel": False, "members": 1, "hidden": 16, "batch_size": 8}
    # No early stop: three rings are held out. Scores from 0.959 on for eight seeds.
    settings |= {"epochs": 80, "patience": 80, "device": "cpu"}
    model = SimplicialRegressor(**settings).fit(rings[::2], sizes[::2])
    assert model.score(rings[1::2], sizes[1::2]) > 0.9


def test_training_starts_at_a_sane_scale_and_does_not_stop_at_once():
    rings = [nx.cycle_graph(n) for n in range(50, 110)]
    model = SimplicialRegressor(kernel=False, members=1, epochs=12, patience=1, device="cpu")
    (history,) = model.fit(rings, np.arange(60.0)).histories_
    assert history.train[0] < 2  # standardized targets: about 1 for the mean
    assert len(history.train) > WARMUP
    plain = {"readout.dense.0.weight", "readout.last.weight"}
    assert plain <= set(model.model_.members[0].state_dict())  # the scale is in the weights


def test_one_model_per_seed_whatever_the_threads():
    before = torch.get_num_threads()
    found = []
    try:
        for threads in (1, 2):
            torch.set_num_threads(threads)
            found.append(weights(SimplicialClassifier(**QUICK).fit(GRAPHS, NAMES)))
            assert torch.get_num_threads() == threads
    finally:
        torch.set_num_threads(before)
    assert same(*found)


def test_fits_in_many_threads_are_those_of_one():
    alone = weights(SimplicialClassifier(**QUICK).fit(GRAPHS, NAMES))
    torch.manual_seed(5)
    state, threads, found = torch.get_rng_state(), torch.get_num_threads(), []

    def run():
        found.append(weights(SimplicialClassifier(**QUICK).fit(GRAPHS, NAMES)))

    workers = [threading.Thread(target=run) for _ in range(6)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(found) == 6
    assert all(same(alone, one) for one in found)
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.get_num_threads() == threads


def stop_after(monkeypatch, evaluations, how):
    """Call a function when the networks have been evaluated so many times."""
    seen, original = [], Run.evaluate

    def evaluate(run):
        seen.append(0)
        if len(seen) == evaluations:
            how()
        return original(run)

    monkeypatch.setattr(Run, "evaluate", evaluate)


def test_a_killed_fit_goes_on(tmp_path, monkeypatch):
    monkeypatch.setattr(_resume, "SECONDS", 0.0)
    model = SimplicialClassifier(**QUICK)
    whole = weights(clone(model).fit(GRAPHS, NAMES))

    def die():
        raise OSError("killed")

    with monkeypatch.context() as patch:
        stop_after(patch, 9, die)  # in the third epoch of the second network
        with pytest.raises(OSError, match="killed"):
            model.fit(GRAPHS, NAMES, resume=tmp_path / "m")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["m.resume0", "m.resume1"]
    steps = []
    monkeypatch.setattr(torch.optim.Adam, "step", counted(torch.optim.Adam.step, steps))
    again = clone(model).fit(GRAPHS, NAMES, resume=tmp_path / "m")
    assert same(weights(again), whole)
    assert 0 < len(steps) < 12  # of 24
    steps.clear()
    clone(model).set_params(hidden=4).fit(GRAPHS, NAMES, resume=tmp_path / "m")
    assert len(steps) == 24  # other settings start anew
    (tmp_path / "m.resume0").write_bytes(b"x")
    with pytest.raises(FileError, match="damaged"):
        clone(model).fit(GRAPHS, NAMES, resume=tmp_path / "m")


def test_what_does_not_change_the_result_does_not_change_the_checkpoint(tmp_path, monkeypatch):
    model = SimplicialClassifier(**QUICK).fit(GRAPHS, NAMES, resume=tmp_path / "m")
    steps = []
    monkeypatch.setattr(torch.optim.Adam, "step", counted(torch.optim.Adam.step, steps))
    for same_result in ({"verbose": True}, {"device": "auto"}):
        clone(model).set_params(**same_result).fit(GRAPHS, NAMES, resume=tmp_path / "m")
        assert not steps
    for _ in range(2):  # another seed each time
        clone(model).set_params(random_state=None).fit(GRAPHS, NAMES, resume=tmp_path / "m")
    assert len(steps) == 48


def test_ctrl_c_leaves_a_checkpoint(tmp_path, monkeypatch):
    model = SimplicialClassifier(**QUICK)
    whole = weights(clone(model).fit(GRAPHS, NAMES))

    def interrupt():
        _thread.interrupt_main()
        time.sleep(1)  # until the main thread has noticed

    with monkeypatch.context() as patch:
        stop_after(patch, 4, interrupt)
        with pytest.warns(TrainingInterrupted):
            model.fit(GRAPHS, NAMES, resume=tmp_path / "m")
    assert [p.name for p in tmp_path.iterdir()] == ["m.resume0"]
    steps = []
    monkeypatch.setattr(torch.optim.Adam, "step", counted(torch.optim.Adam.step, steps))
    assert same(weights(clone(model).fit(GRAPHS, NAMES, resume=tmp_path / "m")), whole)
    assert 12 <= len(steps) < 24


def counted(function, calls):
    def call(*arguments, **options):
        calls.append(0)
        return function(*arguments, **options)

    return call


def test_ctrl_c_keeps_the_best_so_far(monkeypatch):
    model = SimplicialClassifier(**{**QUICK, "epochs": 1000, "patience": 1000})
    with monkeypatch.context() as patch:
        stop_after(patch, 4, _thread.interrupt_main)
        with pytest.warns(TrainingInterrupted, match="the best of [0-9]+ epochs is kept"):
            model.fit(GRAPHS, NAMES)
    assert len(model.histories_) == 1  # the second network had not begun
    assert 4 <= len(model.histories_[0].train) < 1000
    assert model.predict(GRAPHS[:2]).shape == (2,)


def test_an_interrupted_model_is_saved(tmp_path, monkeypatch):
    model = SimplicialClassifier(**{**QUICK, "epochs": 1000, "patience": 1000})
    with monkeypatch.context() as patch:
        stop_after(patch, 2, _thread.interrupt_main)
        with warnings.catch_warnings(action="ignore"):
            model.fit(GRAPHS, NAMES)
    model.save(tmp_path / "m")
    assert (load(tmp_path / "m").predict_proba(GRAPHS) == model.predict_proba(GRAPHS)).all()


def test_scores_beside_simpler_models():
    model = SimplicialClassifier(**QUICK).fit(GRAPHS, NAMES)
    assert list(model.scores_) == ["this model", "networks", "SWL kernel", "majority class"]
    assert model.scores_["this model"] > 0.9
    assert model.scores_["majority class"] == pytest.approx(0.5, abs=0.2)
    assert "accuracy on graphs held out" in model.summary()
    alone = SimplicialClassifier(**QUICK, kernel=True).fit(GRAPHS, NAMES)
    assert alone.histories_ == ()
    assert not len(alone.model_.members)
    assert list(alone.scores_) == ["this model", "SWL kernel", "majority class"]
    assert SimplicialClassifier(**QUICK, kernel=False).fit(GRAPHS[:8], NAMES[:8]).scores_ == {}


def test_weights_of_classes_reach_the_kernel():
    graphs = [nx.gnp_random_graph(8, 0.4, seed=i) for i in range(40)]
    y = np.arange(40) % 8 == 0
    plain, weighted = (
        SimplicialClassifier(kernel=True, class_weight=weight).fit(graphs, y)
        for weight in (None, {False: 1, True: 50})
    )
    assert weighted.predict_proba(graphs)[:, 1].mean() > plain.predict_proba(graphs)[:, 1].mean()


def test_colors_are_those_of_the_kernel():
    data = mpsn.clique_complexes([*GRAPHS[:9], nx.empty_graph(3)], 2)
    kernel = find_colors(data.union, 2, 2, torch.zeros(0))
    table = kernel.table(data.union).toarray()
    full = mpsn.estimators.SWLKernel(rounds=ROUNDS).fit_transform([*GRAPHS[:9], nx.empty_graph(3)])
    common = full.toarray()[:, (full.toarray() > 0).sum(axis=0) > 1]
    columns = table[:, : len(kernel.colors)]
    assert sorted(map(tuple, columns.T)) == sorted(map(tuple, common.T))
    sizes = [[K.count(k) for k in range(3)] for K in data]
    assert (table[:, -3:] == sizes).all()
    for turn in range(ROUNDS + 1):  # common and rare ones together are all simplices
        rare = table[:, len(kernel.colors) + 3 * turn :][:, :3]
        assert (rare <= sizes).all()
    assert table.sum() == (ROUNDS + 2) * np.sum(sizes)


def test_a_kernel_is_a_sum_over_simplices_and_survives_a_file():
    data = mpsn.clique_complexes(GRAPHS, 2)
    kernel = find_colors(data.union, 2, 2, torch.zeros(0))
    table = kernel.table(data.union)
    y = torch.arange(30) % 2
    kernel.weight, kernel.bias = fit_weights(table, y, 2, 0.3)
    rows = kernel(data.union)
    np.testing.assert_allclose(rows, table @ kernel.weight.numpy() + kernel.bias.numpy(), atol=1e-4)
    assert (rows.argmax(dim=1) == y).all()
    cells = kernel.cells(data[3])
    total = sum(part.sum(dim=0) for part in cells) + kernel.bias
    torch.testing.assert_close(total, rows[3], atol=1e-4, rtol=1e-4)
    state = {name: tensor.clone() for name, tensor in kernel.state_dict().items()}
    torch.testing.assert_close(ColorSum(2, state)(data.union), rows)
    assert kernel(mpsn.collate([mpsn.clique_complex(nx.empty_graph(0))])).shape == (1, 2)
    changes = {
        "colors": state["colors"].flip(0),
        "keys": state["keys"][:-1],
        "ptr": state["ptr"][:-1],
        "places": state["places"].float(),
        "weight": state["weight"][1:],
    }
    for name, wrong in changes.items():
        with pytest.raises(FileError, match="expected"):
            ColorSum(2, {**state, name: wrong})


def test_explanations_are_in_the_units_of_the_user():
    model = SimplicialClassifier(**QUICK).fit(GRAPHS, NAMES)
    chances = model.predict_proba(GRAPHS[:1])[0]
    found = model.explain(GRAPHS[0])
    assert found.output == pytest.approx(chances.max(), abs=1e-5)
    assert found.margin == pytest.approx(chances.max() - chances.min(), abs=1e-5)
    assert {found.target, found.runner_up} == {"thick", "thin"}
    assert f"probability {found.output:.3f}, {found.margin:.3f} ahead of" in str(found)
    assert f"{found.margin:.3f} behind {found.target}" in str(
        model.explain(GRAPHS[0], found.runner_up)
    )
    sizes = [float(len(graph.edges)) * 100 for graph in GRAPHS]
    number = SimplicialRegressor(**QUICK, kernel=True).fit(GRAPHS, sizes)
    left = number.explain(GRAPHS[1], method="leave_out")
    value = number.predict(GRAPHS[1:2])[0]
    assert left.output == pytest.approx(value, rel=1e-4)
    assert left.runner_up is None
    edges = left.contributions[1]
    assert float(edges.mean()) == pytest.approx(100, rel=0.5)  # an edge is worth a hundred
    linear = number.explain(GRAPHS[1])
    bias = float(number.model_.kernel.bias[0]) * number.targets_.scale[0] + number.targets_.mean[0]
    assert sum(linear.by_dimension) + bias == pytest.approx(value, rel=1e-3)
    assert linear.features["SWL kernel"] == pytest.approx(sum(linear.by_dimension), rel=1e-4)


@pytest.mark.parametrize("kernel", [True, False])
def test_contributions_do_not_vanish_at_probability_one(kernel):
    model = SimplicialClassifier(**QUICK, kernel=kernel).fit(GRAPHS, NAMES)
    plain = model.explain(GRAPHS[1], "thick")
    last = [model.model_.kernel] if kernel else [m.readout.last for m in model.model_.members]
    with torch.no_grad():
        for part in last:
            part.weight.mul_(1e3)
            part.bias.mul_(1e3)
    sure = model.explain(GRAPHS[1], "thick")
    assert sure.output > 1 - 1e-6
    for before, after in zip(plain.contributions, sure.contributions, strict=True):
        # of log-odds a thousand times as large, by a slope that is that much smaller
        expected = before * (sure.output - 0.5) / (plain.output - 0.5)
        torch.testing.assert_close(after, expected, rtol=1e-2, atol=1e-4)
        assert float(after.abs().max()) > 1e-3


def test_graphs_without_vertices_are_predicted_too():
    graphs = [nx.path_graph(3), nx.cycle_graph(3), nx.empty_graph(0)] * 4
    model = SimplicialClassifier(hidden=4, epochs=1, members=1, device="cpu").fit(
        graphs, [0, 1, 0] * 4
    )
    assert np.isfinite(model.predict_proba([nx.empty_graph(0), nx.path_graph(2)])).all()
