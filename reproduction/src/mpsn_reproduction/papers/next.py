"""The next step of ocean drifters (Roddenberry, Glaze and Segarra 2021): SCoNe and others.

Networks are trained on paths in one direction, and tested on other paths, forward and reversed.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Self

import torch
from torch import Tensor

from mpsn.complexes import SimplicialComplex
from mpsn.nn import OrientedConv, SCoNeConv
from mpsn_reproduction.experiment import (
    DataSets,
    Experiment,
    Job,
    Measured,
    Record,
    Resources,
    Run,
    by_row,
    differences,
)
from mpsn_reproduction.papers.next_data import NextNodes, Steps, next_nodes
from mpsn_reproduction.papers.ocean import laplacian_coordinates
from mpsn_reproduction.table import Table, score
from mpsn_reproduction.train import train_networks

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SPLITS = 10
NEVER = -1e9
DIRECTIONS = ("forward", "reversed")
ORDER = ("markov-1", "markov-2", "scone", "scone-prefixes")
COMPARED = ("oriented", "scone-prefixes")  # the second is taken from the first


@dataclass(frozen=True)
class SCoNeConfig:
    """Settings of SCoNe."""

    hidden: int = 16
    """Width of the layers."""
    layers: int = 3
    """Number of layers."""


@dataclass(frozen=True)
class OrientedConfig:
    """Settings of an oriented network with a readout of its own."""

    width: int = 16
    """Width of the layers and of the readout."""
    depth: int = 2
    """Number of layers."""
    coordinates: int = 4
    """Number of Laplacian coordinates of the vertices that the readout sees; 0 for none."""


@dataclass(frozen=True)
class Markov:
    """Counts of the steps of training paths."""

    order: int = 1
    """Whether to count steps from the last vertex (1), or first those from the last edge (2)."""


@dataclass(frozen=True)
class Training:
    """How to train."""

    epochs: int = 200
    """Number of passes over the training paths."""
    batch: int = 60
    """Number of paths per step."""
    lr: float = 0.001
    """Learning rate of Adam."""
    decay: float = 5e-5
    """Weight decay of Adam."""
    prefixes: bool = False
    """Whether to train on all beginnings of the training paths."""
    both: bool = False
    """Whether to train on the training paths reversed, too."""


@dataclass(frozen=True)
class NextConfig:
    """A way to predict the next step."""

    model: SCoNeConfig | OrientedConfig | Markov = field(default_factory=SCoNeConfig)
    """The model."""
    training: Training = field(default_factory=Training)
    """How it is trained."""

    def quick(self) -> Self:
        """Return a small version: a few epochs."""
        return replace(self, training=replace(self.training, epochs=4, lr=0.01))


def jobs(row: str, config: NextConfig, seeds: tuple[int, ...]) -> list[Job]:
    """Return one job of ten splits."""
    return [Job(row, config, seeds=seeds, folds=tuple(range(SPLITS)))]


def steps(job: Job) -> int:
    """Return the number of epochs of all runs."""
    return len(job.seeds) * len(job.folds) * int(job.config.training.epochs)


def read(source: str, folder: Path | None) -> NextNodes:
    """Read the paths."""
    return next_nodes(folder)


def work(job: Job, resources: Resources) -> list[Run]:
    """Train and test on every split."""
    config: NextConfig = job.config
    data: NextNodes = resources.data
    directions = {"forward": data.forward, "reversed": data.reversed}
    used = [data.forward, data.reversed] if config.training.both else [data.forward]
    runs = []
    for seed in job.seeds:
        for fold in job.folds:
            test = data.test[fold]
            learned = [part(steps, ~test) for steps in used]
            if isinstance(config.model, Markov) or config.training.prefixes:
                learned = [prefixes(data.complex, steps) for steps in learned]
            predict = fit(config, data.complex, learned, seed * SPLITS + fold, resources)
            metrics: dict[str, int | float] = {}
            for name, steps in directions.items():
                asked = part(steps, test)
                right = predict(asked).argmax(dim=1) == asked.y
                metrics[name] = 100 * int(right.sum()) / len(right)
            runs.append(Run(seed, fold, metrics))
    return runs


def fit(
    config: NextConfig,
    K: SimplicialComplex,
    learned: Sequence[Steps],
    seed: int,
    resources: Resources,
) -> Callable[[Steps], Tensor]:
    """Return a model of paths: from others to a score per candidate, (N, C)."""
    model, training = config.model, config.training
    if isinstance(model, Markov):
        resources.tick(training.epochs)
        return lambda steps: markov(model, learned, K, steps)

    def network() -> torch.nn.Module:
        return SCoNe(model, K) if isinstance(model, SCoNeConfig) else OrientedNet(model, K)

    steps = join(learned)
    trainer = train_networks(
        network,
        Paths(K, steps, resources.device),
        steps.y,
        [{"train": torch.arange(len(steps.y))}],
        [seed],
        resources,
        loss="cross_entropy",
        optimizer="adam",
        lr=training.lr,
        weight_decay=training.decay,
        epochs=training.epochs,
        batch_size=training.batch,
    )
    return lambda steps: trainer.predict(Paths(K, steps, resources.device)).cpu()


class Paths:
    """Paths on a complex as a trainer takes them: from positions to the arguments of a network."""

    def __init__(self, K: SimplicialComplex, steps: Steps, device: torch.device) -> None:
        self.K, self.paths = K.to(device), Steps(*(values.to(device) for values in steps))

    def __len__(self) -> int:
        return len(self.paths.y)

    def batch(self, index: Tensor) -> tuple[SimplicialComplex, Tensor, Tensor, Tensor]:
        """Return the complex, flows (n_1, B), last vertices (B,) and candidates (B, C)."""
        x, last, candidates, _ = part(self.paths, index)
        return self.K, x, last, candidates


def part(steps: Steps, index: Tensor) -> Steps:
    """Return some of the paths, by a mask or numbers."""
    return Steps(steps.x[:, index], *(values[index] for values in steps[1:]))


def join(lists: Sequence[Steps]) -> Steps:
    """Return all paths of several lists."""
    return Steps(
        *(
            torch.cat(values, dim=1 if i == 0 else 0)
            for i, values in enumerate(zip(*lists, strict=True))
        )
    )


def prefixes(K: SimplicialComplex, steps: Steps) -> Steps:
    """Return the paths, and what is left of each when its last step is taken back, repeatedly.

    The last step is the only edge whose flow enters the last vertex; where there are several, or
    none, a path is not shortened further.
    """
    number = {(u, v): i for i, (u, v) in enumerate(K.simplices(1).tolist())}
    near: dict[int, list[int]] = {u: [] for u in range(K.num_nodes)}
    for u, v in number:
        near[u].append(v)
        near[v].append(u)
    near = {u: sorted(row) for u, row in near.items()}
    widest = steps.candidates.shape[1]
    flows, last, candidates, y = [], [], [], []
    targets = steps.candidates.gather(1, steps.y[:, None])[:, 0]
    for flow, u, v in zip(steps.x.T, steps.last.tolist(), targets.tolist(), strict=True):
        while flow.any():
            flows.append(flow)
            last.append(u)
            candidates.append(near[u] + [-1] * (widest - len(near[u])))
            y.append(near[u].index(v))
            into = [w for w in near[u] if _along(flow, number, w, u) > 0]
            if len(into) != 1:
                break
            edge = number[min(into[0], u), max(into[0], u)]
            flow = flow.clone()
            flow[edge] -= 1.0 if into[0] < u else -1.0
            u, v = into[0], u
    return Steps(
        torch.stack(flows, 1), torch.tensor(last), torch.tensor(candidates), torch.tensor(y)
    )


def _along(flow: Tensor, number: dict[tuple[int, int], int], u: int, v: int) -> float:
    """Return the flow from u to v."""
    return float(flow[number[u, v]]) if u < v else -float(flow[number[v, u]])


def markov(config: Markov, learned: Sequence[Steps], K: SimplicialComplex, asked: Steps) -> Tensor:
    """Return a score per candidate, (N, C): counts of steps; ties go to the first candidate."""
    number = {(u, v): i for i, (u, v) in enumerate(K.simplices(1).tolist())}
    counts: Counter[tuple[int, ...]] = Counter()

    def before(flow: Tensor, u: int, near: list[int]) -> int:
        into = [w for w in near if w >= 0 and _along(flow, number, w, u) > 0]
        return into[0] if len(into) == 1 else -1

    for steps in learned:
        rows = zip(steps.x.T, steps.last.tolist(), steps.candidates.tolist(), steps.y, strict=True)
        for flow, u, near, y in rows:
            counts[u, near[y]] += 1
            counts[before(flow, u, near), u, near[y]] += 1
    out = []
    for flow, u, near in zip(
        asked.x.T, asked.last.tolist(), asked.candidates.tolist(), strict=True
    ):
        w = before(flow, u, near)
        one = torch.tensor([counts[u, v] if v >= 0 else -1.0 for v in near])
        two = torch.tensor([float(counts[w, u, v]) for v in near])
        out.append(one + 1000 * two * (config.order == 2))
    return torch.stack(out)


class SCoNe(torch.nn.Module):
    """SCoNe: oriented layers on edges, then the divergence at the neighbors of the last vertex.

    Shapes:
        Flows (n_1, N), last vertices (N,) and candidates (N, C) in, logits (N, C) out.
    """

    def __init__(self, config: SCoNeConfig, K: SimplicialComplex) -> None:
        super().__init__()
        widths = [1, *[config.hidden] * config.layers]
        self.layers = torch.nn.ModuleList(
            SCoNeConv(*widths[i : i + 2]) for i in range(config.layers)
        )
        self.out = torch.nn.Linear(config.hidden, 1, bias=False)

    def forward(self, K: SimplicialComplex, x: Tensor, last: Tensor, candidates: Tensor) -> Tensor:
        """Return logits."""
        h = x[..., None]  # (n_1, N, 1)
        for layer in self.layers:
            h = layer(K, h)
        at = K.incidence(1).from_cofaces(self.out(h), signed=True)[..., 0].T  # B_1 h, (N, n_0)
        return at.gather(1, candidates.clamp(min=0)).masked_fill(candidates < 0, NEVER)


class OrientedNet(torch.nn.Module):
    """Oriented layers on edges, and a perceptron on each candidate v after the last vertex u.

    The perceptron reads what no orientation changes: hidden features of the edge in the direction
    from u to v, the divergence of hidden features at v, and, with Laplacian coordinates p, p_v,
    p_v - p_u and the sum of p_head - p_tail over the flow.

    Shapes:
        As for :class:`SCoNe`.
    """

    p: Tensor
    number: Tensor

    def __init__(self, config: OrientedConfig, K: SimplicialComplex) -> None:
        super().__init__()
        widths = [1, *[config.width] * config.depth]
        self.layers = torch.nn.ModuleList(
            OrientedConv(*widths[i : i + 2], act="tanh") for i in range(config.depth)
        )
        d = config.coordinates
        p = laplacian_coordinates(K, d).float() if d else torch.zeros(K.num_nodes, 0)
        self.register_buffer("p", p.to(K.device))
        u, v = K.simplices(1).T
        number = torch.zeros(K.num_nodes, K.num_nodes, dtype=torch.int64, device=K.device)
        number[u, v] = number[v, u] = torch.arange(K.count(1), device=K.device)
        self.register_buffer("number", number)
        self.head = torch.nn.Sequential(
            torch.nn.Linear(2 * config.width + 1 + 3 * d, 2 * config.width),
            torch.nn.ReLU(),
            torch.nn.Linear(2 * config.width, 1),
        )

    def forward(self, K: SimplicialComplex, x: Tensor, last: Tensor, candidates: Tensor) -> Tensor:
        """Return logits."""
        h = x[..., None]  # (n_1, N, 1)
        for layer in self.layers:
            h = layer(K, h)
        v, u = candidates.clamp(min=0), last[:, None]  # (N, C), (N, 1)
        edge, path = self.number[u, v], torch.arange(len(u), device=x.device)[:, None]
        sign = K.incidence(1).signs.view(-1, 2)[edge, 0] * torch.where(u < v, 1, -1)  # from u to v
        along = torch.cat([h, x[..., None]], dim=2)[edge, path] * sign[..., None]
        at = K.incidence(1).from_cofaces(h, signed=True)[v, path]
        shift = K.incidence(1).from_faces(self.p, signed=True)  # p_head - p_tail, (n_1, d)
        moved = (x.T @ shift)[:, None].expand(*v.shape, -1)
        parts = [along, at, self.p[v], self.p[v] - self.p[u], moved]
        out: Tensor = self.head(torch.cat(parts, dim=2))[..., 0]
        return out.masked_fill(candidates < 0, NEVER)


def measured(job: Job) -> Measured:
    """Return what a run has."""
    return Measured(DIRECTIONS)


def table(records: list[Record]) -> Table:
    """Return accuracies forward and reversed."""
    found = by_row(records, ORDER)
    lines = [
        [row, *(score([run.metrics[d] for run in runs]) for d in DIRECTIONS), str(len(runs))]
        for row, runs in found.items()
    ]
    notes = [
        "Accuracy in percent on test paths, mean ± sample standard deviation over splits; 18 % is "
        "chance."
    ]
    if apart := differences(found, *COMPARED, DIRECTIONS):
        lines.append([" minus ".join(COMPARED), *apart, str(apart[0].runs)])
    columns = ["model", *DIRECTIONS, "runs"]
    return Table("Ocean drifters: the next step", columns, lines, notes, highest=DIRECTIONS)


def figures(records: list[Record], data: DataSets | None) -> "dict[str, Figure]":
    """Draw the accuracies, every split a dot."""
    from matplotlib import pyplot as plt

    found = by_row(records, ORDER)
    figure, axes = plt.subplots(1, 2, figsize=(9, 0.4 * len(found) + 1.2), sharey=True)
    for ax, name in zip(axes, DIRECTIONS, strict=True):
        for i, runs in enumerate(found.values()):
            values = [run.metrics[name] for run in runs]
            ax.plot(values, [i] * len(values), "o", color=f"C{i}", alpha=0.4)
            ax.plot(fmean(values), i, "|", color=f"C{i}", markersize=18)
        ax.set(title=name, xlabel="accuracy, %", yticks=range(len(found)), yticklabels=list(found))
        ax.axvline(18, color="0.7", linestyle=":")
    axes[0].invert_yaxis()
    figure.set_label("Accuracy in each split (dots) and on average (bars); dotted is chance.")
    return {"next": figure}


EXPERIMENT = Experiment(
    "next", NextConfig, jobs, read, work, steps, table, figures, seeds=1, measured=measured
)
