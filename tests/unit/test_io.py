"""One way to write files: whole or not at all, whatever goes wrong on the way."""

import errno
import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from matplotlib import pyplot as plt

from mpsn._files.io import atomic_write, check_writable, save_figure
from mpsn.errors import FileError


@pytest.fixture(params=["unnamed", "named"], autouse=True)
def parts(request, monkeypatch):
    """Part files without a name, as on Linux, and with one, as everywhere else."""
    if request.param == "named":
        monkeypatch.delattr(os, "O_TMPFILE", raising=False)
    elif not hasattr(os, "O_TMPFILE"):
        pytest.skip("files without a name are Linux's")
    return request.param


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def write(path, content, fail=None, **options):
    with atomic_write(path, "wb" if isinstance(content, bytes) else "w", **options) as file:
        file.write(content)
        if fail:
            fail()


def test_text_and_bytes(tmp_path):
    write(tmp_path / "bytes", b"\x00\r\n")
    write(tmp_path / "text", "ü\r\n")
    assert (tmp_path / "bytes").read_bytes() == b"\x00\r\n"
    assert (tmp_path / "text").read_bytes() == "ü\r\n".encode()
    write(str(tmp_path / "text"), "new")
    assert (tmp_path / "text").read_text() == "new"
    assert names(tmp_path) == ["bytes", "text"]


def test_the_old_file_stays_until_the_new_one_is_whole(tmp_path, parts):
    path = tmp_path / "file"
    path.write_text("old")
    with atomic_write(path, "w") as file:
        file.write("new")
        file.flush()
        assert path.read_text() == "old"
        assert len(names(tmp_path)) == (2 if parts == "named" else 1)
    assert path.read_text() == "new"


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, SystemExit, GeneratorExit])
def test_an_error_in_the_block_leaves_no_trace(tmp_path, error):
    path = tmp_path / "file"

    def stop():
        raise error

    for content in (None, "old"):
        if content:
            path.write_text(content)
        with pytest.raises(error):
            write(path, "half", fail=stop)
        assert names(tmp_path) == (["file"] if content else [])
    assert path.read_text() == "old"


