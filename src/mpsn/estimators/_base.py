"""What the classifier and the regressor of graphs have in common."""

import os
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from mpsn.complexes import Complex, ComplexDataset
from mpsn.datasets import parse_molecule
from mpsn.errors import GraphError
from mpsn.estimators._ensemble import Ensemble
from mpsn.estimators._explain import Explanation, explain
from mpsn.estimators._features import Encoding, Wanted
from mpsn.estimators._given import Notes, means_molecule
from mpsn.estimators._inputs import (
    Prepared,
    as_complexes,
    check_many,
    chunks,
    growth,
    lift_of,
    prepare,
    say,
    targets_of,
    vertex_names,
)
from mpsn.estimators._kernel import blend, find_colors
from mpsn.estimators._on_disk import OnDisk, contents, prepared
from mpsn.estimators._progress import Resume, fit_key
from mpsn.estimators._restore import learned_by, restore
from mpsn.estimators._saving import load_estimator, save_estimator
from mpsn.estimators._summary import summary
from mpsn.estimators._targets import Classes, Numbers, Targets, compare
from mpsn.estimators._tasks import Weights, known
from mpsn.estimators._threads import SerialBLAS, serially
from mpsn.estimators._trainer import (
    Member,
    Split,
    Trainer,
    as_targets,
    check_settings,
    outputs,
)
from mpsn.lifting import AnyLift
from mpsn.nn.models import SIN
from mpsn.training._config import from_plain
from mpsn.training._device import Precision
from mpsn.training._distributed import Forward, Parallel, norms_apart
from mpsn.training._processes import check_same, world_size


