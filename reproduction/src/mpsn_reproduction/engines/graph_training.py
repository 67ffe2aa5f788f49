"""Training on whole complexes with a fixed split: several seeds in one pass, steps captured."""

import copy
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import torch
import torch.nn.functional as nnf
from torch import Tensor

from mpsn.complexes import ComplexDataset
from mpsn.errors import MPSNError
from mpsn.nn.models import CIN, GIN
from mpsn.training import seeded, world_size
from mpsn.training._capture import Capture
from mpsn.training._device import Precision, check_precision, computing, exact, one_thread, products
from mpsn.training._distributed import own_part, sum_gradients
from mpsn.training._loop import fit
from mpsn.training._processes import all_sum
from mpsn_reproduction.engines.on_disk import OnDisk
from mpsn_reproduction.engines.side_by_side import mini_batches
from mpsn_reproduction.engines.wide import HEIGHT, Wide, WideData
from mpsn_reproduction.engines.wide.layers import WideNorm

Metric = Literal["mae", "rmse", "auc"]

SLACK = 64  # rows of padding at least, so that cells of padding are spread out
HELD = 4  # times the batch size, of complexes to evaluate at a time
KNOWN = 16  # mini-batches from which the statistics of norms are computed


@dataclass(frozen=True)
class Training:
    """How to train: AdamW, with a learning rate that rises linearly and falls like a cosine."""

    epochs: int = 300
    """Number of passes over the training part."""
    batch_size: int = 128
    """Complexes in a mini-batch."""
    lr: float = 0.001
    """Largest learning rate."""
    warmup: int = 5
    """Number of epochs in which the learning rate rises."""
    weight_decay: float = 0.0
    """Decay of the weights."""
    average: float = 0.0
    """Decay, per step, of the moving average of the weights that is evaluated; 0 for none."""
    precision: Precision = "float32"
    """Precision of the network: float32, bf16 or, on a GPU, tf32."""

    def __post_init__(self) -> None:
        for name in ("epochs", "batch_size", "warmup"):
            if getattr(self, name) < 1:
                raise MPSNError(f"Expected {name} >= 1, got {getattr(self, name)}.")
        check_precision(self.precision)
        if not (0 < self.lr < math.inf and self.weight_decay >= 0 and 0 <= self.average < 1):
            raise MPSNError(
                f"Expected lr > 0, weight_decay >= 0 and average from 0 to below 1, got {self}."
            )

    def rate(self, epoch: int) -> float:
        """Return the learning rate of an epoch."""
        warm = min(1, (epoch + 1) / self.warmup)
        return self.lr * warm * (1 + math.cos(math.pi * epoch / self.epochs)) / 2


class Parts(NamedTuple):
    """Positions of the complexes for training, validation and testing; int64 tensors."""

    train: Tensor
    val: Tensor
    test: Tensor


class Curves(NamedTuple):
    """Results after each epoch: the training loss (epochs,), and metrics (epochs, targets)."""

    loss: Tensor
    val: Tensor
    test: Tensor


def train(
    dataset: ComplexDataset | OnDisk,
    y: Tensor,
    parts: Parts,
    build: Callable[[], CIN | GIN],
    settings: Training,
    metric: Metric,
    *,
    seeds: Sequence[int],
    device: torch.device | str = "cpu",
    tick: Callable[[int], object] = lambda epochs: None,
    together: int | None = None,
    capture: bool = True,
) -> list[Curves]:
    """Train a network for each seed, on a GPU all in one pass.

    The loss is the absolute error of standardized targets for metric ``"mae"``, the squared error
    for ``"rmse"``, and cross-entropy for ``"auc"``. Before each evaluation the statistics of batch
    norms are computed anew, from a few mini-batches: moving averages would be late, and channels of
    almost no variance blow that up.

    Args:
        dataset: The complexes, with features; in several processes, they may stay in a file.
        y: Targets (N, T) float32; classes 0 and 1 for ``"auc"``.
        parts: Which complexes are for what.
        build: Makes a network with T outputs, after torch has been seeded.
        settings: How to train.
        metric: What is measured.
        seeds: One for each network: for its weights, the order of the complexes, and dropout.
        device: Where to train.
        tick: Called with the number of epochs done since the last call, over all networks.
        together: Number of networks to train in one pass. Defaults to all on a GPU, one on a CPU.
        capture: Whether to capture the steps on a GPU.
    """
    device = torch.device(device)
    models = []
    for seed in seeds:
        with seeded(seed, device):
            models.append(build())
    here = dataset.to(device)
    data = here if isinstance(here, OnDisk) else WideData(here, models[0].max_dim)
    together = together or (len(seeds) if device.type == "cuda" and world_size() == 1 else 1)
    y, out = y.to(device), []
    for at in range(0, len(seeds), together):
        some = slice(at, at + together)
        with seeded(seeds[at], device), one_thread(device):
            several = _Pass(
                data,
                y,
                parts,
                models[some],
                seeds[some],
                settings,
                metric,
                Capture(device, capture and world_size() == 1),
            )
            out += several.train(tick)
    return out


