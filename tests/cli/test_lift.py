"""`mpsn lift` as a user runs it."""

import json

import networkx as nx


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
