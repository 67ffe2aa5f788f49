"""Estimators as files: settings, what was learned, and weights, with types checked."""

import os
from typing import Any, TypeVar

import numpy as np
from torch import Tensor

from mpsn.errors import FileError, MPSNError
from mpsn.training._checkpoint import ModelFile, damaged, read_model, write_model
from mpsn.training._device import pick_device

E = TypeVar("E")


def save_estimator(
    estimator: Any,
    path: str | os.PathLike[str],
    learned: dict[str, Any],
    tensors: dict[str, Tensor],
) -> None:
    """Write a fitted estimator to one file: arrays and JSON, no pickle."""
    if callable(lift := getattr(estimator, "lift", None)):
        raise FileError(
            f"Expected a lift by name, such as 'rings', in a model to save, got the function "
            f"{lift!r:.60}; lift the graphs first, and fit and predict complexes."
        )
    settings = {**estimator.get_params(deep=False), "device": "auto", "verbose": False}
    settings.pop("complex", None)
    if not isinstance(estimator.random_state, (int, np.integer)):
        settings["random_state"] = None
    state = {"settings": settings, **learned}
    write_model(path, ModelFile(type(estimator).__name__, state, tensors))


def load_estimator(path: str | os.PathLike[str], *kinds: type[E]) -> E:
    """Read an estimator of one of several kinds, and move it to the GPU if there is one.

    A kind has a class method ``_restore`` that makes it from settings, what was learned and
    tensors, or raises an MPSNError.
    """
    kind, state, tensors = read_model(path)
    found: Any = next((one for one in kinds if one.__name__ == kind), None)
    if found is None:
        raise FileError(
            f"Expected a {' or '.join(one.__name__ for one in kinds)} in {path}, got {kind!r:.40}; "
            f"use mpsn.estimators.load, update mpsn, or check where the file came from."
        )
    try:
        estimator = found._restore(state.pop("settings", None), state, tensors)
    except MPSNError as error:
        raise damaged(path, error) from error
    estimator.model_.to(pick_device())
    return estimator  # type: ignore[no-any-return]


def check_sizes(tensors: dict[str, Tensor], layers: int, hidden: int) -> None:
    """Refuse networks larger than the weights in a file, before they are made.

    Each of the ``layers``, in every network and dimension, has (hidden, hidden) weights of its own.
    """
    numbers = sum(tensor.numel() for tensor in tensors.values())
    if layers > len(tensors) or layers * hidden**2 > numbers:
        raise FileError(f"expected weights of {layers} layers of width {hidden}, got {numbers}")
