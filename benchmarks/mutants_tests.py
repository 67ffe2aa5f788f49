"""Runs tests in processes forked from one that holds the libraries, and records what they ran."""

import ast
import gc
import importlib
import json
import os
import re
import resource
import signal
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from contextlib import suppress
from inspect import CO_OPTIMIZED
from pathlib import Path
from types import CodeType

import pytest
from mutants_changes import FUNCTIONS, Change

LIBRARY = "src/mpsn"
REPRODUCTION = "reproduction/src/mpsn_reproduction"
LIBRARIES = (
    *("torch", "torch_geometric.data", "numba", "networkx", "scipy.sparse.linalg", "sklearn.svm"),
    *("scipy.spatial", "scipy.stats", "sklearn.pipeline", "matplotlib.pyplot", "typer", "rich"),
    *("hypothesis.strategies", "hypothesis.stateful"),
)
COLLECTING = 0.02  # seconds that a test takes besides its own
COMPILED = re.compile("jit|compiled")
MEMORY = 8 << 30  # bytes that one process may hold
WARNING = "-Wignore::pytest.PytestAssertRewriteWarning"  # hypothesis is imported already
PLUGINS = ("-p", "no:cacheprovider", "-p", "no:benchmark", "-p", "no:xdist")
OPTIONS = ("-q", "-m", "not slow", WARNING, *PLUGINS)


def sources_of(root: Path) -> list[Path]:
    """Return the files that mutants change."""
    return sorted(x for folder in (LIBRARY, REPRODUCTION) for x in (root / folder).rglob("*.py"))


def load_libraries() -> None:
    """Import what all tests use, but not mpsn, of which every process has its own mutant."""
    os.environ |= {"OMP_NUM_THREADS": "1", "MPLBACKEND": "Agg"}
    for name in LIBRARIES:
        with suppress(ImportError):
            importlib.import_module(name)
    gc.collect()
    gc.freeze()  # or each process would go through all of it
    if "mpsn" in sys.modules:
        raise RuntimeError("expected the libraries not to import mpsn")


def run_pytest(
    tree: Path, arguments: Sequence[str], limit: float, plugin: "Killer | Recorder"
) -> int | None:
    """Run pytest in a tree and a process of its own; return its exit code, None after the limit."""
    sys.stdout.flush()
    child = os.fork()
    if not child:
        code = 70
        try:
            os.setsid()
            code = _pytest_here(tree, arguments, plugin)
        finally:
            os._exit(code)
    end = time.monotonic() + limit
    while not (ended := os.waitpid(child, os.WNOHANG))[0] and time.monotonic() < end:
        time.sleep(0.01)
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(child, signal.SIGKILL)  # with what the tests have started
    if ended[0]:
        return os.waitstatus_to_exitcode(ended[1])
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


def _pytest_here(tree: Path, arguments: Sequence[str], plugin: "Killer | Recorder") -> int:
    log = os.open(plugin.path.with_suffix(".log"), os.O_CREAT | os.O_TRUNC | os.O_RDWR)
    for stream in range(3):
        os.dup2(log, stream)
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    os.chdir(tree)
    temporary = tempfile.mkdtemp(dir=tree)
    folders = [f"{tree}/src", f"{tree}/reproduction/src"]
    os.environ |= {"PYTHONPATH": os.pathsep.join(folders), "TMPDIR": temporary}
    tempfile.tempdir = temporary
    sys.path[:0] = folders
    importlib.invalidate_caches()
    base = f"--basetemp={temporary}/pytest"
    return int(pytest.main([*OPTIONS, base, *arguments], plugins=[NoShrinking(), plugin]))


class NoShrinking:
    """Hypothesis stops at the first counterexample."""

    def pytest_sessionstart(self) -> None:
        from hypothesis import Phase, settings

        phases = (Phase.explicit, Phase.generate)
        settings.register_profile("mutants", settings.get_profile("mpsn"), phases=phases)
        settings.load_profile("mutants")


