"""Run tests as on other machines, with other seeds, and print what differs.

    python benchmarks/machines.py [--machines old zen new] [--seeds 5] [TESTS ...]

A machine is imitated by the switches that pick instruction sets, threads and the order of sets.
By default the tests are the files, and the modules with doctests, that train or compare numbers
with fractions. What is printed are the values that met a bound, where they vary, and the tests that
fail somewhere. With several seeds, all random numbers of the tests come from seeds moved by 0,
1000, 2000, ...; doctests, which print numbers of one seed, run with the first alone. A test that
does not pass everywhere is run again under each switch of the machine alone, to name the guilty.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
import torch

ROOT = Path(__file__).parents[1]
MACHINES = {
    "old": {
        "ATEN_CPU_CAPABILITY": "default",
        "MKL_ENABLE_INSTRUCTIONS": "SSE4_2",
        "OPENBLAS_CORETYPE": "Haswell",
        "NUMBA_CPU_NAME": "generic",
        "OMP_NUM_THREADS": "1",
        "PYTHONHASHSEED": "0",
    },
    "zen": {
        "ATEN_CPU_CAPABILITY": "avx2",
        "MKL_CBWR": "COMPATIBLE",
        "OPENBLAS_CORETYPE": "Zen",
        "OMP_NUM_THREADS": "2",
        "PYTHONHASHSEED": "1",
    },
    "new": {
        "ATEN_CPU_CAPABILITY": "avx512",
        "MKL_ENABLE_INSTRUCTIONS": "AVX512",
        "OPENBLAS_CORETYPE": "SkylakeX",
        "OMP_NUM_THREADS": "4",
        "PYTHONHASHSEED": "2",
    },
}
ROUNDED = re.compile(r"\bfit\(|\bepochs\b|approx\(|close\(|\d\.\d")
BOUNDED = re.compile(r"(-?[\d.]+(?:e-?\d+)?) ([<>]=?) (-?[\d.]+(?:e-?\d+)?)")
SHIFT, OUTCOMES = "MPSN_TESTS_SHIFT", "MPSN_TESTS_OUTCOMES"
APART = 1000  # between seeds, so that none of a test is met again


def moved(seed):
    """Return another seed for a number, and all else as it is."""
    whole = isinstance(seed, (int, np.integer)) and not isinstance(seed, bool)
    return int(seed) + int(os.environ[SHIFT]) if whole else seed


class Generator(torch.Generator):
    def manual_seed(self, seed):
        return super().manual_seed(moved(seed))


class RandomState(np.random.RandomState):
    def __init__(self, seed=None):
        super().__init__(moved(seed))


class Seeded:
    """The generator of torch's own random numbers."""

    def manual_seed(self, seed):
        return torch._C.default_generator.manual_seed(moved(seed))

    def __getattr__(self, name):
        return getattr(torch._C.default_generator, name)


def pytest_configure() -> None:
    """Move the seeds of all that runs in this process."""
    if int(os.environ.get(SHIFT, 0)):
        manual_seed, default_rng = torch.manual_seed, np.random.default_rng
        torch.manual_seed = lambda seed: manual_seed(moved(seed))
        torch.Generator, torch.default_generator = Generator, Seeded()
        np.random.default_rng = lambda seed=None: default_rng(moved(seed))
        np.random.RandomState = RandomState


