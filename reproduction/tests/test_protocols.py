"""What every experiment promises: seeds, learning rates, and that nothing is chosen by testing."""

from dataclasses import replace

import pytest
import torch

from mpsn.nn.models import CIN
from mpsn_reproduction import search as tuning
from mpsn_reproduction.experiment import Job, Resources
from mpsn_reproduction.papers import brec as _brec
from mpsn_reproduction.papers import sr as _sr
from mpsn_reproduction.settings import Network, rows
from protocol import perform
from protocol_cases import CASES

each = pytest.mark.parametrize("name", CASES)
trained = pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.rates])


@pytest.fixture(scope="module")
def performed():
    """Return the runs of a case with one seed, made once."""
    made = {}

    def of(name, seed):
        if (name, seed) not in made:
            case = CASES[name]
            made[name, seed] = perform(case.experiment, case.job(seed), case.data())
        return made[name, seed]

    return of


@trained
def test_the_optimizer_sees_the_configured_learning_rates(name, performed):
    expected = CASES[name].rates
    _, seen = performed(name, 0)
    assert seen.rates
    for rates in seen.rates.values():
        steps = len(rates) // len(expected)
        assert rates == pytest.approx([rate for rate in expected for _ in range(steps)])


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.random])
def test_two_seeds_differ_in_weights_orders_and_results(name, performed):
    (one, seen), (two, others) = performed(name, 0), performed(name, 1)
    assert [run.seed for run in (*one, *two)] == [0, 1]
    for mine, theirs in zip(seen.first, others.first, strict=True):
        assert mine != theirs
    long = [[order for order in w.orders if len(order) > 5] for w in (seen, others)]
    for mine, theirs in zip(*long, strict=True):
        assert mine != theirs
    if not seen.rates:
        assert one[0].metrics != two[0].metrics


@pytest.mark.parametrize(
    "name", [name for name, case in CASES.items() if case.random and case.together]
)
def test_seeds_in_one_job_are_each_alone(name, performed):
    case = CASES[name]
    runs, _ = perform(case.experiment, case.job(0, 1), case.data())
    for run, seed in zip(runs, (0, 1), strict=True):
        ((alone,), _) = performed(name, seed)
        assert run == alone


def at_best(run, curve, best):
    """Return a curve where the one in validation is best for the first time."""
    found = run.curve["val"]
    return run.curve[curve][min(e for e, value in enumerate(found) if value == best(found))]


@pytest.mark.parametrize(
    ("metric", "curve", "best", "names"),
    [
        ("honest", "val_test", max, ("tu sin", "tu dgcnn", "tu kernel", "fair")),
        ("accuracy", "test", max, ("shapes",)),
        ("test", "test", max, ("molhiv gin",)),
        ("test", "test", min, ("zinc cin", "counting")),
    ],
)
def test_what_is_reported_is_in_the_curves(metric, curve, best, names, performed):
    for name in names:
        for seed in (0, 1) if CASES[name].random else (0,):
            ((run,), _) = performed(name, seed)
            assert run.metrics[metric] == at_best(run, curve, best)
            assert run.metrics["val"] == best(run.curve["val"])
            if "last" in run.metrics:
                assert run.metrics["last"] == run.curve["test"][-1]


@pytest.mark.parametrize("name", ["flow", "ocean"])
def test_flows_report_the_last_epoch(name, performed):
    ((run,), _) = performed(name, 1)
    assert run.metrics["test"] == run.curve["test"][-1]


def test_tuned_rows_are_those_of_validation(tmp_path, monkeypatch):
    """A search ranks the same settings in the same order, whatever is in the test fold."""
    case, rates = CASES["tu sin"], (0.5, 0.1, 0.01)
    grid = tuning.Grid((16,), (4,), (0.0,), ("after_sum",), rates, (2,), (0.5,), (1,))
    found = []
    for part in ("honest", "spoiled"):
        data = case.spoil(case.data(), case.job()) if part == "spoiled" else case.data()
        experiment = replace(case.experiment, read=lambda name, folder, data=data: data)
        monkeypatch.setattr(tuning, "EXPERIMENT", experiment)
        base, out = replace(case.config, folds=1), tmp_path / part
        found.append(tuning.tune(base, grid, epochs=(1, 2), keep=3, out=out))
    assert found[0] == found[1]
    assert len(found[0]) == 3


@pytest.mark.parametrize(
    ("module", "row", "name"),
    [(_sr, row, "SR(16,6,2,2)") for row in ("mlp-sum", "gin")] + [(_brec, "cin", "basic")],
)
def test_untrained_networks_have_the_weights_of_their_seeds(module, row, name, monkeypatch):
    config = rows(module.EXPERIMENT.name, module.EXPERIMENT.config)[row]
    if module is _brec:
        config = replace(config, network=Network(CIN, hidden=4, layers=1))
    data = _sr.read("SR(16,6,2,2)", None)
    embed, seen = module.embed, []

    def watched(networks, *rest):
        seen.append([torch.cat([p.flatten() for p in net.parameters()]) for net in networks])
        return embed(networks, *rest)

    monkeypatch.setattr(module, "embed", watched)
    place = Resources(torch.device("cpu"), data, lambda n: None)
    for seeds in ((0, 1), (1,)):
        module.EXPERIMENT.work(Job(row, config, name, seeds), place)
    zero, one = seen[0]
    assert not torch.isclose(zero, one).all()
    assert torch.equal(seen[-1][0], one)


def chosen(case, run):
    """Return what a run has that is not about the test part."""
    return {
        name: value
        for name, value in (*run.metrics.items(), *run.curve.items())
        if not name.startswith(case.tested)
    }


@each
def test_nothing_is_chosen_by_the_test_part(name, performed, monkeypatch):
    """With noise for features and with other labels there, all that leads to a model is the same.

    Every step begins with the same weights, bit for bit, so that features, their scaling and
    vocabulary, the settings, the number of epochs and the early stop are the same.
    """
    case = CASES[name]
    (run,), seen = performed(name, 0)
    job, data = case.job(0), case.data()
    other = case.spoil(data, job)
    if case.fixed:
        module, function = case.fixed
        given = getattr(module, function)
        parts = []
        with monkeypatch.context() as patch:
            patch.setattr(module, function, lambda *a: parts.append(given(*a)) or parts[-1])
            perform(case.experiment, job, data)
        monkeypatch.setattr(module, function, lambda *_: parts[0])
    (again,), watched = perform(case.experiment, job, other)
    assert chosen(case, again) == chosen(case, run)
    assert list(watched.weights.values()) == list(seen.weights.values())
    assert (again != run) == bool(case.tested)  # the test part was another
