"""What the classifier and the regressor of graphs have in common."""

import os
from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, Literal, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from mpsn.complexes import ComplexDataset
from mpsn.errors import FileError, GraphError
from mpsn.estimators._explain import Explanation, explain
from mpsn.estimators._features import Encoding, Wanted
from mpsn.estimators._given import Notes
from mpsn.estimators._inputs import (
    Prepared,
    check_many,
    chunks,
    prepare,
    say,
    targets_of,
    vertex_names,
)
from mpsn.estimators._saving import check_sizes, load_estimator, save_estimator
from mpsn.estimators._targets import Targets
from mpsn.estimators._trainer import Ensemble, Forward, History, Trainer, check_settings, outputs
from mpsn.lifting._named import Lift, as_lift
from mpsn.nn.models import SIN, SINConfig
from mpsn.training._checkpoint import adopt_weights
from mpsn.training._config import build


@dataclass(frozen=True)
class Learned:
    """What a model file says beside settings and weights; types are checked when it is read."""

    features: Encoding
    histories: tuple[History, ...]
    graphs: int
    counts: tuple[int, ...]
    validation: int
    targets: Targets


class Simplicial(BaseEstimator):
    """A trained network on lifted graphs; subclasses define the targets."""

    def __init__(
        self,
        *,
        lift: Lift = "cliques",
        max_dim: int = 2,
        max_ring: int = 6,
        features: Wanted = "auto",
        hidden: int = 32,
        layers: int = 2,
        members: int = 3,
        readout: Literal["sum", "mean"] = "sum",
        dropout: float = 0.0,
        epochs: int = 100,
        batch_size: int = 64,
        learning_rate: float = 0.003,
        patience: int = 15,
        validation: float = 0.1,
        device: str = "auto",
        random_state: int | np.random.RandomState | None = 0,
        verbose: bool = False,
    ) -> None:
        self.lift = lift
        self.max_dim = max_dim
        self.max_ring = max_ring
        self.features = features
        self.hidden = hidden
        self.layers = layers
        self.members = members
        self.readout = readout
        self.dropout = dropout
        self.epochs = epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.patience = patience
        self.validation = validation
        self.device = device
        self.random_state = random_state
        self.verbose = verbose

    @abstractmethod
    def _learn(self, y: NDArray[Any]) -> tuple[Targets, Tensor, Tensor | None]:
        """Return what the targets are, and each as a number to train on, and as a class."""

    @abstractmethod
    def _loss(self, y: Tensor) -> Any:
        """Return the loss to train with."""

    @abstractmethod
    def _target(self, graph: object, target: object) -> tuple[int, str]:
        """Return the number of the output to explain, and its name."""

    @abstractmethod
    def _adopt(self, targets: Targets) -> None:
        """Check the targets of a file, and set the attributes that depend on them."""

    def fit(self, graphs: Iterable[object], y: ArrayLike | None = None) -> Self:
        """Lift the graphs and train.

        Args:
            graphs: A list of networkx graphs, PyG ``Data``, complexes, or paths of graph files.
            y: A target for each. Defaults to those the graphs themselves have (``y`` of PyG
                ``Data`` and of complexes).
        """
        check_settings(self, "members")
        trainer = Trainer(self)
        check_many(graphs)
        graphs = list(graphs)
        targets = targets_of(graphs) if y is None else np.asarray(y)
        if len(targets) != len(graphs) or not len(graphs):
            raise GraphError(
                f"Expected graphs and as many targets y, got {len(graphs)} graphs and "
                f"{len(targets)} targets."
            )
        self.targets_, numbers, classes = self._learn(targets)
        notes = Notes()
        data, self.features_ = self._prepare(graphs, wanted=self.features, notes=notes)
        say(notes)
        self.n_features_in_ = self.features_.widths[0]
        self.n_graphs_, self.counts_ = len(graphs), data.union.counts
        data, numbers = data.to(trainer.device), numbers.to(trainer.device)
        trained = [
            trainer.train(
                lambda: SIN(self._config()),
                forward_on(data),
                self._loss(numbers),
                numbers,
                classes,
                member,
            )
            for member in range(self.members)
        ]
        networks, self.histories_, held = zip(*trained, strict=True)
        self.model_, self.n_validation_ = Ensemble(networks).eval(), held[0]
        return self

    def _prepare(
        self, graphs: Iterable[object], encoding: Encoding | None = None, **more: Any
    ) -> Prepared:
        lift = as_lift(self.lift, max(self.max_dim, 1), self.max_ring)
        return prepare(graphs, self.max_dim, encoding, lift=lift, **more)

    def _config(self) -> SINConfig:
        widths = self.features_.widths
        own = len(set(widths)) > 1  # whether edges or higher simplices have features of their own
        return SINConfig(
            in_channels=widths if own else widths[0],
            hidden=self.hidden,
            out_channels=self.targets_.width,
            layers=self.layers,
            max_dim=self.max_dim,
            coface_message=own,
            act="relu",
            norm=not self.features_.steady,  # of one value it would divide rounding by rounding
            jump=True,
            readout=self.readout,
            dropout=self.dropout,
        )

    def _outputs(self, graphs: Iterable[object]) -> NDArray[np.float32]:
        """Return the outputs of the network for graphs, read and lifted a thousand at a time."""
        check_is_fitted(self, "model_")
        check_many(graphs)
        where = next(self.model_.parameters()).device
        rows = [np.zeros((0, self.targets_.width), np.float32)]
        notes = Notes()
        for chunk in chunks(graphs):
            data = self._prepare(chunk, self.features_, notes=notes)[0].to(where)
            everything = torch.arange(len(chunk), device=where)
            found = outputs(self.model_, forward_on(data), everything, self.batch_size)
            rows.append(found.cpu().numpy())
        say(notes)
        return np.concatenate(rows)

    def explain(
        self,
        graph: object,
        target: object = None,
        method: Literal["gradient", "leave_out"] = "gradient",
    ) -> Explanation:
        """Return how much each simplex of a graph contributed to its prediction.

        Args:
            graph: A graph of any kind that :meth:`predict` takes.
            target: The class, or the number of the output, to explain. Defaults to the class
                predicted, or output 0.
            method: ``"gradient"`` for gradient times input, which is fast; ``"leave_out"`` for how
                much the output falls when the simplex, and all it is a face of, are removed.

        Returns:
            The contributions per simplex, which can be drawn; see :class:`Explanation`.
        """
        check_is_fitted(self, "model_")
        (K,) = self._prepare([graph], self.features_)[0]
        if (names := vertex_names(graph)) is not None:
            K = K.replace(vertex_labels=names)
        where = next(self.model_.parameters()).device
        output, name = self._target(graph, target)
        return explain(self.model_, K.to(where), output, name, method)

    def summary(self) -> str:
        """Return a description of the data, the network and its training."""
        check_is_fitted(self, "model_")
        counts = ", ".join(f"{n:,} of dimension {k}" for k, n in enumerate(self.counts_))
        held, runs = self.n_validation_, self.histories_
        cliques = f"cliques of up to {self.max_dim + 1} vertices"
        rings = f"rings of up to {self.max_ring} vertices"
        lifts = {"cliques": cliques, "rings": rings, "cliques+rings": f"{cliques}, {rings}"}
        lines = [
            f"{type(self).__name__}, fitted to {self.n_graphs_} graphs",
            f"  cells            {counts} ({lifts.get(str(self.lift), self.lift)})",
            *(
                f"  {name:<17}" + text.replace("\n", "\n" + " " * 19)
                for name, text in self.features_.describe().items()
            ),
            f"  targets          {self.targets_}",
            f"  network          {self.members} times SIN, averaged; {self.layers} layers of width "
            f"{self.hidden}, {self.readout} over cells, "
            f"{sum(p.numel() for p in self.model_.parameters()):,} parameters",
        ]
        kept = ", ".join(str(run.best + 1) for run in runs)
        if held:
            loss = np.mean([run.valid[run.best] for run in runs])
            lines.append(
                f"  training         kept epoch {kept}, best on {held} other graphs held out each "
                f"time (loss {loss:.4g})"
            )
        else:
            why = "too few graphs" if self.validation else "validation=0"
            lines.append(f"  training         kept epoch {kept}, the last; none held out: {why}")
        return "\n".join(lines)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to one file: weights and JSON, no pickle."""
        check_is_fitted(self, "model_")
        if callable(self.lift):
            raise FileError(
                f"Expected a lift by name, such as 'rings', in a model to save, got the function "
                f"{self.lift!r:.60}; lift the graphs first, and fit and predict complexes."
            )
        learned = Learned(
            self.features_,
            self.histories_,
            self.n_graphs_,
            self.counts_,
            self.n_validation_,
            self.targets_,
        )
        save_estimator(self, path, asdict(learned), self.model_.state_dict())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a model that :meth:`save` wrote; runs no code from the file.

        A file that is damaged or of a newer version is refused. The model goes to the GPU if there
        is one.
        """
        return load_estimator(path, cls)

    @classmethod
    def _restore(
        cls, settings: object, learned: dict[str, Any], tensors: dict[str, Tensor]
    ) -> Self:
        out = build(cls, settings, "its settings")
        state = build(Learned, learned, "its state")
        check_settings(out, "members", "epochs", "batch_size", "patience")
        check_sizes(tensors, out.members * out.layers * (out.max_dim + 1), out.hidden)
        if len(state.histories) != out.members:
            raise FileError(f"expected {out.members} histories, got {len(state.histories)}")
        if any(bool(run.valid) != bool(state.validation) for run in state.histories):
            raise FileError("expected validation losses where samples were held out")
        out._adopt(state.targets)
        out.targets_, out.features_, out.histories_ = state.targets, state.features, state.histories
        if len(state.features.columns) != out.max_dim + 1:
            raise FileError(f"expected features of dimensions 0 to {out.max_dim}")
        out.n_features_in_ = out.features_.widths[0]
        out.n_graphs_, out.counts_, out.n_validation_ = state.graphs, state.counts, state.validation
        with torch.device("meta"):
            out.model_ = Ensemble(SIN(out._config()) for _ in range(out.members))
        adopt_weights(out.model_, tensors)
        return out

    def __sklearn_tags__(self) -> Any:
        """Return tags: the input is graphs, not a table."""
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.no_validation = True
        return tags


def forward_on(data: ComplexDataset) -> Forward:
    """Return the function that computes a network's outputs for some of the complexes."""
    return lambda network, index: network(data.batch(index))
