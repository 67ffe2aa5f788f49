"""Lists of simplices and attributes of cells from files."""

import gzip
import json

import pytest
import torch

import mpsn
from mpsn.datasets import is_simplices, read_complex
from mpsn.errors import FileError, LeftOut, TooLargeError

ROWS = [["ann", "bob", "cat"], ["cat", "dan"], ["eve"]]
K = mpsn.SimplicialComplex.from_simplices(ROWS)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("K.txt", "ann bob cat\ncat dan\neve\n"),
        ("K.simplices", "# people\nann, bob,cat\n\n  cat;dan % friends\neve"),
        ("K.json", json.dumps(ROWS)),
        ("K.json", json.dumps({"simplices": ROWS})),
    ],
)
def test_lists(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    assert read_complex(tmp_path / name) == K
    (tmp_path / f"{name}.gz").write_bytes(gzip.compress(text.encode()))
    assert read_complex(tmp_path / f"{name}.gz") == K
    assert is_simplices(tmp_path / name) == (name != "K.txt")


def test_numbers_are_numbers(tmp_path):
    (tmp_path / "K.txt").write_text("0 1 2\n2 3\n10 3")
    found = read_complex(tmp_path / "K.txt")
    assert found.vertex_labels == (0, 1, 2, 3, 10)
    (tmp_path / "K.txt").write_text("0 1 2\n2 3")
    assert read_complex(tmp_path / "K.txt") == mpsn.SimplicialComplex.from_simplices(
        [[0, 1, 2], [2, 3]]
    )


def test_attributes(tmp_path):
    (tmp_path / "K.txt").write_text("ann bob cat\ncat dan\neve\n")
    (tmp_path / "v.csv").write_text("who,age\nbob,25\nann,31\ncat,40\ndan,18\neve,5\n")
    (tmp_path / "e.tsv").write_text("a\tb\tw\nbob\tann\t0.5\ncat\tann\t1\ncat\tbob\t2\ndan\tcat\t3")
    files = [tmp_path / "v.csv", tmp_path / "e.tsv"]
    found = read_complex(tmp_path / "K.txt", files)
    assert found.x[0].T.tolist() == [[31, 25, 40, 18, 5]]
    assert found.x[0].dtype == torch.int64
    assert found.x[1].T.tolist() == [[0.5, 1, 2, 3]]
    assert found.x[2] is None
    content = {
        "simplices": ROWS,
        "attributes": [{"vertices": ["cat", "bob", "ann"], "size": 2, "kind": "x"}],
    }
    (tmp_path / "K.json").write_text(json.dumps(content))
    with pytest.warns(LeftOut, match="kind of cells are not used"):
        assert read_complex(tmp_path / "K.json").x[2].tolist() == [[2]]
    (tmp_path / "v.csv").write_text("who,age\nbob,20\nann,\ncat,40\n")
    with pytest.warns(LeftOut, match=r"without 'age' \(3\)"):
        assert read_complex(tmp_path / "K.txt", files[:1]).x[0].T.tolist() == [[30, 20, 40, 30, 30]]


def test_large_simplices_are_cut(tmp_path):
    path = tmp_path / "K.txt"
    path.write_text(" ".join(map(str, range(12))) + "\n0 1")
    assert read_complex(path, max_dim=1).counts == (12, 66)
    assert read_complex(path, max_dim=2).counts == (12, 66, 220)
    path.write_text(" ".join(map(str, range(60))))
    with pytest.raises(TooLargeError):
        read_complex(path)
    with pytest.raises(TooLargeError):
        read_complex(path, max_dim=20)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("K.txt", "a b a", "distinct vertices"),
        ("K.txt", b"\x00\x01", "not text"),
        ("K.json", "{}", "with words or integers as names"),
        ("K.json", "[[1.5, 2]]", "with words or integers as names"),
        ("K.json", "[[]]", "with words or integers as names"),
        ("K.json", "[[1, 2]", "Expected a list of simplices"),
        ("K.json", '{"simplices": [[0, 1]], "attributes": [{"w": 1}]}', "with words"),
        ("K.json", '{"simplices": [[0, 1]], "attributes": [{"vertices": [5]}]}', "cells of the"),
        ("K.json", '{"simplices": [[0]], "attributes": [{"vertices": [0], "w": 1e999}]}', "finite"),
    ],
)
def test_refused(tmp_path, name, text, message):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(FileError, match=message):
        read_complex(path)


@pytest.mark.parametrize("table", ["", "a,b\n", "who,age\nzoe,3\n", "who,age\nann\n", "ann\nbob"])
def test_attributes_that_fit_no_cell(tmp_path, table):
    (tmp_path / "K.txt").write_text("ann bob")
    (tmp_path / "x.csv").write_text(table)
    with pytest.raises(FileError, match=r"the vertices of a cell|2 columns on line 2"):
        read_complex(tmp_path / "K.txt", [tmp_path / "x.csv"])