class Simplicial(BaseEstimator):
    """A trained network on lifted graphs; subclasses define the targets."""

    model_: Ensemble
    targets_: Targets
    scores_: dict[str, float]
    task_scores_: dict[str, dict[str, float]]
    class_weight: Weights = None

    def __init__(
        self,
        *,
        lift: AnyLift = "cliques",
        max_dim: int = 2,
        max_ring: int = 6,
        features: Wanted = "auto",
        hidden: int = 32,
        layers: int = 2,
        members: int = 2,
        kernel: bool | None = None,
        readout: Literal["sum", "mean"] = "sum",
        dropout: float = 0.0,
        epochs: int = 100,
        batch_size: int = 64,
        learning_rate: float = 0.01,
        patience: int = 10,
        validation: float = 0.1,
        device: str = "auto",
        precision: Precision = "float32",
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
        self.kernel = kernel
        self.readout = readout
        self.dropout = dropout
        self.epochs = epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.patience = patience
        self.validation = validation
        self.device = device
        self.precision = precision
        self.random_state = random_state
        self.verbose = verbose

    @abstractmethod
    def _learn(self, y: NDArray[Any], tasks: Sequence[object]) -> Targets:
        """Return what the targets are, with the names of several."""

    @abstractmethod
    def _adopt(self, targets: Targets) -> None:
        """Check the targets of a file, and set the attributes that depend on them."""

    def fit(
        self,
        graphs: Iterable[object],
        y: ArrayLike | None = None,
        *,
        tasks: Sequence[str] = (),
        resume: str | os.PathLike[str] | None = None,
    ) -> Self:
        """Lift the graphs and train.

        After Ctrl-C the best networks so far are kept, with a warning.

        Args:
            graphs: A list of networkx graphs, PyG ``Data``, complexes, paths of graph files, or
                molecules: SMILES, or RDKit's. With ``kernel=False``, a
                :class:`~mpsn.ComplexDataset` that was opened stays in its file: batches are read,
                and features found in a sample of 10,000.
            y: A target for each, or a row of several, of which those not known are NaN; graphs
                without any are left out. Defaults to those the graphs themselves have (``y`` of
                PyG ``Data`` and of complexes).
            tasks: Names of several targets. Defaults to the columns of a data frame ``y``.
            resume: A path beside which to keep checkpoints, ``path.resume0``, ...; the same fit
                goes on from there if it was killed. Defaults to none.
        """
        check_settings(self, "members", "max_dim")
        trainer = Trainer(self)
        check_many(graphs)
        graphs = graphs if isinstance(graphs, ComplexDataset) else list(graphs)
        targets = targets_of(graphs) if y is None else as_targets(y)
        if len(targets) != len(graphs) or not len(graphs):
            raise GraphError(
                f"Expected graphs and as many targets y, got {len(graphs)} graphs and "
                f"{len(targets)} targets."
            )
        self.targets_ = self._learn(targets, list(tasks) or list(getattr(y, "columns", ())))
        numbers, notes = self.targets_.encode(targets), Notes()
        there = known(numbers).reshape(len(numbers), -1).any(dim=1)
        if left := int((~there).sum()):
            notes["graphs", "none of their targets is known"] += left
        numbers = numbers[there]
        classes = numbers if isinstance(self.targets_, Classes) else None
        data, self.features_ = prepared(self, graphs, there, notes)
        say(notes)
        self.n_features_in_ = self.features_.widths[0]
        self.n_graphs_, self.counts_ = len(numbers), tuple(data.counts.sum(0).tolist())
        self.largest_ = tuple(data.counts.amax(0).tolist())
        if resume is not None or world_size() > 1:
            settings = {**self.get_params(), "random_state": trainer.seed, "targets": self.targets_}
            settings["norms apart"] = norms_apart()
            key = fit_key(settings, [*contents(data), numbers])
            check_same(key, "graphs, targets and settings")
            trainer.resume = None if resume is None else Resume(Path(resume), key)
        forward, y_here = forward_on(data.to(trainer.device)), numbers.to(trainer.device)
        cells = data.counts.sum(dim=1)
        members = (
            []
            if self.kernel
            else trainer.train(
                self._network,
                forward,
                self.targets_.loss(self.class_weight, trainer.device),
                y_here,
                classes,
                self.members,
                cells,
            )
        )
        splits = [
            Split(*(at.cpu() for at in trainer.split(y_here, classes, i)))
            for i in range(len(members) or self.members)
        ]
        serially(self._blend, data, numbers, splits, members, Parallel(forward, cells))
        self.model_ = self.model_.eval().to(trainer.device)
        self.interrupted_ = trainer.interrupted
        return self

    def _prepare(
        self, graphs: Iterable[object], encoding: Encoding | None = None, **more: Any
    ) -> Prepared:
        lift = lift_of(self)
        return prepare(as_complexes(graphs, lift), self.max_dim, encoding, lift=lift, **more)

    def _blend(
        self,
        data: ComplexDataset | OnDisk,
        y: Tensor,
        splits: Sequence[Split],
        members: Sequence[Member],
        forward: Forward,
    ) -> None:
        """Set the model: networks, kernel, and the shares of both; and how good they are."""
        self.histories_ = tuple(member.history for member in members)
        networks = [member.network for member in members]
        self.n_validation_ = len(splits[0].held)
        rows = [
            outputs(self, member.network, forward, member.split.held).cpu() for member in members
        ]
        held = {"networks": torch.cat(rows)} if rows else {}
        if isinstance(data, OnDisk) or self.kernel is False:
            self.model_ = Ensemble(networks)
        else:
            with SerialBLAS():
                K, start = data.union.to("cpu"), torch.tensor(self.features_.categories)
                kernel = find_colors(K, self.max_dim, self.targets_.width, start)
                table = kernel.table(K)
                weights = self.targets_.weigh(self.class_weight)
                loss = self.targets_.loss(self.class_weight, y.device)
                mixed = blend(kernel, table, y, splits, rows, loss, weights)
            held["SWL kernel"] = mixed.held
            self.model_ = Ensemble(networks, mixed.kernel, mixed.share)
        self.scores_, self.task_scores_ = {}, {}
        truth = torch.cat([y[split.held] for split in splits])
        if known(truth).sum() > 1:
            whole = self.model_.mix(held.get("networks"), held.get("SWL kernel"))
            self.scores_, self.task_scores_ = compare(
                self.targets_, {"this model": whole, **held}, truth
            )

    def _network(self) -> SIN:
        widths = self.features_.widths
        own = len(set(widths)) > 1  # whether edges or higher simplices have features of their own
        return SIN(
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
        where = self.model_.device
        rows = [np.zeros((0, self.targets_.width), np.float32)]
        notes = Notes()
        for chunk in chunks(graphs):
            data = self._prepare(chunk, self.features_, notes=notes)[0].to(where)
            everything = torch.arange(len(chunk), device=where)
            found = outputs(self, self.model_, forward_on(data), everything)
            rows.append(self._bound(found, data.union, notes))
        say(notes)
        return np.concatenate(rows)

    def _bound(self, rows: Tensor, K: Complex, notes: Notes) -> NDArray[np.float32]:
        """Return outputs for complexes; numbers that are far from all in the fit are bounded."""
        found = rows.cpu().numpy()
        if not isinstance(self.targets_, Numbers):
            return found
        kept = self.targets_.bound(found, growth(K, self.largest_))
        if many := int((kept != found).sum()):
            notes["predictions", "far beyond the targets in the fit; kept within a bound"] += many
        return kept

    def explain(
        self,
        graph: object,
        target: object = None,
        method: Literal["gradient", "leave_out"] = "gradient",
    ) -> Explanation:
        """Return how much each simplex of a graph contributed to its prediction.

        Contributions are parts of the probability, or of the number predicted.

        Args:
            graph: A graph of any kind that :meth:`predict` takes.
            target: The class to explain, or, of several targets or tasks, the name or number of
                one. Defaults to the class predicted, or the first target.
            method: ``"gradient"`` for gradient times input (of the kernel: the weights of colors),
                which is fast; for a class, that of its log-odds, times the mean slope of the
                probability from even odds on. ``"leave_out"`` for how much the prediction falls
                when the simplex, and all it is a face of, are removed.

        Returns:
            The contributions per simplex, which can be drawn; see :class:`Explanation`.
        """
        check_is_fitted(self, "model_")
        (graph,) = as_complexes([graph], lift_of(self))
        (K,) = self._prepare([graph], self.features_)[0]
        if (names := vertex_names(graph)) is not None:
            K = K.replace(vertex_labels=names)
        where = self.model_.device
        K = K.to(where)
        with torch.no_grad():
            rows = self.model_(K)
        output, name, runner_up, margin = self.targets_.explained(rows, target)
        units = self.targets_.units(output)
        parts, features = explain(self.model_, K, units, self.features_.names, method)
        value = float(units(torch.from_numpy(self._bound(rows, K, Notes()))))
        drawn = parse_molecule(graph) if means_molecule(graph) else None
        said = (name, value, runner_up, margin, method, drawn)
        return Explanation(K.to("cpu"), parts, features, *said)

    def summary(self) -> str:
        """Return a description of the data, the network and its training."""
        check_is_fitted(self, "model_")
        return summary(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to one file: weights and JSON, no pickle."""
        check_is_fitted(self, "model_")
        save_estimator(self, path, asdict(learned_by(self)), self.model_.state_dict())

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
        return restore(from_plain(cls, settings, "its settings"), learned, tensors)

    def __sklearn_tags__(self) -> Any:
        """Return tags: the input is graphs, not a table."""
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.no_validation = True
        return tags


def forward_on(data: ComplexDataset | OnDisk) -> Forward:
    """Return the function that computes a network's outputs for some of the complexes."""
    return lambda network, index: network(data.batch(index))
