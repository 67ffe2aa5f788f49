"""What the classifier and the regressor of cells have in common."""

import os
import sys
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self, cast

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted
from tqdm import tqdm

from mpsn.complexes import ComplexDataset, neighborhood
from mpsn.complexes.complex import Complex
from mpsn.errors import FileError, GraphError, MPSNError
from mpsn.estimators._explain import Explanation, explain
from mpsn.estimators._features import Encoding
from mpsn.estimators._given import Notes, read
from mpsn.estimators._inputs import (
    as_complexes,
    check_many,
    encoded,
    lift_all,
    say,
    vertex_names,
)
from mpsn.estimators._lifted import Lifted, counts_in_words
from mpsn.estimators._on_cells import Cell, cell_names, find_cell, known, targets_of_cells
from mpsn.estimators._on_parts import OnParts, is_large, on_cells, with_all
from mpsn.estimators._oriented import Signs, prepare_oriented
from mpsn.estimators._settings import with_settings
from mpsn.estimators._targets import Numbers, Targets
from mpsn.estimators._trained import Learned
from mpsn.nn.models import CellNet
from mpsn.training import TrainerSettings
from mpsn.training.internal import serially


@dataclass(frozen=True)
class LearnedOfCells(Learned):
    """What a model of cells learns."""

    features: Encoding
    signs: Signs
    n_complexes: int
    counts: tuple[int, ...]
    n_known: int


