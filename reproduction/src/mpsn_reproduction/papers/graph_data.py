"""Data for predictions on whole complexes: categories as features, targets, and a split."""

import os
from collections.abc import Callable, Sequence, Sized
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from mpsn.complexes import Complex, ComplexDataset
from mpsn.datasets import (
    MoleculeTable,
    find_data,
    parse_molecule,
    read_molecule_table,
    read_molecules,
)
from mpsn.errors import FileError, MissingDataError, MPSNError
from mpsn.training import agree, world_size
from mpsn_reproduction.catalog import find

PARTS = ("train", "val", "test")
CHUNK = 64  # complexes that are read at a time, to find categories

Kinds = list[list[Tensor]]  # the categories in each column of features, per dimension


class GraphData(NamedTuple):
    """Complexes with targets, and a split.

    Attributes:
        complexes: The complexes, with categories (n_k, columns) int64 as features.
        y: Targets (N, T) float32.
        part: 0, 1 or 2 for each complex: for training, validation or testing, (N,) int64.
        molecules: The molecules as SMILES; empty if they are not at hand.
    """

    complexes: ComplexDataset[Any]
    y: Tensor
    part: Tensor
    molecules: Sequence[str] = ()

    @property
    def parts(self) -> dict[str, Tensor]:
        """Positions of each part of the split."""
        return {name: (self.part == i).nonzero()[:, 0] for i, name in enumerate(PARTS)}

    @property
    def encoded(self) -> "ComplexDataset[Any] | Encoded":
        """The complexes with categories one-hot, all zero for those not seen in training."""
        kinds = agree(lambda: find_kinds(self.complexes, self.part == 0))
        if self.complexes.path is not None:
            return Encoded(self.complexes, kinds)
        return ComplexDataset(encode(self.complexes.union, kinds))

    def limited(self, most: int | None) -> Self:
        """Return the data with at most so many complexes in each part."""
        if most is None:
            return self
        kept = torch.cat([part[:most] for part in self.parts.values()]).sort().values
        molecules = [self.molecules[i] for i in kept.tolist()] if self.molecules else ()
        return type(self)(self.complexes[kept], self.y[kept], self.part[kept], molecules)

    def save(self, path: str | Path) -> None:
        """Write complexes, targets and split to one file, which needs no RDKit to be read."""
        y = torch.cat([self.y, self.part[:, None].to(self.y.dtype)], 1)
        self.complexes.union.replace(y=y).save(path)

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read what :meth:`save` wrote; one of several processes only opens it."""
        complexes: ComplexDataset[Any]
        try:
            complexes = ComplexDataset.open(path) if world_size() > 1 else ComplexDataset.load(path)
        except FileError:  # one that is compressed cannot stay where it is
            complexes = ComplexDataset.load(path)
        y = complexes.y
        if y is None or y.dim() != 2 or y.shape[1] < 2 or len(y) != len(complexes):
            raise FileError(f"Expected targets and a split in {path}, got others; pack it again.")
        part = y[:, -1].to(torch.int64)
        if not set(part.tolist()) <= {0, 1, 2}:
            raise FileError(f"Expected parts 0, 1 and 2 in {path}, got others; pack it again.")
        return cls(complexes, y[:, :-1].float(), part)


class Encoded:
    """Complexes of a file, with categories one-hot: each process reads those of its own steps."""

    def __init__(self, complexes: ComplexDataset[Any], kinds: Kinds) -> None:
        self.complexes, self.kinds, self.counts = complexes, kinds, complexes.counts

    def __len__(self) -> int:
        return len(self.complexes)

    def batch(self, index: Tensor | Sequence[int]) -> Complex:
        """Return the union of some complexes."""
        return encode(self.complexes.batch(index), self.kinds)


def find_kinds(dataset: ComplexDataset[Any], chosen: Tensor) -> Kinds:
    """Return the categories of the cells of some complexes (N,), reading a few at a time."""
    kinds: Kinds = []
    for index in torch.split(chosen.nonzero()[:, 0], CHUNK):
        x = [x.T for x in dataset.batch(index).x if x is not None]
        kinds = kinds or [[column[:0] for column in columns] for columns in x]
        kinds = [
            [torch.unique(torch.cat(pair)) for pair in zip(own, columns, strict=True)]
            for own, columns in zip(kinds, x, strict=True)
        ]
    return kinds


def encode(K: Complex, kinds: Kinds) -> Complex:
    """Return complexes with categories (n_k, columns) one-hot, (n_k, kinds); zero for others."""
    dims = [k for k, x in enumerate(K.x) if x is not None]
    x = list(K.x)
    for k, columns in zip(dims, kinds, strict=True):
        pairs = zip(K.x[k].T, columns, strict=True)  # type: ignore[union-attr]
        x[k] = torch.cat([column[:, None] == own for column, own in pairs], 1).float()
    return K.replace(x=x)


def molecules(
    name: str,
    target: str,
    split: Callable[[Path, MoleculeTable], Sequence[str]],
    folder: Path | None,
    max_ring: int,
) -> GraphData:
    """Read the molecules DIR/NAME.csv, or what :meth:`GraphData.save` wrote to DIR/NAME.npz.

    ``split`` returns, from the path and the table, the part of each row: train, val or test. Rings
    of up to ``max_ring`` atoms become cells.
    """
    packed, path = (find_data(f"{name}.{end}", folder) for end in ("npz", "csv"))
    if packed is not None:
        return GraphData.load(packed)
    if path is None:
        raise MissingDataError(
            f"Expected a table of molecules at DIR/{name}.csv, or a packed file DIR/{name}.npz, "
            f"found none; pass --data DIR, or set MPSN_DATA."
        )
    table = read_molecule_table(path)
    parts = torch.tensor([PARTS.index(part) for part in split(path, table)])
    found = read_molecules(path, y=target, max_ring=max_ring)
    assert found.data.y is not None
    rows = torch.tensor(found.rows)
    smiles = [table.molecules[row] for row in found.rows]
    return GraphData(found.data, found.data.y.float()[:, None], parts[rows], smiles)


def listed_parts(path: Path, rows: Sized, name: str) -> list[str]:
    """Return the part of each row of a file, from lists of row numbers beside it: NAME_train.txt.

    Args:
        path: The file.
        rows: Its rows.
        name: What the names of the lists begin with.
    """
    parts = [""] * len(rows)
    for part in PARTS:
        listed = path.with_name(f"{name}_{part}.txt")
        try:
            for row in map(int, listed.read_text(encoding="utf-8").split()):
                parts[row] = part
        except (OSError, ValueError, IndexError) as error:
            raise FileError(f"Expected row numbers in {listed}, got {error!s:.200}.") from error
    if "" in parts:
        raise FileError(
            f"Expected each row of {path} in a part, got row {parts.index('')} in none."
        )
    return parts


def pack(
    name: str,
    path: str | os.PathLike[str],
    *,
    dataset: str = "",
    data: str | os.PathLike[str] | None = None,
) -> None:
    """Write the complexes, targets and split of an experiment on molecules to one ``.npz`` file.

    Put in place of the CSV file it was made from, the experiment needs no RDKit.

    Args:
        name: The experiment: zinc, molhiv or moleculenet.
        path: The file to write.
        dataset: ESOL or FreeSolv, for moleculenet.
        data: The user's folder of data sets. Defaults to the environment variable ``MPSN_DATA``.
    """
    find(name).read(dataset, None if data is None else Path(data)).save(path)


def fingerprints(smiles: Sequence[str], radius: int, bits: int) -> NDArray[np.uint8]:
    """Return Morgan fingerprints, (molecules, bits)."""
    if not smiles:
        raise MPSNError(
            "Expected molecules as SMILES for fingerprints, got a packed file; remove the .npz "
            "file from DIR, so that the .csv is read."
        )
    molecules = [parse_molecule(one) for one in smiles]
    from rdkit.Chem.rdFingerprintGenerator import GetMorganGenerator

    make = GetMorganGenerator(radius=radius, fpSize=bits)
    return np.stack([make.GetFingerprintAsNumPy(molecule) for molecule in molecules])
