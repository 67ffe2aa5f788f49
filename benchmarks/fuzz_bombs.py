"""Crafted archives: small, and made to exhaust memory, or to be read as what they are not."""

import bz2
import io
import json
import lzma
import zipfile
import zlib
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from functools import cache

import numpy as np
from fuzz_mutants import archive_of
from fuzz_readers import Files

STORED, DEFLATED, BZIP2, LZMA = 0, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA
ARCHIVES = {  # the file of each reader, and a member that is large in the bombs
    "edge_index.npz": ("graph.npz", "edge_index.npy"),
    "dataset": ("data.npz", "x_0.npy"),
    "model-classes": ("model.mpsn", "meta.npy"),
    "model-flows": ("model.mpsn", "complex.ptr_0.npy"),
    "show": ("model.mpsn", "meta.npy"),
    "tu-zip": ("TOY.zip", "TOY/TOY_graph_indicator.txt"),
}


@dataclass(frozen=True)
class Bomb:
    """A crafted file: its reader, how it is made of the reader's sample, what must come of it."""

    reader: str
    files: Callable[[Files], Files]
    expected: str = "refused"


BOMBS: dict[str, Bomb] = {}


def _members(content):
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def _npy(array, **header):
    """Return an ``.npy`` file, with another header than its array has."""
    out = io.BytesIO()
    array = np.asarray(array)
    found = np.lib.format.header_data_from_array_1_0(array)
    np.lib.format.write_array_header_1_0(out, {**found, **header})
    return out.getvalue() + array.tobytes()


@cache
def _zeros(method):
    """Return 640 MiB of zeros compressed, their number, and their checksum."""
    many, chunk = 640, bytes(1 << 20)
    if method == DEFLATED:
        press = zlib.compressobj(wbits=-15)
        block = press.compress(chunk) + press.flush(zlib.Z_FULL_FLUSH)  # the same every time
    elif method == BZIP2:
        press = bz2.BZ2Compressor()
    else:
        fast = [{"id": lzma.FILTER_LZMA1, "preset": 0}]
        press = lzma.LZMACompressor(lzma.FORMAT_RAW, filters=fast)
    crc = 0
    for _ in range(many):
        crc = zlib.crc32(chunk, crc)
    blocks = [block] * many if method == DEFLATED else [press.compress(chunk) for _ in range(many)]
    content = b"".join([*blocks, press.flush()])
    head = b"" if method != LZMA else b"\x09\x04\x05\x00" + b"\x5d\x00\x00\x80\x00"
    return head + content, many << 20, crc


def _archive_bombs():
    """Archives that unpack to more than they say, or to more than there is memory."""

    def packed(file, member, lie):
        def make(files):
            return {file: archive_of({**_members(files[file]), member: bytes(8)}, STORED, lie)}

        return make

    def zeros(file, member, method, honest=False):
        """Zeros that are said to be only eight, with the checksum of eight, unless honest."""

        def make(files):
            content, size, crc = _zeros(method)

            def lie(entries):
                entry = next(entry for entry in entries if entry.filename == member)
                entry.compress_type, entry.file_size, entry.CRC = method, 8, zlib.crc32(bytes(8))
                if honest:
                    entry.file_size, entry.CRC = size, crc

            return {file: archive_of({**_members(files[file]), member: content}, STORED, lie)}

        return make

    def huge(entries):
        entries[-1].file_size = entries[-1].compress_size = 1 << 60

    def encrypted(entries):
        for entry in entries:
            entry.flag_bits |= 1

    def future(entries):
        entries[-1].extract_version = 99
        entries[-1].create_version = 99

    def repeated(entries):
        entries += [copy(entries[-1]) for _ in range(10_000)]

    def crowded(entries):
        for i in range(15_000):
            more = copy(entries[-1])
            more.filename = more.orig_filename = f"{i}.npy"
            entries.append(more)

    for reader, (file, member) in ARCHIVES.items():
        kinds = {
            "zeros": zeros(file, member, DEFLATED, honest=True),
            "bzip2": zeros(file, member, BZIP2),
            "lzma": zeros(file, member, LZMA),
            "more-than-stated": zeros(file, member, DEFLATED),
            "size-2^60": packed(file, member, huge),
            "encrypted": packed(file, member, encrypted),
            "zip-version-9.9": packed(file, member, future),
            "one-file-10000-times": packed(file, member, repeated),
            "15000-files": packed(file, member, crowded),
        }
        for name, make in kinds.items():
            BOMBS[f"{reader} {name}"] = Bomb(reader, make)


