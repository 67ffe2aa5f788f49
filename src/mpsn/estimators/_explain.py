"""Which cells contribute to a prediction."""

from collections.abc import Hashable
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

import torch
from torch import Tensor

from mpsn.complexes import collate
from mpsn.complexes.complex import Complex
from mpsn.errors import MPSNError
from mpsn.estimators._trainer import check_finite

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAX_CELLS = 1 << 20  # in a batch of complexes with one cell left out


@dataclass(frozen=True, eq=False)
class Explanation:
    """How much each cell contributed to an output of a model.

    Attributes:
        complex: The complex of the graph.
        contributions: Per dimension, a number for each cell, (n_k,): positive for the target,
            negative against it.
        target: The class or output that is explained.
        output: The network's output for it (for a class, before the softmax).
        method: The method of attribution.
    """

    complex: Complex
    contributions: list[Tensor]
    target: str
    output: float
    method: str

    @property
    def by_dimension(self) -> list[float]:
        """Sum of the contributions of each dimension."""
        return [float(part.sum()) for part in self.contributions]

    def top(self, many: int = 10) -> list[tuple[list[Hashable], float]]:
        """Return the cells of the largest absolute contributions, as lists of vertices."""
        names = self.complex.vertex_labels or range(self.complex.num_nodes)
        rows = [
            ([names[v] for v in vertices], value)
            for k, part in enumerate(self.contributions)
            for vertices, value in zip(self._cells(k), part.tolist(), strict=True)
        ]
        return sorted(rows, key=lambda row: -abs(row[1]))[:many]

    def _cells(self, k: int) -> list[list[int]]:
        index, ptr = self.complex.cells(k)
        return [index[start:end].tolist() for start, end in pairwise(ptr.tolist())]

    def draw(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the complex, red where it contributes to the target, blue where against it."""
        from mpsn.plotting import draw_complex

        ax = draw_complex(self.complex, ax, values=self.contributions)
        ax.set_title(f"contributions for {self.target} (red) and against (blue)")
        return ax


def explain(
    model: torch.nn.Module,
    K: Complex,
    output: int,
    name: str,
    method: Literal["gradient", "leave_out"],
) -> Explanation:
    """Attribute an output of a network on one complex to its cells."""
    methods = {"gradient": _gradient, "leave_out": _leave_out}
    if method not in methods:
        raise MPSNError(f"Expected method 'gradient' or 'leave_out', got {method!r}.")
    score, parts = methods[method](model.eval(), K, output)
    check_finite(torch.cat([torch.tensor([score]), *(part.cpu() for part in parts)]))
    return Explanation(K.to("cpu"), [part.cpu() for part in parts], name, score, method)


def _gradient(model: torch.nn.Module, K: Complex, output: int) -> tuple[float, list[Tensor]]:
    """Gradient times input: the features of every cell count as inputs of their own."""
    xs = [x.detach().clone().requires_grad_() for x in K.x if x is not None]
    score = model(K, xs)[0, output]
    grads = torch.autograd.grad(score, xs, allow_unused=True)
    parts = [
        torch.zeros(len(x), device=x.device) if g is None else (x * g).sum(dim=1).detach()
        for x, g in zip(xs, grads, strict=True)
    ]
    return float(score.detach()), parts[: max(1, K.dim + 1)]


def _leave_out(model: torch.nn.Module, K: Complex, output: int) -> tuple[float, list[Tensor]]:
    with torch.no_grad():
        score = model(K)[0, output]
        many = max(1, MAX_CELLS // max(1, sum(K.counts)))
        parts = []
        for k, n in enumerate(K.counts):
            rows = [
                model(collate(without(K, k, s) for s in range(start, min(n, start + many))))
                for start in range(0, n, many)
            ]
            parts.append(score - torch.cat(rows)[:, output])
    return float(score), parts


def without(K: Complex, k: int, s: int) -> Complex:
    """Return a complex without one of its k-cells, and without all that it is a face of."""
    kept = [torch.ones(n, dtype=torch.bool, device=K.device) for n in K.counts]
    kept[k][s] = False
    for j in range(k + 1, len(kept)):
        kept[j] = K.incidence(j).boundary((~kept[j - 1]).long()) == 0
    return K.bare().replace(x=K.x).subcomplex(dict(enumerate(kept)))
