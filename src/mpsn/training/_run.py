"""The training of one network: its steps, evaluations and history."""

import copy
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from inspect import signature
from itertools import zip_longest
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.parallel import DistributedDataParallel

from mpsn.errors import FileError, MPSNError
from mpsn.training._capture import Lane, can_capture, captured
from mpsn.training._device import computing, exact, products
from mpsn.training._losses import MeanLoss
from mpsn.training._processes import (
    agree,
    all_sum,
    balance,
    lost_process_named,
    mean_buffers,
    rank,
    world_size,
)
from mpsn.training._samples import Samples, Shapes, Wholes, parts_of
from mpsn.training._schedules import factor
from mpsn.training._settings import TrainerSettings
from mpsn.training._splits import Split

OBSERVED = 16  # batches by which norms of averaged weights see their statistics

Batch = tuple[Tensor, tuple[int, ...] | None]  # positions, and the shape that they are padded to


@dataclass(frozen=True)
class History:
    """What happened in training, epoch by epoch.

    Attributes:
        train: Mean training loss.
        valid: Loss in validation; empty without such a part.
        best: The epoch whose weights were kept.
        curves: Losses and metrics in the parts that were held out: ``"val_accuracy"``,
            ``"test_loss"``, ...
    """

    train: tuple[float, ...]
    valid: tuple[float, ...]
    best: int
    curves: Mapping[str, tuple[float, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not 0 <= self.best < len(self.train) or len(self.valid) not in (0, len(self.train)):
            raise FileError(f"expected best among {len(self.train)} epochs, got {self.best}")


class Interrupted(Exception):  # noqa: N818
    """Training is to end, with what has been learned so far."""


class Run:
    """A network in training.

    Callbacks are given it; they read ``number``, ``network``, ``epoch`` and ``curves``, and end the
    training with ``stop()``.

    Args:
        number: Which of the networks that are trained together it is.
        seed: Of the order of the samples, and of dropout.
        network: The network, on the device.
        samples: What it is trained on.
        y: Targets on the device, (N,) or (N, T).
        parts: Positions of the samples by part.
        settings: How to train.
        loss: The loss.
        device: Where to compute.
    """

    def __init__(
        self,
        number: int,
        seed: int,
        network: torch.nn.Module,
        samples: Samples,
        y: Tensor,
        parts: Split,
        settings: TrainerSettings,
        loss: MeanLoss,
        device: torch.device,
    ) -> None:
        self.number, self.seed = number, seed
        self.network, self.samples, self.y = network, samples, y
        self.parts, self.settings, self.loss, self.device = parts, settings, loss, device
        self.epoch, self.curves, self.done = 0, dict[str, list[float]](), False
        self.generator = torch.Generator().manual_seed(seed)
        self.best, self.least = 0, math.inf
        self.weights: dict[str, Tensor] | None = None
        self._stopped = False

    def prepare(self) -> None:
        """Make the optimizer, and what steps read and write; weights may have changed before."""
        settings, cuda = self.settings, self.device.type == "cuda"
        fixed = isinstance(self.samples, Wholes) and self.samples.fixed
        self.capturing = can_capture(self.device) and settings.capture and fixed
        self.lane = Lane(self.device, self.seed)
        self.evaluated = copy.deepcopy(self.network) if settings.average else self.network
        self.module = self.network
        if world_size() > 1:
            names = signature(DistributedDataParallel).parameters
            buffers = (
                "forward_sync_buffers" if "forward_sync_buffers" in names else "broadcast_buffers"
            )
            options: Any = {buffers: False, "find_unused_parameters": True}
            self.module = DistributedDataParallel(self.network, **options)
        rate: Any = settings.lr
        if cuda:  # a tensor, so that a captured step sees it change
            rate = torch.tensor(settings.lr, device=self.device)
        self.optimizer = settings.make_optimizer(self.network.parameters(), rate, self.capturing)
        self.total = torch.zeros((), dtype=torch.float64 if not cuda else None, device=self.device)
        self.norms = [m for m in self.evaluated.modules() if isinstance(m, _BatchNorm)]
        self.held = [name for name in self.parts if name != "train" and len(self.parts[name])]
        self.rows: dict[str, Tensor] = {}
        self.seen: list[tuple[Tensor, Tensor]] = []
        train = self.parts["train"]
        self.size = min(settings.batch_size, max(1, len(train)))
        self._shapes: Shapes | None = None
        if self.capturing:
            self._shapes = Shapes(cast("Wholes", self.samples), self._all_steps())
            self._step = captured(self._take, self.device)
            self._predict = captured(self._outputs, self.device)
            self._observe = captured(self._outputs, self.device)
        else:
            self._step, self._predict = self._take, self._outputs  # type: ignore[assignment]
            self._observe = self._predict

    # Batches ---------------------------------------------------------------------------------

    def _batches(self, index: Sequence[Tensor]) -> list[Batch]:
        """Return positions of steps with the shapes that they are padded to, if any."""
        if self._shapes is None:
            return [(part, None) for part in index]
        return [(part.to(self.device, non_blocking=True), self._shapes(part)) for part in index]

    def _all_steps(self) -> list[Tensor]:
        """Return the steps of all epochs; the order of those to come stays."""
        state = self.generator.get_state()
        steps = [
            part
            for _ in range(self.settings.epochs)
            for part in self.samples.steps(self.parts["train"], self.size, self.generator)
        ]
        self.generator.set_state(state)
        return steps

    def begin(self) -> Iterator[Batch]:
        """Begin an epoch; return its steps."""
        settings = self.settings
        losses = self.curves.get("val_loss", self.curves.get("loss", []))
        rate = settings.lr * factor(
            settings.schedule,
            self.epoch,
            settings.epochs,
            settings.warmup,
            settings.patience or settings.epochs,
            losses,
        )
        for group in self.optimizer.param_groups:
            if isinstance(group["lr"], Tensor):
                group["lr"].fill_(rate)
            else:
                group["lr"] = rate
        self.total.zero_()
        self.seen = []
        self.module.train()
        for part in self.samples.steps(self.parts["train"], self.size, self.generator):
            yield from self._batches([part])

    # Steps -----------------------------------------------------------------------------------

    def step(self, batch: Batch) -> None:
        """Take a step."""
        index, rows = self._step(*batch)
        if self.settings.metrics:
            self.seen.append((index.clone(), rows.clone()))

    def _take(self, index: Tensor, shape: tuple[int, ...] | None) -> tuple[Tensor, Tensor]:
        """Take a step; return the positions that this process computes, and outputs for them."""
        part = index
        if world_size() > 1:
            part = index[balance(self.samples.sizes[index], world_size()) == rank()]
        outputs = self._compute(self.module, part, shape)
        y = self.y[part.to(self.device)]
        value = self.loss(outputs, y) if len(part) else outputs.sum() * 0
        if world_size() > 1:  # the mean of the gradients is that of the batch
            weight = torch.as_tensor(self.loss.weight(self.y[index.to(self.device)]))
            value = value * world_size() * self.loss.weight(y) / weight.clamp(min=1e-6)
        self.optimizer.zero_grad()
        with lost_process_named():
            torch.autograd.backward(value)
        if self.settings.clip is not None:
            torch.nn.utils.clip_grad_norm_(self.network.parameters(), self.settings.clip)
        self.optimizer.step()
        self.total += value.detach() * (len(index) / world_size())
        if self.evaluated is not self.network:
            pairs = zip(
                self.evaluated.state_dict().values(),
                self.network.state_dict().values(),
                strict=True,
            )
            numbers = [pair for pair in pairs if pair[0].is_floating_point()]
            old, new = ([pair[i] for pair in numbers] for i in (0, 1))
            torch._foreach_lerp_(old, new, 1 - self.settings.average)
        return part, outputs.detach()

    def _compute(
        self, network: torch.nn.Module, index: Tensor, shape: tuple[int, ...] | None
    ) -> Tensor:
        with computing(self.settings.precision, self.device):
            if shape is None:
                return exact(self.samples(network, index))
            return exact(self.samples.padded(network, index, shape))  # type: ignore[attr-defined]

    # Evaluation ------------------------------------------------------------------------------

    @torch.no_grad()
    def _outputs(self, index: Tensor, shape: tuple[int, ...] | None) -> Tensor:
        return self._compute(self.evaluated, index, shape)

    def outputs(self, index: Tensor) -> Tensor:
        """Return the outputs (n, C) of the network for samples, without dropout and gradients."""
        self.evaluated.eval()
        n, part = len(index), index
        if world_size() > 1:
            own = (balance(self.samples.sizes[index], world_size()) == rank()).nonzero()[:, 0]
            part = index[own]
        order = part if not self.capturing else part[self.samples.sizes[part].argsort()]
        size = -(-self.settings.batch_size // world_size())  # as in a step
        chunks = parts_of(self.samples, order, size)
        parts = [self._predict(*batch).clone() for batch in self._batches(chunks)]
        rows = torch.cat(parts) if parts else self.y.new_zeros(0)
        if self.capturing:  # back in the order of the index
            place = self.samples.sizes[part].argsort().argsort()
            rows = rows[place.to(rows.device)]
        if world_size() > 1:
            rows = all_sum(
                rows.new_zeros(n, *rows.shape[1:]).index_copy_(0, own.to(rows.device), rows)
            )
        return rows

    def evaluate(self) -> None:
        """Compute outputs for the parts held out; nothing waits for a GPU."""
        if world_size() > 1:
            mean_buffers(self.network)
        if self.settings.average and self.norms:
            self._refresh_norms()
        self.rows = {name: self.outputs(self.parts[name]) for name in self.held}

    def _refresh_norms(self) -> None:
        """Let the norms of averaged weights see some batches: their own statistics are late."""
        self.evaluated.train()
        momenta = [norm.momentum for norm in self.norms]
        for norm in self.norms:
            norm.reset_running_stats()
            norm.momentum = None  # the mean over all batches
        generator = torch.Generator().manual_seed(self.seed)
        steps = list(self.samples.steps(self.parts["train"], self.size, generator))[:OBSERVED]
        for batch in self._batches(steps):
            self._observe(*batch)
        for norm, momentum in zip(self.norms, momenta, strict=True):
            norm.momentum = momentum

    def finish(self) -> None:
        """End an epoch: note losses and metrics, keep the best weights."""
        values = {"loss": float(all_sum(self.total)) / max(1, len(self.parts["train"]))}
        metrics = self.settings.metric_functions()
        if metrics:
            self.rows = {"train": self._trained(), **self.rows}
        for name, rows in self.rows.items():
            y = self.y[self.parts[name].to(self.device)]
            if name != "train":
                values[f"{name}_loss"] = float(self.loss(rows, y))
            for word, metric in metrics.items():
                values[f"{name}_{word}"] = float(metric(rows, y))
        self.rows = {}
        values = agree(lambda: values)  # on machines that round differently
        if not np.isfinite(values["loss"]):
            raise MPSNError(
                f"Expected a finite training loss, got {values['loss']}; use a smaller lr, or "
                f"check features and targets for huge values."
            )
        for name, value in values.items():
            self.curves.setdefault(name, []).append(value)
        self._conclude(values.get("val_loss"))

    def _trained(self) -> Tensor:
        """Return the outputs of the epoch's steps for the training part."""
        index, rows = (torch.cat(part) for part in zip(*self.seen, strict=True))
        every = rows.new_zeros(len(self.y), *rows.shape[1:])
        every.index_copy_(0, index.to(rows.device), rows)
        return all_sum(every)[self.parts["train"].to(rows.device)]

    def _conclude(self, valid: float | None) -> None:
        settings, epoch = self.settings, self.epoch
        self.epoch += 1
        if valid is None:
            self.best = epoch
        elif valid <= self.least or self.weights is None:  # never if it is NaN, but at first
            self.least, self.best = (valid if valid == valid else math.inf), epoch
            state = self.evaluated.state_dict()
            self.weights = {name: tensor.detach().clone() for name, tensor in state.items()}
        self.done = self.epoch >= settings.epochs
        if valid is not None and settings.patience is not None:
            waited = epoch - max(self.best, settings.warmup - 1)
            self.done = self.done or waited >= settings.patience
        for callback in settings.callbacks:
            callback(self)
        self.done = self.done or self._stopped

    def stop(self) -> None:
        """End the training after this epoch."""
        self._stopped = True

    def close(self) -> None:
        """Give the network the weights to keep."""
        self.module = self.network  # not what talks to processes that may be gone
        if self.evaluated is not self.network:
            self.network.load_state_dict(self.evaluated.state_dict())
        if self.weights is not None:
            self.network.load_state_dict(self.weights)
        self.network.eval()

    @property
    def history(self) -> History:
        """What happened so far."""
        curves = {name: tuple(curve) for name, curve in self.curves.items()}
        loss = curves.pop("loss")
        return History(loss, curves.get("val_loss", ()), self.best, curves)


def train(
    runs: Sequence[Run],
    stopped: Callable[[], bool] = lambda: False,
    after: Callable[[Run], object] = lambda run: None,
) -> None:
    """Train networks side by side: a step of each in turn, epoch after epoch.

    Args:
        runs: The networks; on a GPU, each computes on a stream of its own.
        stopped: Asked before every step; to end the training, :class:`Interrupted` is raised.
        after: Called after every epoch of every network.
    """
    with products(runs[0].settings.precision, runs[0].device):
        try:
            while active := [run for run in runs if not run.done]:
                plans = [run.begin() for run in active]
                for batches in zip_longest(*plans):
                    for run, batch in zip(active, batches, strict=True):
                        if stopped():
                            raise Interrupted
                        if batch is not None:
                            with run.lane():
                                run.step(batch)
                for run in active:
                    with run.lane():
                        run.evaluate()
                for run in active:
                    with run.lane():
                        run.finish()
                    after(run)
        finally:
            for run in runs:
                run.lane.join()
