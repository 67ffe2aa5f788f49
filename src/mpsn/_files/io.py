"""Files: written whole or not at all, and archives that strangers may have made."""

import io
import json
import math
import os
import secrets
import stat
import struct
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from copy import copy
from pathlib import Path
from typing import IO, Any, Literal, TypeVar

from mpsn.errors import UNREADABLE, FileError, TooLargeError

MAX_MEMBERS = 1 << 16  # of a zip archive
BLOCK = 1 << 20  # bytes that are unpacked at a time
MAX_RATIO, ALWAYS = 20, 1 << 24  # an archive may unpack to 20 times its size, and to 16 MiB
T = TypeVar("T")
OPEN_FILES = ("/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/fd/", "/proc/")


@contextmanager
def atomic_write(
    path: str | os.PathLike[str],
    mode: Literal["w", "wb"] = "wb",
    *,
    what: str = "a file",
    parents: bool = False,
) -> Iterator[IO[Any]]:
    """Open a file that takes its place at ``path`` when the block ends without an error.

    The content goes to a new file in the same folder, which is flushed to the disk and then
    renamed, so that readers see either the old file or the whole new one. On any error the old file
    stays and the new one is removed; on Linux that holds for a killed process too. Permissions of
    an existing file are kept. Devices and pipes, such as ``/dev/stdout``, are written to directly.

    Args:
        path: The file; a link is followed.
        mode: ``"w"`` for UTF-8 text, ``"wb"`` for bytes.
        what: What is written, for error messages.
        parents: Whether to create missing folders.
    """
    text: dict[str, Any] = {} if mode == "wb" else {"encoding": "utf-8", "newline": ""}
    with _explained(path, what):
        if _is_special(Path(path)):
            with Path(path).open(mode, **text) as file:
                yield file
            return
        target = _target(path, what, parents)
        if parents:
            target.parent.mkdir(parents=True, exist_ok=True)
        kept = stat.S_IMODE(target.stat().st_mode) if target.exists() else None
        number, part, named = _open_part(target, 0o666 if kept is None else kept)
        try:
            with os.fdopen(number, mode, **text) as file:
                if kept is not None:
                    os.chmod(part if named else number, kept)  # noqa: PTH101
                yield file
                file.flush()
                os.fsync(number)
                if (
                    not named
                ):  # with src_dir_fd, which is not read, the link to the file is followed
                    os.link(f"/proc/self/fd/{number}", part, src_dir_fd=number)
                    named = True
            part.replace(target)
        except BaseException:
            if named:
                part.unlink()
            raise


def check_writable(
    path: str | os.PathLike[str], *, what: str = "a file", parents: bool = False
) -> None:
    """Raise now, before long work, what :func:`atomic_write` would raise; nothing is left behind.

    Only what depends on the folder is found out: that it is there, and takes new files.
    """
    with _explained(path, what):
        if not _is_special(Path(path)):
            target = _target(path, what, parents)
            folder = target.parent
            while parents and not folder.exists():
                folder = folder.parent
            number, part, named = _open_part(folder / target.name)
            os.close(number)
            if named:
                part.unlink()


@contextmanager
def _explained(path: str | os.PathLike[str], what: str) -> Iterator[None]:
    if "\0" in str(path):
        raise FileError(f"Expected a path to write {what} to, got {str(path)!r:.60}.")
    try:
        yield
    except OSError as error:
        raise FileError(
            f"Expected to write {what} to {path}, got {error}; free space on the disk, make the "
            f"folder writable, or choose another."
        ) from error


def _target(path: str | os.PathLike[str], what: str, parents: bool) -> Path:
    """Return the path of the file itself, if there can be one."""
    target = Path(os.path.realpath(path))
    if not parents and not target.parent.is_dir():
        raise FileError(
            f"Expected to write {what} to {path}, got no folder {target.parent}; create it."
        )
    if target.is_dir():
        raise FileError(
            f"Expected to write {what} to {path}, got a folder of that name; choose another."
        )
    return target


def _open_part(target: Path, mode: int = 0o600) -> tuple[int, Path, bool]:
    """Open a new file in the folder of another; return its number, its name, and whether it has it.

    Where Linux can, the file has no name until it is complete: nothing stays of a killed process.
    """
    part = target.with_name(f".{target.name[:40]}.{secrets.token_hex(6)}.part")
    unnamed = getattr(os, "O_TMPFILE", 0)
    if unnamed and Path("/proc/self/fd").is_dir():
        with suppress(OSError):  # on some file systems; else the same error comes again below
            return os.open(part.parent, os.O_WRONLY | unnamed, mode), part, False
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    return os.open(part, flags, mode), part, True


