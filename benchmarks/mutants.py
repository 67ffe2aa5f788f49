"""Change the library in small ways, one at a time, and see whether its tests notice.

    python benchmarks/mutants.py [--mutants 300] [--seed 0] [--rooms nn wl] [--tests tests/unit]
                                 [--jobs 2] [--minutes 60] [--out out/mutants.json]
    python benchmarks/mutants.py --again out/mutants.json [--tests tests/unit/test_new.py]

First all tests run once, unchanged: those that pass are kept, with the lines that they run. Then
every mutant meets the tests that run its line, those that say most about its file in the least
time first. A test that fails on a mutant is run on the unchanged library, too, and does not count
if it fails there. What survives is printed as a diff: kill it with a test, or see that it is
equivalent. Lines that no test runs here (of a GPU, of a missing package) are only counted.
"""

import argparse
import difflib
import functools
import json
import multiprocessing
import random
import shutil
import tempfile
import time
from collections import Counter, defaultdict
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path

from mutants_changes import Change, changes, differs
from mutants_tests import (
    COLLECTING,
    LIBRARY,
    REPRODUCTION,
    Killer,
    Ran,
    Recorder,
    load_libraries,
    run_pytest,
    sources_of,
)

ROOT = Path(__file__).parents[1]
PASSES = (3.0, 15.0, 120.0)  # seconds of tests that a mutant meets at a time
HALF_WRITTEN = shutil.ignore_patterns("*.pyc.*", "*.nb?.*")  # caches that others write just now


@dataclass
class Mutant:
    file: str
    change: Change
    tests: list[int] = field(default_factory=list)  # still to be met, best first
    met: int = 0
    verdict: str = "survived"
    killer: str = ""

    @property
    def room(self) -> str:
        return room_of(self.file)

    @functools.cached_property
    def diff(self) -> list[str]:
        before = (ROOT / self.file).read_text()
        after = self.change.apply(before).splitlines()
        return list(difflib.unified_diff(before.splitlines(), after, self.file, lineterm="", n=2))

    @property
    def changed(self) -> tuple[str, ...]:
        """What stays the same when lines around it come and go."""
        return (self.file, *(line for line in self.diff[2:] if line.startswith(("-", "+"))))


def room_of(file: str) -> str:
    """Return the folder of the library that a file is in; the reproduction is one room."""
    own = Path(file).is_relative_to(LIBRARY)
    return Path(file).relative_to(LIBRARY).parts[0] if own else "reproduction"


def copied(tree: Path, source: Path) -> Path:
    """Copy what tests read: the sources and tests as files, the rest as links."""
    tree.mkdir()
    for path in source.iterdir():
        if path.name in ("src", "tests", "reproduction"):
            shutil.copytree(path, tree / path.name, ignore=HALF_WRITTEN)
        elif path.is_file():
            shutil.copy2(path, tree)
        elif not path.name.startswith((".", "tmp", "out", "runs", "shared")):
            (tree / path.name).symlink_to(path)
    return tree


def units(tests: list[str]) -> list[str]:
    """Return files of tests, and rooms with doctests, each for a process; the longest first."""
    if tests:
        return tests
    patterns = ("tests/**/test_*.py", "reproduction/tests/test_*.py", "docs/**/*.md", "README.md")
    files = [path for pattern in patterns for path in ROOT.glob(pattern)]
    files = [path for path in files if path.is_file()]
    files.sort(key=lambda path: -path.stat().st_size)
    rooms = [x for x in (ROOT / LIBRARY).iterdir() if x.is_dir() or x.suffix == ".py"]
    rooms = [*(path for path in rooms if path.name != "__pycache__"), ROOT / REPRODUCTION]
    rooms = [path for path in rooms if path.exists()]
    return [str(path.relative_to(ROOT)) for path in (*files, *rooms)]


