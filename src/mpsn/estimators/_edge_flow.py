"""Classify flows on the edges of one complex, whatever the edges' orientation."""

import os
from dataclasses import asdict, dataclass
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data
from torch import Tensor

from mpsn.complexes import CellComplex, CubicalComplex, SimplicialComplex
from mpsn.complexes.internal import from_parts, to_parts
from mpsn.errors import ComplexError, FileError, MPSNError
from mpsn.estimators._saving import check_sizes, load_estimator, save_estimator
from mpsn.estimators._trainer import (
    History,
    Trainer,
    check_settings,
    learn_classes,
    outputs,
)
from mpsn.nn.models import EdgeFlowNet
from mpsn.training._checkpoint import adopt_weights
from mpsn.training._config import from_plain
from mpsn.training._device import Precision
from mpsn.training._distributed import Forward


@dataclass(frozen=True)
class Learned:
    """What a model file says beside settings, weights and complex."""

    classes: tuple[bool | int | float | str, ...]
    history: History
    validation: int
    kind: str = "SimplicialComplex"


class EdgeFlowClassifier(ClassifierMixin, BaseEstimator):
    r"""Classify signals on the edges of one complex: paths, flows, currents.

    The network is :class:`mpsn.nn.models.EdgeFlowNet` with tanh, MPSN Tanh in the paper: reversing
    edges of the complex, and the signs of their flows with them, changes no prediction.

    Args:
        complex: The complex all signals live on.
        hidden: Width of the layers.
        layers: Number of layers.
        epochs: Largest number of epochs.
        batch_size: Largest number of signals per step; smaller if an epoch would have less than ten
            steps.
        learning_rate: Initial learning rate of Adam.
        patience: Number of epochs without a better validation loss after which training stops.
        validation: Fraction of the signals held out for that; with fewer than 20, none are.
        device: ``"auto"``, ``"cpu"`` or ``"cuda"``.
        precision: Precision of the network; see :class:`SimplicialClassifier`.
        random_state: Seed of all random numbers.
        verbose: Whether to show a progress bar.

    Example:
        >>> K = mpsn.clique_complex(nx.cycle_graph(8))
        >>> around = torch.tensor([1.0, -1, 1, 1, 1, 1, 1, 1]).numpy()  # once around, edges ascend
        >>> flows = [around * (i + 1) if i % 2 else abs(around) * (i + 1) for i in range(12)]
        >>> model = mpsn.estimators.EdgeFlowClassifier(K, hidden=8, epochs=30)
        >>> model.fit(flows, [0, 1] * 6).predict(flows[:2])
        array([0, 1])
    """

    def __init__(
        self,
        complex: SimplicialComplex | CellComplex | CubicalComplex,
        *,
        hidden: int = 32,
        layers: int = 4,
        epochs: int = 100,
        batch_size: int = 64,
        learning_rate: float = 0.001,
        patience: int = 15,
        validation: float = 0.1,
        device: str = "auto",
        precision: Precision = "float32",
        random_state: int | np.random.RandomState | None = 0,
        verbose: bool = False,
    ) -> None:
        self.complex = complex
        self.hidden = hidden
        self.layers = layers
        self.epochs = epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.patience = patience
        self.validation = validation
        self.device = device
        self.precision = precision
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Train on signals.

        Args:
            X: Signals (samples, n_1), a column per edge of the complex, in its orientation.
            y: The class of each.
        """
        signals = self._signals(X, reset=True)
        trainer = Trainer(self)
        self.classes_, numbers = learn_classes(y)
        if len(signals) != len(numbers):
            raise MPSNError(
                f"Expected a class for each of {len(signals)} signals, got {len(numbers)}."
            )
        classes = torch.from_numpy(numbers)
        (member,) = trainer.train(
            self._network,
            self._forward(signals, trainer.device),
            torch.nn.CrossEntropyLoss(),
            classes.to(trainer.device),
            classes,
        )
        self.model_, self.history_ = member.network, member.history
        self.n_validation_ = len(member.split.held)
        return self

    def _network(self) -> EdgeFlowNet:
        return EdgeFlowNet(hidden=self.hidden, layers=self.layers, out_channels=len(self.classes_))

    def _signals(self, X: ArrayLike, reset: bool) -> NDArray[np.float32]:
        found: NDArray[np.float32] = validate_data(self, X, reset=reset, dtype=np.float32)
        if found.shape[1] != self.complex.count(1):
            raise ComplexError(
                f"Expected signals of shape (samples, {self.complex.count(1)}), a column per edge "
                f"of the complex, got {found.shape}."
            )
        return found

    def _forward(self, X: NDArray[np.float32], where: torch.device) -> Forward:
        K, flows = self.complex.to(where), torch.from_numpy(X).T.to(where)
        return lambda network, index: network(K, flows[:, index, None])

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float32]:
        """Return probabilities (samples, classes), in the order of ``classes_``."""
        check_is_fitted(self, "model_")
        signals = self._signals(X, reset=False)
        where = next(self.model_.parameters()).device
        index = torch.arange(len(signals), device=where)
        logits = outputs(self, self.model_, self._forward(signals, where), index)
        return np.asarray(logits.softmax(dim=1).cpu().numpy())

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the most probable class of each signal."""
        chances = self.predict_proba(X)
        return np.asarray(self.classes_[chances.argmax(axis=1)])

    def summary(self) -> str:
        """Return a description of the complex, the network and its training."""
        check_is_fitted(self, "model_")
        history, held = self.history_, self.n_validation_
        kept = f"kept number {history.best + 1}"
        return "\n".join(
            [
                f"EdgeFlowClassifier on {self.complex}",
                f"  classes   {', '.join(map(str, self.classes_))}",
                f"  network   MPSN Tanh, {self.layers} layers of width {self.hidden}: no "
                f"prediction depends on how edges are oriented",
                f"  training  {len(history.train)} epochs, {kept}; {held} signals held out",
            ]
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model and its complex to one file: arrays and JSON, no pickle."""
        check_is_fitted(self, "model_")
        kind = type(self.complex).__name__
        learned = Learned(self.classes_.tolist(), self.history_, self.n_validation_, kind)
        parts = to_parts(self.complex.bare())
        tensors = {f"complex.{name}": part for name, part in parts.items()}
        tensors |= {f"model.{name}": part for name, part in self.model_.state_dict().items()}
        save_estimator(self, path, asdict(learned), tensors)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a model that :meth:`save` wrote; runs no code from the file."""
        return load_estimator(path, cls)

    @classmethod
    def _restore(
        cls, settings: object, learned: dict[str, Any], tensors: dict[str, Tensor]
    ) -> Self:
        parts: dict[str, dict[str, Tensor]] = {"complex": {}, "model": {}}
        for name, tensor in tensors.items():
            kind, _, rest = name.partition(".")
            if kind not in parts:
                raise FileError(f"expected weights and a complex, got {name!r:.40}")
            parts[kind][rest] = tensor
        state = from_plain(Learned, learned, "its state")
        try:
            K = from_parts(parts["complex"], {"kind": state.kind})
        except (ValueError, LookupError, RuntimeError) as error:
            raise FileError(f"expected a complex, got {error}") from error
        given = settings if isinstance(settings, dict) else {}
        out = from_plain(cls, {**given, "complex": K}, "its settings")
        out.classes_, out.history_ = np.array(state.classes), state.history
        out.n_validation_, out.n_features_in_ = state.validation, K.count(1)
        check_settings(out, "epochs", "batch_size", "patience")
        check_sizes(parts["model"], out.layers, out.hidden)
        with torch.device("meta"):
            out.model_ = out._network()
        adopt_weights(out.model_, parts["model"])
        return out
