"""What is imported is declared, with a lower bound; what SECURITY.md promises is tested."""

import ast
import importlib
import json
import os
import pkgutil
import re
import subprocess
import sys
import sysconfig
import tomllib
import venv
import zipfile
from functools import reduce
from pathlib import Path, PurePosixPath

import pytest

import mpsn

ROOT = Path(__file__).parents[2]
PROJECT, REPRODUCTION = (
    tomllib.loads((ROOT / folder / "pyproject.toml").read_text())["project"]
    for folder in (".", "reproduction")
)
OTHER_NAMES = {"sklearn": "scikit-learn", "markdown_it": "markdown-it-py"}
OTHER_NAMES |= {name: name.replace("_", "-") for name in ("torch_geometric", "typing_extensions")}
WITH_TORCH = {"triton"}
PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]


def imported(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module.partition(".")[0]


def needed(folder):
    """Return the names of the requirements that the files in a folder import."""
    names = {name for path in folder.rglob("*.py") for name in imported(path)}
    others = names - sys.stdlib_module_names - WITH_TORCH - {"mpsn", "mpsn_reproduction"}
    return {OTHER_NAMES.get(name, name) for name in others}


def test_imports_are_declared_with_lower_bounds():
    extras = PROJECT["optional-dependencies"]
    users = [d for group in ("plot", "ocean", "chem", "tda", "mesh") for d in extras[group]]
    users += PROJECT["dependencies"]
    assert [requirement for requirement in users if ">=" not in requirement] == []
    declared = {requirement.partition(">=")[0] for requirement in (*users, *extras["dev"])}
    assert needed(ROOT / "src") <= declared


def test_imports_of_the_reproduction_are_declared_with_lower_bounds():
    users = [*REPRODUCTION["dependencies"]]
    users += [d for group in REPRODUCTION["optional-dependencies"].values() for d in group]
    assert f"mpsn=={PROJECT['version']}" in users
    assert PROJECT["version"] == REPRODUCTION["version"]
    users.remove(f"mpsn=={PROJECT['version']}")
    assert [requirement for requirement in users if ">=" not in requirement] == []
    assert needed(ROOT / "reproduction/src") <= {name.partition(">=")[0] for name in users}


def test_the_library_does_without_its_reproduction():
    """Help of commands, and one line where a command is brought by the other package."""
    code = """if True:
        import importlib.metadata, sys
        importlib.metadata.entry_points = lambda **_: ()
        from mpsn.cli import main
        sys.argv = ["mpsn", *sys.argv[1:]]
        main()
    """
    for words, status, said in [
        (["--help"], 0, "distinguish"),
        (["reproduce", "sr", "--quick"], 2, "pip install mpsn-reproduction"),
        (["tune", "--help"], 2, "pip install mpsn-reproduction"),
        (["report"], 2, "pip install mpsn-reproduction"),
        (["show", str(ROOT / "docs")], 2, "pip install mpsn-reproduction"),
    ]:
        done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True)
        assert done.returncode == status, done.stderr
        assert said in (done.stderr if status else done.stdout)
        assert len(done.stderr.splitlines()) == (status > 0)


@pytest.fixture(scope="module")
def archives(tmp_path_factory):
    """Return the source distribution of the library, and the wheel that is built from it."""
    out = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", str(out)]
    subprocess.run(command, cwd=ROOT, check=True)
    (sdist,) = out.glob("*.tar.gz")
    options = ["--no-deps", "--no-build-isolation", "--no-index", "-w", str(out)]
    subprocess.run([*PIP, "wheel", *options, str(sdist)], check=True)
    (wheel,) = out.glob("*.whl")
    return sdist, wheel


