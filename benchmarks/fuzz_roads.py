"""A small file for every road of ``mpsn lift``: its name, the lift, its content, and options."""

import io

import networkx as nx
import numpy as np


def _npy(array):
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


GRID = nx.to_graph6_bytes(nx.convert_node_labels_to_integers(nx.grid_2d_graph(3, 4)), header=False)
ARROWS = b"<graphml><graph edgedefault='directed'><edge source='0' target='1'/></graph></graphml>"
POINTS = np.random.default_rng(0).random((12, 3))
TEXT = "\n".join(" ".join(f"{x:.3f}" for x in row) for row in POINTS).encode()
OFF = b"OFF\n4 4 0\n0 0 0\n1 0 0\n0 1 0\n0 0 1\n3 0 1 2\n3 0 1 3\n3 0 2 3\n3 1 2 3\n"
ROADS = [
    *(("a.g6", how, GRID) for how in ("cliques", "rings", "cliques+rings", "cubes")),
    *(("a.g6", how, GRID) for how in ("neighborhoods", "independence", "paths")),
    ("a.g6", "motifs", GRID, "--set", "patterns=[4]"),
    ("a.graphml", "directed", ARROWS),
    ("a.txt", "rips", TEXT, "--set", "radius=0.5"),
    ("a.npy", "rips", _npy(POINTS), "--set", "k=2"),
    ("a.npy", "alpha", _npy(POINTS)),
    ("a.txt", "cech", TEXT),
    ("a.npy", "witness", _npy(POINTS), "--set", "landmarks=5"),
    ("a.off", "mesh", OFF),
    ("a.txt", "hypergraph", b"ann bob cat\ncat dan\n"),
    ("a.npy", "dowker", _npy(np.eye(4) + np.eye(4)[::-1])),
    ("a.npy", "cubical", _npy(POINTS)),
    ("a.txt", "cubical", TEXT),
]
