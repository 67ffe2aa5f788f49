"""What commands share: the --json option, tables, and pictures."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from mpsn.errors import FileError, MissingPackageError, MPSNError

if TYPE_CHECKING:
    from mpsn.experiments import Table as Values

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]


@contextmanager
def drawing(target: Path) -> Iterator[None]:
    """Report problems with a picture in one line."""
    try:
        yield
    except MPSNError:
        raise
    except ImportError as error:
        raise MissingPackageError(
            "Expected matplotlib for --plot, got none; pip install matplotlib."
        ) from error
    except (OSError, ValueError) as error:
        raise FileError(f"Expected to write a picture to {target}, got {error}.") from error


def print_table(values: "Values", more: Sequence[str] = ()) -> None:
    """Print the table of an experiment, its notes, and more lines."""
    table = Table(title=escape(values.title), title_justify="left")
    for i, column in enumerate(values.columns):
        table.add_column(escape(column), overflow="fold", no_wrap=i == 0)
    for row in values.rows:
        table.add_row(*map(escape, row))
    Console().print(table)
    for line in (*values.notes, *more):
        Console(soft_wrap=True).print(escape(line), highlight=False)
