"""Checkpoints of training: what a fit that was killed goes on from."""

import hashlib
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from mpsn.errors import FileError
from mpsn.lifting import Lift
from mpsn.training._checkpoint import ModelFile, damaged, read_model, write_model
from mpsn.training._loop import EarlyStopping
from mpsn.training._processes import agree, rank

SECONDS = 10.0  # between checkpoints


class Resume(NamedTuple):
    """Where checkpoints go, and what data and settings they are of."""

    path: Path
    key: str

    def file(self, member: int) -> Path:
        """Return the checkpoint of a network."""
        return self.path.with_name(f"{self.path.name}.resume{member}")


def forget(path: Path, members: int) -> None:
    """Remove the checkpoints of a fit."""
    for member in range(members):
        Resume(path, "").file(member).unlink(missing_ok=True)


class Progress:
    """The state of one network in training, with a file if there is a place for it."""

    def __init__(
        self,
        resume: Resume | None,
        member: int,
        network: torch.nn.Module,
        optimizer: torch.optim.Optimizer,
        stopping: EarlyStopping,
        generators: Mapping[str, torch.Generator],
    ) -> None:
        self.path, self.key = resume and resume.file(member), resume and resume.key
        self.network, self.optimizer, self.stopping = network, optimizer, stopping
        self.generators, self._saved = generators, time.monotonic()
        self._last: ModelFile | None = None

    def save(self, losses: list[tuple[float, float]], finished: bool) -> None:
        """Keep the state; write it if training has finished, or after some time."""
        if self.path is None or rank():
            return
        parts = {"now": self.network.state_dict(), "best": self.stopping.weights}
        parts["random"] = {kind: g.get_state() for kind, g in self.generators.items()}
        parts |= {f"adam{i}": state for i, state in self.optimizer.state_dict()["state"].items()}
        tensors = {f"{k}.{n}": t.clone() for k, part in parts.items() for n, t in part.items()}
        state = {"key": self.key, "losses": list(losses), "finished": finished}
        self._last = ModelFile("Progress", state, tensors)
        if finished or time.monotonic() - self._saved >= SECONDS:
            self.write()

    def write(self) -> None:
        """Write the state after the last whole epoch, if there is one."""
        if self.path is not None and self._last is not None:
            write_model(self.path, self._last)
            self._saved = time.monotonic()

    def restore(self) -> tuple[list[tuple[float, float]], bool]:
        """Take up a checkpoint; return the losses so far, and whether training has finished."""
        if (path := self.path) is None:
            return [], False
        found = agree(lambda: read_model(path) if path.exists() else None)
        if found is None:
            return [], False
        kind, state, tensors = found
        if kind != "Progress" or state.get("key") != self.key:
            return [], False  # of other data or settings
        parts: dict[str, dict[str, Tensor]] = {}
        for name, tensor in tensors.items():
            part, _, rest = name.partition(".")
            parts.setdefault(part, {})[rest] = tensor
        try:
            losses = [(float(train), float(valid)) for train, valid in state["losses"]]
            self.network.load_state_dict(parts["now"])
            groups = self.optimizer.state_dict()["param_groups"]
            count = len(groups[0]["params"])
            moments = {i: parts[f"adam{i}"] for i in range(count) if f"adam{i}" in parts}
            self.optimizer.load_state_dict({"state": moments, "param_groups": groups})
            for epoch, (_, valid) in enumerate(losses):  # the rates and the best, as they came
                self.stopping.schedule(epoch)
                self.stopping(valid)
            self.stopping.weights = parts["best"]
            for name in self.generators.keys() & parts["random"].keys():  # of another device: new
                self.generators[name].set_state(parts["random"][name])
        except (KeyError, TypeError, ValueError, RuntimeError) as error:
            raise FileError(f"{damaged(path, error)} Or remove it to start anew.") from error
        return losses, bool(state.get("finished"))


def fit_key(settings: dict[str, Any], data: Iterable[Tensor]) -> str:
    """Return what differs when data, or settings that matter for the result, do."""
    settings = {**settings, "verbose": 0, "device": 0}
    lift = settings.get("lift")
    if callable(lift) and not isinstance(lift, Lift):  # its address differs between processes
        settings["lift"] = getattr(lift, "__qualname__", type(lift).__qualname__)
    found = hashlib.sha256(repr(sorted(settings.items())).encode())
    for part in data:
        found.update(part.numpy().tobytes())
    return found.hexdigest()
