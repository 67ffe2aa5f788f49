"""Every reader of files: a small valid sample, and one function that reads it as a user would."""

import hashlib
import io
import json
import os
import socketserver
import threading
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import networkx as nx
import numpy as np
import scipy.sparse
import torch
from fuzz_mutants import archive_of
from fuzz_roads import ROADS
from typer.testing import CliRunner

import mpsn
from mpsn.cli import app
from mpsn.convert import as_graph
from mpsn.datasets import _files, read_collection
from mpsn.datasets._ocean import _read as _ocean_parts
from mpsn.datasets._sources import cache_folder, locate
from mpsn.datasets._surfaces import read_surfaces as _read_surfaces
from mpsn.errors import MPSNError
from mpsn.estimators import (
    CellRegressor,
    EdgeFlowClassifier,
    SimplexPredictor,
    SimplicialClassifier,
    SimplicialRegressor,
    load,
)
from mpsn_reproduction import settings
from mpsn_reproduction.papers.tu import TUConfig
from mpsn_reproduction.search import Grid

Files = dict[str, bytes]
RECORDS = Path(__file__).parent.parent / "reproduction/results"


class WrongError(Exception):
    """A file that was read as something it cannot be."""


@dataclass(frozen=True)
class Reader:
    """One kind of file.

    Attributes:
        sample: Returns valid files, by path.
        read: Reads them, given their folder; returns plain values.
        kind: How its mutants are made: ``"text"``, ``"json"`` or ``"zip"``.
        whole: Whether the format tells a file that was cut short.
        share: How many mutants to make, relative to others.
    """

    sample: Callable[[], Files]
    read: Callable[[Path], object]
    kind: str = "text"
    whole: bool = False
    share: float = 1.0


def _graph():
    graph = nx.Graph([(0, 1), (1, 2), (0, 2), (2, 3), (5, 6)])
    nx.set_node_attributes(graph, {v: v / 3 for v in graph}, "mass")
    return graph


def _lines(generate):
    return lambda: "\n".join(generate(_graph())).encode()


GRAPHS = {  # content by file name extension, of those formats that are read
    ".g6": lambda: nx.to_graph6_bytes(_graph()) + nx.to_graph6_bytes(nx.path_graph(70), header=0),
    ".s6": lambda: nx.to_sparse6_bytes(_graph()) + nx.to_sparse6_bytes(nx.path_graph(70), header=0),
    ".edgelist": lambda: b"# names\nann bob 0.5\nbob carl\ndora\n",
    ".csv": lambda: b"from,to\n0,1\n1,2\n0,2\n5,6\n",
    ".graphml": _lines(nx.generate_graphml),
    ".gml": _lines(nx.generate_gml),
    ".gexf": _lines(nx.generate_gexf),
    ".json": lambda: json.dumps(nx.node_link_data(_graph(), edges="links")).encode(),
}
WHOLE = (".graphml", ".json", ".gml", ".gexf")


def read_graphs(path):
    with warnings.catch_warnings(action="ignore"):
        graphs = [as_graph(graph) for graph in mpsn.read_graphs(path)]
        small = sum(graph.num_nodes for graph in graphs) < 10**5
        counts = mpsn.clique_complexes(graphs, 2).union.counts if small else None  # checks them
    return [(graph.num_nodes, graph.edge_index.tolist(), graph.labels) for graph in graphs], counts


def read_simplices(path):
    with warnings.catch_warnings(action="ignore"):
        K = mpsn.datasets.read_complex(path)
    return K.counts, K.vertex_labels, [None if x is None else x.tolist() for x in K.x]


def read_molecules(path):
    with warnings.catch_warnings(action="ignore"):
        found = mpsn.read_molecules(path, y="y")
    return found.data.union.counts, found.rows, found.data.y.tolist()


def _surfaces():
    names = ("triangulation", "n_vertices", "genus", "orientable", "name", "betti_numbers")
    tetrahedron = [[1, 2, 3], [1, 2, 4], [1, 3, 4], [2, 3, 4]]
    plane = "123 134 145 156 126 235 346 245 246 356"
    plane = [[int(c) for c in t] for t in plane.split()]
    rows = [(tetrahedron, 4, 0, True, "S^2", [1, 0, 1]), (plane, 6, 1, False, "RP^2", [1, 0, 0])]
    return json.dumps([dict(zip(names, row, strict=True)) for row in rows]).encode()


