"""`mpsn distinguish` as a user runs it."""

import json
import re

import networkx as nx

from mpsn.datasets import NAMED_GRAPHS, strongly_regular
from mpsn.errors import TooLargeError
from mpsn.wl import TESTS
from mpsn.wl._ladder import LADDER


def row(out, test):
    """Return the cells of the table's row for a test."""
    line = next(line for line in out.splitlines() if line.startswith(f"│ {test} "))
    return [cell.strip() for cell in line.strip("│").split("│")]


def test_table_of_two_built_in_graphs(mpsn):
    code, out, _ = mpsn("distinguish", "rook4x4", "shrikhande")
    assert code == 0
    assert "rook4x4 and shrikhande" in out
    assert row(out, "swl") == ["swl", "distinguished", "0", "3", "2"]
    for test in ("wl", "2-wl", "3-wl", "2-fwl"):
        assert row(out, test) == [test, "indistinguishable", "", "", "2"]
    assert "truth: not isomorphic" in out


def test_json_of_two_files(mpsn, tmp_path):
    nx.write_graph6(nx.path_graph(4), tmp_path / "path.g6")
    nx.write_edgelist(nx.star_graph(3), tmp_path / "star.edgelist", data=False)
    code, out, _ = mpsn(
        "distinguish",
        tmp_path / "path.g6",
        tmp_path / "star.edgelist",
        "--tests",
        "wl, swl",
        "--json",
    )
    found = json.loads(out)
    assert code == 0
    assert found["isomorphic"] is False
    assert found["tests"][0] == {
        "test": "wl", "distinguished": True, "round": 1, "dim": 0, "note": "", "refinements": 2
    }  # fmt: skip
    assert [verdict["test"] for verdict in found["tests"]] == ["wl", "swl"]


def test_a_graph_and_itself(mpsn):
    code, out, _ = mpsn("distinguish", "decalin", "decalin")
    assert code == 0
    assert "truth: isomorphic" in out
    assert "distinguished" not in out


def test_max_dim(mpsn):
    _, out, _ = mpsn("distinguish", "rook4x4", "shrikhande", "--tests", "swl", "--max-dim", 1)
    assert row(out, "swl") == ["swl", "indistinguishable", "", "", "2"]


def test_marks_and_depth_say_what_they_cost(mpsn):
    tests = "marked-wl,twice-marked-wl,depth-4"
    _, out, _ = mpsn("distinguish", "rook4x4", "shrikhande", "--tests", tests)
    assert row(out, "marked-wl") == ["marked-wl", "indistinguishable", "", "", "32"]
    assert row(out, "twice-marked-wl")[1:] == ["distinguished", "2", "", "582"]
    assert row(out, "depth-4") == ["depth-4", "distinguished", "2", "", "358"]


def test_classes_of_a_file(mpsn, tmp_path):
    family = [nx.Graph(graph.edge_index.T.tolist()) for graph in strongly_regular(28, 12, 6, 4)]
    twice = [*family, nx.relabel_nodes(family[2], {v: 27 - v for v in range(28)})]
    path = tmp_path / "family.g6"
    path.write_bytes(b"".join(nx.to_graph6_bytes(G, sorted(G), header=False) for G in twice))
    code, out, _ = mpsn("distinguish", path, "--tests", "wl,2-fwl,swl")
    assert code == 0
    assert row(out, "wl") == ["wl", "1", "10", "0 1 2 3 4"]
    assert row(out, "swl") == ["swl", "4", "1", "2 4"]
    assert "truth: 4 classes up to isomorphism" in out
    code, out, _ = mpsn("distinguish", path, "--tests", "2-fwl,swl", "--json")
    found = json.loads(out)
    assert found["graphs"] == 5
    assert found["tests"][0]["classes"] == [[0, 1, 2, 3, 4]]
    assert found["tests"][0]["pairs"] == 10
    assert found["tests"][1]["classes"] == found["isomorphic"] == [[0], [1], [2, 4], [3]]


def test_large_graphs_are_compared_by_what_fits(mpsn, tmp_path):
    for name, seed in (("one", 1), ("two", 2)):
        graph = nx.gnm_random_graph(3000, 4000, seed=seed)
        nx.write_edgelist(graph, tmp_path / f"{name}.txt", data=False)
    code, out, _ = mpsn(
        "distinguish", tmp_path / "one.txt", tmp_path / "two.txt", "--tests", "wl,3-wl"
    )
    assert code == 0
    assert row(out, "wl")[1] == "distinguished"
    assert row(out, "3-wl")[1] == "not run"
    assert "3-wl: Expected tables of at most" in out
    assert "truth: too large to check" in out


def test_a_test_too_large_for_a_file(mpsn, tmp_path):
    path = tmp_path / "paths.g6"
    path.write_bytes(b"".join(nx.to_graph6_bytes(nx.path_graph(n), header=False) for n in (3, 600)))
    code, out, _ = mpsn("distinguish", path, "--tests", "wl,3-fwl")
    assert code == 0
    assert row(out, "3-fwl") == ["3-fwl", "not run", "", ""]
    assert "3-fwl: Expected tables of at most" in out
    assert "truth: too large to check" in out


