"""Lift a few well-known graphs, count their holes, compare graphs, and draw one.

Run it with ``make demo``, or ``python examples/first_look.py``.
"""

from pathlib import Path

import matplotlib as mpl
import networkx as nx
from rich.console import Console
from rich.table import Table

import mpsn

mpl.use("Agg")

GRAPHS = {
    "karate club": nx.karate_club_graph(),
    "Petersen graph": nx.petersen_graph(),
    "octahedron (a sphere)": nx.octahedral_graph(),
    "icosahedron (a sphere)": nx.icosahedral_graph(),
    "7 x 7 triangulated torus": nx.Graph(
        ((i, j), ((i + a) % 7, (j + b) % 7))
        for i in range(7)
        for j in range(7)
        for a, b in ((1, 0), (0, 1), (1, 1))
    ),
    "complete graph on 6": nx.complete_graph(6),
    "Les Miserables": nx.les_miserables_graph(),
}
PAIRS = [("hexagon", "two-triangles"), ("rook4x4", "shrikhande"), ("decalin", "bicyclopentyl")]


def main() -> None:
    table = Table(title="Clique complexes of well-known graphs", title_justify="left")
    for column in ("graph", "simplices", "Euler", "Betti numbers"):
        table.add_column(column, no_wrap=column != "simplices")
    for name, graph in GRAPHS.items():
        K = mpsn.clique_complex(graph, max_dim=None)
        betti = " ".join(map(str, K.betti_numbers()))
        table.add_row(name, " ".join(map(str, K.counts)), str(K.euler_number()), betti)
    Console().print(table)

    found = [mpsn.wl.compare(*map(mpsn.datasets.named_graph, pair)) for pair in PAIRS]
    tests = Table(title="Which test distinguishes them, and in which round", title_justify="left")
    for column in ("graphs", *(verdict.test for verdict in found[0])):
        tests.add_column(column)
    for pair, comparison in zip(PAIRS, found, strict=True):
        rounds = ["no" if v.round is None else f"round {v.round}" for v in comparison]
        tests.add_row(" / ".join(pair), *rounds)
    Console().print(tests)

    from mpsn.plotting import draw_complex

    picture = Path("out/karate.png")
    picture.parent.mkdir(exist_ok=True)
    ax = draw_complex(mpsn.clique_complex(GRAPHS["karate club"]))
    ax.set_title("The karate club as a simplicial complex: 34 vertices, 78 edges, 45 triangles")
    ax.figure.set_size_inches(8, 5)
    ax.figure.savefig(picture, dpi=110, bbox_inches="tight")
    print(f"figure: {picture}")


if __name__ == "__main__":
    main()
