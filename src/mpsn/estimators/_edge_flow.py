"""Classify flows on the edges of one complex, whatever the edges' orientation."""

from dataclasses import field
from typing import Any, ClassVar, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data
from torch import Tensor

from mpsn.complexes import CellComplex, CubicalComplex, SimplicialComplex
from mpsn.complexes.internal import to_parts
from mpsn.errors import ComplexError, FileError, MPSNError
from mpsn.estimators._settings import with_settings
from mpsn.estimators._targets import Classes
from mpsn.estimators._trained import Trained
from mpsn.nn.models import EdgeFlowNet

AnyComplex = SimplicialComplex | CellComplex | CubicalComplex


@with_settings
class EdgeFlowClassifier(ClassifierMixin, Trained):
    r"""Classify signals on the edges of one complex: paths, flows, currents.

    The network is :class:`mpsn.nn.models.EdgeFlowNet` with tanh, MPSN Tanh in the paper: reversing
    edges of the complex, and the signs of their flows with them, changes no prediction.

    Args:
        complex: The complex all signals live on.
        network: A network of your own, instead of the default one, that takes the complex and
            signals (n_1, B, 1) to a row for each of them; see :class:`SimplicialClassifier`.

    Example:
        >>> K = mpsn.clique_complex(nx.cycle_graph(8))
        >>> around = torch.tensor([1.0, -1, 1, 1, 1, 1, 1, 1]).numpy()  # once around, edges ascend
        >>> flows = [around * (i + 1) if i % 2 else abs(around) * (i + 1) for i in range(12)]
        >>> model = mpsn.estimators.EdgeFlowClassifier(K, hidden=8, epochs=30)
        >>> model.fit(flows, [0, 1] * 6).predict(flows[:2])
        array([0, 1])
    """

    complex: AnyComplex = field(kw_only=False)
    layers: int = 4
    learning_rate: float = 0.001
    patience: int = 15

    _samples: ClassVar[str] = "signals"

    def fit(self, X: ArrayLike, y: ArrayLike, *, split: Any = None) -> Self:
        """Train on signals.

        Args:
            X: Signals (samples, n_1), a column per edge of the complex, in its orientation.
            y: The class of each.
            split: Which signals to hold out, as :meth:`mpsn.training.Trainer.fit` takes it.
                Defaults to a fraction ``validation``.
        """
        signals = self._signals(X, reset=True)
        seed, _ = self._begin()
        self.targets_ = Classes.learn(y)
        self.classes_ = np.array(self.targets_.classes)
        numbers = self.targets_.encode(y)
        if len(signals) != len(numbers):
            raise MPSNError(
                f"Expected a class for each of {len(signals)} signals, got {len(numbers)}."
            )
        self._train_and_compare(Flows(self.complex, signals), numbers, seed, split=split)
        return self

    def _widths(self) -> int:
        """Return the number of signals that are classified together."""
        return 1

    def _network(self) -> EdgeFlowNet:
        width = self.targets_.width
        return EdgeFlowNet(hidden=self.hidden, layers=self.layers, out_channels=width)

    def _signals(self, X: ArrayLike, reset: bool) -> Tensor:
        """Return signals (samples, n_1)."""
        signals: NDArray[np.float32] = validate_data(self, X, reset=reset, dtype=np.float32)
        if signals.shape[1] != self.complex.count(1):
            raise ComplexError(
                f"Expected signals of shape (samples, {self.complex.count(1)}), a column per edge "
                f"of the complex, got {signals.shape}."
            )
        return torch.from_numpy(signals)

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float32]:
        """Return probabilities (samples, classes), in the order of ``classes_``."""
        check_is_fitted(self, "model_")
        logits = self._mean_outputs(Flows(self.complex, self._signals(X, reset=False)))
        return np.asarray(logits.softmax(dim=1).cpu().numpy())

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the most probable class of each signal."""
        chances = self.predict_proba(X)
        return np.asarray(self.classes_[chances.argmax(axis=1)])

    def _described(self) -> tuple[str, dict[str, str]]:
        return f"EdgeFlowClassifier on {self.complex}", {}

    def _network_in_words(self) -> tuple[str, str]:
        return "MPSN Tanh", ", whatever the orientation of edges"

    @property
    def _lives_on(self) -> AnyComplex:
        """The complex that the model is for."""
        return self.complex.bare()

    def _adopt(self) -> None:
        """Check what was read from a file, and set what follows from it."""
        if not isinstance(self.targets_, Classes) or not self.histories_:
            raise FileError("expected classes, and the history of a network")
        self.classes_ = np.array(self.targets_.classes)
        self.n_features_in_ = self.complex.count(1)


class Flows:
    """Signals on the edges of one complex; several are a batch.

    Args:
        K: The complex.
        signals: One in each row, (N, n_1).
    """

    def __init__(self, K: AnyComplex, signals: Tensor) -> None:
        self.K, self.signals = K, signals

    def __len__(self) -> int:
        return len(self.signals)

    def to(self, device: torch.device) -> "Flows":
        """Return the same on a device."""
        return Flows(self.K.to(device), self.signals.to(device))

    def batch(self, index: Tensor) -> tuple[AnyComplex, Tensor]:
        """Return the complex, and signals (n_1, B, 1)."""
        return self.K, self.signals[index].T[:, :, None]

    def fingerprint(self) -> list[Tensor]:
        """Return what differs when the signals do."""
        return [*to_parts(self.K).values(), self.signals]
