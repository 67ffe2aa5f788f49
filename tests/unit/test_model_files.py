"""Model files that are not what they should be: refused, with a reason, and nothing is run."""

import json
import pickle

import networkx as nx
import numpy as np
import pytest

import mpsn
from mpsn.errors import FileError, MPSNError
from mpsn.estimators import EdgeFlowClassifier, SimplicialClassifier, SimplicialRegressor, load


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    graphs = [nx.path_graph(n) for n in range(2, 8)] + [nx.cycle_graph(n) for n in range(3, 9)]
    path = tmp_path_factory.mktemp("model") / "model.mpsn"
    model = SimplicialClassifier(hidden=4, epochs=1, members=1, device="cpu").fit(
        graphs, [0] * 6 + [1] * 6
    )
    model.save(path)
    return path


def change(saved, target, meta=None, arrays=None):
    """Write a copy of a model with changes to its config and its arrays."""
    with np.load(saved) as file:
        found = {name: file[name] for name in file.files}
    config = json.loads(str(found["meta"]))
    if meta:
        meta(config)
    found["meta"] = np.array(json.dumps(config))
    found |= arrays or {}
    with target.open("wb") as file:
        np.savez(file, **{name: array for name, array in found.items() if array is not None})
    return target


def set_in(*keys, value):
    def apply(config):
        for key in keys[:-1]:
            config = config[key]
        config[keys[-1]] = value

    return apply


WEIGHT = "members.0.convs.0.mlp_upper.0.0.weight"


@pytest.mark.parametrize(
    ("meta", "arrays", "reason"),
    [
        (set_in("format", value=4), None, r"got format 4, written by mpsn .*; update mpsn"),
        (set_in("format", value=1), None, r"older format 1, written by mpsn .*; fit it again"),
        (set_in("kind", value="Trojan"), None, "got 'Trojan'"),
        (set_in("state", "settings", "hidden", value=5), None, "of shape"),
        (set_in("state", "settings", "hidden", value=10**12), None, "damaged"),
        (set_in("state", "settings", "layers", value=10**9), None, "weights of 3000000000 layers"),
        (set_in("state", "settings", "max_dim", value=10**9), None, "weights of"),
        (set_in("state", "settings", "epochs", value="many"), None, "epochs"),
        (set_in("state", "settings", "sudo", value=1), None, "sudo"),
        (set_in("state", "settings", "dropout", value=[1]), None, "damaged"),
        (set_in("state", "features", "columns", value=["one"]), None, "columns"),
        (set_in("state", "features", "columns", 0, 0, "kinds", value=[[1]]), None, "kinds"),
        (set_in("state", "features", "columns", value=[]), None, "dimensions 0 to 2"),
        (set_in("state", "features", "source", value="web"), None, "source"),
        (set_in("state", "targets", "classes", value=[1, 1]), None, "different classes"),
        (set_in("state", "histories", 0, "best", value="last"), None, "best"),
        (set_in("state", "histories", value=[]), None, "missing or too many"),
        (set_in("state", "share", value=2.0), None, "a share from 0 to 1"),
        (set_in("state", "share", value=0.0), None, "weights of a kernel"),
        (set_in("state", "scores", value={"this model": "good"}), None, "scores"),
        (None, {"kernel.weight": None}, "damaged"),
        (None, {"kernel.weight": np.ones((3, 2), np.float32)}, "weights of .* colors"),
        (None, {"kernel.colors": np.arange(3)[::-1].copy()}, "signatures"),
        (None, {"kernel.start": np.array([99])}, "start"),
        (None, {WEIGHT: None}, "missing or too many"),
        (None, {"extra": np.ones(3)}, "missing or too many"),
        (None, {WEIGHT: np.ones((4, 9), np.float32)}, "of shape"),
        (None, {WEIGHT: np.ones((4, 2), np.float64)}, "float64"),
        (None, {WEIGHT: np.full((4, 2), np.nan, np.float32)}, "NaN or infinity in members"),
        (None, {"meta": np.array("{")}, "damaged"),
        (None, {"meta": np.array("[]")}, "damaged"),
        (None, {"meta": None}, "damaged"),
    ],
)
def test_changed_files_are_refused(saved, tmp_path, meta, arrays, reason):
    with pytest.raises(FileError, match=reason):
        load(change(saved, tmp_path / "changed.mpsn", meta, arrays))


def test_an_unchanged_copy_is_read(saved, tmp_path):
    assert load(change(saved, tmp_path / "copy.mpsn")).summary() == load(saved).summary()


def test_weights_of_classes_keep_their_names(saved, tmp_path):
    model = load(saved).set_params(class_weight={0: 1.0, 1: 2.0})
    model.save(tmp_path / "weighted.mpsn")
    assert load(tmp_path / "weighted.mpsn").class_weight == {0: 1.0, 1: 2.0}


def test_nothing_in_a_file_is_run(saved, tmp_path):
    class Trap:
        def __reduce__(self):
            return (tmp_path.joinpath("ran").touch, ())

    path = tmp_path / "trap.mpsn"
    path.write_bytes(pickle.dumps(Trap()))
    with pytest.raises(FileError, match="damaged"):
        load(path)
    trap = np.array([Trap()], dtype=object)
    with pytest.raises(FileError, match="damaged"):
        load(change(saved, path, arrays={WEIGHT: trap}))
    assert not (tmp_path / "ran").exists()


