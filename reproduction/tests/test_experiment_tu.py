"""The TU experiment: its configs, its two protocols, its kernels, and bad data told in time."""

import os
from collections import Counter
from dataclasses import replace
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
import torch
from scipy.stats import ttest_rel

import mpsn
from mpsn.datasets import TU_SETS
from mpsn.errors import ConfigError, FileError, MPSNError
from mpsn.nn.models import GIN, SIN, Hierarchical
from mpsn.training import from_plain
from mpsn_reproduction.baselines import BASELINES
from mpsn_reproduction.engine import reproduce, run
from mpsn_reproduction.experiment import DataSets, Job, Record, Resources, Run
from mpsn_reproduction.papers import tu
from mpsn_reproduction.papers.tu import EXPERIMENT, Baseline, TUConfig
from mpsn_reproduction.papers.tu_kernels import KernelConfig, grams
from mpsn_reproduction.papers.tu_table import (
    MODELS,
    QUOTED,
    RISING,
    Score,
    at_the_end,
    chosen,
    honest_protocol,
    paper_protocol,
    quoted,
    rows,
    table,
)
from mpsn_reproduction.settings import Network
from mpsn_reproduction.settings import rows as load_rows
from mpsn_reproduction.store import remaining
from mpsn_reproduction.train import StepTraining
from protocol import trained
from tu_files import members, reddit_like, write_zip

PAPER = {  # appendix F: batch, lr, decay every, decay, width, dropout, its position, layers
    "PROTEINS": (128, 0.01, 20, 0.5, 32, 0.5, "after_sum", 3),
    "NCI1": (128, 0.001, 50, 0.5, 32, 0.5, "after_sum", 4),
    "IMDB-BINARY": (32, 0.0005, 20, 0.5, 64, 0.5, "after_sum", 4),
    "IMDB-MULTI": (128, 0.003, 50, 0.5, 64, 0.5, "after_sum", 4),
    "REDDIT-BINARY": (32, 0.001, 50, 0.5, 64, 0.0, "before_sum", 4),
    "REDDIT-MULTI-5K": (32, 0.001, 20, 0.9, 64, 0.0, "before_sum", 4),
}
SMALL = TUConfig(
    "REDDIT-MULTI-5K",
    sin=Network(
        SIN, hidden=4, layers=1, coface_message=False, norm=True, jump=True, readout_dims=(0, 2)
    ),
    train=StepTraining(epochs=3, batch_size=8),
    folds=2,
)
KERNEL = TUConfig("REDDIT-MULTI-5K", kernel=KernelConfig("swl", (1, 2), (1.0, 10.0), 2), folds=2)
DGCNN = replace(SMALL, sin=None, gin=Baseline(network="dgcnn", hidden=4, layers=1))


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def data(tmp_path):
    """Write a set of fifty graphs in five classes."""
    graphs, classes = reddit_like(50)
    name = "REDDIT-MULTI-5K"
    write_zip(tmp_path / f"data/tu/{name}.zip", members(name, graphs, classes))
    return tmp_path / "data"


def resources(folder, tick=lambda n: None):
    return Resources(torch.device("cpu"), tu.read("REDDIT-MULTI-5K", folder), tick)


def test_configs_are_those_of_the_paper():
    found = load_rows("tu", TUConfig)
    for row, config in found.items():
        assert row.startswith(f"{config.dataset.lower()}-{config.model}")
        assert config.folds == 10
        if config.train is None:
            rounds = {"walk-kernel": (5,), "graphlet-kernel": (0,)}.get(config.model, range(6))
            assert config.kernel == KernelConfig(
                config.model.removesuffix("-kernel"), tuple(rounds)
            )
            continue
        batch, lr, every, decay, width, dropout, position, layers = PAPER[config.dataset]
        net = config.sin or config.gin
        if config.model in BASELINES:  # with learning rates of their own
            assert config.train.batch_size >= min(batch, 64)  # larger, since they are trained alone
            assert net.dropout == dropout
            continue
        assert config.train == StepTraining(200, batch, lr, every, decay)
        assert (net.hidden, net.dropout, net.layers) == (width, dropout, layers)
        reddit = "REDDIT" in config.dataset
        assert (net.act, net.norm, net.jump) == ("relu", not reddit, True)
        if config.dataset != "REDDIT-BINARY":  # its two readouts are rows of their own
            bio = config.dataset in ("PROTEINS", "NCI1")
            assert net.readout == ("sum" if bio else "mean")
        if config.sin:
            assert not net.coface_message
            assert net.dropout_position == position
            assert net.readout_dims == ((0, 1, 2) if row.endswith("-sum") else (0, 2))
    kinds = {(config.dataset, config.model) for config in found.values()}
    sets = {model: {dataset for dataset, other in kinds if other == model} for _, model in kinds}
    assert sets.keys() <= MODELS.keys()
    assert all(sets[model] == TU_SETS.keys() for model in ("sin", "gin", "swl-kernel", "wl-kernel"))
    published = {"PROTEINS", "NCI1", "IMDB-BINARY", "IMDB-MULTI"}
    assert all(sets[model] >= published for model in BASELINES)
    assert all(sets[f"{name}-kernel"] == published for name in ("walk", "graphlet", "propagation"))
    assert sets["hierarchical"] == {"PROTEINS"}  # with the settings of SIN
    assert len(found) == len(kinds) + 2  # readouts on REDDIT-BINARY