def _is_special(path: Path) -> bool:
    """Return whether a path is a device, a pipe, or another name of a file that is open already."""
    if str(path.absolute()).startswith(OPEN_FILES):
        return True
    return path.exists() and not path.is_file() and not path.is_dir()


def save_figure(figure: Any, path: Path, *, dpi: int = 150, parents: bool = False) -> None:
    """Write a matplotlib figure in the format of the path's ending, PNG without one; close it."""
    from matplotlib import pyplot as plt

    try:
        with atomic_write(path, what="a picture", parents=parents) as file:
            figure.savefig(file, format=path.suffix[1:] or "png", dpi=dpi, bbox_inches="tight")
    finally:
        plt.close(figure)


def read_json(text: str) -> Any:
    """Parse JSON: numbers are finite, and no string has half a character in it."""
    content = json.loads(text, parse_float=_finite, parse_int=_integer, parse_constant=_finite)
    json.dumps(content, ensure_ascii=False).encode()
    return content


def _finite(text: str) -> float:
    if not math.isfinite(value := float(text)):
        raise ValueError(f"expected finite numbers, got {text:.20}")
    return value


def _integer(text: str) -> int:
    _finite(text)  # floats can hold it
    return int(text)


@contextmanager
def open_zip(
    source: str | os.PathLike[str] | bytes, most: int | None = None
) -> Iterator[zipfile.ZipFile]:
    """Open a zip archive that a stranger may have made; its members are for :func:`read_member`.

    All of them are stored or deflated, and have the names that the directory of the archive says.
    The sizes it states for them are at most ``most`` in all, and at most 16 MiB plus 20 times its
    own size.
    """
    name = "the download" if isinstance(source, bytes) else str(source)
    with io.BytesIO(source) if isinstance(source, bytes) else BoundedFile(source) as file:
        limit = ALWAYS + MAX_RATIO * file.seek(0, os.SEEK_END)
        limit = limit if most is None else min(limit, most)
        with _unzip(name, zipfile.ZipFile, file) as archive:
            members = archive.infolist()
            if len(members) > MAX_MEMBERS:
                raise TooLargeError(
                    f"Expected at most {MAX_MEMBERS:,} files in {name}, got {len(members):,}; "
                    f"check where it came from."
                )
            for member in members:
                check_member(member, name)
            size = sum(member.file_size for member in members)
            if size > limit:
                raise TooLargeError(
                    f"Expected files of at most {limit:,} bytes in {name}, got {size:,}; check "
                    f"where it came from, or store them without compression."
                )
            for member in members:  # also of those that nobody reads: its name may be wrong
                _unzip(name, archive.open, member).close()
            yield archive


def names_in(path: str | os.PathLike[str]) -> list[str]:
    """Return the names of the files in a zip archive; none of what is no archive."""
    with BoundedFile(path) as file:
        if not zipfile.is_zipfile(file):
            return []
    with open_zip(path) as archive:
        return archive.namelist()


def read_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> bytearray:
    """Unpack a file of an archive: no more than the size stated for it, and one byte."""
    name = archive.filename or "the download"
    content = bytearray(member.file_size)
    longer = copy(member)
    longer.file_size += 1  # else what is beyond would be left out in silence
    with _unzip(name, archive.open, longer) as file:
        done = 0
        while block := _unzip(name, file.read, BLOCK):
            content[done : done + len(block)] = block  # no longer than it is by more than a byte
            done += len(block)
        if done != member.file_size:
            raise FileError(
                f"Expected {member.filename!r:.60} of the size stated in {name}, got another; it "
                f"is damaged: get a good copy."
            )
    return content


def _unzip(name: str, call: Callable[..., T], *arguments: object) -> T:
    """Call a function of zipfile, which raises errors of many types on damaged archives."""
    try:
        return call(*arguments)
    except (*UNREADABLE, struct.error, OverflowError, LookupError, RuntimeError) as error:
        raise FileError(
            f"Expected a zip archive, got {name}, which is damaged or of another kind "
            f"({type(error).__name__}: {error!s:.100}); get a good copy."
        ) from error


class BoundedFile(io.FileIO):
    """A file for readers that trust sizes in it: allocates no more than there is to read."""

    def read(self, size: int | None = -1) -> bytes:
        """Read at most ``size`` bytes."""
        rest = max(0, os.fstat(self.fileno()).st_size - self.tell())
        return super().read(rest if size is None or size < 0 else min(size, rest)) or b""


def check_member(member: zipfile.ZipInfo, path: object) -> None:
    """Refuse files in a zip archive that are encrypted or of a rare kind."""
    plain = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
    if member.flag_bits & 1 or member.compress_type not in plain:
        raise FileError(f"Expected files stored or deflated in {path}, got {member!r:.80}.")
