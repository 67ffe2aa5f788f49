"""Checks that layers and models respect the symmetries of a complex."""

import copy
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, Literal, TypedDict, Unpack

import networkx as nx
import torch
from torch import Tensor

from mpsn.complexes import CellComplex, CubicalComplex, Incidence, SimplicialComplex
from mpsn.complexes.complex import Complex
from mpsn.errors import LayerError
from mpsn.lifting import clique_complex, cubical_complex, ring_complex

Layer = Callable[[Any, Any], Any]
Kind = Literal["simplicial", "cell", "cubical"]
Change = dict[int, Tensor]  # per dimension: an order of the cells, or which ones to flip


class Options(TypedDict, total=False):
    """How the layer is called, and on what; see :func:`assert_permutation_equivariant`."""

    in_channels: int | None
    dim: int | None
    max_dim: int | None
    kind: Kind
    seed: int


def assert_permutation_equivariant(
    layer: Layer, complexes: Sequence[Complex] | None = None, **options: Unpack[Options]
) -> None:
    r"""Assert permutation equivariance, :math:`f(PH, PBP^\top) = P f(H, B)` (Theorem 13).

    The layer is called as ``layer(K, xs)`` with one tensor (n_k, F) per dimension, or as
    ``layer(K, h)`` if it acts on one dimension. A module is tested as a float64 copy in eval mode.

    Args:
        layer: The layer: a module or a function.
        complexes: The complexes to test it on. Defaults to small ones, simplest first.
        in_channels: Width F. Defaults to ``layer.in_channels``.
        dim: The one dimension it acts on. Defaults to ``layer.dim``, if it has one.
        max_dim: Largest dimension it takes. Defaults to ``layer.max_dim``, or else to the dimension
            of the complex.
        kind: The kind of the small complexes, ``"simplicial"``, ``"cell"`` or ``"cubical"``.
            Defaults to ``"simplicial"``.
        seed: Seed of features and permutations.

    Raises:
        AssertionError: With the complex, how it was changed, and the first wrong row.

    Example:
        >>> from mpsn.testing import assert_permutation_equivariant
        >>> assert_permutation_equivariant(mpsn.nn.SINConv(4, 4, max_dim=2))
    """
    _Trial(layer, **options).permute(complexes, "f(PH, PBPᵀ) = P f(H, B)")


def assert_permutation_invariant(
    model: Layer, complexes: Sequence[Complex] | None = None, **options: Unpack[Options]
) -> None:
    r"""Assert permutation invariance, :math:`f(PH, PBP^\top) = f(H, B)`.

    Arguments and errors as for :func:`assert_permutation_equivariant`; the model may return one
    tensor.

    Example:
        >>> from mpsn.testing import assert_permutation_invariant
        >>> assert_permutation_invariant(lambda K, h: h.sum(0), in_channels=2, dim=1)
    """
    _Trial(model, **options).permute(complexes, "f(PH, PBPᵀ) = f(H, B)", invariant=True)


def assert_orientation_equivariant(
    layer: Layer, complexes: Sequence[Complex] | None = None, **options: Unpack[Options]
) -> None:
    r"""Assert orientation equivariance, :math:`f(TH, TBT) = T f(H, B)` (Theorem 14).

    Arguments and errors as for :func:`assert_permutation_equivariant`.

    Example:
        >>> from mpsn.testing import assert_orientation_equivariant
        >>> assert_orientation_equivariant(mpsn.nn.OrientedConv(4, 4, act="tanh"))
    """
    _Trial(layer, **options).flip(complexes, "f(TH, TBT) = T f(H, B)")


def assert_orientation_invariant(
    model: Layer, complexes: Sequence[Complex] | None = None, **options: Unpack[Options]
) -> None:
    r"""Assert orientation invariance, :math:`f(TH, TBT) = f(H, B)`.

    Arguments and errors as for :func:`assert_permutation_equivariant`; the model may return one
    tensor.

    Example:
        >>> from mpsn.testing import assert_orientation_invariant
        >>> assert_orientation_invariant(lambda K, h: h.abs().sum(0), in_channels=2, dim=1)
    """
    _Trial(model, **options).flip(complexes, "f(TH, TBT) = f(H, B)", invariant=True)


