"""Predict which vertices form a simplex."""

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import roc_auc_score
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from mpsn.complexes import SimplicialComplex
from mpsn.complexes.complex import Complex
from mpsn.complexes.internal import encode_labels, from_parts, to_parts
from mpsn.errors import ComplexError, FileError, MPSNError
from mpsn.estimators._candidates import draw_missing, faces_of
from mpsn.estimators._features import Encoding, Wanted
from mpsn.estimators._given import Notes
from mpsn.estimators._inputs import prepare, say
from mpsn.estimators._saving import check_sizes, load_estimator, save_estimator
from mpsn.estimators._threads import serially
from mpsn.estimators._trainer import History, Trainer, check_settings, outputs
from mpsn.nn.models import SIN
from mpsn.training._checkpoint import adopt_weights
from mpsn.training._config import from_plain
from mpsn.training._device import Precision

FOLDS = 5  # parts of the simplices, each of which is predicted from all others


@dataclass(frozen=True)
class Learned:
    """What a model file says beside settings, weights and complex."""

    features: Encoding
    history: History
    validation: int
    positives: int
    open: int
    auc: float | None
    labels: Any


class SimplexPredictor(ClassifierMixin, BaseEstimator):
    """Predict which vertices form a simplex: the closure of triangles, links between vertices, ...

    A network passes messages on the complex; the probability of a candidate follows from the
    features of its faces, averaged in each dimension, so that the order of its vertices does not
    matter. Faces that the complex does not have count as zeros.

    In training, the simplices of dimension ``dim`` are divided at random into five parts. Each part
    is predicted on the complex without it (and without all cells above), so that the network never
    sees a simplex that it predicts. As many counterexamples are drawn as there are simplices: first
    *open* ones, which are missing though all their faces are there (open triangles); if there are
    too few, simplices with one vertex replaced at random; for edges, always so. Probabilities are
    relative to this mixture of one to one.

    Args:
        dim: Dimension of the simplices to predict: 1 for edges, 2 for triangles.
        features: Which features to use; see :class:`SimplicialClassifier`.
        hidden: Width of the layers.
        layers: Number of layers.
        dropout: Dropout rate before the last dense layer.
        epochs: Largest number of epochs.
        batch_size: Largest number of candidates per step.
        learning_rate: Initial learning rate of Adam.
        patience: Number of epochs without a better validation loss after which training stops.
        validation: Fraction of the candidates held out for that; with fewer than 20, none are.
        device: ``"auto"``, ``"cpu"`` or ``"cuda"``.
        precision: Precision of the network; see :class:`SimplicialClassifier`.
        random_state: Seed of all random numbers.
        verbose: Whether to show a progress bar.

    Attributes:
        classes_: False and True.
        auc_: Area under the ROC curve on the candidates held out; None if there are none.
        n_open_: Number of counterexamples that are open simplices.

    Example:
        >>> K = mpsn.clique_complex(nx.karate_club_graph(), max_dim=2)
        >>> K = K.subcomplex({1: torch.arange(78), 2: torch.arange(30)})  # 15 triangles are open
        >>> model = mpsn.estimators.SimplexPredictor(epochs=20).fit(K)
        >>> model.predict_proba([[0, 1, 2], [5, 16, 6]]).shape
        (2, 2)
    """

    model_: torch.nn.Module
    complex_: SimplicialComplex

    def __init__(
        self,
        *,
        dim: int = 2,
        features: Wanted = "auto",
        hidden: int = 32,
        layers: int = 2,
        dropout: float = 0.2,
        epochs: int = 100,
        batch_size: int = 4096,
        learning_rate: float = 0.01,
        patience: int = 20,
        validation: float = 0.1,
        device: str = "auto",
        precision: Precision = "float32",
        random_state: int | np.random.RandomState | None = 0,
        verbose: bool = False,
    ) -> None:
        given = locals()
        for name in self._get_param_names():
            setattr(self, name, given[name])

    def fit(self, K: SimplicialComplex, y: None = None) -> Self:
        """Train on the simplices of a complex, and on others that it does not have.

        Args:
            K: The complex, with or without features. From a list of simplices:
                :func:`mpsn.datasets.read_complex`, ``SimplicialComplex.from_simplices``; of a
                hypergraph: ``SimplicialComplex.from_xgi``.
            y: Ignored; there for scikit-learn.
        """
        check_settings(self, "dim", "hidden", "layers")
        trainer = Trainer(self)
        K = self._checked(K)
        generator = torch.Generator().manual_seed(trainer.seed)
        given = K.simplices(self.dim)
        missing, self.n_open_ = draw_missing(K, self.dim, len(given), generator)
        if not len(missing):
            raise MPSNError(
                f"Expected a complex in which some simplices of dimension {self.dim} are missing, "
                f"got all of them."
            )
        rows = torch.cat([missing, given])
        truth = (torch.arange(len(rows)) >= len(missing)).long()
        fold = torch.randperm(len(rows), generator=generator) % FOLDS
        parts = [without(K, self.dim, fold[len(missing) :] == f) for f in range(FOLDS)]
        notes = Notes()
        data, self.features_ = serially(prepare, parts, self.dim, wanted=self.features, notes=notes)
        say(notes)
        forward = OnCandidates(
            [L.to(trainer.device) for L in data],
            [at.to(trainer.device) for at in faces_of(K, rows)],
            fold.to(trainer.device),
            self.batch_size,
        )
        trainer.parts = forward.parts
        y_here = truth.to(trainer.device)
        (member,) = trainer.train(
            self._network, forward, torch.nn.CrossEntropyLoss(), y_here, truth
        )
        self.model_, self.history_ = member.network, member.history
        self.interrupted_, held = trainer.interrupted, member.split.held
        self.classes_ = np.array([False, True])
        self.n_positives_, self.n_validation_ = len(given), len(held)
        self.auc_: float | None = None
        if len(held):
            chances = outputs(self, self.model_, forward, held).softmax(dim=1)[:, 1]
            self.auc_ = float(roc_auc_score(truth[held.cpu()].numpy(), chances.cpu().numpy()))
        whole, _ = serially(prepare, [K], self.dim, self.features_, notes=Notes())
        self.complex_ = whole.union
        if K.vertex_labels is not None:
            self.complex_ = self.complex_.replace(vertex_labels=K.vertex_labels)
        return self

    def _checked(self, K: object) -> SimplicialComplex:
        if not isinstance(K, SimplicialComplex) or K.num_complexes != 1:
            raise ComplexError(
                f"Expected one SimplicialComplex, got {type(K).__name__}; make one with "
                f"SimplicialComplex.from_simplices, from_graph or from_xgi."
            )
        if K.count(self.dim) < 2:
            raise ComplexError(
                f"Expected at least two simplices of dimension {self.dim} to learn from, got "
                f"{K.count(self.dim)}."
            )
        host: SimplicialComplex = K.to("cpu")
        return host.skeleton(self.dim)

    def _network(self) -> SIN:
        return SIN(
            in_channels=self.features_.widths,
            hidden=self.hidden,
            out_channels=2,
            layers=self.layers,
            max_dim=self.dim,
            act="relu",
            norm=not self.features_.steady,
            jump=True,
            readout_dims=tuple(range(self.dim)),
            dropout=self.dropout,
        )

    def predict_proba(self, candidates: ArrayLike) -> NDArray[np.float32]:
        """Return the probabilities (n, 2) that candidates are no simplices, and that they are.

        Those for simplices of the complex itself are no honest guesses: their faces know of them.

        Args:
            candidates: Vertices (n, dim + 1), in any order: names, if the complex has
                ``vertex_labels``, else numbers.
        """
        check_is_fitted(self, "model_")
        K, rows = self.complex_, self._rows(candidates)
        where = next(self.model_.parameters()).device
        everything = torch.arange(len(rows), device=where)
        faces = [at.to(where) for at in faces_of(K, rows)]
        forward = OnCandidates([K.to(where)], faces, torch.zeros_like(everything), len(rows))
        chances = outputs(self, self.model_, forward, everything, max(1, len(rows))).softmax(dim=1)
        return np.asarray(chances.cpu().numpy())

    def predict(self, candidates: ArrayLike) -> NDArray[np.bool_]:
        """Return whether each of the candidates (n, dim + 1) forms a simplex."""
        return np.asarray(self.predict_proba(candidates)[:, 1] > 0.5)

    def _rows(self, candidates: ArrayLike) -> Tensor:
        """Return candidates as numbers of vertices (n, dim + 1), ascending."""
        names = self.complex_.vertex_labels
        table: Any = candidates.cpu() if isinstance(candidates, Tensor) else candidates
        try:
            if names is not None:
                number = {name: i for i, name in enumerate(names)}
                given = table.tolist() if isinstance(table, (Tensor, np.ndarray)) else table
                rows = [[number[name] for name in row] for row in given]
                table = rows or np.zeros((0, self.dim + 1), np.int64)
            found = torch.from_numpy(np.asarray(table).astype(np.int64, casting="same_kind"))
        except (KeyError, TypeError, ValueError) as error:
            raise ComplexError(
                f"Expected candidates as rows of vertices of the complex, got {error!r:.80}."
            ) from error
        n, width = self.complex_.num_nodes, self.dim + 1
        if found.dim() != 2 or found.shape[1] != width:
            raise ComplexError(
                f"Expected candidates of shape (n, {width}), for simplices of dimension "
                f"{self.dim}, got {tuple(found.shape)}."
            )
        found = found.sort(dim=1).values
        if bool(((found < 0) | (found >= n)).any()) or bool((found.diff(dim=1) == 0).any()):
            raise ComplexError(f"Expected different vertices from 0 to {n - 1} in each candidate.")
        return found

    def summary(self) -> str:
        """Return a description of the data, the network and its training."""
        check_is_fitted(self, "model_")
        missing = f"as many others, {self.n_open_:,} of them open"
        lines = [
            f"SimplexPredictor of dimension {self.dim} on {self.complex_.bare()}",
            f"  candidates  {self.n_positives_:,} simplices, {missing}",
            f"  network     SIN, {self.layers} layers of width {self.hidden}",
            f"  training    {len(self.history_.train)} epochs, kept number "
            f"{self.history_.best + 1}; {self.n_validation_} candidates held out",
        ]
        return "\n".join(lines + [f"  AUC on them {self.auc_ or 0:.3f}"] * (self.auc_ is not None))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model and its complex to one file: arrays and JSON, no pickle."""
        check_is_fitted(self, "model_")
        labels = encode_labels(self.complex_.vertex_labels)
        counts = self.n_validation_, self.n_positives_, self.n_open_
        learned = Learned(self.features_, self.history_, *counts, self.auc_, labels)
        tensors = {f"complex.{name}": part for name, part in to_parts(self.complex_).items()}
        tensors |= {f"model.{name}": part for name, part in self.model_.state_dict().items()}
        save_estimator(self, path, asdict(learned), tensors)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a model that :meth:`save` wrote; runs no code from the file."""
        return load_estimator(path, cls)

    @classmethod
    def _restore(
        cls, settings: object, learned: dict[str, Any], tensors: dict[str, Tensor]
    ) -> Self:
        out = from_plain(cls, settings, "its settings")
        state = from_plain(Learned, learned, "its state")
        check_settings(out, "dim", "hidden", "layers", "epochs", "batch_size", "patience")
        parts, weights = (
            {name[len(kind) :]: t for name, t in tensors.items() if name.startswith(kind)}
            for kind in ("complex.", "model.")
        )
        check_sizes(weights, out.layers * (out.dim + 1), out.hidden)
        try:
            out.complex_ = from_parts(parts, {"labels": state.labels})
        except (ValueError, LookupError, RuntimeError) as error:
            raise FileError(f"expected a complex, got {error}") from error
        widths = tuple(0 if x is None else x.shape[1] for x in out.complex_.x[: out.dim + 1])
        if widths != state.features.widths[: len(widths)] or len(widths) != out.dim + 1:
            raise FileError(f"expected features of widths {state.features.widths}, got {widths}")
        out.features_, out.history_, out.auc_ = state.features, state.history, state.auc
        out.n_positives_, out.n_open_ = state.positives, state.open
        out.n_validation_, out.classes_ = state.validation, np.array([False, True])
        with torch.device("meta"):
            out.model_ = out._network()
        adopt_weights(out.model_, weights)
        return out


