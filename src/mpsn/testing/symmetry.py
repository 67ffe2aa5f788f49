"""Checks of the two symmetries of a complex, for layers and models of anyone's making."""

import copy
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import networkx as nx
import torch
from torch import Tensor

from mpsn.complexes import SimplicialComplex
from mpsn.errors import LayerError
from mpsn.lifting import clique_complex

Layer = Callable[[SimplicialComplex, Any], Any]


def assert_permutation_equivariant(
    layer: Layer,
    complexes: Sequence[SimplicialComplex] | None = None,
    *,
    in_channels: int | None = None,
    dim: int | None = None,
    max_dim: int | None = None,
    seed: int = 0,
) -> None:
    r"""Fail unless :math:`f(PH, PBP^\top) = P f(H, B)` (Theorem 13 of the paper).

    The layer is called as ``layer(K, xs)`` with one tensor (n_k, F) per dimension, or, where it
    lives on one dimension, as ``layer(K, h)``. A module is tried as a float64 copy in eval mode.

    Args:
        layer: The layer: a module or a function.
        complexes: Where to try it; small ones, simplest first, unless given.
        in_channels: Width F; ``layer.in_channels`` unless given.
        dim: The one dimension it lives on; ``layer.dim`` unless given, if it has one.
        max_dim: Largest dimension it takes; ``layer.max_dim`` unless given, else that of the
            complex.
        seed: Seed of features and permutations.

    Raises:
        AssertionError: With the complex, the permutation and the row that went wrong.

    Example:
        >>> from mpsn.testing import assert_permutation_equivariant
        >>> assert_permutation_equivariant(mpsn.nn.SINConv(4, 4, max_dim=2))
    """
    trial = _Trial(layer, in_channels, dim, max_dim, seed)
    for K in trial.where(complexes):
        order = {k: _permutation(n, trial.generator) for k, n in enumerate(K.counts)}
        xs = trial.features(K)
        moved = [x[order[k]] if k in order else x for k, x in enumerate(xs)]
        got = trial.call(K.permute(order), moved)
        expected = [y[order[k]] if k in order else y for k, y in trial.pairs(K, trial.call(K, xs))]
        trial.compare(K, expected, got, "f(PH, PBPᵀ) = P f(H, B)", "order", order, xs)


def assert_orientation_equivariant(
    layer: Layer,
    complexes: Sequence[SimplicialComplex] | None = None,
    *,
    in_channels: int | None = None,
    dim: int | None = None,
    max_dim: int | None = None,
    seed: int = 0,
) -> None:
    r"""Fail unless :math:`f(TH, TBT) = T f(H, B)` (Theorem 14 of the paper).

    Arguments as for :func:`assert_permutation_equivariant`.

    Raises:
        AssertionError: With the complex, the flips and the row that went wrong.

    Example:
        >>> from mpsn.testing import assert_orientation_equivariant
        >>> assert_orientation_equivariant(mpsn.nn.OrientedConv(4, 4, act="tanh"))
    """
    trial = _Trial(layer, in_channels, dim, max_dim, seed)
    for K in trial.where(complexes):
        xs, turns, flipped = trial.flip(K)
        got = trial.call(K.flip(turns), flipped)
        expected = [_turn(y, k, turns) for k, y in trial.pairs(K, trial.call(K, xs))]
        trial.compare(K, expected, got, "f(TH, TBT) = T f(H, B)", "flips", turns, xs)


def assert_orientation_invariant(
    model: Layer,
    complexes: Sequence[SimplicialComplex] | None = None,
    *,
    in_channels: int | None = None,
    dim: int | None = None,
    max_dim: int | None = None,
    seed: int = 0,
) -> None:
    r"""Fail unless :math:`f(TH, TBT) = f(H, B)`.

    Arguments as for :func:`assert_permutation_equivariant`; the model may return one tensor.

    Raises:
        AssertionError: With the complex, the flips and the row that went wrong.

    Example:
        >>> from mpsn.testing import assert_orientation_invariant
        >>> assert_orientation_invariant(lambda K, h: h.abs().sum(0), in_channels=2, dim=1)
    """
    trial = _Trial(model, in_channels, dim, max_dim, seed)
    for K in trial.where(complexes):
        xs, turns, flipped = trial.flip(K)
        got, expected = trial.call(K.flip(turns), flipped), trial.call(K, xs)
        trial.compare(K, expected, got, "f(TH, TBT) = f(H, B)", "flips", turns, xs)