def test_the_wheel_holds_the_library_alone(archives):
    names = [PurePosixPath(name) for name in zipfile.ZipFile(archives[1]).namelist()]
    modules = {name for name in names if not name.parts[0].endswith(".dist-info")}
    source = ROOT / "src"
    files = {path.relative_to(source) for path in source.rglob("*") if path.is_file()}
    assert modules == {PurePosixPath(p) for p in files if "__pycache__" not in p.parts}
    assert {name.parts[0] for name in modules} == {"mpsn"}
    assert {name.suffix for name in modules} <= {".py", ".html", ".g6", ".typed"}


def test_the_wheel_runs_the_ten_lines_in_an_environment_of_its_own(archives, tmp_path):
    """An empty environment that finds the packages mpsn needs, but not this working tree."""
    home = tmp_path / "env"
    venv.create(home, symlinks=True)
    (packages,) = home.glob("lib/python*/site-packages")
    (packages / "needed.pth").write_text(sysconfig.get_path("purelib"))  # its own .pth do not count
    options = ["--no-deps", "--no-index", "--target", str(packages)]
    subprocess.run([*PIP, "install", *options, str(archives[1])], check=True)
    page = (ROOT / "README.md").read_text()
    lines = page.partition("## Ten lines")[2].partition("```python")[2].partition("```")[0]
    assert lines.count(">>>") >= 10
    (tmp_path / "lines.txt").write_text(lines)
    code = """if True:
        import doctest, importlib.metadata, pathlib, sys, mpsn
        assert pathlib.Path(mpsn.__file__).is_relative_to(sys.prefix), mpsn.__file__
        flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
        assert not doctest.testfile(sys.argv[1], module_relative=False, optionflags=flags).failed
        importlib.metadata.entry_points = lambda **_: ()  # of what is installed beside it
        from mpsn.cli import main
        sys.argv = ["mpsn", "lift", "hexagon", "--json"]
        main()
    """
    python, environment = home / "bin" / "python", {**os.environ, "PYTHONPATH": ""}
    done = subprocess.run(
        [python, "-W", "ignore", "-c", code, tmp_path / "lines.txt"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=environment,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(done.stdout)["graphs"][0]["betti"] == [1, 1]


def test_no_function_hides_a_module_of_its_name():
    """``import mpsn.nn.pool as pool`` takes the attribute ``pool`` of ``mpsn.nn``."""
    names = [module.name for module in pkgutil.walk_packages(mpsn.__path__, "mpsn.")]
    names.remove("mpsn.__main__")
    modules = {name: importlib.import_module(name) for name in names}
    assert modules == {name: reduce(getattr, name.split(".")[1:], mpsn) for name in names}


def test_pyg_is_imported_only_where_it_is_used():
    code = """if True:
        import sys, mpsn, mpsn.nn, mpsn.estimators, networkx, torch
        K = mpsn.clique_complex(networkx.karate_club_graph(), max_dim=2)
        K = K.replace(x=[torch.ones(n, 1) for n in K.counts], y=0)
        model = mpsn.nn.models.SIN(in_channels=1, hidden=4, layers=2)
        model(next(iter(mpsn.DataLoader([K, K], batch_size=2)))).sum().backward()
        mpsn.nn.MPSNConv(lambda upper: upper, upper=torch.nn.Linear(1, 1), aggr=["sum", "mean"])
        mpsn.estimators.SimplicialClassifier(), mpsn.Lift("rings"), mpsn.wl.swl(K)
        assert "torch_geometric" not in sys.modules
        mpsn.nn.global_pool(K, 0, K.x[0], reduce="max")
        assert "torch_geometric" in sys.modules
    """
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True)


def test_promises_name_tests_that_exist():
    named = set(re.findall(r"`(test_\w+)`", (ROOT / "SECURITY.md").read_text()))
    files = [
        p for tests in ("tests", "reproduction/tests") for p in (ROOT / tests).rglob("test_*.py")
    ]
    text = "\n".join(path.read_text() for path in files)
    assert named
    assert named <= set(re.findall(r"^def (test_\w+)", text, re.MULTILINE))
