"""How estimators train: settings they share, early stopping, and networks side by side."""

import threading
import warnings
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import wait
from dataclasses import dataclass
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d
from torch import Tensor
from tqdm import tqdm

from mpsn.errors import FileError, MPSNError, TrainingInterrupted
from mpsn.estimators._progress import Progress, Resume
from mpsn.estimators._settle import settle, unsettle
from mpsn.estimators._threads import serial_worker
from mpsn.training._device import OwnRandomness, check_precision, computing, pick_device, products
from mpsn.training._distributed import Forward, Parallel, sum_gradients
from mpsn.training._launch import LostProcess
from mpsn.training._loop import EarlyStopping, fit
from mpsn.training._processes import agree, world_size
from mpsn.training._splits import hold_out

MIN_SAMPLES = 20  # with fewer, none are held out for validation
MIN_STEPS = 10  # in an epoch, if there are enough samples
WARMUP = 5  # epochs
NUMBERS = (int, float, np.integer, np.floating)

Loss = Callable[[Tensor, Tensor], Tensor]
Parts = Callable[[Tensor, torch.Generator], Iterable[Tensor]]  # positions to those of each step


@dataclass(frozen=True)
class History:
    """What happened in training, epoch by epoch.

    Attributes:
        train: Mean training loss.
        valid: Loss on the samples held out; empty if there are none.
        best: The epoch whose weights were kept.
    """

    train: tuple[float, ...]
    valid: tuple[float, ...]
    best: int

    def __post_init__(self) -> None:
        if not 0 <= self.best < len(self.train) or len(self.valid) not in (0, len(self.train)):
            raise FileError(f"expected best among {len(self.train)} epochs, got {self.best}")


class Split(NamedTuple):
    """Positions of the samples to train a network on, and of those held out."""

    used: Tensor
    held: Tensor


class Member(NamedTuple):
    """A trained network."""

    network: torch.nn.Module
    history: History
    split: Split


