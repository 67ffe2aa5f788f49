"""The next step of ocean drifters (Roddenberry, Glaze and Segarra 2021): SCoNe and others.

Networks are trained on paths in one direction, and tested on other paths, forward and reversed.
"""

from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Self

import torch
from torch import Tensor

from mpsn.complexes import SimplicialComplex
from mpsn.training import seeded
from mpsn.training._device import one_thread
from mpsn.training._loop import fit
from mpsn_reproduction.experiment import Experiment, Job, Resources, Run
from mpsn_reproduction.papers.next_data import NextNodes, Steps, next_nodes
from mpsn_reproduction.papers.next_models import OrientedConfig, OrientedNet, SCoNe, SCoNeConfig
from mpsn_reproduction.papers.next_table import figures, measured, table

SPLITS = 10


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
            if isinstance(config.model, Markov):
                known = [prefixes(data.complex, part(s, ~test)) for s in used]
                found = {
                    name: markov(config.model, known, data.complex, part(s, test))
                    for name, s in directions.items()
                }
            else:
                known = [part(s, ~test) for s in used]
                if config.training.prefixes:
                    known = [prefixes(data.complex, s) for s in known]
                model = train(config, data.complex, join(known), seed * SPLITS + fold, resources)
                with torch.no_grad():
                    found = {
                        name: model(*on(data.complex, part(s, test), resources.device)).cpu()
                        for name, s in directions.items()
                    }
            hits = {
                name: 100
                * int((scores.argmax(1) == directions[name].y[test]).sum())
                / int(test.sum())
                for name, scores in found.items()
            }
            runs.append(Run(seed, fold, dict(hits)))
            resources.tick(config.training.epochs)
    return runs


def part(steps: Steps, index: Tensor) -> Steps:
    """Return some of the paths, by a mask or numbers."""
    return Steps(steps.x[:, index], *(values[index] for values in steps[1:]))


def join(several: list[Steps]) -> Steps:
    """Return all paths of several lists."""
    return Steps(
        *(
            torch.cat(values, dim=1 if i == 0 else 0)
            for i, values in enumerate(zip(*several, strict=True))
        )
    )


def on(
    K: SimplicialComplex, steps: Steps, device: torch.device
) -> tuple[SimplicialComplex, Tensor, Tensor, Tensor]:
    """Return what a model reads, on a device."""
    x, last, after = (values.to(device) for values in steps[:3])
    return K.to(device), x, last, after


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


def markov(config: Markov, known: list[Steps], K: SimplicialComplex, asked: Steps) -> Tensor:
    """Return a score per candidate, (N, C): counts of steps; ties go to the first candidate."""
    number = {(u, v): i for i, (u, v) in enumerate(K.simplices(1).tolist())}
    counts: Counter[tuple[int, ...]] = Counter()

    def before(flow: Tensor, u: int, near: list[int]) -> int:
        into = [w for w in near if w >= 0 and _along(flow, number, w, u) > 0]
        return into[0] if len(into) == 1 else -1

    for steps in known:
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


def train(
    config: NextConfig, K: SimplicialComplex, known: Steps, seed: int, resources: Resources
) -> torch.nn.Module:
    """Train a network on paths."""
    training, device = config.training, resources.device
    K, *inputs = on(K, known, device)
    y = known.y.to(device)
    generator = torch.Generator().manual_seed(seed)
    with seeded(seed, device), one_thread(device):
        kind = SCoNe if isinstance(config.model, SCoNeConfig) else OrientedNet
        net: torch.nn.Module = kind(config.model, K).to(device)  # type: ignore[arg-type]
        optimizer = torch.optim.Adam(net.parameters(), training.lr, weight_decay=training.decay)

        def step(index: Tensor) -> None:
            x, last, candidates = (
                values[:, index] if i == 0 else values[index] for i, values in enumerate(inputs)
            )
            optimizer.zero_grad()
            logits = net(K, x, last, candidates)
            torch.nn.functional.cross_entropy(logits, y[index]).backward()  # type: ignore[no-untyped-call]
            optimizer.step()

        def batches(epoch: int) -> tuple[Tensor, ...]:
            order = torch.randperm(len(y), generator=generator).to(device)
            return torch.split(order, training.batch)

        fit(net, training.epochs, batches, step, lambda: None)
    return net


EXPERIMENT = Experiment(
    "next", NextConfig, jobs, read, work, steps, table, figures, seeds=1, measured=measured
)
