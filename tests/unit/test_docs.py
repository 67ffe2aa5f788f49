"""What the docs say exists: tests, names, commands; and all Python in them is run."""

import importlib
import re
import shlex
from pathlib import Path

import networkx as nx
import pytest
import typer

import mpsn_reproduction
from mpsn.cli import app

ROOT = Path(__file__).parents[2]
MAP = (ROOT / "docs" / "paper_map.md").read_text()
PAGES = {
    str(path.relative_to(ROOT)): path.read_text()
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
}
API = "\n".join(text for name, text in PAGES.items() if name.startswith("docs/api/"))
ROOMS = [path.stem for path in (ROOT / "docs" / "api").glob("*.md")]
COMMANDS = sorted(
    {line.strip() for page in PAGES.values() for line in re.findall(r"^ *mpsn .*$", page, re.M)}
)


@pytest.mark.parametrize("where", sorted(set(re.findall(r"`(\w+/test_\w+\.py[:\w]*)`", MAP))))
def test_every_test_in_the_paper_map_exists(where):
    file, _, name = where.partition("::")
    folder, name_of_file = file.split("/")
    tests = ROOT / ("reproduction/tests" if folder == "reproduction" else f"tests/{folder}")
    text = (tests / name_of_file).read_text()
    assert f"def {name}" in text


@pytest.mark.parametrize("page", PAGES)
def test_all_python_is_run(page):
    """Doctest runs what follows >>>, and needs an empty line before the closing fence."""
    for block in re.findall(r"^```python\n(.*?)^```", PAGES[page], re.M | re.S):
        assert block.startswith(">>>")
        assert block.endswith("\n\n")
    for kind in re.findall(r"^```(\S+)$", PAGES[page], re.M):
        assert kind in ("python", "sh", "text", "toml", "json", "bibtex") or kind[0] == "{"


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_parses(command):
    words, cli = shlex.split(command, comments=True)[1:], typer.main.get_command(app)
    while hasattr(cli, "commands"):
        cli = cli.commands[words.pop(0)]
    cli.make_context(command, words)


def test_the_commands_for_your_own_graphs_work(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = [str(i) for i in range(12)]
    for folder, shift in {"cats": 3, "dogs": 4, "new": 5, "networks": 6}.items():
        (tmp_path / folder).mkdir()
        for i, name in enumerate(names):
            graph = nx.cycle_graph(i + shift) if i % 2 else nx.complete_graph(i % 5 + shift)
            nx.set_node_attributes(graph, {v: v % 7 for v in graph}, "age")
            nx.set_node_attributes(graph, {v: "ab"[v % 2] for v in graph}, "breed")
            nx.write_graphml(graph, tmp_path / folder / f"{name}.graphml")
    lines = ["graph,weight", *(f"{name},{len(name)}.5" for name in names)]
    (tmp_path / "networks.csv").write_text("\n".join(lines))
    for command in re.findall(r"^mpsn .*$", PAGES["docs/guides/own_graphs.md"], re.M):
        short = ["--epochs", "2"] if command.startswith("mpsn fit") else []
        app([*shlex.split(command)[1:], *short], standalone_mode=False)
    assert {"pets.mpsn", "weight.mpsn", "why.png"} <= {path.name for path in tmp_path.iterdir()}
    assert len((tmp_path / "predictions.csv").read_text().splitlines()) == 13


@pytest.mark.parametrize("room", ROOMS)
def test_every_public_name_is_in_the_reference(room):
    module = importlib.import_module(f"mpsn.{room}")
    # Sphinx lists what a module has, so not names that are imported when first used.
    listed = set(vars(module)) if f"automodule:: mpsn.{room}\n" in API else set()
    for name in set(module.__all__) - listed:
        assert re.search(rf"\bmpsn\.({room}\.)?{name}\b", API), f"add it to docs/api/{room}.md"


def test_every_public_name_of_the_reproduction_is_in_the_reference():
    page = PAGES["docs/reproduction.md"]
    assert all(f"mpsn_reproduction.{name}\n" in page for name in mpsn_reproduction.__all__)


def test_every_room_is_in_the_reference():
    rooms = {path.parent.name for path in (ROOT / "src" / "mpsn").glob("[a-z]*/__init__.py")}
    assert rooms - {"cli"} == set(ROOMS)
