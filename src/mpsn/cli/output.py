"""What commands share: the --json option, and drawing that fails in one line."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from mpsn.errors import FileError, MPSNError

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]


@contextmanager
def drawing(target: Path) -> Iterator[None]:
    """Turn what goes wrong with a picture into errors of one line."""
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
