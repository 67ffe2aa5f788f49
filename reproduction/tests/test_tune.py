"""The search for settings: a grid, pruned by validation, resumed from its records."""

from dataclasses import replace

import pytest

from mpsn.errors import ConfigError
from mpsn.nn.models import GIN, SIN
from mpsn_reproduction import search as module
from mpsn_reproduction.experiment import Run
from mpsn_reproduction.papers.tu import EXPERIMENT, TUConfig
from mpsn_reproduction.papers.tu_kernels import KernelConfig
from mpsn_reproduction.search import Grid, ranking, tune
from mpsn_reproduction.settings import Network
from mpsn_reproduction.train import StepTraining
from tu_files import members, reddit_like, write_zip

SIN_ROW = TUConfig(
    "REDDIT-MULTI-5K",
    sin=Network(SIN, norm=True, coface_message=False),
    train=StepTraining(),
    folds=2,
)
GIN_ROW = replace(SIN_ROW, sin=None, gin=Network(GIN))
SMALL = Grid((8,), (2, 4), (0.0,), ("after_sum",), (0.1, 0.01), (1,), (0.5,), (1, 2))


def test_points_cover_the_grid_once():
    points = Grid().points(SIN_ROW)
    assert len(points) == 2 * 2 * (1 + 2) * 4 * 2 * 2 * 2
    assert len(set(points.values())) == len(points)
    assert all(p.sin.norm and p.folds == 2 and not p.whole for p in points.values())
    config = points["l4-h64-d0.5-before_sum-b32-lr0.0005-x0.5-each20"]
    assert config.train == StepTraining(200, 32, 0.0005, 20, 0.5)
    assert (config.sin.layers, config.sin.hidden, config.sin.dropout) == (4, 64, 0.5)
    assert config.sin.dropout_position == "before_sum"
    assert len(Grid().points(GIN_ROW)) == 2 * 2 * 2 * 4 * 2 * 2 * 2
    kernel = TUConfig("NCI1", kernel=KernelConfig("wl"))
    with pytest.raises(ConfigError, match="sin or gin to tune, got wl-kernel"):
        Grid().points(kernel)


def by_formula(job, resources):
    """Pretend: accuracy grows with the epochs, with width and with the learning rate.

    In testing it falls instead.
    """
    config = job.config
    best = config.sin.hidden + config.train.lr
    curve = [best * (e + 1) / 10_000 for e in range(config.train.epochs)]
    resources.tick(EXPERIMENT.steps(job))
    metrics = {"honest": 0.0, "val": curve[-1], "given": 1.0, "untested": 0}
    return [
        Run(0, fold, metrics, {"val": curve, "val_test": [1 - value for value in curve]})
        for fold in job.folds
    ]


def test_the_better_ones_go_on(tmp_path, monkeypatch):
    """All settings take part in the first round; the best of all in the last, few others."""
    monkeypatch.setattr(module, "EXPERIMENT", replace(EXPERIMENT, work=by_formula, read=nothing))
    found = tune(SIN_ROW, SMALL, epochs=(2, 4, 8), keep=2, out=tmp_path)
    assert (found[0].config.sin.hidden, found[0].config.train.lr) == (4, 0.1)
    assert found[0].mean == pytest.approx(100 * 4.1 * 8 / 10_000)
    epochs = [s.epochs for s in found]
    assert len(found) == 8
    assert epochs == sorted(epochs, reverse=True)
    assert 2 <= epochs.count(8) < 6
    rounds = [2 ** (1 + i) for n in epochs for i in range(3) if 2 ** (1 + i) <= n]
    assert len(list(tmp_path.glob("*/*.json"))) == len(rounds)
    text = ranking(found).markdown()
    assert text.count("\n| l") == 8
    assert "SIN on REDDIT-MULTI-5K" in text


def nothing(name, folder):
    return None


def test_a_search_goes_on_from_its_records(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    graphs, classes = reddit_like(50)
    name = "REDDIT-MULTI-5K"
    write_zip(tmp_path / f"data/tu/{name}.zip", members(name, graphs, classes))
    options = {"epochs": (1, 2), "keep": 4, "data": tmp_path / "data"}
    expected = tune(GIN_ROW, SMALL, out=tmp_path / "whole", **options)
    done = []

    def interrupted(job, resources):
        if len(done) == 5:
            raise KeyboardInterrupt
        done.append(job)
        return EXPERIMENT.work(job, resources)

    with monkeypatch.context() as patch:
        patch.setattr(module, "EXPERIMENT", replace(EXPERIMENT, work=interrupted))
        with pytest.raises(KeyboardInterrupt):
            tune(GIN_ROW, SMALL, out=tmp_path / "parts", **options)
    assert tune(GIN_ROW, SMALL, out=tmp_path / "parts", **options) == expected
    assert len(expected) == 8


@pytest.mark.parametrize("wrong", [{"epochs": (4, 2)}, {"epochs": ()}, {"keep": 1}])
def test_bad_rounds_are_refused(wrong, tmp_path):
    with pytest.raises(ConfigError, match="ascending numbers of epochs and keep >= 2"):
        tune(SIN_ROW, SMALL, out=tmp_path, **wrong)