class _Trial:
    """A layer, how to call it, and how to report what went wrong."""

    def __init__(
        self,
        layer: Layer,
        in_channels: int | None = None,
        dim: int | None = None,
        max_dim: int | None = None,
        kind: Kind = "simplicial",
        seed: int = 0,
    ) -> None:
        width = getattr(layer, "in_channels", None) if in_channels is None else in_channels
        if not isinstance(width, int):
            raise LayerError(
                "Expected in_channels, the width of the input, got none; the layer has no such "
                "attribute, so pass it."
            )
        self.width = width
        self.dim = getattr(layer, "dim", None) if dim is None else dim
        self.max_dim = getattr(layer, "max_dim", None) if max_dim is None else max_dim
        self.layer, self.kind = layer, kind
        if isinstance(layer, torch.nn.Module):
            self.layer = copy.deepcopy(layer).double().eval()
        self.generator = torch.Generator().manual_seed(seed)

    def complexes(self, complexes: Sequence[Complex] | None) -> Sequence[Complex]:
        """Return the complexes to test the layer on."""
        if complexes is not None and not complexes:
            raise LayerError("Expected complexes to try the layer on, got none.")
        return complexes or _small_complexes(max(self.dim or 0, self.max_dim or 0), self.kind)

    def permute(
        self, complexes: Sequence[Complex] | None, law: str, invariant: bool = False
    ) -> None:
        """Compare the layer on complexes and on their permutations."""
        for K in self.complexes(complexes):
            order = {k: _permutation(n, self.generator) for k, n in enumerate(K.counts)}
            self.compare(K, K.permute(order), "order", order, law, invariant)

    def flip(self, complexes: Sequence[Complex] | None, law: str, invariant: bool = False) -> None:
        """Compare the layer on complexes and with some of their cells flipped."""
        for K in self.complexes(complexes):
            flips = _flips(K, self.generator)
            self.compare(K, K.flip(flips), "flips", flips, law, invariant)

    def compare(
        self,
        K: Complex,
        changed: Complex,
        what: Literal["order", "flips"],
        change: Change,
        law: str,
        invariant: bool,
    ) -> None:
        """Compare the layer on a changed complex with its changed (or invariant) output."""
        move = _permuted if what == "order" else _flipped
        top = max(K.dim if self.max_dim is None else self.max_dim, self.dim or 0)
        xs = [
            torch.randn(K.count(k), self.width, generator=self.generator, dtype=torch.float64)
            for k in range(top + 1)
        ]
        got = self._call(changed, [move(x, k, change) for k, x in enumerate(xs)])
        for (k, y), (_, right) in zip(got, self._call(K, xs), strict=True):
            if not invariant:
                if right.dim() == 0 or len(right) != K.count(k):
                    raise AssertionError(
                        f"Expected one row for each of the {K.count(k)} {k}-cells of {K!r}, "
                        f"got {tuple(right.shape)}."
                    )
                right = move(right, k, change)
            difference = f"output {k} has shape {tuple(y.shape)}, not {tuple(right.shape)}"
            if right.shape == y.shape:
                y, right = (t if t.dim() > 1 else t.reshape(1, -1) for t in (y, right))
                close = torch.isclose(y, right, rtol=1e-8, atol=1e-8).flatten(1).all(1)
                if bool(close.all()):
                    continue
                row = int((~close).nonzero()[0])
                difference = (
                    f"row {row} of output {k} is {y[row].tolist()}, not {right[row].tolist()}"
                )
            shown = [x.tolist() for x in (xs if self.dim is None else [xs[self.dim]])]
            raise AssertionError(
                f"Expected {law}, but it fails on\n"
                f"    K = {_code(K)}\n"
                f"    {what} = { {d: t.tolist() for d, t in change.items()} }\n"
                f"    features = {shown}\n"
                f"where {difference}."
            )

    def _call(self, K: Complex, xs: list[Tensor]) -> list[tuple[int, Tensor]]:
        """Return the outputs with their dimensions."""
        xs = [x.clone() for x in xs]  # which the layer may overwrite
        with torch.no_grad():
            out = self.layer(K, xs if self.dim is None else xs[self.dim])
        outputs = enumerate([out] if isinstance(out, Tensor) else out)
        return [(k if self.dim is None else self.dim, y) for k, y in outputs]


