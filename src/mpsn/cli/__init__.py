"""The command line: each command parses its options, then calls one function.

Commands import what they need when they run, so that ``--help`` answers at once.
"""

import io
import os
import sys
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from importlib.metadata import entry_points
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape

from mpsn.cli._fit import fit
from mpsn.cli._graphs import distinguish, lift
from mpsn.cli._predict import predict
from mpsn.cli._show import show
from mpsn.cli.output import Command, name_types, print_error
from mpsn.errors import (
    LeftOut,
    MissingPackageError,
    MPSNError,
    TooLargeError,
    out_of_memory,
    visible,
)

TOUR = """Simplicial complexes, Weisfeiler-Lehman tests and message passing simplicial networks.

A short tour, first of your own graphs, then of the paper:

  mpsn show rook4x4 --plot rook.png     draw a graph as a simplicial complex

  mpsn show rook4x4 --html rook.html    explore it in a browser

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
    rich_markup_mode=None,
    help=TOUR,
)


def _version(asked: bool) -> None:
    if asked:
        from mpsn import __version__

        print(f"mpsn {__version__}")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None: ...


def _add(group: typer.Typer) -> None:
    """Let the help of the commands of a group name types in words."""
    for command in group.registered_commands:
        command.cls = Command
        name_types(command.callback)


def _absent(name: str) -> Callable[[list[str]], None]:
    """Return a command that says which package brings it."""

    def command(words: Annotated[list[str], typer.Argument()] = []) -> None:  # noqa: B006
        raise MissingPackageError(
            f"Expected mpsn-reproduction for `mpsn {name}`, got none; "
            "pip install mpsn-reproduction."
        )

    return command


for _command in (show, lift, fit, predict, distinguish):
    app.command()(_command)
_plugins = {point.name: point for point in entry_points(group="mpsn.commands")}
for _name, _point in _plugins.items():
    _plugin = _point.load()  # a command, or a group of commands
    if isinstance(_plugin, typer.Typer):
        _add(_plugin)
        app.add_typer(_plugin, name=_name)
    else:
        app.command(_name)(_plugin)
_add(app)
for _name in sorted({"reproduce", "tune", "report"} - _plugins.keys()):
    app.command(
        _name,
        help="Needs the package mpsn-reproduction.",
        add_help_option=False,
        context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
    )(_absent(_name))


def _show_warning(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
    """Print a warning, such as about data that is left out, as one line."""
    what = "left out" if issubclass(category, LeftOut) else "warning"
    line = f"[yellow]{what}:[/] {escape(visible(message))}"
    Console(stderr=True, soft_wrap=True).print(line, highlight=False)


def _joined() -> AbstractContextManager[None]:
    """Join the processes that a launcher started, if one did."""
    if not {"RANK", "SLURM_PROCID"} & os.environ.keys():
        return nullcontext()
    from mpsn.training import joined

    return joined()


def main() -> None:
    """Run the command line; errors about input and output become one line and exit status 2."""
    warnings.showwarning = _show_warning
    warnings.simplefilter("default", LeftOut)
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:  # closed: take its number, else a file would get it
            setattr(
                sys,
                name,
                os.fdopen(os.open(os.devnull, os.O_RDWR), "r" if name == "stdin" else "w"),
            )
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # what an ASCII terminal cannot show
    try:
        try:
            with _joined() if sys.argv[1:2] in (["fit"], ["reproduce"]) else nullcontext():
                app(prog_name="mpsn")
        finally:
            sys.stdout.flush()
    except MPSNError as error:
        print_error(error)
        sys.exit(2)
    except (MemoryError, RuntimeError) as error:
        if not out_of_memory(error):
            raise
        print_error(TooLargeError("Expected enough memory, got too little; use less data."))
        sys.exit(2)
    except OSError as error:  # of printing: to a disk that is full, or to nobody
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for the last flush
        if isinstance(error, BrokenPipeError):
            sys.exit(1)
        print_error(error)
        sys.exit(2)