def _array_bombs():
    def member(reader, name, content):
        file = ARCHIVES[reader][0]
        return lambda files: {file: archive_of({**_members(files[file]), name: content})}

    ones = np.ones(4)
    kinds = {
        "shape-2^62": _npy(ones, shape=(2**62,)),
        "shape-negative": _npy(ones, shape=(-4,)),
        "shape-2^100": _npy(ones[:0], shape=(0, 2**100)),
        "empty-strings": _npy(ones[:0], shape=(2**70,), descr="|S0"),
        "objects": _npy(ones, descr="|O"),
        "structure": _npy(ones, descr=[("a", "<f8")]),
        "subarray": _npy(ones, descr=("<f8", (2,))),
        "header-of-parentheses": b"\x93NUMPY\x01\x00\xff\x1f" + b"(" * 0x1FFF,
        "not-characters": _npy(np.full(1, 0x110000, np.uint32), descr="<U1"),
    }
    for reader in ("edge_index.npz", "dataset", "model-classes"):
        for name, content in kinds.items():
            make = member(reader, ARCHIVES[reader][1], content)
            BOMBS[f"{reader} {name}"] = Bomb(reader, make)
    far = np.array([[0, 2**62], [1, 2]])
    BOMBS["edge_index.npz vertex-2^62"] = Bomb(
        "edge_index.npz", member("edge_index.npz", "edge_index.npy", _npy(far))
    )
    parts = {
        "x_300000000.npy": _npy(np.zeros((0, 1))),
        "faces_999.npy": _npy(np.zeros((0, 1000), np.int64)),
        "signs_٣.npy": _npy(np.zeros(0, np.int8)),
        "ptr_0.npy": _npy(np.array([0, 2**40, 2**41])),
        "y.npy": _npy(np.zeros(2)),
    }
    BOMBS["dataset vertices-2^26"] = Bomb(
        "dataset", member("dataset", "ptr_0.npy", _npy(np.array([0, 4, 2**26])))
    )
    BOMBS["model-flows vertices-2^26"] = Bomb(
        "model-flows", member("model-flows", "complex.ptr_0.npy", _npy(np.array([0, 2**26])))
    )
    for name, content in parts.items():
        BOMBS[f"dataset {name}"] = Bomb("dataset", member("dataset", name, content))
        name = f"complex.{name}"
        BOMBS[f"model-flows {name}"] = Bomb("model-flows", member("model-flows", name, content))


def _meta_bombs():
    """Data sets and models whose JSON is too much, or whose numbers are none."""

    def meta(reader, change, **arrays):
        file = "data.npz" if reader == "dataset" else "model.mpsn"

        def make(files):
            members = _members(files[file])
            with np.load(io.BytesIO(files[file])) as loaded:
                text = change(json.loads(str(loaded["meta"])))
                more = {f"{k}.npy": _npy(v(loaded[k])) for k, v in arrays.items()}
            return {file: archive_of({**members, **more, "meta.npy": _npy(np.array(text))})}

        return make

    def put(*keys, value):
        def change(found):
            at = found
            for key in keys[:-1]:
                at = at[key]
            at[keys[-1]] = value
            return json.dumps(found)

        return change

    def everything_100(found):
        found["state"]["settings"] |= {"members": 100, "layers": 100, "max_dim": 100}
        found["state"]["histories"] *= 50
        return json.dumps(found)

    state, norm = ("state",), "members.0.convs.0.mlp_boundary.0.1.norm.running_var"
    for name, change in {
        "deep": lambda _: "[" * 100_000 + "]" * 100_000,
        "labels-deep": put("labels", value=json.loads("[" * 500 + "]" * 500)),
        "labels-half-characters": put("labels", value=["\ud800", *"abcdefg"]),
        "labels-nan": put("labels", value=[float("nan"), *"abcdefg"]),
        "labels-10^400": put("labels", value=[10**400, *"abcdefg"]),
        "labels-objects": put("labels", value=[{}] * 8),
    }.items():
        BOMBS[f"dataset {name}"] = Bomb("dataset", meta("dataset", change))
    for name, change in {
        "deep": lambda _: "[" * 100_000 + "]" * 100_000,
        "members-layers-dimensions-100": everything_100,
        "width-10^9": put(*state, "settings", "hidden", value=10**9),
        "batches-2^70": put(*state, "settings", "batch_size", value=2**70),
        "batches-of-0": put(*state, "settings", "batch_size", value=0),
        "degrees-10^6": put(*state, "features", "degrees", value=list(range(10**6))),
        "degrees-10^30": put(*state, "features", "degrees", value=[1, 10**30]),
        "degrees-none": put(*state, "features", "degrees", value=[]),
        "classes-half-characters": put(*state, "targets", "classes", value=["\udfff", "x"]),
        "classes-10^5": put(*state, "targets", "classes", value=list(range(10**5))),
        "epochs-10^400": put(*state, "settings", "learning_rate", value=10**400),
    }.items():
        BOMBS[f"model-classes {name}"] = Bomb("model-classes", meta("model-classes", change))
    BOMBS["model-classes batches-2^70"] = Bomb(
        "model-classes", BOMBS["model-classes batches-2^70"].files, "any"
    )
    for name, change in {
        "scale-0": put(*state, "targets", "scale", value=[0.0]),
        "scale-1e308": put(*state, "targets", "scale", value=[1e308]),
        "mean-infinite": put(*state, "targets", "mean", value=[float("inf")]),
        "columns-scale-negative": put(
            *state, "features", "columns", 0, 0, value={"name": "size", "scale": -1.0}
        ),
    }.items():
        BOMBS[f"model-numbers {name}"] = Bomb("model-numbers", meta("model-numbers", change))
    for name, weights in {
        "variance-negative": {norm: lambda x: -x},
        "weights-3e38": {
            name: lambda x: x * 0 + np.float32(3e38)
            for name in (
                "members.0.convs.0.mlp_boundary.0.0.weight",
                "members.0.convs.0.mlp_update.0.0.weight",
                "members.0.readout.dense.0.weight",
                "members.0.readout.last.weight",
            )
        },
        "weights-nan": {"members.0.readout.last.weight": lambda x: x * np.nan},
    }.items():
        make = meta("model-classes", json.dumps, **weights)
        BOMBS[f"model-classes {name}"] = Bomb("model-classes", make)


for _make in (_archive_bombs, _array_bombs, _meta_bombs):
    _make()
