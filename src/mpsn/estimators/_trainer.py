"""How estimators train: settings they share, early stopping, and networks that vote."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d
from torch import Tensor
from tqdm import tqdm

from mpsn.errors import FileError, MPSNError
from mpsn.training._device import pick_device, seeded
from mpsn.training._loop import EarlyStopping, fit
from mpsn.training._splits import hold_out

MIN_SAMPLES = 20  # with fewer, none are held out for validation
MIN_STEPS = 10  # in an epoch, if there are enough samples
NUMBERS = (int, float, np.integer, np.floating)

Forward = Callable[[torch.nn.Module, Tensor], Tensor]  # network and positions (B,) to (B, C)


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


class Ensemble(torch.nn.Module):
    """Networks of one kind, whose outputs are averaged."""

    def __init__(self, members: Iterable[torch.nn.Module]) -> None:
        super().__init__()
        self.members = torch.nn.ModuleList(members)

    def forward(self, *inputs: Any) -> Tensor:
        """Return the mean of the networks' outputs."""
        return torch.stack([member(*inputs) for member in self.members]).mean(dim=0)


class Trainer:
    """Trains networks with the settings of an estimator, which are checked."""

    def __init__(self, estimator: Any) -> None:
        check_settings(estimator, "epochs", "batch_size", "patience")
        self.settings = estimator
        self.device = pick_device(estimator.device)
        try:
            random = check_random_state(estimator.random_state)
        except ValueError as error:
            raise MPSNError(
                f"Expected random_state as an integer from 0 to 2**32 - 1, a RandomState or None, "
                f"got {estimator.random_state!r:.40}."
            ) from error
        self._seed = int(random.randint(2**31 - 1))

    def train(
        self,
        make: Callable[[], torch.nn.Module],
        forward: Forward,
        loss: Callable[[Tensor, Tensor], Tensor],
        y: Tensor,
        classes: Tensor | None = None,
        member: int = 0,
    ) -> tuple[torch.nn.Module, History, int]:
        """Train a network until the loss on samples held out has not fallen for some epochs.

        The weights of the best epoch are kept; without samples held out, those of the last. Each
        ``member`` has other samples held out.

        Returns:
            The network, its history, and the number of samples held out.
        """
        settings, seed = self.settings, self._seed + member
        groups = torch.zeros(len(y)) if classes is None else classes
        fraction = settings.validation if len(y) >= MIN_SAMPLES else 0.0
        used, held = (at.to(y.device) for at in hold_out(groups, fraction, seed))
        size = min(settings.batch_size, max(16, len(used) // MIN_STEPS))
        total = torch.zeros((), device=y.device)
        off = not settings.verbose
        with (
            seeded(seed, self.device),
            tqdm(total=settings.epochs, desc="Training", disable=off, unit="epoch") as bar,
        ):
            network = make().to(self.device)
            adam = torch.optim.Adam(network.parameters(), lr=settings.learning_rate)
            stopping = EarlyStopping(network, adam, settings.patience)

            def step(index: Tensor) -> None:
                value = loss(forward(network, index), y[index])
                adam.zero_grad()
                value.backward()  # type: ignore[no-untyped-call]
                adam.step()
                total.add_(value.detach() * len(index))

            def evaluate() -> tuple[float, float]:
                mean = float(total) / max(1, len(used))
                total.zero_()
                bar.set_postfix(loss=f"{mean:.3f}")
                if not np.isfinite(mean):
                    raise MPSNError(
                        f"Expected a finite training loss, got {mean}; use a smaller "
                        f"learning_rate, or check features and targets for huge values."
                    )
                if not len(held):
                    return mean, 0.0
                return mean, float(
                    loss(outputs(network, forward, held, settings.batch_size), y[held])
                )

            losses = fit(
                network,
                settings.epochs,
                lambda epoch: torch.split(used[torch.randperm(len(used)).to(used.device)], size),
                step,
                evaluate,
                stop=lambda found: len(held) > 0 and stopping(found[1]),
                tick=bar.update,
            )
        train, valid = zip(*losses, strict=True)
        if not len(held):
            return network, History(train, (), len(train) - 1), 0
        stopping.restore()
        return network, History(train, valid, stopping.best), len(held)


def check_settings(estimator: Any, *counts: str) -> None:
    """Check the settings of training, and those named, which must be integers from 1 on."""
    for name in counts:
        value = getattr(estimator, name)
        if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
            raise MPSNError(f"Expected {name} as an integer >= 1, got {value!r}.")
    if not isinstance(held := estimator.validation, NUMBERS) or not 0 <= held < 1:
        raise MPSNError(f"Expected 0 <= validation < 1, got {held!r}.")
    if not isinstance(rate := estimator.learning_rate, NUMBERS) or not 0 < rate < np.inf:
        raise MPSNError(f"Expected a learning_rate above 0, got {rate!r}.")


def outputs(network: torch.nn.Module, forward: Forward, index: Tensor, batch_size: int) -> Tensor:
    """Return the outputs for some positions, without dropout and gradients; they are finite."""
    network.eval()
    size = min(4 * batch_size, max(1, len(index)))
    with torch.no_grad():
        found = torch.cat([forward(network, part) for part in torch.split(index, size)])
    check_finite(found)
    return found


def check_finite(outputs: Tensor) -> None:
    """Refuse outputs of a network that are no numbers."""
    if not bool(outputs.isfinite().all()):
        raise MPSNError(
            "Expected finite outputs of the network, got NaN or infinity; its weights or the "
            "features are too large: scale the features, or use a smaller learning_rate."
        )


def learn_classes(y: Any) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return the classes among targets, sorted, and the number of each target's class."""
    try:
        y = column_or_1d(y)
        with np.errstate(invalid="ignore"):  # NaN, which is refused next
            check_classification_targets(y)
    except ValueError as error:
        raise MPSNError(
            f"Expected targets y that are classes, got {error!s:.200} For numbers, use a regressor."
        ) from error
    classes, numbers = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise MPSNError(f"Expected at least two classes in y, got only {classes[0]!r}.")
    return classes, numbers.astype(np.int64)
