"""`mpsn fit`, `predict` and `show` on tables of molecules."""

import csv
import json

import networkx as nx
import pytest

from mpsn import read_graphs
from mpsn.errors import FileError
from tu_files import members, write_zip


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("molecules") / "molecules.csv"
    smiles = [f"C1{'C' * n}C1" for n in range(1, 13)] + ["C" * n for n in range(2, 14)]
    rows = [f"m{i},{word},{len(word) / 4},{'=' * (i < 12)}" for i, word in enumerate(smiles)]
    path.write_text("\n".join(["name,structure,weight,ring", *rows, "bad,C(C,1.5,", "gap,CCC,,"]))
    return path


def test_from_a_table_to_a_table(mpsn, table, tmp_path):
    model, out = tmp_path / "m.mpsn", tmp_path / "out.csv"
    where = [table, "--smiles", "structure"]
    code, said, err = mpsn("fit", *where, "--target", "weight", "-o", model, "--kernel")
    assert code == 0, err
    assert "task: regression" in said
    assert "SimplicialRegressor, fitted to 24 graphs" in said
    assert "(rings of up to 8 vertices)" in said
    assert (
        "2 of 26 that cannot be used (row 24: 'C(C' is not valid SMILES; row 25: there is no"
        in (" ".join(err.split()))
    )
    code, _, err = mpsn("predict", model, *where, "-o", out)
    assert code == 0
    assert "row 24: 'C(C' is not valid SMILES" in " ".join(err.split())
    with table.open() as before, out.open() as after:
        rows, new = list(csv.DictReader(before)), list(csv.DictReader(after))
    assert [row["structure"] for row in new] == [row["structure"] for row in rows]
    assert list(new[0]) == ["name", "structure", "weight", "ring", "prediction"]
    assert [row["name"] for row in new if not row["prediction"]] == ["bad"]
    code, lines, _ = mpsn("predict", model, *where, "--json")
    found = [json.loads(line) for line in lines.splitlines()]
    assert found[24] == {"name": "bad", "structure": "C(C", "weight": "1.5", "ring": ""} | {
        "prediction": None
    }
    assert float(new[3]["prediction"]) == pytest.approx(found[3]["prediction"])
    code, _, err = mpsn("predict", model, out, "--smiles", "structure")
    assert code == 2
    assert "without a column 'prediction'" in " ".join(err.split())
    code, said, _ = mpsn("show", model, "C1CC1CO")
    assert code == 0
    assert "prediction" in said


def test_classes_are_found_out(mpsn, tmp_path):
    rows = [f"{'C' * n}O,yes" for n in range(1, 13)] + [f"{'C' * n},no" for n in range(1, 13)]
    (tmp_path / "m.csv").write_text("\n".join(["smiles,alcohol", *rows]))
    fit = ["fit", tmp_path / "m.csv", "-o", tmp_path / "m.mpsn", "--kernel", "--json"]
    code, said, _ = mpsn(*fit, "--target", "alcohol")
    assert code == 0
    assert json.loads(said)["task"] == "classification"
    code, said, _ = mpsn("predict", tmp_path / "m.mpsn", tmp_path / "m.csv", "--json")
    found = [json.loads(line) for line in said.splitlines()]
    assert sum(row["prediction"] == row["alcohol"] for row in found) >= 18
    assert 0.5 < found[8]["probability of yes"] <= 1
    code, _, err = mpsn(*fit, "--target", "alcohl")
    assert code == 2
    assert "Did you mean alcohol?" in " ".join(err.split())
    code, _, err = mpsn(*fit)
    assert code == 2
    assert "name a column or an attribute" in " ".join(err.split())


@pytest.fixture(scope="module")
def gappy(tmp_path_factory):
    """Return a table of two classes and two numbers, with gaps; row 0 has none of the classes."""
    lines = ["id,structure,toxic,active,logp,melting point"]
    for i in range(30):
        smiles = "C" * (i % 10 + 1) + "O" * (i % 3 == 0) + ("c1ccccc1" if i % 2 else "N")
        toxic = "" if i % 5 == 0 else int(i % 3 == 0)
        active = "NA" if i % 7 == 0 else int(i % 2)
        lines.append(f"{i},{smiles},{toxic},{active},{i / 4 if i % 4 else ''},{len(smiles) * 1.5}")
    path = tmp_path_factory.mktemp("tasks") / "tasks.csv"
    path.write_text("\n".join(lines))
    return path


