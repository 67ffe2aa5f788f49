"""Molecules: SMILES, SD files and RDKit's own, as graphs and as ring complexes."""

import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import networkx as nx
import torch

from mpsn.complexes import CellComplex, ComplexDataset
from mpsn.complexes._graphs import Graph
from mpsn.datasets._molecule_files import load_rdkit, read_table
from mpsn.errors import FileError, GraphError, LeftOut
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
    Categories are the same for all files, for embeddings. Of atoms: atomic number, charge + 8,
    number of hydrogens, whether aromatic, RDKit's ``ChiralType``; of bonds: RDKit's ``BondType``,
    whether in a ring, ``BondStereo``; of rings, which are the chordless cycles: the size.

    Args:
        source: A CSV or TSV file (also ``.gz``), an ``.smi`` file, an SD file, a data frame of
            pandas, or a list of SMILES or of RDKit molecules.
        smiles: Name of the column of SMILES. Defaults to the only one with that word in its name.
        y: Name of the column of the target, or names of several. Defaults to none.
        max_ring: Largest number of atoms of a ring. Defaults to 18.
        strict: Whether to raise an error on a molecule that cannot be read, instead of a warning
            :class:`mpsn.errors.LeftOut`.

    Example:
        >>> found = mpsn.read_molecules(["c1ccccc1O", "C"])
        >>> found.data[0]
        CellComplex(dim=2, counts=(7, 7, 1), features=(5, 3, 1))
        >>> found.data[1].x[0], list(found.categories[0])
        (tensor([[6, 8, 4, 0, 0]]), ['element', 'charge', 'hydrogens', 'aromatic', 'chirality'])
    """
    table = read_table(source, smiles)
    targets = None if y is None else table.numbers(y)
    graphs, rows, left_out = [], [], {}
    for row, item in enumerate(table.molecules):
        molecule = parse_molecule(item)
        if isinstance(molecule, str):
            left_out[row] = molecule
            continue
        atoms, bonds = (torch.tensor(part, dtype=torch.int64) for part in _parts(molecule))
        ends, kinds = bonds.reshape(-1, 5).T[:2], bonds.reshape(-1, 5)[:, 2:]
        label = None if targets is None else targets[row : row + 1]
        graphs.append(Graph(ends, len(atoms), atoms, kinds, label))
        rows.append(row)
    if not rows or (strict and left_out):
        raise FileError(f"Expected molecules, got {describe(left_out, len(table.molecules))}.")
    warn(left_out, len(table.molecules))
    union = ring_complexes(graphs, max_ring).union
    atom, bond, *_ = union.x
    assert atom is not None
    atom[:, 1] = atom[:, 1].clamp(-CHARGE, CHARGE) + CHARGE
    atom[:, 2] = atom[:, 2].clamp(max=HYDROGENS)
    none = torch.zeros(0, 1, dtype=torch.int64)
    size = union.incidence(2).offsets.diff()[:, None] if union.dim > 1 else none
    categories = (ATOMS, BONDS, {"size": max_ring + 1})
    return Molecules(
        ComplexDataset(union.replace(x=[atom, bond, size])), tuple(rows), left_out, categories
    )


def is_molecule(item: object) -> bool:
    """Return whether an object is a molecule of RDKit."""
    return hasattr(item, "GetAtoms")


def molecule_graph(item: object) -> "nx.Graph[int]":
    """Return the graph of a molecule, given as SMILES or RDKit's, with words as attributes."""
    chem = load_rdkit(f"read {item!r:.80}, which is no path of a graph file, as SMILES")
    molecule = parse_molecule(item)
    if isinstance(molecule, str):
        raise GraphError(
            f"Expected the path of a graph file, or a molecule as SMILES, got {item!r:.80}: no "
            f"such file, and {molecule}."
        )
    atoms, bonds = _parts(molecule)
    symbol = chem.GetPeriodicTable().GetElementSymbol
    words = {"chirality": chem.ChiralType, "bond": chem.BondType, "stereo": chem.BondStereo}
    words = {name: kind.values for name, kind in words.items()}
    graph: nx.Graph[int] = nx.Graph()
    for i, (element, *values, chirality) in enumerate(atoms):
        named = (symbol(element), *values, words["chirality"][chirality].name)
        graph.add_node(i, **dict(zip(ATOMS, named, strict=True)))
    for u, v, kind, ring, stereo in bonds:
        named = (words["bond"][kind].name, ring, words["stereo"][stereo].name)
        graph.add_edge(u, v, **dict(zip(BONDS, named, strict=True)))
    return graph


def parse_molecule(item: Any) -> Any:
    """Return a molecule of RDKit, or, in words, why there is none."""
    chem = load_rdkit()
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
        found = chem.MolFromSmiles(item.strip())
        if found is not None:
            return found if found.GetNumAtoms() else "it has no atoms"
        loose = chem.MolFromSmiles(item.strip(), sanitize=False)
        problems = [] if loose is None else chem.DetectChemistryProblems(loose)
    return problems[0].Message() if problems else why


def _parts(molecule: Any) -> tuple[list[Any], list[Any]]:
    """Return the numbers of each atom, and the ends and numbers of each bond."""
    atoms = [
        (
            atom.GetAtomicNum(),
            atom.GetFormalCharge(),
            atom.GetTotalNumHs(),
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
    return atoms, bonds


def describe(left_out: dict[int, str], total: int) -> str:
    """Return in words what is left out."""
    some = "; ".join(f"row {row}: {why}" for row, why in list(left_out.items())[:3])
    return f"{len(left_out)} of {total} that cannot be used ({some}{'; ...' * (len(left_out) > 3)})"


def warn(left_out: dict[int, str], total: int) -> None:
    """Warn about molecules that are left out, if any."""
    if left_out:
        warnings.warn(f"Molecules: {describe(left_out, total)}.", LeftOut, stacklevel=3)