@with_settings
class CellModel(Lifted):
    """A trained network with an output for each cell of one dimension.

    Args:
        dim: Dimension of the cells to predict: 0 for vertices, 1 for edges, 2 for triangles.
        max_dim: Largest dimension of the cells that exchange messages.
        oriented: Whether the features of edges and higher cells have a sign that depends on the
            orientation, as flows do.
        layers: Number of layers of the default network: how far away a cell sees others.
        batch_size: Largest number of known cells per step; a complex is divided only if large.
        max_cells: Largest number of cells of a complex that is trained on and predicted as a whole.
            A training step takes 4 to 6 kB per cell at the default width and depth, up to 6 GB for
            the default of a million. One larger complex stays in main memory. Training steps then
            see the neighborhoods of at most 1024 known cells, with up to 32 co-faces of each cell,
            drawn at random where there are more; predictions are exact, from whole neighborhoods.
            A ``network`` of your own must not see further than ``layers`` steps then.
    """

    dim: int = 0
    oriented: bool = False
    epochs: int = 300
    batch_size: int = 1 << 16
    max_cells: int = 1 << 20
    patience: int = 50

    _learned: ClassVar[type[Learned]] = LearnedOfCells
    _counted: ClassVar[tuple[str, ...]] = ("members", "max_dim", "layers", "hidden", "max_cells")
    _samples: ClassVar[str] = "known cells"
    _least_batch: ClassVar[int | None] = None

    @abstractmethod
    def _learn(self, y: NDArray[Any]) -> Targets:
        """Return what the targets are."""

    @abstractmethod
    def _take(self, targets: Targets) -> None:
        """Set what depends on the targets."""

    @abstractmethod
    def predict(self, K: object) -> Any:
        """Return a prediction for each cell."""

    def fit(
        self,
        K: object,
        y: object,
        *,
        split: Any = None,
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
            split: Which known cells to hold out, by their positions among all that are known, as
                :meth:`mpsn.training.Trainer.fit` takes it. Defaults to a fraction ``validation``.
            resume: A path beside which to keep checkpoints, ``path.resume0``, ...; the same fit
                goes on from there if it was killed. Defaults to none.
        """
        seed, device = self._begin()
        graphs, targets = self._items(K), [y] if is_one(K) else list(cast("Iterable[object]", y))
        notes = Notes()
        data, self.features_, self.signs_ = serially(self._prepare, graphs, notes)
        say(notes)
        values, inside = self._known(graphs, data.union, targets)
        self.targets_ = _unshifted(self._learn(values)) if self._odd else self._learn(values)
        self._take(self.targets_)
        self.n_complexes_, self.counts_ = len(graphs), data.union.counts
        self.n_known_ = len(values)
        cells = torch.from_numpy(np.flatnonzero(inside))
        samples = on_cells(self, data, cells, device)
        if self.verbose and isinstance(samples, OnParts):
            tqdm.write(f"{self._sampling()}.", file=sys.stderr)
        numbers = self.targets_.encode(values)
        self._train_and_compare(samples, numbers, seed, split=split, resume=resume)
        return self

    def _check(self) -> TrainerSettings:
        if not isinstance(self.dim, (int, np.integer)) or not 0 <= self.dim <= self.max_dim:
            raise MPSNError(f"Expected 0 <= dim <= max_dim={self.max_dim}, got dim={self.dim!r}.")
        return super()._check()

    @property
    def _odd(self) -> bool:
        """Whether predictions change sign with the orientation."""
        return self.oriented and isinstance(self, RegressorMixin)

    def _items(self, K: object) -> list[object]:
        items = [K] if is_one(K) else list(cast("Iterable[object]", K))
        return list(as_complexes(items, self._lift()))

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
        options: dict[str, Any] = {"wanted": self.features, "notes": notes, "lift": self._lift()}
        if self.oriented:
            return prepare_oriented(graphs, self.max_dim, encoding, signs, **options)
        data, encoding = encoded(graphs, self.max_dim, encoding, **options)
        if not is_large(self, data):
            data = ComplexDataset(with_all(self, data.union))
        return data, encoding, ()

    def _lifted(self, graphs: Sequence[object]) -> Complex:
        """Return the union of complexes and lifted graphs, without features."""
        return lift_all([read(graph, Notes()) for graph in graphs], self._lift())

    def _known(
        self, graphs: Sequence[object], union: Complex, targets: Sequence[object]
    ) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        """Return the known targets, and which cells of the union have them."""
        if len(targets) != len(graphs) or not graphs:
            raise GraphError(
                f"Expected complexes and targets y for each, got {len(graphs)} complexes and "
                f"targets for {len(targets)}."
            )
        data = ComplexDataset(union)
        counts = union.ptr(self.dim).diff().tolist()
        rows = [
            targets_of_cells(
                y, counts[i], self.dim, lambda i=i: self._names(graphs[i], data.batch([i]))
            )
            for i, y in enumerate(targets)
        ]
        masks = [known(part, isinstance(self, RegressorMixin)) for part in rows]
        inside = np.concatenate(masks)
        if not inside.any():
            raise MPSNError(
                f"Expected some known targets y of cells of dimension {self.dim}, got none among "
                f"{len(inside)}; unknown are -1, NaN and None."
            )
        pairs = zip(rows, masks, strict=True)
        return np.array([value for part, mask in pairs for value in part[mask].tolist()]), inside

    def _names(self, graph: object, K: Any) -> list[Cell]:
        return cell_names(K.to("cpu"), self.dim, vertex_names(graph))

    def _widths(self) -> tuple[int, ...]:
        """Return the widths of the features of all dimensions."""
        widths = self.features_.widths
        return (widths[0], *map(len, self.signs_)) if self.oriented else widths

    def _network(self) -> CellNet:
        return CellNet(
            in_channels=self._widths(),
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
        """Return the outputs of the networks for the cells of each complex."""
        check_is_fitted(self, "model_")
        notes = Notes()
        data = self._prepare(self._items(K), notes, self.features_, self.signs_)[0]
        say(notes)
        every = torch.arange(data.union.count(self.dim))
        outputs = self._mean_outputs(on_cells(self, data, every, self.model_.device)).cpu().numpy()
        return np.split(outputs, data.union.ptr(self.dim)[1:-1].tolist())[: len(data)]

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
            seeds = {self.dim: torch.tensor([number])}
            part = neighborhood(union.to("cpu"), seeds, self.layers, lower=self.oriented)
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

    def _sampling(self) -> str:
        """Return why steps see parts of the complex that the model is fitted to, in words."""
        cells = f"{sum(self.counts_):,} cells are more than max_cells, {self.max_cells:,}"
        return f"{cells}: steps see sampled neighborhoods; predictions are exact"

    def _described(self) -> tuple[str, dict[str, str]]:
        complexes = f"{self.n_complexes_} complex{'es' * (self.n_complexes_ > 1)}"
        known_cells = f"{self.n_known_:,} known cells of dimension {self.dim} of {complexes}"
        lines = {"cells": counts_in_words(self.counts_), **self.features_.describe()}
        return f"{type(self).__name__}, fitted to {known_cells}", lines

    def _network_in_words(self) -> tuple[str, str]:
        return "orientation equivariant network" if self.oriented else "CIN", ""

    def _after_training(self) -> dict[str, str]:
        large = self.n_complexes_ == 1 and sum(self.counts_) > self.max_cells
        return {"sampled": self._sampling()} if large else {}

    def _adopt(self) -> None:
        """Check what was read from a file, and set what follows from it."""
        right = len(self.features_.columns) == self.max_dim + 1
        if not right or len(self.signs_) != self.max_dim * self.oriented:
            raise FileError(f"expected features of dimensions 0 to {self.max_dim}")
        if any(scale <= 0 for scales in self.signs_ for scale in scales):
            raise FileError("expected scales of features above 0")
        if not self.histories_:
            raise FileError("expected the history of a network")
        self._take(self.targets_)

    def _pairs(self, K: object, y: object) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the targets of known cells, and the predictions for them."""
        graphs = self._items(K)
        targets = [y] if is_one(K) else list(cast("Iterable[object]", y))
        truth, inside = self._known(graphs, self._lifted(graphs), targets)
        predictions: Any = self.predict(graphs)
        return truth, np.concatenate(predictions)[inside]


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
