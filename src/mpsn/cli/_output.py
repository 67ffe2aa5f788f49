"""What commands share: the --json option, tables, and pictures."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from mpsn.errors import FileError, MissingPackageError, MPSNError

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


def print_table(
    title: str,
    columns: Iterable[str],
    rows: Iterable[Iterable[object]],
    notes: Iterable[str] = (),
    figures: Iterable[Path | None] = (),
) -> None:
    """Print a table, notes below it, and the paths of figures."""
    table = Table(title=escape(title), title_justify="left")
    for i, column in enumerate(columns):
        table.add_column(escape(column), overflow="fold", no_wrap=i == 0)
    for row in rows:
        table.add_row(*("" if cell is None else escape(str(cell)) for cell in row))
    Console().print(table)
    for line in notes:
        Console(soft_wrap=True).print(escape(line), highlight=False)
    for path in filter(None, figures):
        print(f"figure: {path}")
