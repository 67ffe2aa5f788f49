"""What commands write and print: errors before the work, full disks, odd terminals, odd names."""

import csv
import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import networkx as nx
import pytest

import toy_experiment
from mpsn.estimators import SimplicialClassifier
from mpsn_reproduction import page as _report
from mpsn_reproduction.catalog import Entry
from mpsn_reproduction.engine import run

ENV = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "OMP_NUM_THREADS": "1"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with two folders of graphs, and a model of them."""
    root = tmp_path_factory.mktemp("graphs")
    for name, p in (("thin", 0.2), ("thick", 0.7)):
        (root / name).mkdir()
        for i in range(3):
            nx.write_graph6(nx.gnp_random_graph(6, p, seed=i), root / name / f"{i}.g6")
    graphs = [nx.path_graph(3), nx.cycle_graph(3)] * 3
    model = SimplicialClassifier(hidden=2, layers=1, members=1, epochs=1, device="cpu")
    model.fit(graphs, ["=1+2", "\x1b[31mred"] * 3).save(root / "model.mpsn")
    return root


@pytest.fixture
def runs(tmp_path, monkeypatch):
    """Return a folder of records of the toy experiment."""
    monkeypatch.setattr(_report, "CATALOG", {"toy": Entry("Toys.")})
    monkeypatch.setitem(sys.modules, "mpsn_reproduction.papers.toy", toy_experiment)
    run(toy_experiment.EXPERIMENT, {"a": toy_experiment.ToyConfig(1.0)}, 1, out=tmp_path / "r/toy")
    return tmp_path / "r"


def commands(folder, runs, out):
    """Return every command that writes a file, with the option that names it last."""
    train = "fit", folder / "thin", folder / "thick", "--device", "cpu", "--epochs", 1
    return {
        "fit": (*train, "-o", out),
        "predict": ("predict", folder / "model.mpsn", folder / "thin", "-o", out),
        "report": ("report", runs, "-o", out),
        "show": ("show", "hexagon", "--plot", out),
        "show page": ("show", "hexagon", "--html", out),
        "explain": ("show", folder / "model.mpsn", "hexagon", "--plot", out),
        "explain page": ("show", folder / "model.mpsn", "hexagon", "--html", out),
        "distinguish": ("distinguish", "hexagon", "prism", "--tests", "wl", "--plot", out),
    }


WRITING = list(commands(Path(), Path(), Path()))


def fail(number):
    def failing(*_, **__):
        raise OSError(number, os.strerror(number))

    return failing


@pytest.mark.parametrize("command", WRITING)
def test_a_full_disk_is_one_line_and_the_old_file_stays(
    mpsn, folder, runs, tmp_path, monkeypatch, command
):
    out = tmp_path / "out" / "file.png"
    out.parent.mkdir()
    out.write_text("old")
    monkeypatch.setattr(os, "fsync", fail(errno.ENOSPC))
    code, printed, err = mpsn(*commands(folder, runs, out)[command])
    assert code == 2
    assert err.startswith("error: Expected to write")
    assert "No space left on device" in err
    assert "Traceback" not in err
    assert out.read_text() == "old"
    assert list(out.parent.iterdir()) == [out]
    if command.startswith(("show", "explain", "distinguish")):
        assert printed  # the table is there all the same
    else:
        assert printed == ""


@pytest.mark.parametrize("command", WRITING)
def test_folders_are_checked_before_the_work(mpsn, folder, runs, tmp_path, monkeypatch, command):
    def refuse(*_, **__):
        raise AssertionError("it worked first")

    work = (
        "SimplicialClassifier.fit",
        "SimplicialClassifier._outputs",
        "SimplicialClassifier.explain",
    )
    for name in (*(f"mpsn.estimators.{one}" for one in work), "mpsn.wl.compare"):
        monkeypatch.setattr(name, refuse)
    monkeypatch.setattr("mpsn_reproduction.page.sections", refuse)
    monkeypatch.setattr("mpsn.lifting.clique_complexes", refuse)
    (tmp_path / "file").write_text("precious")
    for out in (tmp_path / "file" / "below", tmp_path):
        code, printed, err = mpsn(*commands(folder, runs, out)[command])
        assert (code, printed) == (2, "")
        assert err.startswith("error: Expected to write")
    monkeypatch.setattr(os, "open", fail(errno.EROFS))
    code, printed, err = mpsn(*commands(folder, runs, tmp_path / "new")[command])
    assert (code, printed) == (2, "")
    assert "Read-only file system" in err
    assert (tmp_path / "file").read_text() == "precious"


def test_pages_hold_attributes_and_contributions(mpsn, folder, tmp_path):
    graph = nx.Graph([("a", "b"), ("b", "c")])
    nx.set_node_attributes(graph, {"a": 3, "b": 4, "c": 5}, "age")
    nx.set_edge_attributes(graph, {("a", "b"): "old"}, "kind")
    nx.write_graphml(graph, tmp_path / "family.graphml")
    page = tmp_path / "page.html"
    code, out, _ = mpsn("show", tmp_path / "family.graphml", "--html", page)
    assert code == 0
    assert f"page: {page}" in out
    assert r'["vertex a\nage 3", "vertex b\nage 4"' in page.read_text()
    assert r'["edge a, b\nkind old", "edge b, c"]' in page.read_text()
    assert '"values": null' in page.read_text()
    code, out, _ = mpsn("show", folder / "model.mpsn", "hexagon", "--html", page, "--json")
    assert code == 0
    assert json.loads(out)["page"] == str(page)
    assert '"values": [[' in page.read_text()


@pytest.mark.parametrize("number", ["-5", "4294967296"])
def test_seeds_out_of_range(mpsn, folder, tmp_path, number):
    code, _, err = mpsn(
        "fit", folder / "thin", folder / "thick", "-o", tmp_path / "m", "--seed", number
    )
    assert code == 2
    assert "Invalid value for '--seed'" in err


@pytest.mark.parametrize(
    ("grid", "said"),
    [
        ("lr = []", "some values for all settings"),
        ("lr = [nan]", "Expected lr as a number above 0, got nan"),
        ("dropout = [nan]", "Expected dropout to be a number"),
        ("hidden = [1000000000000]", "Expected hidden up to 10,000"),
        (f"lr = [{'0.1, ' * 9999}]", "at most 10,000 combinations"),
        (f"lr = {'[' * 9999}{']' * 9999}", "Expected a TOML file"),
        (f"lr = [1{'0' * 400}]", "lr of type float"),
    ],
    ids=["empty", "nan", "rate", "wide", "many", "deep", "large"],
)
def test_grids_that_cannot_be_searched(mpsn, tmp_path, grid, said):
    path = tmp_path / "grid.toml"
    path.write_text(grid)
    code, _, err = mpsn("tune", "tu", "imdb-binary-sin", "--grid", path, "--out", tmp_path / "runs")
    assert code == 2
    assert err.startswith("error: Expected")
    assert said in err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
@pytest.mark.parametrize("arguments", [["show", "hexagon"], ["--version"], ["--help"]])
def test_printing_to_a_full_disk(arguments):
    """A table, which is flushed; a line, which waits for the end, as JSON does; typer's own."""
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "mpsn", *arguments],
            env=ENV,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 2
    assert done.stderr == "error: [Errno 28] No space left on device\n"


