"""Predict which vertices form a simplex."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.metrics import roc_auc_score
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from mpsn.complexes import SimplicialComplex
from mpsn.complexes.complex import Complex
from mpsn.complexes.internal import to_parts
from mpsn.errors import ComplexError, FileError, MPSNError
from mpsn.estimators._candidates import draw_missing, faces_of
from mpsn.estimators._features import Encoding, Wanted
from mpsn.estimators._given import Notes
from mpsn.estimators._inputs import prepare, say
from mpsn.estimators._settings import with_settings
from mpsn.estimators._targets import Classes
from mpsn.estimators._trained import Learned, Trained, held_of
from mpsn.nn.models import SIN
from mpsn.training.internal import serially

FOLDS = 5  # parts of the simplices, each of which is predicted from all others


@dataclass(frozen=True)
class LearnedOfSimplices(Learned):
    """What a model of simplices learns, beside its complex."""

    features: Encoding
    n_positives: int
    n_open: int
    auc: float | None


@with_settings
class SimplexPredictor(ClassifierMixin, Trained):
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
        network: A network of your own, instead of the default one, with its methods ``features``
            and ``readout``, such as :class:`mpsn.nn.models.CIN`; see
            :class:`SimplicialClassifier`.
        dropout: Dropout rate before the last dense layer of the default network.
        batch_size: Largest number of candidates per step.

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

    dim: int = 2
    features: Wanted = "auto"
    dropout: float = 0.2
    batch_size: int = 4096
    patience: int = 20

    _learned: ClassVar[type[Learned]] = LearnedOfSimplices
    _counted: ClassVar[tuple[str, ...]] = ("members", "dim", "hidden", "layers")
    _samples: ClassVar[str] = "candidates"
    _least_batch: ClassVar[int | None] = None

    def fit(self, K: SimplicialComplex, y: None = None) -> Self:
        """Train on the simplices of a complex, and on others that it does not have.

        Args:
            K: The complex, with or without features. From a list of simplices:
                :func:`mpsn.datasets.read_complex`, ``SimplicialComplex.from_simplices``; of a
                hypergraph: ``SimplicialComplex.from_xgi``.
            y: Ignored; there for scikit-learn.
        """
        seed, device = self._begin()
        K = self._checked(K)
        generator = torch.Generator().manual_seed(seed)
        simplices = K.simplices(self.dim)
        missing, self.n_open_ = draw_missing(K, self.dim, len(simplices), generator)
        if not len(missing):
            raise MPSNError(
                f"Expected a complex in which some simplices of dimension {self.dim} are missing, "
                f"got all of them."
            )
        rows = torch.cat([missing, simplices])
        truth = (torch.arange(len(rows)) >= len(missing)).long()
        fold = torch.randperm(len(rows), generator=generator) % FOLDS
        parts = [without(K, self.dim, fold[len(missing) :] == f) for f in range(FOLDS)]
        notes = Notes()
        data, self.features_ = serially(prepare, parts, self.dim, wanted=self.features, notes=notes)
        say(notes)
        samples = OnCandidates(list(data), faces_of(K, rows), fold, device)
        self.targets_ = Classes((False, True), (len(missing), len(simplices)))
        self.classes_ = np.array(self.targets_.classes)
        how = self._plan(len(rows), seed)
        trainer = self._train(samples, truth, how)
        held, outputs = held_of(trainer.splits), self._held_out(trainer, samples, how)
        self._compare({"this model": outputs}, truth, held)
        self.n_positives_ = len(simplices)
        self.auc_: float | None = None
        if self.n_validation_:
            chances = torch.cat(outputs).softmax(dim=1)[:, 1]
            self.auc_ = float(roc_auc_score(truth[torch.cat(held)].numpy(), chances.numpy()))
        whole, _ = serially(prepare, [K], self.dim, self.features_, notes=Notes())
        self.complex_: Any = whole.union
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

    @property
    def _depth(self) -> int:
        """Largest dimension of the cells that have weights in the default network."""
        return self.dim

    def _widths(self) -> tuple[int, ...]:
        """Return the widths of the features of all dimensions."""
        return self.features_.widths

    def _network(self) -> SIN:
        return SIN(
            in_channels=self._widths(),
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
        fold = torch.zeros(len(rows), dtype=torch.int64)
        samples = OnCandidates([K], faces_of(K, rows), fold, self.model_.device, at_once=True)
        return np.asarray(self._mean_outputs(samples).softmax(dim=1).cpu().numpy())

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
                named = table.tolist() if isinstance(table, (Tensor, np.ndarray)) else table
                numbers = [[number[name] for name in row] for row in named]
                table = numbers or np.zeros((0, self.dim + 1), np.int64)
            rows = torch.from_numpy(np.asarray(table).astype(np.int64, casting="same_kind"))
        except (KeyError, TypeError, ValueError) as error:
            raise ComplexError(
                f"Expected candidates as rows of vertices of the complex, got {error!r:.80}."
            ) from error
        n, width = self.complex_.num_nodes, self.dim + 1
        if rows.dim() != 2 or rows.shape[1] != width:
            raise ComplexError(
                f"Expected candidates of shape (n, {width}), for simplices of dimension "
                f"{self.dim}, got {tuple(rows.shape)}."
            )
        rows = rows.sort(dim=1).values
        if bool(((rows < 0) | (rows >= n)).any()) or bool((rows.diff(dim=1) == 0).any()):
            raise ComplexError(f"Expected different vertices from 0 to {n - 1} in each candidate.")
        return rows

    def _described(self) -> tuple[str, dict[str, str]]:
        missing = f"as many others, {self.n_open_:,} of them open"
        lines = {"candidates": f"{self.n_positives_:,} simplices, {missing}"}
        return f"SimplexPredictor of dimension {self.dim} on {self.complex_.bare()}", lines

    def _after_training(self) -> dict[str, str]:
        return {} if self.auc_ is None else {"AUC on them": f"{self.auc_:.3f}"}

    @property
    def _lives_on(self) -> SimplicialComplex:
        """The complex that the model is for."""
        return self.complex_  # type: ignore[no-any-return]

    def _adopt(self) -> None:
        """Check what was read from a file, and set what follows from it."""
        if not isinstance(K := getattr(self, "complex_", None), SimplicialComplex):
            raise FileError("expected a simplicial complex")
        if not isinstance(self.targets_, Classes) or not self.histories_:
            raise FileError("expected classes, and the history of a network")
        widths = tuple(0 if x is None else x.shape[1] for x in K.x[: self.dim + 1])
        if widths != self.features_.widths[: len(widths)] or len(widths) != self.dim + 1:
            raise FileError(f"expected features of widths {self.features_.widths}, got {widths}")
        self.classes_ = np.array(self.targets_.classes)


class OnCandidates:
    """Candidates as samples, each on the complex that it may be predicted from.

    Args:
        complexes: The complexes, with features.
        faces: Faces of all candidates by dimension, (N, faces); -1 for those that are not there.
        fold: Which complex each candidate belongs to, (N,).
        device: Where to compute.
        at_once: Whether all outputs are computed at once. Defaults to False.
    """

    def __init__(
        self,
        complexes: Sequence[Complex],
        faces: list[Tensor],
        fold: Tensor,
        device: torch.device,
        at_once: bool = False,
    ) -> None:
        self.complexes = [K.to(device) for K in complexes]
        self.faces = [rows.to(device) for rows in faces]
        self.fold, self.device, self.at_once = fold, device, at_once
        self.sizes = torch.ones(len(fold), dtype=torch.int64)

    def __call__(self, network: Any, index: Tensor) -> Tensor:
        """Return the outputs (B, 2) for the candidates of some positions (B,)."""
        if not hasattr(network, "features") or not hasattr(network, "readout"):
            raise MPSNError(
                f"Expected a network with features and a readout, such as SIN or CIN, to predict "
                f"simplices, got a {type(network).__name__}."
            )
        fold = self.fold[index.cpu()]
        out = torch.zeros(len(index), 2, device=self.device)
        for f in torch.unique(fold).tolist():
            here = (fold == f).nonzero()[:, 0]
            rows = index.cpu()[here].to(self.device)
            pooled = []
            for h, faces in zip(network.features(self.complexes[f]), self.faces, strict=True):
                padded = torch.cat([h, h.new_zeros(1, h.shape[1])])  # -1 is the row of zeros
                pooled.append(padded[faces[rows]].mean(dim=1))  # (b, F)
            out[here.to(self.device)] = network.readout.combine(pooled)
        return out

    def steps(self, index: Tensor, size: int, generator: torch.Generator) -> Sequence[Tensor]:
        """Divide samples into steps, each on one complex, in random order."""
        index = index[torch.randperm(len(index), generator=generator)]
        folds = torch.randperm(len(self.complexes), generator=generator).tolist()
        own = [index[self.fold[index] == f] for f in folds]
        return [part for candidates in own for part in torch.split(candidates, size) if len(part)]

    def fingerprint(self) -> list[Tensor]:
        """Return what differs when the samples do."""
        parts = [part for K in self.complexes for part in to_parts(K).values()]
        return [*parts, *self.faces, self.fold]


def without(K: SimplicialComplex, dim: int, hidden: Tensor) -> SimplicialComplex:
    """Return K without some of its simplices of the highest dimension, (n_dim,) of bool."""
    every = {k: torch.ones(K.count(k), dtype=torch.bool) for k in range(dim)}
    return K.subcomplex({**every, dim: ~hidden})
