"""Models as files: an ``.npz`` of weights with a JSON config, and nothing that runs."""

import json
import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from mpsn import __version__
from mpsn._io import read_arrays
from mpsn.errors import UNREADABLE, FileError, MPSNError

FORMAT = 1
MAX_BYTES = 1 << 30  # of the arrays in a model


class ModelFile(NamedTuple):
    """What a model file holds.

    Attributes:
        kind: Name of the estimator.
        state: Its settings and what it learned, as plain values.
        tensors: Weights and other tensors by name.
    """

    kind: str
    state: dict[str, Any]
    tensors: dict[str, Tensor]


def write_model(path: str | os.PathLike[str], model: ModelFile) -> None:
    """Write a model, whole or not at all."""
    target = Path(path)
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
    arrays["meta"] = np.array(text)
    temporary = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        with temporary.open("wb") as file:
            np.savez(file, **arrays)
        temporary.replace(target)
    except OSError as error:
        raise FileError(f"Expected to write a model to {target}, got {error}.") from error
    finally:
        temporary.unlink(missing_ok=True)


def read_model(path: str | os.PathLike[str]) -> ModelFile:
    """Read a model file; say why where it cannot be."""
    if not Path(path).is_file():
        raise FileError(f"Expected a model file at {path}, found none.")
    try:
        arrays = read_arrays(path, MAX_BYTES)
        meta = json.loads(str(arrays.pop("meta")), parse_constant=_refuse)
        version, kind, state = meta["format"], str(meta["kind"]), meta["state"]
        if not isinstance(version, int) or not isinstance(state, dict):
            raise TypeError("its config is of another kind")
        writer = str(meta["mpsn"])
        tensors = {name: torch.from_numpy(array) for name, array in arrays.items()}
        unfit = [name for name, t in tensors.items() if not bool(torch.isfinite(t).all())]
    except MPSNError:
        raise
    except UNREADABLE as error:
        raise damaged(path, error) from error
    if version > FORMAT:
        raise FileError(
            f"Expected a model of format {FORMAT} or older in {path}, got format {version}, "
            f"written by mpsn {writer:.20}; update mpsn to read it."
        )
    if unfit:
        raise FileError(f"Expected finite weights in {path}, got NaN or infinity in {unfit[0]}.")
    return ModelFile(kind, state, tensors)


def damaged(path: str | os.PathLike[str], reason: object) -> FileError:
    """Return the error for a file that is no sound model."""
    return FileError(
        f"Expected a model written by save() at {path}, got a file that is damaged or of another "
        f"kind ({reason!s:.200}); save it again."
    )


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} in its config")


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
    model.load_state_dict(tensors, assign=True)
    model.eval()
