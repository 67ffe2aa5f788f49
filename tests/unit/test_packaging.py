"""What is imported is declared, with a lower bound; what SECURITY.md promises is tested."""

import ast
import importlib
import pkgutil
import re
import subprocess
import sys
import tomllib
from functools import reduce
from pathlib import Path

import mpsn

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
OTHER_NAMES = {"sklearn": "scikit-learn", "ray": "ray[tune]"}
OTHER_NAMES |= {name: name.replace("_", "-") for name in ("torch_geometric", "typing_extensions")}
WITH_TORCH = {"triton"}


def imported(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module.partition(".")[0]


def test_imports_are_declared_with_lower_bounds():
    extras = PROJECT["optional-dependencies"]
    users = [d for group in ("plot", "ocean", "chem", "tda", "mesh", "ray") for d in extras[group]]
    users += PROJECT["dependencies"]
    assert [requirement for requirement in users if ">=" not in requirement] == []
    declared = {requirement.partition(">=")[0] for requirement in (*users, *extras["dev"])}
    found = {name for path in (ROOT / "src").rglob("*.py") for name in imported(path)}
    others = found - sys.stdlib_module_names - WITH_TORCH - {"mpsn"}
    assert {OTHER_NAMES.get(name, name) for name in others} <= declared


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
    text = "\n".join(path.read_text() for path in (ROOT / "tests").rglob("test_*.py"))
    assert named
    assert named <= set(re.findall(r"^def (test_\w+)", text, re.MULTILINE))
