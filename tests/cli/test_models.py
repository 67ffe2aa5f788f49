"""`mpsn fit`, `predict` and `show` as a user runs them."""

import csv
import json
import os
import re
import signal
import sys
import time
import tomllib
from pathlib import Path

import networkx as nx
import pytest

import toy_experiment
from mpsn.cli import _predict
from mpsn_reproduction import page as _report
from mpsn_reproduction.catalog import Entry
from mpsn_reproduction.engine import run
from processes import MPSN, finish, start


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Return two folders of GraphML files, one a class."""
    root = tmp_path_factory.mktemp("graphs")
    for name, p in (("thin", 0.2), ("thick", 0.7)):
        (root / name).mkdir()
        for i in range(12):
            graph = nx.gnp_random_graph(8, p, seed=i)
            nx.write_graphml(graph, root / name / f"{i:02}.graphml")
    return root


@pytest.fixture
def saved(mpsn, folders):
    path = folders / "model.mpsn"
    if not path.exists():
        code, out, _ = mpsn(
            "fit",
            folders / "thin",
            folders / "thick",
            "-o",
            path,
            "--epochs",
            15,
            "--device",
            "cpu",
        )
        assert code == 0
        assert "fitted to 24 graphs" in out
        assert f"saved: {path}" in out
    return path


def test_models_of_rings(mpsn, folders, tmp_path):
    where = [folders / "thin", folders / "thick", "-o", tmp_path / "rings.mpsn"]
    code, out, _ = mpsn("fit", *where, "--lift", "rings", "--max-ring", 5, "--epochs", 1)
    assert code == 0
    assert "(rings of up to 5 vertices)" in out
    code, _, err = mpsn("fit", *where, "--max-ring", 5)
    assert code == 2
    assert "Expected --lift cliques without --max-ring" in err
    code, _, err = mpsn("fit", *where, "--kernel", "--epochs", 5)
    assert code == 2
    assert "Expected --kernel without --epochs" in err
    code, _, err = mpsn("fit", *where, "--lift", "triangles", "--epochs", 1)
    assert code == 2
    assert "Expected a lift among cliques, rings, cliques+rings, cubes" in " ".join(err.split())


def test_two_folders_to_predictions(mpsn, folders, saved, tmp_path):
    table = tmp_path / "predictions.csv"
    code, out, _ = mpsn("predict", saved, folders / "thick", "-o", table)
    assert code == 0
    assert "12 predictions" in out
    with table.open() as file:
        rows = list(csv.DictReader(file))
    assert [row["graph"] for row in rows] == [f"{i:02}.graphml" for i in range(12)]
    assert sum(row["prediction"] == "thick" for row in rows) >= 11
    assert float(rows[0]["probability of thick"]) > 0.5
    assert [p.name for p in tmp_path.iterdir()] == ["predictions.csv"]


def test_lines_of_json_and_chunks(mpsn, folders, saved, monkeypatch):
    code, whole, _ = mpsn("predict", saved, folders, "--json")
    assert code == 0
    rows = [json.loads(line) for line in whole.splitlines()]
    assert len(rows) == 24
    assert set(rows[0]) == {"graph", "prediction", "probability of thick", "probability of thin"}
    monkeypatch.setattr(_predict, "CHUNK", 5)
    _, parts, _ = mpsn("predict", saved, folders, "--json", "--device", "cpu")
    again = [json.loads(line) for line in parts.splitlines()]
    assert [row["prediction"] for row in again] == [row["prediction"] for row in rows]
    code, out, err = mpsn("predict", saved, folders, "--device", "abacus")
    assert (code, out) == (2, "")
    assert "got 'abacus'" in err


def test_numbers_from_a_table(mpsn, tmp_path):
    lines = [nx.to_graph6_bytes(nx.path_graph(n), header=False) for n in range(2, 14)]
    (tmp_path / "paths.g6").write_bytes(b"".join(lines))
    rows = "".join(f"paths.g6:{i},{i / 2}\n" for i in range(12))
    (tmp_path / "labels.csv").write_text(f"graph,length\n{rows}")
    command = ["fit", tmp_path / "paths.g6", "--labels", tmp_path / "labels.csv", "--target"]
    options = ["--out", tmp_path / "m.mpsn", "--epochs", 2, "--json"]
    code, out, _ = mpsn(*command, "length", *options)
    assert code == 0
    assert json.loads(out)["graphs"] == 12
    assert json.loads(out)["task"] == "regression"
    code, out, _ = mpsn("predict", tmp_path / "m.mpsn", tmp_path / "paths.g6")
    assert code == 0
    assert out.splitlines()[0] == "graph,prediction"
    assert len(out.splitlines()) == 13
    code, _, err = mpsn(*command, "lenth", *options)
    assert code == 2
    assert "Did you mean length?" in err


def test_kinds_of_features_and_what_is_left_out(mpsn, tmp_path):
    for name in ("young", "old"):
        (tmp_path / name).mkdir()
        for i in range(10):
            graph = nx.gnp_random_graph(8, 0.4, seed=i)
            for v in graph:
                graph.nodes[v].update(age=v % 4 + 50 * (name == "old"), name=f"{name} {i} {v}")
            nx.write_graphml(graph, tmp_path / name / f"{i}.graphml")
    fit = ["fit", tmp_path / "young", tmp_path / "old", "--epochs", 1, "-o", tmp_path / "m.mpsn"]
    code, out, err = mpsn(*fit)
    assert code == 0
    assert "left out: values of 'name' of vertices" in err
    assert "age (one-hot, 8 kinds)" in out
    assert "taken for names" in out
    code, out, _ = mpsn(*fit, "--features", "age=number", "--json")
    assert code == 0
    assert json.loads(out)["features"]["vertices"].startswith("age (a number), degree (one-hot")
    code, out, _ = mpsn(*fit, "--features", "age", "--features", "constant", "--json")
    assert json.loads(out)["features"]["vertices"] == "age (one-hot, 8 kinds), constant (a number)"
    for words, match in [
        (["ag=number"], "Did you mean age?"),
        (["age=color"], "as 'number' or 'category', got 'color'"),
        (["age=number", "degree"], "NAME=KIND for all"),
    ]:
        code, out, err = mpsn(*fit, *(part for word in words for part in ("--features", word)))
        assert (code, out) == (2, "")
        assert match in err


def test_fit_says_how_good_it_is(mpsn, folders, tmp_path):
    plain = ["fit", folders, "-o", tmp_path / "m.mpsn"]
    command = [*plain, "--epochs", 3, "--hidden", 4]
    code, out, _ = mpsn(*command, "--patience", 2, "--class-weight", "balanced", "--cv", 2)
    assert code == 0
    for part in ("accuracy on graphs held out", "majority class 0.", "SWL kernel", "2 folds of"):
        assert part in out
    assert sorted(p.name for p in tmp_path.iterdir()) == ["m.mpsn"]  # no checkpoints are left
    code, out, _ = mpsn(*plain, "--kernel", "--json")
    found = json.loads(out)
    assert (found["epochs"], found["metric"]) == ([], "accuracy")
    assert set(found["held_out"]) == {"this model", "SWL kernel", "majority class"}
    code, out, _ = mpsn(*command, "--no-kernel", "--json")
    assert "SWL kernel" not in json.loads(out)["held_out"]
    for wrong, match in [
        (["--cv", 20], "at least 20 graphs of each class for --cv 20, got 12"),
        (["--class-weight", "heavy"], "Expected --class-weight balanced"),
    ]:
        code, out, err = mpsn(*command, *wrong)
        assert (code, out) == (2, "")
        assert match in err


def test_a_killed_fit_resumes_and_ctrl_c_saves(folders, tmp_path):
    words = ["fit", folders, "--epochs", 100000, "--patience", 100000, "--no-kernel", "-o"]
    code = f"import mpsn.training._resume as r; r.SECONDS = 0; {MPSN}"
    first = start(code, *words, tmp_path / "m.mpsn")
    try:
        wait_for(tmp_path / "m.mpsn.resume0")
    finally:
        first.kill()
        first.join()
    assert not (tmp_path / "m.mpsn").exists()
    before = (tmp_path / "m.mpsn.resume0").stat().st_mtime_ns
    second = start(code, *words, tmp_path / "m.mpsn", said=tmp_path / "said")
    try:
        wait_for(tmp_path / "m.mpsn.resume0", before)
        os.kill(second.pid, signal.SIGINT)
        second.join(60)
    finally:
        second.kill()
        second.join()
    assert second.exitcode == 0
    said = (tmp_path / "said").read_text()
    assert "Training was interrupted; the best of" in said
    assert "run the same command again to go on" in said
    assert (tmp_path / "m.mpsn").exists()


def wait_for(path, after=0):
    end = time.monotonic() + 100
    while not path.exists() or path.stat().st_mtime_ns <= after:
        assert time.monotonic() < end
        time.sleep(0.05)


def test_warnings_are_one_line(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        nx.write_graphml(nx.Graph([(0, 0), (0, 1)]), tmp_path / name / "loop.graphml")
    words = ["fit", tmp_path / "a", tmp_path / "b", "--epochs", 1, "-o", tmp_path / "m.mpsn"]
    said = finish(MPSN, *words, said=tmp_path / "said")
    assert "left out: self-loops (2): the vertices of a simplex are distinct.\n" in said
    assert said.count("self-loops (2)") == 2  # and in the summary


def test_show_a_model_and_an_explanation(mpsn, folders, saved, tmp_path):
    code, out, _ = mpsn("show", saved)
    assert code == 0
    assert "classes thick (12), thin (12)" in out
    graph = folders / "thin" / "00.graphml"
    code, out, _ = mpsn("show", saved, graph, "--plot", tmp_path / "why.png")
    assert code == 0
    assert "all of dimension 0" in out
    assert (tmp_path / "why.png").read_bytes().startswith(b"\x89PNG")
    code, out, _ = mpsn("show", saved, "prism", "--json")
    found = json.loads(out)
    assert code == 0
    assert len(found["dimensions"]) == 3
    assert len(found["simplices"]) == 10


def test_show_graphs(mpsn, tmp_path):
    code, out, _ = mpsn("show", "rook4x4", "--plot", tmp_path / "rook.png")
    assert code == 0
    assert "16 48 32 8" in out
    assert (tmp_path / "rook.png").exists()
    code, out, _ = mpsn("show", "hexagon", "--json")
    assert json.loads(out)["graphs"] == [{"simplices": [6, 6], "holes": [1, 1]}]


def test_show_runs(mpsn, tmp_path, monkeypatch):
    monkeypatch.setattr(_report, "CATALOG", {"toy": Entry("Toys.")})
    monkeypatch.setitem(sys.modules, "mpsn_reproduction.papers.toy", toy_experiment)
    run(toy_experiment.EXPERIMENT, {"a": toy_experiment.ToyConfig(1.0)}, 1, out=tmp_path / "toy")
    code, out, _ = mpsn("show", tmp_path)
    assert code == 0
    assert "Toys & <things>" in out
    assert "A note." in out
    code, out, _ = mpsn("show", tmp_path, "--json")
    assert json.loads(out)["toy"]["columns"] == ["job", "runs"]


def test_errors_are_one_line_and_exit_2(mpsn, folders, saved, tmp_path, monkeypatch):
    monkeypatch.setattr(_report, "CATALOG", {})
    (tmp_path / "empty").mkdir()
    lonely = tmp_path / "lonely.g6"
    nx.write_graph6(nx.path_graph(3), lonely)
    for arguments, match in [
        (["fit", folders / "thn", "-o", tmp_path / "m"], "Did you mean thin?"),
        (["fit", folders / "thin", "-o", tmp_path / "m"], "a label for every graph, got none for"),
        (["fit", folders, "-o", tmp_path / "no" / "m"], "got no folder"),
        (["predict", tmp_path / "none", folders], "Expected a model file"),
        (["predict", lonely, folders], "damaged or of another kind"),
        (["predict", saved, lonely, "-o", tmp_path / "no" / "p.csv"], "Expected to write"),
        (["show", "hexagn"], "Did you mean hexagon?"),
        (["show", tmp_path / "empty"], "a folder without runs"),
        (["show", saved, "--plot", "x.png"], "Expected a graph after"),
    ]:
        code, out, err = mpsn(*arguments)
        assert (code, out) == (2, "")
        assert match in err
        assert err.count("\n") == 1


def test_a_plain_installation_has_all_that_fit_needs():
    """`pip install .` installs the dependencies without extras."""
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    names = {re.split("[^a-z-]", line)[0] for line in project["dependencies"]}
    assert {"torch", "torch-geometric", "scikit-learn", "networkx", "typer"} <= names
    for folder in ("src", "docs"):
        for file in (Path(__file__).parents[2] / folder).rglob("*.*"):
            if file.suffix in (".py", ".md"):
                for extra in re.findall(r"mpsn\[(\w+)\]", file.read_text()):
                    assert extra in project["optional-dependencies"], file


@pytest.mark.parametrize(
    ("rows", "options", "said"),
    [
        ("0.5 1 0.5 1", ["--no-regress"], "Expected classes as labels, got 0.5; drop --no-"),
        ("a b a b", ["--regress"], "Expected numbers as labels, got 'a'; drop --regress"),
        ("1 nan 1 2", [], "Expected a word of at most 1000 characters or a finite number"),
        ("1 1e400 1 2", ["--regress"], "finite number"),
        (" 2 1 2", [], "got an empty one"),
    ],
)
def test_labels_that_cannot_be_learned_are_one_line(mpsn, tmp_path, rows, options, said):
    table = ["graph,y", *(f"{i},{word}" for i, word in enumerate(rows.split(" ")))]
    (tmp_path / "y.csv").write_text("\n".join(table))
    (tmp_path / "graphs").mkdir()
    for i in range(4):
        nx.write_graph6(nx.path_graph(3 + i), tmp_path / f"graphs/{i}.g6")
    given = [tmp_path / "graphs", "--labels", tmp_path / "y.csv", "-o", tmp_path / "m", *options]
    code, out, err = mpsn("fit", *given)
    assert (code, out) == (2, "")
    assert said in " ".join(err.split())
    assert "Traceback" not in err


def test_fit_says_what_was_read_and_left_out(mpsn, tmp_path):
    for kind, make in (("ring", nx.cycle_graph), ("path", nx.path_graph)):
        (tmp_path / kind).mkdir()
        for i in range(4):
            rows = [f"{u},{v},0.5,near" for u, v in make(4 + i).edges]
            text = "\n".join(["source,target,weight,how", *rows, ""])
            (tmp_path / kind / f"{i}.csv").write_text(text)
    given = tmp_path / "ring", tmp_path / "path", "-o", tmp_path / "m", "--epochs", 1
    code, out, err = mpsn("fit", *given)
    assert code == 0, err
    assert "read: 8 graphs, 44 vertices, 40 edges as listed" in out
    assert err.count("left out: Columns how of an edge list") == 1
