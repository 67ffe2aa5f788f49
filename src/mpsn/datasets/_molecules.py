"""Molecules: SMILES, SD files and RDKit's own, as graphs and as ring complexes."""

from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from mpsn._rows.packages import package
from mpsn.complexes import CellComplex, ComplexDataset
from mpsn.convert import Graph
from mpsn.datasets._molecule_files import read_molecule_table
from mpsn.errors import FileError, GraphError, warn
from mpsn.lifting import ring_complexes

CHARGE, HYDROGENS = 8, 8  # the largest that have categories of their own
ATOMS = {"element": 119, "charge": 2 * CHARGE + 1, "hydrogens": HYDROGENS + 1, "aromatic": 2}
ATOMS |= {"chirality": 9}
BONDS = {"bond": 22, "in_ring": 2, "stereo": 8}


class Molecules(NamedTuple):
    """Molecules as ring complexes, and what was read.

    Attributes:
        data: The complexes. ``x[0]``, ``x[1]`` and ``x[2]`` are categories of atoms, bonds and
            rings, (n_k, columns) int64; ``y`` the targets, NaN where there are gaps.
        rows: Number of the row, from 0, that each complex is from.
        left_out: Why other rows are left out, by number.
        categories: Names of the columns of each ``x[k]``, and the number of categories of each.
    """

    data: ComplexDataset[CellComplex]
    rows: tuple[int, ...]
    left_out: dict[int, str]
    categories: tuple[dict[str, int], ...]


def read_molecules(
    source: Any,
    smiles: str | None = None,
    y: str | Sequence[str] | None = None,
    *,
    max_ring: int = 18,
    strict: bool = False,
) -> Molecules:
    """Read molecules, and lift them to complexes of atoms, bonds and rings.

    Needs RDKit (``pip install 'mpsn[chem]'``); the complexes do not, nor do files of them.
    Categories are the same for all files, for embeddings; :func:`~mpsn.datasets.molecule_graph`
    describes those of atoms and bonds. That of a ring, which is a chordless cycle, is its size. The
    estimators of :mod:`mpsn.estimators` find the same features in SMILES, and name them.

    Args:
        source: A CSV or TSV file (also ``.gz``), an ``.smi`` file, an SD file, a data frame of
            pandas, or a list of SMILES or of RDKit molecules.
        smiles: Name of the column of SMILES. Defaults to the only one with that word in its name.
        y: Name of the column of the target, or names of several. Defaults to none.
        max_ring: Largest number of atoms of a ring. Defaults to 18.
        strict: Whether to raise an error on a molecule that cannot be read, instead of a warning
            :class:`mpsn.errors.LeftOut`.

    Example:
        >>> molecules = mpsn.read_molecules(["c1ccccc1O", "C"])
        >>> molecules.data[0]
        CellComplex(dim=2, counts=(7, 7, 1), features=(5, 3, 1))
        >>> molecules.data[1].x[0], list(molecules.categories[0])
        (tensor([[6, 8, 4, 0, 0]]), ['element', 'charge', 'hydrogens', 'aromatic', 'chirality'])
    """
    table = read_molecule_table(source, smiles)
    targets = None if y is None else table.numbers(y)
    graphs, rows, left_out = [], [], {}
    for row, item in enumerate(table.molecules):
        molecule = parse_molecule(item)
        if isinstance(molecule, str):
            left_out[row] = molecule
            continue
        label = None if targets is None else targets[row : row + 1]
        graphs.append(_graph(molecule)._replace(y=label))
        rows.append(row)
    if not rows or (strict and left_out):
        raise FileError(f"Expected molecules, got {describe(left_out, len(table.molecules))}.")
    warn_left_out(left_out, len(table.molecules))
    union = ring_complexes(graphs, max_ring).union
    none = torch.zeros(0, 1, dtype=torch.int64)
    size = union.incidence(2).offsets.diff()[:, None] if union.dim > 1 else none
    categories = (ATOMS, BONDS, {"size": max_ring + 1})
    data = ComplexDataset(union.replace(x=[*union.x[:2], size]))
    return Molecules(data, tuple(rows), left_out, categories)


def molecule_graph(item: object) -> Graph:
    """Return atoms and bonds of a molecule, with categories as features.

    Those of atoms are the atomic number, charge + 8, number of hydrogens, whether aromatic, and
    RDKit's ``ChiralType``; those of bonds RDKit's ``BondType``, whether in a ring, and
    ``BondStereo``. Charges and hydrogens beyond 8 count as 8. Needs RDKit.

    Args:
        item: SMILES, or a molecule of RDKit.

    Returns:
        A graph with ``x`` (atoms, 5) and ``edge_attr`` (bonds, 3), int64.

    Example:
        >>> graph = mpsn.datasets.molecule_graph("C[O-]")
        >>> graph.x
        tensor([[6, 8, 3, 0, 0],
                [8, 7, 0, 0, 0]])
    """
    package("rdkit.Chem", "chem", f"read {item!r:.80}, which is no path of a graph file, as SMILES")
    molecule = parse_molecule(item)
    if isinstance(molecule, str):
        raise GraphError(
            f"Expected the path of a graph file, or a molecule as SMILES, got {item!r:.80}: no "
            f"such file, and {molecule}."
        )
    return _graph(molecule)