def test_empty_names_are_ignored(mpsn):
    code, out, _ = mpsn(
        "distinguish", "decalin", "bicyclopentyl", "--tests", "wl,", "--lift", "rings,"
    )
    assert code == 0
    assert row(out, "rings")[1] == "distinguished"


def test_plot(mpsn, tmp_path):
    code, _, _ = mpsn("distinguish", "hexagon", "two-triangles", "--plot", tmp_path / "pair.png")
    assert code == 0
    assert (tmp_path / "pair.png").read_bytes().startswith(b"\x89PNG")
    code, _, err = mpsn("distinguish", "hexagon", "prism", "--plot", tmp_path / "pair.xyz")
    assert code == 2
    assert "Expected to write a picture" in err


def test_errors_are_one_line_and_exit_2(mpsn, tmp_path):
    path = tmp_path / "two.g6"
    path.write_bytes(b"".join(nx.to_graph6_bytes(nx.path_graph(n), header=False) for n in (2, 3)))
    empty = tmp_path / "empty.g6"
    nx.write_graph6(nx.empty_graph(0), empty)
    for arguments, match in [
        (["hexagon"], "name a second graph"),
        (["hexagon", "hexagn"], "built-in graph (hexagon, two-triangles, rook4x4"),
        (["hexagon", "hexagn"], "Did you mean hexagon?"),
        (["hexagon", "prism", "--tests", "wl,swll"], "Did you mean swl"),
        ([path, "hexagon"], "Expected one graph in"),
        ([path, "--plot", "x.png"], "two graphs to compare and plot"),
        (["hexagon", "prism", "--tests", "wl,4-wl"], "swl-all, rings, cliques+rings"),
        (["hexagon", "prism", "--lift", "ring"], "got ring. Did you mean rings"),
        (["hexagon", "prism", "--lift", "rings", "--max-ring", 2], "Expected max_ring"),
        (["hexagon", "prism", "--max-ring", 5], "these tests without --max-ring"),
        (["hexagon", empty], "at least one vertex"),
        (
            ["hexagon", "prism", "--tests", "wl", "--max-dim", -3],
            "Expected max_dim as an integer >= 0",
        ),
        ([path, "--tests", "wl", "--max-dim", -3], "Expected max_dim as an integer >= 0"),
        (["a[/b].g6", "[red]prism"], "got 'a[/b].g6'"),
    ]:
        code, out, err = mpsn("distinguish", *arguments)
        assert (code, out) == (2, "")
        assert match in err
        assert err.count("\n") == 1


def test_brackets_in_file_names_are_no_markup(mpsn, tmp_path):
    odd = tmp_path / "a[" / "[red]b].g6"
    odd.parent.mkdir()
    nx.write_graph6(nx.path_graph(3), odd)
    code, out, _ = mpsn("distinguish", odd, odd, "--tests", "wl")
    assert code == 0
    assert "[red]b].g6 and [red]b].g6" in out
    odd.write_bytes(odd.read_bytes() * 2)
    code, out, _ = mpsn("distinguish", odd, "--tests", "wl")
    assert code == 0
    assert "[red]b].g6: 2 graphs" in out


def test_brackets_in_notes_are_no_markup(mpsn, monkeypatch):
    def too_large(*_):
        raise TooLargeError("Expected less, got [/b] more")

    monkeypatch.setitem(TESTS, "3-wl", too_large)
    code, out, _ = mpsn("distinguish", "hexagon", "prism", "--tests", "3-wl")
    assert code == 0
    assert "3-wl: Expected less, got [/b] more" in out


def test_lifts_are_rows_of_their_own(mpsn):
    """The paper's appendix: the rings of decalin and bicyclopentyl are told apart."""
    arguments = ["decalin", "bicyclopentyl", "--tests", "wl,swl", "--lift", "rings,cubes", "--json"]
    code, out, _ = mpsn("distinguish", *arguments)
    assert code == 0
    found = {row["test"]: row["distinguished"] for row in json.loads(out)["tests"]}
    assert found == {"wl": False, "swl": False, "rings": True, "cubes": False}
    code, out, _ = mpsn("distinguish", *arguments, "--max-ring", 4)
    assert not any(row["distinguished"] for row in json.loads(out)["tests"])


def test_help_teaches(mpsn):
    code, out, _ = mpsn("distinguish", "--help")
    assert code == 0
    assert "mpsn distinguish rook4x4 shrikhande" in out
    assert "3-WL = 2-FWL" in out
    out = re.sub(r"-\n +", "-", out)  # words may be broken at a hyphen
    words = set(re.findall(r"[\w,+-]*\w", out))
    assert words >= {*TESTS, *NAMED_GRAPHS}
    assert ",".join(LADDER) in out  # the default
