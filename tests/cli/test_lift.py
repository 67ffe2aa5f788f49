"""`mpsn lift` as a user runs it."""

import json

import networkx as nx
import numpy as np
import pytest


def test_json(mpsn, tmp_path):
    nx.write_graph6(nx.octahedral_graph(), tmp_path / "octahedron.g6")
    code, out, _ = mpsn("lift", tmp_path / "octahedron.g6", "--json")
    found = json.loads(out)
    assert code == 0
    assert found["graphs"] == [{"counts": [6, 12, 8], "euler": 2, "betti": [1, 0, 1]}]
    assert 0 < found["seconds"] < 60


def test_rings_and_cubes(mpsn, tmp_path):
    nx.write_graph6(nx.cubical_graph(), tmp_path / "cube.g6")
    options = {"rings": ["--max-ring", 4], "cubes": ["--max-dim", 3]}
    counts = {"rings": [8, 12, 6], "cubes": [8, 12, 6, 1]}
    for how, more in options.items():
        code, out, _ = mpsn("lift", tmp_path / "cube.g6", "--lift", how, *more, "--json")
        assert code == 0
        assert json.loads(out)["graphs"][0]["counts"] == counts[how]
    code, _, err = mpsn("lift", tmp_path / "cube.g6", "--lift", "rings", "--max-ring", 2)
    assert code == 2
    assert "max_ring as an integer >= 3" in err


def test_table_and_dimension(mpsn, tmp_path):
    path = tmp_path / "graphs.g6"
    path.write_bytes(b"".join(nx.to_graph6_bytes(nx.complete_graph(n)) for n in range(1, 51)))
    code, out, _ = mpsn("lift", path, "--max-dim", 1)
    assert code == 0
    assert "graphs.g6: 50 graphs" in out
    assert "40 780" in out  # the last row shown: K_40
    assert "... and 10 more; --json prints all" in out
    assert "seconds" in out


def test_errors_are_one_line_and_exit_2(mpsn, tmp_path):
    code, out, err = mpsn("lift", tmp_path / "none.g6")
    assert (code, out) == (2, "")
    assert err.startswith("error: Expected a graph file")
    assert err.count("\n") == 1
    nx.write_graph6(nx.path_graph(2), tmp_path / "path.g6")
    code, _, err = mpsn("lift", tmp_path / "path.g6", "--max-dim", -1)
    assert code == 2
    assert "max_dim as an integer >= 0" in err


def test_help_teaches(mpsn):
    code, out, _ = mpsn("lift", "--help")
    assert code == 0
    assert "Betti numbers" in " ".join(out.split())
    assert "mpsn lift graphs.g6" in out


FILES = {
    "rips": ("points.csv", "x,y\n0,0\n1,0\n0,1\n9,9\n", ["--set", "radius=1.5"], [4, 3, 1]),
    "alpha": ("points.txt", "0 0\n1 0\n0 1\n", [], [3, 3, 1]),
    "hypergraph": ("groups.txt", "ann bob carl dora\nann, eve\n", ["--max-dim", 1], [5, 7]),
    "dowker": ("relation.csv", "1,0\n1,1\n0,1\n", [], [3, 2]),
    "cubical": ("image.tsv", "0\t1\n2\t3\n", [], [9, 12, 4]),
    "mesh": ("one.off", "OFF\n3 1 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n", [], [3, 3, 1]),
    "directed": ("arrows.csv", "source,target\n0,1\n1,0\n1,2\n0,2\n", [], [3, 4, 2]),
    "motifs": ("square.csv", "0,1\n1,2\n2,3\n3,0\n", ["--set", "patterns=[4]"], [4, 4, 1]),
}


@pytest.mark.parametrize("how", FILES)
def test_every_kind_of_data(how, mpsn, tmp_path):
    name, text, options, counts = FILES[how]
    (tmp_path / name).write_text(text)
    code, out, _ = mpsn("lift", tmp_path / name, "--how", how, "--json", *options)
    assert code == 0
    (found,) = json.loads(out)["graphs"]
    assert found["counts"] == counts


