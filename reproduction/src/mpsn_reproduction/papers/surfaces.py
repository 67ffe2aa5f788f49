"""Surfaces: what networks learn of the topology of triangulations, and what survives refinement.

Type, orientability, genus and first Betti number of all closed surfaces with 4 to 10 vertices, from
their triangulations; then the same networks, not trained again, on barycentric subdivisions.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
import torch
import torch.nn.functional as nnf
from torch import Tensor

from mpsn.complexes import ComplexDataset, SimplicialComplex
from mpsn.datasets import SURFACE_TYPES, surfaces
from mpsn.errors import ConfigError
from mpsn.nn.models import GIN, SIN
from mpsn.training import seeded
from mpsn.training._device import one_thread
from mpsn.training._loop import EarlyStopping, fit
from mpsn_reproduction.experiment import Experiment, Job, Resources, Run
from mpsn_reproduction.papers.surfaces_nets import Blind, Diffusion, Oriented, harmonic_weights
from mpsn_reproduction.papers.surfaces_table import figures, measured, scores, table

Surfaces = ComplexDataset[SimplicialComplex]
Predict = Callable[[Surfaces], Tensor]  # from surfaces to the classes of all tasks
TASKS = {"type": len(SURFACE_TYPES), "orientable": 2, "genus": 8, "b1": 7}
COLUMNS = [0, 1, 2, 4]  # of the labels
ENTRIES = 1 << 25  # of matrices in a batch of evaluation
WIDE = 128  # of a matrix that is not dense
TWICE = 50  # surfaces of a type that are subdivided twice


@dataclass(frozen=True)
class SurfacesConfig:
    """Settings of a row: a rule or a network, and its training."""

    model: Literal["majority", "euler", "betti", "gin", "sin", "oriented", "harmonic", "diffusion"]
    """The most frequent class among all, among those of the same Euler number, or of the same Betti
    numbers; or a network."""
    hidden: int = 64
    """Width of the layers of GIN and SIN, and of the perceptrons of the others."""
    layers: int = 4
    """Number of message passing layers."""
    readout: Literal["sum", "mean"] = "sum"
    """How GIN and SIN pool the cells."""
    norm: bool = False
    """Whether the layers of GIN and SIN use batch normalization."""
    signals: int = 24
    """Number of random signals of oriented networks."""
    rounds: int = 32
    """Rounds of diffusion in training."""
    tolerance: float = 0.0
    """Diffusion goes on, in evaluation, until changes are this small; 0 for a fixed number."""
    epochs: int = 20
    """Largest number of passes over the training surfaces."""
    batch: int = 1024
    """Number of surfaces per step."""
    lr: float = 0.003
    """Initial learning rate of Adam, halved when the validation loss does not fall."""
    vertices: int = 10
    """Largest number of vertices."""
    subdivisions: int = 2
    """How often test surfaces are subdivided."""

    def __post_init__(self) -> None:
        for name in ("hidden", "layers", "signals", "rounds", "epochs", "batch"):
            if getattr(self, name) < 1:
                raise ConfigError(f"Expected {name} >= 1, got {getattr(self, name)}.")

    @property
    def trained(self) -> bool:
        """Whether this is a network."""
        return self.model not in ("majority", "euler", "betti")

    def quick(self) -> Self:
        """Return the small version: up to 9 vertices, few epochs, one subdivision."""
        return replace(self, vertices=9, epochs=6, batch=64, hidden=16, subdivisions=1)


def jobs(row: str, config: SurfacesConfig, seeds: tuple[int, ...]) -> list[Job]:
    """Return one job per seed."""
    return [Job(row, config, seeds=(seed,)) for seed in seeds]


def read(name: str, folder: Path | None) -> Surfaces:
    """Read the surfaces."""
    return surfaces(folder)


def steps(job: Job) -> int:
    """Return the number of epochs; a rule is one step."""
    return int(job.config.epochs) if job.config.trained else 1


def work(job: Job, resources: Resources) -> list[Run]:
    """Fit a rule or a network with one seed, and measure it on test surfaces and subdivisions."""
    config: SurfacesConfig = job.config
    data: Surfaces = resources.data
    data = data[(data.counts[:, 0] <= config.vertices).nonzero()[:, 0]]
    (seed,) = job.seeds
    device = resources.device
    parts = dict(zip(("train", "valid", "test"), split(labels(data)[:, 0], seed), strict=True))
    with seeded(seed, device), one_thread(device):
        if config.trained:
            predict, curve = train(config, data, parts, resources)
        else:
            predict, curve = rule(config.model, data[parts["train"]]), {}
            resources.tick(1)
        metrics: dict[str, int | float] = {}
        valid, test = (data[parts[name]] for name in ("valid", "test"))
        for name, which in (("valid", valid), ("test", test)):
            guess = predict(which)
            metrics |= scores(name, labels(which), guess)
            size = which.counts[:, 0].clamp(min=8)
            for n in torch.unique(size).tolist() if name == "test" else ():
                metrics |= scores(f"n{n}", labels(which)[size == n], guess[size == n])
        for name in ("once", "twice")[: config.subdivisions]:
            if name == "twice":
                test = test[few(labels(test)[:, 0], TWICE)]
            refined = test
            for _ in range(1 if name == "once" else 2):
                refined = ComplexDataset(refined.union.barycentric_subdivision())
            metrics |= scores(name, labels(refined), predict(refined))
    return [Run(seed, 0, metrics, curve)]


def labels(data: Surfaces) -> Tensor:
    """Return the classes of all tasks, (surfaces, 4) int64."""
    assert data.y is not None
    return data.y[:, COLUMNS].cpu()


def split(kind: Tensor, seed: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return the surfaces for training, validation and test: 3/5, 1/5 and 1/5 of each type."""
    random = np.random.default_rng(seed)
    parts: tuple[list[Tensor], ...] = ([], [], [])
    for which in torch.unique(kind).tolist():
        at = (kind == which).nonzero()[:, 0]
        at = at[torch.from_numpy(random.permutation(len(at)))]
        fifth = len(at) // 5
        for part, rows in zip(
            parts, (at[2 * fifth :], at[:fifth], at[fifth : 2 * fifth]), strict=True
        ):
            part.append(rows)
    train, valid, test = (torch.cat(part).sort().values for part in parts)
    return train, valid, test