class _Trial:
    """A layer, how to call it, and how to say what went wrong."""

    def __init__(
        self,
        layer: Layer,
        in_channels: int | None,
        dim: int | None,
        max_dim: int | None,
        seed: int,
    ) -> None:
        width = getattr(layer, "in_channels", None) if in_channels is None else in_channels
        if not isinstance(width, int):
            raise LayerError(
                "Expected in_channels, the width of the input, got none; the layer does not tell, "
                "so pass it."
            )
        self.width = width
        self.dim = getattr(layer, "dim", None) if dim is None else dim
        self.max_dim = getattr(layer, "max_dim", None) if max_dim is None else max_dim
        self.layer = layer
        if isinstance(layer, torch.nn.Module):
            self.layer = copy.deepcopy(layer).double().eval()
        self.generator = torch.Generator().manual_seed(seed)

    def where(self, complexes: Sequence[SimplicialComplex] | None) -> Sequence[SimplicialComplex]:
        """Return the complexes to try the layer on."""
        if complexes is None:
            return _witnesses(max(self.dim or 0, self.max_dim or 0))
        if not complexes:
            raise LayerError("Expected complexes to try the layer on, got none.")
        return complexes

    def features(self, K: SimplicialComplex) -> list[Tensor]:
        top = max(K.dim if self.max_dim is None else self.max_dim, self.dim or 0)
        return [
            torch.randn(K.count(k), self.width, generator=self.generator, dtype=torch.float64)
            for k in range(top + 1)
        ]

    def flip(self, K: SimplicialComplex) -> tuple[list[Tensor], dict[int, Tensor], list[Tensor]]:
        turns = {
            k: torch.rand(K.count(k), generator=self.generator) < 0.5 for k in range(1, K.dim + 1)
        }
        for turn in turns.values():
            turn[0] = True  # some at least
        xs = self.features(K)
        return xs, turns, [_turn(x, k, turns) for k, x in enumerate(xs)]

    def call(self, K: SimplicialComplex, xs: list[Tensor]) -> list[Tensor]:
        xs = [x.clone() for x in xs]  # which the layer may overwrite
        with torch.no_grad():
            out = self.layer(K, xs if self.dim is None else xs[self.dim])
        return [out] if isinstance(out, Tensor) else list(out)

    def pairs(self, K: SimplicialComplex, out: list[Tensor]) -> Iterator[tuple[int, Tensor]]:
        """Go through outputs with their dimension; they must have one row per simplex."""
        for k, y in enumerate(out):
            k = k if self.dim is None else self.dim
            if y.dim() == 0 or y.shape[0] != K.count(k):
                raise AssertionError(
                    f"Expected one row for each of the {K.count(k)} {k}-simplices of {K!r}, "
                    f"got {tuple(y.shape)}."
                )
            yield k, y

    def compare(
        self,
        K: SimplicialComplex,
        expected: list[Tensor],
        got: list[Tensor],
        law: str,
        what: str,
        change: dict[int, Tensor],
        xs: list[Tensor],
    ) -> None:
        for i, (right, y) in enumerate(zip(expected, got, strict=True)):
            if right.shape == y.shape and torch.allclose(y, right, rtol=1e-8, atol=1e-8):
                continue
            k = i if self.dim is None else self.dim
            where = f"output {k} has shape {tuple(y.shape)}, not {tuple(right.shape)}"
            if right.shape == y.shape:
                row, got_row, right_row = _first_difference(y, right)
                where = f"row {row} of output {k} is {got_row}, not {right_row}"
            shown = [x.tolist() for x in (xs if self.dim is None else [xs[self.dim]])]
            raise AssertionError(
                f"Expected {law}, but it fails on\n"
                f"    K = {_code(K)}\n"
                f"    {what} = { {d: t.tolist() for d, t in change.items()} }\n"
                f"    features = {shown}\n"
                f"where {where}."
            )


def _first_difference(y: Tensor, right: Tensor) -> tuple[int, list[float], list[float]]:
    if y.dim() < 2:
        y, right = y.reshape(1, -1), right.reshape(1, -1)
    close = torch.isclose(y, right, rtol=1e-8, atol=1e-8).flatten(1).all(1)
    row = int((~close).nonzero()[0])
    return row, y[row].tolist(), right[row].tolist()


def _turn(x: Tensor, k: int, turns: dict[int, Tensor]) -> Tensor:
    if k not in turns:
        return x
    return torch.where(turns[k].view(-1, *(1,) * (x.dim() - 1)), -x, x)


def _permutation(n: int, generator: torch.Generator) -> Tensor:
    """Return a permutation, not the identity if there is another."""
    order = torch.randperm(n, generator=generator)
    return order.roll(1) if torch.equal(order, torch.arange(n)) else order


def _code(K: SimplicialComplex) -> str:
    """Return code that makes the complex, row by row and sign by sign, with its features."""
    if K.num_complexes != 1:
        return f"mpsn.collate([{', '.join(map(_code, K.to_list()))}])"
    simplices = K.to_simplices()
    tables = [K.faces(k) for k in range(1, K.dim + 1)]
    signs = [K.orientation(k) for k in range(K.dim + 1)]
    bare = SimplicialComplex(K.num_nodes, tables, orientation=signs)
    code = f"SimplicialComplex.from_simplices({simplices})"
    if bare != SimplicialComplex.from_simplices(simplices):
        turned = ", ".join(
            f"{k}: torch.tensor({(s < 0).tolist()})" for k, s in enumerate(signs) if k
        )
        code = f"SimplicialComplex({K.num_nodes}, {[table.tolist() for table in tables]})"
        code += f".flip({{{turned}}})"
    if any(x is not None for x in K.x):
        xs = ", ".join(
            "None" if x is None else f"torch.tensor({x.tolist()}, dtype={x.dtype})" for x in K.x
        )
        code += f".replace(x=[{xs}])"
    return code


def _witnesses(dim: int) -> list[SimplicialComplex]:
    """Small complexes, simplest first, so that the first to fail makes a readable example.

    The last but one has several simplices of dimension ``dim`` and one above.
    """
    build = SimplicialComplex.from_simplices
    return [
        build([], 0),
        build([], 2),
        build([[0, 1]]),
        build([[0, 1], [1, 2]], 4),
        build([[0, 1, 2]]),
        build([[0, 1, 2], [1, 2, 3], [3, 4]], 6),
        build([[0, 1, 2, 3], [2, 3, 4], [4, 5]]),
        build([range(dim + 2)]),
        clique_complex(nx.gnp_random_graph(9, 0.6, seed=1), max_dim=None),
    ]
