"""Training of the networks of an experiment, by :class:`mpsn.training.Trainer`."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor

from mpsn.complexes import ComplexDataset
from mpsn.errors import TrainingInterrupted
from mpsn.training import History, StepDecay, Trainer, TrainerSettings, loss_of
from mpsn_reproduction.experiment import Resources
from mpsn_reproduction.settings import Precision

DIVERGED = 1e6  # a loss that is not finite

Curves = dict[str, list[float]]


@dataclass(frozen=True)
class StepTraining:
    """Adam, with a learning rate that drops again and again."""

    epochs: int = 200
    """Number of passes over the training part."""
    batch_size: int = 32
    """Complexes in a mini-batch."""
    lr: float = 0.001
    """Initial learning rate."""
    decay_every: int = 50
    """Number of epochs after which the learning rate drops, again and again."""
    decay: float = 0.5
    """Factor by which it drops."""
    precision: Precision = "float32"
    """Precision of the network: float32, bf16 or, on a GPU, tf32."""

    def __post_init__(self) -> None:
        TrainerSettings(**self.settings())

    def settings(self) -> dict[str, Any]:
        """Return these settings as those of a trainer."""
        values = asdict(self)
        schedule = StepDecay(values.pop("decay_every"), values.pop("decay"))
        return {"optimizer": "adam", "schedule": schedule, **values}


@dataclass(frozen=True)
class CosineTraining:
    """AdamW, with a learning rate that rises linearly and falls like a cosine."""

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
        TrainerSettings(**self.settings())

    def settings(self) -> dict[str, Any]:
        """Return these settings as those of a trainer."""
        return {"optimizer": "adamw", "schedule": "cosine", **asdict(self)}


def train_networks(
    build: Callable[[], torch.nn.Module],
    data: Any,
    y: Tensor,
    splits: Sequence[Mapping[str, Tensor]],
    seeds: Sequence[int],
    resources: Resources,
    *,
    loss: str | Callable[[Tensor, Tensor], Tensor],
    **settings: Any,
) -> Trainer:
    """Train a network on each split, as it would be trained alone.

    A loss that is not finite counts as a large one, so that a network that diverges loses in
    validation, and the others go on.

    Args:
        build: Makes a network, after torch has been seeded.
        data: The complexes, with features.
        y: Their targets.
        splits: Positions of the complexes by part: train, val, test.
        seeds: One for each split: for the weights, the order of the complexes, and dropout.
        resources: Where to train, and whom to tell of each epoch.
        loss: Name of the loss, or a function from outputs and targets to losses.
        **settings: Other settings of the trainer.
    """
    exact = loss_of(loss)
    trainer = Trainer(
        [lambda seed: build()] * len(seeds),
        loss=lambda outputs, y: exact(outputs, y).nan_to_num(DIVERGED, DIVERGED, -DIVERGED),
        seed=seeds,
        device=str(resources.device),
        callbacks=[lambda run: resources.tick(1)],
        **settings,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TrainingInterrupted)
        trainer.fit(data, y, splits)
    if trainer.interrupted:
        raise KeyboardInterrupt
    return trainer


def train_classifiers(
    build: Callable[[], torch.nn.Module],
    data: ComplexDataset[Any],
    y: Tensor,
    splits: Sequence[Mapping[str, Tensor]],
    seeds: Sequence[int],
    settings: StepTraining,
    resources: Resources,
    *,
    capture: bool = True,
) -> Trainer:
    """Train a classifier on each split, or, for numbers y of variance 1, a regression.

    Args:
        build: Makes a network, after torch has been seeded.
        data: The complexes, with features.
        y: Their classes, (N,) int64, or numbers, (N,) float32.
        splits: Positions of the complexes by part: train, val, test.
        seeds: One for each split.
        settings: How to train.
        resources: Where to train, and whom to tell of each epoch.
        capture: Whether steps can be captured on a GPU.
    """
    return train_networks(
        build,
        data,
        y,
        splits,
        seeds,
        resources,
        loss="mse" if y.is_floating_point() else "cross_entropy",
        metrics={"accuracy": _explained} if y.is_floating_point() else ["accuracy"],
        capture=capture,
        **settings.settings(),
    )


def _explained(outputs: Tensor, y: Tensor) -> float:
    """Return the share of the variance of numbers of variance 1 that outputs (n, 1) explain."""
    return 1 - float((outputs[:, 0] - y).square().mean())


def accuracies(history: History) -> Curves:
    """Return the loss of each epoch, and the accuracies ``train``, ``val`` and ``test``.

    Loss and training accuracy are those during the epoch, with dropout; the others are after it.
    """
    curves = {name: history.curves.get(f"{name}_accuracy", ()) for name in ("train", "val", "test")}
    return {name: list(curve) for name, curve in {"loss": history.train, **curves}.items()}


def used(data: ComplexDataset[Any], network: Mapping[str, Any]) -> ComplexDataset[Any]:
    """Return the complexes with those cells only that a network uses, of SIN or of GIN."""
    return ComplexDataset(data.union.skeleton(network.get("max_dim", 1)))
