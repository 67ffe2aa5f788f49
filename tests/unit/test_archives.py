"""Archives from strangers: what they unpack to is bounded by what they state, and by their size."""

import bz2
import io
import lzma
import zipfile
import zlib

import networkx as nx
import numpy as np
import psutil
import pytest
from fuzz_mutants import archive_of
from typer.testing import CliRunner

import mpsn
from mpsn._files.io import open_zip, read_json, read_member
from mpsn._files.npz import read_arrays
from mpsn.cli import app
from mpsn.errors import UNREADABLE, FileError, MPSNError, TooLargeError

LARGE = 60 << 20  # bytes of zeros; no reader may unpack them
SMALL = 30 << 20  # bytes that refusing them may take


def zeros(method):
    press = {
        zipfile.ZIP_DEFLATED: zlib.compressobj(wbits=-15),
        zipfile.ZIP_BZIP2: bz2.BZ2Compressor(),
        zipfile.ZIP_LZMA: lzma.LZMACompressor(
            lzma.FORMAT_RAW, filters=[{"id": lzma.FILTER_LZMA1, "preset": 0}]
        ),
    }[method]
    content = press.compress(bytes(LARGE)) + press.flush()
    return (
        b"\x09\x04\x05\x00\x5d\x00\x00\x10\x00" if method == zipfile.ZIP_LZMA else b""
    ) + content


def bomb(method, stated):
    """Return an archive of zeros that states another number of them, with their checksum."""

    def lie(entries):
        entries[0].compress_type, entries[0].file_size = method, stated
        entries[0].CRC = zlib.crc32(bytes(stated))

    return archive_of({"edge_index.npy": zeros(method)}, lie=lie)


def peak_of(call):
    """Return by how much memory grew, at most, during a call; 0 where that cannot be measured."""
    process = psutil.Process()
    before = process.memory_info().rss
    try:
        with open("/proc/self/clear_refs", "w") as file:  # noqa: PTH123
            file.write("5")
    except OSError:
        call()
        return 0
    call()
    with open("/proc/self/status") as file:  # noqa: PTH123
        peak = next(int(line.split()[1]) << 10 for line in file if line.startswith("VmHWM"))
    return peak - before


@pytest.mark.parametrize(
    ("method", "stated"),
    [
        (zipfile.ZIP_DEFLATED, LARGE),
        (zipfile.ZIP_DEFLATED, 8),
        (zipfile.ZIP_BZIP2, 8),
        (zipfile.ZIP_LZMA, 8),
    ],
)
def test_a_bomb_is_refused_without_being_unpacked(tmp_path, method, stated):
    path = tmp_path / "bomb.npz"
    path.write_bytes(bomb(method, stated))
    assert path.stat().st_size < 1 << 20
    readers = [mpsn.read_graphs, mpsn.ComplexDataset.load, mpsn.estimators.load]

    def read_all():
        for read in readers:
            with pytest.raises(MPSNError):
                read(path)

    assert peak_of(read_all) < SMALL


def test_what_is_beyond_the_stated_size_is_not_left_out_in_silence():
    content = b"first line\nsecond line\n"

    def lie(entries):
        entries[0].file_size, entries[0].CRC = 11, zlib.crc32(content[:11])

    for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        cut = archive_of({"a.txt": content}, method, lie)
        with zipfile.ZipFile(io.BytesIO(cut)) as archive:
            assert archive.read("a.txt") == content[:11]  # what others read
        with open_zip(cut) as archive, pytest.raises(UNREADABLE):
            read_member(archive, archive.getinfo("a.txt"))
        with open_zip(archive_of({"a.txt": content, "b": b""}, method)) as archive:
            assert [read_member(archive, one) for one in archive.infolist()] == [content, b""]


def test_the_sum_over_all_members_is_bounded():
    parts = {str(i): bytes(2 << 20) for i in range(9)}
    with pytest.raises(TooLargeError, match=r"got 18,874,368; .* without compression"):
        open_zip(archive_of(parts, zipfile.ZIP_DEFLATED)).__enter__()
    with open_zip(archive_of(parts)) as archive:  # 18 MiB of 18 MiB
        assert len(archive.infolist()) == 9
    with pytest.raises(TooLargeError, match="at most 1,000,000 bytes"):
        open_zip(archive_of(parts), 10**6).__enter__()


