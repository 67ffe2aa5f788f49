"""Which cells contribute to a prediction."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

import torch
from torch import Tensor

from mpsn.complexes import collate
from mpsn.complexes.complex import Complex
from mpsn.errors import MPSNError, visible
from mpsn.estimators._draw_molecule import draw_molecule
from mpsn.estimators._ensemble import Ensemble, check_finite
from mpsn.estimators._targets import Units

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAX_CELLS = 1 << 20  # in a batch of complexes with one cell left out


@dataclass(frozen=True, eq=False)
class Explanation:
    """How much each cell contributed to a prediction, in the units of the prediction.

    Attributes:
        complex: The complex of the graph; ``vertex_labels`` are the user's names.
        contributions: Per dimension, a number for each cell, (n_k,): positive for the target,
            negative against it.
        features: What each feature contributed, over all cells, by the gradient; what the SWL
            kernel contributed is under its name.
        target: The class or output that is explained.
        output: The probability of the class, or the number predicted.
        runner_up: The most probable other class, None for numbers.
        margin: By how much the class is more probable than that, None for numbers.
        method: The method of attribution.
        molecule: RDKit's molecule, None for other graphs.
    """

    complex: Complex
    contributions: list[Tensor]
    features: dict[str, float]
    target: str
    output: float
    runner_up: str | None
    margin: float | None
    method: str
    molecule: Any = None

    def __str__(self) -> str:
        if self.margin is None:
            return f"{self.target}: {self.output:.4g}"
        return (
            f"{self.target}, probability {self.output:.3f}, {abs(self.margin):.3f} "
            f"{'ahead of' if self.margin >= 0 else 'behind'} {self.runner_up}"
        )

    @property
    def unit(self) -> str:
        """Whether contributions are parts of a number or of a probability."""
        return "number" if self.margin is None else "probability"

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
        """Draw the complex, red where it contributes to the target, blue where against it.

        The color bar is in the units of the prediction.
        """
        from mpsn.plotting import draw_complex

        ax = draw_complex(self.complex, ax, values=self.contributions)
        ax.figure.axes[-1].set_ylabel(f"contribution to the {self.unit}")
        ax.set_title(visible(self))
        return ax

    def draw_molecule(self, kind: Literal["svg", "png"] = "svg") -> bytes:
        """Draw the molecule by RDKit, its atoms, bonds and rings in the colors of :meth:`draw`.

        Below are the prediction and the scale. Notebooks show explanations of molecules this way.

        Returns:
            The content of a file, SVG or PNG.
        """
        if self.molecule is None:
            raise MPSNError(
                "Expected an explanation of a molecule, given as SMILES or of RDKit, got one of "
                "another graph; use draw()."
            )
        found = (self.molecule, self.complex, self.contributions, visible(self), self.unit)
        return draw_molecule(*found, kind)

    def _repr_svg_(self) -> str | None:
        return None if self.molecule is None else self.draw_molecule().decode("latin-1")


def explain(
    model: Ensemble, K: Complex, units: Units, names: Sequence[Sequence[str]], method: str
) -> tuple[list[Tensor], dict[str, float]]:
    """Attribute a prediction for one complex to its cells and features.

    Args:
        model: The networks and the kernel.
        K: The complex.
        units: From outputs (C, G) to the numbers (C,) to explain.
        names: The names of the features of each dimension.
        method: ``"gradient"`` or ``"leave_out"``.
    """
    if method not in ("gradient", "leave_out"):
        raise MPSNError(f"Expected method 'gradient' or 'leave_out', got {method!r}.")
    parts, features = _gradient(model.eval(), K, units, names)
    if method == "leave_out":
        parts = _leave_out(model, K, units)
    check_finite(torch.cat(parts))
    return [part.cpu() for part in parts], features


def _gradient(
    model: Ensemble, K: Complex, units: Units, names: Sequence[Sequence[str]]
) -> tuple[list[Tensor], dict[str, float]]:
    """Gradient times input: features of every cell are inputs, and its share of the kernel."""
    xs = [x.detach().clone().requires_grad_() for x in K.x if x is not None]
    networks, kernel = model.networks(K, xs), None
    cells = model.kernel.cells(K) if model.kernel is not None else []
    if model.kernel is not None:
        kernel = model.kernel(K).requires_grad_()
    inputs = [*(xs if networks is not None else []), *([] if kernel is None else [kernel])]
    score = units(model.mix(networks, kernel)).sum()
    grads = list(torch.autograd.grad(score, inputs, allow_unused=True))
    dims = range(max(1, K.dim + 1))
    parts = [torch.zeros(K.count(k), device=K.device) for k in dims]
    features: dict[str, float] = {}
    if kernel is not None:
        slope = grads.pop()[0]
        for k, part in enumerate(cells):
            parts[k] += part @ slope
        features["SWL kernel"] = float(sum(part.sum() for part in parts))
    for k, (x, grad) in enumerate(zip(xs, grads, strict=False)):
        if grad is not None and k in dims:
            each = (x * grad).detach()  # (n_k, F)
            parts[k] += each.sum(dim=1)
            for name, value in zip(names[k], each.sum(dim=0).tolist(), strict=True):
                features[name] = features.get(name, 0.0) + value
    return parts, dict(sorted(features.items(), key=lambda pair: -abs(pair[1])))


def _leave_out(model: Ensemble, K: Complex, units: Units) -> list[Tensor]:
    with torch.no_grad():
        score = units(model(K))[0]
        many = max(1, MAX_CELLS // max(1, sum(K.counts)))
        parts = []
        for k, n in enumerate(K.counts):
            rows = [
                model(collate(without(K, k, s) for s in range(start, min(n, start + many))))
                for start in range(0, n, many)
            ]
            parts.append(score - units(torch.cat(rows)))
    return parts


def without(K: Complex, k: int, s: int) -> Complex:
    """Return a complex without one of its k-cells, and without all that it is a face of."""
    kept = [torch.ones(n, dtype=torch.bool, device=K.device) for n in K.counts]
    kept[k][s] = False
    for j in range(k + 1, len(kept)):
        kept[j] = K.incidence(j).from_faces((~kept[j - 1]).long()) == 0
    return K.bare().replace(x=K.x).subcomplex(dict(enumerate(kept)))
