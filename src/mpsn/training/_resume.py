"""Checkpoints of training: what a run that was killed goes on from."""

import hashlib
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from mpsn.errors import FileError
from mpsn.training._checkpoint import (
    ModelFile,
    damaged,
    read_model,
    with_nan,
    without_nan,
    write_model,
)
from mpsn.training._processes import agree, rank
from mpsn.training._run import Run

SECONDS = 10.0  # between checkpoints
KIND = "Checkpoint"


class Checkpoints:
    """The checkpoints of networks that are trained together.

    Args:
        path: The network with number i has its file beside it, ``path.resume{i}``.
        key: What data and settings they are of: others are not taken up.
    """

    def __init__(self, path: Path, key: str) -> None:
        self.path, self.key = path, key
        self._saved = time.monotonic()
        self._last: dict[int, ModelFile] = {}

    def file(self, number: int) -> Path:
        """Return the checkpoint of a network."""
        return self.path.with_name(f"{self.path.name}.resume{number}")

    def note(self, run: Run) -> None:
        """Keep the state of a run after an epoch; write it when it is done, or after some time."""
        if rank():
            return
        kind, moments = run.device.type, run.optimizer.state_dict()["state"]
        parts: dict[str, dict[str, Any]] = {
            "now": run.network.state_dict(),
            "averaged": run.evaluated.state_dict() if run.settings.average else {},
            "best": run.weights or {},
            "random": {"order": run.generator.get_state(), kind: run.lane.random_state()},
            **{f"optimizer{i}": state for i, state in moments.items()},
        }
        tensors = {
            f"{part}.{name}": value.clone()
            for part, values in parts.items()
            for name, value in values.items()
            if isinstance(value, Tensor)
        }
        curves = without_nan(run.curves)
        state = {"key": self.key, "curves": curves, "best": run.best, "done": run.done}
        self._last[run.number] = ModelFile(KIND, state, tensors)
        if run.done or time.monotonic() - self._saved >= SECONDS:
            self.write()

    def write(self) -> None:
        """Write the states after the last whole epochs."""
        for number, model in self._last.items():
            write_model(self.file(number), model)
        self._last.clear()
        self._saved = time.monotonic()

    def restore(self, run: Run) -> None:
        """Take up the checkpoint of a run, if there is one."""
        path = self.file(run.number)
        model = agree(lambda: read_model(path) if path.exists() else None)
        if model is None or model.kind != KIND or model.state.get("key") != self.key:
            return  # of other data or settings
        parts: dict[str, dict[str, Tensor]] = {}
        for name, tensor in model.tensors.items():
            part, _, rest = name.partition(".")
            parts.setdefault(part, {})[rest] = tensor
        try:
            run.network.load_state_dict(parts["now"])
            if run.settings.average:
                run.evaluated.load_state_dict(parts["averaged"])
            groups = run.optimizer.state_dict()["param_groups"]
            numbers = range(sum(len(group["params"]) for group in groups))
            moments = {i: parts[f"optimizer{i}"] for i in numbers if f"optimizer{i}" in parts}
            run.optimizer.load_state_dict({"state": moments, "param_groups": groups})
            run.curves = {
                name: [float(value) for value in with_nan(curve)]
                for name, curve in model.state["curves"].items()
            }
            run.epoch, run.best = len(run.curves["loss"]), int(model.state["best"])
            run.done = bool(model.state["done"])
            if "best" in parts:
                run.weights = {name: t.to(run.device) for name, t in parts["best"].items()}
                run.least = run.curves["val_loss"][run.best]
            run.generator.set_state(parts["random"]["order"])
            if run.device.type in parts["random"]:  # of another device: new ones
                run.lane.set_random_state(parts["random"][run.device.type])
        except (AttributeError, IndexError, KeyError, TypeError, ValueError, RuntimeError) as error:
            raise FileError(f"{damaged(path, error)} Or remove it to start anew.") from error


def forget(path: Path, networks: int) -> None:
    """Remove the checkpoints of a training."""
    for number in range(networks):
        Checkpoints(path, "").file(number).unlink(missing_ok=True)


def key_of(settings: Iterable[object], data: Iterable[Tensor]) -> str:
    """Return what differs when settings or data do."""
    digest = hashlib.sha256(repr(list(settings)).encode())
    for part in data:
        digest.update(torch.as_tensor(part).detach().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()
