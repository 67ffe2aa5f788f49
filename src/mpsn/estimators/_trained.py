"""What all estimators share: settings of training, and networks that a Trainer trains."""

import copy
import inspect
import os
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
import torch
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from mpsn.errors import MPSNError
from mpsn.estimators._ensemble import Ensemble, check_finite
from mpsn.estimators._saving import load_estimator, save_estimator
from mpsn.estimators._settings import with_settings
from mpsn.estimators._settle import Settle, unsettle
from mpsn.estimators._summary import summary
from mpsn.estimators._targets import Targets, compare
from mpsn.estimators._tasks import NUMBERS
from mpsn.nn.models import Model
from mpsn.training import History, Trainer, TrainerSettings, agree, pick_device
from mpsn.training.internal import (
    Precision,
    check_precision,
    known,
    outputs_of,
    samples_of,
    serially,
)

MIN_SAMPLES = 20  # with fewer, none are held out for validation
MIN_STEPS = 10  # in an epoch, if there are enough samples
WARMUP = 5  # epochs


@dataclass(frozen=True)
class Learned:
    """What any estimator learns, as a file says it; attributes have an underscore behind."""

    targets: Targets
    histories: tuple[History, ...]
    n_validation: int
    scores: dict[str, float]
    task_scores: dict[str, dict[str, float]]


class Fitted(BaseEstimator):
    """What any estimator has once it is fitted."""

    model_: Ensemble
    targets_: Targets
    histories_: tuple[History, ...]
    n_validation_: int
    scores_: dict[str, float]
    task_scores_: dict[str, dict[str, float]]
    interrupted_: bool


