"""All lifts by name: transforms of PyG, estimators, the command line and the guide."""

import pickle
import re
from dataclasses import FrozenInstanceError
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
import torch
from sklearn.base import clone
from torch_geometric.data import Data
from torch_geometric.transforms import Compose, NormalizeScale

from mpsn import DataLoader, MPSNError, clique_complex, rips_complex
from mpsn.cli._graphs import lift
from mpsn.estimators import SimplicialClassifier, SWLKernel
from mpsn.lifting import LIFTS, Lift, independence_complex, motif_complex

ROOT = Path(__file__).parents[2]
GRAPH = Data(
    x=torch.arange(4.0)[:, None],
    edge_index=torch.tensor([[0, 1, 2, 3, 1, 2, 3, 0], [1, 2, 3, 0, 0, 1, 2, 3]]),
)
POINTS = torch.tensor([[0.0, 0.0], [1.0, 0.0], [1.0, 1.1], [0.0, 1.0]])
SAMPLES = {
    "graph": GRAPH,
    "points": POINTS,
    "mesh": (POINTS, [[0, 1, 2], [0, 2, 3]]),
    "relation": torch.eye(4)[:, :3] + torch.ones(4, 3),
    "image": POINTS,
}
OPTIONS = {"motifs": {"patterns": [4]}, "witness": {"landmarks": 3}, "rips": {"radius": 1.3}}


@pytest.mark.parametrize("how", LIFTS)
def test_every_lift_is_a_transform(how):
    lift = Lift(how, **OPTIONS.get(how, {}))
    K = lift(SAMPLES[LIFTS[how].data])
    assert K.num_nodes >= 3
    (batch,) = DataLoader([K, K], batch_size=2)
    assert batch.num_complexes == 2
    assert lift.many([SAMPLES[LIFTS[how].data]])[0] == K
    assert eval(repr(lift), {"Lift": Lift}) == lift


def test_transforms_compose():
    lift = Compose([NormalizeScale(), Lift("rips", radius=1.0, max_dim=1)])
    data = Data(pos=10 * POINTS, y=torch.tensor([1]))
    assert lift(data) == rips_complex(NormalizeScale()(data), 1.0, 1)


def test_wrong_names():
    with pytest.raises(MPSNError, match=r"got 'ripss'\. Did you mean rips"):
        Lift("ripss")
    with pytest.raises(MPSNError, match=r"options of 'rips' among radius, .*Did you mean radius"):
        Lift("rips", radus=3)
    with pytest.raises(MPSNError, match="lift among cliques, rings"):
        SWLKernel(lift="clicks").fit([nx.path_graph(3)])


def test_kernels_take_other_data_and_directions():
    clouds = [POINTS, 2 * POINTS, POINTS]
    counts = SWLKernel(lift=Lift("rips", radius=1.3)).fit_transform(clouds).toarray()
    assert np.array_equal(*counts[[0, 2]])
    assert not np.array_equal(*counts[:2])
    both, one = nx.cycle_graph(3), nx.DiGraph([(0, 1), (1, 2), (2, 0)])
    counts = SWLKernel(lift="directed", rounds=0).fit_transform([both, one]).toarray()
    assert counts[:, :3].tolist() == [[3, 6, 6], [3, 3, 0]]


def test_settings_of_estimators_reach_lifts_by_name():
    assert Lift.of("independence", max_dim=1, max_ring=6)(nx.empty_graph(4)).dim == 1
    assert Lift.of("independence", max_dim=None)(nx.empty_graph(4)).dim == 3
    assert Lift.of("alpha", max_ring=6)(POINTS).dim == 2
    assert Lift.of("rings", max_dim=3) == Lift("rings")
    assert Lift.of(Lift("cliques", max_dim=1), max_dim=3) == Lift("cliques", max_dim=1)


def circles_and_squares(number):
    rng = torch.Generator().manual_seed(0)
    angle = torch.rand(number, 24, generator=rng) * 2 * torch.pi
    circles = torch.stack([angle.cos(), angle.sin()], dim=2)
    return [*circles, *(torch.rand(number, 24, 2, generator=rng) * 2 - 1)]


