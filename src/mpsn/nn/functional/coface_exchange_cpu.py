"""Activated messages on the CPU in single precision: compiled loops, which store no message."""

import numba
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from mpsn.nn.functional.cofaces import check_entries

Array = NDArray[np.float32]

BLOCK = 64  # co-faces at a time, for the fastest cache
THREADS = 3  # from more threads of torch on, its own operations are faster than one loop

ZERO, HALF, ONE, LOWEST = np.float32(0), np.float32(0.5), np.float32(1), np.float32(-20)
LOG2E = np.float32(1.4426950408889634)
LN2, LN2_REST = np.float32(0.693359375), np.float32(-2.12194440e-4)
C2, C3, C4 = np.float32(1 / 2), np.float32(1 / 6), np.float32(1 / 24)
C5, C6, C7 = np.float32(1 / 120), np.float32(1 / 720), np.float32(1 / 5040)


@numba.njit(cache=True, nogil=True, fastmath={"contract"})
def _expm1(x: np.float32) -> np.float32:
    """Return e^x - 1 of min(x, 0), for x = n log 2 + r as 2^n (e^r - 1) + (2^n - 1)."""
    y = max(min(x, ZERO), LOWEST)
    n = np.floor(y * LOG2E + HALF)
    r = y - n * LN2 - n * LN2_REST
    s = C7
    s = s * r + C6
    s = s * r + C5
    s = s * r + C4
    s = s * r + C3
    s = s * r + C2
    s = s * r * r + r
    power = np.int32((np.int32(n) + np.int32(127)) << np.int32(23)).view(np.float32)
    return power * s + (power - ONE)  # type: ignore[no-any-return]


@numba.njit(cache=True, nogil=True, fastmath={"contract"})
def _values(x: Array, elu: bool) -> None:
    """Replace every entry by its ELU or ReLU; what is not a number stays so."""
    if elu:
        for i in range(x.size):
            e = _expm1(x[i])
            x[i] = e if x[i] <= ZERO else x[i]
    else:
        for i in range(x.size):
            x[i] = ZERO if x[i] <= ZERO else x[i]


@numba.njit(cache=True, nogil=True, fastmath={"contract"})
def _slopes(x: Array, elu: bool) -> None:
    """Replace every entry by the derivative of ELU or ReLU there."""
    if elu:
        for i in range(x.size):
            e = _expm1(x[i]) + ONE
            x[i] = e if x[i] <= ZERO else ONE
    else:
        for i in range(x.size):
            x[i] = ZERO if x[i] <= ZERO else ONE


@numba.njit(cache=True, nogil=True)
def _meet(p: Array, q: Array, faces: NDArray[np.int64], start: int, block: Array) -> None:
    """Write p_τ + q_δ for the faces τ of some co-faces δ from ``start`` on."""
    for i in range(block.shape[0]):
        for c in range(block.shape[1]):
            face = faces[start + i, c]
            for f in range(block.shape[2]):
                block[i, c, f] = p[face, f] + q[start + i, f]


@numba.njit(cache=True, nogil=True)
def _sums(p: Array, q: Array, faces: NDArray[np.int64], elu: bool, out: Array) -> None:
    n, columns = faces.shape
    messages = np.empty((BLOCK, columns, p.shape[1]), p.dtype)
    for start in range(0, n, BLOCK):
        block = messages[: min(BLOCK, n - start)]
        _meet(p, q, faces, start, block)
        _values(block.reshape(-1), elu)
        for i in range(block.shape[0]):
            for c in range(columns):
                face = faces[start + i, c]
                for d in range(columns):
                    if d != c:
                        for f in range(p.shape[1]):
                            out[face, f] += block[i, d, f]


@numba.njit(cache=True, nogil=True)
def _gradients(
    p: Array,
    q: Array,
    faces: NDArray[np.int64],
    elu: bool,
    grad: Array,
    grad_p: Array,
    grad_q: Array,
) -> None:
    n, columns = faces.shape
    slopes = np.empty((BLOCK, columns, p.shape[1]), p.dtype)
    heard = np.empty(p.shape[1], p.dtype)
    for start in range(0, n, BLOCK):
        block = slopes[: min(BLOCK, n - start)]
        _meet(p, q, faces, start, block)
        _slopes(block.reshape(-1), elu)
        for i in range(block.shape[0]):
            for c in range(columns):
                heard[:] = ZERO
                for d in range(columns):
                    if d != c:
                        face = faces[start + i, d]
                        for f in range(p.shape[1]):
                            heard[f] += grad[face, f]
                face = faces[start + i, c]
                for f in range(p.shape[1]):
                    value = heard[f] * block[i, c, f]
                    grad_p[face, f] += value
                    grad_q[start + i, f] += value


def serve(h: Tensor, kind: str) -> bool:
    """Tell whether the loops may be used."""
    return (
        h.is_cpu
        and h.dtype == torch.float32
        and kind in ("elu", "relu")
        and not torch.is_autocast_enabled("cpu")
        and torch.get_num_threads() <= THREADS
    )


def sums(p: Tensor, q: Tensor, faces: Tensor, kind: str) -> Tensor:
    """Return for every σ the sum of a(p_τ + q_{σ∪τ}), (n_k, ..., G), with a of a known kind."""
    if len(faces):
        check_entries(faces, len(p))
    out = torch.zeros_like(p, memory_format=torch.contiguous_format)
    _sums(_rows(p), _rows(q), faces.numpy(), kind == "elu", _rows(out))
    return out


def gradients(p: Tensor, q: Tensor, faces: Tensor, grad: Tensor, kind: str) -> list[Tensor]:
    """Return the gradients for p and q, given that for the sums."""
    outs = [torch.zeros_like(t, memory_format=torch.contiguous_format) for t in (p, q)]
    _gradients(
        _rows(p), _rows(q), faces.numpy(), kind == "elu", _rows(grad), *(_rows(t) for t in outs)
    )
    return outs


def _rows(h: Tensor) -> Array:
    return h.detach().contiguous().flatten(1).numpy()
