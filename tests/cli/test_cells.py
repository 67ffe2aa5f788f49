"""Models of cells from the command line: a complex, labels and attributes, and back."""

import csv
import json

import networkx as nx
import pytest
import torch

import mpsn as package


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Write a complex, the labels of half of its edges, all labels, and ages of vertices."""
    root = tmp_path_factory.mktemp("cells")
    K = package.clique_complex(nx.random_geometric_graph(60, 0.25, seed=1), max_dim=2).bare()
    many = torch.bincount(K.faces(2).reshape(-1), minlength=K.count(1))
    names = [f"n{v}" for v in range(60)]
    edges = [[names[v] for v in row] for row in K.simplices(1).tolist()]
    triangles = [[names[v] for v in row] for row in K.simplices(2).tolist()]
    isolated = [[name] for name in names]
    (root / "complex.txt").write_text(
        "".join(f"{' '.join(row)}\n" for row in isolated + edges + triangles)
    )
    (root / "complex.json").write_text(json.dumps(isolated + edges + triangles))
    truth = ["many" if n > 3 else "few" for n in many.tolist()]
    rows = [
        [b, a, kind if i % 2 else ""]
        for i, ((a, b), kind) in enumerate(zip(edges, truth, strict=True))
    ]
    write(root / "labels.csv", [["from", "to", "kind"], *rows])
    write(
        root / "counts.csv",
        [["a", "b", "n"], *([*e, n / 2] for e, n in zip(edges, many.tolist(), strict=True))],
    )
    write(root / "ages.csv", [["who", "age"], *([name, i / 3] for i, name in enumerate(names))])
    return root, dict(zip(map(frozenset, edges), truth, strict=True))


def write(path, rows):
    with path.open("w", newline="") as file:
        csv.writer(file).writerows(rows)


def test_from_files_to_predictions(mpsn, files, tmp_path):
    root, truth = files
    model, table = tmp_path / "model.mpsn", tmp_path / "out.csv"
    where = [root / "complex.txt", "--attributes", root / "ages.csv"]
    options = ["--cells", root / "labels.csv", "--epochs", 80, "-o", model]
    code, out, _ = mpsn("fit", *where, *options)
    assert code == 0
    assert "task: classification of cells of dimension 1" in out
    assert "x.0 (a number)" in out
    assert [p.name for p in tmp_path.iterdir()] == ["model.mpsn"]
    code, out, _ = mpsn("predict", model, *where, "-o", table)
    assert code == 0
    assert f"{len(truth)} predictions" in out
    with table.open() as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["v0", "v1", "prediction", "probability of few", "probability of many"]
    found = {frozenset((row["v0"], row["v1"])): row["prediction"] for row in rows}
    assert found.keys() == truth.keys()
    assert sum(found[e] == truth[e] for e in truth) > 0.9 * len(truth)
    code, out, _ = mpsn("predict", model, *where, "--json")
    first = json.loads(out.splitlines()[0])
    assert frozenset((first["v0"], first["v1"])) in truth
    code, out, _ = mpsn("show", model)
    assert "known cells of dimension 1" in out
    code, _, err = mpsn("show", model, root / "complex.txt")
    assert code == 2
    assert "got a CellClassifier" in err
    code, _, err = mpsn("predict", model, root / "complex.txt", "-o", table)
    assert code == 2  # no ages
    assert "Expected the attribute 'x.0' of vertices" in " ".join(err.split())


def test_numbers_on_triangles_of_json_and_on_graph_files(mpsn, files, tmp_path):
    root, _ = files
    options = ["--cells", root / "counts.csv", "--epochs", 3, "-o", tmp_path / "m.mpsn", "--json"]
    code, out, _ = mpsn("fit", root / "complex.json", *options)
    assert code == 0
    found = json.loads(out)
    assert found["task"] == "regression"
    assert found["known"] == found["cells"]
    code, out, _ = mpsn("predict", tmp_path / "m.mpsn", root / "complex.json")
    assert out.splitlines()[0] == "v0,v1,prediction"
    graph = nx.relabel_nodes(nx.karate_club_graph(), str)
    nx.write_graphml(graph, tmp_path / "club.graphml")
    write(
        tmp_path / "clubs.csv",
        [["member", "club", "note"], *([v, graph.nodes[v]["club"], "?"] for v in graph)],
    )
    options = ["--cells", tmp_path / "clubs.csv", "--target", "club", "--dim", 0, "--epochs", 3]
    options += ["--precision", "bf16"]
    code, out, _ = mpsn("fit", tmp_path / "club.graphml", *options, "-o", tmp_path / "v.mpsn")
    assert code == 0
    assert "fitted to 34 known cells of dimension 0" in out


def test_lists_of_simplices_are_lifted_and_shown(mpsn, tmp_path):
    (tmp_path / "K.simplices").write_text("a b c\nc d\n")
    code, out, _ = mpsn("lift", tmp_path / "K.simplices", "--json")
    assert code == 0
    assert json.loads(out)["graphs"] == [{"counts": [4, 4, 1], "euler": 1, "betti": [1, 0, 0]}]
    code, out, _ = mpsn("show", tmp_path / "K.simplices", "--plot", tmp_path / "K.png")
    assert code == 0
    assert (tmp_path / "K.png").exists()


@pytest.mark.parametrize(
    ("labels", "more", "message"),
    [
        ("a,b,kind\n", [], "Expected a header, then vertices of a cell and its label"),
        ("a,b,kind\nn0,n1\n", [], "Expected 3 columns on line 2"),
        ("a,b,kind\nzoe,n1,x\nn0,n1,y\n", [], "got 1 others, such as 'zoe'"),
        ("a,b,kind\nn0,n36,x\nn0,n36,y\n", [], "Expected each cell once"),
        ("a,b,kind\nn0,n1,x\n", ["--target", "knd"], "Did you mean kind?"),
        ("a,b,kind\nn0,n1,x\n", ["--dim", 2], "then 3 vertices of a cell"),
        ("a,b,kind\nn0,n36,\n", [], "Expected some known targets"),
    ],
)
def test_labels_that_are_refused(mpsn, files, tmp_path, labels, more, message):
    root, _ = files
    (tmp_path / "labels.csv").write_text(labels)
    options = ["--cells", tmp_path / "labels.csv", "-o", tmp_path / "m.mpsn", *more]
    code, _, err = mpsn("fit", root / "complex.txt", *options)
    assert code == 2
    assert message in " ".join(err.split())


def test_other_data_is_refused(mpsn, files, tmp_path):
    root, _ = files
    options = ["--cells", root / "labels.csv", "-o", tmp_path / "m.mpsn"]
    code, _, err = mpsn("fit", root / "complex.txt", root / "complex.json", *options)
    assert code == 2
    assert "Expected one complex or graph" in err
    nx.write_graph6(nx.path_graph(3), tmp_path / "a.g6")
    code, _, err = mpsn("fit", tmp_path / "a.g6", *options, "--attributes", root / "ages.csv")
    assert code == 2
    assert "a graph file holds its own attributes" in " ".join(err.split())


@pytest.mark.parametrize("options", [["--cv", 3], ["--no-kernel"], ["--smiles", "smiles"]])
def test_options_of_graphs_are_refused(mpsn, files, tmp_path, options):
    root, _ = files
    cells = ["--cells", root / "labels.csv", "-o", tmp_path / "m.mpsn"]
    code, _, err = mpsn("fit", root / "complex.txt", *cells, *options)
    assert code == 2
    assert f"without {options[0].replace('no-', '')}: only models of whole graphs" in err


def test_options_of_cells_are_refused(mpsn, files, tmp_path):
    root, _ = files
    for options in (["--dim", 0], ["--oriented"], ["--attributes", root / "ages.csv"]):
        code, _, err = mpsn("fit", root, "-o", tmp_path / "m.mpsn", *options)
        assert code == 2
        assert f"without {options[0]}: it is for models of cells, with --cells" in err
    cells = ["--cells", root / "counts.csv", "-o", tmp_path / "m.mpsn"]
    code, _, err = mpsn("fit", root / "complex.txt", *cells, "--class-weight", "balanced")
    assert code == 2
    assert "--class-weight balanced, for classes" in err


def test_epochs_default_to_those_of_the_estimator(mpsn, files, tmp_path, monkeypatch):
    root, _ = files
    seen = {}

    def fit(self, *_, **__):
        seen.update(self.get_params())
        raise package.MPSNError("enough")

    monkeypatch.setattr(package.estimators.CellClassifier, "fit", fit)
    cells = ["--cells", root / "labels.csv", "-o", tmp_path / "m.mpsn"]
    mpsn("fit", root / "complex.txt", *cells)
    assert (seen["epochs"], seen["patience"]) == (300, 50)
    mpsn("fit", root / "complex.txt", *cells, "--epochs", 7)
    assert (seen["epochs"], seen["patience"]) == (7, 50)