def test_estimators_take_points_and_lifts_by_name(tmp_path):
    X, y = circles_and_squares(12), [0] * 12 + [1] * 12
    lift = Lift("rips", radius=0.7)
    model = SimplicialClassifier(lift=lift, kernel=True, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.9
    again = SimplicialClassifier(kernel=True, random_state=0).fit([*map(lift, X)], y)
    assert np.array_equal(model.predict_proba(X), again.predict_proba([*map(lift, X)]))
    assert model.explain(X[0]).complex.counts == lift(X[0]).counts
    graphs = [nx.path_graph(5), nx.cycle_graph(5)] * 6
    named = SimplicialClassifier(lift="independence", kernel=True).fit(graphs, [0, 1] * 6)
    complexes = [independence_complex(graph) for graph in graphs]
    assert named.counts_[1] == sum(K.count(1) for K in complexes)
    named.save(tmp_path / "model.mpsn")
    loaded = SimplicialClassifier.load(tmp_path / "model.mpsn")
    assert np.array_equal(loaded.predict(graphs), named.predict(graphs))


def test_the_guide_lists_every_lift():
    guide = (ROOT / "docs/guides/every_road.md").read_text()
    rows = [re.split(r" *\| *", line)[1:-1] for line in guide.splitlines() if line[:2] == "| "]
    found = {row[2].strip("`"): (row[0], row[3]) for row in rows[1:]}
    assert set(found) == set(LIFTS)
    assert {name: cost for name, (_, cost) in found.items()} == {
        name: road.cost for name, road in LIFTS.items()
    }


def test_the_help_of_the_command_line_lists_every_lift():
    text = re.sub(r"\([^)]*\)", "", lift.__doc__.partition("The lifts of graphs:")[2])
    words = {word.strip(",.:") for word in text.partition("Example")[0].split()}
    assert set(LIFTS) <= words


def test_a_lift_is_a_value():
    rips = Lift("rips", radius=1.3, max_dim=1)
    assert rips == Lift("rips", max_dim=1, radius=1.3) == pickle.loads(pickle.dumps(rips))
    assert hash(rips) == hash(Lift("rips", max_dim=1, radius=1.3))
    assert rips != Lift("rips", radius=1.3)
    assert clone(SWLKernel(lift=rips)).lift == rips
    with pytest.raises(FrozenInstanceError):
        rips.how = "alpha"
    by_hand = Lift(clique_complex, max_dim=1)
    assert repr(by_hand) == "Lift(clique_complex, max_dim=1)"
    assert by_hand(nx.complete_graph(3)).dim == 1


def test_estimators_read_graphs_for_lifts_of_edges():
    """By name or as a value: attributes of vertices, which no complex has, are used."""
    graphs = [nx.gnp_random_graph(6, 0.5, seed=i) for i in range(12)]
    for i, graph in enumerate(graphs):
        nx.set_node_attributes(graph, {v: float(v * i) for v in graph}, "weight")
    settings = {"kernel": False, "epochs": 2, "members": 1, "random_state": 0}
    one, other = (
        SimplicialClassifier(lift=how, max_dim=2, **settings).fit(graphs, [0, 1] * 6)
        for how in ("cliques", Lift("cliques", max_dim=2))
    )
    assert "weight" in str(one.features_.describe())
    assert np.array_equal(one.predict_proba(graphs), other.predict_proba(graphs))


def test_required_options_are_asked_for():
    with pytest.raises(MPSNError, match=r"option 'patterns' of 'motifs'.*Lift\('motifs', pat"):
        Lift("motifs")
    with pytest.raises(MPSNError, match="option 'landmarks' of 'witness'"):
        Lift("witness", radius=1.0)
    model = SimplicialClassifier(lift="motifs")
    with pytest.raises(MPSNError, match="option 'patterns'"):
        model.fit([nx.path_graph(3), nx.cycle_graph(3)], [0, 1])
    with pytest.raises(MPSNError, match=r"list of patterns, such as \[3, 4\] for cycles, got 3"):
        motif_complex(nx.cycle_graph(3), 3)
