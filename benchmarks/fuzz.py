"""Attack every reader of files with mutants and crafted bombs, and judge what they do.

    python benchmarks/fuzz.py --mutants 10000 --workers 2

Each case runs in a worker process with at most 4 GiB of address space beyond what it has after its
imports. A reader may read the file or refuse it with an ``MPSNError``. All else is a failure:

    traceback   any other exception
    memory      more than 1 GiB beyond what was resident before, or an allocation that failed
    hang        more than 10 seconds of computing, or five minutes without an answer
    wrong       a bomb or a damaged file that was read as if it were sound
    forbidden   a file written or removed outside of the case's folder, a program started, or a host
                looked up, as Python's audit events say

Cases follow from ``--seed``, so ``--case READER:NUMBER`` repeats one.
"""

import argparse
import faulthandler
import gc
import math
import multiprocessing
import os
import re
import resource
import shutil
import sys
import tempfile
import time
import traceback
import warnings
import zlib
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import psutil
from tqdm import tqdm

ROOM = 4 << 30  # address space of a worker, beyond what it has when it starts to work
MOST_BYTES = 1 << 30
MOST_SECONDS = 10
PATIENCE, TRIES = 60, 5  # seconds to wait for an answer, and how often if it computes slowly
MOST_WORDS = 2000  # characters of an error message
SOUND = ("read", "refused")
STATUS = Path("/proc/self/status")
STARTS = ("subprocess.", "os.system", "os.exec", "os.posix_spawn", "os.startfile", "pty.spawn")
CHANGES = ("os.remove", "os.rename", "os.rmdir", "os.link", "os.symlink", "os.chmod", "os.truncate")
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
OWN_HOST = "127.0.0.1"


def mutant(reader, files, seed, name, number):
    """Return files with something changed, and whether they must be refused or read the same."""
    from fuzz_mutants import mutate, mutate_archive, mutate_json

    rng = np.random.default_rng([seed, zlib.crc32(name.encode()), number])
    target = list(files)[
        0 if reader.kind == "zip" or name == "labels" else rng.integers(len(files))
    ]
    content, same = files[target], False
    kind = rng.integers(10)
    if kind == 0:
        content = rng.bytes(rng.integers(0, 200))
    elif kind == 1:  # cut short
        content, same = content[: rng.integers(len(content))], reader.whole
    elif reader.kind == "zip" and kind > 4:
        content = mutate_archive(content, rng)
    elif reader.kind == "json" and kind > 3:
        content = mutate_json(content, rng).encode()
    else:
        content, same = mutate(content, rng), reader.kind == "zip" or name == "download"
    return {**files, target: content}, same


def resident(key):
    return int(re.search(rf"{key}:\s*(\d+) kB", STATUS.read_text())[1]) << 10


class Watch:
    """Notes what happens that reading a file gives no reason for."""

    def __init__(self, folder):
        self.folder, self.seen, self.on = str(folder), [], False

    def note(self, event, arguments):
        if self.on and self.is_forbidden(event, arguments):
            self.seen.append(f"{event} {arguments!s:.100}")

    def is_forbidden(self, event, arguments):
        if event == "open":
            path, _, flags = arguments
            return bool((flags or 0) & WRITES) and not self.is_own(path)
        if event in ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname"):
            return OWN_HOST not in str(arguments)
        if event in CHANGES:
            changed = arguments[1:2] if event == "os.link" else arguments[:2]
            return not all(map(self.is_own, changed))
        return event.startswith(STARTS)

    def is_own(self, path):
        """Return whether a path is ours to write: a case's, an open file, or what numba keeps."""
        path = os.fsdecode(path) if isinstance(path, (str, bytes, os.PathLike)) else ""
        return not path or path.startswith((self.folder, os.devnull)) or "__pycache__" in path


def judge(reader, folder, original, expected, watch=None):
    """Read files; return a verdict, words about it, and what it took."""
    from fuzz_readers import WrongError

    from mpsn.errors import MPSNError

    gc.collect()  # else what earlier cases left, once collected, hides what this one takes
    Path("/proc/self/clear_refs").write_text("5")  # resets the peak
    before, start = resident("VmRSS"), time.process_time()
    if watch is not None:
        watch.seen, watch.on = [], True
    try:
        found = reader.read(folder)
        verdict, words = "read", ""
        if expected == "refused" or (expected == "same" and found != original):
            verdict, words = "wrong", f"read as {found!s:.100}"
    except MPSNError as error:
        verdict, words = "refused", str(error)
        if len(words) > MOST_WORDS:
            verdict, words = "wrong", f"a message of {len(words)} characters"
    except WrongError as error:
        verdict, words = "wrong", str(error)
    except MemoryError as error:
        verdict, words = "memory", repr(error)
    except Exception as error:
        full = "alloc" in str(error)  # torch has no error of its own for this
        where = traceback.extract_tb(error.__traceback__)[-1]
        said = f"{error!r:.200} ({Path(where.filename).name}:{where.lineno})"
        verdict, words = "memory" if full else "traceback", said
    found, seconds = None, time.process_time() - start
    if watch is not None:
        watch.on = False
        if watch.seen and verdict in SOUND:
            verdict, words = "forbidden", "; ".join(watch.seen[:3])
    grown = resident("VmHWM") - before
    if verdict in SOUND and grown > MOST_BYTES:
        verdict, words = "memory", f"{grown / 2**30:.2g} GiB"
    if verdict in SOUND and seconds > MOST_SECONDS:
        verdict, words = "hang", f"{seconds:.0f} s"
    return verdict, words, grown, seconds


