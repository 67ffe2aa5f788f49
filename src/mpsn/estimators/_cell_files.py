"""What a model of cells has learned, to a file and back, and in words."""

from dataclasses import dataclass
from typing import Any, TypeVar

import torch
from torch import Tensor

from mpsn.errors import FileError
from mpsn.estimators._ensemble import Ensemble
from mpsn.estimators._features import Encoding
from mpsn.estimators._oriented import Signs
from mpsn.estimators._saving import check_sizes
from mpsn.estimators._targets import Targets
from mpsn.estimators._trainer import History, check_settings
from mpsn.training._checkpoint import adopt_weights
from mpsn.training._config import from_plain

E = TypeVar("E", bound=Any)


@dataclass(frozen=True)
class Learned:
    """What a model file says beside settings and weights."""

    features: Encoding
    signs: Signs
    histories: tuple[History, ...]
    complexes: int
    counts: tuple[int, ...]
    known: int
    validation: int
    targets: Targets
    scores: dict[str, float]


def learned_by(model: Any) -> Learned:
    """Return what a fitted model has learned, beside its weights."""
    return Learned(
        model.features_,
        model.signs_,
        model.histories_,
        model.n_complexes_,
        model.counts_,
        model.n_known_,
        model.n_validation_,
        model.targets_,
        model.scores_,
    )


def restore(out: E, learned: dict[str, Any], tensors: dict[str, Tensor]) -> E:
    """Return a model with its settings, ``out``, after it adopted what it had learned."""
    state = from_plain(Learned, learned, "its state")
    check_settings(
        out, "members", "max_dim", "layers", "hidden", "epochs", "batch_size", "max_cells"
    )
    check_sizes(tensors, len(state.histories) * out.layers * (out.max_dim + 1), out.hidden)
    if not 1 <= len(state.histories) <= out.members:
        raise FileError(f"expected up to {out.members} histories, got {len(state.histories)}")
    right = len(state.features.columns) == out.max_dim + 1 and 0 <= out.dim <= out.max_dim
    if not right or len(state.signs) != out.max_dim * out.oriented:
        raise FileError(f"expected features of dimensions 0 to {out.max_dim}")
    if any(scale <= 0 for scales in state.signs for scale in scales):
        raise FileError("expected scales of features above 0")
    out.features_, out.signs_, out.histories_ = state.features, state.signs, state.histories
    out.n_complexes_, out.counts_, out.n_known_ = state.complexes, state.counts, state.known
    out.n_validation_, out.scores_ = state.validation, state.scores
    out._adopt(state.targets)
    out.targets_ = state.targets
    with torch.device("meta"):
        out.model_ = Ensemble([out._network() for _ in state.histories])
    adopt_weights(out.model_, tensors)
    return out


def sampling(model: Any) -> str:
    """Return why steps see parts of the complex a model is fitted to, in words."""
    cells = f"{sum(model.counts_):,} cells are more than max_cells, {model.max_cells:,}"
    return f"{cells}: steps see sampled neighborhoods; predictions are exact"


def summary(model: Any) -> str:
    """Return a description of the data, the network and its training."""
    counts = ", ".join(f"{n:,} of dimension {k}" for k, n in enumerate(model.counts_))
    size = sum(p.numel() for p in model.model_.parameters())
    kept = ", ".join(str(run.best + 1) for run in model.histories_)
    how = "orientation equivariant network" if model.oriented else "CIN"
    held = model.n_validation_
    best = f"best on {held} other known cells held out each time" if held else "the last"
    many = f"{model.n_complexes_} complex{'es' * (model.n_complexes_ > 1)}"
    lines = [
        f"{type(model).__name__}, fitted to {model.n_known_:,} known cells of dimension "
        f"{model.dim} of {many}",
        f"  cells            {counts}",
        *(
            f"  {name:<17}" + text.replace("\n", "\n" + " " * 19)
            for name, text in model.features_.describe().items()
        ),
        f"  targets          {model.targets_}",
        f"  networks         {len(model.histories_)} {how}; {model.layers} layers of width "
        f"{model.hidden}, {size:,} parameters",
        f"  training         kept epoch {kept}, {best}",
    ]
    if model.n_complexes_ == 1 and sum(model.counts_) > model.max_cells:
        lines.append(f"  sampled          {sampling(model)}")
    if model.scores_:
        lines.append(f"  {model.targets_.metric} on cells held out, and used to stop")
        lines += [f"    {name:<15}{value:.3f}" for name, value in model.scores_.items()]
    return "\n".join(lines)
