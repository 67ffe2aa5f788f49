"""The command line: each command parses its options, then calls one function.

Commands import what they need when they run, so that ``--help`` answers at once.
"""

import sys
import warnings
from typing import Any

import typer
from rich.console import Console
from rich.markup import escape

from mpsn.cli._graphs import distinguish, lift
from mpsn.cli._models import fit, predict
from mpsn.cli._reproduce import report, reproduce, tune
from mpsn.cli._show import show
from mpsn.errors import LeftOut, MPSNError

TOUR = """Simplicial complexes, Weisfeiler-Lehman tests and message passing simplicial networks.

A short tour, first of your own graphs, then of the paper:

  mpsn show rook4x4 --plot rook.png     draw a graph as a simplicial complex

  mpsn lift graphs.g6                   count its triangles, holes, ...

  mpsn fit cats/ dogs/ -o pets.mpsn     learn from two folders of graphs

  mpsn predict pets.mpsn new/ -o p.csv  predict the classes of other graphs

  mpsn distinguish rook4x4 shrikhande   compare two graphs by several tests

  mpsn reproduce sr --quick             reproduce a table of the paper

  mpsn report runs                      make one page of all results

For help on a command: mpsn COMMAND --help.
"""

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help=TOUR,
)
for _command in (show, lift, fit, predict, distinguish, report):
    app.command()(_command)
app.add_typer(reproduce, name="reproduce")
app.add_typer(tune, name="tune")


def _show_left_out(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: Any = None,
    line: str | None = None,
) -> None:
    """Print what was left out of the data as one line; other warnings as Python does."""
    if issubclass(category, LeftOut):
        line = f"[yellow]left out:[/] {escape(str(message))}"
        Console(stderr=True, soft_wrap=True).print(line, highlight=False)
    else:
        sys.stderr.write(warnings.formatwarning(message, category, filename, lineno, line))


def main() -> None:
    """Run the command line; errors about input become one line and exit status 2."""
    warnings.showwarning = _show_left_out
    warnings.simplefilter("default", LeftOut)
    try:
        app()
    except MPSNError as error:
        line = f"[bold red]error:[/] {escape(str(error))}"
        Console(stderr=True, soft_wrap=True).print(line, highlight=False)
        sys.exit(2)
