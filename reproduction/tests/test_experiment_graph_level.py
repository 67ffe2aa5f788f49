"""Experiments on whole complexes: counts, splits, metrics, training, packed files, records."""

from dataclasses import replace
from itertools import combinations, permutations

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import mpsn
from mpsn.datasets import scaffolds
from mpsn.errors import ConfigError, FileError, MPSNError
from mpsn.nn.models import CIN, GIN
from mpsn.training import METRICS
from mpsn_reproduction import pack, reproduce
from mpsn_reproduction.catalog import find
from mpsn_reproduction.experiment import Job, Resources
from mpsn_reproduction.papers.counting import NAMES, counts
from mpsn_reproduction.papers.graph_data import Encoded, GraphData, fingerprints
from mpsn_reproduction.papers.graph_level import GraphLevelConfig, parameters, work
from mpsn_reproduction.papers.moleculenet import scaffold_split
from mpsn_reproduction.settings import Network, rows
from mpsn_reproduction.train import CosineTraining

EXPERIMENTS = ("zinc", "molhiv", "moleculenet", "counting")
RINGS = ["C1CC1", "C1CCC1", "C1CCCC1", "C1CCCCC1", "c1ccccc1", "C1CCCCCC1"]
SMILES = [f"{'C' * n}{ring}{end}" for n in range(5) for ring in RINGS for end in ("", "O", "C=O")]
FREQUENT = [f"{'C' * i}{ring}O" for k, ring in enumerate(RINGS) for i in range(20 >> k)]


