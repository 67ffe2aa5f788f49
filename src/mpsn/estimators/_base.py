"""What the classifier and the regressor of graphs have in common."""

import os
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from mpsn.complexes import Complex, ComplexDataset
from mpsn.datasets import parse_molecule
from mpsn.errors import FileError, GraphError, MPSNError
from mpsn.estimators._ensemble import Ensemble, check_finite
from mpsn.estimators._explain import Explanation, explain
from mpsn.estimators._features import Encoding
from mpsn.estimators._given import Notes, means_molecule
from mpsn.estimators._inputs import (
    Prepared,
    as_complexes,
    check_many,
    chunks,
    growth,
    prepare,
    say,
    targets_of,
    vertex_names,
)
from mpsn.estimators._kernel import ColorSum, SerialBLAS, blend, find_colors
from mpsn.estimators._lifted import Lifted, counts_in_words
from mpsn.estimators._on_disk import OnDisk, prepared
from mpsn.estimators._settings import with_settings
from mpsn.estimators._targets import Numbers, Targets, as_targets
from mpsn.estimators._trained import Learned, held_of
from mpsn.nn.models import SIN
from mpsn.training import Trainer, TrainerSettings, joined, loss_of, pick_device
from mpsn.training.internal import known, serially, splits_of


@dataclass(frozen=True)
class LearnedOfGraphs(Learned):
    """What a model of graphs learns."""

    features: Encoding
    n_graphs: int
    counts: tuple[int, ...]
    largest: tuple[int, ...]
    share: float