def write(record: dict[str, object]) -> None:
    with Path(os.environ[OUTCOMES]).open("a") as out:
        out.write(json.dumps(record) + "\n")


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Write down what came of a test, and why it failed."""
    if report.when == "call" or report.failed:
        why = getattr(getattr(report.longrepr, "reprcrash", None), "message", str(report.longrepr))
        why = why.split("\n")[0] or "failed"
        write({"test": report.nodeid, "why": why if report.failed else None})


def pytest_assertion_pass(item: pytest.Item, orig: str, expl: str) -> None:
    """Write down a value that met its bound."""
    if bounded := BOUNDED.fullmatch(expl.split("\n")[0]):
        write({"test": item.nodeid, "bound": f"{orig:.80}", "value": float(bounded[1])})


class Ran(NamedTuple):
    """What came of tests: why each failed, or None; and the values that met each bound."""

    failed: dict[str, str | None]
    values: dict[tuple[str, str], list[float]]


def run(tests: list[str], switches: dict[str, str], seed: int) -> Ran:
    """Run tests as on another machine."""
    for path in ROOT.glob("**/tests/**/*-pytest-*.pyc"):
        path.unlink()  # compiled without a hook for assertions that pass
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "outcomes"
        path.touch()
        paths = (str(Path(__file__).parent), os.environ.get("PYTHONPATH", ""))
        own = {"PYTHONPATH": os.pathsep.join(paths), SHIFT: str(APART * seed), OUTCOMES: str(path)}
        options = ["-q", "-p", "machines", "-o", "enable_assertion_pass_hook=true"]
        ended = subprocess.run(
            [sys.executable, "-m", "pytest", *options, *tests],
            cwd=ROOT,
            env={**os.environ, **switches, **own},
            capture_output=True,
            text=True,
        )
        if ended.returncode > 1:
            print(ended.stdout[-2000:], ended.stderr[-2000:], sep="\n")
        ran = Ran({}, defaultdict(list))
        for record in map(json.loads, path.read_text().splitlines()):
            if "bound" in record:
                ran.values[record["test"], record["bound"]].append(record["value"])
            else:
                ran.failed[record["test"]] = record["why"]
    return ran


def rounded() -> list[str]:
    """Return the files and modules that train or compare numbers with fractions."""
    tests = [*ROOT.glob("tests/**/test_*.py"), *ROOT.glob("reproduction/tests/test_*.py")]
    doctests = [*ROOT.glob("src/**/*.py"), *ROOT.glob("reproduction/src/**/*.py")]
    doctests = [path for path in doctests if ">>> " in path.read_text()]
    pages = [ROOT / "README.md", *ROOT.glob("docs/*.md")]
    return [
        str(path.relative_to(ROOT))
        for path in sorted([*tests, *doctests, *pages])
        if ROUNDED.search(path.read_text())
    ]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tests", nargs="*", help="files or names of tests, as for pytest")
    parser.add_argument("--machines", nargs="+", choices=MACHINES, default=list(MACHINES))
    parser.add_argument("--seeds", type=int, default=1)
    arguments = parser.parse_args()
    tests = arguments.tests or rounded()
    failed: dict[str, dict[tuple[str, int], str]] = defaultdict(dict)
    values: dict[tuple[str, str], list[float]] = defaultdict(list)
    runs = [(name, seed) for seed in range(arguments.seeds) for name in arguments.machines]
    for name, seed in runs:
        start = time.time()
        chosen = [x for x in tests if not seed or Path(x.split("::")[0]).name.startswith("test_")]
        ran = run(chosen, MACHINES[name], seed) if chosen else Ran({}, {})
        bad = {test: why for test, why in ran.failed.items() if why}
        for test, why in bad.items():
            failed[test][name, seed] = why
        for key, some in ran.values.items():
            values[key] += some
        took = f"{time.time() - start:.0f} s"
        print(f"{name}, seed {seed}: {len(ran.failed)} tests, {len(bad)} fail; {took}", flush=True)
    for (test, bound), some in sorted(values.items()):
        if len(set(some)) > 1:
            print(f"{test}: {bound}: {min(some):g} to {max(some):g}")
    for test, reasons in sorted(failed.items()):
        print(f"\n{test}")
        for (name, seed), why in reasons.items():
            print(f"  {name}, seed {seed}: {why:.200}")
        if len(reasons) < len(runs):
            name, seed = next(iter(reasons))
            for switch, value in MACHINES[name].items():
                alone = run([test], {switch: value}, seed).failed.get(test)
                print(f"  {switch}={value} alone: {alone or 'passes':.80}")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
