"""The SWL kernel as a linear model: outputs that are sums over simplices, by their colors."""

import threading
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy.sparse
import torch
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, Ridge
from threadpoolctl import threadpool_limits
from torch import Tensor

from mpsn.complexes.complex import Complex
from mpsn.errors import FileError
from mpsn.nn.readout import global_pool
from mpsn.training.internal import known
from mpsn.wl import Palette, swl

ROUNDS = 3
LEAST = 2  # graphs of the fit that a color with a weight of its own occurs in
COSTS = (0.3, 0.03, 3.0)  # of errors, to select from; the first where nothing is held out
SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)  # of the kernel in the outputs, to select from


class ColorSum(torch.nn.Module):
    """Sum weights of cells by their SWL colors, in all rounds: the SWL kernel in primal form.

    Colors that at least two graphs of the fit have get a weight each; the others share one per
    round and dimension. One more weight per dimension is that of all its simplices.

    Args:
        max_dim: Largest dimension of a simplex.
        state: Its tensors by name: ``start``, the positions of the vertex features that are initial
            colors; the ``colors`` with weights and their signatures, as of ``Palette.to_parts``;
            ``weight`` (columns, G) and ``bias`` (G,).
    """

    start: Tensor
    colors: Tensor
    weight: Tensor
    bias: Tensor

    def __init__(self, max_dim: int, state: Mapping[str, Tensor]) -> None:
        super().__init__()
        self.max_dim, self._palette = max_dim, Palette.from_parts(state)
        kinds = {"start": torch.int64, "weight": torch.float32, "bias": torch.float32}
        for name, kind in kinds.items():
            if name not in state or state[name].dtype != kind:
                raise FileError(f"expected {name} of a kernel as {kind}")
        for name, tensor in state.items():
            self.register_buffer(name, tensor)
        columns = len(self.colors) + (ROUNDS + 2) * (max_dim + 1)
        if self.weight.shape != (columns, *self.bias.shape):
            raise FileError(f"expected weights of {columns} colors, got {self.weight.shape}")

    def columns(self, K: Complex) -> list[Tensor]:
        """Return the numbers of the weights of each simplex, (n_k, rounds + 2) per dimension."""
        if K.num_nodes == 0:
            return []
        found = refine(K, self.start, self._palette.copy())
        known, levels = len(self.colors), self.max_dim + 1
        out = []
        for k in range(len(found[0])):
            color = torch.stack([now[k] for now in found], dim=1)  # (n_k, rounds + 1)
            at = torch.searchsorted(self.colors, color).clamp_(max=max(known - 1, 0))
            rest = known + levels * torch.arange(ROUNDS + 2, device=color.device) + k
            seen = self.colors[at] == color if known else torch.zeros_like(color, dtype=torch.bool)
            named = torch.where(seen, at, rest[:-1])
            out.append(torch.cat([named, rest[-1:].expand(len(color), 1)], dim=1))
        return out

    def cells(self, K: Complex) -> list[Tensor]:
        """Return what each simplex contributes to the outputs, (n_k, G) per dimension."""
        return [self.weight[at].sum(dim=1) for at in self.columns(K)]

    def forward(self, K: Complex) -> Tensor:
        """Return one row per complex."""
        out = self.bias.expand(K.num_complexes, -1)
        for k, h in enumerate(self.cells(K)):
            out = out + global_pool(K, k, h)
        return out

    def table(self, K: Complex) -> Any:
        """Return how often each complex has each weight, (C, columns) as scipy CSR."""
        row, column = [torch.zeros(0).int()], [torch.zeros(0).int()]
        for k, at in enumerate(self.columns(K)):
            row.append(torch.repeat_interleave(K.ptr(k).diff()).repeat_interleave(at.shape[1]))
            column.append(at.reshape(-1))
        where = tuple(torch.cat(part).int().numpy() for part in (row, column))
        shape = (K.num_complexes, len(self.weight))
        return scipy.sparse.csr_array((np.ones(len(where[0])), where), shape=shape)


def refine(K: Complex, start: Tensor, palette: Palette) -> tuple[Any, ...]:
    """Return the SWL colors of a union per round and dimension; complexes may be empty."""
    whole = [torch.tensor([0, n], device=K.device) for n in K.counts]
    one = type(K).unchecked([K.incidence(k) for k in range(1, len(whole))], whole)
    initial: Any = [K.x[0][:, start]] if len(start) and K.x[0] is not None else "dimension"
    return swl(one, initial=initial, rounds=ROUNDS, palette=palette).colors


