"""What the classifier and the regressor of graphs have in common."""

import os
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from mpsn.complexes import ComplexDataset
from mpsn.errors import UNREADABLE, FileError, GraphError, MPSNError
from mpsn.estimators.explain import Explanation, explain
from mpsn.estimators.features import FeatureRule
from mpsn.estimators.files import ModelFile, adopt_weights, damaged, read_model, write_model
from mpsn.estimators.inputs import check_many, chunks, prepare, targets_of, vertex_names
from mpsn.estimators.training import (
    Ensemble,
    History,
    hold_out,
    outputs,
    pick_device,
    seeded,
    train,
)
from mpsn.experiments.configs import build
from mpsn.nn.models import SIN, SINConfig


@dataclass(frozen=True)
class State:
    """What a model file says beside the weights; checked for types when it is read."""

    settings: dict  # type: ignore[type-arg]
    features: FeatureRule
    histories: tuple[History, ...]
    graphs: int
    counts: tuple[int, ...]
    validation: int
    targets: dict  # type: ignore[type-arg]


class Simplicial(BaseEstimator):
    """SIN on lifted graphs, trained; what the targets are is left to be said."""

    def __init__(
        self,
        *,
        max_dim: int = 2,
        features: str | Sequence[str] = "auto",
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
        random_state: Any = 0,
        verbose: bool = False,
    ) -> None:
        self.max_dim = max_dim
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
    def _learn_targets(self, y: NDArray[Any]) -> tuple[Tensor, NDArray[np.int64] | None]:
        """Check the targets and learn what they are; return them as numbers, and as classes."""

    @abstractmethod
    def _loss(self, y: Tensor) -> Any:
        """Return the loss to train with."""

    @property
    @abstractmethod
    def _width(self) -> int:
        """Number of outputs of the network."""

    def fit(self, graphs: Iterable[object], y: ArrayLike | None = None) -> Self:
        """Lift the graphs and train.

        Args:
            graphs: A list of networkx graphs, PyG ``Data``, complexes, or paths of graph files.
            y: A target for each; those the graphs themselves have (``y`` of PyG ``Data`` and of
                complexes) unless said.
        """
        self._check_settings()
        check_many(graphs)
        graphs = list(graphs)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        where = pick_device(self.device)
        targets = targets_of(graphs) if y is None else np.asarray(y)
        if len(targets) != len(graphs) or not len(graphs):
            raise GraphError(
                f"Expected graphs and as many targets y, got {len(graphs)} graphs and "
                f"{len(targets)} targets."
            )
        numbers, classes = self._learn_targets(targets)
        data, self.features_ = prepare(graphs, self.max_dim, wanted=self.features)
        self.n_features_in_ = self.features_.width
        self.n_graphs_, self.counts_ = len(graphs), data.union.counts
        data, numbers = data.to(where), numbers.to(where)
        networks, histories = [], []
        for member in range(self.members):
            parts = hold_out(len(graphs), self.validation, classes, seed + member)
            with seeded(seed + member, where):
                network = SIN(self._config()).to(where)
                history = train(
                    network,
                    _forward(network, data),
                    self._loss(numbers),
                    numbers,
                    parts,
                    epochs=self.epochs,
                    batch_size=self.batch_size,
                    learning_rate=self.learning_rate,
                    patience=self.patience,
                    verbose=self.verbose,
                )
            networks.append(network)
            histories.append(history)
        self.model_ = Ensemble(networks).eval()
        self.histories_, self.n_validation_ = tuple(histories), len(parts[1])
        return self

    def _config(self) -> SINConfig:
        return SINConfig(
            in_channels=self.n_features_in_,
            hidden=self.hidden,
            out_channels=self._width,
            layers=self.layers,
            max_dim=self.max_dim,
            coface_message=False,
            act="relu",
            norm=not self.features_.steady,  # of one value it would divide rounding by rounding
            jump=True,
            readout=self.readout,
            dropout=self.dropout,
        )

    def _check_settings(self) -> None:
        for name in ("members", "epochs", "batch_size", "patience"):
            if not isinstance(value := getattr(self, name), (int, np.integer)) or value < 1:
                raise MPSNError(f"Expected {name} as an integer >= 1, got {value!r}.")
        if not 0 <= self.validation < 1:
            raise MPSNError(
                f"Expected validation as a part from 0 to below 1, got {self.validation!r}."
            )
        if not self.learning_rate > 0:
            raise MPSNError(f"Expected a learning_rate above 0, got {self.learning_rate!r}.")

    def _outputs(self, graphs: Iterable[object]) -> NDArray[np.float32]:
        """Return what the network says of graphs, read and lifted a thousand at a time."""
        check_is_fitted(self, "model_")
        check_many(graphs)
        where = next(self.model_.parameters()).device
        rows = [np.zeros((0, self._width), np.float32)]
        for chunk in chunks(graphs):
            data = prepare(chunk, self.max_dim, self.features_)[0].to(where)
            everything = torch.arange(len(chunk), device=where)
            forward = _forward(self.model_, data)
            rows.append(outputs(self.model_, forward, everything, self.batch_size).cpu().numpy())
        return np.concatenate(rows)

    def explain(
        self,
        graph: object,
        target: object = None,
        method: Literal["gradient", "leave_out"] = "gradient",
    ) -> Explanation:
        """Say how much each simplex of a graph contributed to what the model says of it.

        Args:
            graph: A graph of any kind that :meth:`predict` takes.
            target: The class, or number of the output, that is asked about; the class predicted, or
                output 0, unless said.
            method: ``"gradient"`` for gradient times input, which is quick; ``"leave_out"`` for how
                much the output falls when the simplex, and all it is a face of, are taken away.

        Returns:
            The contributions per simplex, which can be drawn; see :class:`Explanation`.
        """
        check_is_fitted(self, "model_")
        (K,) = prepare([graph], self.max_dim, self.features_)[0]
        if (names := vertex_names(graph)) is not None:
            K = K.replace(vertex_labels=names)
        where = next(self.model_.parameters()).device
        output, name = self._target(graph, target)
        return explain(self.model_, K.to(where), output, name, method)

    @abstractmethod
    def _target(self, graph: object, target: object) -> tuple[int, str]:
        """Return the number of the output asked about, and its name."""

    def summary(self) -> str:
        """Say what was built, from what, and why."""
        check_is_fitted(self, "model_")
        counts = ", ".join(f"{n:,} of dimension {k}" for k, n in enumerate(self.counts_))
        held, runs = self.n_validation_, self.histories_
        lines = [
            f"{type(self).__name__}, fitted to {self.n_graphs_} graphs",
            f"  simplices        {counts} (cliques of up to {self.max_dim + 1} vertices)",
            f"  vertex features  {self.features_.describe()}",
            "  other features   the mean over the vertices of a simplex",
            f"  targets          {self._describe_targets()}",
            f"  network          {self.members} times SIN, averaged; {self.layers} layers of width "
            f"{self.hidden}, {self.readout} over simplices, "
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
            why = "too few graphs" if self.validation else "asked so"
            lines.append(f"  training         kept epoch {kept}, the last; none held out: {why}")
        return "\n".join(lines)

    @abstractmethod
    def _describe_targets(self) -> str:
        """Say what is predicted."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to one file: weights and JSON, no pickle."""
        check_is_fitted(self, "model_")
        settings = self.get_params()
        settings["device"], settings["verbose"] = "auto", False
        if not isinstance(self.random_state, (int, np.integer)):
            settings["random_state"] = None
        state = {
            "settings": settings,
            "features": asdict(self.features_),
            "histories": [asdict(run) for run in self.histories_],
            "graphs": self.n_graphs_,
            "counts": self.counts_,
            "validation": self.n_validation_,
            "targets": self._targets(),
        }
        kind = type(self).__name__
        write_model(path, ModelFile(kind, state, self.model_.state_dict()))

    @abstractmethod
    def _targets(self) -> dict[str, Any]:
        """Return what was learned of the targets, as plain values."""

    @abstractmethod
    def _set_targets(self, targets: dict[str, Any]) -> None:
        """Take back what :meth:`_targets` returned."""

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a model that :meth:`save` wrote; runs no code from the file.

        A file that is damaged or of a newer version is refused. The model goes to the GPU where
        there is one.
        """
        return cls.from_file(read_model(path), path)

    @classmethod
    def from_file(cls, found: ModelFile, path: str | os.PathLike[str]) -> Self:
        """Build the model that a file holds; the path is for errors."""
        if found.kind != cls.__name__:
            raise FileError(
                f"Expected a {cls.__name__} in {path}, got a {found.kind:.40}; "
                f"use mpsn.estimators.load."
            )
        try:
            return cls._restore(build(State, found.state, "its config"), found.tensors)
        except UNREADABLE as error:
            raise damaged(path, error) from error

    @classmethod
    def _restore(cls, state: "State", tensors: dict[str, Tensor]) -> Self:
        out = cls(**state.settings)
        out._check_settings()
        if max(out.members, out.layers, out.max_dim) > len(tensors):
            raise FileError(f"expected weights of {out.layers} layers, got {len(tensors)} tensors")
        if len(state.histories) != out.members:
            raise FileError(f"expected {out.members} histories, got {len(state.histories)}")
        out._set_targets(state.targets)
        out.features_, out.histories_ = state.features, state.histories
        out.n_features_in_ = out.features_.width
        out.n_graphs_, out.counts_, out.n_validation_ = state.graphs, state.counts, state.validation
        with torch.device("meta"):
            out.model_ = Ensemble(SIN(out._config()) for _ in range(out.members))
        adopt_weights(out.model_, tensors)
        out.model_.to(pick_device("auto"))
        return out

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn that the input is graphs, not a table."""
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.no_validation = True
        return tags


def _forward(model: torch.nn.Module, data: ComplexDataset) -> Any:
    return lambda index: model(data.batch(index))