def test_points_in_npy(mpsn, tmp_path):
    np.save(tmp_path / "points.npy", np.eye(3))
    code, out, _ = mpsn("lift", tmp_path / "points.npy", "--how", "rips", "--set", "k=1", "--json")
    assert code == 0
    assert json.loads(out)["graphs"][0]["counts"][0] == 3


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("0 0\n", ["--how", "ripss"], "Did you mean rips"),
        ("0 0\n", ["--how", "rips", "--set", "radius"], "Expected --set NAME=VALUE"),
        ("0 0\n", ["--how", "rips", "--set", "radus=1"], "Did you mean radius"),
        ("0 0\n", ["--how", "rips", "--set", "k=1", "--set", "k=2"], "Expected each --set once"),
        ("0 0\n1\n", ["--how", "rips", "--set", "radius=1"], "Expected numbers, a row per point"),
        ("0 0\n", ["--how", "witness"], "Expected --set landmarks=..."),
        ("0 1\n", ["--how", "motifs"], "Expected --set patterns=..."),
        (None, ["--how", "alpha"], "found none"),
    ],
)
def test_data_that_cannot_be_lifted(text, options, message, mpsn, tmp_path):
    path = tmp_path / "points.txt"
    if text is not None:
        path.write_text(text)
    code, _, err = mpsn("lift", path, *options)
    assert code == 2
    assert message in err


def test_no_limit_of_the_dimension(mpsn, tmp_path):
    nx.write_graph6(nx.star_graph(4), tmp_path / "star.g6")
    np.savetxt(tmp_path / "points.txt", np.zeros((4, 2)))
    for name, how, counts in (
        ("star.g6", ["neighborhoods"], [5, 6, 4, 1]),
        ("points.txt", ["rips", "--set", "radius=1"], [4, 6, 4, 1]),
    ):
        _, out, _ = mpsn("lift", tmp_path / name, "--json", "--how", *how)
        assert json.loads(out)["graphs"][0]["counts"] == counts
        _, out, _ = mpsn("lift", tmp_path / name, "--json", "--max-dim", 1, "--how", *how)
        assert json.loads(out)["graphs"][0]["counts"] == counts[:2]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["K.simplices", "--how", "rings"], "with --how hypergraph or none"),
        (["K.simplices", "--set", "max_dim=1"], "without --set"),
        (["K.off", "--how", "mesh", "--max-dim", 1], "--how mesh without --max-dim"),
        (["points.txt", "--how", "rips", "--set", "radius=wide"], "finite radius >= 0, got 'wide'"),
        (["hexagon", "--how", "motifs", "--set", "patterns=3"], "a list of patterns"),
        (["hexagon", "--how", "rings", "--max-dim", 3], "--how rings without --max-dim"),
        (["hexagon", "--max-ring", 3], "--how cliques without --max-ring"),
        (["fractions.csv"], "if they are points, choose one of their lifts"),
        (["hexagon", "--set", "device=banana"], "such as cpu or cuda, got 'banana'"),
        (["hexagon", "--how", "directed"], "a graph file"),
        (["one.g6", "--how", "directed"], "a directed graph with --how directed, got"),
        (["one.graphml", "--how", "directed"], "a directed graph with --how directed, got"),
    ],
)
def test_options_that_do_not_apply_are_refused(mpsn, tmp_path, options, message):
    (tmp_path / "K.simplices").write_text("a b c\n")
    (tmp_path / "K.off").write_text("OFF\n3 1 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n")
    (tmp_path / "points.txt").write_text("0 0\n1 1\n")
    (tmp_path / "fractions.csv").write_text("0.5,-1.25\n3.0e-01,.5\n")
    nx.write_graph6(nx.path_graph(2), tmp_path / "one.g6")
    nx.write_graphml(nx.path_graph(2), tmp_path / "one.graphml")
    file = options[0] if options[0] == "hexagon" else tmp_path / options[0]
    code, _, err = mpsn("lift", file, *options[1:])
    assert code == 2
    assert message in " ".join(err.split())
    assert err.startswith("error: Expected")
