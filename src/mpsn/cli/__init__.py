"""The command line: each command parses, then calls one public function.

Commands import what they need when they run, so that ``--help`` answers at once.
"""

import sys

import typer
from rich.console import Console
from rich.markup import escape

from mpsn.cli import experiments, graphs, models, show
from mpsn.cli.reproduce import reproduce
from mpsn.errors import MPSNError

TOUR = """Simplicial complexes, Weisfeiler-Lehman tests and message passing simplicial networks.

A short tour, of your own graphs first, then of the paper:

  mpsn show rook4x4 --plot rook.png     a graph as a simplicial complex

  mpsn lift graphs.g6                   its triangles, holes, ... in numbers

  mpsn fit cats/ dogs/ -o pets.mpsn     learn from two folders of graphs

  mpsn predict pets.mpsn new/ -o p.csv  and tell what other graphs are

  mpsn distinguish rook4x4 shrikhande   which tests tell two graphs apart

  mpsn reproduce sr --quick             a table of the paper, made again

  mpsn report runs                      one page of all that was made

Every command explains itself: mpsn COMMAND --help.
"""

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help=TOUR,
)
app.command()(show.show)
app.command()(graphs.lift)
app.command()(models.fit)
app.command()(models.predict)
app.command()(graphs.distinguish)
app.add_typer(reproduce, name="reproduce")
app.add_typer(experiments.tune, name="tune")
app.command()(experiments.report)


def main() -> None:
    """Run the command line; errors about input become one line and exit status 2."""
    try:
        app()
    except MPSNError as error:
        said = f"[bold red]error:[/] {escape(str(error))}"
        Console(stderr=True, soft_wrap=True).print(said, highlight=False)
        sys.exit(2)
