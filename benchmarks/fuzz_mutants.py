"""Mutants of files: changed bytes, numbers and lines, members of archives, values in JSON."""

import io
import json
import zipfile

import numpy as np

NUMBERS = (b"-1", b"0", b"99999999", b"18446744073709551616", b"1e999", b"nan", b'"x"', b"[]")
VALUES = (
    *(None, True, -1, 0, 2, 0.5, 1.5, -0.0, 10**9, 2**31, 2**63, 2**64, 10**30, 10**400),
    *(1e38, 1e200, 1e308, -1e308, float("nan"), float("inf"), "", "x", "\ud800", "nan", "\x1b[2J"),
    *([], {}, [[]], [0], [None], {"": 0}, [1] * 1000, "x" * 1000),
)


def mutate(content, rng):
    """Change a few things: bytes, runs of bytes, numbers, the order of lines."""
    out = bytearray(content)
    for _ in range(rng.integers(1, 5)):
        kind, n = rng.integers(7), len(out)
        at, size = int(rng.integers(n + 1)), int(rng.integers(1, 12))
        if kind == 0:
            out[at : at + 1] = rng.bytes(1)
        elif kind == 1:
            del out[at : at + size]
        elif kind == 2:
            out[at:at] = out[at : at + size]
        elif kind == 3:
            out[at:at] = rng.bytes(size)
        elif kind == 4:
            out[at:] = b""
        elif kind == 5:
            digits = [i for i, byte in enumerate(out) if 48 <= byte <= 57]
            if digits:
                spot = int(rng.choice(digits))
                out[spot : spot + 1] = NUMBERS[rng.integers(len(NUMBERS))]
        else:
            lines = out.split(b"\n")
            rng.shuffle(lines)
            out = bytearray(b"\n".join(lines))
    return bytes(out)


def mutate_json(text, rng):
    """Replace, drop or repeat a value or two somewhere in a JSON document."""
    found = json.loads(text)
    for _ in range(rng.integers(1, 3)):
        spots = []  # all places: a container, and a key or position in it

        def collect(value, spots=spots):
            pairs = value.items() if isinstance(value, dict) else enumerate(value)
            for key, inner in pairs:
                spots.append((value, key))
                if isinstance(inner, (dict, list)):
                    collect(inner)

        if isinstance(found, (dict, list)):
            collect(found)
        if not spots:
            return json.dumps(VALUES[rng.integers(len(VALUES))])
        # Deep places are many and alike: prefer those near the top.
        value, key = spots[int(len(spots) * rng.random() ** 2)]
        kind = rng.integers(6)
        if kind == 0:
            del value[key]
        elif kind == 1:
            other, name = spots[rng.integers(len(spots))]
            value[key] = json.loads(json.dumps(other[name]))
        else:
            value[key] = VALUES[rng.integers(len(VALUES))]
    return json.dumps(found)


def mutate_array(content, rng):
    """Change an ``.npy`` file: mostly its numbers, without its size."""
    start = content.find(b"\n") + 1
    kind = np.lib.format.read_array(io.BytesIO(content)).dtype
    if kind.kind == "U" and rng.integers(5):
        text = str(np.lib.format.read_array(io.BytesIO(content)))
        out = io.BytesIO()
        np.lib.format.write_array(out, np.array(mutate_json(text, rng)))
        return out.getvalue()
    if not start or not rng.integers(3):
        return mutate(content, rng)
    body = bytearray(content[start:])
    for _ in range(min(len(body), int(rng.integers(1, 4)))):
        body[rng.integers(len(body))] = rng.choice([0, 1, 2, 127, 128, 255])
    return content[:start] + bytes(body)


def mutate_archive(content, rng):
    """Change one file of a zip archive, or two, and keep the checksums right."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    for name in dict.fromkeys(rng.choice(list(members), rng.integers(1, 3)).tolist()):
        change = mutate_array if name.endswith(".npy") else mutate
        members[name] = change(members[name], rng)
    return archive_of(members)


def archive_of(members, method=zipfile.ZIP_STORED, lie=None):
    """Return a zip archive; ``lie`` may change what its directory says of its files."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, member in members.items():
            archive.writestr(name, member)
        if lie:
            lie(archive.filelist)
    return out.getvalue()
