"""SIN's layer on colors in double precision on a CPU, compiled: half the time of torch's parts."""

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numba
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from mpsn.nn.conv import CINConv

if TYPE_CHECKING:
    from mpsn_reproduction.engines.by_color import Part

Array = NDArray[np.float64]
Index = NDArray[np.int64]
ROWS = 512  # computed at a time, so that they stay in the cache of a core
THREADED = 1 << 18  # products of so many numbers are divided among threads by BLAS
LOG2_E = 1 / math.log(2)
# ln 2 in two parts, the first of so few digits that its multiples are exact
LN2_HIGH, LN2_LOW = 0.6931471803691238, 1.9082149292705877e-10
TO_INTEGER = 1.5 * 2.0**52  # adding and subtracting it rounds to an integer
LEAST = -40.0  # where e^x - 1 is -1 in double precision
TAYLOR = tuple(1 / math.factorial(i) for i in range(13, 1, -1))
compiled = numba.njit(cache=True, nogil=True, fastmath={"contract"})


@compiled
def elu(x: Array) -> None:
    """Replace x <= 0 by e^x - 1, with an error of at most two units in the last place.

    With x = n ln 2 + r it is 2^n (e^r - 1) + (2^n - 1), and e^r - 1 is a Taylor series. There are
    no branches, so that the compiler computes several numbers at a time.
    """
    for i in range(x.size):
        v = x[i]
        w = min(max(v, LEAST), 0.0)
        n = (w * LOG2_E + TO_INTEGER) - TO_INTEGER
        r = (w - n * LN2_HIGH) - n * LN2_LOW
        series = 0.0
        for term in TAYLOR:
            series = series * r + term
        power = np.int64((np.int64(n) + 1023) << 52).view(np.float64)  # 2^n, by its bits
        below = power * (series * r * r + r) + (power - 1.0)
        x[i] = v if v > 0.0 else below


@compiled
def _dense(x: Array, weight: Array, bias: Array, out: Array) -> Array:
    np.dot(x, weight, out)
    out += bias
    elu(out.reshape(-1))
    return out


@compiled
def _project(x: Array, weight: Array, bias: Array) -> Array:
    out = np.empty((len(x), weight.shape[1]))
    for a in range(0, len(x), ROWS):
        np.dot(x[a : a + ROWS], weight, out[a : a + ROWS])
    out += bias
    return out


@compiled
def _messages(p: Array, q: Array, faces: Index, own: Index) -> Array:
    """Return ELU(p_τ + q_δ) for all faces τ of all colors δ, (m (k+2), F)."""
    n, width = len(own), p.shape[1]
    size = len(faces) // max(n, 1)
    out = np.empty((len(faces), width))
    for a in range(0, n, ROWS):
        end = min(a + ROWS, n)
        for i in range(a, end):
            of_coface = q[own[i]]
            for j in range(i * size, (i + 1) * size):
                of_face, row = p[faces[j]], out[j]
                for f in range(width):
                    row[f] = of_face[f] + of_coface[f]
        elu(out[a * size : end * size].reshape(-1))
    return out


@compiled
def _update(
    h: Array,
    own: Index,
    lower: Array,
    faces: Index,
    table: Array,
    entries: Index,
    ptr: Index,
    scale: tuple[float, float],
    weights: tuple[Array, ...],
    biases: tuple[Array, ...],
) -> Array:
    """Return MLP_U(MLP_B(·) ‖ MLP_↑(·)) of the sums over faces and messages, (m, G)."""
    n, width, size = len(own), len(biases[0]), len(faces) // max(len(own), 1)
    out = np.empty((n, width))
    sums = np.empty((2, ROWS, h.shape[1]))
    space = np.empty((3, ROWS, width))
    for a in range(0, n, ROWS):
        m = min(ROWS, n - a)
        low, up = sums[0, :m], sums[1, :m]
        for i in range(m):
            c = a + i
            row, one, two = h[own[c]], low[i], up[i]
            for f in range(len(row)):
                one[f] = scale[0] * row[f]
                two[f] = scale[1] * row[f]
            for j in range(c * size, (c + 1) * size):
                row = lower[faces[j]]
                for f in range(len(row)):
                    one[f] += row[f]
            for j in range(ptr[c], ptr[c + 1]):
                row = table[entries[j]]
                for f in range(len(row)):
                    two[f] += row[f]
        x, y, z, rows = space[0, :m], space[1, :m], space[2, :m], out[a : a + m]
        _dense(_dense(low, weights[0], biases[0], x), weights[1], biases[1], y)
        _dense(_dense(up, weights[2], biases[2], x), weights[3], biases[3], z)
        np.dot(y, weights[4], x)
        np.dot(z, weights[5], rows)
        rows += x + biases[4]
        elu(rows.reshape(-1))
    return out


def color_layer(conv: CINConv) -> "Callable[[Sequence[Part], list[Tensor]], list[Tensor]] | None":
    """Return a function that applies a layer to colors, or None for a layer that does not fit.

    It has to be on a CPU, in double precision, narrow, with ELU, without batch normalization, and
    with messages that depend on the co-face.
    """
    first: Any = conv.mlp_boundary[0]
    narrow = ROWS * first[0].weight.shape[0] ** 2 < THREADED
    doubles = first[0].weight.is_cpu and first[0].weight.dtype == torch.float64
    plain = len(first) == 4  # two dense layers, each with its ELU
    elus = isinstance(conv.act, torch.nn.ELU) and conv.act.alpha == 1
    if not (doubles and narrow and plain and elus and conv.message):
        return None

    def apply(parts: "Sequence[Part]", hs: list[Tensor]) -> list[Tensor]:
        xs, out = [h.numpy() for h in hs], []
        for k, part in enumerate(parts):
            own, faces, entries, ptr = (t.numpy() for t in part)
            table = xs[k]
            if k + 1 < len(parts):
                above = parts[k + 1]
                message: Any = conv.message[k]
                to_p, to_q = _split(message)
                bias = message.bias.numpy()
                p, q = _project(xs[k], to_p, 0 * bias), _project(xs[k + 1], to_q, bias)
                table = _messages(p, q, above.faces.numpy(), above.own.numpy())
            low, up, both = _mlps(conv, k)
            dense = [low[0], low[2], up[0], up[2]]
            weights = (*map(_weight, dense), *_split(both[0]))
            biases = tuple(one.bias.numpy() for one in (*dense, both[0]))
            one = torch.ones((), dtype=torch.float64)
            scale = (float(conv.own(k, one, 0)), float(conv.own(k, one, 1)))
            below = xs[max(k - 1, 0)]
            rows = _update(xs[k], own, below, faces, table, entries, ptr, scale, weights, biases)
            out.append(torch.from_numpy(rows))
        return out

    return apply


def _mlps(conv: CINConv, k: int) -> list[Any]:
    return [conv.mlp_boundary[k], conv.mlp_upper[k], conv.mlp_update[k]]


def _weight(dense: torch.nn.Linear) -> Array:
    return dense.weight.numpy().T.copy()


def _split(dense: torch.nn.Linear) -> tuple[Array, Array]:
    """Return the weights of the two halves of a concatenation, (F, G) each."""
    both = _weight(dense)
    half = len(both) // 2
    return both[:half], both[half:]