def find_colors(K: Complex, max_dim: int, out_channels: int, start: Tensor) -> ColorSum:
    """Return a sum, still of zeros, over the colors of the complexes of a fit.

    The colors of vertices start with their features at the positions ``start``.
    """
    palette, start = Palette(), start.to(torch.int64)
    pairs = [  # of a color and a graph, as one number
        colors * K.num_complexes + torch.repeat_interleave(K.ptr(k).diff())
        for now in (refine(K, start, palette) if K.num_nodes else ())
        for k, colors in enumerate(now)
    ]
    found = torch.unique(torch.cat(pairs)) if pairs else torch.zeros(0, dtype=torch.int64)
    graphs = torch.bincount(found // max(K.num_complexes, 1), minlength=len(palette))
    common = (graphs >= LEAST).nonzero()[:, 0]
    state = {
        **palette.to_parts(common),
        "start": start,
        "weight": torch.zeros(len(common) + (ROUNDS + 2) * (max_dim + 1), out_channels),
        "bias": torch.zeros(out_channels),
    }
    return ColorSum(max_dim, state)


def fit_weights(
    table: Any, y: Tensor, width: int, cost: float, class_weight: NDArray[Any] | None = None
) -> tuple[Tensor, Tensor]:
    """Fit weights (columns, G) and bias (G,): to classes 0, 1, ..., or to rows of targets.

    Those, numbers or labels of tasks, may have gaps; each is fitted where it is known.
    """
    scale = np.maximum(table.max(axis=0).toarray().reshape(-1), 1.0)
    X, targets = table @ scipy.sparse.diags_array(1 / scale), y.numpy()
    weight, bias = np.zeros((width, X.shape[1])), np.zeros(width)
    if y.ndim == 1:
        model = _logistic(X, targets, cost, class_weight)
        bias[:] = -20.0
        at, sign = model.classes_, np.array([[-0.5], [0.5]]) if len(model.classes_) == 2 else 1.0
        weight[at], bias[at] = model.coef_ * sign, (model.intercept_[:, None] * sign)[:, 0]
    else:
        there = known(y).numpy().T  # (G, n)
        for rows in np.unique(there, axis=0):  # targets with the same gaps are fitted together
            at = np.flatnonzero((there == rows).all(axis=1))
            if rows.any() and y.is_floating_point():
                ridge = Ridge(alpha=0.1 / cost).fit(X[rows], targets[np.ix_(rows, at)])
                weight[at], bias[at] = ridge.coef_.reshape(len(at), -1), ridge.intercept_
            for task in at if rows.any() and not y.is_floating_point() else ():
                labels = targets[rows, task]
                if 0 < labels.sum() < len(labels):
                    each = None if class_weight is None else class_weight[task]
                    model = _logistic(X[rows], labels, cost, each)
                    weight[task], bias[task] = model.coef_[0], model.intercept_[0]
                else:  # the log-odds of Laplace's rule
                    bias[task] = np.log((1 + labels.sum()) / (1 + len(labels) - labels.sum()))
    return torch.from_numpy((weight / scale).T).float(), torch.from_numpy(bias).float()


def _logistic(X: Any, y: NDArray[Any], cost: float, class_weight: NDArray[Any] | None) -> Any:
    named = None if class_weight is None else dict(enumerate(class_weight.tolist()))
    model = LogisticRegression(C=cost, max_iter=1000, class_weight=named)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X, y)


class Blend(NamedTuple):
    """A kernel, its share of the outputs, and how good both are on the samples held out."""

    kernel: ColorSum
    share: float
    held: Tensor


def blend(
    kernel: ColorSum,
    table: Any,
    y: Tensor,
    splits: Sequence[tuple[Any, Any]],
    networks: Sequence[Tensor],
    loss: Callable[[Tensor, Tensor], Tensor],
    class_weight: NDArray[Any] | None,
) -> Blend:
    """Fit a kernel; choose its cost, and its share, by the loss on samples held out.

    Args:
        kernel: The kernel, without weights.
        table: Its counts for all samples.
        y: Targets of all samples.
        splits: For each part held out, the positions of the other samples and of its own.
        networks: The outputs for those held out of a network that was trained on the others; none
            for the kernel alone.
        loss: The loss.
        class_weight: Weights of classes, (classes,) or (tasks, 2), if any.

    Returns:
        The kernel fitted to all samples, its share, and its outputs for those held out.
    """
    width = kernel.weight.shape[1]
    splits = [(used.numpy(), held.numpy()) for used, held in splits]
    targets = torch.cat([y[held] for _, held in splits])
    found: list[tuple[float, float, float, Tensor]] = []
    for cost in COSTS if len(targets) else ():
        parts = []
        for used, held in splits:
            weight, bias = fit_weights(table[used], y[used], width, cost, class_weight)
            parts.append(torch.from_numpy(table[held] @ weight.double().numpy()).float() + bias)
        rows = torch.cat(parts)
        for share in SHARES if networks else (1.0,):
            mixed = share * rows + (1 - share) * torch.cat(list(networks)) if networks else rows
            found.append((float(loss(mixed, targets)), cost, share, rows))
    best = min(found, key=lambda one: one[0]) if found else None
    _, cost, share, held = best or (0.0, COSTS[0], 0.5 if networks else 1.0, y[:0])
    kernel.weight, kernel.bias = fit_weights(table, y, width, cost, class_weight)
    return Blend(kernel, share, held)


class SerialBLAS:
    """Limit BLAS to one thread inside the block.

    The limit is that of the process: blocks may overlap in several threads, and the last one to
    end restores what was before.
    """

    _lock: ClassVar[threading.Lock] = threading.Lock()
    _users: ClassVar[int] = 0
    _limits: ClassVar[Any] = None

    def __enter__(self) -> None:
        with SerialBLAS._lock:
            if SerialBLAS._users == 0:
                SerialBLAS._limits = threadpool_limits(1, user_api="blas")
            SerialBLAS._users += 1

    def __exit__(self, *_: object) -> None:
        with SerialBLAS._lock:
            SerialBLAS._users -= 1
            if SerialBLAS._users == 0:
                SerialBLAS._limits.restore_original_limits()
