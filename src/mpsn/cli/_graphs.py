"""Commands on graphs: lift, distinguish."""

import json
import time
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from textwrap import shorten
from typing import Annotated, Any

import typer
from rich.console import Console

from mpsn.cli._inputs import graphs_of, read_and_lift
from mpsn.cli.output import AsJson, drawing, print_table, refuse, split
from mpsn.errors import GraphError, TooLargeError

MaxRing = Annotated[
    int | None, typer.Option(help="Largest number of vertices of a ring. Defaults to 6.")
]


def lift(
    file: Annotated[
        str,
        typer.Argument(
            help="Graphs: a file, a folder of them, a table of molecules, or the name of a "
            "built-in graph. Points and matrices: .npy, or numbers in text. Meshes: OFF, PLY, OBJ "
            "or STL. Lists of simplices or hyperedges: .simplices, .json, or text with a list of "
            "names per line."
        ),
    ],
    max_dim: Annotated[
        int | None, typer.Option(help="Largest dimension of a cell. Defaults to no limit.")
    ] = None,
    how: Annotated[
        str | None,
        typer.Option(
            "--how",
            "--lift",
            help="The lift; see above. Defaults to rings for molecules, else to cliques.",
        ),
    ] = None,
    max_ring: MaxRing = None,
    options: Annotated[
        list[str] | None,
        typer.Option("--set", help="Another option of the lift, NAME=VALUE. Can be repeated."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Count the cells and holes of graphs, points, meshes, ...

    Prints, for each graph, the number of cells of each dimension in its clique complex (or that of
    another lift), its Euler number and its Betti numbers (components, loops, voids, ...), and the
    time to lift all.

    The lifts of graphs: cliques, rings, cliques+rings, cubes, neighborhoods, independence, paths,
    motifs (--set patterns=[3,4]: cycles), directed, nearest (of vertices with features). Of points,
    one per line: rips (--set radius=0.5 or --set k=5), alpha, cech, witness (--set landmarks=20).
    Of a mesh: mesh. Of the groups of a hypergraph, one per line: hypergraph. Of the matrix of a
    relation: dowker. Of an image: cubical.

    Example: mpsn lift graphs.g6 --max-dim 3
    """
    items, lift_all = read_and_lift(file, how, max_dim, max_ring, options or [])
    start = time.perf_counter()
    lifted = lift_all(items)
    seconds = time.perf_counter() - start
    with Console(stderr=True).status("counting holes"):
        rows = [
            {"counts": K.counts, "euler": K.euler_number(), "betti": K.betti_numbers()}
            for K in lifted
        ]
    if as_json:
        print(json.dumps({"file": file, "graphs": rows, "seconds": seconds}))
        return
    title = f"{Path(file).name}: {len(rows)} graph{'s' * (len(rows) != 1)}"
    print_rows(title, rows, [f"lifted in {seconds:.3g} seconds"])


def distinguish(
    a: Annotated[str, typer.Argument(help="A graph file, a folder, or a built-in graph.")],
    b: Annotated[
        str | None, typer.Argument(help="Another one; omit it to group the graphs of file A.")
    ] = None,
    tests: Annotated[
        str, typer.Option(help="Comma-separated tests to run; see above.")
    ] = "wl,2-wl,3-wl,2-fwl,swl",
    lift: Annotated[
        str, typer.Option(help="Comma-separated lifts to run SWL on as well; see above.")
    ] = "",
    max_dim: Annotated[
        int | None, typer.Option(help="Largest dimension of a simplex. Defaults to all cliques.")
    ] = None,
    max_ring: MaxRing = None,
    as_json: AsJson = False,
    plot: Annotated[
        Path | None, typer.Option(help="Draw both clique complexes in their stable SWL colors.")
    ] = None,
) -> None:
    """Compare graphs by Weisfeiler-Lehman tests.

    For two graphs: the verdict of each test, and the round and dimension that decided. For one file
    or folder of many graphs: the classes each test finds, beside the isomorphism classes.

    The tests: wl on vertices; 2-wl and 3-wl on tuples of vertices; 2-fwl and 3-fwl, their folklore
    variants (3-WL = 2-FWL); swl on the simplices of clique complexes, swl-all with all four
    adjacencies; marked-wl and marked-swl, which mark each vertex in turn, twice-marked-wl and
    twice-marked-swl each pair; depth-1, depth-2, depth-3 and depth-4, which mark so many vertices
    one after another, each from the largest class (the round is the depth). The lifts: rings, with
    chordless cycles as 2-cells, cliques+rings, and cubes; marked-rings and marked-cliques+rings.
    Refinements are what a verdict cost.

    Built-in graphs: hexagon, two-triangles, rook4x4, shrikhande, decalin, bicyclopentyl, prism,
    k3,3, dodecahedron, desargues, t8, chang1, chang2, chang3.

    Example: mpsn distinguish rook4x4 shrikhande
    """
    from mpsn._files.io import check_writable
    from mpsn.wl import check_tests, compare

    if plot:
        check_writable(plot, what="a picture")
    names = [*split(tests), *split(lift)]
    if not any("rings" in name for name in names):
        refuse("these tests", "none of them has rings; add --lift rings", max_ring=max_ring)
    max_ring = 6 if max_ring is None else max_ring
    check_tests(names, max_dim, max_ring)
    first = graphs_of(a)
    if b is None:
        if len(first) < 2 or plot:
            raise GraphError(
                f"Expected two graphs to compare{' and plot' if plot else ''}, got "
                f"{len(first)} in {a}; name a second graph."
            )
        _print_classes(a, first, names, max_dim, max_ring, as_json)
        return
    pair = []
    for name, graphs in ((a, first), (b, graphs_of(b))):
        if len(graphs) != 1:
            raise GraphError(
                f"Expected one graph in {name}, got {len(graphs)}; name that file alone."
            )
        pair += graphs
    result = compare(pair[0], pair[1], names, max_dim=max_dim, max_ring=max_ring)
    if as_json:
        values: dict[str, Any] = {"a": a, "b": b, "tests": [asdict(verdict) for verdict in result]}
        values |= {"isomorphic": result.isomorphic, "figure": str(plot) if plot else None}
        print(json.dumps(values))
    else:
        rows = [(v.test, v.outcome, v.round, v.dim, v.refinements or None) for v in result]
        notes = [f"{v.test}: {v.note}" for v in result if v.note]
        title = f"{Path(a).name} and {Path(b).name}"
        columns = ("test", "verdict", "round", "dimension", "refinements")
        print_table(title, columns, rows, [*notes, f"truth: {result.truth}"])
    if plot:
        _plot(pair, [a, b], max_dim, plot, as_json)


def _print_classes(
    file: str,
    graphs: list[Any],
    tests: list[str],
    max_dim: int | None,
    max_ring: int,
    as_json: bool,
) -> None:
    from mpsn.wl import Classes, equivalence_classes

    rows: list[dict[str, Any]] = []
    for test in tests:
        try:
            classes = equivalence_classes(graphs, test, max_dim=max_dim, max_ring=max_ring)
            parts = {"classes": classes.groups, "pairs": classes.pairs}
            rows.append({"test": test, **parts, "note": ""})
        except TooLargeError as error:
            rows.append({"test": test, "classes": None, "pairs": None, "note": str(error)})
    truth = Classes("truth", [], graphs).truth
    if as_json:
        print(json.dumps({"file": file, "graphs": len(graphs), "tests": rows, "isomorphic": truth}))
        return
    cells: list[tuple[object, ...]] = []
    for row in rows:
        if row["note"]:
            cells.append((row["test"], "not run", None, None))
            continue
        large = sorted((c for c in row["classes"] if len(c) > 1), key=len, reverse=True)
        text = "; ".join(" ".join(map(str, members)) for members in large)
        short = shorten(text, 60, placeholder=" ...")
        cells.append((row["test"], len(row["classes"]), row["pairs"], short))
    notes = [f"{row['test']}: {row['note']}" for row in rows if row["note"]]
    kinds = "too large to check" if truth is None else f"{len(truth)} classes up to isomorphism"
    columns = ("test", "classes", "indistinguishable pairs", "largest classes")
    title = f"{Path(file).name}: {len(graphs)} graphs"
    print_table(title, columns, cells, [*notes, f"truth: {kinds}"])


def _plot(
    graphs: list[Any], names: list[str], max_dim: int | None, file: Path, as_json: bool
) -> None:
    with drawing(file, as_json):
        from matplotlib import pyplot as plt

        from mpsn._files.io import save_figure
        from mpsn.lifting import clique_complexes
        from mpsn.plotting import draw_stable_colors

        figure, axes = plt.subplots(1, 2, figsize=(9, 4.5))
        draw_stable_colors(list(clique_complexes(graphs, max_dim)), axes)
        for ax, name in zip(axes, names, strict=True):
            ax.set_title(name)
        save_figure(figure, file, dpi=100)


def print_rows(
    title: str,
    rows: list[dict[str, Any]],
    notes: Iterable[str] = (),
    figures: Iterable[Path | None] = (),
    most: int = 40,
) -> None:
    """Print a table with a row per graph, at most ``most``."""
    cells = [
        (i, *(" ".join(map(str, v)) if isinstance(v, tuple) else v for v in row.values()))
        for i, row in enumerate(rows[:most])
    ]
    more = [f"... and {len(rows) - most} more; --json prints all"] * (len(rows) > most)
    print_table(title, ("graph", *rows[0]), cells, [*more, *notes], figures)