class _Pass:
    """Networks that are trained together."""

    def __init__(
        self,
        data: WideData | OnDisk,
        y: Tensor,
        parts: Parts,
        models: Sequence[CIN | GIN],
        seeds: Sequence[int],
        settings: Training,
        metric: Metric,
        capture: Capture,
    ) -> None:
        self.data, self.settings, self.metric, self.seeds = data, settings, metric, seeds
        self.parts, self.none, device = parts, len(y), y.device
        self.val, self.test = parts.val.to(device), parts.test.to(device)
        self.capture = capture
        self.wide = Wide(models).to(device)  # type: ignore[arg-type]
        self.evaluated = copy.deepcopy(self.wide) if settings.average else self.wide
        self.padded = len(models) > 1 or self.capture.enabled
        inner = y[parts.train.to(device)]
        self.level, self.scale = inner.mean(0), inner.std(0, correction=0).clamp(min=1e-12)
        if metric == "auc":
            self.level, self.scale = torch.zeros_like(self.level), torch.ones_like(self.scale)
        self.y = nnf.pad((y - self.level) / self.scale, (0, 0, 0, 1))  # (N + 1, T)
        steps = -(-len(parts.train) // settings.batch_size)
        self.size = -(-len(parts.train) // steps)
        held = torch.cat([parts.val, parts.test])
        held = held[data.sizes(held[:, None]).sum(1).argsort(stable=True)]
        self.held = self._own(
            mini_batches([held] * len(models), HELD * settings.batch_size, self.none)
        )
        self.held_rows = self._rows(self.held)
        self.rows = self._shape() if self.padded else None
        self.known = self._epoch(self._orders())[:KNOWN]
        self.norms = [part for part in self.evaluated.modules() if isinstance(part, WideNorm)]

        # What the steps read and write, beside the networks.
        self.index = torch.zeros((len(models), self.size), dtype=torch.int64, device=device)
        self.held_index = torch.zeros(self.held.shape[1:], dtype=torch.int64, device=device)
        self.found = self.y.new_zeros(len(models), *self.y.shape)  # (M, N + 1, T)
        self.loss = torch.zeros(len(models), device=device)
        self.lr = torch.zeros((), device=device)
        self.momentum = self.y.new_zeros(())
        self.adam = torch.optim.AdamW(
            self.wide.parameters(),
            self.lr,
            weight_decay=settings.weight_decay,
            fused=True,
            capturable=self.capture.enabled,
        )

    def _orders(self) -> list[torch.Generator]:
        return [torch.Generator().manual_seed(seed) for seed in self.seeds]

    def _epoch(self, orders: Sequence[torch.Generator]) -> Tensor:
        """Draw the mini-batches of an epoch, (steps, M, B)."""
        train = self.parts.train
        shuffled = [train[torch.randperm(len(train), generator=order)] for order in orders]
        return self._own(mini_batches(shuffled, self.size, self.none))

    def _own(self, index: Tensor) -> Tensor:
        """Return the part of mini-batches (steps, M, B) that this process computes."""
        return own_part(index, self.data.sizes(index[..., None]).sum(-1), self.none)

    def _shape(self) -> tuple[int, ...]:
        """Return the smallest shape that holds the mini-batches of all epochs."""
        orders = self._orders()
        epochs = [self._epoch(orders) for _ in range(self.settings.epochs)]
        need = torch.stack([self.data.sizes(epoch).amax((0, 1)) for epoch in epochs])
        return self._padded(need.amax(0))

    def _rows(self, index: Tensor) -> list[tuple[int, ...]]:
        """Return the shape of each mini-batch of (steps, M, B)."""
        return [self._padded(need) for need in self.data.sizes(index).amax(1)]

    def _padded(self, need: Tensor) -> tuple[int, ...]:
        if self.padded:
            need = torch.where(need > 0, (-(-(need + SLACK) // HEIGHT)).clamp(min=2) * HEIGHT, 0)
        return tuple(need.tolist())

    def train(self, tick: Callable[[int], object]) -> list[Curves]:
        """Train, and return what was measured."""
        orders, many = self._orders(), len(self.seeds)

        def batches(epoch: int) -> Iterator[tuple[Tensor, tuple[int, ...]]]:
            return self._sized(self._epoch(orders))

        with self.capture.stream(), products(self.settings.precision, self.lr.device):
            results = fit(
                self.wide,
                self.settings.epochs,
                batches,
                self._step,
                self._evaluate,
                schedule=self._start,
                tick=lambda epochs: tick(epochs * many),
            )
            every = [torch.stack(part).cpu() for part in zip(*results, strict=True)]
        return [Curves(*(part[:, m] for part in every)) for m in range(many)]

    def _sized(self, drawn: Tensor) -> Iterator[tuple[Tensor, tuple[int, ...]]]:
        """Return mini-batches (steps, M, B) one by one, with their shapes."""
        rows = [self.rows] * len(drawn) if self.rows else self._rows(drawn)
        return zip(drawn.to(self.lr.device), rows, strict=True)

    def _start(self, epoch: int) -> None:
        self.lr.fill_(self.settings.rate(epoch))
        self.loss.zero_()

    def _step(self, batch: tuple[Tensor, tuple[int, ...]]) -> None:
        self.index.copy_(batch[0])
        self.capture(self._captured, batch[1])

    def _captured(self, rows: tuple[int, ...]) -> None:
        """Take a step, from the positions in ``index``."""
        inside = self.index < self.none
        out = self._outputs(self.wide, self.index, rows)
        losses = self._losses(out, self.y[self.index]).mean(2) * inside  # (M, B)
        loss = losses.sum(1) / all_sum(inside.sum(1))
        self.adam.zero_grad()
        torch.autograd.backward(loss.sum())
        sum_gradients(self.wide)
        self.adam.step()
        self.loss += losses.detach().sum(1) / len(self.parts.train)
        if self.evaluated is not self.wide:
            pairs = zip(
                self.evaluated.state_dict().values(), self.wide.state_dict().values(), strict=True
            )
            numbers = [pair for pair in pairs if pair[0].is_floating_point()]
            old, new = ([pair[i] for pair in numbers] for i in (0, 1))
            torch._foreach_lerp_(old, new, 1 - self.settings.average)

    def _outputs(self, network: Wide, index: Tensor, rows: tuple[int, ...]) -> Tensor:
        """Return the outputs of networks on complexes (M, B), (M, B, T)."""
        batch = self.data.gather(index, rows, self.padded)
        with computing(self.settings.precision, index.device):
            return exact(network(batch))

    def _losses(self, out: Tensor, y: Tensor) -> Tensor:
        if self.metric == "auc":
            return nnf.binary_cross_entropy_with_logits(out, y, reduction="none")
        return (out - y).abs() if self.metric == "mae" else (out - y).square()

    @torch.no_grad()
    def _evaluate(self) -> tuple[Tensor, Tensor, Tensor]:
        """Return the loss of the epoch, (M,), and metrics in validation and testing, (M, T)."""
        self.evaluated.train()
        for i, (index, rows) in enumerate(self._sized(self.known) if self.norms else ()):
            self.momentum.fill_(1 / (i + 1))
            for norm in self.norms:
                norm.momentum = self.momentum if self.padded else 1 / (i + 1)
            self.index.copy_(index)
            self.capture(self._observe, rows)
        self.evaluated.eval()
        for index, rows in zip(self.held.to(self.lr.device), self.held_rows, strict=True):
            self.held_index.copy_(index)
            self.capture(self._predict, rows)
        parts, found = (self.val, self.test), all_sum(self.found)
        val, test = (measure(found[:, part], self.y[part], self.metric) for part in parts)
        unit = self.scale if self.metric != "auc" else 1
        return all_sum(self.loss).clone(), val * unit, test * unit

    @torch.no_grad()
    def _observe(self, rows: tuple[int, ...]) -> None:
        """Let norms see the positions in ``index``."""
        self._outputs(self.evaluated, self.index, rows)

    @torch.no_grad()
    def _predict(self, rows: tuple[int, ...]) -> None:
        """Keep what is predicted for the positions in ``held_index``."""
        index = self.held_index
        out = self._outputs(self.evaluated, index, rows)
        self.found.scatter_(1, index[:, :, None].expand_as(out), out)


def measure(found: Tensor, y: Tensor, metric: Metric) -> Tensor:
    """Return a metric (M, T) of what M networks found, (M, n, T), for targets (n, T).

    Example:
        >>> from mpsn_reproduction.engines.graph_training import measure
        >>> found, y = torch.tensor([0.1, 0.4, 0.3, 0.3]), torch.tensor([0.0, 1, 0, 1])
        >>> measure(found[None, :, None], y[:, None], "auc")
        tensor([[0.8750]])
    """
    if metric == "mae":
        return (found - y).abs().mean(1)
    if metric == "rmse":
        return (found - y).square().mean(1).sqrt()
    scores = found.transpose(1, 2).contiguous()  # (M, T, n)
    ranked = scores.sort(dim=2).values
    below, upto = (torch.searchsorted(ranked, scores, right=right) for right in (False, True))
    positive = y.T.double()
    won = ((below + upto) / 2 * positive).sum(2)  # with the ties, each half
    ones = positive.sum(1)
    return ((won - ones * ones / 2) / (ones * (y.shape[0] - ones))).float()
