"""Classify and regress the cells of complexes, some of which are known."""

from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.metrics import accuracy_score, r2_score

from mpsn.errors import FileError
from mpsn.estimators._cell_model import CellModel, is_one
from mpsn.estimators._settings import with_settings
from mpsn.estimators._targets import Classes, Numbers, Targets
from mpsn.estimators._tasks import Weights, check_weights, weights_from_words


@with_settings
class CellClassifier(ClassifierMixin, CellModel):
    """Classify the cells of a complex: vertices, edges, triangles, ..., some of which are known.

    One complex with known and unknown cells, as in semi-supervised learning; or a list of
    complexes, and then others at prediction. The network is :class:`mpsn.nn.models.CellNet`.
    Training takes one step per epoch on one complex, and stops by the loss on known cells that are
    held out. The same ``random_state`` gives the same model on the same CPU.

    Args:
        class_weight: Weights of the classes: ``"balanced"``, a dictionary, or None for none.

    Attributes:
        classes_: The classes, sorted.
        features_: How features are made, and what was left out.
        scores_: Accuracy on the known cells held out, and of the majority class.
        histories_: Losses of each network, epoch by epoch.

    Example:
        The two sides of the karate club, from four members:

        >>> graph = nx.karate_club_graph()
        >>> known = {0: "Hi", 1: "Hi", 33: "Officer", 32: "Officer"}
        >>> model = mpsn.estimators.CellClassifier(features="degree", epochs=50).fit(graph, known)
        >>> model.predict(graph).shape, model.predict_proba(graph).shape
        ((34,), (34, 2))
    """

    class_weight: Weights = None
    dropout: float = 0.2

    def _learn(self, y: NDArray[Any]) -> Targets:
        targets = Classes.learn(y)
        check_weights(self.class_weight, targets.classes)
        return targets

    def _take(self, targets: Targets) -> None:
        if not isinstance(targets, Classes):
            raise FileError("expected classes")
        self.classes_ = np.array(targets.classes)
        self.class_weight = weights_from_words(self.class_weight, targets.classes)

    def predict_proba(self, K: object) -> Any:
        """Return probabilities (n_dim, classes), in the order of ``classes_``; a list for lists."""
        predictions = [torch.from_numpy(rows).softmax(dim=1).numpy() for rows in self._outputs(K)]
        return predictions[0] if is_one(K) else predictions

    def predict(self, K: object) -> Any:
        """Return the most probable class of each cell, (n_dim,); a list for a list of complexes."""
        predictions = [self.classes_[rows.argmax(axis=1)] for rows in self._outputs(K)]
        return predictions[0] if is_one(K) else predictions

    def score(self, K: object, y: object, sample_weight: object = None) -> float:
        """Return the accuracy on the cells whose class is given in ``y``."""
        truth, predictions = self._pairs(K, y)
        return float(accuracy_score(truth, predictions, sample_weight=sample_weight))


@with_settings
class CellRegressor(RegressorMixin, CellModel):
    """Predict numbers on the cells of a complex, some of which are known.

    Targets are a number for each cell, or a row of numbers. If ``oriented``, they have signs that
    depend on the orientation of the cells, as flows do, and so have predictions.

    Example:
        The number of triangles of each edge, from a third of the edges:

        >>> K = mpsn.clique_complex(nx.karate_club_graph(), max_dim=2)
        >>> y = torch.bincount(K.faces(2).reshape(-1), minlength=78).double()
        >>> model = mpsn.estimators.CellRegressor(dim=1, features="constant", epochs=100)
        >>> known = torch.where(torch.arange(78) % 3 == 0, y, torch.nan)
        >>> model.fit(K, known).score(K, y) > 0.8
        True
    """

    def _learn(self, y: NDArray[Any]) -> Targets:
        return Numbers.learn(y, ())

    def _take(self, targets: Targets) -> None:
        if not isinstance(targets, Numbers):
            raise FileError("expected numbers")

    def predict(self, K: object) -> Any:
        """Return a number, or a row of numbers, for each cell; a list for a list of complexes."""
        targets = cast("Numbers", self.targets_)
        predictions = [targets.decode(rows) for rows in self._outputs(K)]
        return predictions[0] if is_one(K) else predictions

    def score(self, K: object, y: object, sample_weight: object = None) -> float:
        """Return R² on the cells whose number is given in ``y``."""
        truth, predictions = self._pairs(K, y)
        return float(r2_score(truth, predictions, sample_weight=sample_weight))
