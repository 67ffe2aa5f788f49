"""What a model of graphs has learned, to a file and back."""

from dataclasses import dataclass, field
from typing import Any, TypeVar

import torch
from torch import Tensor

from mpsn.errors import FileError
from mpsn.estimators._ensemble import Ensemble
from mpsn.estimators._features import Encoding
from mpsn.estimators._kernel import ColorSum
from mpsn.estimators._saving import check_sizes
from mpsn.estimators._targets import Targets
from mpsn.estimators._trainer import History, check_settings
from mpsn.training._checkpoint import adopt_weights
from mpsn.training._config import from_plain

E = TypeVar("E", bound=Any)


@dataclass(frozen=True)
class Learned:
    """What a model file says beside settings and weights; types are checked when it is read."""

    features: Encoding
    histories: tuple[History, ...]
    graphs: int
    counts: tuple[int, ...]
    validation: int
    targets: Targets
    scores: dict[str, float]
    share: float
    task_scores: dict[str, dict[str, float]] = field(default_factory=dict)
    largest: tuple[int, ...] = ()


def learned_by(model: Any) -> Learned:
    """Return what a fitted model has learned, beside its weights."""
    return Learned(
        model.features_,
        model.histories_,
        model.n_graphs_,
        model.counts_,
        model.n_validation_,
        model.targets_,
        model.scores_,
        model.model_.share,
        model.task_scores_,
        model.largest_,
    )


def restore(out: E, learned: dict[str, Any], tensors: dict[str, Tensor]) -> E:
    """Return a model with its settings, ``out``, after it adopted what it had learned."""
    state = from_plain(Learned, learned, "its state")
    check_settings(out, "members", "epochs", "batch_size", "patience")
    networks = {name: t for name, t in tensors.items() if not name.startswith("kernel.")}
    cells = len(state.histories) * out.layers * (out.max_dim + 1)
    check_sizes(networks, cells, out.hidden)
    if len(state.histories) > out.members or not 0 <= state.share <= 1:
        raise FileError(f"expected up to {out.members} histories, got {len(state.histories)}")
    if any(bool(run.valid) != bool(state.validation) for run in state.histories):
        raise FileError("expected validation losses where samples were held out")
    out._adopt(state.targets)
    out.targets_, out.features_, out.histories_ = state.targets, state.features, state.histories
    if len(state.features.columns) != out.max_dim + 1:
        raise FileError(f"expected features of dimensions 0 to {out.max_dim}")
    out.n_features_in_ = out.features_.widths[0]
    out.n_graphs_, out.counts_, out.n_validation_ = state.graphs, state.counts, state.validation
    out.scores_, out.task_scores_ = state.scores, state.task_scores
    out.largest_ = state.largest
    width = out.targets_.width
    parts = {name: t for name, t in tensors.items() if name.startswith("kernel.")}
    kernel = ColorSum(out.max_dim, {name[7:]: t for name, t in parts.items()}) if parts else None
    if (kernel is None) != (state.share == 0) or (kernel and kernel.bias.shape != (width,)):
        raise FileError("expected the weights of a kernel if it has a share")
    if kernel is not None and kernel.start.tolist() != out.features_.categories:
        raise FileError("expected a kernel whose colors start with the kinds of vertices")
    with torch.device("meta"):
        members = [out._network() for _ in state.histories]
    out.model_ = Ensemble(members, kernel, state.share)
    adopt_weights(out.model_, tensors)
    return out