@pytest.mark.parametrize("where", ["write", "fsync", "link", "replace", "open"])
def test_a_full_disk_leaves_no_trace(tmp_path, monkeypatch, parts, where):
    if where == "link" and parts == "named":
        pytest.skip("nothing is linked")
    path = tmp_path / "file"
    path.write_text("old")

    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    if where in ("fsync", "open", "link"):
        monkeypatch.setattr(os, where, full)
    if where == "replace":
        monkeypatch.setattr(Path, where, full)
    with pytest.raises(FileError, match=r"write a story to .*file, got .*No space left.*; free"):
        write(path, "new", what="a story", fail=full if where == "write" else None)
    monkeypatch.undo()
    assert path.read_text() == "old"
    assert names(tmp_path) == ["file"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_a_device_that_is_full():
    with pytest.raises(FileError, match="No space left"):
        write("/dev/full", b"x" * 10_000_000)


def test_missing_folders(tmp_path):
    with pytest.raises(FileError, match=r"got no folder .*no; create it"):
        write(tmp_path / "no" / "file", "x")
    assert names(tmp_path) == []
    write(tmp_path / "a" / "b" / "file", "x", parents=True)
    assert (tmp_path / "a" / "b" / "file").read_text() == "x"
    with pytest.raises(FileError, match="Expected to write"):
        write(tmp_path / "a" / "b" / "file" / "below", "x", parents=True)
    with pytest.raises(FileError, match="a folder of that name"):
        write(tmp_path / "a", "x")
    assert names(tmp_path) == ["a"]


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o755])
def test_permissions_are_kept(tmp_path, mode):
    path = tmp_path / "file"
    path.write_text("old")
    path.chmod(mode)
    write(path, "new")
    assert stat.S_IMODE(path.stat().st_mode) == mode
    write(tmp_path / "other", "new")
    (tmp_path / "plain").write_text("new")
    assert (tmp_path / "other").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_links(tmp_path, monkeypatch):
    """A link to the target is followed; one at the name of the part file never is."""
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to("real")
    write(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"
    monkeypatch.setattr("secrets.token_hex", lambda n: "guessed")
    (tmp_path / "victim").write_text("precious")
    (tmp_path / ".real.guessed.part").symlink_to("victim")
    with pytest.raises(FileError, match="File exists"):
        write(tmp_path / "real", "newer")
    assert (tmp_path / "victim").read_text() == "precious"
    assert (tmp_path / "real").read_text() == "new"
    assert (tmp_path / ".real.guessed.part").is_symlink()  # not ours to remove


def test_devices_and_pipes_are_written_to_directly(tmp_path):
    write("/dev/null", "gone")
    assert not Path("/dev/null").is_file()
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    found = []
    reader = threading.Thread(target=lambda: found.append(pipe.read_text()))
    reader.start()
    write(pipe, "through")
    reader.join(10)
    assert found == ["through"]
    program = (
        "from mpsn._files.io import atomic_write\n"
        "with atomic_write('/dev/stdout', 'w') as file: file.write('said')"
    )
    env = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    assert done.stdout == "said"
    with (tmp_path / "redirected").open("w") as file:
        subprocess.run(command, env=env, stdout=file, check=True)
        assert os.fstat(file.fileno()).st_nlink == 1  # the same file, not one that took its place
    assert (tmp_path / "redirected").read_text() == "said"


def test_writers_do_not_disturb_each_other(tmp_path):
    path = tmp_path / "file"
    with atomic_write(path, "w") as one, atomic_write(path, "w") as other:
        one.write("one")
        other.write("other")
    assert path.read_text() == "one"
    assert names(tmp_path) == ["file"]


def test_folders_are_checked_before_the_work(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("old")
    for path in ("file", "new"):
        check_writable(tmp_path / path)
    check_writable(tmp_path / "a" / "b", parents=True)
    check_writable("/dev/full")
    os.mkfifo(tmp_path / "pipe")
    check_writable(tmp_path / "pipe")  # nobody reads it yet
    assert names(tmp_path) == ["file", "pipe"]
    assert (tmp_path / "file").read_text() == "old"
    for path, said in (("file/below", "no folder"), ("no/below", "no folder"), (".", "a folder")):
        with pytest.raises(FileError, match=f"Expected to write a story to .*got {said}"):
            check_writable(tmp_path / path, what="a story")
    with pytest.raises(FileError, match="Not a directory"):
        check_writable(tmp_path / "file" / "a" / "b", parents=True)

    def read_only(*_):
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(os, "open", read_only)
    with pytest.raises(FileError, match="Read-only file system"):
        check_writable(tmp_path / "new")


KILLED = """
import os, signal
from mpsn._files.io import atomic_write
with atomic_write('file', 'w') as file:
    file.write('half')
    file.flush()
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_nothing_stays_of_a_killed_process(tmp_path, parts):
    if parts == "named":
        pytest.skip("only Linux has files without a name")
    (tmp_path / "file").write_text("old")
    env = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-c", KILLED], env=env, cwd=tmp_path, check=False)
    assert (tmp_path / "file").read_text() == "old"
    assert names(tmp_path) == ["file"]


def test_long_names(tmp_path):
    write(tmp_path / ("ü" * 127), "x")
    assert len(names(tmp_path)) == 1


def test_figures(tmp_path):
    before = plt.get_fignums()
    for name, start in (("a.png", b"\x89PNG"), ("a.svg", b"<?xml"), ("plain", b"\x89PNG")):
        figure, _ = plt.subplots(figsize=(1, 1))
        save_figure(figure, tmp_path / name)
        assert (tmp_path / name).read_bytes().startswith(start)
        assert not plt.fignum_exists(figure.number)
    with pytest.raises(ValueError, match="xyz"):
        save_figure(plt.subplots(figsize=(1, 1))[0], tmp_path / "a.xyz")
    assert names(tmp_path) == ["a.png", "a.svg", "plain"]
    assert plt.get_fignums() == before