def test_bad_configs_are_refused():
    with pytest.raises(ConfigError, match="one of sin, gin and kernel"):
        TUConfig("NCI1")
    with pytest.raises(ConfigError, match="one of sin, gin and kernel"):
        replace(SMALL, gin=Network(GIN))
    with pytest.raises(ConfigError, match="and of train"):
        replace(SMALL, train=None)
    with pytest.raises(ConfigError, match="from 1 to 10 folds, got 11"):
        replace(SMALL, folds=11)
    assert replace(SMALL, dataset="MUTAG").dataset == "MUTAG"
    with pytest.raises(ConfigError, match=r"among dcnn, dgcnn.*got 'gcnn'. Did you mean"):
        Baseline(network="gcnn")
    with pytest.raises(ConfigError, match=r"rounds = \[0\] for graphlets, got \[1, 2\]"):
        KernelConfig("graphlet", (1, 2))
    with pytest.raises(ConfigError, match="the name of a data set"):
        replace(SMALL, dataset="../MUTAG")
    with pytest.raises(ConfigError, match=r"got width; The settings are .*hidden"):
        from_plain(TUConfig, {"dataset": "NCI1", "sin": {"width": 3}}, "file")


def test_the_networks_are_trained_on_what_the_protocols_say(data, monkeypatch):
    seen = {}

    def fake(build, complexes, y, splits, seeds, settings, resources, **_):
        seen.update(y=y, splits=splits, seeds=seeds, model=build())
        resources.tick(len(splits) * settings.epochs)
        test = {"loss": [3, 2, 1], "train": [0, 0, 1], "test": [0.9, 0.1, 0.5]}
        return trained([{**test, "val": [0.2, 0.4, 0.4]}] * len(splits))

    monkeypatch.setattr(tu, "train_classifiers", fake)
    job = replace(EXPERIMENT.jobs("row", SMALL, (0,))[0], seeds=(0, 3))
    ticks = []
    runs = EXPERIMENT.work(job, resources(data, ticks.append))
    assert sum(ticks) == EXPERIMENT.steps(job)
    assert [(r.seed, r.fold) for r in runs] == [(0, 0), (0, 1), (3, 0), (3, 1)]
    assert runs[0].metrics["honest"] == 0.1  # the first of the best in validation, worst in testing
    assert runs[0].metrics["chosen"] == 1
    assert seen["model"].settings["in_channels"] == 1
    assert seen["model"].settings["out_channels"] == 5
    held, whole = seen["splits"][:4], seen["splits"][4:]
    assert seen["seeds"] == [0, 1, 30, 31] * 2
    for one, all_of_it in zip(held, whole, strict=True):
        assert set(all_of_it) == {"train", "test"}
        assert len(one["val"]) == 5  # a tenth of 45
        train = torch.cat([one["train"], one["val"]])
        assert set(train.tolist()) == set(all_of_it["train"].tolist())
        assert torch.equal(one["test"], all_of_it["test"])
        assert sorted([*train.tolist(), *one["test"].tolist()]) == list(range(50))
    EXPERIMENT.work(replace(job, config=replace(SMALL, whole=False)), resources(data))
    assert len(seen["splits"]) == 4


def test_threads_do_not_matter(data):
    """Batches large enough for torch to divide sums among threads, which rounds differently."""
    wide = SMALL.sin.replace(hidden=128, layers=2)
    job = Job("row", replace(SMALL, sin=wide, train=StepTraining(3, 45)), folds=(0,))
    given, found = torch.get_num_threads(), []
    try:
        for threads in (1, 2, 5):
            torch.set_num_threads(threads)
            found.append(EXPERIMENT.work(job, resources(data)))
    finally:
        torch.set_num_threads(given)
    assert found[1:] == found[:1] * 2


