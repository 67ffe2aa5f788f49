"""benchmarks/mutants.py makes small changes to a library, and names those that no test notices."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from mutants_changes import changes, differs
from mutants_tests import Ran

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
SOURCE = '''
def f(x: int = 3, *, flag: Literal[7] = True) -> int:
    """Add 1 == 1."""
    if x < 10 and flag:
        raise ValueError(f"not {x + 1}", 5)
    x += (y := 2 * x)
    return max(x[y:], "a" + "b")
'''
CHANGED = {
    "constant": {"x: int = 4", "x: int = 2", "x < 11", "x < 9", "3 * x", "1 * x"},
    "true/false": {"= False"},
    "comparison": {"(x <= 10)"},
    "and/or": {"(x < 10 or flag)"},
    "negation": {"if (not (x < 10 and flag))"},
    "deletion": {"        pass\n", "\n    pass\n"},
    "arithmetic": {"x -= ", "(2 / x)"},
    "return": {"return None", "return 0"},
    "slice": {"x[:y]"},
    "opposite": {"min("},
}


def test_each_change_is_one_small_one():
    made = changes(SOURCE)
    assert {change.operator for change in made} == set(CHANGED)
    assert len(made) == sum(map(len, CHANGED.values()))
    for operator, texts in CHANGED.items():
        mutants = [change.apply(SOURCE) for change in made if change.operator == operator]
        assert all(differs(SOURCE, mutant) for mutant in mutants)
        for text in texts:
            assert text not in SOURCE
            assert sum(text in mutant for mutant in mutants) == 1


def test_a_change_knows_the_lines_that_run_it():
    lines = {change.text: (change.lines, change.imported) for change in changes(SOURCE)}
    assert lines["(x <= 10)"] == ({4}, False)
    assert lines["min"] == ({7}, False)
    assert lines["4"] == ({3, 4, 5, 6, 7}, True)  # a default: the body that it is for


def test_no_change_that_leaves_the_program_as_it_was():
    assert not differs("x = 1", "x = (1)")
    assert not differs("x = 1", "x = = 1")
    assert differs("x = 1", "x = 2")


FILE = "src/mpsn/wl/a.py"


@pytest.fixture
def ran(tmp_path):
    (tmp_path / FILE).parent.mkdir(parents=True)
    (tmp_path / FILE).write_text(
        "@njit\ndef fast(x):\n    return x + 1\n\n\ndef slow(x):\n    return fast(x)\n\n\nN = 3\n"
    )
    records = [
        ("long", {FILE: [7]}, {}, True, 2.0),
        ("far", {FILE: [7], "src/mpsn/wl/b.py": [*range(500)]}, {}, True, 1.0),
        ("near", {FILE: [7]}, {}, True, 1.0),
        ("failed", {FILE: [7]}, {}, False, 1.0),
        ("built", {}, {FILE: [7]}, True, 0.0),
        ("other", {"src/mpsn/wl/b.py": [7]}, {}, True, 0.0),
    ]
    return Ran(
        [
            (name, {"test": name, "own": own, "shared": shared, "passed": ok, "seconds": seconds})
            for name, own, shared, ok, seconds in records
        ],
        tmp_path,
    )


def test_the_nearest_and_fastest_tests_come_first(ran):
    source = (ran.root / FILE).read_text()
    tests = {
        change.text: [ran.tests[i] for i in ran.tests_of(FILE, change)]
        for change in changes(source)
    }
    assert tests["return 0"] == ["near", "long", "far", "built"]
    assert tests["(x - 1)"] == ["near", "long", "far"]  # compiled: those that run its users
    assert tests["4"] == ["near", "long", "far"]  # a constant: those that run its file


FAST = (
    "import sys; sys.path.insert(0, 'benchmarks'); import mutants_tests, mutants;"
    "mutants_tests.LIBRARIES = mutants_tests.LIBRARIES[-2:]; mutants.main()"
)
TOY = {
    "pyproject.toml": '[tool.pytest.ini_options]\naddopts = "--import-mode=importlib"\n'
    'markers = ["slow"]\n',
    "conftest.py": "from hypothesis import settings\nsettings.register_profile('mpsn')\n",
    "src/mpsn/__init__.py": "",
    "src/mpsn/wl/__init__.py": "def larger(a, b):\n    return max(a, b)\n\n\n"
    "def half(n):\n    return n // 2\n\n\ndef unseen():\n    return 7\n",
    "tests/test_wl.py": "from mpsn.wl import half, larger\n\n\ndef test_larger():\n"
    "    assert larger(1, 2) == 2\n\n\ndef test_half():\n    half(4)\n\n\n"
    "def test_fails():\n    assert larger(2, 2) == 1\n",
}


def verdicts_of(folder, *options):
    """Run the tool; return what it prints, and verdicts by function, then by changed line."""
    command = [sys.executable, "-c", FAST, "--out", "out.json", *options]
    run = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    verdicts = {"max": {}, "//": {}}
    for record in json.loads((folder / "out.json").read_text()):
        _, old, new = record["changed"]
        function = "max" if "max" in old else "//"
        verdicts[function][new] = record["verdict"]
    return run.stdout, verdicts["max"], verdicts["//"]


def test_survivors_are_named_and_met_again(tmp_path):
    shutil.copytree(BENCHMARKS, tmp_path / "benchmarks")
    for name, text in TOY.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    printed, larger, half = verdicts_of(tmp_path, "--rooms", "wl")
    assert "2 tests pass, 1 fail or are skipped" in printed
    assert set(larger.values()) == {"killed"}
    assert "+    return min(a, b)" in larger
    assert set(half.values()) == {"survived"}
    assert "+    return (n * 2)" in half
    assert not any("7" in line for line in (*larger, *half))

    with (tmp_path / "tests/test_wl.py").open("a") as out:
        out.write("\n\ndef test_half_of_four():\n    assert half(4) == 2\n")
    _, larger, again = verdicts_of(tmp_path, "--again", "out.json")
    assert not larger
    assert set(again) == set(half)
    assert set(again.values()) == {"killed"}
