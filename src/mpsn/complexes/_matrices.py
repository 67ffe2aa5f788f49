"""The sparse matrices behind the sums over an incidence."""

import warnings
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from mpsn._rows.sparse import LeaveOneOut, SparseRows
from mpsn.complexes import _plain

if TYPE_CHECKING:
    from mpsn.complexes.incidence import Incidence


def matrix_of(B: "Incidence", name: str, signed: bool) -> SparseRows | LeaveOneOut:
    """Return the matrix that computes a sum, named after the method of the incidence."""
    sign, n, nnz = B.signs if signed else None, len(B), len(B.face)
    entries = (torch.arange(nnz, device=B.face.device), B.offsets)
    if name in ("from_faces", "from_cofaces", "gather"):
        ptr = None if name == "gather" else B.offsets
        faces = SparseRows(B.face, ptr, B.count, sign, lambda: B.cofaces)
        return faces.T if name == "from_cofaces" else faces
    if name == "spread":
        return SparseRows(B.cell, None, n, None, lambda: entries)
    if name == "upper":
        return LeaveOneOut(entries, B.cofaces, B.face, B.count, sign, B.width).symmetric()
    if name == "lower":
        return LeaveOneOut(B.cofaces, entries, B.cell, n, sign).symmetric()
    if name == "upper_messages":
        return LeaveOneOut(entries, B.cofaces, entries[0], nnz, sign, B.width)
    return LeaveOneOut(B.cofaces, entries, entries[0], nnz, sign)


def senders(B: "Incidence", name: str) -> Tensor:
    """Return the number of senders of each receiver, the divisors of a mean."""
    if name == "from_cofaces":
        return B.degree
    sizes = B.offsets.diff()
    if name == "from_faces":
        return sizes
    if name.startswith("upper"):
        return _plain.from_cofaces(B, sizes - 1, signed=False)
    return _plain.from_faces(B, B.degree - 1, signed=False)


def coo(index: Tensor, values: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Return a coalesced sparse COO matrix from entries sorted by row."""
    with warnings.catch_warnings():  # torch 2.11 warns even if check_invariants is given
        warnings.filterwarnings("ignore", "Sparse invariant checks are implicitly disabled")
        return torch.sparse_coo_tensor(
            index, values, shape, check_invariants=False, is_coalesced=True
        )