def test_records_of_some_folds_serve_a_job_of_all():
    ten = replace(SMALL, folds=10)
    (job,) = EXPERIMENT.jobs("row", ten, (0,))
    assert job.folds == tuple(range(10))
    halves = [record("row", ten, made(folds)) for folds in (range(5), range(5, 10))]
    assert remaining(job, halves) is None
    assert remaining(job, halves[:1]) == job
    assert len(EXPERIMENT.jobs("row", ten, (0, 1))) == 2  # SIN has one for each seed


def test_an_unfinished_seed_waits():
    whole, part = made(range(10)), made(range(1), seeds=(1,))
    records = [record("row", KERNEL, runs) for runs in (whole, part)]
    assert table(records).rows == table(records[:1]).rows


def made(folds, seeds=(0,), val=0.5):
    rng = np.random.default_rng(len(folds))
    return [
        Run(
            seed,
            fold,
            {"honest": rng.random(), "val": val, "given": 1.0, "untested": 3, "chosen": 0},
            {"test": rng.random(7).tolist(), "val_test": rng.random(10).tolist()},
        )
        for seed in seeds
        for fold in folds
    ]


def test_protocols_by_the_definition():
    runs = made(range(10), (0, 1))
    best = []
    for seed in (0, 1):
        curves = [r.curve["test"] for r in runs if r.seed == seed]
        means = [sum(c[e] for c in curves) / 10 for e in range(7)]
        at = [100 * c[means.index(max(means))] for c in curves]
        best.append((np.mean(at), np.std(at, ddof=1)))
    found = paper_protocol(runs)
    assert found[:2] == pytest.approx(np.mean(best, axis=0))
    assert found.seeds == pytest.approx([mean for mean, _ in best])
    ends = [[100 * r.metrics["honest"] for r in runs if r.seed == s] for s in (0, 1)]
    honest = honest_protocol(runs)
    assert honest[:2] == pytest.approx((np.mean(ends), np.std(ends, axis=1, ddof=1).mean()))
    assert honest.folds == pytest.approx(np.mean(ends, axis=0))
    ends = [np.mean([r.curve["val_test"][8:] for r in runs if r.seed == s]) for s in (0, 1)]
    assert at_the_end(runs).seeds == pytest.approx(100 * np.array(ends))  # two of ten epochs
    assert honest_protocol(runs).mean < paper_protocol(made(range(1))).mean


def test_spread_over_seeds_and_standard_errors_of_differences():
    """Two seeds and two folds, by hand."""
    one, two = Score.of(np.array([[70.0, 74], [72, 76]])), Score.of(np.array([[70.0, 72]]))
    assert two.cell() == "71.0 ± 1.4"  # one seed has no spread
    assert one.cell() == f"73.0 ± {8**0.5:.1f} (± {2**0.5:.1f})"  # seeds of mean 72 and 74
    assert one.minus(two) == "+2.0 ± 1.0"  # by folds 71 - 70 and 75 - 72: 1 and 3
    assert one.minus(Score.of(np.array([[70.0]]))) == ""
    records = [record("sin", SMALL, made(range(2), (0, 1, 2)))]
    assert next(row[5] for row in table(records).rows if row[1] == "SIN") == "3"


def test_which_models_have_several_seeds():
    """SIN a job each, so that memory does not grow; GIN, which is small, one for all."""

    def seeds(config):
        jobs = EXPERIMENT.jobs("row", replace(config, dataset="NCI1", folds=1), (0, 1, 2))
        return [job.seeds for job in jobs]

    assert EXPERIMENT.seeds == 3
    for config in (SMALL, KERNEL, DGCNN):  # networks side by side in all folds, others in one
        folds = [job.folds for job in EXPERIMENT.jobs("row", config, (1,))]
        assert folds == ([(0, 1)] if config.sin else [(0,), (1,)])
    assert seeds(SMALL) == [(0,), (1,), (2,)]
    assert seeds(replace(SMALL, sin=SMALL.sin.replace(max_dim=0))) == [(0, 1, 2)]
    assert seeds(replace(SMALL, sin=None, gin=Network(GIN))) == [(0, 1, 2)]
    assert seeds(KERNEL) == seeds(replace(SMALL, sin=Network(Hierarchical))) == [(0,)]


