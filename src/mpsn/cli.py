"""The command line: each command parses, then calls one public function."""

import json
import sys
import time
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from mpsn.errors import MPSNError

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Simplicial complexes, Weisfeiler-Lehman tests and message passing simplicial networks.",
)


@app.callback()
def _commands() -> None:
    """Keep commands by name even while there is only one."""


def main() -> None:
    """Run the command line; errors about input become one line and exit status 2."""
    try:
        app()
    except MPSNError as error:
        Console(stderr=True, soft_wrap=True).print(f"[bold red]error:[/] {error}", highlight=False)
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
    from mpsn.datasets import read_graphs
    from mpsn.lifting import clique_complexes

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
    _print_rows(rows, f"{file.name}: {len(rows)} graph{'s' * (len(rows) != 1)}")
    Console().print(f"lifted in {seconds:.3g} seconds")


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
