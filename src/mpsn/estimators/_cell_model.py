"""What the classifier and the regressor of cells have in common."""

import os
import sys
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Self, cast

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted
from torch import Tensor
from tqdm import tqdm

from mpsn.complexes import ComplexDataset, neighborhood
from mpsn.complexes.complex import Complex
from mpsn.complexes.internal import to_parts
from mpsn.errors import GraphError, MPSNError
from mpsn.estimators._cell_files import learned_by, restore, sampling, summary
from mpsn.estimators._ensemble import Ensemble
from mpsn.estimators._explain import Explanation, explain
from mpsn.estimators._features import Encoding, Wanted
from mpsn.estimators._given import Notes, read
from mpsn.estimators._inputs import (
    as_complexes,
    check_many,
    encoded,
    lift_all,
    lift_of,
    say,
    vertex_names,
)
from mpsn.estimators._on_cells import Cell, cell_names, find_cell, known, targets_of_cells
from mpsn.estimators._on_parts import OnParts, is_large, on_cells, with_all
from mpsn.estimators._oriented import Signs, prepare_oriented
from mpsn.estimators._progress import Resume, fit_key
from mpsn.estimators._saving import load_estimator, save_estimator
from mpsn.estimators._targets import Classes, Numbers, Targets, compare
from mpsn.estimators._tasks import Weights
from mpsn.estimators._threads import serially
from mpsn.estimators._trainer import Trainer, check_settings, outputs
from mpsn.lifting import AnyLift
from mpsn.nn.models import CellNet
from mpsn.training._config import from_plain