def record(row, config, runs):
    seeds = tuple({run.seed for run in runs})
    folds = tuple({run.fold for run in runs})
    return Record(Job(row, config, config.dataset, seeds, folds), runs, 1.0, 1, {})


def test_the_table_shows_ours_beside_what_is_quoted():
    reddit = replace(SMALL, dataset="REDDIT-BINARY")
    gin = replace(reddit, sin=None, gin=Network(GIN))
    records = [
        record("sin-sum", reddit, made(range(10), val=0.7)),
        record("sin-mean", reddit, made(range(10), val=0.8)),
        record("gin", gin, made(range(10), (0, 1))),
        record("wl", replace(KERNEL, dataset="NCI1"), made(range(1))),
    ]
    assert chosen(rows(records))["REDDIT-BINARY", "sin"].name == "sin-mean"
    found = table(records)
    lines = [line[:2] for line in found.rows]
    assert lines[0] == ["NCI1", "Avg △"]
    assert [row[3] for row in found.rows[:2]] == ["0.05", "0.0"]
    assert lines[2] == ["NCI1", "SWL kernel"]
    assert ["REDDIT-BINARY", "SIN"] in lines
    assert ["NCI1", "RWK", "", "> 3 days", "", ""] in found.rows
    sin = next(line for line in found.rows if line[:2] == ["REDDIT-BINARY", "SIN"])
    assert [cell.kind for cell in sin[2:5]] == ["measured", "quoted", "measured"]
    assert sin[3] == "92.2 ± 1.0"
    assert ["REDDIT-BINARY", "GSN"] not in lines
    honest = [
        np.array([100 * run.metrics["honest"] for run in r.runs]).reshape(-1, 10).mean(axis=0)
        for r in records[1:3]
    ]
    t = ttest_rel(*honest)
    assert found.rows[-1][:2] == ["REDDIT-BINARY", "SIN minus GIN"]
    assert found.rows[-1][4].spread == pytest.approx(np.mean(honest[0] - honest[1]) / t.statistic)
    assert found.rows[-1][4].runs == 10
    notes = "\n".join(found.notes)
    assert "of sin-mean and sin-sum the first is shown; its validation accuracy is 80.0" in notes
    assert "NCI1: SWL kernel on 1 of 10 folds." in notes
    assert "Not run: PROTEINS, IMDB-BINARY, IMDB-MULTI, REDDIT-MULTI-5K." in found.notes
    assert "3 graphs are in no test fold" in notes
    assert "from the paper's 92.2 ± 1.0, not within one standard deviation" in notes
    figures = EXPERIMENT.figures(records, DataSets(EXPERIMENT, None))
    assert set(figures) == {"tu_triangles", "tu_curves"}
    shown = np.concatenate([line.get_ydata() for line in figures["tu_triangles"].axes[0].lines])
    for score in (honest_protocol, paper_protocol):  # of SIN
        assert score(records[1].runs).mean in shown
    curves = next(ax for ax in figures["tu_curves"].axes if ax.get_title() == "REDDIT-BINARY")
    mean = 100 * np.mean([run.curve["test"] for run in records[2].runs], axis=0)  # of two seeds
    np.testing.assert_allclose(curves.lines[1].get_ydata(), mean)


def test_rows_that_have_not_converged_are_marked():
    """The best epoch on test folds is among the last tenth of the epochs."""

    def line(best):
        runs = made(range(10))
        for run_ in runs:
            run_.curve["test"] = [0.9 if epoch == best else 0.5 for epoch in range(40)]
        found = table([record("sin", replace(SMALL, dataset="NCI1"), runs)])
        return found.rows[2][2], RISING in found.notes

    assert line(35) == ("90.0 ± 0.0", False)
    assert line(36) == line(39) == ("90.0 ± 0.0 †", True)


def test_quoted_rows_are_whole():
    for method in QUOTED:
        for dataset in TU_SETS:
            value = quoted(method, dataset)
            if value not in ("", "> 3 days"):
                mean, spread = map(float, value.split("±"))
                assert 0 <= spread < mean <= 100
    assert sum(bool(quoted(method, "NCI1")) for method in QUOTED) == 12


def gram(kernel, data, rounds, labeled):
    (found,) = grams(kernel, data, [rounds], labeled)
    return found