def test_several_targets_with_gaps(mpsn, gappy, tmp_path):
    model, where = tmp_path / "m.mpsn", [gappy, "--smiles", "structure"]
    fit = ["fit", *where, "-o", model, "--kernel"]
    code, said, err = mpsn(*fit, "--target", "toxic,active", "--cv", 3)
    assert code == 0, err
    assert "1 of 30 that cannot be used (row 0: there is no toxic nor active)" in err
    assert "task: classification, of 2 targets, 9 of 58 missing" in said
    assert "tasks: toxic (8 of 24 are 1), active (13 of 25 are 1)" in said
    assert "accuracy of each target" in said
    assert said.count("majority class") >= 4
    code, said, _ = mpsn("predict", model, *where, "--json")
    rows = [json.loads(line) for line in said.splitlines()]
    kinds, tasks = ("prediction", "probability"), ("toxic", "active")
    assert list(rows[0])[6:] == [f"{kind} of {task}" for kind in kinds for task in tasks]
    known = [row for row in rows if row["active"] != "NA"]
    assert sum(row["prediction of active"] == int(row["active"]) for row in known) >= 23
    assert all(
        (row["probability of toxic"] > 0.5) == (row["prediction of toxic"] == 1) for row in rows
    )
    code, said, err = mpsn(*fit, "--target", "logp, melting point", "--json")
    assert code == 0, err
    found = json.loads(said)
    assert found["task"] == "regression"
    assert set(found["targets"]) == {"logp", "melting point"}
    code, said, _ = mpsn("predict", model, *where)
    assert said.splitlines()[0].endswith(",prediction of logp,prediction of melting point")
    code, said, _ = mpsn("show", model, "CCO", "--target", "melting point")
    assert code == 0
    assert "prediction: melting point: " in said
    for target, match in [
        ("toxic,logp", "got numbers in logp and classes in toxic; fit a model for each kind"),
        ("toxic,structure", "Expected 0, 1 or NaN as targets y of several tasks, got 'CON'"),
        ("toxic,toxic", "Expected each target once"),
        ("toxic,activ", "Did you mean active?"),
    ]:
        code, _, err = mpsn(*fit, "--target", target)
        assert code == 2
        assert match in " ".join(err.split())


def test_labels_of_graph_files_may_be_several(mpsn, tmp_path):
    (tmp_path / "g.g6").write_bytes(
        b"".join(nx.to_graph6_bytes(nx.path_graph(n), header=False) for n in range(2, 14))
    )
    rows = [f"g.g6:{i},{i / 2},{'' if i % 3 else i}" for i in range(12)]
    (tmp_path / "y.csv").write_text("\n".join(["graph,a,b", *rows]))
    where = ["fit", tmp_path / "g.g6", "--labels", tmp_path / "y.csv", "-o", tmp_path / "m"]
    code, said, err = mpsn(*where, "--target", "a,b", "--regress", "--kernel", "--json")
    assert code == 0, err
    assert json.loads(said)["graphs"] == 12
    code, said, _ = mpsn("predict", tmp_path / "m", tmp_path / "g.g6")
    assert said.splitlines()[0] == "graph,prediction of a,prediction of b"


def test_tu_sets_of_several_targets_are_predicted(mpsn, tmp_path):
    graphs = [nx.path_graph(n) for n in range(2, 14)]
    rows = [f"{i / 2}, {2.5 * i}, 1" for i in range(12)]
    path = write_zip(tmp_path / "OWN.zip", members("OWN", graphs, None, graph_attributes=rows))
    code, said, err = mpsn("fit", path, "-o", tmp_path / "m", "--target", "1,0", "--kernel")
    assert code == 0, err
    assert "of 2 targets, 0 of 24 missing" in said
    code, said, err = mpsn("predict", tmp_path / "m", path)
    assert code == 0, err
    assert said.splitlines()[0] == "graph,prediction of 1,prediction of 0"
    code, _, err = mpsn("fit", path, "-o", tmp_path / "m")
    assert code == 2
    assert "one of the 3 targets" in " ".join(err.split())


def test_explanations_of_molecules_are_drawn(mpsn, gappy, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    model = tmp_path / "m.mpsn"
    fit = ["fit", gappy, "--smiles", "structure", "-o", model, "--epochs", 2]
    assert mpsn(*fit, "--target", "toxic,active")[0] == 0
    code, said, err = mpsn("show", model, "Oc1ccccc1", "--explain", "--target", "active")
    assert code == 0, err
    assert "figure: explanation.svg" in said
    picture = (tmp_path / "explanation.svg").read_text()
    assert picture.startswith("<?xml")
    assert picture.count("atom-") >= 7
    assert mpsn("show", model, "Oc1ccccc1", "--plot", "why.png")[0] == 0
    assert (tmp_path / "why.png").read_bytes().startswith(b"\x89PNG")
    code, _, err = mpsn("show", model, "--explain")
    assert code == 2
    assert "Expected a graph after the model" in err
    code, _, err = mpsn("show", model, "CCO", "--target", "actve")
    assert code == 2
    assert "Did you mean active?" in " ".join(err.split())


def test_tables_of_molecules_and_sets_in_archives_are_lifted(mpsn, tmp_path):
    (tmp_path / "m.csv").write_text("smiles,y\nC1CC1O,1\nCCO,2\nC(C,3\n")
    code, out, err = mpsn("lift", tmp_path / "m.csv", "--json")
    assert code == 0
    assert "row 2: 'C(C' is not valid SMILES" in " ".join(err.split())
    assert [row["counts"] for row in json.loads(out)["graphs"]] == [[4, 4, 1], [3, 2]]  # rings
    with pytest.raises(FileError, match=r"a table of molecules .* mpsn\.read_molecules"):
        read_graphs(tmp_path / "m.csv")
    path = write_zip(tmp_path / "OWN.zip", members("OWN", [nx.cycle_graph(3)], [1]))
    assert json.loads(mpsn("lift", path, "--json")[1])["graphs"][0]["counts"] == [3, 3, 1]
