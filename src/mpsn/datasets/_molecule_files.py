"""Files and tables of molecules: CSV, SMILES, SD files and data frames."""

import math
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import torch
from torch import Tensor

from mpsn._files.limits import open_file
from mpsn._rows.packages import package
from mpsn.datasets._tables import Table, is_gap
from mpsn.errors import FileError, MPSNError


@dataclass(frozen=True)
class MoleculeTable(Table):
    """Molecules, as SMILES or RDKit's, and the cells (row by row) of the table they are from."""

    molecules: list[Any] = field(default_factory=list)
    """The molecules, one of each row."""

    def numbers(self, names: str | Sequence[str]) -> Tensor:
        """Return a column (rows,), or several (rows, columns); int64 if all are integers."""
        columns = [names] if isinstance(names, str) else list(names)
        table = [[_number(cell, name) for cell in self.column(name)] for name in columns]
        whole = all(number.is_integer() for column in table for number in column)
        out = torch.tensor(table, dtype=torch.float64).T.to(torch.int64 if whole else torch.float32)
        return out[:, 0] if isinstance(names, str) else out


def read_molecule_table(source: Any, smiles: str | None = None) -> MoleculeTable:
    """Read a table of molecules, not yet parsed but for SD files, and its other columns.

    Args:
        source: A list of molecules, a data frame, or a file, as in
            :func:`mpsn.read_molecules`.
        smiles: Name of the column of SMILES. Defaults to the only one with that word in its name.
    """
    if hasattr(source, "columns") and hasattr(source, "to_numpy"):
        head = list(map(str, source.columns))
        return _with_smiles(Table("the data frame", head, source.to_numpy().tolist()), smiles)
    if not isinstance(source, (str, os.PathLike)):
        return MoleculeTable("a list", [], [], list(source))
    path = Path(source)
    suffix = _suffix(path)
    if suffix in (".csv", ".tsv", ".txt"):
        return _with_smiles(Table.read(path, "a table of molecules"), smiles)
    if suffix not in READERS:
        raise FileError(
            f"Expected molecules in a file ending in .csv, .tsv, .smi or .sdf, got {path.name!r}; "
            f"put SMILES into a list."
        )
    with open_file(path, "a file of molecules") as file:
        return READERS[suffix](str(path), file)


def holds_molecules(path: Path) -> bool:
    """Return whether a file is of molecules: by its ending, or a column named SMILES."""
    suffix = _suffix(path)
    if suffix not in (".csv", ".tsv") or not path.is_file():
        return suffix in READERS
    try:
        with open_file(path, "a table") as file:
            first = file.readline(1 << 16).decode("utf-8-sig", "replace").lower()
    except MPSNError:
        return False
    return "smiles" in first.translate(dict.fromkeys(map(ord, ',;"'), " ")).split()


def _suffix(path: Path) -> str:
    return Path(path.stem if path.suffix.lower() == ".gz" else path.name).suffix.lower()


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


def _with_smiles(table: Table, smiles: str | None) -> MoleculeTable:
    """Find the column of SMILES."""
    head = table.head
    if twice := [name for name, count in Counter(head).items() if count > 1]:
        raise FileError(f"Expected columns of distinct names, got {twice[0]!r:.60} twice.")
    if smiles is None:
        near = [name for name in head if "smiles" in name.lower()]
        exact = [name for name in near if name.strip().lower() == "smiles"] or near
        if len(exact) != 1:
            raise FileError(
                f"Expected one column of SMILES, named so, got {len(exact)} among "
                f"{', '.join(head) or 'none':.200}; name it with --smiles (smiles=...)."
            )
        smiles = exact[0]
    return MoleculeTable(table.name, head, table.rows, table.column(smiles))


def _smi(name: str, file: IO[bytes]) -> MoleculeTable:
    """Read lines of SMILES, with a name or without."""
    lines = [line.split(None, 1) for line in file.read().decode("utf-8-sig").splitlines()]
    rows = [[line[0], line[1].strip() if line[1:] else ""] for line in lines if line]
    if rows and rows[0][0].lower() == "smiles":
        rows = rows[1:]
    return MoleculeTable(name, ["smiles", "name"], rows, [row[0] for row in rows])


def _sdf(name: str, file: IO[bytes]) -> MoleculeTable:
    """Read the records of an SD file, with their properties as cells."""
    chem = package("rdkit.Chem", "chem", "read molecules")
    with chem.rdBase.BlockLogs():
        molecules = list(chem.ForwardSDMolSupplier(file))
    cells = [
        {} if mol is None else {k: mol.GetProp(k) for k in mol.GetPropNames()} for mol in molecules
    ]
    names = dict.fromkeys(key for row in cells for key in row if key != "smiles")
    rows = [
        ["" if mol is None else chem.MolToSmiles(mol), *(row.get(key, "") for key in names)]
        for mol, row in zip(molecules, cells, strict=True)
    ]
    return MoleculeTable(name, ["smiles", *names], rows, molecules)


READERS = {".smi": _smi, ".smiles": _smi, ".sdf": _sdf, ".sd": _sdf}