class CellModel(BaseEstimator):
    """A trained network with an output for each cell of one dimension."""

    model_: Ensemble
    dim: int
    max_dim: int
    lift: AnyLift
    max_ring: int
    features: Wanted
    oriented: bool
    hidden: int
    layers: int
    members: int
    dropout: float
    batch_size: int
    max_cells: int
    verbose: bool

    class_weight: Weights = None

    @abstractmethod
    def _learn(self, y: NDArray[Any]) -> Targets:
        """Return what the targets are."""

    @abstractmethod
    def _adopt(self, targets: Targets) -> None:
        """Check the targets of a file, and set the attributes that depend on them."""

    def fit(
        self,
        K: object,
        y: object,
        *,
        resume: str | os.PathLike[str] | None = None,
    ) -> Self:
        """Train on the cells whose targets are known; features of all cells are used.

        After Ctrl-C the best networks so far are kept, with a warning.

        Args:
            K: A complex of any kind, or a graph (networkx, PyG ``Data``, a path of a file), which
                is lifted; or a list of them.
            y: Its targets, one for each cell of dimension ``dim``, in the order of :meth:`cells`;
                -1, NaN or None where a class is unknown, NaN where a number is. Or a mapping from
                cells, as tuples of vertices, to targets: cells that are not in it are unknown. For
                a list of complexes, a list of either.
            resume: A path beside which to keep checkpoints, ``path.resume0``, ...; the same fit
                goes on from there if it was killed. Defaults to none.
        """
        check_settings(self, "members", "max_dim", "layers", "hidden", "max_cells")
        if not isinstance(self.dim, (int, np.integer)) or not 0 <= self.dim <= self.max_dim:
            raise MPSNError(f"Expected 0 <= dim <= max_dim={self.max_dim}, got dim={self.dim!r}.")
        trainer = Trainer(self)
        graphs, given = self._items(K), [y] if is_one(K) else list(cast("Iterable[object]", y))
        notes = Notes()
        data, self.features_, self.signs_ = serially(self._prepare, graphs, notes)
        say(notes)
        found, there = self._known(graphs, data.union, given)
        self.targets_ = _unshifted(self._learn(found)) if self._odd else self._learn(found)
        self._adopt(self.targets_)
        numbers = self.targets_.encode(found)
        classes = numbers if isinstance(self.targets_, Classes) else None
        self.n_complexes_, self.counts_ = len(graphs), data.union.counts
        self.n_known_ = len(found)
        at = torch.from_numpy(np.flatnonzero(there))
        if resume is not None:
            settings = {**self.get_params(), "random_state": trainer.seed, "targets": self.targets_}
            parts = [*to_parts(data.union.to("cpu")).values(), at, numbers]
            trainer.resume = Resume(Path(resume), fit_key(settings, parts))
        y_here, forward = numbers.to(trainer.device), on_cells(self, data, at, trainer.device)
        trainer.parts = forward.parts
        if self.verbose and isinstance(forward, OnParts):
            tqdm.write(f"{sampling(self)}.", file=sys.stderr)
        members = trainer.train(
            self._network,
            forward,
            self.targets_.loss(self.class_weight, trainer.device),
            y_here,
            classes,
            self.members,
        )
        self.model_ = Ensemble(member.network for member in members).eval().to(trainer.device)
        self.histories_ = tuple(member.history for member in members)
        self.n_validation_ = len(members[0].split.held)
        self.interrupted_ = trainer.interrupted
        self.scores_: dict[str, float] = {}
        if self.n_validation_ > 1:
            truth = torch.cat([numbers[m.split.held.cpu()] for m in members])
            held = [outputs(self, m.network, forward, m.split.held) for m in members]
            self.scores_, _ = compare(self.targets_, {"this model": torch.cat(held).cpu()}, truth)
        return self

    @property
    def _odd(self) -> bool:
        """Whether predictions change sign with the orientation."""
        return self.oriented and isinstance(self, RegressorMixin)

    def _items(self, K: object) -> list[object]:
        items = [K] if is_one(K) else list(cast("Iterable[object]", K))
        return list(as_complexes(items, lift_of(self)))

    def _one(self, K: object) -> list[object]:
        if not is_one(K):
            raise GraphError("Expected one complex or graph, got several.")
        return self._items(K)

    def _prepare(
        self,
        graphs: Sequence[object],
        notes: Notes,
        encoding: Encoding | None = None,
        signs: Signs | None = None,
    ) -> tuple[ComplexDataset[Any], Encoding, Signs]:
        options: dict[str, Any] = {"wanted": self.features, "notes": notes, "lift": lift_of(self)}
        if self.oriented:
            return prepare_oriented(graphs, self.max_dim, encoding, signs, **options)
        data, encoding = encoded(graphs, self.max_dim, encoding, **options)
        if not is_large(self, data):
            data = ComplexDataset(with_all(self, data.union))
        return data, encoding, ()

    def _lifted(self, graphs: Sequence[object]) -> Complex:
        """Return the union of complexes and lifted graphs, without features."""
        return lift_all([read(graph, Notes()) for graph in graphs], lift_of(self))

    def _known(
        self, graphs: Sequence[object], union: Complex, given: Sequence[object]
    ) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        """Return the known targets, and which cells of the union have them."""
        if len(given) != len(graphs) or not graphs:
            raise GraphError(
                f"Expected complexes and targets y for each, got {len(graphs)} complexes and "
                f"targets for {len(given)}."
            )
        data = ComplexDataset(union)
        many = union.ptr(self.dim).diff().tolist()
        rows = [
            targets_of_cells(
                y, many[i], self.dim, lambda i=i: self._names(graphs[i], data.batch([i]))
            )
            for i, y in enumerate(given)
        ]
        masks = [known(part, isinstance(self, RegressorMixin)) for part in rows]
        there = np.concatenate(masks)
        if not there.any():
            raise MPSNError(
                f"Expected some known targets y of cells of dimension {self.dim}, got none among "
                f"{len(there)}; unknown are -1, NaN and None."
            )
        pairs = zip(rows, masks, strict=True)
        return np.array([value for part, mask in pairs for value in part[mask].tolist()]), there

    def _names(self, graph: object, K: Any) -> list[Cell]:
        return cell_names(K.to("cpu"), self.dim, vertex_names(graph))

    def _network(self) -> CellNet:
        widths = self.features_.widths
        if self.oriented:
            widths = (widths[0], *(len(scales) for scales in self.signs_))
        return CellNet(
            in_channels=widths,
            hidden=self.hidden,
            out_channels=self.targets_.width,
            layers=self.layers,
            max_dim=self.max_dim,
            dim=self.dim,
            oriented=self.oriented,
            odd=self._odd,
            norm=not self.features_.steady,  # of one value it would divide rounding by rounding
            dropout=self.dropout,
        )

    def _outputs(self, K: object) -> list[NDArray[np.float32]]:
        """Return the outputs of the network for the cells of each complex."""
        check_is_fitted(self, "model_")
        notes, where = Notes(), self.model_.device
        data = self._prepare(self._items(K), notes, self.features_, self.signs_)[0]
        say(notes)
        everything = torch.arange(data.union.count(self.dim))
        forward = on_cells(self, data, everything, where)
        size = self.batch_size if len(data) > 1 else max(1, len(everything))
        found = outputs(self, self.model_, forward, everything.to(where), size).cpu().numpy()
        return np.split(found, data.union.ptr(self.dim)[1:-1].tolist())[: len(data)]

    def cells(self, K: object) -> list[Cell]:
        """Return the cells of a complex that :meth:`predict` predicts, as tuples of vertices."""
        graphs = self._one(K)
        return self._names(graphs[0], self._lifted(graphs))

    def explain(self, K: object, cell: object, target: object = None) -> Explanation:
        """Return how much each cell contributed to the prediction for one of them.

        Contributions are parts of the probability, or of the number predicted: gradient times
        input, as in :meth:`SimplicialClassifier.explain`.

        Args:
            K: A complex or graph.
            cell: The cell whose prediction to explain: its number, or a tuple of its vertices.
            target: The class, or the number of the output, to explain. Defaults to the class
                predicted, or output 0.
        """
        check_is_fitted(self, "model_")
        (graph,) = self._one(K)
        data = self._prepare([graph], Notes(), self.features_, self.signs_)[0]
        number = cell if isinstance(cell, (int, np.integer)) else None
        if number is None:
            (number,) = find_cell(self._names(graph, data.union), [cell])
        if not 0 <= number < data.union.count(self.dim):
            raise GraphError(
                f"Expected a cell from 0 to {data.union.count(self.dim) - 1}, got {number}."
            )
        union, names = data.union, vertex_names(graph)
        if is_large(self, data):
            at = {self.dim: torch.tensor([number])}
            part = neighborhood(union.to("cpu"), at, self.layers, lower=self.oriented)
            union, number = with_all(self, part.complex), int(part.seeds[self.dim])
            names = tuple(names[v] if names else v for v in part.rows[0].tolist())
        if names is not None:
            union = union.replace(vertex_labels=names)
        union = union.to(self.model_.device)
        with torch.no_grad():
            rows = self.model_(union)[number : number + 1]
        output, name, runner_up, margin = self.targets_.explained(rows, target)
        units = self.targets_.units(output)
        parts, features = explain(
            self.model_,
            union,
            lambda out: units(out[number : number + 1]),
            self._feature_names(),
            "gradient",
        )
        value = float(units(rows))
        return Explanation(
            union.to("cpu"), parts, features, name, value, runner_up, margin, "gradient"
        )

    def _feature_names(self) -> list[list[str]]:
        if not self.oriented:
            return self.features_.names
        more = [[f"x[{k}].{j}" for j in range(len(s))] for k, s in enumerate(self.signs_, 1)]
        return [self.features_.names[0], *more]

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
        """Read a model that :meth:`save` wrote; runs no code from the file."""
        return load_estimator(path, cls)

    @classmethod
    def _restore(
        cls, settings: object, learned: dict[str, Any], tensors: dict[str, Tensor]
    ) -> Self:
        return restore(from_plain(cls, settings, "its settings"), learned, tensors)

    def __sklearn_tags__(self) -> Any:
        """Return tags: the input is complexes, not a table."""
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.no_validation = True
        return tags

    def _pairs(self, K: object, y: object) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the targets of known cells, and the predictions for them."""
        graphs = self._items(K)
        given = [y] if is_one(K) else list(cast("Iterable[object]", y))
        truth, there = self._known(graphs, self._lifted(graphs), given)
        found: Any = self.predict(graphs)
        return truth, np.concatenate(found)[there]


def is_one(K: object) -> bool:
    """Return whether this is one complex or graph, and not a list of them."""
    if isinstance(K, tuple):
        return True
    try:
        check_many(K)
    except GraphError:
        return True
    return False


def _unshifted(targets: Targets) -> Numbers:
    """Return targets that are scaled only, and not shifted, so that they can change sign."""
    assert isinstance(targets, Numbers)
    size = np.hypot(targets.mean, targets.scale)  # the root of the mean square
    return replace(targets, mean=(0.0,) * len(size), scale=tuple(size.tolist()))