def record_unit(base: Path, unit: str, end: float) -> tuple[str, list[dict], bool]:
    with tempfile.TemporaryDirectory(dir=base.parent) as folder:
        path = Path(folder) / "records"
        path.touch()
        recorder = Recorder(base, path)
        limit = end - time.time()
        ended = limit > 0 and run_pytest(base, [unit], limit, recorder) is not None
        records = [json.loads(line) for line in path.read_text().splitlines()]
        if not records and ended:
            print(f"no test ran in {unit}:", path.with_suffix(".log").read_text()[-1000:])
        return unit, records, ended


def record(pool: ProcessPoolExecutor, base: Path, names: list[str], end: float) -> Ran:
    """Run all tests unchanged, as far as they end in time."""
    start, records, late, failed = time.time(), [], [], []
    jobs = [pool.submit(record_unit, base, unit, end) for unit in names]
    for job in as_completed(jobs):
        unit, found, ended = job.result()
        records += [(unit, record) for record in found]
        failed += [record["test"] for record in found if not record["passed"]]
        late += [] if ended else [unit]
    ran = Ran(records, ROOT)
    print(f"{len(ran.tests)} tests pass, {len(failed)} fail or are skipped", end="; ")
    print(f"{time.time() - start:.0f} s", *(f"\nnot ended in time: {unit}" for unit in late))
    return ran


def draw(ran: Ran, rooms: list[str], n: int, seed: int) -> tuple[list[Mutant], Counter[str]]:
    """Draw mutants that a test runs: of a room by the root of its size, in turn by operator."""
    rng, sources = random.Random(seed), {}
    pools: dict[str, dict[str, list[Mutant]]] = {room: defaultdict(list) for room in rooms}
    for path in sources_of(ROOT):
        file = str(path.relative_to(ROOT))
        if (room := room_of(file)) in pools:
            sources[file] = path.read_text()
            for change in changes(sources[file]):
                pools[room][change.operator].append(Mutant(file, change))
    sizes = {room: sum(map(len, pool.values())) ** 0.5 for room, pool in pools.items()}
    drawn: list[Mutant] = []
    places = set()  # one mutant of an operator at each
    not_run: Counter[str] = Counter()
    for i, room in enumerate(rooms):
        quota = round((n - len(drawn)) * sizes[room] / sum(sizes[x] for x in rooms[i:]))
        pool, goal = pools[room], len(drawn) + quota
        for operator in sorted(pool):
            rng.shuffle(pool[operator])
        while pool and len(drawn) < goal:
            operator = rng.choice(sorted(pool))
            mutant = pool[operator].pop()
            if not pool[operator]:
                del pool[operator]
            source, place = sources[mutant.file], (mutant.file, mutant.change[:3])
            if place in places or not differs(source, mutant.change.apply(source)):
                continue
            places.add(place)
            mutant.tests = ran.tests_of(mutant.file, mutant.change)
            not_run[room] += not mutant.tests
            drawn += [mutant] if mutant.tests else []
    return drawn, not_run


def survivors(ran: Ran, path: Path) -> list[Mutant]:
    """Return the survivors of a former run that are still to be had."""
    wanted = {tuple(x["changed"]) for x in json.loads(path.read_text()) if x["verdict"] != "killed"}
    out: dict[tuple[str, ...], Mutant] = {}
    for file in {changed[0] for changed in wanted}:
        for change in changes((ROOT / file).read_text()):
            mutant = Mutant(file, change)
            if mutant.changed in wanted:
                mutant.tests = ran.tests_of(file, change)
                out[mutant.changed] = mutant
    for changed in wanted - set(out):
        print("no longer there:", *changed, sep="\n")
    return list(out.values())


healthy: set[tuple[str, ...]] = set()  # what passes on the unchanged library, of each process