def test_the_number_of_members_is_bounded(monkeypatch):
    monkeypatch.setattr("mpsn._files.io.MAX_MEMBERS", 3)
    with open_zip(archive_of(dict.fromkeys("abc", b""))):
        pass
    with pytest.raises(TooLargeError, match=r"at most 3 files .*, got 4"):
        open_zip(archive_of(dict.fromkeys("abcd", b""))).__enter__()


@pytest.mark.parametrize(
    ("name", "value"), [("flag_bits", 1), ("extract_version", 99), ("header_offset", 2**62)]
)
def test_rare_archives_are_refused(tmp_path, name, value):
    def lie(entries):
        setattr(entries[0], name, value)

    path = tmp_path / "rare.npz"
    path.write_bytes(archive_of({"meta.npy": b""}, lie=lie))
    for read in (mpsn.read_graphs, mpsn.ComplexDataset.load, mpsn.estimators.load):
        with pytest.raises(FileError):
            read(path)
    assert isinstance(CliRunner().invoke(app, ["show", str(path)]).exception, FileError)


@pytest.mark.parametrize("shape", [(2**70,), (0, 2**70), (0, 2**62, 2**62), (0,) * 65])
@pytest.mark.parametrize("kind", ["<f8", "|S0"])
def test_shapes_beyond_64_bits(tmp_path, shape, kind):
    header = io.BytesIO()
    values = {"descr": kind, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(header, values)
    path = tmp_path / "far.npz"
    path.write_bytes(archive_of({"a.npy": header.getvalue()}))
    if 0 in shape and max(shape) < 2**64 and len(shape) < 64:
        return  # numpy may be able to hold it
    with pytest.raises(FileError):
        read_arrays(path, 10**6)


@pytest.mark.parametrize(
    "text", ["NaN", "[-Infinity]", "1e999", "1" * 400, r'"\ud800"', '"\udfff"', "[" * 10**5]
)
def test_json_that_is_none(text):
    with pytest.raises(UNREADABLE):
        read_json(text)


def test_json():
    text = r'{"a": [1, -2.5, 1e300, true, null, "\ud83d\ude00", "ü"], "b": 123456789012345678901}'
    assert read_json(text) == {
        "a": [1, -2.5, 1e300, True, None, "\N{GRINNING FACE}", "ü"],
        "b": 123456789012345678901,
    }


def test_labels_of_vertices_that_cannot_be_read_again(tmp_path):
    K = mpsn.clique_complex(nx.path_graph(2)).replace(vertex_labels=[1.5, float("nan")])
    with pytest.raises(MPSNError, match="finite numbers"):
        mpsn.ComplexDataset([K]).save(tmp_path / "data.npz")


def test_a_small_data_set_has_no_more_vertices_than_fit_to_it(tmp_path):
    """Isolated vertices need no room in a file, but 24 bytes of memory each."""
    path = tmp_path / "data.npz"
    for many, fits in ((10**6, True), (10**7, False)):
        meta = np.array('{"format": 1, "labels": null}')
        np.savez(path, ptr_0=np.array([0, many]), meta=meta)
        if fits:
            assert mpsn.ComplexDataset.load(path).union.num_nodes == many
        else:
            with pytest.raises(FileError, match="at most 4194308 vertices"):
                mpsn.ComplexDataset.load(path)


def test_names_in_the_directory_are_those_before_the_files():
    """Else a file that may be missing would be, in silence."""
    content = archive_of({"A.txt": b"1", "labels.txt": b"2"})
    with open_zip(content) as archive:
        assert archive.namelist() == ["A.txt", "labels.txt"]
    head, _, tail = content.rpartition(b"labels")
    with (
        pytest.raises(FileError, match="damaged or of another kind"),
        open_zip(head + b"lapels" + tail),
    ):
        pass
