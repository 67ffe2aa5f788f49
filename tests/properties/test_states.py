"""Complexes through any sequence of operations, beside twins of lists and dense matrices."""

import copy
import pickle
import tempfile
from dataclasses import dataclass
from itertools import combinations, pairwise
from pathlib import Path

import networkx as nx
import numpy as np
import torch
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from scipy.linalg import block_diag

import mpsn
from mpsn.testing import complexes

seeds = st.integers(0, 2**31 - 1)


@dataclass
class Twin:
    """A complex by dimension: signed matrices, features, orientations, vertices of simplices."""

    B: list[np.ndarray]
    x: list[np.ndarray]
    orientation: list[np.ndarray]
    rows: list[list[tuple[int, ...]]] | None

    @classmethod
    def of(cls, K):
        """Take a complex whose cells have their default orientation; signs of simplices by hand."""
        size = max(K.dim, 0) + 1
        rows = None
        if isinstance(K, mpsn.SimplicialComplex):
            rows = [list(map(tuple, K.simplices(k).tolist())) for k in range(size)]
            B = [by_definition(*levels) for levels in pairwise(rows)]
        else:
            B = [K.boundary_matrix(k).to_dense().double().numpy() for k in range(1, size)]
        x = [x.numpy().copy() for x in K.x[:size]]
        return cls(B, x, [np.ones(len(part)) for part in x], rows)

    def flip(self, signs):
        """Turn cells of each dimension by signs ±1."""
        self.B = [a[:, None] * B * b for a, B, b in zip(signs, self.B, signs[1:], strict=False)]
        self.x = [a[:, None] * x for a, x in zip(signs, self.x, strict=True)]
        self.orientation = [a * s for a, s in zip(signs, self.orientation, strict=True)]

    def permute(self, orders):
        """Let new row i be old row order[i]; renumbered simplices turn where their order does."""
        self.B = [B[a][:, b] for a, B, b in zip(orders, self.B, orders[1:], strict=False)]
        self.x = [x[a] for x, a in zip(self.x, orders, strict=True)]
        self.orientation = [s[a] for s, a in zip(self.orientation, orders, strict=True)]
        if self.rows is not None:
            number = {int(old): new for new, old in enumerate(orders[0])}
            named = [[tuple(number[v] for v in self.rows[k][i]) for i in orders[k]]
                     for k in range(len(orders))]  # fmt: skip
            self.rows = [[tuple(sorted(row)) for row in level] for level in named]
            turns = [np.array([sign(row) for row in level]) for level in named]
            self.orientation = [s * t for s, t in zip(self.orientation, turns, strict=True)]


def sign(row):
    """Return the sign of the permutation that sorts a row, by counting inversions."""
    return (-1.0) ** sum(a > b for a, b in combinations(row, 2))


def by_definition(faces, cells):
    """Return the boundary matrix of simplices: the i-th vertex left out has the sign (-1)^i."""
    B = np.zeros((len(faces), len(cells)))
    for column, cell in enumerate(cells):
        for i in range(len(cell)):
            B[faces.index(cell[:i] + cell[i + 1 :]), column] = (-1) ** i
    return B


def joined(twins, name, k):
    """Return the rows of dimension k of all twins together."""
    parts = [getattr(twin, name) for twin in twins]
    return np.concatenate([part[k] for part in parts if k < len(part)])


def matrix(twins, k):
    """Return the matrix B_k of the union of twins."""
    blocks = []
    for twin in twins:
        below = len(twin.x[k - 1]) if k <= len(twin.x) else 0
        blocks.append(twin.B[k - 1] if k < len(twin.x) else np.zeros((below, 0)))
    return block_diag(*blocks)


def numbers(seed, *shape):
    """Return whole numbers, whose sums have no rounding errors."""
    return np.random.default_rng(seed).integers(-9, 10, shape).astype(float)


def full(seed, kind):
    """Return a complex of four or five vertices that has triangles and tetrahedra, as a rule."""
    K = mpsn.clique_complex(nx.gnp_random_graph(4 + seed % 2, 0.8, seed=seed), 3)
    return K if kind == "simplicial" else mpsn.CellComplex.from_complex(K)


