"""Options and arguments that the commands on models share."""

from pathlib import Path
from typing import Annotated

import typer

Data = Annotated[
    list[Path],
    typer.Argument(
        help="Graphs: folders (one per class), a folder, a file, a TU zip, a CSV of molecules."
    ),
]
Smiles = Annotated[
    str | None,
    typer.Option(help="Column of SMILES in a CSV of molecules. Defaults to the one named so."),
]
Attributes = Annotated[
    list[Path] | None,
    typer.Option(
        help="With a list of simplices: a CSV of vertices of cells and their attributes. Can be "
        "repeated, once for each dimension.",
    ),
]
Device = Annotated[str, typer.Option(help="auto, cpu or cuda.")]
Unsafe = Annotated[
    bool,
    typer.Option(
        "--unsafe-pickle",
        help="Read .pt files. They are pickles, which can run any code.",
    ),
]
