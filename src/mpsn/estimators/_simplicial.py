"""Classify and regress graphs by message passing on their clique complexes."""

from collections.abc import Iterable, Mapping
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils.class_weight import compute_class_weight
from torch import Tensor

from mpsn.errors import FileError, MPSNError
from mpsn.estimators._base import Simplicial
from mpsn.estimators._explain import Units
from mpsn.estimators._features import Wanted
from mpsn.estimators._targets import Classes, Numbers, Targets
from mpsn.estimators._trainer import NUMBERS, learn_classes
from mpsn.lifting._named import Lift


class SimplicialClassifier(ClassifierMixin, Simplicial):
    """Classify graphs by a simplicial isomorphism network on their clique complexes.

    The defaults are meant to work without tuning. Training stops early, by the loss on some graphs
    of each class that are held out; the outputs of two networks, with different graphs held out,
    are averaged, and mixed with those of a linear model on counts of colors, the SWL kernel, whose
    share is chosen by the same loss. ``scores_`` says how good they are. The same ``random_state``
    gives the same model on the same CPU, whatever the number of threads; on a GPU, the same up to
    rounding.

    Args:
        lift: The cells: ``"cliques"``; ``"rings"``, chordless cycles as 2-cells;
            ``"cliques+rings"``, with cliques of four and more vertices on top; ``"cubes"``; a
            function that takes a graph, as a pair of ``edge_index`` and ``num_nodes``, to a complex
            with the same vertices and at least the same edges; or another lift by name or as a
            :class:`mpsn.lifting.ToComplex`, to which graphs, points, ... are passed as they are,
            and of which all features are used.
        max_dim: Largest dimension of a cell; 2 for triangles and rings.
        max_ring: Largest number of vertices of a ring.
        features: Which features to use. ``"auto"`` for all that vertices, edges and simplices have,
            and degrees, directions and multiplicities; a dictionary for the same, with the kinds
            of some attributes, ``"number"`` or ``"category"``; or only ``"x"``, ``"degree"``,
            ``"constant"``, or the attributes in a list. Matrices are called ``"x"``,
            ``"edge_attr"``, ``"x[2]"``, ..., and their columns ``"x.0"``, ``"x.1"``, ....
        hidden: Width of the layers.
        layers: Number of layers.
        members: Number of networks, each with other graphs held out; their outputs are averaged.
        kernel: Whether to use the SWL kernel alone (True), networks alone (False), or both (None).
        readout: How the simplices of a graph are pooled, ``"sum"`` or ``"mean"``.
        dropout: Dropout rate before the last dense layer.
        epochs: Largest number of epochs.
        batch_size: Largest number of graphs per step; smaller if an epoch would have less than ten
            steps.
        learning_rate: Initial learning rate of Adam.
        patience: Number of epochs without a better validation loss after which training stops; the
            first five do not count.
        validation: Fraction of the graphs held out for that; with fewer than 20, none are.
        class_weight: Weights of the classes: ``"balanced"``, a dictionary, or None for none.
        device: ``"auto"``, ``"cpu"`` or ``"cuda"``.
        random_state: Seed of all random numbers.
        verbose: Whether to show a progress bar.

    Attributes:
        classes_: The classes, sorted.
        features_: How features are made, and what was left out.
        model_: The networks and the kernel, as one module.
        scores_: Accuracy on the graphs held out, also of networks, kernel and majority class alone.
            Training has used them to stop and to mix, so that other graphs may fare worse.
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
        lift: Lift = "cliques",
        max_dim: int = 2,
        max_ring: int = 6,
        features: Wanted = "auto",
        hidden: int = 32,
        layers: int = 2,
        members: int = 2,
        kernel: bool | None = None,
        readout: Literal["sum", "mean"] = "sum",
        dropout: float = 0.2,
        epochs: int = 100,
        batch_size: int = 64,
        learning_rate: float = 0.01,
        patience: int = 10,
        validation: float = 0.1,
        class_weight: str | Mapping[Any, float] | None = None,
        device: str = "auto",
        random_state: int | np.random.RandomState | None = 0,
        verbose: bool = False,
    ) -> None:
        given = locals()
        for name in self._get_param_names():
            setattr(self, name, given[name])

    def _learn(self, y: NDArray[Any]) -> tuple[Targets, Tensor, Tensor]:
        self.classes_, numbers = learn_classes(y)
        self._check_weights()
        sizes = tuple(np.bincount(numbers).tolist())
        found = torch.from_numpy(numbers)
        return Classes(tuple(self.classes_.tolist()), sizes), found, found

    def _check_weights(self) -> None:
        given = self.class_weight
        right = given is None or (isinstance(given, str) and given == "balanced")
        if isinstance(given, Mapping):
            right = set(given) <= set(self.classes_.tolist()) and all(
                isinstance(weight, NUMBERS) and 0 < weight < np.inf for weight in given.values()
            )
        if not right:
            raise MPSNError(
                f"Expected class_weight as 'balanced', None, or a dictionary from classes in y to "
                f"finite weights above 0, got {given!r:.100}."
            )

    def _weights(self, y: Tensor) -> dict[int, float] | None:
        if self.class_weight is None:
            return None
        names = self.classes_[y.cpu().numpy()]
        found = compute_class_weight(self.class_weight, classes=self.classes_, y=names)
        return dict(enumerate(found.tolist()))

    def _loss(self, y: Tensor) -> Any:
        found = self._weights(y)
        if found is None:
            return torch.nn.CrossEntropyLoss()
        return torch.nn.CrossEntropyLoss(torch.tensor(list(found.values()), device=y.device))

    def _score(self, outputs: Tensor, y: Tensor) -> float:
        return float((outputs.argmax(dim=1) == y).double().mean())

    def predict_proba(self, graphs: Iterable[object]) -> NDArray[np.float32]:
        """Return probabilities (graphs, classes), in the order of ``classes_``."""
        logits = torch.from_numpy(self._outputs(graphs))
        return np.asarray(logits.softmax(dim=1).numpy())

    def predict(self, graphs: Iterable[object]) -> NDArray[Any]:
        """Return the most probable class of each graph."""
        best = self._outputs(graphs).argmax(axis=1)
        return np.asarray(self.classes_[best])

    def _target(self, rows: Tensor, target: object) -> tuple[int, str, str | None, float | None]:
        chances = rows.softmax(dim=1)[0]
        name = self.classes_[int(chances.argmax())] if target is None else target
        where = np.flatnonzero(self.classes_ == name)
        if len(where) != 1:
            known = ", ".join(map(str, self.classes_))
            raise MPSNError(f"Expected a class among {known}, got {name!r}.")
        output = int(where[0])
        others = chances.clone()
        others[output] = -1.0
        margin = float(chances[output] - others.max())
        return output, str(name), str(self.classes_[int(others.argmax())]), margin

    def _units(self, output: int) -> Units:
        def chance(rows: Tensor) -> Tensor:
            """Return probabilities; their slope is the mean one from even odds, never near 0."""
            others = torch.cat([rows[:, :output], rows[:, output + 1 :]], dim=1)
            odds = rows[:, output] - others.logsumexp(dim=1)
            found, fixed = rows.softmax(dim=1)[:, output].detach(), odds.detach()
            slope = torch.where(fixed.abs() < 1e-3, 0.25, (found - 0.5) / fixed)
            return found + slope * (odds - fixed)

        return chance

    def _adopt(self, targets: Targets) -> None:
        if not isinstance(targets, Classes):
            raise FileError("expected classes")
        self.classes_ = np.array(targets.classes)
        if isinstance(self.class_weight, dict):  # JSON made words of its keys
            known = {str(name): name for name in targets.classes}
            self.class_weight = {known.get(k, k): w for k, w in self.class_weight.items()}


class SimplicialRegressor(RegressorMixin, Simplicial):
    """Predict numbers for graphs by a simplicial isomorphism network on their clique complexes.

    Arguments as for :class:`SimplicialClassifier`, without ``class_weight``; ``dropout`` defaults
    to 0. Targets are one number per graph, or a row of numbers; they are standardized for training.

    Example:
        >>> graphs = [nx.gnp_random_graph(10, 0.3, seed=i) for i in range(40)]
        >>> edges = [graph.number_of_edges() for graph in graphs]
        >>> model = mpsn.estimators.SimplicialRegressor(epochs=30).fit(graphs, edges)
        >>> model.predict(graphs[:3]).shape
        (3,)
    """

    targets_: Numbers

    def _learn(self, y: NDArray[Any]) -> tuple[Targets, Tensor, None]:
        try:
            numbers = np.asarray(y, dtype=np.float64)
        except (TypeError, ValueError, OverflowError) as error:
            raise MPSNError(f"Expected numbers as targets y, got {error}.") from error
        if numbers.ndim not in (1, 2) or not np.isfinite(numbers).all():
            raise MPSNError(
                f"Expected finite targets y, a number or row per graph, got shape {numbers.shape}"
                f"{'' if np.isfinite(numbers).all() else ' with NaN or infinity'}."
            )
        flat = numbers.ndim == 1
        numbers = numbers.reshape(len(numbers), -1)
        with np.errstate(over="ignore", invalid="ignore"):  # Numbers refuses infinity
            mean, scale = numbers.mean(axis=0), numbers.std(axis=0)
        scale = np.where(scale == 0, 1.0, scale)
        targets = Numbers(tuple(mean.tolist()), tuple(scale.tolist()), flat)
        return targets, torch.from_numpy(((numbers - mean) / scale).astype(np.float32)), None

    def _loss(self, y: Tensor) -> Any:
        return torch.nn.MSELoss()

    def _score(self, outputs: Tensor, y: Tensor) -> float:
        return float(r2_score(y.numpy(), outputs.numpy()))

    def predict(self, graphs: Iterable[object]) -> NDArray[np.float64]:
        """Return a number, or a row of numbers, for each graph."""
        outputs, targets = self._outputs(graphs), self.targets_
        numbers: NDArray[np.float64] = outputs * np.array(targets.scale) + np.array(targets.mean)
        return numbers[:, 0] if targets.flat else numbers

    def _target(self, rows: Tensor, target: object) -> tuple[int, str, None, None]:
        number, width = 0 if target is None else target, self.targets_.width
        if not isinstance(number, int) or not 0 <= number < width:
            raise MPSNError(f"Expected an output from 0 to {width - 1}, got {target!r}.")
        return number, f"output {number}", None, None

    def _units(self, output: int) -> Units:
        targets = self.targets_
        return lambda rows: rows[:, output] * targets.scale[output] + targets.mean[output]

    def _adopt(self, targets: Targets) -> None:
        if not isinstance(targets, Numbers):
            raise FileError("expected numbers")
