"""Processes that train one model together, as a launcher would start them."""

import os
import socket
import sys
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import torch

import mpsn
from mpsn.cli import main
from mpsn.errors import MPSNError
from mpsn.estimators import SimplicialClassifier, SimplicialRegressor
from mpsn.estimators._on_disk import OnDisk
from mpsn.nn.models import CIN, SIN, Hierarchical
from mpsn.training._launch import joined
from mpsn.training._processes import rank, world_size
from mpsn.training._resume import Checkpoints
from mpsn_reproduction.experiment import Job, Resources
from mpsn_reproduction.papers.graph_data import GraphData
from mpsn_reproduction.papers.graph_level import GraphLevelConfig, work
from mpsn_reproduction.settings import Network
from mpsn_reproduction.train import (
    CosineTraining,
    StepTraining,
    accuracies,
    train_classifiers,
    train_networks,
)
from processes import FORK

# 25 are for training: the last batch of eight is of one graph, fewer than there are processes.
GRAPHS = [nx.gnp_random_graph(5 + (i * 7) % 13, 0.2 + 0.3 * (i % 2), seed=i) for i in range(28)]
FIT: dict[str, Any] = {"hidden": 8, "epochs": 3, "members": 1, "kernel": False, "device": "cpu"}
FIT |= {"layers": 1, "batch_size": 8}
ALONE = Resources(torch.device("cpu"), None, lambda epochs: None)
STEADY: dict[str, Any] = {"features": "constant", "max_dim": 1, "dropout": 0.0}  # without norms