def few(kind: Tensor, most: int) -> Tensor:
    """Return the first surfaces of each type, at most so many."""
    return torch.cat([(kind == which).nonzero()[:most, 0] for which in torch.unique(kind)])


def rule(model: str, data: Surfaces) -> Predict:
    """Return the rule that predicts the most frequent classes of surfaces with the same key."""
    known = labels(data)
    everywhere = known.mode(0).values
    of_key: dict[tuple[int, ...], Tensor] = {}
    mine = keys(model, data)
    for key in torch.unique(mine, dim=0):
        of_key[tuple(key.tolist())] = known[(mine == key).all(1)].mode(0).values

    def predict(data: Surfaces) -> Tensor:
        found = [of_key.get(tuple(key), everywhere) for key in keys(model, data).tolist()]
        return torch.stack(found)

    return predict


def keys(model: str, data: Surfaces) -> Tensor:
    """Return what a rule knows of each surface, (surfaces, width) int64."""
    if model == "betti":
        return torch.tensor([K.betti_numbers() for K in data])
    euler = data.counts @ torch.tensor([1, -1, 1])
    return (euler if model == "euler" else torch.zeros_like(euler))[:, None]


def network(config: SurfacesConfig) -> torch.nn.Module:
    """Return the network of a row, untrained."""
    hidden, signals, out = config.hidden, config.signals, sum(TASKS.values())
    if config.model == "oriented":
        return Oriented(signals, config.layers, hidden, out)
    if config.model == "diffusion":
        return Diffusion(signals, config.rounds, config.tolerance, hidden, out)
    common: dict[str, Any] = {"hidden": hidden, "out_channels": hidden, "layers": config.layers}
    common |= {"act": "relu", "norm": config.norm, "jump": True, "readout": config.readout}
    if config.model == "gin":
        return Blind(GIN(**common), hidden, out)
    width = 2 if config.model == "harmonic" else 1
    return Blind(SIN(in_channels=width, **common), hidden, out)


