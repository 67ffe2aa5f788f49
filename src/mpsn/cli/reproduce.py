"""Commands that make the tables and figures of the paper."""

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from mpsn.cli.output import AsJson, drawing

reproduce = typer.Typer(
    no_args_is_help=True, help="Make a table or figure of the paper, beside the paper's numbers."
)


@reproduce.command("regions")
def reproduce_regions(
    plot: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Draw the paper's two figures in here.")
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="How many random weights to count for.")] = 3,
    as_json: AsJson = False,
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
        with drawing(plot):
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
