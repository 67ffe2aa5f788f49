"""Classify and regress the cells of complexes, some of which are known."""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.metrics import accuracy_score, r2_score

from mpsn.errors import FileError
from mpsn.estimators._cell_model import CellModel, is_one
from mpsn.estimators._features import Wanted
from mpsn.estimators._targets import Classes, Numbers, Targets
from mpsn.estimators._tasks import Weights, check_weights, weights_from_words
from mpsn.lifting import AnyLift
from mpsn.training._device import Precision


class CellClassifier(ClassifierMixin, CellModel):
    """Classify the cells of a complex: vertices, edges, triangles, ..., some of which are known.

    One complex with known and unknown cells, as in semi-supervised learning; or a list of
    complexes, and then others at prediction. The network is :class:`mpsn.nn.models.CellNet`.
    Training takes one step per epoch on one complex, and stops by the loss on known cells that are
    held out. The same ``random_state`` gives the same model on the same CPU.

    Args:
        dim: Dimension of the cells to classify: 0 for vertices, 1 for edges, 2 for triangles.
        lift: How graphs become complexes; see :class:`SimplicialClassifier`. Complexes stay.
        max_dim: Largest dimension of the cells that exchange messages.
        max_ring: Largest number of vertices of a ring.
        features: Which features to use; see :class:`SimplicialClassifier`. Those of a complex are
            ``K.x``, per dimension.
        oriented: Whether the features of edges and higher cells have a sign that depends on the
            orientation, as flows do. The classes do not depend on it.
        hidden: Width of the layers.
        layers: Number of layers: how far away a cell sees others.
        members: Number of networks, each with other cells held out; their outputs are averaged.
        dropout: Dropout rate before the last dense layer.
        epochs: Largest number of epochs.
        batch_size: Largest number of known cells per step; a complex is divided only if large.
        max_cells: Largest number of cells of a complex that is trained on and predicted as a whole.
            A training step takes 4 to 6 kB per cell at the default width and depth, up to 6 GB for
            the default of a million. One larger complex stays in main memory. Training steps then
            see the neighborhoods of at most 1024 known cells, with up to 32 co-faces of each cell,
            drawn at random where there are more; predictions are exact, from whole neighborhoods.
        learning_rate: Initial learning rate of Adam.
        patience: Number of epochs without a better validation loss after which training stops.
        validation: Fraction of the known cells held out for that; with fewer than 20, none are.
        class_weight: Weights of the classes: ``"balanced"``, a dictionary, or None for none.
        device: ``"auto"``, ``"cpu"`` or ``"cuda"``.
        precision: Precision of the network; see :class:`SimplicialClassifier`.
        random_state: Seed of all random numbers.
        verbose: Whether to show a progress bar.

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

    def __init__(
        self,
        *,
        dim: int = 0,
        lift: AnyLift = "cliques",
        max_dim: int = 2,
        max_ring: int = 6,
        features: Wanted = "auto",
        oriented: bool = False,
        hidden: int = 32,
        layers: int = 2,
        members: int = 1,
        dropout: float = 0.2,
        epochs: int = 300,
        batch_size: int = 1 << 16,
        max_cells: int = 1 << 20,
        learning_rate: float = 0.01,
        patience: int = 50,
        validation: float = 0.1,
        class_weight: Weights = None,
        device: str = "auto",
        precision: Precision = "float32",
        random_state: int | np.random.RandomState | None = 0,
        verbose: bool = False,
    ) -> None:
        given = locals()
        for name in self._get_param_names():
            setattr(self, name, given[name])

    def _learn(self, y: NDArray[Any]) -> Targets:
        targets = Classes.learn(y)
        check_weights(self.class_weight, targets.classes)
        return targets

    def _adopt(self, targets: Targets) -> None:
        if not isinstance(targets, Classes):
            raise FileError("expected classes")
        self.classes_ = np.array(targets.classes)
        self.class_weight = weights_from_words(self.class_weight, targets.classes)

    def predict_proba(self, K: object) -> Any:
        """Return probabilities (n_dim, classes), in the order of ``classes_``; a list for lists."""
        found = [torch.from_numpy(rows).softmax(dim=1).numpy() for rows in self._outputs(K)]
        return found[0] if is_one(K) else found

    def predict(self, K: object) -> Any:
        """Return the most probable class of each cell, (n_dim,); a list for a list of complexes."""
        found = [self.classes_[rows.argmax(axis=1)] for rows in self._outputs(K)]
        return found[0] if is_one(K) else found

    def score(self, K: object, y: object, sample_weight: object = None) -> float:
        """Return the accuracy on the cells whose class is given in ``y``."""
        truth, found = self._pairs(K, y)
        return float(accuracy_score(truth, found, sample_weight=sample_weight))


class CellRegressor(RegressorMixin, CellModel):
    """Predict numbers on the cells of a complex, some of which are known.

    Arguments as for :class:`CellClassifier`, without ``class_weight``; ``dropout`` defaults to 0.
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

    targets_: Numbers

    def __init__(
        self,
        *,
        dim: int = 0,
        lift: AnyLift = "cliques",
        max_dim: int = 2,
        max_ring: int = 6,
        features: Wanted = "auto",
        oriented: bool = False,
        hidden: int = 32,
        layers: int = 2,
        members: int = 1,
        dropout: float = 0.0,
        epochs: int = 300,
        batch_size: int = 1 << 16,
        max_cells: int = 1 << 20,
        learning_rate: float = 0.01,
        patience: int = 50,
        validation: float = 0.1,
        device: str = "auto",
        precision: Precision = "float32",
        random_state: int | np.random.RandomState | None = 0,
        verbose: bool = False,
    ) -> None:
        given = locals()
        for name in self._get_param_names():
            setattr(self, name, given[name])

    def _learn(self, y: NDArray[Any]) -> Targets:
        return Numbers.learn(y, ())

    def _adopt(self, targets: Targets) -> None:
        if not isinstance(targets, Numbers):
            raise FileError("expected numbers")

    def predict(self, K: object) -> Any:
        """Return a number, or a row of numbers, for each cell; a list for a list of complexes."""
        found = [self.targets_.decode(rows) for rows in self._outputs(K)]
        return found[0] if is_one(K) else found

    def score(self, K: object, y: object, sample_weight: object = None) -> float:
        """Return R² on the cells whose number is given in ``y``."""
        truth, found = self._pairs(K, y)
        return float(r2_score(truth, found, sample_weight=sample_weight))