def _permutation(n: int, generator: torch.Generator) -> Tensor:
    """Return a permutation that is not the identity, if there is one."""
    order = torch.randperm(n, generator=generator)
    return order.roll(1) if torch.equal(order, torch.arange(n)) else order


def _permuted(x: Tensor, k: int, order: Change) -> Tensor:
    return x[order[k]] if k in order else x


def _flips(K: Complex, generator: torch.Generator) -> Change:
    flips = {k: torch.rand(K.count(k), generator=generator) < 0.5 for k in range(1, K.dim + 1)}
    for flip in flips.values():
        flip[0] = True  # at least one
    return flips


def _flipped(x: Tensor, k: int, flips: Change) -> Tensor:
    if k not in flips:
        return x
    return torch.where(flips[k].view(-1, *(1,) * (x.dim() - 1)), -x, x)


def _code(K: Complex) -> str:
    """Return code that builds the complex, with its rows, signs and features."""
    if K.num_complexes != 1:
        return f"mpsn.collate([{', '.join(map(_code, K.to_list()))}])"
    flips = {k: K.orientation(k) < 0 for k in range(1, K.dim + 1)}
    bare = K.bare().flip(flips)  # in the default orientation
    incidences = [bare.incidence(k) for k in flips]
    rows = [_rows(B, B.face) for B in incidences]
    signs = [_rows(B, B.signs) for B in incidences]
    code = f"mpsn.CellComplex.from_boundaries({K.num_nodes}, {rows}, {signs})"
    if isinstance(K, CubicalComplex):
        code = f"mpsn.CubicalComplex({K.num_nodes}, {rows})"
    if isinstance(K, SimplicialComplex):
        simplices = K.to_simplices()
        code = f"SimplicialComplex.from_simplices({simplices})"
        if bare != SimplicialComplex.from_simplices(simplices):
            code = f"SimplicialComplex({K.num_nodes}, {rows})"
    if any(bool(flip.any()) for flip in flips.values()):
        masks = ", ".join(f"{k}: torch.tensor({flip.tolist()})" for k, flip in flips.items())
        code += f".flip({{{masks}}})"
    if any(x is not None for x in K.x):
        xs = (x if x is None else f"torch.tensor({x.tolist()}, dtype={x.dtype})" for x in K.x)
        code += f".replace(x=[{', '.join(map(str, xs))}])"
    return code


def _rows(B: Incidence, entries: Tensor) -> list[list[int]]:
    return [entries[start:end].tolist() for start, end in pairwise(B.offsets.tolist())]


def _small_complexes(dim: int, kind: Kind) -> Sequence[Complex]:
    """Return small complexes, simplest first, so that counterexamples are readable.

    The last but one has several cells of dimension ``dim`` and one above.
    """
    if kind == "cubical":
        shapes = [(1,), (3,), (1, 1), (1, 2), (2, 2, 1), (1,) * (dim + 1)]
        grids = [cubical_complex(torch.ones(shape)).bare() for shape in shapes]
        ring = torch.arange(9).view(3, 3) != 4
        hole = cubical_complex(torch.ones(3, 3), mask=ring).bare()
        return [CubicalComplex(0), CubicalComplex(2), *grids, hole]
    build = SimplicialComplex.from_simplices
    simplicial = [
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
    if kind == "simplicial":
        return simplicial
    tail = [[0, 1], [1, 2], [2, 3], [3, 4], [4, 0], [4, 5]]
    theta = [[0, 1], [1, 2], [2, 3], [3, 0], [0, 4], [4, 2]]  # three squares, each pair shares two
    polygons = CellComplex.from_boundaries
    return [
        *map(CellComplex.from_complex, simplicial[:4]),
        polygons(6, [tail, [[0, 1, 2, 3, 4]]]),
        polygons(5, [theta, [[0, 1, 2, 3], [2, 3, 4, 5], [4, 5, 1, 0]]]),
        *map(CellComplex.from_complex, simplicial[6:8]),
        ring_complex(nx.gnp_random_graph(9, 0.4, seed=1), max_ring=6, max_dim=None),
    ]