def test_the_wl_kernel_is_that_of_networkx():
    graphs = [nx.gnp_random_graph(8, 0.4, seed=i) for i in range(6)]

    def colors(graph):
        counts = Counter()
        nx.set_node_attributes(graph, "alike", "color")
        hashes = nx.weisfeiler_lehman_subgraph_hashes(
            graph, node_attr="color", iterations=3, include_initial_labels=True
        )
        for of in hashes.values():
            counts.update(enumerate(of))
        return counts

    counts = [colors(graph) for graph in graphs]
    dot = np.array([[sum(a[c] * b[c] for c in a) for b in counts] for a in counts], float)
    length = np.sqrt(dot.diagonal())
    ours = gram("wl", mpsn.clique_complexes(graphs), 3, labeled=False)
    assert ours == pytest.approx(dot / np.outer(length, length))


def test_the_swl_kernel_sees_triangles():
    graphs = mpsn.clique_complexes(
        [nx.cycle_graph(6), nx.disjoint_union(*[nx.cycle_graph(3)] * 2)], max_dim=2
    )
    assert gram("wl", graphs, 3, labeled=False)[0, 1] == pytest.approx(1)
    assert gram("walk", graphs, 3, labeled=False)[0, 1] == pytest.approx(1)
    assert gram("swl", graphs, 3, labeled=False)[0, 1] < 0.9
    assert gram("graphlet", graphs, 0, labeled=False)[0, 1] < 0.9


@pytest.mark.parametrize("kernel", ["wl", "swl", "walk", "propagation"])
def test_kernels_read_labels(kernel):
    x = torch.eye(2)[[0, 0, 0, 1]]
    edges = mpsn.clique_complexes([nx.path_graph(2)] * 2, max_dim=2).union.replace(x=[x])
    found = gram(kernel, mpsn.ComplexDataset(edges), 1, labeled=True)
    assert found.diagonal().tolist() == pytest.approx([1, 1])
    assert found[0, 1] < 0.8
    if kernel != "propagation":  # which has nothing else to start from
        assert gram(kernel, mpsn.ComplexDataset(edges), 1, labeled=False) == pytest.approx(1)


def test_graphs_without_graphlets_have_no_similarity():
    graphs = mpsn.clique_complexes([nx.path_graph(2), nx.path_graph(3)], max_dim=2)
    assert gram("graphlet", graphs, 0, labeled=False).tolist() == [[0, 0], [0, 1]]


def test_missing_data_is_said_and_broken_data_refused_before_any_training(data, monkeypatch):
    def offline(*_, **__):
        raise OSError("no network")

    monkeypatch.setattr("urllib.request.urlopen", offline)
    monkeypatch.setattr(tu, "train_classifiers", lambda *_, **__: pytest.fail("trained"))
    with pytest.raises(MPSNError, match=r"No data for NCI1\. .*no network"):
        run(EXPERIMENT, {"row": replace(SMALL, dataset="NCI1")}, 1, out=data / "runs", data=data)
    configs = {"there": KERNEL, "not": replace(SMALL, dataset="NCI1")}
    outcome = run(EXPERIMENT, configs, 1, out=data / "runs", data=data)
    assert {record.job.row for record in outcome.records} == {"there"}
    assert "no network" in outcome.missing[0]
    folder = data / "tu_folds" / "REDDIT-MULTI-5K"
    folder.mkdir(parents=True)
    with pytest.raises(FileError, match=r"train_idx-1.txt"):
        run(EXPERIMENT, {"row": SMALL}, 1, out=data / "runs", data=data)
    folder.rmdir()
    (data / "tu/REDDIT-MULTI-5K.zip").write_bytes(b"")
    with pytest.raises(FileError, match="damaged"):
        run(EXPERIMENT, {"row": SMALL}, 1, out=data / "runs", data=data)


def test_stratified_folds_are_told_from_given_ones(data):
    assert not tu.tu_folds("REDDIT-MULTI-5K", torch.arange(50) % 5, data).from_files
    found = EXPERIMENT.work(EXPERIMENT.jobs("row", KERNEL, (0,))[0], resources(data))
    assert found[0].metrics["given"] == 0
    assert "stratified" in " ".join(table([record("row", KERNEL, found)]).notes)


@pytest.mark.skipif("MPSN_DATA" not in os.environ, reason="needs MPSN_DATA")
def test_the_quick_version_runs_on_real_data(tmp_path):
    models = {config.model for config in tu.select(["PROTEINS"], []).values()} - {"ppgn"}  # slow
    rows = [f"proteins-{model}" for model in models]
    result = reproduce("tu", models=rows, quick=True, seeds=1, out=tmp_path)
    shown = {line[1] for line in result.table.rows if line[4]}
    assert shown == {MODELS[model] for model in models}
    assert {Path(path).stem for path in result.figures} == {"tu_triangles", "tu_curves"}
