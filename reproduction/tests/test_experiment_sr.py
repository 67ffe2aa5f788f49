"""The experiment on strongly regular graphs: agreement, purity, tables, refusals."""

import os
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from mpsn import MPSNError, clique_complexes
from mpsn.datasets import strongly_regular
from mpsn.nn.models import GIN, SIN
from mpsn_reproduction import engine
from mpsn_reproduction.experiment import DataSets, Job, Record, Run
from mpsn_reproduction.papers import sr
from mpsn_reproduction.papers.sr_table import AUTHORS, agrees, figures, summary, table
from mpsn_reproduction.settings import Network, rows
from protocol import perform

CONFIGS = rows("sr", sr.SRConfig)
CONSTRUCTED = [sr.name_of(p) for p in sr.CONSTRUCTED]
FROM_FILES = ["SR(26,10,3,4)", "SR(40,12,2,4)"]
needs_data = pytest.mark.skipif("MPSN_DATA" not in os.environ, reason="set MPSN_DATA")
SMALL = [*CONSTRUCTED, *(pytest.param(name, marks=needs_data) for name in FROM_FILES)]


def run(row, family, seeds=range(10)):
    job = Job(row, CONFIGS[row], family, tuple(seeds))
    return Record(job, perform(sr.EXPERIMENT, job, sr.read(family, None))[0], 0.0, 0, {})


@pytest.mark.parametrize("family", SMALL)
def test_sin_agrees_with_the_authors_code(family):
    ours, theirs = summary(run("sin", family)), AUTHORS[family]["sin"]
    assert agrees(ours, theirs)
    if theirs[1] == 0:
        assert ours[0] == pytest.approx(theirs[0], abs=5e-5)
        assert ours[1] == 0
    else:
        assert abs(ours[0] - theirs[0]) <= 2 * theirs[1]


@pytest.mark.parametrize("family", SMALL)
@pytest.mark.parametrize("row", ["mlp-sum", "mlp-sum-authors"])
def test_mlp_sum_fails_exactly_on_equal_numbers_of_cliques(family, row):
    lifted = clique_complexes(strongly_regular(*sr._parameters(family)), None)
    networks = [sr.build(CONFIGS[row], seed, lifted.union.dim) for seed in (0, 1)]
    equal = torch.pdist(lifted.counts.double()) == 0
    for embeddings in sr.embed(networks, lifted):
        assert torch.equal(torch.pdist(embeddings) <= 0.01, equal)
    assert agrees((float(equal.double().mean()), 0.0), AUTHORS[family]["mlp_sum"])


@pytest.mark.parametrize("family", SMALL)
def test_gin_tells_nothing_apart(family):
    assert summary(run("gin", family, (0, 1))) == (1, 0)


@pytest.mark.parametrize("family", CONSTRUCTED)
@pytest.mark.parametrize("row", ["ign", "ppgn"])
def test_ign_and_ppgn_tell_nothing_apart_but_by_rounding(family, row):
    (found,) = run(row, family, (0,)).runs
    assert found.metrics["rate"] == 1
    assert found.metrics["largest"] < 1e-9


def test_gsn_counts_cliques():
    """As MLP-sum does, but at each vertex, so that it fails on fewer pairs."""
    assert run("gsn", "SR(25,12,5,6)", (0,)).runs[0].metrics["failed"] < 10


def test_the_floor_is_found_in_jobs_of_one_seed():
    assert [job.seeds for job in sr.jobs("swl", CONFIGS["swl"], (0, 1, 2))] == [(0,)] * 9
    assert run("swl", "SR(16,6,2,2)", (0,)).runs[0].metrics == {"pairs": 1, "failed": 0, "rate": 0}


@pytest.mark.parametrize("family", SMALL[:-1])
def test_rings_split_every_family(family):
    """Also SR(26,10,3,4), where SWL on cliques leaves a pair."""
    assert run("rings", family, (0,)).runs[0].metrics["failed"] == 0


@pytest.mark.parametrize(
    ("row", "family"), [("sin", "SR(25,12,5,6)"), ("sin-floor", "SR(28,12,6,4)")]
)
def test_runs_depend_on_their_seed_alone(row, family):
    """Not on the other seeds of the job, the threads, or the state of torch's generator."""
    together = run(row, family, (0, 1)).runs
    threads = torch.get_num_threads()
    torch.manual_seed(99)
    torch.set_num_threads(2)
    try:
        assert run(row, family, (1,)).runs == together[1:]
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(threads)


def test_parts_do_not_matter(monkeypatch):
    lifted = clique_complexes(strongly_regular(25, 12, 5, 6), None)
    networks = [sr.build(CONFIGS["sin"], 0, 4)]
    (whole,) = sr.embed(networks, lifted)
    monkeypatch.setattr(sr, "NUMBERS", 20_000)
    ticks = []
    (parts,) = sr.embed(networks, lifted, ticks.append)
    assert len(ticks) > 3
    torch.testing.assert_close(parts, whole, rtol=1e-12, atol=0)


