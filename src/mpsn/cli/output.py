"""What commands share, those of plug-ins among them: the --json option, tables, and pictures."""

import inspect
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, get_args

import typer
from rich.cells import cell_len
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text
from typer.core import TyperCommand
from typer.models import ArgumentInfo

from mpsn.errors import FileError, MissingPackageError, MPSNError, visible

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]


def name_types(command: Any) -> None:
    """Let the help of a command name the types of its options in words."""
    for name, parameter in inspect.signature(command).parameters.items():
        kind, option = get_args(parameter.annotation)[:2]
        if isinstance(option, ArgumentInfo):
            option.metavar = option.metavar or name.upper()
        elif "bool" not in str(kind):
            words = {"int": "NUMBER", "Path": "PATH", "str": "TEXT"}
            option.metavar = option.metavar or next(words[w] for w in words if w in str(kind))


class Command(TyperCommand):
    """A command whose help names arguments without braces and types."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return what follows the name of the command."""
        return [re.sub("[{}]", "", piece) for piece in super().collect_usage_pieces(ctx)]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the help of arguments, then that of options."""
        for kind in ("argument", "option"):
            params = [param for param in self.get_params(ctx) if param.param_type_name == kind]
            records = [record for param in params if (record := param.get_help_record(ctx))]
            if records:
                with formatter.section(f"{kind.title()}s"):
                    formatter.write_dl([(name.split(" <")[0], text) for name, text in records])


def refuse(what: object, why: str, **options: object) -> None:
    """Refuse options that do not apply."""
    names = [name for name, value in options.items() if value is not None and value is not False]
    if names:
        refused = " and ".join(f"--{name.replace('_', '-')}" for name in names)
        raise MPSNError(f"Expected {what} without {refused}: {why}.")


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
    style: Callable[[object], str] = lambda cell: "",
) -> None:
    """Print a table, in parts if it is too wide, notes below it, and the paths of figures.

    ``style`` returns the style of a cell in the words of rich.
    """
    head = [visible(column) for column in columns]
    cells = [list(row) for row in rows]
    body = [["" if cell is None else visible(cell) for cell in row] for row in cells]
    console, name = Console(), escape(visible(title))
    for part, widths in _parts(head, body, console.width):
        table = Table(title=name, title_justify="left")
        for i, width in zip(part, widths, strict=True):
            column = textwrap.fill(head[i], width, break_on_hyphens=False)
            table.add_column(escape(column), width=width, overflow="fold", no_wrap=i == 0)
        for row, texts in zip(cells, body, strict=True):
            table.add_row(*(Text(texts[i], style(row[i])) for i in part))
        console.print(table)
        name = ""
    print_below(notes, figures)


def print_below(notes: Iterable[str], figures: Iterable[Path | None]) -> None:
    """Print notes, and the paths of figures."""
    for line in notes:
        Console(soft_wrap=True).print(escape(visible(line)), highlight=False)
    for path in filter(None, figures):
        print(f"figure: {visible(path)}")


def _parts(
    head: Sequence[str], body: Sequence[Sequence[str]], space: int
) -> Iterator[tuple[list[int], list[int]]]:
    """Yield the columns of each part of a table, and their widths.

    There is one part unless words would have to be broken. The first column, or the first two if
    it takes both to name the rows, is in every part.
    """
    columns = list(zip(head, *body, strict=True))
    words = [max(cell_len(w) for text in texts for w in ["-", *text.split()]) for texts in columns]
    cells = [max(map(cell_len, texts[1:]), default=0) for texts in columns]
    full = [max(cell_len(head[i]), words[i], cells[i]) for i in range(len(head))]
    words[:1] = [max(words[0], cells[0])] if head else []  # it is not wrapped

    def grown(part: list[int], widths: list[int], most: list[int]) -> tuple[list[int], list[int]]:
        """Share out the space that is left."""
        sizes, left = [widths[i] for i in part], space - 1 - sum(widths[i] + 3 for i in part)
        while left > 0 and (short := [j for j, i in enumerate(part) if sizes[j] < most[i]]):
            for j in short[:left]:
                sizes[j] += 1
            left -= len(short)
        return part, sizes

    if sum(words) + 3 * len(words) + 1 <= space:
        yield grown(list(range(len(head))), words, full)
        return
    widths = [max(word, min(36, cell)) for word, cell in zip(words, cells, strict=True)]
    keys = [0] if len({row[0] for row in body}) == len(body) else [0, 1][: len(head)]
    part = list(keys)
    for i in range(len(keys), len(head)):
        if len(part) > len(keys) and sum(widths[j] + 3 for j in [*part, i]) + 1 > space:
            yield grown(part, widths, cells)
            part = list(keys)
        part.append(i)
    yield grown(part, widths, cells)


def print_error(error: object) -> None:
    """Print an error in one line."""
    line = f"[bold red]error:[/] {escape(visible(error))}"
    Console(stderr=True, soft_wrap=True).print(line, highlight=False)


def print_lines(text: str) -> None:
    """Print text of several lines."""
    for line in text.split("\n"):
        print(visible(line))


def split(words: str, spaces: bool = True) -> tuple[str, ...]:
    """Split a list of names at commas, and at ``spaces``, but not inside parentheses.

    Example:
        >>> from mpsn.cli.output import split
        >>> split("SR(16,6,2,2), wl,swl")
        ('SR(16,6,2,2)', 'wl', 'swl')
        >>> split("CFI, simple regular", spaces=False)
        ('CFI', 'simple regular')
    """
    mark = r"[,\s]+" if spaces else r"\s*,\s*"
    return tuple(word for word in re.split(rf"{mark}(?![^()]*\))", words.strip()) if word)


def csv_cell(value: object) -> object:
    """Return a value for a CSV file; words that a spreadsheet would compute are quoted.

    Example:
        >>> from mpsn.cli.output import csv_cell
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
