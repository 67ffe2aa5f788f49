"""Pooling to the cells with the largest scores, and their faces."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from mpsn.complexes.complex import Complex
from mpsn.complexes.internal import closure, restrict
from mpsn.errors import LayerError
from mpsn.nn._checks import activation, check_input, check_least, cochains_of
from mpsn.nn.pool.pooled import Pooled


def topk_pool(
    K: Complex,
    xs: Sequence[Tensor | None],
    score: Tensor,
    *,
    ratio: float = 0.5,
    count: int | None = None,
    dim: int = 0,
) -> Pooled:
    r"""Keep the cells with the largest scores in each complex, and what they span.

    What is kept is a complex, with its boundaries as before: the best cells of dimension ``dim``,
    all their faces, and all cells above whose faces are kept. With scores of vertices this is the
    full subcomplex on the best vertices.

    Features are multiplied by the scores, so that these are learned: cells of dimension ``dim`` by
    their own, cells above by the mean over their faces, and faces by the mean over the kept cells
    that they bound. Of equal scores the first cells win.

    Args:
        K: Any complex, or a union of complexes.
        xs: Features per dimension, each (n_k, F) or None.
        score: A score for each cell of dimension ``dim``, (n,) or (n, 1).
        ratio: The part of the cells to keep in each complex, rounded up. Defaults to 0.5.
        count: The number of cells to keep in each complex, instead of ``ratio``.
        dim: Dimension of the scored cells. A complex without any becomes empty. Defaults to 0.

    Example:
        >>> K = mpsn.clique_complex(nx.complete_graph(4))
        >>> xs = [torch.ones(n, 1) for n in K.counts]
        >>> small = mpsn.nn.topk_pool(K, xs, torch.tensor([3.0, 0.0, 1.0, 2.0]), count=3)
        >>> small.K, small.xs[1].T
        (SimplicialComplex(dim=2, counts=(3, 3, 1)), tensor([[2.0000, 2.5000, 1.5000]]))
    """
    check_input(K, xs)
    _check(ratio, count, dim)
    n = K.count(dim)
    if score.shape not in ((n,), (n, 1)):
        raise LayerError(
            f"Expected a score for each of the {n} {dim}-cells, got {tuple(score.shape)}."
        )
    if dim > max(K.dim, 0):
        L, maps = restrict(K.bare(), closure(K, {}))
        return Pooled(L, [None if x is None else x[:0] for x in xs], maps)
    best = _best(K, score.detach().reshape(-1), ratio, count, dim)
    L, maps = restrict(K.bare(), closure(K, {dim: best}, full=True))
    gates = [maps[dim].spread(score.reshape(-1, 1))]  # (m_k, 1)
    for k in range(dim, 0, -1):
        gates.insert(0, L.incidence(k).from_cofaces(gates[0], reduce="mean"))
    for k in range(dim + 1, len(maps)):
        gates.append(L.incidence(k).from_faces(gates[-1], reduce="mean"))
    out = list(xs)
    for k, (x, B, gate) in enumerate(zip(xs, maps, gates, strict=False)):
        out[k] = None if x is None else B.spread(x) * gate
    return Pooled(L, out, maps)


def _best(K: Complex, score: Tensor, ratio: float, count: int | None, dim: int) -> Tensor:
    """Return a mask of the best cells of each complex, without a synchronization."""
    of, ptr = K.batch(dim), K.ptr(dim)
    if count is None:  # a little less, as 0.1 * 30 is more than 3
        keep = (ptr.diff().double() * ratio - 1e-6).ceil().clamp(min=1)
    else:
        keep = torch.full_like(ptr[1:], count)
    order = score.argsort(descending=True, stable=True)
    order = order[of[order].argsort(stable=True)]  # complex after complex
    best = torch.empty_like(of, dtype=torch.bool)
    best[order] = torch.arange(len(of), device=of.device) - ptr[of] < keep[of]
    return best


class TopKPool(torch.nn.Module):
    r"""Keep the subcomplex spanned by the cells with the largest learned scores.

    The TopK pooling of Gao and Ji 2019 and Cangea et al. 2018 for complexes, as the paper's
    appendix on pooling proposes: with :math:`s_\sigma = \tanh(p^\top h_\sigma / \|p\|)`, the
    vertices, or cells of another dimension, with the largest scores are kept with all that they
    span, and features are multiplied by the scores; see :func:`topk_pool`.

    Permutation equivariant, if no scores are equal. Orientation equivariant if the score is even,
    such as :math:`s` of vertices or ``score=mpsn.nn.Even(...)``.

    Args:
        in_channels: Width F of the features of the scored cells.
        ratio: The part of the cells to keep in each complex, rounded up. Defaults to 0.5.
        count: The number of cells to keep in each complex, instead of ``ratio``.
        dim: Dimension of the scored cells. Defaults to 0, vertices.
        score: From features (n, F) to scores (n, 1), before the non-linearity. Defaults to a
            learned projection.
        act: The non-linearity: an activation of torch by name, ``"id"``, or a function. Defaults to
            ``"tanh"``.

    Shapes:
        One tensor (n_k, F) per dimension in, a :class:`Pooled` of (m_k, F) out.

    Example:
        >>> K = mpsn.collate([mpsn.clique_complex(nx.complete_graph(n)) for n in (2, 4, 6)])
        >>> xs = [torch.randn(n, 8) for n in K.counts[:3]]
        >>> small, xs, maps = mpsn.nn.TopKPool(8)(K, xs)
        >>> small.ptr(0).diff(), [tuple(x.shape) for x in xs]
        (tensor([1, 2, 3]), [(6, 8), (4, 8), (1, 8)])
    """

    def __init__(
        self,
        in_channels: int,
        ratio: float = 0.5,
        *,
        count: int | None = None,
        dim: int = 0,
        score: Callable[[Tensor], Tensor] | None = None,
        act: str | Callable[[Tensor], Tensor] = "tanh",
    ) -> None:
        super().__init__()
        check_least(1, in_channels=in_channels)
        _check(ratio, count, dim)
        self.in_channels, self.ratio, self.count, self.dim = in_channels, ratio, count, dim
        self.score = Projection(in_channels) if score is None else score
        self.act = activation(act)

    def forward(self, K: Complex, xs: Sequence[Tensor | None]) -> Pooled:
        """Return the smaller complex, its features, and the map onto it."""
        check_input(K, xs)
        x = xs[self.dim] if self.dim < len(xs) else None
        like = next((features for features in (x, *xs) if features is not None), None)
        if like is None:
            raise LayerError(f"Expected features of the {self.dim}-cells to score, got none.")
        (h,) = cochains_of(K, xs, {self.dim: self.in_channels}, like)
        score = self.act(self.score(h))
        return topk_pool(K, xs, score, ratio=self.ratio, count=self.count, dim=self.dim)

    def extra_repr(self) -> str:
        """Return the settings."""
        how = f"ratio={self.ratio}" if self.count is None else f"count={self.count}"
        return f"{self.in_channels}, {how}, dim={self.dim}"


class Projection(torch.nn.Linear):
    r"""The score :math:`p^\top h / \|p\|`, from (n, F) to (n, 1)."""

    def __init__(self, in_channels: int) -> None:
        super().__init__(in_channels, 1, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Return the scores."""
        out: Tensor = super().forward(x) / self.weight.norm()
        return out


def _check(ratio: float, count: int | None, dim: int) -> None:
    check_least(0, dim=dim)
    if count is not None:
        check_least(1, count=count)
    if not 0 < ratio <= 1:
        raise LayerError(
            f"Expected a ratio above 0 and at most 1, got {ratio!r}; pass a number as count=."
        )