@with_settings
class Trained(Fitted):
    """Networks that a :class:`mpsn.training.Trainer` trains; subclasses say on what.

    Args:
        network: A network of your own, instead of the default one: a module, which is copied for
            each member; a function, such as a class, with keywords ``in_channels`` and
            ``out_channels``, which gets the widths of the features and of the output; or a function
            from a seed to a module, called after torch has been seeded with it.
        trainer: How to train, as :meth:`mpsn.training.Trainer.settings` returns it, instead of by
            ``epochs``, ``batch_size``, ``learning_rate``, ``patience`` and ``precision``.
        hidden: Width of the layers of the default network.
        layers: Number of its layers.
        members: Number of networks, each with other samples held out; their outputs are averaged.
        epochs: Largest number of epochs.
        batch_size: Largest number of samples per step; smaller if an epoch would have less than ten
            steps.
        learning_rate: Initial learning rate of Adam.
        patience: Number of epochs without a better validation loss after which training stops; the
            first five do not count.
        validation: Fraction of the samples held out for that; with fewer than 20, none are.
        device: ``"auto"``, ``"cpu"`` or ``"cuda"``.
        precision: Precision of the network: ``"float32"``; ``"bf16"``, autocast to bfloat16 in
            forward passes, in less memory on a GPU; or ``"tf32"``, matrix products of rounded
            factors on a GPU. Weights, sums and explanations are always in single precision.
        random_state: Seed of all random numbers.
        verbose: Whether to show a progress bar.
    """

    network: Any = None
    trainer: TrainerSettings | None = None
    hidden: int = 32
    layers: int = 2
    members: int = 1
    epochs: int = 100
    batch_size: int = 64
    learning_rate: float = 0.01
    patience: int = 10
    validation: float = 0.1
    device: str = "auto"
    precision: Precision = "float32"
    random_state: int | np.random.RandomState | None = 0
    verbose: bool = False

    _learned: ClassVar[type[Learned]] = Learned
    _counted: ClassVar[tuple[str, ...]] = ("members",)  # settings that are integers from 1 on
    _samples: ClassVar[str]  # what has a target
    _least_batch: ClassVar[int | None] = 16  # down to which short epochs make steps smaller

    # Networks --------------------------------------------------------------------------------

    @abstractmethod
    def _network(self) -> Model:
        """Return the default network, untrained."""

    @abstractmethod
    def _widths(self) -> Any:
        """Return the widths of its input."""

    def _make(self, seed: int) -> torch.nn.Module:
        """Return a network to train; torch has been seeded."""
        if self.network is None:
            return self._network()
        if isinstance(self.network, torch.nn.Module):
            return copy.deepcopy(self.network)
        if not callable(self.network):
            raise MPSNError(
                f"Expected a network, a function to one, or None for the default, got "
                f"{self.network!r:.60}."
            )
        parameters = inspect.signature(self.network).parameters.values()
        if any(p.name == "in_channels" or p.kind == p.VAR_KEYWORD for p in parameters):
            widths = {"in_channels": self._widths(), "out_channels": self.targets_.width}
            return self.network(**widths)  # type: ignore[no-any-return]
        return self.network(seed)  # type: ignore[no-any-return]

    # Training --------------------------------------------------------------------------------

    def _check(self) -> TrainerSettings:
        """Check the settings; return how to train."""
        for name in self._counted:
            value, least = getattr(self, name), int(name != "max_dim")
            if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
                raise MPSNError(f"Expected {name} as an integer >= {least}, got {value!r:.60}.")
        check_precision(self.precision)
        if not isinstance(held := self.validation, NUMBERS) or not 0 <= held < 1:
            raise MPSNError(f"Expected 0 <= validation < 1, got {held!r}.")
        if not isinstance(rate := self.learning_rate, NUMBERS) or not 0 < rate < np.inf:
            raise MPSNError(f"Expected a learning_rate above 0, got {rate!r}.")
        if isinstance(self.trainer, TrainerSettings):
            return self.trainer
        if self.trainer is not None:
            raise MPSNError(
                f"Expected trainer as Trainer.settings(...), or None, got {self.trainer!r:.60}."
            )
        return TrainerSettings(
            optimizer="adam",
            schedule="plateau",
            warmup=WARMUP,
            lr=self.learning_rate,
            epochs=self.epochs,
            patience=self.patience,
            batch_size=self.batch_size,
            precision=self.precision,
        )

    def _begin(self) -> tuple[int, torch.device]:
        """Check the settings before a fit; return a seed, that of all processes, and the device."""
        self._check()
        device = pick_device(self.device)
        try:
            random = check_random_state(self.random_state)
        except ValueError as error:
            raise MPSNError(
                f"Expected random_state as an integer from 0 to 2**32 - 1, a RandomState or None, "
                f"got {self.random_state!r:.40}."
            ) from error
        return agree(lambda: int(random.randint(2**31 - 1))), device

    def _plan(self, n: int, seed: int) -> TrainerSettings:
        """Return how to train on so many samples."""
        how, targets = self._check(), self.targets_
        if self.trainer is None and self._least_batch is not None:
            used = n - int(n * self._fraction(n))
            size = min(self.batch_size, max(self._least_batch, used // MIN_STEPS))
            how = replace(how, batch_size=size)
        loss = how.loss
        if isinstance(loss, str) and loss not in targets.losses:
            if loss != TrainerSettings().loss:
                raise MPSNError(
                    f"Expected a loss among {', '.join(targets.losses)}, or a function, for "
                    f"{targets!s:.60}, got {loss!r}."
                )
            loss = targets.losses[0]
        weights = targets.weigh(getattr(self, "class_weight", None))
        return replace(
            how,
            loss=loss,
            class_weight=how.class_weight if weights is None else weights.tolist(),
            device=self.device,
            seed=seed,
            progress=self.verbose,
            callbacks=[*how.callbacks, *([Settle()] if self.network is None else [])],
        )

    def _fraction(self, n: int) -> float:
        return float(self.validation) if n >= MIN_SAMPLES else 0.0

    def _train(
        self,
        data: Any,
        y: Tensor,
        how: TrainerSettings,
        split: Any = None,
        resume: str | os.PathLike[str] | None = None,
    ) -> Trainer:
        """Train networks to predict encoded targets, (N,) or (N, T)."""
        trainer = Trainer([self._make] * self.members, **how.asdict())
        trainer.fit(data, y, self._fraction(len(y)) if split is None else split, resume=resume)
        for network in trainer.networks:
            unsettle(network)
        self.model_ = Ensemble(trainer.networks)
        self.histories_, self.interrupted_ = tuple(trainer.histories), trainer.interrupted
        return trainer

    def _train_and_compare(self, data: Any, y: Tensor, seed: int, **options: Any) -> None:
        """Train, and say how good the networks are on the samples held out."""
        how = self._plan(len(y), seed)
        trainer = self._train(data, y, how, **options)
        rows = serially(self._held_out, trainer, data, how)
        self._compare({"this model": rows}, y, held_of(trainer.splits))

    def _held_out(self, trainer: Trainer, data: Any, how: TrainerSettings) -> list[Tensor]:
        """Return the outputs of each network for the samples that were held out."""
        device = pick_device(how.device)
        samples, none = samples_of(data, None, device), torch.zeros(0, self.targets_.width)
        pairs = zip(trainer.networks, held_of(trainer.splits), strict=True)
        return [
            outputs_of(network, samples, index, how, device).cpu() if len(index) else none
            for network, index in pairs
        ]

    def _compare(
        self, rows: Mapping[str, Sequence[Tensor]], y: Tensor, held: Sequence[Tensor]
    ) -> None:
        """Set the scores of models by their outputs for the samples that were held out."""
        self.n_validation_, truth = len(held[0]), torch.cat([y[index] for index in held])
        self.scores_, self.task_scores_ = {}, {}
        if known(truth).sum() > 1:
            together = {name: torch.cat(list(parts)) for name, parts in rows.items()}
            for outputs in together.values():
                check_finite(outputs)
            self.scores_, self.task_scores_ = compare(self.targets_, together, truth)

    # Predictions -----------------------------------------------------------------------------

    def _mean_outputs(self, data: Any) -> Tensor:
        """Return the mean outputs (N, C) of the networks for samples; they are finite."""
        device, how = self.model_.device, self._check()
        samples = samples_of(data, None, device)
        index = torch.arange(len(samples.sizes))
        rows = [outputs_of(member, samples, index, how, device) for member in self.model_.members]
        return check_finite(torch.stack(rows).mean(dim=0))

    # In words, and in files ------------------------------------------------------------------

    def summary(self) -> str:
        """Return a description of the data, the network and its training."""
        check_is_fitted(self, "model_")
        return summary(self)

    @property
    def _lives_on(self) -> Any:
        """The complex that the model is for; None if it is for any."""
        return None

    @property
    def _depth(self) -> int:
        """Largest dimension of the cells that have weights in the default network."""
        return 0

    @abstractmethod
    def _described(self) -> tuple[str, dict[str, str]]:
        """Return what it was fitted to, and more lines by name, for the summary."""

    def _network_in_words(self) -> tuple[str, str]:
        """Return what the default network is called, and more about it."""
        return type(self.model_.members[0]).__name__, ""

    def _after_training(self) -> dict[str, str]:
        """Return lines about what is not the network's training, by name, for the summary."""
        return {}

    def _use_of_held(self) -> str:
        return "to stop"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to one file: weights and JSON, no pickle.

        A network of one's own must be one of :mod:`mpsn.nn.models`; settings of a trainer that are
        functions are not kept.
        """
        check_is_fitted(self, "model_")
        save_estimator(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a model that :meth:`save` wrote; runs no code from the file.

        A file that is damaged or of a newer version is refused. The model goes to the GPU if there
        is one.
        """
        return load_estimator(path, cls)

    @abstractmethod
    def _adopt(self) -> None:
        """Check what was read from a file, and set what follows from it."""

    def _ensemble(self, members: Sequence[torch.nn.Module], tensors: dict[str, Tensor]) -> Ensemble:
        """Return the model, of networks without weights."""
        return Ensemble(members)


def held_of(splits: Sequence[Mapping[str, Tensor]]) -> list[Tensor]:
    """Return the positions of the samples held out, for each network."""
    return [parts.get("val", torch.zeros(0, dtype=torch.int64)) for parts in splits]
