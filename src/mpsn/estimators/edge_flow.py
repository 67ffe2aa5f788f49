"""Classify flows on the edges of one complex, whatever the edges' orientation."""

import os
from dataclasses import asdict, dataclass
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data
from torch import Tensor

from mpsn.complexes import SimplicialComplex
from mpsn.complexes._packed import from_parts, to_parts
from mpsn.errors import UNREADABLE, ComplexError, FileError, MPSNError
from mpsn.estimators.files import ModelFile, adopt_weights, damaged, read_model, write_model
from mpsn.estimators.training import History, hold_out, outputs, pick_device, seeded, train
from mpsn.experiments.configs import build
from mpsn.nn.models import EdgeFlowConfig, EdgeFlowNet


@dataclass(frozen=True)
class State:
    """What a model file says beside weights and complex."""

    settings: dict  # type: ignore[type-arg]
    classes: tuple[bool | int | float | str, ...]
    history: History
    validation: int


class EdgeFlowClassifier(ClassifierMixin, BaseEstimator):
    r"""Classify signals on the edges of one complex: paths, flows, currents.

    The network is :class:`mpsn.nn.models.EdgeFlowNet` with tanh, MPSN Tanh in the paper: turning
    edges of the complex round, and the signs of their flows with them, changes no prediction.

    Args:
        complex: The complex all signals live on.
        hidden: Width of the layers.
        layers: Number of layers.
        epochs: Largest number of epochs.
        batch_size: Signals per step, at most; fewer where an epoch would have less than ten steps.
        learning_rate: Of Adam, at the start.
        patience: Epochs without a better validation loss after which training stops.
        validation: Part of the signals held out for that; none are of fewer than 20.
        device: ``"auto"``, ``"cpu"`` or ``"cuda"``.
        random_state: Seed of everything random.
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
        complex: SimplicialComplex,
        *,
        hidden: int = 32,
        layers: int = 4,
        epochs: int = 100,
        batch_size: int = 64,
        learning_rate: float = 0.001,
        patience: int = 15,
        validation: float = 0.1,
        device: str = "auto",
        random_state: Any = 0,
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
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Train on signals.

        Args:
            X: Signals (samples, n_1), a column per edge of the complex, in its orientation.
            y: The class of each.
        """
        signals = self._signals(X, reset=True)
        classes = column_or_1d(y)
        check_classification_targets(classes)
        if len(signals) != len(classes):
            raise MPSNError(
                f"Expected a class for each of {len(signals)} signals, got {len(classes)}."
            )
        self.classes_, numbers = np.unique(classes, return_inverse=True)
        if len(self.classes_) < 2:
            raise MPSNError(f"Expected at least two classes in y, got only {self.classes_[0]!r}.")
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        where = pick_device(self.device)
        parts = hold_out(len(signals), self.validation, numbers, seed)
        self.n_validation_ = len(parts[1])
        with seeded(seed, where):
            self.model_ = EdgeFlowNet(self._config()).to(where)
            self.history_ = train(
                self.model_,
                self._forward(signals, where),
                torch.nn.CrossEntropyLoss(),
                torch.from_numpy(numbers.astype(np.int64)).to(where),
                parts,
                epochs=self.epochs,
                batch_size=self.batch_size,
                learning_rate=self.learning_rate,
                patience=self.patience,
                verbose=self.verbose,
            )
        return self

    def _config(self) -> EdgeFlowConfig:
        return EdgeFlowConfig(
            hidden=self.hidden, layers=self.layers, out_channels=len(self.classes_)
        )

    def _signals(self, X: ArrayLike, reset: bool) -> NDArray[np.float32]:
        found: NDArray[np.float32] = validate_data(self, X, reset=reset, dtype=np.float32)
        if found.shape[1] != self.complex.count(1):
            raise ComplexError(
                f"Expected signals of shape (samples, {self.complex.count(1)}), a column per edge "
                f"of the complex, got {found.shape}."
            )
        return found

    def _forward(self, X: NDArray[np.float32], where: torch.device) -> Any:
        K, flows = self.complex.to(where), torch.from_numpy(X).T.to(where)
        return lambda index: self.model_(K, flows[:, index, None])

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float32]:
        """Return probabilities (samples, classes), in the order of ``classes_``."""
        check_is_fitted(self, "model_")
        signals = self._signals(X, reset=False)
        where = next(self.model_.parameters()).device
        index = torch.arange(len(signals), device=where)
        logits = outputs(self.model_, self._forward(signals, where), index, self.batch_size)
        return np.asarray(logits.softmax(dim=1).cpu().numpy())

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the most probable class of each signal."""
        chances = self.predict_proba(X)
        return np.asarray(self.classes_[chances.argmax(axis=1)])

    def summary(self) -> str:
        """Say what was built, from what, and why."""
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
        settings = {**self.get_params(deep=False), "device": "auto", "verbose": False}
        del settings["complex"]
        if not isinstance(self.random_state, (int, np.integer)):
            settings["random_state"] = None
        state = State(settings, self.classes_.tolist(), self.history_, self.n_validation_)
        parts = to_parts(self.complex.bare())
        tensors = {f"complex.{name}": part for name, part in parts.items()}
        tensors |= {f"model.{name}": part for name, part in self.model_.state_dict().items()}
        write_model(path, ModelFile(type(self).__name__, asdict(state), tensors))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a model that :meth:`save` wrote; runs no code from the file."""
        return cls.from_file(read_model(path), path)

    @classmethod
    def from_file(cls, found: ModelFile, path: str | os.PathLike[str]) -> Self:
        """Build the model that a file holds; the path is for errors."""
        if found.kind != cls.__name__:
            raise FileError(f"Expected a {cls.__name__} in {path}, got a {found.kind:.40}.")
        try:
            state = build(State, found.state, "its config")
            parts: dict[str, dict[str, Tensor]] = {"complex": {}, "model": {}}
            for name, tensor in found.tensors.items():
                room, _, rest = name.partition(".")
                parts[room][rest] = tensor
            out = cls(from_parts(parts["complex"], {}), **state.settings)
            out.classes_, out.history_ = np.array(state.classes), state.history
            out.n_validation_, out.n_features_in_ = state.validation, out.complex.count(1)
            if out.layers > len(found.tensors):
                raise FileError(f"expected weights of {out.layers} layers")
            with torch.device("meta"):
                out.model_ = EdgeFlowNet(out._config())
            adopt_weights(out.model_, parts["model"])
        except UNREADABLE as error:
            raise damaged(path, error) from error
        out.model_.to(pick_device("auto"))
        return out
