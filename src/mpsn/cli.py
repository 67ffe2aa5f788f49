"""The command line: each command parses, then calls one public function."""

import json
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from textwrap import shorten
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from mpsn.complexes.graphs import Graph
from mpsn.datasets import read_graphs
from mpsn.datasets.named import NAMED
from mpsn.errors import FileError, GraphError, MPSNError, TooLargeError
from mpsn.lifting import clique_complexes
from mpsn.wl import LADDER, TESTS, Classes, compare, equivalence_classes
from mpsn.wl.ladder import TRUTHS, VERDICTS, check_tests

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Simplicial complexes, Weisfeiler-Lehman tests and message passing simplicial networks.",
)


reproduce = typer.Typer(
    no_args_is_help=True, help="Make a table or figure of the paper, beside the paper's numbers."
)
app.add_typer(reproduce, name="reproduce")


def main() -> None:
    """Run the command line; errors about input become one line and exit status 2."""
    try:
        app()
    except MPSNError as error:
        said = f"[bold red]error:[/] {escape(str(error))}"
        Console(stderr=True, soft_wrap=True).print(said, highlight=False)
        sys.exit(2)


@app.command()
def lift(
    file: Annotated[Path, typer.Argument(help="graph6, sparse6, edge list, GraphML or .npz.")],
    max_dim: Annotated[
        int | None, typer.Option(help="Largest dimension of a simplex; all cliques unless said.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")] = False,
) -> None:
    """Lift the graphs of a file to their clique complexes, and count what is there.

    Prints, for each graph, how many simplices of each dimension its clique complex has, its Euler
    number, its Betti numbers (how many parts, loops, voids, ...), and the seconds it took to lift.

    Example: mpsn lift graphs.g6 --max-dim 3
    """
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
    _print_rows(rows, f"{escape(file.name)}: {len(rows)} graph{'s' * (len(rows) != 1)}")
    Console().print(f"lifted in {seconds:.3g} seconds")


@app.command()
def distinguish(
    a: Annotated[str, typer.Argument(help="A graph file, or the name of a built-in graph.")],
    b: Annotated[
        str | None, typer.Argument(help="Another one; none to group the many graphs of file A.")
    ] = None,
    tests: Annotated[
        str, typer.Option(help=f"Tests to run, of {', '.join(TESTS)}, with commas between.")
    ] = ",".join(LADDER),
    max_dim: Annotated[
        int | None, typer.Option(help="Largest dimension of a simplex; all cliques unless said.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")] = False,
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
    names = [name.strip() for name in tests.split(",")]
    check_tests(names, max_dim)
    first = _graphs_of(a)
    if b is None:
        if len(first) < 2 or plot:
            raise GraphError(
                f"Expected two graphs to compare{' and plot' if plot else ''}, got "
                f"{len(first)} in {a}; name a second graph."
            )
        _print_classes(a, first, names, max_dim, as_json)
        return
    pair = []
    for name, found in ((a, first), (b, _graphs_of(b))):
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


def _graphs_of(name: str) -> list[Graph]:
    if name in NAMED:
        return [NAMED[name]()]
    if not Path(name).exists():
        raise FileError(
            f"Expected a graph file or a built-in graph ({', '.join(NAMED)}), got {name!r}."
        )
    return read_graphs(name)


def _print_classes(
    file: str, graphs: list[Graph], tests: list[str], max_dim: int | None, as_json: bool
) -> None:
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


@contextmanager
def _drawing(target: Path) -> Iterator[None]:
    """Turn what goes wrong with --plot into errors of one line."""
    try:
        yield
    except MPSNError:
        raise
    except ImportError as error:
        raise MPSNError(
            "Expected matplotlib for --plot, got none; pip install matplotlib."
        ) from error
    except (OSError, ValueError) as error:
        raise FileError(f"Expected to write a picture to {target}, got {error}.") from error


def _plot(graphs: list[Graph], names: list[str], max_dim: int | None, file: Path) -> None:
    with _drawing(file):
        from matplotlib import pyplot as plt

        from mpsn.plotting import draw_stable_colors

        figure, axes = plt.subplots(1, 2, figsize=(9, 4.5))
        draw_stable_colors(list(clique_complexes(graphs, max_dim)), axes)
        for ax, name in zip(axes, names, strict=True):
            ax.set_title(name)
        try:
            figure.savefig(file, bbox_inches="tight")
        finally:
            plt.close(figure)


def _print_rows(rows: list[dict[str, Any]], title: str, most: int = 40) -> None:
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


@reproduce.command("regions")
def reproduce_regions(
    plot: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Draw the paper's two figures in here.")
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="How many random weights to count for.")] = 3,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")] = False,
) -> None:
    """Count the linear regions of GNN, SCNN and MPSN layers, exactly, beside the theorems' bounds.

    For GNN and SCNN the theorems give the number itself, for MPSN an upper bound. With --plot, also
    draws the regions in a slice of input space: of all three on a triangle, and with edge features
    populated from vertices.

    Example: mpsn reproduce regions --plot out/regions
    """
    from mpsn.experiments import regions

    paths = []
    if plot:
        with _drawing(plot):
            paths = regions.draw(plot)
    rows = []
    with Console(stderr=True).status("counting") as status:
        for row in regions.sweep(seeds):
            rows.append(row)
            status.update(f"counting: {row.complex}, d={row.d}, m={row.m}, {row.model}")
    if as_json:
        found = [row._asdict() for row in rows]
        print(json.dumps({"rows": found, "figures": [str(path) for path in paths]}))
        return
    table = Table(title="Linear regions, exact counts", title_justify="left")
    for name in ("complex", "d", "m", "model", f"regions, {seeds} seeds", "theorem"):
        table.add_column(name)
    for row in rows:
        counts = " ".join(map(str, sorted(set(row.regions))))
        sign = "≤" if row.model == "MPSN" else "="
        table.add_row(row.complex, str(row.d), str(row.m), row.model, counts, f"{sign} {row.bound}")
    Console().print(table)
    for path in paths:
        print(f"figure: {path}")
