"""Bounds on the number of linear regions of a layer: the paper's closed forms, as exact integers.

A layer x ↦ relu(W x) cuts its input space along the hyperplanes W_i x = 0, which all contain the
origin: a *central* arrangement. ``affine=True`` gives the bounds for layers with biases.
"""

from collections.abc import Sequence
from itertools import combinations
from math import comb, prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mpsn._rows.checks import as_int
from mpsn.errors import MPSNError
from mpsn.regions._arrangement import count


def dense(inputs: int, outputs: int, affine: bool = False) -> int:
    r"""Return the largest number of regions of ``outputs`` hyperplanes in ``inputs`` dimensions.

    :math:`2 \sum_{j<N} \binom{M-1}{j}` through the origin, else
    :math:`\sum_{j \le N} \binom{M}{j}`; both are attained in general position (Zaslavsky;
    Theorem 29 of the paper).

    Example:
        >>> mpsn.regions.bounds.dense(2, 3), mpsn.regions.bounds.dense(2, 3, affine=True)
        (6, 7)
    """
    inputs, outputs = as_int(inputs, "inputs"), as_int(outputs, "outputs")
    if affine:
        return sum(comb(outputs, j) for j in range(inputs + 1))
    if outputs == 0 or inputs == 0:
        return 1
    return 2 * sum(comb(outputs - 1, j) for j in range(inputs))


def gnn(vertices: int, inputs: int, outputs: int, affine: bool = False) -> int:
    r"""Return the optimal bound for a GNN layer, :math:`(2 \sum_{i<d} \binom{m-1}{i})^{S_0}`.

    Theorem 15 of the paper, for an invertible aggregation.

    Example:
        >>> mpsn.regions.bounds.gnn(3, inputs=1, outputs=3)
        8
    """
    return scnn([vertices], [inputs], [outputs], affine)


def scnn(
    counts: Sequence[int],
    inputs: int | Sequence[int],
    outputs: int | Sequence[int],
    affine: bool = False,
) -> int:
    r"""Return the optimal bound for an SCNN layer, a product over the dimensions of the complex.

    Theorem 16: :math:`\prod_n (2 \sum_{i<d_n} \binom{m_n-1}{i})^{S_n}`, if all M_n are invertible.

    Args:
        counts: Number of simplices per dimension, S_n.
        inputs: Width of the input per dimension, d_n, or one number for all.
        outputs: Width of the output per dimension, m_n, or one number for all.
        affine: Whether the layer has biases.

    Example:
        >>> mpsn.regions.bounds.scnn((3, 3, 1), inputs=1, outputs=3)
        128
    """
    S = _sizes("counts", counts)
    d, m = _per_dimension(S, "inputs", inputs), _per_dimension(S, "outputs", outputs)
    return prod(dense(d[n], m[n], affine) ** S[n] for n in range(len(S)))


def mpsn_upper(
    counts: Sequence[int], inputs: int | Sequence[int], outputs: int, affine: bool = False
) -> int:
    r"""Return the first upper bound of Theorem 19 for an MPSN layer, where dimensions interact.

    :math:`\prod_n (2 \sum_{i < d_{n-1}+d_n+d_{n+1}} \binom{m-1}{i})^{S_n}`.

    Example:
        >>> mpsn.regions.bounds.mpsn_upper((3, 3, 1), inputs=1, outputs=3)
        663552
    """
    S = _sizes("counts", counts)
    d = [0, *_per_dimension(S, "inputs", inputs), 0]
    return prod(dense(d[n] + d[n + 1] + d[n + 2], outputs, affine) ** S[n] for n in range(len(S)))


def mpsn_trivial(
    counts: Sequence[int], inputs: int | Sequence[int], outputs: int, affine: bool = False
) -> int:
    r"""Return the "trivial" upper bound for an MPSN layer, that of a dense layer of its size.

    :math:`2 \sum_{j<N} \binom{M-1}{j}` with :math:`N = \sum_n S_n d_n` and
    :math:`M = \sum_n S_n m`.

    Example:
        >>> mpsn.regions.bounds.mpsn_trivial((3, 3, 1), inputs=1, outputs=3)
        120920
    """
    S = _sizes("counts", counts)
    d, m = _per_dimension(S, "inputs", inputs), as_int(outputs, "outputs")
    return dense(sum(s * w for s, w in zip(S, d, strict=True)), sum(S) * m, affine)


def mpsn_lower(
    own: Sequence[ArrayLike], above: Sequence[ArrayLike], inputs: int | Sequence[int], outputs: int
) -> int:
    r"""Return the lower bound of Theorem 19, R_MPSN ≥ R_SCNN, for outputs H_0, ..., H_{p-1}.

    The conditions are checked: :math:`d_{n+1} \ge d_n`, and
    :math:`\operatorname{rank} (O_n)_{C:} \ge \operatorname{rank} (M_n)_{C:}` for any rows C. The
    latter holds exactly if the rows of every basis of M_n are independent in O_n.

    Args:
        own: Matrices M_0, ..., M_{p-1}, each (S_n, S_n).
        above: Matrices O_0, ..., O_{p-1}, each (S_n, S_{n+1}).
        inputs: Widths d_0, ..., d_p, or one number for all.
        outputs: Width m.
    """
    M, O = [np.asarray(a, float) for a in own], [np.asarray(a, float) for a in above]  # noqa: E741
    d, m = _per_dimension([0] * (len(M) + 1), "inputs", inputs), as_int(outputs, "outputs")
    for n in range(len(M)):
        if d[n + 1] < d[n]:
            raise MPSNError(
                f"Expected d_{n + 1} >= d_{n} for the lower bound, got {d[n + 1]} < {d[n]}."
            )
        if not _dominates(O[n], M[n]):
            raise MPSNError(
                f"Expected rank (O_{n})_C >= rank (M_{n})_C for all rows C, got some C where it "
                f"is smaller; the bound does not apply to this complex."
            )
    total = 1  # M_n need not be invertible, so regions are counted
    for n, matrix in enumerate(M):
        weights = np.random.default_rng(n).standard_normal((d[n], m))
        total *= count(np.kron(weights.T, matrix))
    return total


def _dominates(strong: NDArray[np.float64], weak: NDArray[np.float64]) -> bool:
    rank = int(np.linalg.matrix_rank(weak))
    subsets = map(list, combinations(range(len(weak)), rank))
    bases = (rows for rows in subsets if np.linalg.matrix_rank(weak[rows]) == rank)
    return all(np.linalg.matrix_rank(strong[rows]) >= rank for rows in bases)


def _per_dimension(counts: list[int], name: str, width: Any) -> list[int]:
    one = isinstance(width, (int, np.integer))
    widths = _sizes(name, [width] * len(counts) if one else width)
    if len(widths) != len(counts):
        raise MPSNError(
            f"Expected one width per dimension ({len(counts)}), got {len(widths)}: {widths}."
        )
    return widths


def _sizes(name: str, values: Any) -> list[int]:
    try:
        values = list(values)
    except TypeError:
        raise MPSNError(f"Expected integers {name} >= 0, got {values!r}.") from None
    return [as_int(value, f"{name}[{n}]") for n, value in enumerate(values)]