def read_surfaces(path):
    data = _read_surfaces(path)
    return [K.to_simplices() for K in data], data.y.tolist()


def _arrays(**arrays):
    out = io.BytesIO()
    np.savez(out, **arrays)
    return out.getvalue()


def _sparse(kind):
    out = io.BytesIO()
    matrix = scipy.sparse.random_array((6, 6), density=0.3, rng=np.random.default_rng(0))
    scipy.sparse.save_npz(out, matrix.asformat(kind), compressed=False)
    return out.getvalue()


def _saved(thing):
    """Return what the ``save`` method of a data set or model writes."""
    path = Path(os.environ["FUZZ_FOLDER"]) / f"saved-{os.getpid()}"
    thing.save(path)
    return path.read_bytes()


def _dataset():
    K = mpsn.clique_complex(nx.complete_graph(4), max_dim=3)
    K = K.replace(x=[np.ones((4, 2))], vertex_labels=["a", "b", "c", "ü"])
    return _saved(mpsn.ComplexDataset([K, K.replace(vertex_labels="wxyz")]))


def read_dataset(path):
    data = mpsn.ComplexDataset.load(path)
    if len(data) < 1000:
        return [(K.to_simplices(), K.vertex_labels, str(K.x)) for K in data]
    return repr(data)


SETTINGS = {"hidden": 2, "layers": 1, "epochs": 1, "device": "cpu"}


@cache
def _model(kind):
    graphs = [nx.path_graph(3), nx.cycle_graph(3)] * 3
    if kind == "classes":
        model = SimplicialClassifier(**SETTINGS, max_dim=1, members=2)
        return _saved(model.fit(graphs, ["path", "cycle"] * 3))
    if kind == "numbers":
        for i, graph in enumerate(graphs):
            values = {v: {"size": v + i / 7, "kind": "ab"[v % 2]} for v in graph}
            nx.set_node_attributes(graph, values)
        model = SimplicialRegressor(**SETTINGS, max_dim=0, members=1)
        return _saved(model.fit(graphs, [0.5, 1.5, 2.5] * 2))
    if kind == "cells":
        K = mpsn.clique_complex(nx.path_graph(4)).replace(x=[None, torch.ones(3, 1)])
        return _saved(CellRegressor(**SETTINGS, dim=1, max_dim=1, oriented=True).fit(K, [1, 2, 3]))
    if kind == "simplices":
        K = mpsn.SimplicialComplex.from_graph(nx.relabel_nodes(nx.path_graph(4), str))
        return _saved(SimplexPredictor(**SETTINGS, dim=1).fit(K))
    K = mpsn.clique_complex(nx.cycle_graph(3))
    return _saved(EdgeFlowClassifier(K, **SETTINGS).fit(np.eye(3), [0, 1, 0]))


def read_model(path):
    model = load(path)
    json.dumps(model.summary(), ensure_ascii=False).encode()
    if isinstance(model, EdgeFlowClassifier):
        out = model.predict_proba(np.eye(model.complex.count(1))[:3])
    elif isinstance(model, CellRegressor):
        K = mpsn.clique_complex(nx.path_graph(4))
        out = model.predict(K.replace(x=[None, torch.ones(3, 1)]))
    elif isinstance(model, SimplexPredictor):
        names = model.complex_.vertex_labels or range(model.complex_.num_nodes)
        out = model.predict_proba([list(names)[: model.dim + 1]])
    else:
        graph = nx.path_graph(4)
        values = {"size": 0.5, "kind": "a"}
        nx.set_node_attributes(graph, dict.fromkeys(graph, values))
        classes = isinstance(model, SimplicialClassifier)
        out = (model.predict_proba if classes else model.predict)([graph, graph])
    if not np.isfinite(out).all():
        raise WrongError(f"outputs {out.tolist()!s:.60}")
    if out.ndim == 2 and not np.allclose(out.sum(axis=1), 1) and not hasattr(model, "targets_"):
        raise WrongError("probabilities that do not sum to 1")
    return model.summary(), out.tolist()