class Killer:
    """Writes the name of the test that failed, or of the file that could not be imported."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def _write(self, report: pytest.TestReport | pytest.CollectReport) -> None:
        if report.failed:
            self.path.write_text(report.nodeid)

    pytest_collectreport = pytest_runtest_logreport = _write


class Recorder:
    """Writes a line of JSON for each test: its seconds, whether it passed, the lines it ran.

    Lines that ran while a test was set up or its file imported are ``shared`` with the other tests
    of the file.
    """

    def __init__(self, root: Path, path: Path) -> None:
        self.root, self.path = f"{root}/", path
        self.packages = (f"{root}/{LIBRARY}/", f"{root}/{REPRODUCTION}/")
        self.lines: set[tuple[str, int]] = set()
        self.record: dict[str, object] = {}

    def pytest_sessionstart(self) -> None:
        if sys.version_info < (3, 12):
            sys.settrace(self._trace)
            threading.settrace(self._trace)
            return
        monitoring = sys.monitoring
        monitoring.use_tool_id(monitoring.COVERAGE_ID, "mutants")
        monitoring.register_callback(monitoring.COVERAGE_ID, monitoring.events.LINE, self._line)
        monitoring.set_events(monitoring.COVERAGE_ID, monitoring.events.LINE)

    def _is_ours(self, code: CodeType) -> bool:
        """Return whether code is a function of ours; bodies of modules run when first imported."""
        return bool(code.co_flags & CO_OPTIMIZED) and code.co_filename.startswith(self.packages)

    def _line(self, code, line):
        if self._is_ours(code):
            self.lines.add((code.co_filename, line))
        return sys.monitoring.DISABLE  # until the next test

    def _trace(self, frame, event, argument):
        if not self._is_ours(frame.f_code):
            return None
        self.lines.add((frame.f_code.co_filename, frame.f_lineno))
        return self._trace

    def _move_lines(self, key: str) -> None:
        """Move the lines that ran into the record of the test."""
        for file, line in self.lines:
            self.record[key].setdefault(file.removeprefix(self.root), []).append(line)
        self.lines.clear()
        if sys.version_info >= (3, 12):
            sys.monitoring.restart_events()

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.record = {"test": nodeid, "seconds": 0.0, "passed": True, "shared": {}, "own": {}}
        self._move_lines("shared")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.record["seconds"] += report.duration
        self.record["passed"] &= report.passed
        self._move_lines("shared" if report.when == "setup" else "own")

    def pytest_runtest_logfinish(self) -> None:
        with self.path.open("a") as out:
            out.write(json.dumps(self.record) + "\n")


class Ran:
    """The tests that pass, and those that ran a line."""

    def __init__(self, records: Iterable[tuple[str, dict]], root: Path) -> None:
        self.root = root
        self.tests: list[str] = []
        self.seconds: list[float] = []
        self.counts: list[Counter[str]] = []  # lines that a test ran, by file
        self.own: dict[tuple[str, int], set[int]] = defaultdict(set)
        self.shared: dict[tuple[str, int], set[str]] = defaultdict(set)
        self.units: dict[str, list[int]] = defaultdict(list)
        for unit, record in records:
            for file, lines in record["shared"].items():
                for line in lines:
                    self.shared[file, line].add(unit)
            if not record["passed"]:
                continue
            self.units[unit].append(len(self.tests))
            for file, lines in record["own"].items():
                for line in lines:
                    self.own[file, line].add(len(self.tests))
            self.tests.append(record["test"])
            self.seconds.append(record["seconds"])
            self.counts.append(Counter({file: len(x) for file, x in record["own"].items()}))
        self._read_names()

    def _read_names(self) -> None:
        """Find where names are used, and the names of compiled functions, which cannot be seen."""
        self.uses: dict[str, set[tuple[str, int, str]]] = defaultdict(set)
        self.compiled: set[tuple[str, str]] = set()

        def visit(file: str, node: ast.AST, owner: str) -> None:
            if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
                owner = node.name
                if COMPILED.search(" ".join(map(ast.unparse, node.decorator_list))):
                    self.compiled.add((file, owner))
            elif isinstance(node, ast.Assign) and not owner:
                owner = ast.unparse(node.targets[0])
                if isinstance(node.value, ast.Call) and COMPILED.search(ast.unparse(node.value)):
                    self.compiled |= {
                        (file, ast.unparse(x)) for x in (*node.targets, *node.value.args)
                    }
            elif isinstance(node, (ast.Name, ast.Attribute)):
                name = node.id if isinstance(node, ast.Name) else node.attr
                self.uses[name].add((file, node.lineno, owner))
            for child in ast.iter_child_nodes(node):
                visit(file, child, owner)

        for path in sources_of(self.root):
            visit(str(path.relative_to(self.root)), ast.parse(path.read_text()), "")

    def _of_users(self, name: str, seen: set[str]) -> set[int]:
        """Return the tests that ran a use of a name, or of compiled functions that use it."""
        out: set[int] = set()
        seen.add(name)
        for file, line, owner in self.uses[name]:
            out |= self.own.get((file, line), set())
            if (file, owner) in self.compiled and owner not in seen:
                out |= self._of_users(owner, seen)
        return out

    def tests_of(self, file: str, change: Change) -> list[int]:
        """Return the tests that run what a change changes, the best first."""
        own = set().union(*(self.own.get((file, line), ()) for line in change.lines))
        owner = change.owner[-1] if change.owner else ""
        if not own and (change.imported or (file, owner) in self.compiled):
            own = self._of_users(owner, set())
        if not own and change.imported:
            own = set().union(*(tests for (name, _), tests in self.own.items() if name == file))
        units = set().union(*(self.shared.get((file, line), ()) for line in change.lines))
        rest = {test for unit in units for test in self.units[unit]} - own

        def cost(test: int) -> float:
            share = (self.counts[test][file] + 1) / (self.counts[test].total() + 100)
            return (self.seconds[test] + COLLECTING) / share

        return [*sorted(own, key=cost), *sorted(rest, key=cost)]
