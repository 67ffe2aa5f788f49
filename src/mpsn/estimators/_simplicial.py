"""Classify and regress graphs by message passing on their clique complexes."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.class_weight import compute_class_weight
from torch import Tensor

from mpsn.errors import FileError, MPSNError
from mpsn.estimators._base import Simplicial
from mpsn.estimators._trainer import learn_classes
from mpsn.training._config import build


@dataclass(frozen=True)
class Classes:
    """The targets of a classifier: classes, and how many graphs of each there were."""

    classes: tuple[bool | int | float | str, ...]
    sizes: tuple[int, ...]


@dataclass(frozen=True)
class Numbers:
    """The targets of a regressor: how they were standardised."""

    mean: tuple[float, ...]
    scale: tuple[float, ...]
    flat: bool


class SimplicialClassifier(ClassifierMixin, Simplicial):
    """Classify graphs by a simplicial isomorphism network on their clique complexes.

    The defaults are meant to do without tuning. Training stops early, on a part of the graphs held
    out by class; three networks with different parts held out decide together. The same
    ``random_state`` gives the same model on the same CPU; on a GPU, the same up to rounding.

    Args:
        max_dim: Largest dimension of a simplex; 2 for triangles.
        features: Where vertex features come from: ``"x"`` (of PyG data and complexes), names of
            vertex attributes (of networkx graphs), ``"degree"`` or ``"constant"``; ``"auto"`` for
            the first of them that all graphs have. Higher simplices get the mean over vertices.
        hidden: Width of the layers.
        layers: Number of layers.
        members: Number of networks, each with another part held out; their outputs are averaged.
        readout: How the simplices of a graph are pooled, ``"sum"`` or ``"mean"``.
        dropout: Dropout rate before the last dense layer.
        epochs: Largest number of epochs.
        batch_size: Graphs per step, at most; fewer where an epoch would have less than ten steps.
        learning_rate: Of Adam, at the start.
        patience: Epochs without a better validation loss after which training stops.
        validation: Part of the graphs held out for that; none are of fewer than 20.
        class_weight: Weights of the classes: ``"balanced"``, a dictionary, or None for none.
        device: ``"auto"``, ``"cpu"`` or ``"cuda"``.
        random_state: Seed of all random numbers.
        verbose: Whether to show a progress bar.

    Attributes:
        classes_: The classes, sorted.
        features_: What vertex features are.
        model_: The networks, as one.
        histories_: Losses of each network, epoch by epoch.

    Example:
        >>> graphs = [nx.gnp_random_graph(12, p, seed=i) for i in range(20) for p in (0.2, 0.5)]
        >>> model = mpsn.estimators.SimplicialClassifier(epochs=20)
        >>> model.fit(graphs, ["thin", "thick"] * 20).predict([nx.complete_graph(9)])
        array(['thick'], dtype='<U5')
    """

    class_weight: str | Mapping[Any, float] | None

    def __init__(
        self,
        *,
        max_dim: int = 2,
        features: str | Sequence[str] = "auto",
        hidden: int = 32,
        layers: int = 2,
        members: int = 3,
        readout: Literal["sum", "mean"] = "sum",
        dropout: float = 0.5,
        epochs: int = 100,
        batch_size: int = 64,
        learning_rate: float = 0.003,
        patience: int = 15,
        validation: float = 0.1,
        class_weight: str | Mapping[Any, float] | None = None,
        device: str = "auto",
        random_state: int | np.random.RandomState | None = 0,
        verbose: bool = False,
    ) -> None:
        given = locals()
        for name in self._get_param_names():
            setattr(self, name, given[name])

    def _learn_targets(self, y: NDArray[Any]) -> tuple[Tensor, Tensor]:
        self.classes_, numbers = learn_classes(y)
        self.class_counts_ = np.bincount(numbers).tolist()
        return torch.from_numpy(numbers), torch.from_numpy(numbers)

    def _loss(self, y: Tensor) -> Any:
        weight = None
        if self.class_weight is not None:
            names = self.classes_[y.cpu().numpy()]
            found = compute_class_weight(self.class_weight, classes=self.classes_, y=names)
            weight = torch.tensor(found, dtype=torch.float32, device=y.device)
        return torch.nn.CrossEntropyLoss(weight)

    @property
    def _width(self) -> int:
        return len(self.classes_)

    def predict_proba(self, graphs: Iterable[object]) -> NDArray[np.float32]:
        """Return probabilities (graphs, classes), in the order of ``classes_``."""
        logits = torch.from_numpy(self._outputs(graphs))
        return np.asarray(logits.softmax(dim=1).numpy())

    def predict(self, graphs: Iterable[object]) -> NDArray[Any]:
        """Return the most probable class of each graph."""
        best = self._outputs(graphs).argmax(axis=1)
        return np.asarray(self.classes_[best])

    def _target(self, graph: object, target: object) -> tuple[int, str]:
        name = self.predict([graph])[0] if target is None else target
        where = np.flatnonzero(self.classes_ == name)
        if len(where) != 1:
            known = ", ".join(map(str, self.classes_))
            raise MPSNError(f"Expected a class among {known}, got {name!r}.")
        return int(where[0]), str(name)

    def _targets(self) -> dict[str, Any]:
        return {"classes": self.classes_.tolist(), "sizes": self.class_counts_}

    def _set_targets(self, targets: dict[str, Any]) -> None:
        found = build(Classes, targets, "its classes")
        self.classes_, self.class_counts_ = np.array(found.classes), list(found.sizes)
        if isinstance(self.class_weight, dict):  # JSON made words of its keys
            known = {str(name): name for name in found.classes}
            self.class_weight = {known.get(k, k): w for k, w in self.class_weight.items()}
        if not len(found.classes) == len(found.sizes) == len(np.unique(self.classes_)) >= 2:
            raise FileError("expected at least two different classes and their sizes")

    def _describe_targets(self) -> str:
        sizes = zip(self.classes_, self.class_counts_, strict=True)
        return "classes " + ", ".join(f"{name} ({n})" for name, n in sizes)


class SimplicialRegressor(RegressorMixin, Simplicial):
    """Predict numbers for graphs by a simplicial isomorphism network on their clique complexes.

    Arguments as for :class:`SimplicialClassifier`, less ``class_weight``, and without dropout.
    Targets may be one number a graph, or a row of numbers; they are standardised for training.

    Example:
        >>> graphs = [nx.gnp_random_graph(10, 0.3, seed=i) for i in range(40)]
        >>> edges = [graph.number_of_edges() for graph in graphs]
        >>> model = mpsn.estimators.SimplicialRegressor(epochs=30).fit(graphs, edges)
        >>> model.predict(graphs[:3]).shape
        (3,)
    """

    def _learn_targets(self, y: NDArray[Any]) -> tuple[Tensor, None]:
        try:
            numbers = np.asarray(y, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise MPSNError(f"Expected numbers as targets y, got {error}.") from error
        if numbers.ndim not in (1, 2) or not np.isfinite(numbers).all():
            raise MPSNError(
                f"Expected finite targets y, one number or row a graph, got shape {numbers.shape}"
                f"{'' if np.isfinite(numbers).all() else ' with NaN or infinity'}."
            )
        self.flat_ = numbers.ndim == 1
        numbers = numbers.reshape(len(numbers), -1)
        self.mean_ = numbers.mean(axis=0).tolist()
        scale = numbers.std(axis=0)
        self.scale_ = np.where(scale > 0, scale, 1.0).tolist()
        standard = (numbers - self.mean_) / self.scale_
        return torch.from_numpy(standard.astype(np.float32)), None

    def _loss(self, y: Tensor) -> Any:
        return torch.nn.MSELoss()

    @property
    def _width(self) -> int:
        return len(self.mean_)

    def predict(self, graphs: Iterable[object]) -> NDArray[np.float64]:
        """Return a number, or a row of numbers, for each graph."""
        numbers: NDArray[np.float64] = self._outputs(graphs) * np.array(self.scale_) + np.array(
            self.mean_
        )
        return numbers[:, 0] if self.flat_ else numbers

    def _target(self, graph: object, target: object) -> tuple[int, str]:
        number = 0 if target is None else target
        if not isinstance(number, int) or not 0 <= number < self._width:
            raise MPSNError(f"Expected an output from 0 to {self._width - 1}, got {target!r}.")
        return number, f"output {number}"

    def _targets(self) -> dict[str, Any]:
        return {"mean": self.mean_, "scale": self.scale_, "flat": self.flat_}

    def _set_targets(self, targets: dict[str, Any]) -> None:
        found = build(Numbers, targets, "its targets")
        self.mean_, self.scale_, self.flat_ = list(found.mean), list(found.scale), found.flat
        if not 1 <= len(self.mean_) == len(self.scale_) or (self.flat_ and len(self.mean_) > 1):
            raise FileError("expected a mean and a scale for each target")

    def _describe_targets(self) -> str:
        means = ", ".join(
            f"{m:.4g} ± {s:.4g}" for m, s in zip(self.mean_, self.scale_, strict=True)
        )
        return f"numbers, {means} in the fit"