class Complexes(RuleBasedStateMachine):
    """A union of complexes; each rule is applied to it and to the twins of its parts."""

    def draw(self, data):
        K = data.draw(
            st.one_of(
                complexes(max_vertices=5, max_dim=3, kind=self.kind),
                *[seeds.map(lambda seed: full(seed, self.kind))] * (self.kind != "cubical"),
            )
        )
        x = [torch.from_numpy(numbers(n, n, 2)) for n in K.counts or (0,)]
        return K.replace(x=x)

    @initialize(
        kind=st.sampled_from(["simplicial", "simplicial", "cell", "cubical"]), data=st.data()
    )
    def begin(self, kind, data):
        self.kind = kind
        self.K = self.draw(data)
        self.twins = [Twin.of(self.K)]

    @invariant()
    def sums_and_their_gradients(self):
        """After each step, so that whatever sums have kept is there when the next one begins."""
        for k in range(1, self.K.dim + 1):
            M = matrix(self.twins, k)
            self.check_sums(k, abs(M), signed=False)
            self.check_sums(k, M, signed=True)

    def check_sums(self, k, M, signed):
        upper, lower = ((G - np.diag(np.diag(G))) for G in (M @ M.T, M.T @ M))
        counts = abs(M) @ abs(M).T, abs(M).T @ abs(M)
        many = {
            "from_faces": abs(M).sum(0),
            "from_cofaces": abs(M).sum(1),
            "upper": counts[0].sum(1) - counts[0].diagonal(),
            "lower": counts[1].sum(1) - counts[1].diagonal(),
        }
        dense = {"from_faces": M.T, "from_cofaces": M, "upper": upper, "lower": lower}
        for name, A in dense.items():
            h = torch.from_numpy(numbers(0, A.shape[1], 2)).requires_grad_()
            g = torch.from_numpy(numbers(1, A.shape[0], 2))
            out = getattr(self.K.incidence(k), name)(h, signed=signed)
            (back,) = torch.autograd.grad(out, h, g)
            np.testing.assert_array_equal(out.detach().numpy(), A @ h.detach().numpy())
            np.testing.assert_array_equal(back.numpy(), A.T @ g.numpy())
            mean = getattr(self.K.incidence(k), name)(h.detach(), signed=signed, reduce="mean")
            expected = A @ h.detach().numpy() / np.maximum(many[name], 1)[:, None]
            np.testing.assert_allclose(mean.numpy(), expected, rtol=1e-12)

    @rule(seed=seeds)
    def flip(self, seed):
        rng = np.random.default_rng(seed)
        masks = [
            [rng.random(len(x)) < 0.5 * (k > 0) for k, x in enumerate(twin.x)]
            for twin in self.twins
        ]
        dims = range(1, self.K.dim + 1)
        every = {k: np.concatenate([part[k] for part in masks if k < len(part)]) for k in dims}
        self.K = self.K.flip({k: torch.from_numpy(mask) for k, mask in every.items()})
        for twin, parts in zip(self.twins, masks, strict=True):
            twin.flip([np.where(part, -1.0, 1.0) for part in parts])

    @rule(seed=seeds)
    def permute_all_cells(self, seed):
        self.permute(seed, start=0)

    @rule(seed=seeds)
    def permute_all_but_vertices(self, seed):
        self.permute(seed, start=1)

    def permute(self, seed, start):
        """Permute the cells of one part from some dimension on."""
        rng = np.random.default_rng(seed)
        at = seed % len(self.twins)
        orders = [np.arange(len(x)) for x in self.twins[at].x]
        given = {k: rng.permutation(order) for k, order in enumerate(orders) if k >= start}
        self.twins[at].permute([given.get(k, order) for k, order in enumerate(orders)])
        parts = self.K.to_list() if len(self.twins) > 1 else [self.K]
        parts[at] = parts[at].permute({k: torch.from_numpy(rows) for k, rows in given.items()})
        self.K = mpsn.collate(parts) if len(parts) > 1 else parts[0]

    @precondition(lambda self: len(self.twins) < 3)
    @rule(data=st.data())
    def collate_with_another(self, data):
        other = self.draw(data)
        self.K = mpsn.collate([self.K, other])
        self.twins = [*self.twins, Twin.of(other)]

    @precondition(lambda self: len(self.twins) > 1)
    @rule(data=st.data())
    def split(self, data):
        at = data.draw(st.integers(0, len(self.twins) - 1))
        self.K, self.twins = self.K.to_list()[at], [self.twins[at]]

    @precondition(lambda self: len(self.twins) > 1)
    @rule(data=st.data())
    def batch(self, data):
        index = data.draw(st.lists(st.integers(0, len(self.twins) - 1), min_size=1, max_size=3))
        self.K = mpsn.ComplexDataset(self.K).batch(index)
        self.twins = [copy.deepcopy(self.twins[i]) for i in index]

    @rule()
    def save_and_load(self):
        with tempfile.TemporaryDirectory() as folder:
            self.K.save(Path(folder) / "union.npz")
            self.K = mpsn.load(Path(folder) / "union.npz")

    @rule()
    def pickle(self):
        self.K = pickle.loads(pickle.dumps(self.K))

    @invariant()
    def same_as_the_twins(self):
        K, twins = self.K, self.twins
        assert K.num_complexes == len(twins)
        for k in range(K.dim + 1):
            np.testing.assert_array_equal(K.x[k].numpy(), joined(twins, "x", k))
            np.testing.assert_array_equal(K.orientation(k), joined(twins, "orientation", k))
        for k in range(1, K.dim + 1):
            B = K.boundary_matrix(k, dtype=torch.float64).to_dense().numpy()
            np.testing.assert_array_equal(B, matrix(twins, k))
        for twin in twins:
            for k, levels in enumerate(pairwise(twin.rows or ()), start=1):
                B = by_definition(*levels)  # the boundary is that of oriented simplices
                turned = twin.orientation[k - 1][:, None] * B * twin.orientation[k]
                np.testing.assert_array_equal(twin.B[k - 1], turned)


TestComplexes = Complexes.TestCase
TestComplexes.settings = settings(max_examples=40, stateful_step_count=10)
