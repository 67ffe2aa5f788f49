"""Estimators as files: settings, what was learned, and weights, with types checked."""

import os
from collections.abc import Callable
from dataclasses import asdict, fields
from functools import partial
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor

from mpsn.complexes.internal import encode_labels, from_parts, to_parts
from mpsn.errors import FileError, MPSNError
from mpsn.nn import models
from mpsn.training import TrainerSettings, from_plain, pick_device
from mpsn.training.internal import (
    ModelFile,
    adopt_weights,
    damaged,
    read_model,
    with_nan,
    without_nan,
    write_model,
)

E = TypeVar("E", bound=Any)
COMPLEX = "complex."  # before the names of the tensors of a complex


def save_estimator(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted estimator to one file: arrays and JSON, no pickle."""
    if callable(lift := getattr(model, "lift", None)):
        raise FileError(
            f"Expected a lift by name, such as 'rings', in a model to save, got the function "
            f"{lift!r:.60}; lift the graphs first, and fit and predict complexes."
        )
    settings = {**model.get_params(deep=False), "device": "auto", "verbose": False}
    settings |= {"network": None, "trainer": _plain(model.trainer)}
    settings.pop("complex", None)
    if not isinstance(model.random_state, (int, np.integer)):
        settings["random_state"] = None
    learned = {one.name: getattr(model, f"{one.name}_") for one in fields(model._learned)}
    state = {"settings": settings, **asdict(model._learned(**learned))}
    state["histories"] = without_nan(state["histories"])
    if model.network is not None:
        state["network"] = _named(model.model_.members[0])
    tensors: dict[str, Tensor] = dict(model.model_.state_dict())
    if (K := model._lives_on) is not None:
        state["complex"] = {"kind": type(K).__name__, "labels": encode_labels(K.vertex_labels)}
        tensors |= {f"{COMPLEX}{name}": part for name, part in to_parts(K).items()}
    write_model(path, ModelFile(type(model).__name__, state, tensors))


def _plain(how: TrainerSettings | None) -> dict[str, Any] | None:
    """Return the settings of a trainer that are numbers and words."""
    if how is None:
        return None
    kinds = (str, int, float, bool, type(None))
    return {name: value for name, value in how.asdict().items() if isinstance(value, kinds)}


def _named(network: torch.nn.Module) -> dict[str, Any]:
    """Return the name and the keywords of a network."""
    name = type(network).__name__
    if getattr(models, name, None) is not type(network):
        raise FileError(
            f"Expected a network of mpsn.nn.models in a model to save, got a {name}; write "
            f"model_.state_dict() with torch.save."
        )
    return {"model": name, "keywords": network.settings}


def load_estimator(path: str | os.PathLike[str], *kinds: type[E]) -> E:
    """Read an estimator of one of several kinds, and move it to the GPU if there is one."""
    kind, state, tensors = read_model(path)
    made: Any = next((one for one in kinds if one.__name__ == kind), None)
    if made is None:
        raise FileError(
            f"Expected a {' or '.join(one.__name__ for one in kinds)} in {path}, got {kind!r:.40}; "
            f"use mpsn.estimators.load, update mpsn, or check where the file came from."
        )
    try:
        estimator = restored(made, state, tensors)
    except MPSNError as error:
        raise damaged(path, error) from error
    estimator.model_.to(pick_device())
    return estimator  # type: ignore[no-any-return]


def restored(kind: type[E], state: dict[str, Any], tensors: dict[str, Tensor]) -> E:
    """Make an estimator from what a file says."""
    settings, network = state.pop("settings", None), state.pop("network", None)
    K = _complex(state.pop("complex", None), tensors)
    plain = settings if isinstance(settings, dict) else {}
    if "complex" in kind._get_param_names():
        plain = {**plain, "complex": K}
    out = from_plain(kind, plain, "its settings")
    if K is not None and "complex" not in plain:
        out.complex_ = K
    state["histories"] = with_nan(state.get("histories"))
    learned = from_plain(kind._learned, state, "its state")
    for one in fields(learned):
        setattr(out, f"{one.name}_", getattr(learned, one.name))
    out._check()
    if not len(out.histories_) <= out.members:
        raise FileError(f"expected up to {out.members} histories, got {len(out.histories_)}")
    if any(bool(run.valid) != bool(out.n_validation_) for run in out.histories_):
        raise FileError("expected validation losses where samples were held out")
    weights = {name: part for name, part in tensors.items() if not name.startswith(COMPLEX)}
    networks = {name: part for name, part in weights.items() if name.startswith("members.")}
    if network is None:
        _check_sizes(networks, len(out.histories_) * out.layers * (out._depth + 1), out.hidden)
    else:
        out.network = _network(network, networks)
    out._adopt()
    with torch.device("meta"):
        members = [out._make(0) for _ in out.histories_]
    out.model_ = out._ensemble(members, weights)
    adopt_weights(out.model_, weights)
    return out


def _complex(meta: Any, tensors: dict[str, Tensor]) -> Any:
    """Return the complex in a file, if there is one."""
    parts = {name[len(COMPLEX) :]: t for name, t in tensors.items() if name.startswith(COMPLEX)}
    if meta is None and not parts:
        return None
    try:
        return from_parts(parts, meta)
    except (AttributeError, TypeError, ValueError, LookupError, RuntimeError) as error:
        raise FileError(f"expected a complex, got {error}") from error


def _network(named: Any, tensors: dict[str, Tensor]) -> Callable[..., models.Model]:
    """Return a function to a network with the name and keywords that a file says."""
    name = named.get("model") if isinstance(named, dict) else named
    kind: Any = getattr(models, name) if name in models.__all__ else None
    if not (isinstance(kind, type) and issubclass(kind, models.Model)):
        raise FileError(f"expected a network of mpsn.nn.models, got {name!r:.40}")
    keywords = named.get("keywords")
    depth = {"layers": 1, "max_dim": 0, "hidden": 1}  # of those without such keywords
    if isinstance(keywords, dict):
        depth |= {size: keywords[size] for size in depth.keys() & keywords.keys()}
    if not all(isinstance(size, int) for size in depth.values()):
        raise FileError(f"expected integers as sizes of a network, got {depth}")
    _check_sizes(tensors, depth["layers"] * (depth["max_dim"] + 1), depth["hidden"])
    with torch.device("meta"):
        model = from_plain(kind, keywords, "its network")
    return partial(kind, **model.settings)


def _check_sizes(tensors: dict[str, Tensor], layers: int, hidden: int) -> None:
    """Refuse networks larger than the weights in a file, before they are made.

    Each of the ``layers``, in every network and dimension, has (hidden, hidden) weights of its own.
    """
    numbers = sum(tensor.numel() for tensor in tensors.values())
    if layers > len(tensors) or layers * hidden**2 > numbers:
        raise FileError(f"expected weights of {layers} layers of width {hidden}, got {numbers}")