class OnCandidates:
    """Outputs of a network for candidates, each on the complex that it may be predicted from.

    Args:
        complexes: The complexes, with features.
        faces: Faces of all candidates by dimension, (N, many); -1 for those that are not there.
        fold: Which complex each candidate belongs to, (N,).
        size: Largest number of candidates per step.
    """

    def __init__(
        self, complexes: Sequence[Complex], faces: list[Tensor], fold: Tensor, size: int
    ) -> None:
        self.complexes, self.faces, self.fold, self.size = complexes, faces, fold, size

    def __call__(self, network: Any, index: Tensor) -> Tensor:
        """Return the outputs (B, 2) for the candidates of some positions (B,)."""
        fold = self.fold[index]
        out = torch.zeros(len(index), 2, device=index.device)
        for f in torch.unique(fold).tolist():
            here = fold == f
            pooled = []
            for h, at in zip(network.features(self.complexes[f]), self.faces, strict=True):
                padded = torch.cat([h, h.new_zeros(1, h.shape[1])])  # -1 is the row of zeros
                pooled.append(padded[at[index[here]]].mean(dim=1))  # (b, F)
            out[here] = network.readout.combine(pooled)
        return out

    def parts(self, used: Tensor, generator: torch.Generator) -> Sequence[Tensor]:
        """Divide positions into steps, each on one complex, in random order."""
        used = used[torch.randperm(len(used), generator=generator).to(used.device)]
        folds = torch.randperm(len(self.complexes), generator=generator).tolist()
        mine = [used[self.fold[used] == f] for f in folds]
        return [part for some in mine for part in torch.split(some, self.size) if len(part)]


def without(K: SimplicialComplex, dim: int, hidden: Tensor) -> SimplicialComplex:
    """Return K without some of its simplices of the highest dimension, (n_dim,) of bool."""
    every = {k: torch.ones(K.count(k), dtype=torch.bool) for k in range(dim)}
    return K.subcomplex({**every, dim: ~hidden})