TU = {
    "TOY/TOY_A.txt": b"1, 2\n2, 1\n2, 3\n3, 2\n1, 3\n3, 1\n4, 5\n5, 4\n",
    "TOY/TOY_graph_indicator.txt": b"1\n1\n1\n2\n2\n",
    "TOY/TOY_graph_labels.txt": b"-1\n1\n",
    "TOY/TOY_node_labels.txt": b"7\n8\n7\n9\n9\n",
}


def read_tu(path):
    found = [(as_graph(graph), label) for _, graph, label in read_collection([path])]
    return [(g.num_nodes, g.edge_index.tolist(), str(g.x), label) for g, label in found]


def command(*words):
    """Run a command; return what it prints, or raise what a user would see as a traceback."""
    done = CliRunner().invoke(app, [str(word) for word in words])
    if isinstance(done.exception, SystemExit) and done.exit_code:
        raise MPSNError(done.output[-200:] or "no message")
    if done.exception:
        raise done.exception
    return done.stdout


def _labels():
    files = {
        f"graphs/{name}.g6": nx.to_graph6_bytes(graph(n), header=0)
        for graph in (nx.path_graph, nx.cycle_graph)
        for n in (3, 4, 5)
        for name in [f"{graph.__name__}{n}"]
    }
    rows = [f"{Path(name).stem},{name[7]},{i}.5" for i, name in enumerate(files)]
    table = "\n".join(["graph,kind,size", *rows])
    return {"labels.csv": table.encode(), **files}


def read_labels(path):
    """Train a model for one epoch, as the command does, without its start and its two others."""
    found = list(read_collection([path.parent / "graphs"], labels=path, target="kind"))
    graphs, y = [graph for _, graph, _ in found], [label for _, _, label in found]
    if any(label is None for label in y):
        raise MPSNError("Expected a label for every graph, got none for some.")
    for kind in (SimplicialClassifier, SimplicialRegressor):
        model = kind(**SETTINGS, max_dim=0, members=1)
        try:
            out = model.fit(graphs, y).predict(graphs)
        except MPSNError:
            if kind is SimplicialClassifier:
                continue
            raise
        if out.dtype.kind == "f" and not np.isfinite(out).all():
            raise WrongError(f"predictions {out.tolist()!s:.60}")
        return y
    return None


def read_grid(path):
    base = settings.rows("tu", TUConfig, ["nci1-sin"])["nci1-sin"]
    return list(settings.load(Grid, path).points(base))


def _records():
    found = {}
    for folder in ("sr", "ocean", "flow"):
        smallest = min((RECORDS / folder).glob("*/*.json"), key=lambda path: path.stat().st_size)
        values = json.loads(smallest.read_text())
        values["runs"] = values["runs"][:2]
        name = smallest.relative_to(RECORDS).as_posix()
        found[f"runs/{name}"] = json.dumps(values).encode()
    return found


class _Server(socketserver.BaseRequestHandler):
    """Answers with the bytes of a file, whatever they are."""

    answer = b""

    def handle(self):
        self.request.recv(65536)
        start, _, rest = self.answer.partition(b"*ENDLESS*")
        try:
            self.request.sendall(start)
            while rest:
                self.request.sendall(rest * 1000)
        except OSError:
            pass


GOOD = b"good content\n" * 20
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n%s"


@cache
def _port():
    server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), _Server)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_address[1]


def read_download(path):
    _Server.answer = path.read_bytes()
    (cache_folder() / "toy/file").unlink(missing_ok=True)
    url = f"http://127.0.0.1:{_port()}/file"
    found = locate("toy/file", url, hashlib.sha256(GOOD).hexdigest(), path.parent).read_bytes()
    if found != GOOD:
        raise WrongError("a download that is not what was asked for")
    return found


def _lifted(name, how, content, *options):
    """Return a reader that lifts a file by one of the roads of ``mpsn lift``."""

    def read(folder):
        words = command("lift", folder / name, "--how", how, "--json", *options)
        return json.loads(words)["graphs"]

    return Reader(_of(name, content), read)