def run_ranks(size: int, out: Path, function: Callable[..., Any], *args: Any) -> list[Any]:
    """Return what a function returns in each of several processes; its exit code if it does not.

    What a process prints goes to a file in ``out``, named by its number.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    running = []
    for number in range(size):
        env = {"RANK": number, "WORLD_SIZE": size, "LOCAL_RANK": number, "MASTER_PORT": port}
        env |= {"MASTER_ADDR": "127.0.0.1"}
        ours, theirs = FORK.Pipe(duplex=False)
        process = FORK.Process(target=_start, args=(env, out, function, args, theirs))
        process.start()
        theirs.close()
        running.append((process, ours))
    found = []
    for process, ours in running:
        if not ours.poll(300):
            process.kill()
        try:
            found.append(ours.recv())
        except EOFError:
            process.join()
            found.append(process.exitcode)
        process.join()
    return found


def _start(env: dict[str, Any], out: Path, function: Any, args: Any, parent: Connection) -> None:
    os.environ.update({name: str(value) for name, value in env.items()})
    torch.set_num_threads(1)
    with (out / str(env["RANK"])).open("w") as file, redirect_stdout(file), redirect_stderr(file):
        parent.send(function(*args))


def command(*words: str) -> None:
    """Run the command line."""
    sys.argv = ["mpsn", *words]
    main()


def killed_command(kind: int, *words: str) -> None:
    """Run the command line; process 1 gets a signal after an epoch."""
    write = Checkpoints.note

    def note(self: Checkpoints, *args: Any) -> None:
        write(self, *args)
        if rank() == 1:
            Checkpoints.note = write  # type: ignore[method-assign]  # once
            os.kill(os.getpid(), kind)

    Checkpoints.note = note  # type: ignore[method-assign]
    command(*words)


def fit_own_graphs() -> object:
    """Fit other graphs in each process."""
    with joined():
        try:
            SimplicialClassifier(**FIT).fit(GRAPHS[rank() :][:20], ["a", "b"] * 10)
        except MPSNError as error:
            return str(error)
    return None


def join_again() -> list[int]:
    """Join the other processes twice, and fit, which joins them, too; return their numbers."""
    numbers = []
    for _ in range(2):
        with joined():
            numbers.append(world_size())
    SimplicialClassifier(**{**FIT, "epochs": 1}).fit(GRAPHS, ["a", "b"] * 14)
    return [*numbers, world_size()]


def fit_packed(path: Path) -> tuple[tuple[float, ...], list[int]]:
    """Fit complexes of a file: the losses, and numbers of complexes read in steps."""
    reads: list[int] = []
    read = OnDisk.batch

    def note(self: OnDisk, index: torch.Tensor) -> Any:
        reads.append(len(index))
        return read(self, index)

    OnDisk.batch = note  # type: ignore[method-assign]
    with joined():
        model = SimplicialClassifier(**FIT, **STEADY).fit(mpsn.ComplexDataset.open(path))
    return model.histories_[0].train, reads


def train_all() -> dict[str, Any]:
    """Return results of all that trains in several processes, as arrays by name."""
    with joined():
        out = fits()
        torch.set_default_dtype(torch.float64)  # rounding is no matter then
        try:
            return {**out, **folds(), **molecules()}
        finally:
            torch.set_default_dtype(torch.float32)


def fits() -> dict[str, Any]:
    """Fit estimators: losses and weights; those without norms do not depend on the processes."""
    random = np.random.default_rng(0)
    gaps = np.where(random.random((28, 3)) < 0.4, np.nan, random.integers(0, 2, (28, 3)))
    numbers = np.where(np.isnan(gaps), np.nan, random.normal(size=(28, 3)))
    several = SimplicialClassifier(**FIT, **STEADY, class_weight="balanced")
    models = {
        "with norms": (SimplicialClassifier(**FIT), ["a", "b"] * 14),
        "classes": (SimplicialClassifier(**FIT, **STEADY), ["a", "b"] * 14),
        "tasks": (several, gaps),
        "numbers": (SimplicialRegressor(**FIT, **STEADY), numbers),
    }
    out = {}
    for name, (model, y) in models.items():
        model.fit(GRAPHS, y)
        out[f"{name}: losses"] = np.array([model.histories_[0].train, model.histories_[0].valid])
        out |= {f"{name}: {key}": w.numpy() for key, w in model.model_.state_dict().items()}
    return out


def complexes() -> mpsn.ComplexDataset:
    """Lift the graphs; the features are random."""
    data = mpsn.clique_complexes(GRAPHS)
    generator = torch.Generator().manual_seed(0)
    x = [torch.randn(n, 3, generator=generator) for n in data.union.counts[:3]]
    return mpsn.ComplexDataset(data.union.skeleton(2).replace(x=x))


def folds() -> dict[str, Any]:
    """Train as ``mpsn reproduce tu`` does."""
    data, y, at = complexes(), torch.arange(28) % 2, torch.arange(28)
    split = {"train": at[:17], "val": at[17:22], "test": at[22:]}
    settings = StepTraining(epochs=3, batch_size=8, lr=0.01)
    sizes = {"in_channels": 3, "hidden": 8, "out_channels": 2, "layers": 2}
    out = {}
    for name, build in {
        "sin": lambda: SIN(**sizes, coface_message=False, jump=True, act="relu"),
        "pooled": lambda: Hierarchical(**sizes, coface_message=False),
    }.items():
        trainer = train_classifiers(build, data, y, [split], [3], settings, ALONE)
        curves = accuracies(trainer.histories[0])
        out |= {f"{name}: {key}": np.array(curve) for key, curve in curves.items()}
    return out


def molecules() -> dict[str, Any]:
    """Train as ``mpsn reproduce zinc`` does."""
    data, at = complexes(), torch.arange(28)
    y = torch.randn(28, 2, generator=torch.Generator().manual_seed(1))
    split = {"train": at[:17], "val": at[17:22], "test": at[22:]}
    settings = CosineTraining(epochs=3, batch_size=8, lr=0.01, average=0.5).settings()
    network = Network(CIN, in_channels=3, hidden=8, out_channels=2, layers=1, act="relu")
    trainer = train_networks(network, data, y, [split], [3], ALONE, loss="mae", **settings)
    (history,) = trainer.histories
    return {"cin: loss": np.array(history.train), "cin: val": np.array(history.valid)}


def packed(*paths: Path) -> tuple[dict[str, Any], int]:
    """Train on packed files as ``mpsn reproduce zinc`` does: last curves, and growth of memory.

    Memory is that of the process alone, in bytes: pages of the files do not count.
    """
    used = []
    config = GraphLevelConfig(
        cin=Network(CIN, hidden=4, layers=1, max_dim=1, act="relu"),
        train=CosineTraining(epochs=1, batch_size=8),
    )
    with joined():
        for path in paths:
            data = GraphData.load(path)
            tools = Resources(torch.device("cpu"), data, lambda _: used.append(_private()))
            (run,) = work("mae", ("y",), Job("cin", config), tools)
    return {name: np.array(curve) for name, curve in run.curve.items()}, used[-1] - used[0]


def _private() -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    (line,) = (line for line in lines if line.startswith("RssAnon"))
    return 1024 * int(line.split()[1])
