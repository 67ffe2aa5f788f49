"""Every bomb, and a thousand mutants, on every reader of files, under limits of memory and time.

``benchmarks/fuzz.py`` runs ten times as many.
"""

import os
import sys

import pytest

fuzz = pytest.importorskip("fuzz")  # where the benchmarks are
MANY = 1000


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc and limits of the address space")
def test_no_file_gives_a_traceback_a_hang_or_too_much_memory():
    cases = fuzz.choose(MANY)
    bombs = [name for _, name in cases if isinstance(name, str)]
    assert len(bombs) >= 50
    assert len(cases) - len(bombs) >= MANY
    verdicts = fuzz.run(cases)
    bad = [
        f"{verdict} {name}:{case} {words}"
        for (name, case), (verdict, words, _, _) in zip(cases, verdicts, strict=True)
        if verdict not in fuzz.SOUND
    ]
    assert not bad, "\n".join(bad)
    assert {verdict[0] for verdict in verdicts} == set(fuzz.SOUND)


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
@pytest.mark.parametrize(
    "fault", ["traceback", "memory", "hang", "wrong", "forbidden", "refused", "read"]
)
def test_faults_are_found(tmp_path, monkeypatch, fault):
    from fuzz_readers import Reader

    from mpsn.errors import MPSNError

    def read(folder):
        if fault == "traceback":
            raise KeyError("x")
        if fault == "refused":
            raise MPSNError("Expected another file.")
        if fault == "memory":
            return len(b"x" * (256 << 20))  # more than malloc reuses
        if fault == "hang":
            return sum(range(10**6))
        if fault == "forbidden":
            for path in (folder, folder.parent):
                watch.note("open", (str(path / "new"), "w", os.O_WRONLY))
        return "changed" if fault == "wrong" else "same"

    monkeypatch.setattr(fuzz, "MOST_BYTES", 10 << 20)
    if fault == "hang":
        monkeypatch.setattr(fuzz, "MOST_SECONDS", 1e-4)
    reader, watch = Reader(dict, read), fuzz.Watch(tmp_path)
    expected = "any" if fault in ("memory", "hang") else "same"
    verdict, words, *_ = fuzz.judge(reader, tmp_path, "same", expected, watch)
    assert verdict == fault
    assert words.count("open (") == (fault == "forbidden")
    if fault == "read":
        assert fuzz.judge(reader, tmp_path, "same", "refused")[0] == "wrong"


def test_cases_follow_from_the_seed():
    from fuzz_readers import READERS

    reader = READERS[".edgelist"]
    files = reader.sample()
    one, two, other = (fuzz.mutant(reader, files, seed, ".edgelist", 5)[0] for seed in (0, 0, 1))
    assert one == two != other


@pytest.mark.parametrize(
    ("event", "arguments"),
    [
        ("subprocess.Popen", ("sh", ["sh"], None, None)),
        ("os.system", (b"ls",)),
        ("socket.getaddrinfo", ("example.org", 80, 0, 0, 0)),
        ("os.remove", ("/etc/passwd", -1)),
        ("os.rename", ("/cases/a", "/etc/passwd", -1, -1)),
        ("open", ("/etc/passwd", "a", os.O_WRONLY | os.O_APPEND)),
    ],
)
def test_events_that_are_forbidden(event, arguments):
    watch = fuzz.Watch("/cases")
    assert watch.is_forbidden(event, arguments)
    own = ("open", ("/cases/a", "w", os.O_WRONLY)), ("open", ("/etc/passwd", "r", os.O_RDONLY))
    own += (("os.remove", ("/cases/a", -1)), ("socket.getaddrinfo", ("127.0.0.1", 80, 0, 0, 0)))
    assert not any(watch.is_forbidden(*each) for each in own)
