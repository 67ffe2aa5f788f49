"""Scaffolds of molecules, and splits that keep them together."""

from collections.abc import Sequence
from typing import Any

from mpsn.datasets._molecules import parse_molecule
from mpsn.errors import GraphError


def scaffold(item: object, number: int = 0) -> str:
    """Return the scaffold of Bemis and Murcko: rings, and the chains between them, as SMILES."""
    molecule = parse_molecule(item)
    if isinstance(molecule, str):
        raise GraphError(f"Expected molecules, got {item!r:.60} at index {number}: {molecule}.")
    from rdkit.Chem.Scaffolds import MurckoScaffold

    find: Any = MurckoScaffold.MurckoScaffoldSmiles
    return str(find(mol=molecule))


def scaffold_split(molecules: Sequence[object]) -> list[str]:
    """Return the part of each molecule: train for about 80 %, val and test for about 10 % each.

    Scaffolds are taken by the number of their molecules, the most frequent first, as MoleculeNet
    does: each goes to the first part that has room for it.

    Example:
        >>> from mpsn.datasets._scaffolds import scaffold_split
        >>> scaffold_split(["C1CC1", *["c1ccccc1"] * 8, "C1CCC1"])
        ['val', 'train', 'train', 'train', 'train', 'train', 'train', 'train', 'train', 'test']
    """
    groups: dict[str, list[int]] = {}
    for i, molecule in enumerate(molecules):
        groups.setdefault(scaffold(molecule, i), []).append(i)
    parts = ["test"] * len(molecules)
    room = {"train": 0.8 * len(molecules), "val": 0.1 * len(molecules)}
    for group in sorted(groups.values(), key=len, reverse=True):
        part = next((name for name, left in room.items() if len(group) <= left + 1e-9), "test")
        for i in group:
            parts[i] = part
        if part in room:
            room[part] -= len(group)
    return parts
