"""Training with early stopping, the same for all estimators."""

import copy
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from tqdm import tqdm

from mpsn.errors import MPSNError
from mpsn.experiments.engine import check_device

FEWEST = 20  # samples from which a part is held out for validation
STEPS = 10  # fewest in an epoch, where there are samples enough

Forward = Callable[[Tensor], Tensor]  # positions (B,) to outputs (B, C)
Loss = Callable[[Tensor, Tensor], Tensor]


@dataclass(frozen=True)
class History:
    """What happened in training, epoch by epoch.

    Attributes:
        train: Mean training loss.
        valid: Loss on the validation part; empty without one.
        best: The epoch whose weights were kept.
    """

    train: tuple[float, ...]
    valid: tuple[float, ...]
    best: int


class Ensemble(torch.nn.Module):
    """Networks of one kind, whose outputs are averaged."""

    def __init__(self, members: Iterable[torch.nn.Module]) -> None:
        super().__init__()
        self.members = torch.nn.ModuleList(members)

    def forward(self, *inputs: Any) -> Tensor:
        """Return the mean of what the networks say."""
        return torch.stack([member(*inputs) for member in self.members]).mean(dim=0)


def pick_device(device: str | torch.device) -> torch.device:
    """Return the device named; ``"auto"`` is the GPU where there is one."""
    if device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        return check_device(device)
    except MPSNError as error:
        raise MPSNError(f"{error} Or use 'auto', which takes a GPU where there is one.") from error


@contextmanager
def seeded(seed: int, device: torch.device) -> Iterator[None]:
    """Seed torch inside, and leave its state as it was."""
    with torch.random.fork_rng([device] if device.type == "cuda" else []):
        torch.manual_seed(seed)
        yield


def hold_out(
    n: int, part: float, classes: NDArray[np.int64] | None, seed: int
) -> tuple[Tensor, Tensor]:
    """Split 0 .. n - 1 at random into training and validation, by class where there are classes.

    Of every class with at least two members, at least one stays and at least one is held out.
    Fewer than 20 in all are not split: the second part is empty.
    """
    rng = np.random.default_rng(seed)
    held = np.zeros(n, bool)
    if n >= FEWEST and part > 0:
        groups = np.zeros(n, np.int64) if classes is None else classes
        for group in np.unique(groups):
            members = rng.permutation(np.flatnonzero(groups == group))
            size = min(max(1, round(part * len(members))), len(members) - 1)
            held[members[:size]] = True
    return torch.from_numpy(np.flatnonzero(~held)), torch.from_numpy(np.flatnonzero(held))


def train(
    model: torch.nn.Module,
    forward: Forward,
    loss: Loss,
    y: Tensor,
    parts: tuple[Tensor, Tensor],
    *,
    epochs: int,
    batch_size: int,
    learning_rate: float,
    patience: int,
    verbose: bool,
) -> History:
    """Train until the loss on the validation part has not fallen for ``patience`` epochs.

    Adam; the learning rate is halved when that loss has not fallen for a third as long. The weights
    of the best epoch are kept. Without a validation part, trains for all epochs and keeps the last.
    """
    fit, valid = (part.to(y.device) for part in parts)
    size = min(batch_size, max(16, len(fit) // STEPS))
    optimizer = torch.optim.Adam(model.parameters(), lr=learning_rate)
    schedule = torch.optim.lr_scheduler.ReduceLROnPlateau(
        optimizer, factor=0.5, patience=max(1, patience // 3)
    )
    losses: list[float] = []
    checks: list[float] = []
    best, kept = 0, model.state_dict()
    with tqdm(total=epochs, desc="Training", disable=not verbose, unit="epoch") as bar:
        for epoch in range(epochs):
            total = torch.zeros((), device=y.device)
            model.train()
            for index in torch.split(fit[torch.randperm(len(fit)).to(fit.device)], size):
                step = loss(forward(index), y[index])
                optimizer.zero_grad()
                step.backward()  # type: ignore[no-untyped-call]
                optimizer.step()
                total += step.detach() * len(index)
            losses.append(float(total) / max(1, len(fit)))
            bar.update()
            bar.set_postfix(loss=f"{losses[-1]:.3f}")
            if not np.isfinite(losses[-1]):
                raise MPSNError(
                    f"Expected a finite training loss, got {losses[-1]} in epoch {epoch + 1}; use "
                    f"a smaller learning_rate, or check features and targets for huge values."
                )
            if not len(valid):
                best = epoch
                continue
            checks.append(float(loss(outputs(model, forward, valid, batch_size), y[valid])))
            schedule.step(checks[-1])
            if checks[-1] <= min(checks):
                best, kept = epoch, copy.deepcopy(model.state_dict())
            elif epoch - best >= patience:
                break
    if checks:
        model.load_state_dict(kept)
    model.eval()
    return History(tuple(losses), tuple(checks), best)


def outputs(model: torch.nn.Module, forward: Forward, index: Tensor, batch_size: int) -> Tensor:
    """Return the outputs for some positions, without dropout and gradients."""
    model.eval()
    with torch.no_grad():
        return torch.cat([forward(part) for part in torch.split(index, 4 * batch_size)])