def judge(base: Path, file: str, change: Change, tests: list[str], limit: float, end: float):
    """Return a verdict on a mutant, the test that killed it, and tests that fail without it."""
    bad: list[str] = []
    with tempfile.TemporaryDirectory(dir=base.parent) as folder:
        tree, path = copied(Path(folder) / "tree", base), Path(folder) / "killer"
        source = tree / file
        text = source.read_text()
        source.write_text(change.apply(text))
        if "numba" in text:
            limit += 60
            # Compiled functions hold those that they call.
            for compiled in tree.glob("**/src/**/*.nb[ic]"):
                compiled.unlink()
        while tests := [test for test in tests if test not in bad]:
            path.write_text("")
            code = run_pytest(tree, ["-x", *tests], min(limit, end - time.time()), Killer(path))
            if code == 0:
                break
            killer = path.read_text()
            check = (killer,) if killer in tests else tuple(tests)
            path.write_text("")
            rest = min(limit, end - time.time() + 10)
            if check in healthy or run_pytest(base, ["-x", *check], rest, Killer(path)) == 0:
                healthy.add(check)
                if code is None:
                    return ("timed out" if time.time() < end else "unfinished"), "", bad
                return "killed", killer or f"exit code {code}", bad
            if path.read_text() not in tests:
                return "unfinished", "", bad
            bad.append(path.read_text())
    return "survived", "", bad


def meet(
    pool: ProcessPoolExecutor,
    base: Path,
    ran: Ran,
    mutants: list[Mutant],
    budget: float,
    end: float,
) -> None:
    """Let the mutants that live meet their next tests."""
    jobs = {}
    for mutant in mutants:
        if mutant.verdict not in ("survived", "unfinished") or not mutant.tests:
            continue
        n, seconds = 0, 0.0
        while n < len(mutant.tests) and (not n or seconds < budget):
            seconds += ran.seconds[mutant.tests[n]] + COLLECTING
            n += 1
        tests = [ran.tests[i] for i in mutant.tests[:n]]
        limit = 15 + 4 * seconds
        jobs[pool.submit(judge, base, mutant.file, mutant.change, tests, limit, end)] = mutant, n
    for job in as_completed(jobs):
        mutant, n = jobs[job]
        mutant.verdict, mutant.killer, bad = job.result()
        if mutant.verdict != "unfinished":
            mutant.met += n - len(bad)
            del mutant.tests[:n]
        for test in bad:
            print("fails without a mutant, too:", test)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--mutants", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    rooms = list(dict.fromkeys(room_of(str(x.relative_to(ROOT))) for x in sources_of(ROOT)))
    parser.add_argument("--rooms", nargs="+", choices=rooms, default=rooms)
    parser.add_argument("--tests", nargs="+", default=[], help="only these files of tests")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--out", type=Path, default=Path("out/mutants.json"))
    parser.add_argument("--again", type=Path, help="the survivors of a former run")
    arguments = parser.parse_args()
    start = time.time()
    end = start + 60 * arguments.minutes
    load_libraries()
    context = multiprocessing.get_context("fork")
    with (
        tempfile.TemporaryDirectory() as folder,
        ProcessPoolExecutor(arguments.jobs, context) as pool,
    ):
        base = copied(Path(folder) / "base", ROOT)
        ran = record(pool, base, units(arguments.tests), start + 30 * arguments.minutes)
        if arguments.again:
            mutants, not_run = survivors(ran, arguments.again), Counter()
        else:
            mutants, not_run = draw(ran, arguments.rooms, arguments.mutants, arguments.seed)
        for budget in PASSES:
            meet(pool, base, ran, mutants, budget, end)
            report(mutants, arguments.out)
    for mutant in mutants:
        if mutant.verdict != "killed":
            print(f"\n{mutant.verdict} {mutant.met} tests, {len(mutant.tests)} not met")
            print(*mutant.diff, sep="\n")
    for room in arguments.rooms:
        verdicts = Counter(mutant.verdict for mutant in mutants if mutant.room == room)
        print(room, dict(verdicts), f"and {not_run[room]} that no test runs here", sep=": ")
    print(Counter(mutant.verdict for mutant in mutants), f"{time.time() - start:.0f} s")


def report(mutants: list[Mutant], path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    records = [
        {
            "file": mutant.file,
            "operator": mutant.change.operator,
            "verdict": mutant.verdict,
            "met": mutant.met,
            "not_met": len(mutant.tests),
            "killer": mutant.killer,
            "changed": mutant.changed,
            "diff": "\n".join(mutant.diff),
        }
        for mutant in mutants
    ]
    path.write_text(json.dumps(records, indent=1))


if __name__ == "__main__":
    main()