def test_comparison_with_swl_sees_what_is_wrong():
    rows = torch.tensor([[0.0], [1e-9], [1.0], [1.5]], dtype=torch.float64)
    again = rows[:2] + 1e-10
    first_pair = torch.tensor([True, False, False, False, False, False])
    right = sr.against_swl(rows, again, first_pair, eps=100)
    assert (right["as_swl"], right["failed"], right["told_apart_against_swl"]) == (1, 1, 0)
    assert right["rounding"] == pytest.approx(1e-10)
    assert right["largest_equal"] == pytest.approx(1e-9)
    assert right["smallest_different"] == pytest.approx(0.5)
    assert sr.against_swl(rows, again, first_pair, eps=1)["told_apart_against_swl"] == 1
    few = sr.against_swl(rows, again, first_pair, eps=1e10)
    assert (few["as_swl"], few["told_apart_against_swl"], few["failed"]) == (0, 0, 4)


def test_relabelled_graphs_are_the_same_graphs():
    graph = strongly_regular(16, 6, 2, 2)[1]
    again = sr.relabel(graph)
    assert not torch.equal(again.edge_index, graph.edge_index)
    counts = [clique_complexes([g], None).union.counts for g in (graph, again)]
    assert counts[0] == counts[1]


def test_table_and_figure_say_what_was_found():
    records = [run(row, "SR(25,12,5,6)", (0,)) for row in ("gin", "sin", "sin-floor", "swl")]
    found = table(records)
    lines = {line[1]: line for line in found.rows}
    assert list(lines)[:2] == ["swl", "sin"]
    assert lines["gin"][2:] == ["1", "1", "105 of 105", "1"]
    assert lines["sin"][3] == "0.0362 ± 0.0133"
    assert lines["sin-floor"][4] == "0 of 105, SWL's"
    assert "within two standard errors" in found.notes[1]
    assert len(found.notes) == 2  # nothing of families that were not asked for
    assert figures(records, DataSets(sr.EXPERIMENT, None))["sr"].axes[0].get_yscale() == "symlog"
    off = replace(records[0], job=replace(records[0].job, config=CONFIGS["sin"]))
    assert "Not within two standard errors" in table([off]).notes[1]


@pytest.mark.parametrize(
    ("ours", "theirs", "same"),
    [
        ((3 / 45, 0), (0.0667, 0), True),
        ((4 / 45, 0), (0.0667, 0), False),
        ((0.0012865, 0), (0.0012865, 0), True),
        ((0.00130, 0), (0.0012865, 0), False),
        ((0.040, 0.003), (0.0362, 0.004), True),
        ((0.047, 0.003), (0.0362, 0.004), False),
    ],
)
def test_agreement(ours, theirs, same):
    assert agrees(ours, theirs) is same


def test_refusals():
    with pytest.raises(MPSNError, match="one of sin, mlp_sum and gin, or none, got several"):
        sr.SRConfig(sin=Network(SIN), gin=Network(GIN))
    with pytest.raises(MPSNError, match=r"SR\(40,12,2,4\), got 'SR\(1,2,3,4\)'"):
        sr.SRConfig(families=("SR(1,2,3,4)",))
    with pytest.raises(MPSNError, match="max_ring for the exact test or GSN, got another network"):
        sr.SRConfig(sin=Network(SIN), max_ring=6)
    with pytest.raises(MPSNError, match=r"a baseline among .*ppgn.*, got 'gnn'"):
        sr.SRConfig(gin=Network(GIN), baseline="gnn")
    with pytest.raises(MPSNError, match="got 'ign' without"):
        sr.SRConfig(baseline="ign")


MEASURED = {"pairs": 1, "failed": 0, "rate": 0.0}


def test_families_that_cannot_be_had(monkeypatch, tmp_path):
    def urlopen(url, timeout):
        raise OSError("no route to host")

    monkeypatch.delenv("MPSN_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr("urllib.request.urlopen", urlopen)
    stub = replace(sr.EXPERIMENT, work=lambda job, resources: [Run(0, 0, MEASURED)])
    records, missing = engine.run(stub, {"sin": CONFIGS["sin"]}, 1, out=tmp_path / "runs")
    assert [record.job.data for record in records] == CONSTRUCTED
    assert len(missing) == 6
    assert "SR(40,12,2,4) is left out" in missing[-1]
    assert "DIR/sr/sr401224.g6" in missing[-1]
    quick = sr.jobs("sin", CONFIGS["sin"].quick(), (0,))
    assert [job.data for job in quick] == CONSTRUCTED
    assert len(sr.read(quick[0].data, Path("nowhere"))) == 2


def test_close_pairs_are_counted():
    rows = torch.tensor([[0.0], [0.0], [1.0], [1.25], [3.0]], dtype=torch.float64)
    for eps, failed in ((1e-6, 1), (0.25, 2), (1.0, 4), (5.0, 10)):
        assert sr.close(rows, eps) == {"pairs": 10, "failed": failed, "rate": failed / 10}
    rows[0, 0] = torch.nan
    with pytest.raises(MPSNError, match="Expected embeddings that are finite"):
        sr.close(rows, 0.01)
