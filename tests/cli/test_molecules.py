"""`mpsn fit`, `predict` and `show` on tables of molecules."""

import csv
import json

import pytest


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
    assert "(rings of up to 18 vertices)" in said
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
    code, said, _ = mpsn("show", model, "--graph", "C1CC1CO")
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
