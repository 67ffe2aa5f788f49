"""Files and tables of molecules: CSV, SMILES, SD files and data frames."""

import math
import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple

import torch
from torch import Tensor

from mpsn._files.limits import open_file
from mpsn._rows.packages import package
from mpsn.datasets._tables import is_gap, read_rows
from mpsn.errors import FileError, MPSNError, did_you_mean


class Table(NamedTuple):
    """Molecules, as SMILES or RDKit's, and the cells (row by row) of the table they are from."""

    molecules: list[Any]
    head: list[str] = []  # noqa: RUF012 (never changed)
    rows: list[list[Any]] = []  # noqa: RUF012

    def row(self, number: int) -> dict[str, Any]:
        """Return the cells of a row by name."""
        return dict(zip(self.head, self.rows[number], strict=True))

    def column(self, name: str) -> list[Any]:
        """Return the cells of a column."""
        if name not in self.head:
            raise FileError(
                f"Expected a column {name!r:.60} beside the molecules, got "
                f"{', '.join(self.head) or 'none':.200}.{did_you_mean(name, self.head)}"
            )
        at = self.head.index(name)
        return [row[at] for row in self.rows]

    def numbers(self, names: str | Sequence[str]) -> Tensor:
        """Return a column (rows,), or several (rows, columns); int64 if all are integers."""
        columns = [names] if isinstance(names, str) else list(names)
        table = [[_number(cell, name) for cell in self.column(name)] for name in columns]
        whole = all(number.is_integer() for column in table for number in column)
        out = torch.tensor(table, dtype=torch.float64).T.to(torch.int64 if whole else torch.float32)
        return out[:, 0] if isinstance(names, str) else out


def read_table(source: Any, smiles: str | None = None) -> Table:
    """Read a list of molecules, a data frame, or a file; not yet parsed, but for SD files."""
    if hasattr(source, "columns") and hasattr(source, "to_numpy"):
        return _with_smiles([list(map(str, source.columns)), *source.to_numpy().tolist()], smiles)
    if not isinstance(source, (str, os.PathLike)):
        return Table(list(source))
    path = Path(source)
    kind = Path(path.stem if path.suffix.lower() == ".gz" else path.name).suffix.lower()
    if kind in (".csv", ".tsv", ".txt"):
        return _with_smiles(read_rows(path, "a table of molecules"), smiles)
    if kind not in (".smi", ".smiles", ".sdf", ".sd"):
        raise FileError(
            f"Expected molecules in a file ending in .csv, .tsv, .smi or .sdf, got {path.name!r}; "
            f"put SMILES into a list."
        )
    with open_file(path, "a file of molecules") as file:
        return _smi(file) if kind[:3] == ".sm" else _sdf(file)


def holds_molecules(path: Path) -> bool:
    """Return whether a file is of molecules: by its ending, or a column named SMILES."""
    name = Path(path.stem if path.suffix.lower() == ".gz" else path.name)
    if name.suffix.lower() in (".csv", ".tsv") and path.is_file():
        try:
            with open_file(path, "a table") as file:
                first = file.readline(1 << 16).decode("utf-8-sig", "replace").lower()
        except MPSNError:
            return False
        return "smiles" in first.translate(dict.fromkeys(map(ord, ',;"'), " ")).split()
    return name.suffix.lower() in (".smi", ".smiles", ".sdf", ".sd")


def _number(cell: Any, name: str) -> float:
    if is_gap(cell):
        return math.nan
    try:
        number = float(cell)
    except (TypeError, ValueError):
        number = math.inf
    if math.isinf(number):
        raise FileError(f"Expected finite numbers in the column {name!r:.60}, got {cell!r:.60}.")
    return number


def _with_smiles(rows: list[list[Any]], smiles: str | None) -> Table:
    """Find the column of SMILES."""
    head, rows = (rows[0], rows[1:]) if rows else ([], [])
    if twice := [name for name, many in Counter(head).items() if many > 1]:
        raise FileError(f"Expected columns of distinct names, got {twice[0]!r:.60} twice.")
    for number, row in enumerate(rows):
        if len(row) != len(head):
            raise FileError(f"Expected {len(head)} cells in row {number}, got {len(row)}.")
    if smiles is None:
        near = [name for name in head if "smiles" in name.lower()]
        found = [name for name in near if name.strip().lower() == "smiles"] or near
        if len(found) != 1:
            raise FileError(
                f"Expected one column of SMILES, named so, got {len(found)} among "
                f"{', '.join(head) or 'none':.200}; name it with --smiles (smiles=...)."
            )
        smiles = found[0]
    table = Table([], head, rows)
    return table._replace(molecules=table.column(smiles))


def _smi(file: IO[bytes]) -> Table:
    """Read lines of SMILES, with a name or without."""
    lines = [line.split(None, 1) for line in file.read().decode("utf-8-sig").splitlines()]
    rows = [[line[0], line[1].strip() if line[1:] else ""] for line in lines if line]
    if rows and rows[0][0].lower() == "smiles":
        rows = rows[1:]
    return Table([row[0] for row in rows], ["smiles", "name"], rows)


def _sdf(file: IO[bytes]) -> Table:
    """Read the records of an SD file, with their properties as cells."""
    chem = package("rdkit.Chem", "chem", "read molecules")
    with chem.rdBase.BlockLogs():
        found = list(chem.ForwardSDMolSupplier(file))
    cells = [
        {} if mol is None else {k: mol.GetProp(k) for k in mol.GetPropNames()} for mol in found
    ]
    names = dict.fromkeys(name for row in cells for name in row if name != "smiles")
    rows = [
        ["" if mol is None else chem.MolToSmiles(mol), *(row.get(name, "") for name in names)]
        for mol, row in zip(found, cells, strict=True)
    ]
    return Table(found, ["smiles", *names], rows)
