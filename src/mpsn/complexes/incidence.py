"""Who is a face of whom: the face tables read by column, and their signs."""

from typing import TYPE_CHECKING

import numba
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from mpsn.complexes.tracing import watched

if TYPE_CHECKING:
    from mpsn.complexes.complex import SimplicialComplex


def incidence_signs(K: "SimplicialComplex", k: int) -> Tensor:
    """Return the sign of every entry of the face table of dimension k, (n_k, k+1) int8.

    This is (-1)^i in column i for the canonical orientation (Definition 3 of the paper), times the
    signs of the simplex and of its face.
    """
    table = K.faces(k)
    columns = torch.ones(table.shape[1], dtype=torch.int8, device=K.device)
    columns[1::2] = -1
    signs = columns.expand(table.shape)
    if k and k <= K.dim:
        above, below = K._signs[k], K._signs[k - 1]
        signs = signs if above is None else signs * above[:, None]
        signs = signs if below is None else signs * below[table]
    return signs


def degrees(K: "SimplicialComplex", k: int) -> Tensor:
    """Return the number of co-faces of each k-simplex, (n_k,) int64."""
    return torch.bincount(K.faces(k + 1).reshape(-1), minlength=K.count(k))


def grouped(index: Tensor, n: int) -> tuple[Tensor, Tensor]:
    """Group the positions of an index by its values, in linear time on the CPU.

    The values of a face table (m, w), read flat, are faces: so this lists the co-faces of every
    simplex, position p standing for simplex ``p // w``.

    Args:
        index: Integers 0, ..., n - 1, of any shape; read flat.
        n: Number of groups.

    Returns:
        Positions grouped by value, ascending within a group; and offsets (n + 1,) of the groups.

    Example:
        >>> mpsn.complexes.grouped(torch.tensor([1, 0, 1]), 3)
        (tensor([1, 0, 2]), tensor([0, 1, 3, 3]))
    """
    index = index.reshape(-1)
    if index.device.type == "cpu" and not watched(index):
        positions, offsets = _count_sort(index.numpy(), n)
        return torch.from_numpy(positions), torch.from_numpy(offsets)
    ptr = torch.nn.functional.pad(torch.bincount(index, minlength=n).cumsum(0), (1, 0))
    return torch.sort(index, stable=True).indices, ptr


@numba.njit(cache=True)
def _count_sort(index: NDArray[np.int64], n: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    ptr = np.zeros(n + 1, np.int64)
    for i in index:
        ptr[i + 1] += 1
    for i in range(n):
        ptr[i + 1] += ptr[i]
    at = ptr[:-1].copy()
    order = np.empty(index.size, np.int64)
    for position in range(index.size):
        i = index[position]
        order[at[i]] = position
        at[i] += 1
    return order, ptr
