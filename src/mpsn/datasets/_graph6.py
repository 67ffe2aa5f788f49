"""graph6 and sparse6: a graph on each line, in printable characters of six bits each."""

from collections.abc import Callable, Iterator
from typing import IO

import numpy as np
import torch
from numpy.typing import NDArray

from mpsn._files.limits import Limit
from mpsn._rows.compiled import compiled
from mpsn.convert import Graph
from mpsn.errors import GraphError


def read_graph6(file: IO[bytes], limit: Limit) -> Iterator[Graph]:
    """Yield the graphs of a graph6 file."""
    for line in _lines(file, b">>graph6<<"):
        n, values = _split(line)
        pairs = n * (n - 1) // 2
        if len(values) != (pairs + 5) // 6:
            raise GraphError(f"expected {pairs} bits for {n} vertices, got {6 * len(values)}")
        yield _graph(n, values, limit, _graph6)


def read_sparse6(file: IO[bytes], limit: Limit) -> Iterator[Graph]:
    """Yield the graphs of a sparse6 file."""
    for line in _lines(file, b">>sparse6<<"):
        if not line.startswith(b":"):
            raise GraphError(f"expected a line that begins with a colon, got {line[:20]!r}")
        n, values = _split(line[1:])
        yield _graph(n, values, limit, _sparse6)


def _lines(file: IO[bytes], header: bytes) -> Iterator[bytes]:
    for line in file:
        if rest := line.strip().removeprefix(header):
            yield rest


def _split(line: bytes) -> tuple[int, NDArray[np.uint8]]:
    """Split a line into the number of vertices and values of six bits, one per character."""
    values = np.frombuffer(line, np.uint8) - 63
    start, size = (2, 6) if line.startswith(b"~~") else (1, 3) if line.startswith(b"~") else (0, 1)
    if len(values) < start + size or values.max() > 63:
        raise GraphError(f"expected a size and edges in characters from ? to ~, got {line[:20]!r}")
    n = 0
    for digit in values[start : start + size].tolist():
        n = n << 6 | digit
    return n, values[start + size :]


def _graph(
    n: int, values: NDArray[np.uint8], limit: Limit, decode: Callable[..., tuple[int, int]]
) -> Graph:
    """Count the edges, then write them."""
    count, rest = decode(values, n, np.empty((2, 0), np.int64))
    if rest > 5:
        raise GraphError(f"expected at most 5 bits after the last edge, got {rest}; it is cut off")
    limit.check(16 * count, f"{count:,} edges")
    ends = np.empty((2, count), np.int64)
    decode(values, n, ends)
    return Graph(torch.from_numpy(ends), n)


@compiled
def _graph6(values: NDArray[np.uint8], n: int, ends: NDArray[np.int64]) -> tuple[int, int]:
    """Write the edges, or only count them if there is no room; bits are ordered by j, then i."""
    count, bit = 0, 0
    for j in range(1, n):
        for i in range(j):
            if values[bit // 6] >> (5 - bit % 6) & 1:
                if ends.shape[1]:
                    ends[0, count], ends[1, count] = i, j
                count += 1
            bit += 1
    return count, 0


@compiled
def _sparse6(values: NDArray[np.uint8], n: int, ends: NDArray[np.int64]) -> tuple[int, int]:
    """Write the edges, or only count them; return their number and that of the bits after them.

    Padding is at most five bits. More of them, or others than ones, are the rest of something cut.
    """
    width, bits = 1, 6 * values.size
    while 1 << width < n:
        width += 1
    count, bit, v = 0, 0, 0
    while bit + width < bits:
        v += values[bit // 6] >> (5 - bit % 6) & 1
        end = 0
        for p in range(bit + 1, bit + width + 1):
            end = end << 1 | (values[p // 6] >> (5 - p % 6) & 1)
        if end >= n or v >= n:
            break
        if end > v:
            v = end
        else:
            if ends.shape[1]:
                ends[0, count], ends[1, count] = end, v
            count += 1
        bit += width + 1
    rest = bits - bit
    if n > 1:
        for p in range(bit + 1, bits):  # the first may be 0 where ones would be an edge
            if not values[p // 6] >> (5 - p % 6) & 1:
                rest = max(rest, 6)
    return count, rest if n > 1 else 0
