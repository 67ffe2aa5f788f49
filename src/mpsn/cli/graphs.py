"""Commands on graphs: lift them, tell them apart."""

import json
import time
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from mpsn.cli.output import AsJson, drawing
from mpsn.errors import FileError, GraphError, TooLargeError, did_you_mean

if TYPE_CHECKING:
    from mpsn.complexes._graphs import Graph


def lift(
    file: Annotated[Path, typer.Argument(help="graph6, sparse6, edge list, GraphML or .npz.")],
    max_dim: Annotated[
        int | None, typer.Option(help="Largest dimension of a simplex; all cliques unless said.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Lift the graphs of a file to their clique complexes, and count what is there.

    Prints, for each graph, how many simplices of each dimension its clique complex has, its Euler
    number, its Betti numbers (how many parts, loops, voids, ...), and the seconds it took to lift.

    Example: mpsn lift graphs.g6 --max-dim 3
    """
    from mpsn import clique_complexes, read_graphs

    graphs = read_graphs(file)
    start = time.perf_counter()
    lifted = clique_complexes(graphs, max_dim)
    seconds = time.perf_counter() - start
    with Console(stderr=True).status("counting holes"):
        rows = [
            {"counts": K.counts, "euler": K.euler_number(), "betti": K.betti_numbers()}
            for K in lifted
        ]
    if as_json:
        print(json.dumps({"file": str(file), "graphs": rows, "seconds": seconds}))
        return
    print_rows(rows, f"{escape(file.name)}: {len(rows)} graph{'s' * (len(rows) != 1)}")
    Console().print(f"lifted in {seconds:.3g} seconds")


def distinguish(
    a: Annotated[str, typer.Argument(help="A graph file, or the name of a built-in graph.")],
    b: Annotated[
        str | None, typer.Argument(help="Another one; none to group the many graphs of file A.")
    ] = None,
    tests: Annotated[
        str, typer.Option(help="Tests to run, with commas between; see above.")
    ] = "wl,2-wl,3-wl,2-fwl,swl",
    max_dim: Annotated[
        int | None, typer.Option(help="Largest dimension of a simplex; all cliques unless said.")
    ] = None,
    as_json: AsJson = False,
    plot: Annotated[
        Path | None, typer.Option(help="Draw both clique complexes in their stable SWL colors.")
    ] = None,
) -> None:
    """Say which Weisfeiler-Lehman tests tell two graphs apart, or how they group many.

    For two graphs: for each test its verdict, and the round and the dimension that decided. For one
    file of many graphs: the classes each test finds, beside those that are truly isomorphic.

    The tests: wl on vertices; 2-wl and 3-wl on tuples of vertices; 2-fwl and 3-fwl, their folklore
    variants (3-WL = 2-FWL); swl on the simplices of clique complexes, swl-all with all four
    adjacencies.

    Built-in graphs: hexagon, two-triangles, rook4x4, shrikhande, decalin, bicyclopentyl, prism,
    k3,3, dodecahedron, desargues, t8, chang1, chang2, chang3.

    Example: mpsn distinguish rook4x4 shrikhande
    """
    from mpsn.wl import compare
    from mpsn.wl._ladder import TRUTHS, VERDICTS, check_tests

    names = [name.strip() for name in tests.split(",")]
    check_tests(names, max_dim)
    first = graphs_of(a)
    if b is None:
        if len(first) < 2 or plot:
            raise GraphError(
                f"Expected two graphs to compare{' and plot' if plot else ''}, got "
                f"{len(first)} in {a}; name a second graph."
            )
        _print_classes(a, first, names, max_dim, as_json)
        return
    pair = []
    for name, found in ((a, first), (b, graphs_of(b))):
        if len(found) != 1:
            raise GraphError(
                f"Expected one graph in {name}, got {len(found)}; name that file alone."
            )
        pair += found
    result = compare(pair[0], pair[1], names, max_dim=max_dim)
    if plot:
        _plot(pair, [a, b], max_dim, plot)
    if as_json:
        verdicts = [asdict(verdict) for verdict in result]
        print(json.dumps({"a": a, "b": b, "tests": verdicts, "isomorphic": result.isomorphic}))
        return
    title = escape(f"{Path(a).name} and {Path(b).name}")
    table = Table("test", "verdict", "round", "dimension", title=title)
    for v in result:
        cells = ["" if cell is None else str(cell) for cell in (v.round, v.dim)]
        table.add_row(v.test, VERDICTS[v.distinguished], *cells)
    Console().print(table)
    _print_notes((v.test, v.note) for v in result)
    Console().print(f"truth: {TRUTHS[result.isomorphic]}")


def graphs_of(name: str) -> "list[Graph]":
    """Return the graphs of a file, or a built-in graph."""
    from mpsn.datasets import read_graphs
    from mpsn.datasets._named import NAMED

    if name in NAMED:
        return [NAMED[name]()]
    if not Path(name).exists():
        raise FileError(
            f"Expected a graph file or a built-in graph ({', '.join(NAMED)}), got {name!r}."
            f"{did_you_mean(name, NAMED)}"
        )
    return read_graphs(name)


def _print_classes(
    file: str, graphs: "list[Graph]", tests: list[str], max_dim: int | None, as_json: bool
) -> None:
    from mpsn.wl import Classes, equivalence_classes
    from mpsn.wl._ladder import TRUTHS, VERDICTS

    rows: list[dict[str, Any]] = []
    for test in tests:
        try:
            found = equivalence_classes(graphs, test, max_dim=max_dim)
            rows.append({"test": test, "classes": found.groups, "pairs": found.pairs, "note": ""})
        except TooLargeError as error:
            rows.append({"test": test, "classes": None, "pairs": None, "note": str(error)})
    truth = Classes("truth", [], graphs).truth
    if as_json:
        print(json.dumps({"file": file, "graphs": len(graphs), "tests": rows, "isomorphic": truth}))
        return
    title = escape(f"{Path(file).name}: {len(graphs)} graphs")
    table = Table("test", "classes", "pairs not told apart", "largest classes", title=title)
    for row in rows:
        if row["note"]:
            table.add_row(row["test"], VERDICTS[None], "", "")
            continue
        large = sorted((c for c in row["classes"] if len(c) > 1), key=len, reverse=True)
        text = "; ".join(" ".join(map(str, members)) for members in large)
        short = shorten(text, 60, placeholder=" ...")
        table.add_row(row["test"], str(len(row["classes"])), str(row["pairs"]), short)
    Console().print(table)
    _print_notes((row["test"], row["note"]) for row in rows)
    kinds = TRUTHS[None] if truth is None else f"{len(truth)} classes up to isomorphism"
    Console().print(f"truth: {kinds}")


def _print_notes(notes: Iterable[tuple[str, str]]) -> None:
    for test, note in notes:
        if note:
            Console(soft_wrap=True).print(escape(f"{test}: {note}"), highlight=False)


def _plot(graphs: "list[Graph]", names: list[str], max_dim: int | None, file: Path) -> None:
    with drawing(file):
        from matplotlib import pyplot as plt

        from mpsn.lifting import clique_complexes
        from mpsn.plotting import draw_stable_colors

        figure, axes = plt.subplots(1, 2, figsize=(9, 4.5))
        draw_stable_colors(list(clique_complexes(graphs, max_dim)), axes)
        for ax, name in zip(axes, names, strict=True):
            ax.set_title(name)
        try:
            figure.savefig(file, bbox_inches="tight")
        finally:
            plt.close(figure)


def print_rows(rows: list[dict[str, Any]], title: str, most: int = 40) -> None:
    """Print a table with a row per graph, up to so many."""
    table = Table(title=title, title_justify="left")
    table.add_column("graph", justify="right")
    for name in rows[0]:
        table.add_column(name)
    for i, row in enumerate(rows[:most]):
        table.add_row(
            str(i),
            *(" ".join(map(str, v)) if isinstance(v, tuple) else str(v) for v in row.values()),
        )
    Console().print(table)
    if len(rows) > most:
        Console().print(f"... and {len(rows) - most} more; --json prints all")