def brute_force(graph):
    """Count by trying all orders of all sets of vertices."""
    out = []
    for n in (3, 4, 5, 6):
        found = sum(
            all(graph.has_edge(a, b) for a, b in zip(walk, walk[1:] + walk[:1], strict=True))
            for some in combinations(graph, n)
            for walk in permutations(some)
        )
        out.append(found // (2 * n))
    four = (graph.subgraph(some) for some in combinations(graph, 4))
    edges = [part.number_of_edges() for part in four]
    return [*out, edges.count(5) + 6 * edges.count(6)]


@settings(max_examples=25, deadline=None)
@given(st.integers(3, 7), st.floats(0.2, 1), st.integers(0, 99))
def test_counts_of_subgraphs(n, p, seed):
    graph = nx.gnp_random_graph(n, p, seed=seed)
    assert counts(graph) == brute_force(graph)


def test_scaffolds_stay_together_and_frequent_ones_are_for_training():
    """Of 38 molecules 30 are for training: 20 and 10; the next 5 are too many for validation."""
    assert scaffold_split(FREQUENT) == ["train"] * 30 + ["test"] * 5 + ["val"] * 3
    assert len(set(scaffolds(FREQUENT))) == 5


@pytest.fixture(scope="module")
def molecules():
    """Sizes of rings to predict, of molecules in three parts."""
    found = mpsn.read_molecules(SMILES)
    y = torch.tensor([float(one.count("C") + 3 * one.count("O")) for one in SMILES])
    return GraphData(found.data, y[:, None], torch.arange(len(SMILES)) // 5 % 3, SMILES)


def test_categories_of_training_only(molecules):
    """Rings of a size that is not in training have no feature; each other cell one per column."""
    union = molecules.complexes.union
    seven = union.batch(2)[union.x[2][:, 0] == 7]
    data = molecules._replace(part=torch.ones(len(SMILES), dtype=torch.int64).scatter(0, seven, 2))
    data = data._replace(part=(data.part - 1))
    x = data.encoded.union.x
    assert x[2].shape[1] == len(RINGS) - 2  # of size 6 there are two kinds, of size 7 none
    assert torch.equal(x[2].sum(1), (union.x[2][:, 0] != 7).float())
    assert torch.equal(x[0].sum(1), torch.full((len(x[0]),), 5.0))


def test_a_packed_file_is_the_data(molecules, tmp_path):
    molecules.save(tmp_path / "data.npz")
    again = GraphData.load(tmp_path / "data.npz")
    assert torch.equal(again.y, molecules.y)
    assert torch.equal(again.part, molecules.part)
    assert [len(part) for part in again.parts.values()] == [30, 30, 30]
    assert torch.equal(again.encoded.union.x[0], molecules.encoded.union.x[0])
    with pytest.raises(MPSNError, match="got a packed file"):
        fingerprints(again.molecules, 2, 64)
    molecules.complexes.save(tmp_path / "other.npz")
    with pytest.raises(FileError, match="Expected targets and a split"):
        GraphData.load(tmp_path / "other.npz")


def test_batches_from_a_file_are_those_in_memory(molecules, tmp_path, monkeypatch):
    molecules.save(tmp_path / "data.npz")
    with np.load(tmp_path / "data.npz") as arrays:
        np.savez_compressed(tmp_path / "small.npz", **arrays)
    monkeypatch.setattr("mpsn_reproduction.papers.graph_data.world_size", lambda: 2)
    assert GraphData.load(tmp_path / "small.npz").complexes.path is None  # it cannot be mapped
    ours, theirs = GraphData.load(tmp_path / "data.npz").encoded, molecules.encoded
    assert isinstance(ours, Encoded)
    assert len(ours) == len(theirs)
    assert torch.equal(ours.counts, theirs.counts)
    for index in ([5, 3, 3], []):
        one, two = ours.batch(torch.tensor(index).long()), theirs.batch(index)
        for k in (0, 1, 2):
            assert torch.equal(one.ptr(k), two.ptr(k))
            assert torch.equal(one.x[k], two.x[k])
        for k in (1, 2):
            assert torch.equal(one.incidence(k).face, two.incidence(k).face)
            assert torch.equal(one.incidence(k).offsets, two.incidence(k).offsets)


NETWORKS = {
    "cin": {"cin": Network(CIN, hidden=8, layers=2, act="relu", norm=True)},
    "gin": {"gin": Network(GIN, hidden=8, layers=2, act="relu", norm=True)},
}


@pytest.mark.parametrize("metric", ["mae", "rmse", "auc"])
def test_it_learns(molecules, metric):
    """The loss falls, and in validation the network is far better than the mean."""
    y = molecules.y if metric != "auc" else (molecules.y > 8).float()
    how = CosineTraining(epochs=60, batch_size=10, lr=0.01, average=0.9)
    config, data = GraphLevelConfig(**NETWORKS["cin"], train=how), molecules._replace(y=y)
    place = Resources(torch.device("cpu"), data, lambda n: None)
    (run,) = work(metric, ("y",), Job("cin", config), place)
    assert run.curve["loss"][-1] < run.curve["loss"][0] / 2
    held, mean = y[data.parts["val"], 0], y[data.parts["train"]].mean()
    naive = METRICS[metric](mean.expand(len(held)), held)
    assert run.curve["val"][-1] > 0.75 if metric == "auc" else run.curve["val"][-1] < naive / 2


def test_bounds_and_choices_are_checked():
    config = GraphLevelConfig(**NETWORKS["cin"], train=CosineTraining(), max_parameters=100)
    with pytest.raises(ConfigError, match="Expected at most 100 parameters"):
        config.network((3, 2, 1), 1)
    for wrong in ({}, NETWORKS["cin"], {**NETWORKS["cin"], **NETWORKS["gin"]}):
        with pytest.raises(ConfigError, match="Expected settings of one of"):
            GraphLevelConfig(**wrong)
    for wrong in ({"epochs": 0}, {"lr": 0.0}, {"average": 1.0}):
        with pytest.raises(MPSNError, match="Expected"):
            CosineTraining(**wrong)


def test_rows_of_zinc_are_within_their_bounds():
    """With the widths of the data's categories."""
    for row, config in rows("zinc", GraphLevelConfig).items():
        most = 100_000 if row.endswith("small") else 500_000
        assert config.max_parameters == most
        assert parameters(config.network((21, 9, 12), 1)) <= most


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Small files in the layout of the real ones."""
    out = tmp_path_factory.mktemp("data")
    for name in ("zinc", "molecules", "counting"):
        (out / name).mkdir()
    parts = ["train", "train", "val", "test"]
    lines = [f"{parts[i % 4]},{smiles},{len(smiles)}.5" for i, smiles in enumerate(SMILES)]
    (out / "zinc" / "zinc12k.csv").write_text("\n".join(["split,smiles,y", *lines]))
    lines = [f"{smiles},CI,{'O' in smiles:d}" for smiles in ["C[Al-4](C)(C)(C)(C)(C)C", *SMILES]]
    (out / "molecules" / "HIV.csv").write_text("\n".join(["smiles,activity,HIV_active", *lines]))
    head = "smiles,measured log solubility in mols per litre"
    lines = [f"{smiles},{len(smiles)}" for smiles in FREQUENT]
    (out / "molecules" / "ESOL_delaney-processed.csv").write_text("\n".join([head, *lines]))
    (out / "molecules" / "FreeSolv_SAMPL.csv").write_text("\n".join(["smiles,expt", *lines]))
    graphs = [nx.gnp_random_graph(8, 0.4, seed=i) for i in range(40)]
    lines = [nx.to_graph6_bytes(graph, header=False) for graph in graphs]
    (out / "counting" / "regular5000.g6").write_bytes(b"".join(lines))
    for i, part in enumerate(("train", "val", "test")):
        for name, many in (("counting/regular5000", 40), ("molecules/ogbg_molhiv_scaffold", 91)):
            some = [str(row) for row in range(many) if row // 5 % 3 == i]
            (out / f"{name}_{part}.txt").write_text("\n".join(some))
    return out


@pytest.mark.filterwarnings("ignore:Molecules")
@pytest.mark.parametrize("name", EXPERIMENTS)
def test_experiments_from_files_to_tables(name, folder, tmp_path):
    result = reproduce(name, quick=True, data=folder, out=tmp_path)
    lines = [line for line in result.table.rows if "minus" not in line[1]]
    assert len(lines) == len(rows(name, find(name).config)) * (2 if name == "moleculenet" else 1)
    assert len(result.figures) == 2
    assert not result.missing
    for record in result.records:
        for run in record.runs:
            assert run.metrics.get("parameters", 0) <= record.job.config.max_parameters
            if name == "counting":
                each = [run.metrics[f"test_{target}"] for target in NAMES]
                assert run.metrics["test"] == pytest.approx(np.mean(each), rel=1e-4)
    again = reproduce(name, quick=True, data=folder, out=tmp_path)
    assert again.table == result.table


@pytest.mark.filterwarnings("ignore:Molecules")
def test_rows_that_rdkit_refuses_do_not_shift_the_split(folder):
    """Row 0 of HIV is left out: row i of the file is molecule i - 1."""
    data = find("molhiv").read("", folder)
    assert len(data.complexes) == len(SMILES)
    assert torch.equal(data.part, (torch.arange(len(SMILES)) + 1) // 5 % 3)
    assert data.y[:, 0].tolist() == [float("O" in one) for one in SMILES]


def test_packed_experiments_need_no_csv(folder, tmp_path, monkeypatch):
    monkeypatch.delenv("MPSN_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    (tmp_path / "zinc").mkdir()
    with pytest.raises(MPSNError, match="found none"):
        reproduce("zinc", quick=True, data=tmp_path, out=tmp_path / "runs", models=["gin"])
    pack("zinc", tmp_path / "zinc" / "zinc12k.npz", data=folder)
    results = [
        reproduce("zinc", quick=True, data=place, out=tmp_path / place.name, models=["gin"])
        for place in (tmp_path, folder)
    ]
    runs = [[record.runs for record in result.records] for result in results]
    assert runs[0] == runs[1]


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        ("molecules/ogbg_molhiv_scaffold_val.txt", "1\n2", "in none"),
        ("molecules/ogbg_molhiv_scaffold_val.txt", "one", "Expected row numbers"),
        ("counting/regular5000_val.txt", "100", "Expected row numbers"),
    ],
)
def test_broken_splits_are_refused(folder, tmp_path, file, text, said):
    for path in folder.glob("*/*"):
        copy = tmp_path / path.relative_to(folder)
        copy.parent.mkdir(exist_ok=True)
        copy.write_bytes(path.read_bytes())
    (tmp_path / file).write_text(text)
    name, source = ("molhiv", "") if "hiv" in file else ("counting", "rings")
    with pytest.raises(FileError, match=said):
        find(name).read(source, tmp_path)


def test_limits(molecules):
    few = molecules.limited(4)
    assert [len(part) for part in few.parts.values()] == [4, 4, 4]
    assert few.molecules == [SMILES[i] for i in range(14) if i % 5 != 4]
    assert molecules.limited(None) is molecules
    config = GraphLevelConfig(**NETWORKS["cin"], train=CosineTraining())
    quick = config.quick()
    assert quick == replace(config, cin=quick.cin, train=CosineTraining(3), limit=1000)
    assert few.parts["train"].tolist() == [0, 1, 2, 3]