class Trainer:
    """Trains networks with the settings of an estimator, which are checked."""

    def __init__(self, estimator: Any) -> None:
        check_settings(estimator, "epochs", "batch_size", "patience")
        self.settings = estimator
        self.resume: Resume | None = None
        self.parts: Parts | None = None  # how the samples of an epoch are divided into steps
        self.device = pick_device(estimator.device)
        try:
            random = check_random_state(estimator.random_state)
        except ValueError as error:
            raise MPSNError(
                f"Expected random_state as an integer from 0 to 2**32 - 1, a RandomState or None, "
                f"got {estimator.random_state!r:.40}."
            ) from error
        self.seed = agree(lambda: int(random.randint(2**31 - 1)))
        self._stop = threading.Event()
        self.interrupted = False

    def split(self, y: Tensor, classes: Tensor | None, member: int) -> Split:
        """Hold samples out; other ones for each member."""
        groups = torch.zeros(len(y)) if classes is None else classes
        fraction = self.settings.validation if len(y) >= MIN_SAMPLES else 0.0
        return Split(*(at.to(y.device) for at in hold_out(groups, fraction, self.seed + member)))

    def train(
        self,
        make: Callable[[], torch.nn.Module],
        forward: Forward,
        loss: Loss,
        y: Tensor,
        classes: Tensor | None = None,
        members: int = 1,
        cells: Tensor | None = None,
    ) -> list[Member]:
        """Train networks until the loss on samples held out has not fallen for some epochs.

        The weights of the best epoch are kept; without samples held out, those of the last. On a
        CPU one thread is used, whatever the number that torch has. After Ctrl-C, the networks that
        have finished an epoch are returned, with a warning. Several processes train each network
        together, if the number of ``cells`` of each sample, (n,), is given; Ctrl-C ends these, for
        they may have stopped at different steps, and checkpoints are what is left.
        """
        if cells is None and world_size() > 1:
            raise MPSNError(
                f"Expected one process to train a {type(self.settings).__name__}, got "
                f"{world_size()}; only models of whole graphs are trained by several."
            )
        shared = Parallel(forward, torch.ones(len(y)) if cells is None else cells)

        def run(member: int) -> Member | None:
            if world_size() > 1 and self._stop.is_set():  # it would wait for the others
                return None
            return self._train(make, shared, loss, y, self.split(y, classes, member), member)

        with serial_worker() as pool:
            futures = [pool.submit(run, member) for member in range(members)]
            try:
                while not all(future.done() for future in futures):  # a wait hides Ctrl-C at times
                    done = wait(futures, 0.2, return_when="FIRST_EXCEPTION").done
                    if any(future.exception() for future in done):
                        break
            except KeyboardInterrupt:
                self.interrupted = True
            finally:
                self._stop.set()
            found = [future.result() for future in futures]
        trained = [member for member in found if member is not None]
        if self.interrupted:
            if not trained or world_size() > 1:  # which need not have stopped at one step
                raise KeyboardInterrupt
            epochs = ", ".join(str(len(member.history.train)) for member in trained)
            warnings.warn(
                f"Training was interrupted; the best of {epochs} epochs is kept.",
                TrainingInterrupted,
                stacklevel=3,
            )
        return trained

    def _train(
        self,
        make: Callable[[], torch.nn.Module],
        forward: Parallel,
        loss: Loss,
        y: Tensor,
        split: Split,
        member: int,
    ) -> Member | None:
        settings, (used, held) = self.settings, split
        size = min(settings.batch_size, max(16, len(used) // MIN_STEPS))
        total = torch.zeros((), device=y.device)
        with OwnRandomness(self.seed + member, self.device) as random:
            network = make().to(self.device)
        with (
            random.dropout(network),
            tqdm(
                total=settings.epochs,
                desc=f"network {member + 1} of {getattr(settings, 'members', 1)}",
                disable=not settings.verbose,
                position=member,
                unit="epoch",
            ) as bar,
        ):
            settle(network, forward.forward, used)
            adam = torch.optim.Adam(network.parameters(), settings.learning_rate, fused=True)
            stopping = EarlyStopping(network, adam, settings.patience, WARMUP)
            progress = Progress(self.resume, member, network, adam, stopping, random.generators)
            losses, finished = progress.restore()
            bar.update(len(losses))

            def batches(epoch: int) -> Iterator[Tensor]:
                parts: Iterable[Tensor]
                if self.parts is not None:
                    parts = self.parts(used, random.generators["cpu"])
                else:
                    order = torch.randperm(len(used), generator=random.generators["cpu"])
                    parts = torch.split(used[order.to(used.device)], size)
                for part in parts:
                    if self._stop.is_set():
                        raise Interrupted
                    yield part

            def step(index: Tensor) -> None:
                with computing(settings.precision, self.device):
                    found = forward(network, index)
                value = loss(found.float(), y[index])
                adam.zero_grad()
                value.backward()  # type: ignore[no-untyped-call]
                sum_gradients(network)
                adam.step()
                total.add_(value.detach() * len(index))

            def evaluate() -> tuple[float, float]:
                mean = float(total) / max(1, len(used))
                total.zero_()
                if not np.isfinite(mean):
                    raise MPSNError(
                        f"Expected a finite training loss, got {mean}; use a smaller "
                        f"learning_rate, or check features and targets for huge values."
                    )
                valid = mean
                if len(held):
                    valid = float(loss(outputs(settings, network, forward, held), y[held]))
                mean, valid = agree(lambda: (mean, valid))  # on machines that round differently
                bar.set_postfix(loss=f"{mean:.3f}", held_out=f"{valid:.3f}")
                losses.append((mean, valid))
                return mean, valid

            def stop(found: tuple[float, float]) -> bool:
                over = stopping(found[1]) and len(held) > 0
                progress.save(losses, over or len(losses) == settings.epochs)
                return over

            try:
                with forward.training(network), products(settings.precision, self.device):
                    fit(
                        network,
                        len(losses) if finished else settings.epochs,
                        batches,
                        step,
                        evaluate,
                        schedule=stopping.schedule,
                        stop=stop,
                        tick=bar.update,
                        done=losses,
                    )
            except Interrupted:
                progress.write()
            except LostProcess:
                progress.write()
                raise
        if not losses:
            return None
        if len(held):
            stopping.restore()
        unsettle(network)
        train, valid = zip(*losses, strict=True)
        best = stopping.best if len(held) else len(train) - 1
        return Member(network.eval(), History(train, valid if len(held) else (), best), split)


class Interrupted(Exception):  # noqa: N818
    """Training is to end, with what has been learned so far."""


def check_settings(estimator: Any, *counts: str) -> None:
    """Check the settings of training, and those named: integers from 1 on, max_dim from 0 on."""
    for name in counts:
        value = getattr(estimator, name)
        least = int(name != "max_dim")
        if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
            raise MPSNError(f"Expected {name} as an integer >= {least}, got {value!r:.60}.")
    if (kernel := getattr(estimator, "kernel", None)) not in (None, True, False):
        raise MPSNError(f"Expected kernel as True, False or None (both), got {kernel!r:.60}.")
    check_precision(estimator.precision)
    if not isinstance(held := estimator.validation, NUMBERS) or not 0 <= held < 1:
        raise MPSNError(f"Expected 0 <= validation < 1, got {held!r}.")
    if not isinstance(rate := estimator.learning_rate, NUMBERS) or not 0 < rate < np.inf:
        raise MPSNError(f"Expected a learning_rate above 0, got {rate!r}.")


def outputs(
    settings: Any,
    network: torch.nn.Module,
    forward: Forward,
    index: Tensor,
    batch_size: int | None = None,
) -> Tensor:
    """Return the outputs for some positions, without dropout and gradients; they are finite.

    The precision, and the default of ``batch_size``, are those of an estimator, ``settings``.
    """
    network.eval()
    size = min(4 * (batch_size or settings.batch_size), max(1, len(index)))
    with torch.no_grad(), computing(settings.precision, index.device):
        found = torch.cat([forward(network, part) for part in torch.split(index, size)]).float()
    check_finite(found)
    return found


def check_finite(outputs: Tensor) -> None:
    """Refuse outputs of a network that are no numbers."""
    if not bool(outputs.isfinite().all()):
        raise MPSNError(
            "Expected finite outputs of the network, got NaN or infinity; its weights or the "
            "features are too large: scale the features, or use a smaller learning_rate."
        )


def as_targets(y: Any) -> NDArray[Any]:
    """Return targets as an array: one, or a row of equally many, for each graph, cell, ..."""
    try:
        rows = np.asarray(y.detach().cpu().to_dense() if isinstance(y, Tensor) else y)
    except (TypeError, ValueError, RuntimeError) as error:
        raise MPSNError(
            f"Expected targets y, one or a row of equally many for each, got {error!s:.200}."
        ) from error
    if rows.ndim == 0:
        raise MPSNError(f"Expected a list of targets y, got one {type(y).__name__}; list them.")
    if rows.dtype.kind in "Sc" or any(isinstance(label, bytes) for label in rows.flat[:1]):
        raise MPSNError(
            f"Expected targets y as real numbers or text, got {rows.flat[0]!r:.40}; convert them."
        )
    return rows


def learn_classes(y: Any) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return the classes among targets, sorted, and the number of each target's class."""
    try:
        y = column_or_1d(as_targets(y))
        with np.errstate(invalid="ignore"):  # NaN, which is refused next
            check_classification_targets(y)
    except (TypeError, ValueError) as error:
        raise MPSNError(
            f"Expected targets y that are classes, got {error!s:.200} For numbers, use a regressor."
        ) from error
    classes, numbers = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise MPSNError(f"Expected at least two classes in y, got only {classes[0]!r}.")
    return classes, numbers.astype(np.int64)