def test_printing_to_nobody():
    done = subprocess.run(
        f"{sys.executable} -m mpsn --version | true; exit ${{PIPESTATUS[0]}}",
        env=ENV,
        shell=True,
        executable="/bin/bash",
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) in [(1, ""), (0, "")]  # as fast as the reader


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&- >&- 2>&-"])
def test_streams_that_are_closed(tmp_path, closed):
    """What is printed is lost; no file that is opened later gets the number of the stream."""
    out = tmp_path / "a.png"
    command = f"{sys.executable} -m mpsn show hexagon --plot {out} {closed}"
    done = subprocess.run(command, env=ENV, shell=True, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert out.read_bytes().startswith(b"\x89PNG")


BOTH = """
import sys
from mpsn.cli import main
model, path = sys.argv[1:]
for arguments in (["lift", path], ["predict", model, path]):
    sys.argv = ["mpsn", *arguments]
    try:
        main()
    except SystemExit as ending:
        assert not ending.code
"""


def test_an_ascii_terminal(folder):
    path = folder / "é.g6"
    nx.write_graph6(nx.path_graph(3), path)
    ascii_only = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = subprocess.run(
        [sys.executable, "-c", BOTH, folder / "model.mpsn", path],
        env=ENV | ascii_only | {"PYTHONIOENCODING": "ascii"},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.isascii()
    assert done.stdout.count(b".g6") == 2
    assert b"Traceback" not in done.stderr
    path.unlink()


def test_names_command_neither_terminals_nor_spreadsheets(mpsn, folder, tmp_path):
    data = tmp_path / "data"
    data.mkdir()
    for name in ("=cmd|x", "@sum", "+1", "-2", "plain", "\x1b[2Jgone"):
        nx.write_graph6(nx.path_graph(3), data / f"{name}.g6")
    code, out, _ = mpsn("predict", folder / "model.mpsn", data)
    assert code == 0
    assert "\x1b" not in out
    rows = list(csv.reader(out.splitlines()))
    cells = [cell for row in rows for cell in row]
    assert {"'=cmd|x.g6", "'@sum.g6", "'+1.g6", "'-2.g6", "plain.g6", r"\x1b[2Jgone.g6"} <= {*cells}
    assert "'=1+2" in cells or r"\x1b[31mred" in cells
    assert not [cell for cell in cells if cell.startswith(("=", "+", "-", "@"))]
    code, out, _ = mpsn("predict", folder / "model.mpsn", data, "--json")
    assert {json.loads(line)["graph"] for line in out.splitlines()} >= {
        "=cmd|x.g6",
        "\x1b[2Jgone.g6",
    }
    for arguments in (
        ("show", folder / "model.mpsn"),
        ("show", data / "\x1b[2Jgone.g6"),
        ("lift", data / "\x1b[2Jgone.g6"),
        ("show", tmp_path / "\x1b[2Jgone"),
    ):
        _, out, err = mpsn(*arguments)
        assert "\x1b" not in out + err
        assert r"\x1b" in out + err


def test_graphs_of_folders_and_names(mpsn, folder):
    code, out, _ = mpsn("lift", folder / "thin", "--json")
    assert code == 0
    assert len(json.loads(out)["graphs"]) == 3
    code, out, _ = mpsn("lift", "hexagon", "--json")
    assert json.loads(out)["graphs"][0]["counts"] == [6, 6]
    code, out, _ = mpsn("distinguish", folder / "thick", "--tests", "wl, swl", "--json")
    assert code == 0
    assert json.loads(out)["graphs"] == 3
    assert [row["test"] for row in json.loads(out)["tests"]] == ["wl", "swl"]


def test_dimensions_of_what_is_shown(mpsn):
    assert json.loads(mpsn("show", "rook4x4", "--json")[1])["graphs"][0]["simplices"] == [
        16,
        48,
        32,
        8,
    ]
    out = mpsn("show", "rook4x4", "--json", "--max-dim", 1)[1]
    assert json.loads(out)["graphs"][0]["simplices"] == [16, 48]


def test_options_that_do_not_apply_are_refused(mpsn, folder, runs, tmp_path):
    page = tmp_path / "page.html"
    for arguments in (
        (folder / "model.mpsn", "--max-dim", 2),
        (runs, "--html", page),
        (runs, "hexagon", "--max-dim", 1),
        ("hexagon", "prism"),
    ):
        code, out, err = mpsn("show", *arguments)
        assert (code, out) == (2, "")
        assert "without --" in err
    code, _, err = mpsn(
        "fit", folder / "thin", folder / "thick", "--target", "age", "-o", tmp_path / "m"
    )
    assert code == 2
    assert "Expected no --target" in err
    assert not page.exists()


def test_pictures_say_where_they_are(mpsn, tmp_path):
    picture = tmp_path / "pair.png"
    call = "distinguish", "hexagon", "prism", "--tests", "wl", "--plot", picture
    assert f"figure: {picture}" in mpsn(*call)[1]
    assert json.loads(mpsn(*call, "--json")[1])["figure"] == str(picture)


def test_the_folder_that_is_printed_can_be_shown_and_reported(mpsn, runs, tmp_path):
    page = tmp_path / "page.html"
    code, out, _ = mpsn("report", runs / "toy", "-o", page, "--json")
    assert code == 0
    assert json.loads(out) == {"report": str(page), "experiments": ["toy"]}
    assert mpsn("show", runs / "toy")[:2] == mpsn("show", runs)[:2]


def test_devices_that_do_not_exist(mpsn, folder, tmp_path):
    train = "fit", folder / "thin", folder / "thick", "-o", tmp_path / "m"
    code, _, err = mpsn(*train, "--device", "gpu")
    assert code == 2
    assert err == (
        "error: Expected a device such as cpu or cuda, got 'gpu'; use 'auto' for a GPU if there is "
        "one.\n"
    )


def test_two_columns_of_labels(mpsn, folder, tmp_path):
    table = tmp_path / "labels.csv"
    table.write_text("graph,age,color\n0,1,red\n1,2,red\n2,3,blue\n")
    train = "fit", folder / "thin", "--labels", table, "-o", tmp_path / "m"
    code, _, err = mpsn(*train)
    assert code == 2
    assert "which column" in err
    assert "age, color; choose it with --target" in err
