"""Tables in a terminal: words and numbers stay whole."""

import pytest

from mpsn.cli.output import print_table


def printed(capsys, monkeypatch, columns, rows, width=80):
    monkeypatch.setenv("COLUMNS", str(width))
    print_table("Title", columns, rows)
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= width
    assert sum("Title" in line for line in lines) == 1
    return lines


def cells(lines, mark):
    return [[cell.strip() for cell in x.split(mark)[1:-1]] for x in lines if x.startswith(mark)]


def test_a_table_that_is_too_wide_is_printed_in_parts(capsys, monkeypatch):
    columns = ["part", "model", *(f"dimension {k}" for k in range(8)), "runs"]
    rows = [
        [part, model, *(f"{k}.{i}25 ± 0.00{k}" for k in range(8)), f"{i}"]
        for i, (part, model) in enumerate(
            (part, model) for part in ("all", "subdivided once") for model in ("gin", "oriented")
        )
    ]
    lines = printed(capsys, monkeypatch, columns, rows)
    heads, body = cells(lines, "┃"), cells(lines, "│")
    assert len(heads) > 1
    assert [head[:2] for head in heads] == [["part", "model"]] * len(heads)
    assert [column for head in heads for column in head[2:]] == columns[2:]
    for row in rows:  # every cell, whole and in order, beside the names of its row
        mine = [line for line in body if line[:2] == row[:2]]
        assert [cell for line in mine for cell in line[2:]] == row[2:]


def test_one_column_names_the_rows_if_it_can(capsys, monkeypatch):
    columns = ["model", *("validation" for _ in range(8))]
    lines = printed(capsys, monkeypatch, columns, [["gin", *"12345678"], ["sin", *"abcdefgh"]])
    assert [head[0] for head in cells(lines, "┃")] == ["model"] * 2
    assert "".join(c for line in cells(lines, "│") if line[0] == "sin" for c in line[1:]) == (
        "abcdefgh"
    )


@pytest.mark.parametrize("rows", [[], [["a", "two words", "c"]]])
def test_a_table_that_fits_is_one(capsys, monkeypatch, rows):
    lines = printed(capsys, monkeypatch, ["one", "two and a half", "three"], rows, width=40)
    assert cells(lines, "┃") == [["one", "two and a half", "three"]]


def test_long_texts_wrap_at_words(capsys, monkeypatch):
    text = "a text of many words " * 6
    lines = printed(capsys, monkeypatch, ["name", "text"], [["x", text]], width=40)
    assert " ".join(line[1] for line in cells(lines, "│")).split() == text.split()


def test_no_word_is_broken_for_the_sake_of_another_column(capsys, monkeypatch):
    columns = ["family", "network", "failure rate", "authors' code", "pairs failed", "runs"]
    rows = [
        ["SR(25,12,5,6)", "sin", "0.0381 ± 0.0067", "0.0362 ± 0.0040", "4 of 105", "2"],
        ["SR(25,12,5,6)", "mlp-sum-authors", "0.09524", "0.0952", "0 of 105, SWL's", "2"],
    ]
    lines = printed(capsys, monkeypatch, columns, rows)
    words = {word for line in cells(lines, "│") for cell in line for word in cell.split()}
    assert words == {word for row in rows for cell in row for word in cell.split()}
    assert max(map(len, lines)) == 80  # all space is used before a line is wrapped
