"""Trained models as files: an ``.npz`` of weights with a JSON config, and nothing that runs."""

import json
import math
import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from mpsn import __version__
from mpsn._files.io import atomic_write, read_json
from mpsn._files.npz import read_arrays
from mpsn.errors import UNREADABLE, FileError, MPSNError, TooLargeError

FORMAT = 3
MAX_BYTES = 1 << 30  # of the arrays in a model
TYPES = {"bool", "int8", "int16", "int32", "int64", "uint8", "float16", "float32", "float64"}


class ModelFile(NamedTuple):
    """What a model file holds: the name of an estimator, its state as plain values, and tensors."""

    kind: str
    state: dict[str, Any]
    tensors: dict[str, Tensor]


def without_nan(value: Any) -> Any:
    """Replace numbers that JSON has no word for, in lists and dictionaries, by None."""
    if isinstance(value, dict):
        return {name: without_nan(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [without_nan(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def with_nan(value: Any) -> Any:
    """Replace None in lists and dictionaries by NaN."""
    if isinstance(value, dict):
        return {name: with_nan(part) for name, part in value.items()}
    if isinstance(value, list):
        return [with_nan(part) for part in value]
    return math.nan if value is None else value


def write_model(path: str | os.PathLike[str], model: ModelFile) -> None:
    """Write a model, whole or not at all."""
    meta = {"format": FORMAT, "mpsn": __version__, "kind": model.kind, "state": model.state}
    try:
        text = json.dumps(meta, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise MPSNError(
            f"Expected settings and classes that JSON can hold, got {error}; use numbers or words."
        ) from error
    arrays: dict[str, Any] = {
        name: tensor.detach().cpu().numpy() for name, tensor in model.tensors.items()
    }
    with atomic_write(path, what="a model") as file:
        np.savez(file, meta=np.array(text), **arrays)


def read_model(path: str | os.PathLike[str]) -> ModelFile:
    """Read a model file, checking that it is one."""
    if not Path(path).is_file():
        raise FileError(f"Expected a model file at {path}, found none.")
    try:
        arrays = read_arrays(path, MAX_BYTES)
        meta = read_json(str(arrays.pop("meta", "")))
    except TooLargeError:
        raise
    except UNREADABLE as error:
        raise damaged(path, error) from error
    kinds = {"format": int, "mpsn": str, "kind": str, "state": dict}
    if not isinstance(meta, dict) or any(type(meta.get(key)) is not kinds[key] for key in kinds):
        raise damaged(path, "its config is of another kind")
    if meta["format"] > FORMAT:
        raise FileError(
            f"Expected a model of format {FORMAT} in {path}, got format {meta['format']}, "
            f"written by mpsn {meta['mpsn']:.20}; update mpsn to read it."
        )
    if meta["format"] < FORMAT:
        raise FileError(
            f"Expected a model of format {FORMAT} in {path}, got the older format "
            f"{meta['format']}, written by mpsn {meta['mpsn']:.20}; fit it again."
        )
    tensors = {}
    for name, array in arrays.items():
        if array.dtype.name not in TYPES or not array.dtype.isnative:
            raise damaged(path, f"{name:.40} is of type {array.dtype!s:.40}")
        if not np.isfinite(array).all():
            raise FileError(f"Expected finite weights in {path}, got NaN or infinity in {name}.")
        tensors[name] = torch.from_numpy(array)
    return ModelFile(meta["kind"], meta["state"], tensors)


def damaged(path: str | os.PathLike[str], reason: object) -> FileError:
    """Return the error for a file that is no sound model."""
    return FileError(
        f"Expected a model written by save() at {path}, got a file that is damaged or of another "
        f"kind ({reason!s:.200}); save it again."
    )


def adopt_weights(model: torch.nn.Module, tensors: dict[str, Tensor]) -> None:
    """Give a model on the meta device its weights, which must fit exactly."""
    wanted = model.state_dict()
    if wanted.keys() != tensors.keys():
        odd = sorted(wanted.keys() ^ tensors.keys())
        raise FileError(f"expected other weights; {odd[0]} is missing or too many")
    for name, tensor in tensors.items():
        if (tensor.shape, tensor.dtype) != (wanted[name].shape, wanted[name].dtype):
            raise FileError(
                f"expected {name} of shape {tuple(wanted[name].shape)} and {wanted[name].dtype}, "
                f"got {tuple(tensor.shape)} and {tensor.dtype}"
            )
        if name.endswith("running_var") and bool((tensor < 0).any()):
            raise FileError(f"expected variances from 0 on, got a negative one in {name}")
    model.load_state_dict(tensors, assign=True)
    model.eval()
