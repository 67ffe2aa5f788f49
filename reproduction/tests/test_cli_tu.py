"""mpsn reproduce tu and mpsn tune tu: rows chosen, tables printed, gone on with."""

import json
import zipfile

import networkx as nx
import pytest

from mpsn.datasets import TU_SETS
from mpsn_reproduction.papers.tu_table import MODELS
from tu_files import members, reddit_like, write_zip

NAME = "REDDIT-MULTI-5K"


@pytest.fixture
def options(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    graphs, classes = reddit_like(50)
    write_zip(tmp_path / f"data/tu/{NAME}.zip", members(NAME, graphs, classes))
    return "--data", tmp_path / "data", "--out", tmp_path / "runs"


def test_a_table_of_one_data_set(mpsn, options, tmp_path):
    chosen = "--dataset", NAME, "--model", "gin,wl-kernel", "--quick", "--seeds", 1
    code, out, _ = mpsn("reproduce", "tu", *chosen, *options)
    assert code == 0
    assert "57.5 ± 1.5" in out  # quoted, beside ours
    assert "SWL kernel" not in out
    assert (tmp_path / "runs/tu-quick/figures/tu_curves.png").exists()
    code, out, _ = mpsn("reproduce", "tu", *chosen, *options, "--json")
    values = json.loads(out)
    assert [run["row"] for run in values["runs"]] == [
        "reddit-multi-5k-gin",
        "reddit-multi-5k-wl-kernel",
    ]


@pytest.mark.parametrize(
    ("chosen", "said"),
    [
        (("--dataset", "IMDB-BINRY"), "Did you mean IMDB-BINARY"),
        (("--model", "sim"), "propagation-kernel, got 'sim'. Did you mean sin"),
    ],
)
def test_unknown_names_are_refused(mpsn, options, chosen, said):
    code, _, err = mpsn("reproduce", "tu", *chosen, *options)
    assert code == 2
    assert said in err


@pytest.fixture
def offline(monkeypatch):
    """Leave no way to a data set but a local copy: nobody listens at the address of downloads."""
    monkeypatch.delenv("MPSN_DATA", raising=False)
    monkeypatch.setattr("mpsn.datasets._tu.SOURCE", "http://127.0.0.1:9")


def test_offline_without_data_it_says_what_to_do(mpsn, offline, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for chosen in ((), ("--dataset", "PROTEINS"), ("--quick", "--json")):
        code, out, err = mpsn("reproduce", "tu", *chosen, "--out", tmp_path / "runs")
        assert (code, out, len(err.splitlines())) == (2, "", 1)
        names = [name for name in TU_SETS if not chosen or name in chosen or "--quick" in chosen]
        assert all(name in err for name in names)
        assert "Expected a data file at DIR/tu/" in err
        assert "pass --data DIR" in err
    assert not list(tmp_path.iterdir())


def test_no_host_is_looked_up_unless_asked(mpsn, options, monkeypatch):
    """Whatever is searched or run, and however it ends."""
    asked = []

    def nobody(url, **_):
        asked.append(url)
        raise OSError("nobody")

    monkeypatch.delenv("MPSN_DATA", raising=False)
    monkeypatch.setattr("urllib.request.urlopen", nobody)
    other = "NCI1" if NAME != "NCI1" else "PROTEINS"
    for command in (
        ("reproduce", "tu", "--dataset", other),
        ("tune", "tu", f"{other.lower()}-sin"),
    ):
        code, _, err = mpsn(*command, *options)
        assert (code, asked) == (2, [])
        assert "--download" in err
        assert mpsn(*command, *options, "--download")[0] == 2
        assert asked.pop().endswith(f"{other}.zip")
        asked.clear()


def test_offline_the_sets_at_hand_are_run_and_the_others_reported(mpsn, offline, options, tmp_path):
    chosen = "--model", "wl-kernel", "--quick", "--seeds", 1
    code, out, _ = mpsn("reproduce", "tu", *chosen, *options)
    assert code == 0
    assert [f"{name} is left out." in out for name in TU_SETS] == [name != NAME for name in TU_SETS]
    assert [path.parent.name for path in (tmp_path / "runs").rglob("*.json")] == [
        f"{NAME.lower()}-wl-kernel"
    ]
    assert not (tmp_path / "cache").exists()


def test_a_search(mpsn, options, tmp_path):
    (tmp_path / "grid.toml").write_text(
        "batch_size = [16]\nhidden = [4]\ndropout = [0.0]\nlr = [0.01, 0.001]\n"
        "decay_every = [20]\ndecay = [0.5]\nlayers = [1]\n"
    )
    chosen = "--grid", tmp_path / "grid.toml", "--epochs", "1,2", "--folds", 1
    code, out, _ = mpsn("tune", "tu", "reddit-multi-5k-gin", *chosen, *options)
    assert code == 0
    assert "Search for settings of GIN" in out
    code, out, _ = mpsn("tune", "tu", "reddit-multi-5k-gin", *chosen, *options, "--json")
    epochs = [standing["epochs"] for standing in json.loads(out)]
    assert epochs in ([2, 1], [2, 2])  # the second goes on, too, if it is the better one
    code, _, err = mpsn("tune", "tu", "reddit-multi-5k-gin", "--epochs", "1,x", *options)
    assert (code, "comma-separated numbers" in err) == (2, True)


@pytest.mark.parametrize("regression", [False, True])
@pytest.mark.parametrize("folder", [False, True])
def test_any_set_in_the_layout(mpsn, tmp_path, folder, regression):
    """As a zip file given itself, or as a folder among others; classes, or numbers to regress."""
    graphs = [nx.cycle_graph(3 + i % 4) for i in range(20)] + [
        nx.star_graph(4 + i % 4) for i in range(20)
    ]
    more = {"graph_attributes": ["-0.5"] * 20 + ["1e1"] * 20} if regression else {}
    files = members("OWN", graphs, None if regression else [1] * 20 + [2] * 20, **more)
    data = write_zip(tmp_path / "data/OWN.zip", files)
    if folder:
        with zipfile.ZipFile(data) as archive:
            archive.extractall(tmp_path / "data/tu")
        data = tmp_path / "data"
    chosen = "--dataset", "OWN", "--quick", "--seeds", 1, "--data", data, "--out", tmp_path / "runs"
    code, out, err = mpsn("reproduce", "tu", *chosen)
    assert code == 0, err
    for model in MODELS.values():
        assert model in out
    assert ("R² in percent" in out) == regression
    code, out, _ = mpsn("reproduce", "tu", *chosen, "--json")
    scores = {run["row"]: run["honest"] for run in json.loads(out)["runs"]}
    assert set(scores) == {f"own-{model}" for model in MODELS}
    assert scores["own-wl-kernel"] > 0.9
