"""The command line answers at once, and helps those who mistype."""

import json
import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

import mpsn as package
from mpsn.cli import app

HEAVY = {"numpy", "torch", "torch_geometric", "numba", "networkx", "scipy", "sklearn", "matplotlib"}

ASK = """
import json, sys
from mpsn.cli import main
for arguments in json.loads(sys.argv[1]):
    sys.argv = ["mpsn", *arguments]
    try:
        main()
    except SystemExit as ending:
        assert ending.code in (0, 2), arguments
    print(arguments[-1], *sys.modules, file=sys.stderr)
"""


def loaded(lines):
    """Return what each of some commands prints in all, and the modules loaded after each."""
    done = subprocess.run(
        [sys.executable, "-c", ASK, json.dumps(lines)], capture_output=True, text=True, check=True
    )
    found = [set(line.split()[1:]) for line in done.stderr.splitlines() if " mpsn.cli " in line]
    assert len(found) == len(lines)
    return done.stdout, found


def commands(typer_app, *before):
    """Return every command line that has a help page."""
    yield before
    for command in typer_app.registered_commands:
        yield (*before, command.name or command.callback.__name__.strip("_"))
    for group in typer_app.registered_groups:
        yield from commands(group.typer_instance, *before, group.name)


def test_help_and_lists_need_none_of_the_heavy_packages():
    pages = [[*arguments, "--help"] for arguments in commands(app)]
    out, found = loaded([*pages, ["--version"], ["reproduce"], ["lift"], ["nosuch"]])
    assert out.count("Usage: ") >= len(pages)
    assert not HEAVY & found[-1]


def test_commands_on_complexes_and_records_load_no_more_than_they_use():
    lines = [["lift", "hexagon"], ["show", "hexagon"], ["distinguish", "hexagon", "two-triangles"]]
    records = Path(__file__).parents[2] / "reproduction/results/flow"
    out, found = loaded([*lines, ["show", str(records)]])
    assert "each test flow has its own" in out
    graphs, flow = found[2], found[-1]
    networks = {"mpsn.nn", "mpsn.estimators", "mpsn_reproduction.page"}
    assert not {"matplotlib", "sklearn", "rdkit", "gudhi"} & flow
    assert not networks & graphs
    assert "mpsn_reproduction.papers.flow" in flow
    assert not {"mpsn_reproduction.papers.tu", "mpsn_reproduction.papers.zinc"} & flow


@pytest.mark.parametrize("arguments", list(commands(app)), ids=" ".join)
def test_help_fits_80_columns_in_words(mpsn, monkeypatch, arguments):
    monkeypatch.setenv("COLUMNS", "80")
    code, out, _ = mpsn(*arguments, "--help")
    assert code == 0
    lines = out.splitlines()
    assert max(map(len, lines)) <= 80
    paragraphs = re.split(r"\n\s*\n", out.split("Options:")[0])
    for text in paragraphs:  # wrapped once: no line could take the first word of the next
        rows = text.strip("\n").splitlines()
        for row, after in pairwise(rows):
            assert len(row) + 1 + len(after.split()[0]) > 78 or ":" in rows[0]
    assert not re.search(r"[<{][A-Za-z]", out)  # types of Python, and typer's braces


@pytest.mark.parametrize(
    "arguments",
    [c for c in commands(app) if c and c not in {("reproduce",), ("tune",)}],
    ids=" ".join,
)
def test_every_command_speaks_json(mpsn, arguments):
    assert "--json" in mpsn(*arguments, "--help")[1]


def test_the_version(mpsn):
    assert mpsn("--version")[:2] == (0, f"mpsn {package.__version__}\n")


def test_the_first_help_is_a_tour(mpsn):
    code, out, _ = mpsn("--help")
    assert code == 0
    for command in commands(app):
        assert not command or command[0] in out
    assert "A short tour" in out


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [(("distinguih",), "distinguish"), (("lift", "--max-dims", 2), "--max-dim")],
)
def test_unknown_names_get_a_suggestion(mpsn, arguments, meant):
    code, _, err = mpsn(*arguments)
    assert code == 2
    assert meant in err


def test_names_are_found_when_asked_for():
    for name in package.__all__:
        assert name in dir(package)
        assert getattr(package, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'clique'"):
        _ = package.clique