@with_settings
class Simplicial(Lifted):
    """A model of graphs: networks on their complexes, and a kernel; subclasses define the targets.

    Args:
        kernel: Whether to use the SWL kernel alone (True), networks alone (False), or both (None).
        readout: How the simplices of a graph are pooled, ``"sum"`` or ``"mean"``.
        members: Number of networks, each with other graphs held out; their outputs are averaged.
    """

    kernel: bool | None = None
    readout: Literal["sum", "mean"] = "sum"
    members: int = 2

    _learned: ClassVar[type[Learned]] = LearnedOfGraphs
    _samples: ClassVar[str] = "graphs"

    @abstractmethod
    def _learn(self, y: NDArray[Any], tasks: Sequence[object]) -> Targets:
        """Return what the targets are, with the names of several."""

    def fit(
        self,
        graphs: Iterable[object],
        y: ArrayLike | None = None,
        *,
        tasks: Sequence[str] = (),
        split: Any = None,
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
            split: Positions ``(train, val)`` of the graphs to learn from, and of those to stop by,
                instead of a fraction ``validation``; a splitter of scikit-learn, whose i-th split
                is that of network i; or a list of pairs, one for each network.
            resume: A path beside which to keep checkpoints, ``path.resume0``, ...; the same fit
                goes on from there if it was killed. Defaults to none.
        """
        with joined():
            return self._fit(graphs, y, tasks, split, resume)

    def _fit(
        self,
        graphs: Iterable[object],
        y: Any,
        tasks: Sequence[str],
        split: Any,
        resume: str | os.PathLike[str] | None,
    ) -> Self:
        seed, device = self._begin()
        check_many(graphs)
        graphs = graphs if isinstance(graphs, ComplexDataset) else list(graphs)
        targets = targets_of(graphs) if y is None else as_targets(y)
        if len(targets) != len(graphs) or not len(graphs):
            raise GraphError(
                f"Expected graphs and as many targets y, got {len(graphs)} graphs and "
                f"{len(targets)} targets."
            )
        positions = torch.arange(len(targets))
        if split is not None:
            split = self._checked_split(split, targets, seed)
            every = [part for parts in split for part in parts.values()]
            positions = torch.from_numpy(np.unique(torch.cat(every).numpy()))
        targets = targets[positions.numpy()]
        self.targets_ = self._learn(targets, list(tasks) or list(getattr(y, "columns", ())))
        numbers, notes = self.targets_.encode(targets), Notes()
        usable = known(numbers).reshape(len(numbers), -1).any(dim=1)
        if left := int((~usable).sum()):
            notes["graphs", "none of their targets is known"] += left
        numbers, positions = numbers[usable], positions[usable]
        if split is not None:  # among the graphs that are used
            split = [
                {name: torch.isin(positions, part).nonzero()[:, 0] for name, part in parts.items()}
                for parts in split
            ]
        data, self.features_ = prepared(self, graphs, positions, notes)
        say(notes)
        self.n_features_in_ = self.features_.widths[0]
        self.n_graphs_, self.counts_ = len(numbers), tuple(data.counts.sum(0).tolist())
        self.largest_ = tuple(data.counts.amax(0).tolist())
        if isinstance(data, ComplexDataset):
            data = data.to(device)
        how, trainer = self._plan(len(numbers), seed), None
        if self.kernel:
            self.histories_, self.interrupted_ = (), False
        else:
            trainer = self._train(data, numbers, how, split, resume)
        serially(self._blend, data, numbers, how, trainer, split)
        return self

    def _check(self) -> TrainerSettings:
        if self.kernel not in (None, True, False):
            raise MPSNError(
                f"Expected kernel as True, False or None (both), got {self.kernel!r:.60}."
            )
        return super()._check()

    def _checked_split(
        self, split: Any, targets: NDArray[Any], seed: int
    ) -> list[dict[str, Tensor]]:
        """Return the parts for each network; one that is for neither is left to ``score``."""
        y = torch.zeros(len(targets))
        if targets.ndim == 1 and targets.dtype.kind != "f":  # for splitters that see to classes
            y = torch.from_numpy(np.unique(targets, return_inverse=True)[1])
        splits = splits_of(split, y, [seed + i for i in range(self.members)])
        if any(parts.keys() - {"train", "val"} for parts in splits):
            raise MPSNError(
                "Expected positions to train on, and to stop by, as a split, got more parts; "
                "score the others with score()."
            )
        return splits

    def _prepare(
        self, graphs: Iterable[object], encoding: Encoding | None = None, **more: Any
    ) -> Prepared:
        lift = self._lift()
        return prepare(as_complexes(graphs, lift), self.max_dim, encoding, lift=lift, **more)

    def _blend(
        self,
        data: ComplexDataset | OnDisk,
        y: Tensor,
        how: TrainerSettings,
        trainer: Trainer | None,
        split: Any,
    ) -> None:
        """Set the model: networks, kernel, and the shares of both; and how good they are."""
        networks, rows = [], []
        if trainer is None:
            part = self._fraction(len(y)) if split is None else split
            splits = splits_of(part, y, how.seeds(self.members))
        else:
            networks, splits = trainer.networks, trainer.splits
            rows = self._held_out(trainer, data, how)
        held = held_of(splits)
        models = {"networks": rows} if rows else {}
        if isinstance(data, OnDisk) or self.kernel is False:
            self.model_ = Ensemble(networks)
        else:
            with SerialBLAS():
                K, start = data.union.to("cpu"), torch.tensor(self.features_.categories)
                kernel = find_colors(K, self.max_dim, self.targets_.width, start)
                pairs = [(parts["train"], own) for parts, own in zip(splits, held, strict=True)]
                weights = self.targets_.weigh(getattr(self, "class_weight", None))
                loss = loss_of(how.loss, how.class_weight)
                mixed = blend(kernel, kernel.table(K), y, pairs, rows, loss, weights)
            models["SWL kernel"] = [mixed.held]
            self.model_ = Ensemble(networks, mixed.kernel, mixed.share)
        self.share_ = self.model_.share
        self.model_.to(pick_device(how.device))
        if len(torch.cat(held)):
            each = {name: torch.cat(parts) for name, parts in models.items()}
            whole = self.model_.mix(each.get("networks"), each.get("SWL kernel"))
            models = {"this model": [whole], **models}
        self._compare(models, y, held)

    # Networks --------------------------------------------------------------------------------

    def _widths(self) -> int | tuple[int, ...]:
        """Return the width of the features of vertices, or of all dimensions where they differ."""
        widths = self.features_.widths
        return widths if len(set(widths)) > 1 else widths[0]

    def _network(self) -> SIN:
        widths = self._widths()
        return SIN(
            in_channels=widths,
            hidden=self.hidden,
            out_channels=self.targets_.width,
            layers=self.layers,
            max_dim=self.max_dim,
            coface_message=not isinstance(widths, int),
            act="relu",
            norm=not self.features_.steady,  # of one value it would divide rounding by rounding
            jump=True,
            readout=self.readout,
            dropout=self.dropout,
        )

    # Predictions -----------------------------------------------------------------------------

    def _outputs(self, graphs: Iterable[object]) -> NDArray[np.float32]:
        """Return the outputs of the model for graphs, read and lifted a thousand at a time."""
        check_is_fitted(self, "model_")
        check_many(graphs)
        model, device = self.model_, self.model_.device
        rows = [np.zeros((0, self.targets_.width), np.float32)]
        notes = Notes()
        for chunk in chunks(graphs):
            data = self._prepare(chunk, self.features_, notes=notes)[0].to(device)
            networks = self._mean_outputs(data) if model.share < 1 else None
            with torch.no_grad():
                kernel = None if model.kernel is None else model.kernel(data.union)
            outputs = check_finite(model.mix(networks, kernel))
            rows.append(self._bound(outputs, data.union, notes))
        say(notes)
        return np.concatenate(rows)

    def _bound(self, rows: Tensor, K: Complex, notes: Notes) -> NDArray[np.float32]:
        """Return outputs for complexes; numbers that are far from all in the fit are bounded."""
        outputs = rows.cpu().numpy()
        if not isinstance(self.targets_, Numbers):
            return outputs
        kept = self.targets_.bound(outputs, growth(K, self.largest_))
        if changed := int((kept != outputs).sum()):
            why = "far beyond the targets in the fit; kept within a bound"
            notes["predictions", why] += changed
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
        (graph,) = as_complexes([graph], self._lift())
        (K,) = self._prepare([graph], self.features_)[0]
        if (names := vertex_names(graph)) is not None:
            K = K.replace(vertex_labels=names)
        K = K.to(self.model_.device)
        with torch.no_grad():
            rows = self.model_(K)
        output, name, runner_up, margin = self.targets_.explained(rows, target)
        units = self.targets_.units(output)
        parts, features = explain(self.model_, K, units, self.features_.names, method)
        value = float(units(torch.from_numpy(self._bound(rows, K, Notes()))))
        drawn = parse_molecule(graph) if means_molecule(graph) else None
        said = (name, value, runner_up, margin, method, drawn)
        return Explanation(K.to("cpu"), parts, features, *said)

    # In words, and in files ------------------------------------------------------------------

    def _described(self) -> tuple[str, dict[str, str]]:
        cliques = f"cliques of up to {self.max_dim + 1} vertices"
        rings = f"rings of up to {self.max_ring} vertices"
        lifts = {"cliques": cliques, "rings": rings, "cliques+rings": f"{cliques}, {rings}"}
        lift = lifts.get(str(self.lift), self.lift)
        lines = {"cells": f"{counts_in_words(self.counts_)} ({lift})", **self.features_.describe()}
        return f"{type(self).__name__}, fitted to {self.n_graphs_} graphs", lines

    def _network_in_words(self) -> tuple[str, str]:
        return "SIN" if self.lift == "cliques" else "CIN", f", {self.readout} over cells"

    def _after_training(self) -> dict[str, str]:
        if self.kernel is False:
            return {}
        chosen = self.histories_ and self.n_validation_
        how = ", by the loss on graphs held out" if chosen else ""
        return {"SWL kernel": f"{self.share_:.0%} of the output{how}"}

    def _use_of_held(self) -> str:
        uses = {None: "to stop and to mix", True: "to choose its penalty", False: "to stop"}
        return uses[self.kernel]

    def _adopt(self) -> None:
        """Check what was read from a file, and set what follows from it."""
        if len(self.features_.columns) != self.max_dim + 1:
            raise FileError(f"expected features of dimensions 0 to {self.max_dim}")
        if not 0 <= self.share_ <= 1:
            raise FileError(f"expected a share from 0 to 1, got {self.share_}")
        self.n_features_in_ = self.features_.widths[0]

    def _ensemble(self, members: Sequence[torch.nn.Module], tensors: dict[str, Tensor]) -> Ensemble:
        """Return the model, of networks without weights."""
        parts = {name[7:]: part for name, part in tensors.items() if name.startswith("kernel.")}
        kernel, width = ColorSum(self.max_dim, parts) if parts else None, self.targets_.width
        if (kernel is None) != (self.share_ == 0) or (kernel and kernel.bias.shape != (width,)):
            raise FileError("expected the weights of a kernel if it has a share")
        if kernel is not None and kernel.start.tolist() != self.features_.categories:
            raise FileError("expected a kernel whose colors start with the kinds of vertices")
        return Ensemble(members, kernel, self.share_)
