"""Features and targets near the ends of floating point: never read as NaN or infinity."""

import json

import networkx as nx
import numpy as np
import pytest
from typer.testing import CliRunner

import mpsn
from mpsn.cli import app
from mpsn.errors import GraphError, MPSNError
from mpsn.estimators import EdgeFlowClassifier, SimplicialClassifier, SimplicialRegressor

SETTINGS = {"hidden": 4, "epochs": 2, "device": "cpu"}


def weighted(values):
    """Return graphs whose vertices have a number each."""
    graphs = []
    for i, value in enumerate(values):
        graph = nx.path_graph(3 + i % 2)
        nx.set_node_attributes(graph, {v: float(value) * (v + 1) for v in graph}, "mass")
        graphs.append(graph)
    return graphs


@pytest.mark.parametrize("size", [8e38, 1e150, 1e305])
def test_features_far_beyond_those_of_the_fit(tmp_path, size):
    model = SimplicialClassifier(**SETTINGS, members=1).fit(weighted(range(1, 9)), [0, 1] * 4)
    far = weighted([size])
    assert np.isfinite(model.predict_proba(far)).all()
    model.save(tmp_path / "model.mpsn")
    nx.write_graphml(far[0], tmp_path / "far.graphml")
    words = [str(tmp_path / "model.mpsn"), str(tmp_path / "far.graphml"), "--json"]
    done = CliRunner().invoke(app, ["predict", *words])
    rows = [json.loads(line, parse_constant=pytest.fail) for line in done.stdout.splitlines()]
    assert rows[0]["prediction"] == int(model.predict(far)[0])


@pytest.mark.parametrize("size", [1e160, 1e305])
def test_features_whose_deviation_overflows(size):
    graphs = weighted([size, -size] * 4)
    model = SimplicialClassifier(**SETTINGS).fit(graphs, [0, 1] * 4)
    assert np.isfinite(model.predict_proba(graphs)).all()


def test_large_features_in_the_fit():
    """Standardized, they are like others."""
    graphs = weighted([1e100 * i for i in range(1, 9)])
    model = SimplicialClassifier(**SETTINGS, members=1).fit(graphs, [0, 1] * 4)
    small = weighted(range(1, 9))
    same = SimplicialClassifier(**SETTINGS, members=1).fit(small, [0, 1] * 4)
    np.testing.assert_allclose(model.predict_proba(graphs), same.predict_proba(small), rtol=1e-4)


def test_integers_beyond_floats():
    graphs = weighted(range(1, 9))
    for graph in graphs:
        graph.nodes[0]["mass"] = 10**400
    with pytest.raises(GraphError, match="numbers or words in 'mass'"):
        SimplicialClassifier(**SETTINGS, features=["mass"]).fit(
            [nx.disjoint_union_all(weighted(range(1, 40))), *graphs], [0, 1, 2] * 3
        )
    model = SimplicialClassifier(**SETTINGS, members=1).fit(
        weighted(i / 7 for i in range(8)), [0, 1] * 4
    )
    with pytest.raises(GraphError, match="numbers in 'mass' of vertices"):
        model.predict(graphs)


@pytest.mark.parametrize("size", [1e200, 1e308])
def test_targets_that_overflow(size):
    model = SimplicialRegressor(**SETTINGS, members=1, features="degree")
    with pytest.raises(MPSNError, match="targets y of size up to 1e"):
        model.fit(weighted(range(4)), [size, -size, size / 2, 0])
    with pytest.raises(MPSNError, match="numbers as targets"):
        model.fit(weighted(range(2)), [10**400, 0])
    large = model.fit(weighted(range(4)), [1e140, -1e140, 5e139, 0]).predict(weighted(range(4)))
    assert np.isfinite(large).all()
    json.dumps(large.tolist(), allow_nan=False)


@pytest.mark.parametrize("labels", [[0.5, 1.5] * 2, [0, float("nan")] * 2, [10**30, 0] * 2])
def test_classes_that_are_none(labels):
    with pytest.raises(MPSNError, match="targets y that are classes"):
        SimplicialClassifier(**SETTINGS, features="degree").fit(weighted(range(4)), labels)


def test_flows_too_large():
    K = mpsn.clique_complex(nx.cycle_graph(3))
    model = EdgeFlowClassifier(K, **SETTINGS, layers=1).fit(np.eye(3), [0, 1, 0])
    flow = np.array([[3e38, -3e38, 3e38]])
    try:
        assert np.isfinite(model.predict_proba(flow)).all()
    except MPSNError as error:
        assert "finite outputs" in str(error)  # noqa: PT017
