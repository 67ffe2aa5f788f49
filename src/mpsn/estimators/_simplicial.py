"""Classify and regress graphs by message passing on their clique complexes."""

from collections.abc import Iterable, Sequence
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.metrics import accuracy_score, r2_score

from mpsn.errors import FileError
from mpsn.estimators._base import Simplicial
from mpsn.estimators._settings import with_settings
from mpsn.estimators._targets import Classes, Labels, Numbers, Targets
from mpsn.estimators._tasks import (
    Weights,
    as_table,
    by_task,
    check_weights,
    weights_from_words,
)


@with_settings
class SimplicialClassifier(ClassifierMixin, Simplicial):
    """Classify graphs by a simplicial isomorphism network on their clique complexes.

    The defaults are meant to work without tuning. Training stops early, by the loss on some graphs
    of each class that are held out; the outputs of two networks, with different graphs held out,
    are averaged, and mixed with those of a linear model on counts of colors, the SWL kernel, whose
    share is chosen by the same loss. ``scores_`` says how good they are. The same ``random_state``
    gives the same model on the same CPU, whatever the number of threads; on a GPU, the same up to
    rounding.

    Several tasks of two classes each are learned together: ``y`` is (graphs, tasks) of 0, 1, and
    NaN where it is not known, which counts neither in training nor in scores. Then ``predict`` and
    ``predict_proba``, of 1, are (graphs, tasks), and ``score`` is the mean accuracy of the tasks.

    Args:
        class_weight: Weights of the classes: ``"balanced"``, a dictionary, or None for none.

    Attributes:
        classes_: The classes, sorted; of several tasks, a list of them.
        features_: How features are made, and what was left out.
        model_: The networks and the kernel, as one module.
        scores_: Accuracy on the graphs held out, also of networks, kernel and majority class alone.
            Training has used them to stop and to mix, so that other graphs may fare worse.
        task_scores_: The same for each of several tasks, by name.
        histories_: Losses of each network, epoch by epoch.

    Example:
        >>> graphs = [nx.gnp_random_graph(12, p, seed=i) for i in range(20) for p in (0.2, 0.5)]
        >>> model = mpsn.estimators.SimplicialClassifier(epochs=20)
        >>> model.fit(graphs, ["thin", "thick"] * 20).predict([nx.complete_graph(9)])
        array(['thick'], dtype='<U5')
    """

    class_weight: Weights = None
    dropout: float = 0.2

    def _learn(self, y: NDArray[Any], tasks: Sequence[object]) -> Targets:
        several = y.ndim == 2 and y.shape[1] > 1
        targets = Labels.learn(y, tasks) if several else Classes.learn(y)
        check_weights(self.class_weight, targets.classes)
        self._set_classes(targets)
        return targets

    def _set_classes(self, targets: Classes | Labels) -> None:
        one = np.array(targets.classes)
        self.classes_: Any = one if targets.flat else [one] * targets.width

    def _adopt(self) -> None:
        super()._adopt()
        if isinstance(self.targets_, Numbers):
            raise FileError("expected classes")
        self._set_classes(self.targets_)
        self.class_weight = weights_from_words(self.class_weight, self.targets_.classes)

    def predict_proba(self, graphs: Iterable[object]) -> NDArray[np.float32]:
        """Return probabilities (graphs, classes), in the order of ``classes_``.

        Of several tasks, (graphs, tasks): the probabilities of 1.
        """
        logits = torch.from_numpy(self._outputs(graphs))
        several = isinstance(self.targets_, Labels)
        return np.asarray((logits.sigmoid() if several else logits.softmax(dim=1)).numpy())

    def predict(self, graphs: Iterable[object]) -> NDArray[Any]:
        """Return the most probable class of each graph; of several tasks, (graphs, tasks)."""
        outputs = self._outputs(graphs)
        if isinstance(self.targets_, Labels):
            return np.asarray(outputs > 0, dtype=np.int64)
        return np.asarray(self.classes_[outputs.argmax(axis=1)])

    def score(
        self, graphs: Iterable[object], y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> float:
        """Return the accuracy; the mean over several tasks, each where its labels are known."""
        if not isinstance(self.targets_, Labels):
            return float(super().score(graphs, y, sample_weight))
        truth, predictions = self.targets_.encode(y), torch.from_numpy(self.predict(graphs))
        return float(np.nanmean(by_task(accuracy_score, truth, predictions, sample_weight)))


@with_settings
class SimplicialRegressor(RegressorMixin, Simplicial):
    """Predict numbers for graphs by a simplicial isomorphism network on their clique complexes.

    Targets are one number per graph, or a row of numbers, of which those that are not known
    are NaN; each target is standardized for training, and ``score`` is the mean of their R².

    Predictions stay within the range of the targets in the fit and a tenth more on either side. For
    a graph with more cells of some dimension than all in the fit, the range grows in proportion,
    as targets that count something do. Predictions that this changes are warned about.

    Example:
        >>> graphs = [nx.gnp_random_graph(10, 0.3, seed=i) for i in range(40)]
        >>> edges = [graph.number_of_edges() for graph in graphs]
        >>> model = mpsn.estimators.SimplicialRegressor(epochs=30).fit(graphs, edges)
        >>> model.predict(graphs[:3]).shape
        (3,)

        A network and settings of training of your own, and a given split:

        >>> from functools import partial
        >>> from mpsn.training import Trainer
        >>> model = mpsn.estimators.SimplicialRegressor(
        ...     network=partial(mpsn.nn.models.CIN, hidden=16, layers=2),
        ...     trainer=Trainer.settings(loss="mae", schedule="cosine", average=0.99, epochs=5),
        ... )
        >>> model.fit(graphs, edges, split=(range(30), range(30, 40))).n_validation_
        10
    """

    def _learn(self, y: NDArray[Any], tasks: Sequence[object]) -> Targets:
        return Numbers.learn(y, tasks)

    def _adopt(self) -> None:
        super()._adopt()
        if not isinstance(self.targets_, Numbers):
            raise FileError("expected numbers")

    def predict(self, graphs: Iterable[object]) -> NDArray[np.float64]:
        """Return a number, or a row of numbers, for each graph."""
        targets = cast("Numbers", self.targets_)
        return targets.decode(self._outputs(graphs))

    def score(
        self, graphs: Iterable[object], y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> float:
        """Return R²; the mean over several targets, each where its numbers are known."""
        if self.targets_.flat:
            return float(super().score(graphs, y, sample_weight))
        truth = torch.from_numpy(as_table(y, self.targets_.width))
        predictions = torch.from_numpy(self.predict(graphs))
        return float(np.nanmean(by_task(r2_score, truth, predictions, sample_weight)))