def category_names(graph: Graph) -> tuple[dict[str, NDArray[Any]], dict[str, NDArray[Any]]]:
    """Return the categories of atoms and of bonds of a molecule by name, and in words.

    Args:
        graph: What :func:`~mpsn.datasets.molecule_graph` returns.

    Returns:
        Columns of atoms, each (atoms,), and of bonds, (bonds,), by name.

    Example:
        >>> atoms, bonds = mpsn.datasets.category_names(mpsn.datasets.molecule_graph("C[O-]"))
        >>> atoms["element"].tolist(), atoms["charge"].tolist(), bonds["bond"].tolist()
        (['C', 'O'], [0, -1], ['SINGLE'])
    """
    assert graph.x is not None
    assert graph.edge_attr is not None
    atoms, bonds = (
        {name: _words()[name][codes] for name, codes in zip(names, table.T.numpy(), strict=True)}
        for names, table in ((ATOMS, graph.x), (BONDS, graph.edge_attr))
    )
    return atoms, bonds


def scaffolds(molecules: Sequence[object]) -> list[str]:
    """Return the scaffolds of Bemis and Murcko: rings, and the chains between them, as SMILES.

    Args:
        molecules: SMILES, or molecules of RDKit.

    Example:
        >>> mpsn.datasets.scaffolds(["OCc1ccccc1", "CCO"])
        ['c1ccccc1', '']
    """
    parsed = [parse_molecule(item) for item in molecules]
    for number, (item, molecule) in enumerate(zip(molecules, parsed, strict=True)):
        if isinstance(molecule, str):
            raise GraphError(f"Expected molecules, got {item!r:.60} at index {number}: {molecule}.")
    find = package("rdkit.Chem.Scaffolds.MurckoScaffold", "chem").MurckoScaffoldSmiles
    return [str(find(mol=molecule)) for molecule in parsed]


def is_molecule(item: object) -> bool:
    """Return whether an object is a molecule of RDKit."""
    return hasattr(item, "GetAtoms")


def parse_molecule(item: Any) -> Any:
    """Return a molecule of RDKit, or, in words, why there is none.

    Args:
        item: SMILES, or a molecule of RDKit.
    """
    chem = package("rdkit.Chem", "chem", "read molecules")
    if is_molecule(item):
        try:
            item.GetRingInfo().NumRings()
        except RuntimeError:
            return "it is not sanitized; call rdkit.Chem.SanitizeMol"
        return item if item.GetNumAtoms() else "it has no atoms"
    if not isinstance(item, str):
        return "there is no SMILES" if item is None or item != item else "it is no SMILES"
    word, *more = item.split(None, 1) or [""]
    if not word:
        return "there is no SMILES"
    why = f"{item.strip()!r:.60} is not valid SMILES"
    if more and more[0][:1] not in ("", "|"):  # RDKit would take other words for a name
        return why
    with chem.rdBase.BlockLogs():
        molecule = chem.MolFromSmiles(item.strip())
        if molecule is not None:
            return molecule if molecule.GetNumAtoms() else "it has no atoms"
        loose = chem.MolFromSmiles(item.strip(), sanitize=False)
        problems = [] if loose is None else chem.DetectChemistryProblems(loose)
    return problems[0].Message() if problems else why


def _graph(molecule: Any) -> Graph:
    atoms = [
        (
            atom.GetAtomicNum(),
            min(max(atom.GetFormalCharge(), -CHARGE), CHARGE) + CHARGE,
            min(atom.GetTotalNumHs(), HYDROGENS),
            atom.GetIsAromatic(),
            int(atom.GetChiralTag()),
        )
        for atom in molecule.GetAtoms()
    ]
    bonds = [
        (
            bond.GetBeginAtomIdx(),
            bond.GetEndAtomIdx(),
            int(bond.GetBondType()),
            bond.IsInRing(),
            int(bond.GetStereo()),
        )
        for bond in molecule.GetBonds()
    ]
    table = torch.tensor(bonds, dtype=torch.int64).reshape(-1, 5)
    return Graph(table.T[:2], len(atoms), torch.tensor(atoms, dtype=torch.int64), table[:, 2:])


@cache
def _words() -> dict[str, NDArray[Any]]:
    """Return the words, or numbers, for the categories of each column of atoms and bonds."""
    chem = package("rdkit.Chem", "chem", "read molecules")
    symbol = chem.GetPeriodicTable().GetElementSymbol
    words: dict[str, Sequence[object]] = {
        "element": [symbol(number) for number in range(ATOMS["element"])],
        "charge": range(-CHARGE, CHARGE + 1),
        "hydrogens": range(HYDROGENS + 1),
        "aromatic": (False, True),
        "in_ring": (False, True),
    }
    enumerations = {"chirality": chem.ChiralType, "bond": chem.BondType, "stereo": chem.BondStereo}
    for name, kind in enumerations.items():
        words[name] = [kind.values[i].name for i in range((ATOMS | BONDS)[name])]
    return {name: np.array(values, dtype=object) for name, values in words.items()}


def describe(left_out: dict[int, str], total: int) -> str:
    """Return in words what is left out."""
    rows = "; ".join(f"row {row}: {why}" for row, why in list(left_out.items())[:3])
    return f"{len(left_out)} of {total} that cannot be used ({rows}{'; ...' * (len(left_out) > 3)})"


def warn_left_out(left_out: dict[int, str], total: int) -> None:
    """Warn about molecules that are left out, if any."""
    if left_out:
        warn(f"Molecules: {describe(left_out, total)}.")