def test_other_files(saved, tmp_path):
    with pytest.raises(FileError, match="found none"):
        load(tmp_path / "none.mpsn")
    for kind in (SimplicialRegressor, EdgeFlowClassifier):
        with pytest.raises(FileError, match=f"Expected a {kind.__name__}"):
            kind.load(saved)
    cut = tmp_path / "cut.mpsn"
    cut.write_bytes(saved.read_bytes()[:-100])
    with pytest.raises(FileError, match="damaged"):
        load(cut)
    with pytest.raises(FileError, match="Expected to write a model"):
        load(saved).save(tmp_path / "no" / "folder.mpsn")


def test_classes_that_json_cannot_hold(tmp_path):
    graphs = [nx.path_graph(n) for n in (2, 3, 4, 5)]
    model = SimplicialClassifier(hidden=4, epochs=1, device="cpu", members=1, features="constant")
    model.fit(graphs, np.array(["2020", "2021", "2020", "2021"], dtype="datetime64[Y]").astype(str))
    model.save(tmp_path / "years.mpsn")
    assert load(tmp_path / "years.mpsn").classes_.tolist() == ["2020", "2021"]
    model.set_params(class_weight={0: object()})
    with pytest.raises(MPSNError, match="JSON"):
        model.save(tmp_path / "odd.mpsn")


NORM = "members.0.convs.0.mlp_boundary.0.1.norm.running_var"


@pytest.mark.parametrize(
    ("meta", "arrays", "reason"),
    [
        (set_in("state", "settings", "batch_size", value=0), None, "batch_size"),
        (set_in("state", "features", "columns", 0, value=[]), None, "in_channels"),
        (
            set_in("state", "features", "columns", 0, 0, "kinds", value=list(range(10**5))),
            None,
            "at most 65536",
        ),
        (set_in("state", "targets", "classes", value=["\ud800", "b"]), None, "surrogates"),
        (set_in("state", "settings", "learning_rate", value=10**400), None, "finite numbers"),
        (set_in("state", "settings", "dropout", value=float("inf")), None, "finite numbers"),
        (None, {NORM: np.full(4, -1, np.float32)}, "variances from 0 on"),
    ],
)
def test_numbers_that_cannot_be_are_refused(saved, tmp_path, meta, arrays, reason):
    with pytest.raises(FileError, match=reason):
        load(change(saved, tmp_path / "changed.mpsn", meta, arrays))


def test_a_network_is_no_larger_than_its_weights(saved, tmp_path, monkeypatch):
    """Members, layers and dimensions each within bounds, but not their product."""

    def hundred(config):
        config["state"]["settings"] |= {"members": 100, "layers": 100, "max_dim": 100}
        config["state"]["histories"] *= 100

    def made(*_):
        raise AssertionError("a network was made")

    extra = {f"more{i}": np.zeros(1, np.float32) for i in range(200)}
    path = change(saved, tmp_path / "large.mpsn", hundred, extra)
    monkeypatch.setattr("mpsn.estimators._base.SIN", made)
    with pytest.raises(FileError, match="weights of 1010000 layers of width 4"):
        load(path)
    wide = change(saved, path, set_in("state", "settings", "hidden", value=100))
    with pytest.raises(FileError, match="layers of width 100, got 1"):
        load(wide)


def test_a_complex_in_a_model_has_few_dimensions(tmp_path):
    K = mpsn.clique_complex(nx.cycle_graph(3))
    model = EdgeFlowClassifier(K, hidden=2, layers=1, epochs=1, device="cpu")
    model.fit(np.eye(3), [0, 1, 0]).save(tmp_path / "flows.mpsn")
    for name in ("x_300000000", "faces_999", "signs_1000"):
        arrays = {f"complex.{name}": np.zeros((0, 1), np.int64)}
        with pytest.raises(FileError, match="damaged"):
            load(change(tmp_path / "flows.mpsn", tmp_path / "far.mpsn", arrays=arrays))
    none = set_in("state", "settings", "batch_size", value=0)
    with pytest.raises(FileError, match="batch_size"):
        load(change(tmp_path / "flows.mpsn", tmp_path / "none.mpsn", none))


def test_large_batches_are_one(saved, tmp_path):
    change_batch = set_in("state", "settings", "batch_size", value=2**70)
    model = load(change(saved, tmp_path / "batch.mpsn", change_batch))
    graphs = [nx.path_graph(4)] * 3
    assert np.array_equal(model.predict_proba(graphs), load(saved).predict_proba(graphs))


def test_weights_too_large_for_floats(saved, tmp_path):
    """Never NaN as a probability, nor the first class because of it."""
    huge = {
        name: np.full_like(array, 3e38)
        for name, array in np.load(saved).items()
        if name.endswith("weight") and "norm" not in name
    }
    model = load(change(saved, tmp_path / "huge.mpsn", arrays=huge))
    for call in (model.predict, model.predict_proba):
        with pytest.raises(MPSNError, match="finite outputs of the network, got NaN or infinity"):
            call([nx.path_graph(3)])
    with pytest.raises(MPSNError, match="finite outputs"):
        model.explain(nx.path_graph(3), target=0)


@pytest.mark.parametrize(
    ("key", "value"), [("scale", [0.0]), ("scale", [1e308]), ("mean", [1e300])]
)
def test_targets_beyond_floats_in_a_file(tmp_path, key, value):
    graphs = [nx.path_graph(n) for n in (2, 3, 4, 5)]
    model = SimplicialRegressor(hidden=2, epochs=1, members=1, device="cpu")
    model.fit(graphs, [1.0, 2, 3, 4]).save(tmp_path / "model.mpsn")
    changed = set_in("state", "targets", key, value=value)
    with pytest.raises(FileError, match="targets y of size up to"):
        load(change(tmp_path / "model.mpsn", tmp_path / "changed.mpsn", changed))
