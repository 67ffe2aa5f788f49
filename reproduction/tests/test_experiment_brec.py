"""The experiment on BREC: counts, networks against their test, tables, refusals."""

import os

import networkx as nx
import pytest
import torch

from mpsn import MPSNError
from mpsn.nn.models import CIN
from mpsn_reproduction import reproduce
from mpsn_reproduction.experiment import DataSets, Job, Record, Resources
from mpsn_reproduction.papers import brec
from mpsn_reproduction.papers.brec_table import CATEGORIES, figures, table
from mpsn_reproduction.settings import Network, rows

CONFIGS = rows("brec", brec.BRECConfig)
needs_data = pytest.mark.skipif("MPSN_DATA" not in os.environ, reason="set MPSN_DATA")

# Pairs distinguished by each test in the three categories of the smallest graphs.
COUNTS = {
    "wl": (0, 0, 0),
    "swl-triangles": (59, 49, 60),
    "swl": (59, 49, 60),
    "rings-4": (60, 50, 95),
    "rings-6": (60, 50, 97),
    "cliques-rings": (60, 50, 97),
    "2-fwl": (60, 50, 100),
    "marked-graph": (60, 50, 100),
    "marked-cliques": (60, 50, 100),
    "marked-cliques-rings": (60, 50, 100),
    "marked-twice-graph": (60, 50, 100),
    "depth-4": (60, 50, 100),
    "sin": (59, 49, 60),
    "cin": (60, 50, 97),
    "ign": (0, 0, 0),
    "gsn-cliques": (55, 49, 20),
    "gsn-rings": (56, 50, 67),
    "ppgn": (60, 50, 100),
}


def run(row, category, graphs, seeds=(0,)):
    ticks = []
    job = Job(row, CONFIGS[row], category, seeds)
    runs = brec.work(job, Resources(torch.device("cpu"), graphs, ticks.append))
    assert 2 * sum(ticks) == len(graphs)
    return Record(job, runs, 0.0, 0, {})


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A file of the right size: a hexagon and two triangles, or decalin and bicyclopentyl."""
    pairs = [nx.cycle_graph(6), nx.disjoint_union(*[nx.cycle_graph(3)] * 2)]
    ten = [nx.cycle_graph(10), nx.disjoint_union(*[nx.cycle_graph(5)] * 2)]
    for graph in ten:
        graph.add_edge(0, 5)
    out = tmp_path_factory.mktemp("data")
    lines = [nx.to_graph6_bytes(G, header=False) for G in pairs * 60 + ten * 340]
    (out / "brec").mkdir()
    (out / brec.FILE).write_bytes(b"".join(lines))
    return out


def test_every_row_is_counted():
    assert set(CONFIGS) == set(COUNTS)


@needs_data
@pytest.mark.parametrize("row", COUNTS)
def test_counts_on_the_smallest_graphs(row):
    for category, count in zip(("basic", "simple regular", "extension"), COUNTS[row], strict=True):
        (found,) = run(row, category, brec.read(category, None)).runs
        assert found.metrics["distinguished"] == count
        assert found.metrics.get("as_test", 1) == 1
        assert found.metrics.get("against_test", 0) == 0


def test_networks_distinguish_the_pairs_of_their_test(folder):
    for category, rings in (("basic", 20), ("CFI", 20)):
        graphs = brec.read(category, folder)[:40]
        told = {row: run(row, category, graphs, (0, 1)).runs for row in COUNTS if row != "2-fwl"}
        counts = {row: {r.metrics["distinguished"] for r in runs} for row, runs in told.items()}
        cliques = rings if category == "basic" else 0  # only hexagon and triangles
        assert counts["wl"] == {0}
        assert counts["swl"] == counts["sin"] == {cliques}
        assert counts["rings-6"] == counts["cin"] == counts["marked-graph"] == {rings}
        assert counts["ign"] == {0}
        assert counts["gsn-cliques"] == {cliques}
        assert counts["gsn-rings"] == counts["ppgn"] == {rings}
        networks = ("sin", "cin", "ign", "gsn-cliques", "gsn-rings", "ppgn")
        assert all(r.metrics["as_test"] == 1 for row in networks for r in told[row])


def test_comparison_with_the_test_sees_what_is_wrong():
    rows = torch.tensor([[0.0], [1e-9], [1.0], [1.5]], dtype=torch.float64)
    again, told = rows + 1e-10, torch.tensor([False, True])
    right = brec.against_test(rows, again, told, eps=100)
    assert (right["as_test"], right["distinguished"], right["against_test"]) == (1, 1, 0)
    assert right["largest_equal"] == pytest.approx(10)
    assert right["smallest_different"] == pytest.approx(5e9, rel=1e-5)
    assert brec.against_test(rows, again, told, eps=1)["against_test"] == 1
    few = brec.against_test(rows, again, told, eps=1e10)
    assert (few["as_test"], few["against_test"], few["distinguished"]) == (0, 0, 0)


def test_reproduce_draws_and_resumes(folder, tmp_path):
    for _ in range(2):
        result = reproduce("brec", models=["wl", "swl"], quick=True, out=tmp_path, data=folder)
    assert [line[:4] for line in result.table.rows] == [
        ["wl", "0", "0", "0"],
        ["swl", "60", "0", "60"],
    ]
    assert len(list(tmp_path.rglob("*.json"))) == 4
    assert any(path.name == "brec.png" for path in result.figures)


def test_table_and_figure_say_what_was_found(folder):
    records = [
        run(row, category, brec.read(category, folder)[:8])
        for row in ("cin", "swl", "rings-6")
        for category in ("basic", "4-vertex condition")
        if (row, category) != ("rings-6", "4-vertex condition")
    ]
    found = table(records)
    assert found.columns[1:4] == ["basic (60)", "4-vertex condition (20)", "total (80)"]
    lines = {line[0]: line[1:] for line in found.rows}
    assert lines["swl"] == ["4", "0", "4", ""]
    assert lines["rings-6"][:2] == ["4", "-"]
    assert lines["cin"] == ["4", "0", "4", "the test's pairs in all runs"]
    records[0].runs[0].metrics.update(as_test=0.0, against_test=2)
    assert "in 1 of 2 runs, 2 pairs against it" in table(records).rows[-1][-1]
    ax = figures(records, DataSets(brec.EXPERIMENT, None))["brec"].axes[0]
    assert ax.get_xlim() == (0, 400)


def test_refusals(tmp_path, monkeypatch):
    monkeypatch.delenv("MPSN_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(MPSNError, match="pass --data DIR"):
        brec.read("CFI", tmp_path)
    (tmp_path / "brec").mkdir()
    nx.write_graph6(nx.path_graph(3), tmp_path / brec.FILE)
    with pytest.raises(MPSNError, match="Expected 400 pairs"):
        brec.read("CFI", tmp_path)
    with pytest.raises(MPSNError, match="Expected categories among basic"):
        brec.BRECConfig(categories=("cfi",))
    with pytest.raises(MPSNError, match="with test 'swl', got 'wl'"):
        brec.BRECConfig(test="wl", network=Network(CIN))
    assert sum(map(len, CATEGORIES.values())) == 400
