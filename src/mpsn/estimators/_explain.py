"""Which simplices contribute to a prediction."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import torch
from torch import Tensor

from mpsn.complexes import SimplicialComplex, collate
from mpsn.errors import MPSNError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAX_SIMPLICES = 1 << 20  # in a batch of complexes with one simplex left out


@dataclass(frozen=True, eq=False)
class Explanation:
    """How much each simplex contributed to an output of a model.

    Attributes:
        complex: The complex of the graph.
        contributions: Per dimension, a number for each simplex, (n_k,): positive for the target,
            negative against it.
        target: The class or output that is explained.
        output: The network's output for it (for a class, before the softmax).
        method: The method of attribution.
    """

    complex: SimplicialComplex
    contributions: list[Tensor]
    target: str
    output: float
    method: str

    @property
    def by_dimension(self) -> list[float]:
        """Sum of the contributions of each dimension."""
        return [float(part.sum()) for part in self.contributions]

    def top(self, many: int = 10) -> list[tuple[list[Hashable], float]]:
        """Return the simplices of the largest absolute contributions, as lists of vertices."""
        names = self.complex.vertex_labels or range(self.complex.num_nodes)
        rows = [
            ([names[v] for v in vertices], value)
            for k, part in enumerate(self.contributions)
            for vertices, value in zip(
                self.complex.simplices(k).tolist(), part.tolist(), strict=True
            )
        ]
        return sorted(rows, key=lambda row: -abs(row[1]))[:many]

    def draw(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the complex, red where it contributes to the target, blue where against it."""
        from mpsn.plotting import draw_complex

        ax = draw_complex(self.complex, ax, values=self.contributions)
        ax.set_title(f"contributions for {self.target} (red) and against (blue)")
        return ax


def explain(
    model: torch.nn.Module,
    K: SimplicialComplex,
    output: int,
    name: str,
    method: Literal["gradient", "leave_out"],
) -> Explanation:
    """Attribute an output of a network on one complex to its simplices."""
    methods = {"gradient": _gradient, "leave_out": _leave_out}
    if method not in methods:
        raise MPSNError(f"Expected method 'gradient' or 'leave_out', got {method!r}.")
    score, parts = methods[method](model.eval(), K, output)
    return Explanation(K.to("cpu"), [part.cpu() for part in parts], name, score, method)


def _gradient(
    model: torch.nn.Module, K: SimplicialComplex, output: int
) -> tuple[float, list[Tensor]]:
    """Gradient times input: the features of every simplex count as inputs of their own."""
    xs = [x.detach().clone().requires_grad_() for x in K.x if x is not None]
    score = model.networks(K, xs)[0, output]
    grads = torch.autograd.grad(score, xs, allow_unused=True)
    parts = [
        torch.zeros(len(x), device=x.device) if g is None else (x * g).sum(dim=1).detach()
        for x, g in zip(xs, grads, strict=True)
    ]
    return float(score.detach()), parts[: max(1, K.dim + 1)]


def _leave_out(
    model: torch.nn.Module, K: SimplicialComplex, output: int
) -> tuple[float, list[Tensor]]:
    with torch.no_grad():
        score = model(K)[0, output]
        many = max(1, MAX_SIMPLICES // max(1, sum(K.counts)))
        parts = []
        for k, n in enumerate(K.counts):
            rows = [
                model(collate(without(K, k, s) for s in range(start, min(n, start + many))))
                for start in range(0, n, many)
            ]
            parts.append(score - torch.cat(rows)[:, output])
    return float(score), parts


def without(K: SimplicialComplex, k: int, s: int) -> SimplicialComplex:
    """Return a complex without one of its k-simplices, and without all that it is a face of."""
    kept = [torch.ones(n, dtype=torch.bool, device=K.device) for n in K.counts]
    kept[k][s] = False
    for j in range(k + 1, len(kept)):
        kept[j] = kept[j - 1][K.faces(j)].all(dim=1)
    return K.bare().replace(x=K.x).subcomplex(dict(enumerate(kept)))
