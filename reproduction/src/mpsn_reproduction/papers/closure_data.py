"""Triples of vertices that may become triangles: candidates, labels, and fixed scores of them."""

from collections.abc import Iterator
from itertools import combinations
from typing import Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from mpsn.complexes import SimplicialComplex
from mpsn.lifting import clique_complex
from mpsn_reproduction.papers.coauthor_data import Coauthors
from mpsn_reproduction.papers.temporal_data import TemporalSimplices

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Score = Literal[
    "minimum", "arithmetic", "geometric", "harmonic", "common", "jaccard", "adamic-adar"
]
CITED = 7  # triangles with more citations are positive
PARTS = 5  # of the positive training triangles


class Batch(NamedTuple):
    """Triples (N, 3) of vertices of a complex with weights, and which of them are triangles, (N,).

    ``K.x`` holds weights, those for scores in the first column. The complex has the edges of the
    triples.
    """

    K: SimplicialComplex
    triples: Ints
    y: NDArray[np.bool_]


class Split(NamedTuple):
    """What to train on, to choose by, and to test on; ``overlapping`` has what others test on."""

    train: list[Batch]
    valid: Batch
    test: Batch
    overlapping: Batch | None = None


def coauthor_split(data: Coauthors, fold: int) -> Split:
    """Split the triangles of the co-author complex 80/10/10, positive and negative ones alike.

    The complex has all vertices and edges, and the positive training triangles. To train on a
    part of these, it is left out of the complex, for else the network would find the answer there.
    """
    K, rng = data.complex.skeleton(2), np.random.default_rng(fold)
    y = (K.x[2][:, 0] > CITED).numpy()  # type: ignore[index]
    ids: list[list[Ints]] = [[], [], []]
    for label in (True, False):
        order = rng.permutation(np.flatnonzero(y == label))
        for part, some in zip(ids, np.split(order, _ends(len(order))), strict=True):
            part.append(some)
    (positive, negative), valid, test = ids[0], np.concatenate(ids[1]), np.concatenate(ids[2])
    rows = K.simplices(2).numpy()

    def batch(known: Ints, asked: Ints) -> Batch:
        return Batch(_with_triangles(K, rows[np.sort(known)]), rows[asked], y[asked])

    parts = zip(np.array_split(positive, PARTS), np.array_split(negative, PARTS), strict=True)
    train = [batch(np.setdiff1d(positive, p), np.concatenate([p, n])) for p, n in parts]
    both = np.concatenate([valid, test])
    return Split(train, *(batch(positive, asked) for asked in (valid, test, both)))


def _ends(n: int) -> list[int]:
    return [round(0.8 * n), round(0.9 * n)]


def _with_triangles(K: SimplicialComplex, triangles: Ints) -> SimplicialComplex:
    """Return the 1-skeleton with features and some triangles, whose feature is zero."""
    edges = K.simplices(1).tolist()
    out = SimplicialComplex.from_simplices([*edges, *triangles.tolist()], K.num_nodes)
    return out.replace(x=[*K.x[:2], torch.zeros(len(triangles), 1)])


def temporal_split(data: TemporalSimplices) -> Split:
    """Ask which open triangles of the first 80 % of the simplices close in the rest.

    The same is asked in earlier fifths: to train on at 20 % and 40 %, and to choose by at 60 %.
    """
    first, second, valid, test = (_period(data, share) for share in (0.2, 0.4, 0.6, 0.8))
    return Split([first, second], valid, test)


def _period(data: TemporalSimplices, share: float) -> Batch:
    """Return the open triangles of the first simplices, and which close in the next fifth.

    Weights are the number of simplices, and of those in the last fifth, that contain a cell.
    """
    number, n = len(data.times), int(data.index.max()) + 1
    last, now, then = (data.times[_at(s, number)] for s in (share - 0.2, share, share + 0.2))
    before, times = data.times <= now, data.times
    cells, x = [], []
    for k in range(3):
        faces, counts = _faces(data, before, k)
        new, recent = _faces(data, before & (times > last) if share > 0.2 else before, k)
        weights = np.zeros((n, 2) if k == 0 else (len(faces), 2))
        place = faces[:, 0] if k == 0 else np.arange(len(faces))
        weights[place, 0] = counts
        weights[place[np.searchsorted(_code(faces, n), _code(new, n))], 1] = recent
        cells.append(faces)
        x.append(torch.tensor(weights, dtype=torch.float32))
    K = SimplicialComplex.from_simplices([*cells[1].tolist(), *cells[2].tolist()], n).replace(x=x)
    rows = clique_complex((K.simplices(1).T, n)).simplices(2).numpy()
    triples = rows[~np.isin(_code(rows, n), _code(cells[2], n))]
    closing = _faces(data, (times > now) & (times <= then), 2)[0]
    return Batch(K, triples, np.isin(_code(triples, n), _code(closing, n)))


