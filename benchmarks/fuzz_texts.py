"""Crafted texts: graph files, labels, grids, records and downloads that ask for too much."""

import json

from fuzz_bombs import BOMBS, DEFLATED, Bomb
from fuzz_mutants import archive_of
from fuzz_readers import ANSWER, GOOD, TU


def _text_bombs():
    """Graph files, labels, grids and records."""
    lines = {
        ".g6 vertices-2^36": b"~~~~~~~~",
        ".g6 vertices-258047": b"~}~~" + b"~" * 1000,
        ".s6 vertices-2^36-no-edge": (b":~~~~~~~~\n", "any"),
        ".edgelist one-long-name": (b"a b\n" * 1000 + b"x" * 60_000 + b" y\n", "any"),
        ".edgelist one-line": (b"x " * 400_000, "any"),
        ".edgelist number-of-10^6-digits": (b"1" * 10**6 + b" 2\n", "any"),
        ".edgelist zero-bytes": b"\0" * 10**6,
        ".csv 10^5-columns": (b"1," * 10**5, "any"),
        ".graphml laughs": b'<!DOCTYPE x [<!ENTITY a "b"><!ENTITY b "&a;">]><graphml>&b;</graphml>',
        ".graphml outside": b'<!DOCTYPE x SYSTEM "file:///etc/passwd"><graphml/>',
        ".graphml deep": b"<graphml>" + b"<graph>" * 10**5,
        ".json deep": b"[" * 10**6,
        ".json number-of-10^5-digits": b'{"nodes": [{"id": ' + b"1" * 10**5 + b'}], "links": []}',
        ".json 10^5-empty-graphs": b"[" + b'{"links":[]},' * 10**4 + b"0]",
        "labels long-field": b"graph,kind\npath_graph3," + b"x" * 200_000,
        "labels same-graph-twice": b"graph,kind\n"
        + b"".join(b"%s_graph%d,a\n" % (k, n) for k in (b"path", b"cycle") for n in (3, 4, 5))
        + b"path_graph3,b\n",
        "grid deep": b"hidden = " + b"[" * 10**5,
        "grid empty": b"hidden = []\n",
        "grid nan": b"lr = [nan]\n",
        "grid 10^16": b"\n".join(
            b"%s = [%s]" % (key, b", ".join(b"%d" % (i + 1) for i in range(10_000)))
            for key in (b"hidden", b"layers", b"batch_size", b"decay_every")
        ),
    }
    names = {"labels": "labels.csv", "grid": "grid.toml"}
    for name, content in lines.items():
        content, expected = content if isinstance(content, tuple) else (content, "refused")
        reader = name.split()[0]
        file = names.get(reader, f"graph{reader}")
        make = lambda files, file=file, content=content: {**files, file: content}  # noqa: E731
        BOMBS[name] = Bomb(reader, make, expected)
    for label in ("0.5", "nan", "1e30", "1" + "0" * 400, "inf", ""):

        def label_all(files, label=label):
            head, *rows = files["labels.csv"].decode().splitlines()
            rows = [
                f"{row.split(',')[0]},{label}{i % 2 if label else ''},0"
                for i, row in enumerate(rows)
            ]
            return {**files, "labels.csv": "\n".join([head, *rows]).encode()}

        BOMBS[f"labels {label:.8}"] = Bomb("labels", label_all, "any")
    for name, part, content in (
        ("long-line", "A", b"1, " + b"1" * 10**6),
        ("short-lines", "graph_indicator", b"1\n" * 500_000),
        ("far-graph", "graph_indicator", b"1\n1\n1\n2\n999999999999999999\n"),
        ("blank-lines", "A", b"\n" * 10**6),
    ):
        file = f"TOY/TOY_{part}.txt"
        make = lambda files, file=file, content=content: {**files, file: content}  # noqa: E731
        BOMBS[f"tu-folder {name}"] = Bomb("tu-folder", make, "any")
    BOMBS["tu-zip short-lines"] = Bomb(
        "tu-zip",
        lambda _: {"TOY.zip": archive_of({**TU, "TOY/TOY_A.txt": b"1 2\n" * 10**7}, DEFLATED)},
        "any",
    )


def _record_bombs():
    def change(folder, edit):
        def make(files):
            name = next(name for name in files if name.startswith(f"runs/{folder}"))
            values = json.loads(files[name])
            text = edit(values)
            return {name: (text if isinstance(text, str) else json.dumps(values)).encode()}

        return make

    kinds = {
        "deep": lambda _: "[" * 100_000,
        "format-99": lambda v: v.update(format=99),
        "no-runs": lambda v: v.update(runs=[]),
        "metrics-of-words": lambda v: v["runs"][0].update(metrics={"loss": "x"}),
        "seeds-10^6": lambda v: v.update(seeds=list(range(10**5))),
        "no-environment": lambda v: v.pop("environment"),
    }
    for name, edit in kinds.items():
        BOMBS[f"records {name}"] = Bomb("records", change("ocean", edit), "any")
    for key in ("flows", "train", "test", "points", "samples", "count"):
        BOMBS[f"report 10^9-{key}"] = Bomb("report", change("flow", _grow(key)), "any")


def _grow(key):
    return lambda values: values["settings"].update({key: 10**9})


def _download_bombs():
    start = b"HTTP/1.1 200 OK\r\n"
    for name, answer in {
        "endless": start + b"\r\n*ENDLESS*" + b"x" * 1000,
        "endless-headers": start + b"*ENDLESS*X: y\r\n",
        "endless-chunks": start + b"Transfer-Encoding: chunked\r\n\r\n*ENDLESS*4\r\nxxxx\r\n",
        "length-2^60": start + b"Content-Length: %d\r\n\r\n" % 2**60 + GOOD,
        "length-negative": start + b"Content-Length: -1\r\n\r\n" + GOOD[:-1],
        "chunk-2^60": start + b"Transfer-Encoding: chunked\r\n\r\nfffffffffffffff\r\n" + GOOD,
        "chunk-no-number": start + b"Transfer-Encoding: chunked\r\n\r\nxyz\r\n" + GOOD,
        "cut": (ANSWER % (len(GOOD), GOOD))[:-5],
        "empty": b"",
        "to-a-file": b"HTTP/1.1 302 Found\r\nLocation: file:///etc/passwd\r\n\r\n",
        "in-a-circle": b"HTTP/1.1 302 Found\r\nLocation: /file\r\n\r\n",
        "to-nowhere": b"HTTP/1.1 302 Found\r\nLocation: http://[::1\r\n\r\n",
        "404": b"HTTP/1.1 404 Not Found\r\n\r\n",
        "other-content": ANSWER % (4, b"evil"),
    }.items():
        make = lambda _, answer=answer: {"answer": answer}  # noqa: E731
        BOMBS[f"download {name}"] = Bomb("download", make)


for _make in (_text_bombs, _record_bombs, _download_bombs):
    _make()
