"""What commands share: the --json option, tables, and pictures."""

import inspect
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, get_args

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from typer.models import ArgumentInfo

from mpsn.errors import FileError, MissingPackageError, MPSNError, visible

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]


def name_types(command: Any) -> None:
    """Let the help of a command name the types of its options in words."""
    for name, parameter in inspect.signature(command).parameters.items():
        kind, given = get_args(parameter.annotation)[:2]
        if isinstance(given, ArgumentInfo):
            given.metavar = given.metavar or name.upper()
        elif "bool" not in str(kind):
            words = {"int": "NUMBER", "Path": "PATH", "str": "TEXT"}
            given.metavar = given.metavar or next(words[w] for w in words if w in str(kind))


def refuse(what: object, why: str, **options: object) -> None:
    """Refuse options that do not apply."""
    names = [name for name, value in options.items() if value is not None and value is not False]
    given = [f"--{name.replace('_', '-')}" for name in names]
    if given:
        raise MPSNError(f"Expected {what} without {' and '.join(given)}: {why}.")


@contextmanager
def drawing(target: Path, quiet: bool = True, what: str = "figure") -> Iterator[None]:
    """Report problems with a picture in one line; say where it is, unless ``quiet``."""
    try:
        yield
        if not quiet:
            print(f"{what}: {visible(target)}")
    except MPSNError:
        raise
    except ImportError as error:
        raise MissingPackageError(
            "Expected matplotlib for --plot, got none; pip install matplotlib."
        ) from error
    except (OSError, ValueError) as error:
        raise FileError(f"Expected to write a picture to {target}, got {error}.") from error


def print_table(
    title: str,
    columns: Iterable[str],
    rows: Iterable[Iterable[object]],
    notes: Iterable[str] = (),
    figures: Iterable[Path | None] = (),
) -> None:
    """Print a table, notes below it, and the paths of figures."""
    table = Table(title=escape(visible(title)), title_justify="left")
    for i, column in enumerate(columns):
        table.add_column(escape(visible(column)), overflow="fold", no_wrap=i == 0)
    for row in rows:
        table.add_row(*("" if cell is None else escape(visible(cell)) for cell in row))
    Console().print(table)
    for line in notes:
        Console(soft_wrap=True).print(escape(visible(line)), highlight=False)
    for path in filter(None, figures):
        print(f"figure: {visible(path)}")


def print_error(error: object) -> None:
    """Print an error in one line."""
    line = f"[bold red]error:[/] {escape(visible(error))}"
    Console(stderr=True, soft_wrap=True).print(line, highlight=False)


def print_lines(text: str) -> None:
    """Print text of several lines."""
    for line in text.split("\n"):
        print(visible(line))


def split(words: str) -> tuple[str, ...]:
    """Split at commas and spaces, but not inside parentheses: the one way to give a list.

    Example:
        >>> from mpsn.cli._output import split
        >>> split("SR(16,6,2,2), wl,swl")
        ('SR(16,6,2,2)', 'wl', 'swl')
    """
    return tuple(word for word in re.split(r"[,\s]+(?![^()]*\))", words) if word)


def csv_cell(value: object) -> object:
    """Return a value for a CSV file; words that a spreadsheet would compute are quoted.

    Example:
        >>> from mpsn.cli._output import csv_cell
        >>> csv_cell("=1+1"), csv_cell(-1.5), csv_cell("-1.5"), csv_cell("cat")
        ("'=1+1", -1.5, '-1.5', 'cat')
    """
    if not isinstance(value, str):
        return value
    text = visible(value)
    if not text.startswith(("=", "+", "-", "@")):
        return text
    try:
        float(text)
    except ValueError:
        return f"'{text}"
    return text