def _ocean():
    """Return a small file of the format of the ocean drifters."""
    import h5py

    path = Path(os.environ["FUZZ_FOLDER"]) / f"ocean-{os.getpid()}"
    with h5py.File(path, "w") as file:
        file["elist"] = np.array([[1, 1, 2], [2, 3, 3]])
        file["tlist"] = np.array([[1], [2], [3]])
        file["HexcentersXY"] = np.arange(6.0).reshape(3, 2)
        nodes = [file.create_dataset(f"node {i}", data=i + 1).ref for i in range(3)]
        file["path"] = nodes
        file["TrajectoriesNodes"] = [file["path"].ref] * 2
    return path.read_bytes()


def read_ocean(path):
    tables, points, walks = _ocean_parts(path)
    return tables, points.tolist(), walks


def _of(name, content):
    return lambda: {name: content() if callable(content) else content}


READERS: dict[str, Reader] = {
    **{
        ending: Reader(
            _of(f"graph{ending}", content),
            lambda folder, name=f"graph{ending}": read_graphs(folder / name),
            kind="json" if ending == ".json" else "text",
            whole=ending in WHOLE,
        )
        for ending, content in GRAPHS.items()
        if ending in _files.READERS
    },
    **{
        f"{kind}.npz": Reader(
            _of("graph.npz", content), lambda folder: read_graphs(folder / "graph.npz"), "zip", True
        )
        for kind, content in {
            "edge_index": lambda: _arrays(edge_index=np.array([[0, 1, 2], [1, 2, 0]]), num_nodes=5),
            "csr": lambda: _sparse("csr"),
            "coo": lambda: _sparse("coo"),
        }.items()
    },
    "dataset": Reader(
        _of("data.npz", _dataset), lambda folder: read_dataset(folder / "data.npz"), "zip", True
    ),
    **{
        f"model-{kind}": Reader(
            _of("model.mpsn", lambda kind=kind: _model(kind)),
            lambda folder: read_model(folder / "model.mpsn"),
            "zip",
            True,
        )
        for kind in ("classes", "numbers", "flows", "cells", "simplices")
    },
    "show": Reader(
        _of("model.mpsn", lambda: _model("classes")),
        lambda folder: command("show", folder / "model.mpsn", "--json"),
        "zip",
        True,
        share=0.3,
    ),
    "tu-zip": Reader(
        _of("TOY.zip", lambda: archive_of(TU)), lambda folder: read_tu(folder / "TOY.zip"), "zip"
    ),
    "tu-folder": Reader(lambda: dict(TU), lambda folder: read_tu(folder / "TOY")),
    "labels": Reader(_labels, lambda folder: read_labels(folder / "labels.csv"), share=0.5),
    **{
        f"simplices{ending}": Reader(
            _of(f"K{ending}", content),
            lambda folder, name=f"K{ending}": read_simplices(folder / name),
            kind="json" if ending == ".json" else "text",
            whole=ending == ".json",
        )
        for ending, content in {
            ".txt": b"ann bob cat\n# a pair\ncat, dan\neve\n",
            ".json": b'{"simplices": [[0, 1, 2], [2, 3]], "attributes": '
            b'[{"vertices": [1, 2], "w": 0.5}]}',
        }.items()
    },
    **{f"{how} {name}": _lifted(name, how, *rest) for name, how, *rest in ROADS},
    "ocean": Reader(
        _of("dataBuoys.jld2", _ocean), lambda folder: read_ocean(folder / "dataBuoys.jld2")
    ),
    "surfaces": Reader(
        _of("s.json", _surfaces), lambda folder: read_surfaces(folder / "s.json"), "json", True
    ),
    "molecules": Reader(
        _of("m.csv", b"smiles,y\nC[C@H](N)C(=O)[O-],1\nc1ccccc1,2.5\n"),
        lambda folder: read_molecules(folder / "m.csv"),
    ),
    "grid": Reader(
        _of("grid.toml", b"hidden = [8, 16]\nlr = [0.01]\ndropout = [0.0, 0.5]\nlayers = [2]\n"),
        lambda folder: read_grid(folder / "grid.toml"),
    ),
    "records": Reader(_records, lambda folder: command("show", folder / "runs", "--json"), "json"),
    "report": Reader(
        _records,
        lambda folder: len(command("report", folder / "runs", "-o", folder / "page.html")),
        "json",
        share=0.05,
    ),
    "download": Reader(
        _of("answer", ANSWER % (len(GOOD), GOOD)),
        lambda folder: read_download(folder / "answer"),
        whole=True,
    ),
}