def serve(pipe, folder, seed):
    """Work on cases until the pipe closes."""
    faulthandler.enable()
    os.environ |= {"FUZZ_FOLDER": str(folder), "XDG_CACHE_HOME": str(folder / "cache")}
    os.environ.pop("MPSN_DATA", None)
    import torch
    from fuzz_readers import READERS
    from fuzz_texts import BOMBS

    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    samples, originals = {}, {}
    for name, reader in READERS.items():  # also compiles what is compiled when first used
        samples[name] = reader.sample()
        originals[name] = reader.read(write(folder / "sample", samples[name]))
    now = int(STATUS.read_text().split("VmSize:")[1].split()[0]) << 10
    resource.setrlimit(resource.RLIMIT_AS, (now + ROOM, now + ROOM))
    gc.collect()
    gc.freeze()  # all that was imported, which would take longer to look through than a case
    watch = Watch(folder)
    sys.addaudithook(watch.note)
    pipe.send(None)
    while True:
        try:
            name, case = pipe.recv()
        except EOFError:
            return
        if isinstance(case, str):
            files, expected = BOMBS[case].files(samples[name]), BOMBS[case].expected
        else:
            files, same = mutant(READERS[name], samples[name], seed, name, case)
            expected = "same" if same else "any"
        gc.collect()
        place = write(folder / "case", files)
        pipe.send(judge(READERS[name], place, originals[name], expected, watch))


def write(folder, files):
    shutil.rmtree(folder, ignore_errors=True)
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


class Worker:
    """A process that reads files; another takes its place when it dies or hangs."""

    def __init__(self, folder, seed):
        self.folder, self.seed, self.process = folder, seed, None
        folder.mkdir()

    def start(self):
        fresh = multiprocessing.get_context("forkserver")
        self.pipe, theirs = fresh.Pipe()
        self.process = fresh.Process(target=serve, args=(theirs, self.folder, self.seed))
        self.process.start()
        theirs.close()
        self.pipe.recv()  # it has read all samples

    def stop(self):
        if self.process is not None:
            self.pipe.close()
            self.process.join(5)
            self.process.kill()
            self.process.join()
            self.process = None

    def judge(self, case):
        if self.process is None:
            self.start()
        self.pipe.send(case)
        used = psutil.Process(self.process.pid)
        before = used.cpu_times().user
        try:
            for _ in range(TRIES):
                if self.pipe.poll(PATIENCE):
                    return self.pipe.recv()
                if used.cpu_times().user > before + MOST_SECONDS:
                    break  # else the machine is busy with something else
            self.process.kill()
            verdict = ("hang", f"no answer in {PATIENCE} s", 0, PATIENCE)
        except EOFError:
            self.process.join()
            verdict = ("traceback", f"the process died ({self.process.exitcode})", 0, 0)
        self.stop()
        return verdict


def run(cases, seed=0, workers=1):
    """Run cases, pairs of a reader and a number or bomb; return their verdicts, in order."""
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(workers) as pool:

        def work(part):
            worker = Worker(Path(folder) / str(part), seed)
            try:
                mine = cases[part::workers]
                return [worker.judge(case) for case in tqdm(mine, disable=part or None)]
            finally:
                worker.stop()

        found = list(pool.map(work, range(workers)))
    return [found[i % workers][i // workers] for i in range(len(cases))]


def choose(mutants):
    """Return all bombs, and at least so many mutants, spread over the readers."""
    from fuzz_readers import READERS
    from fuzz_texts import BOMBS

    total = sum(reader.share for reader in READERS.values())
    cases = [(bomb.reader, name) for name, bomb in BOMBS.items()]
    for name, reader in READERS.items():
        cases += [(name, i) for i in range(math.ceil(mutants * reader.share / total))]
    return cases


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mutants", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--readers", nargs="+", help="only these")
    parser.add_argument("--case", help="READER:NUMBER or READER:BOMB: only this one")
    options = parser.parse_args()
    cases = choose(options.mutants)
    if options.readers:
        cases = [case for case in cases if case[0] in options.readers]
    if options.case:
        name, _, case = options.case.partition(":")
        cases = [(name, int(case) if case.isdigit() else case)]
    verdicts = run(cases, options.seed, options.workers)
    counts: dict[str, Counter[str]] = {}
    for (name, case), (verdict, words, _, _) in zip(cases, verdicts, strict=True):
        counts.setdefault(name, Counter())[verdict] += 1
        if verdict not in SOUND or options.case:
            print(f"{verdict:10} {name}:{case}  {words}")
    for name, found in counts.items():
        print(f"{name:16} {', '.join(f'{n} {verdict}' for verdict, n in sorted(found.items()))}")
    bad = sum(verdict[0] not in SOUND for verdict in verdicts)
    bombs = sum(isinstance(case, str) for _, case in cases)
    most, longest = (max(range(len(cases)), key=lambda n: verdicts[n][i]) for i in (2, 3))
    print(
        f"{len(cases) - bombs} mutants and {bombs} bombs: {bad} failures; at most "
        f"{verdicts[most][2] / 2**20:.0f} MiB ({':'.join(map(str, cases[most]))}) and "
        f"{verdicts[longest][3]:.1f} s ({':'.join(map(str, cases[longest]))})"
    )
    return bad > 0


if __name__ == "__main__":
    sys.exit(main())