def _at(share: float, number: int) -> int:
    """Return the number of the last simplex of a share of them."""
    return max(0, round(share * number) - 1)


def _code(rows: Ints, n: int) -> Ints:
    out: Ints = rows @ n ** np.arange(rows.shape[1])[::-1]
    return out


def _faces(data: TemporalSimplices, which: NDArray[np.bool_], k: int) -> tuple[Ints, Ints]:
    """Return the k-faces of some of the simplices, and in how many of these each one is."""
    found = [np.zeros((0, k + 1), dtype=np.int64)]
    sizes = np.diff(data.ptr)
    for size in np.unique(sizes[which]):
        rows = data.ptr[:-1][which & (sizes == size)]
        table = np.sort(data.index[rows[:, None] + np.arange(size)], axis=1)  # (n, size)
        found += [table[:, list(columns)] for columns in combinations(range(size), k + 1)]
    rows = np.concatenate(found)
    rows = rows[(np.diff(rows, axis=1) > 0).all(axis=1)]  # a vertex may be listed twice
    faces, counts = np.unique(rows, axis=0, return_counts=True)
    return faces, counts


def edges_of(batch: Batch) -> Ints:
    """Return the numbers of the three edges of each triple, (N, 3)."""
    n = batch.K.num_nodes
    codes = _code(batch.K.simplices(1).numpy(), n)
    pairs = (batch.triples[:, list(pair)] for pair in combinations(range(3), 2))
    return np.stack([np.searchsorted(codes, _code(pair, n)) for pair in pairs], axis=1)


def scores(batch: Batch) -> dict[Score, Floats]:
    """Return scores (N,) that need no training: means of the weights of edges, common neighbors.

    Neighbors are those by edges: of all three vertices in common, as a share of the neighbors of
    any (Jaccard), and summed with one over the logarithm of their degrees (Adamic-Adar).
    """
    K, triples = batch.K, batch.triples
    weights = K.x[1].numpy().astype(np.float64)[edges_of(batch), 0]  # type: ignore[union-attr]
    ends = K.simplices(1).numpy()
    both = np.concatenate([ends, ends[:, ::-1]])
    A = csr_matrix((np.ones(len(both)), both.T), shape=(K.num_nodes,) * 2)
    one, two, three = (A[column] for column in triples.T)
    common = one.multiply(two).multiply(three).tocsr()
    degree = np.asarray(A.sum(axis=1)).ravel()
    shared = _sums(common)
    pairs = sum(_sums(a.multiply(b)) for a, b in combinations((one, two, three), 2))
    union = degree[triples].sum(axis=1) - pairs + shared
    rare = 1 / np.log(np.maximum(degree, 2))
    return {
        "minimum": weights.min(axis=1),
        "arithmetic": weights.mean(axis=1),
        "geometric": np.exp(np.log(weights).mean(axis=1)),
        "harmonic": 3 / (1 / weights).sum(axis=1),
        "common": shared,
        "jaccard": shared / union,
        "adamic-adar": common @ rare,
    }


def _sums(matrix: csr_matrix) -> Floats:
    return np.asarray(matrix.sum(axis=1)).ravel()


def features(batch: Batch) -> Floats:
    """Return what a logistic regression reads, (N, F): logarithms, and Jaccard's share.

    All weights of the edges and of the vertices, degrees, and numbers of triangles at the edges,
    each in ascending order, and the scores.
    """
    K, edges = batch.K, edges_of(batch)
    at_vertex, at_edge = (
        np.concatenate([K.x[k].numpy(), K.incidence(k + 1).degree[:, None].numpy()], axis=1)  # type: ignore[union-attr]
        for k in (0, 1)
    )
    values = [np.sort(at_edge[edges], axis=1), np.sort(at_vertex[batch.triples], axis=1)]
    found = np.stack(list(_logs(scores(batch))), axis=1)
    return np.concatenate([*(np.log1p(v).reshape(len(v), -1) for v in values), found], axis=1)


def _logs(found: dict[Score, Floats]) -> Iterator[Floats]:
    for name, values in found.items():
        yield values if name == "jaccard" else np.log1p(values)