def train(
    config: SurfacesConfig, data: Surfaces, parts: dict[str, Tensor], resources: Resources
) -> tuple[Predict, dict[str, list[float]]]:
    """Train a network; return it with the weights of the epoch of least validation loss.

    Logits are shifted by the logarithms of the frequencies of the classes, so that all classes
    count the same (Menon et al. 2021).
    """
    device = resources.device
    net = network(config).to(device)
    dense = config.model == "harmonic"
    prepare = with_harmonic if dense else lambda union: union
    learn, valid = (
        ComplexDataset(prepare(data[parts[name]].union.to(device))) for name in ("train", "valid")
    )
    known = labels(learn)
    prior = [
        (torch.bincount(known[:, i], minlength=n).clamp(min=1) / len(known)).log().to(device)
        for i, n in enumerate(TASKS.values())
    ]

    def loss_of(K: SimplicialComplex) -> Tensor:
        logits = net(K).split(list(TASKS.values()), 1)
        assert K.y is not None
        pairs = zip(logits, prior, K.y[:, COLUMNS].T, strict=True)
        return torch.stack([nnf.cross_entropy(x + p, y) for x, p, y in pairs]).sum()

    optimizer = torch.optim.Adam(net.parameters(), lr=config.lr)
    stopping = EarlyStopping(net, optimizer, patience=max(10, config.epochs // 4), warmup=1)

    def batches(epoch: int) -> Iterator[SimplicialComplex]:
        order = torch.randperm(len(learn))
        return (learn.batch(at) for at in torch.split(order, config.batch) if len(at) > 1)

    def step(K: SimplicialComplex) -> None:
        optimizer.zero_grad()
        loss_of(K).backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()

    @torch.no_grad()
    def evaluate() -> float:
        losses = [loss_of(K) * K.num_complexes for K in pieces(valid, dense)]
        return float(sum(losses)) / len(valid)

    curve = fit(
        net,
        config.epochs,
        batches,
        step,
        evaluate,
        schedule=stopping.schedule,
        stop=stopping,
        tick=resources.tick,
    )
    resources.tick(config.epochs - len(curve))
    stopping.restore()
    net.eval()

    @torch.no_grad()
    def predict(which: Surfaces) -> Tensor:
        found = []
        for K in pieces(which, dense):
            logits = net(prepare(K.to(device))).split(list(TASKS.values()), 1)
            found.append(torch.stack([x.argmax(1) for x in logits], 1).cpu())
        return torch.cat(found)

    return predict, {"valid_loss": curve}


def with_harmonic(union: SimplicialComplex) -> SimplicialComplex:
    """Return surfaces with the weights of their cells in harmonic cochains as features."""
    return union.replace(x=harmonic_weights(union))


def pieces(data: Surfaces, dense: bool) -> Iterator[SimplicialComplex]:
    """Yield unions of consecutive surfaces, small enough for dense matrices or for signals."""
    most = int(data.counts.max())
    at_once = max(1, ENTRIES // (most * most if dense else WIDE * most))
    for start in range(0, len(data), at_once):
        yield data.batch(slice(start, start + at_once))


EXPERIMENT = Experiment(
    "surfaces",
    SurfacesConfig,
    jobs,
    read,
    work,
    steps,
    table,
    figures,
    seeds=3,
    measured=measured,
)
