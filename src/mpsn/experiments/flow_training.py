"""Training classifiers of edge flows on one complex, several seeds side by side."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as nnf
from torch import Tensor

from mpsn.complexes import SimplicialComplex, collate
from mpsn.datasets.flows import FlowDataset
from mpsn.errors import MPSNError
from mpsn.experiments.experiment import Place, Run
from mpsn.nn.models import EdgeFlowNet, EdgeFlowStack


@dataclass(frozen=True)
class Training:
    """How to train; the paper's way unless changed."""

    epochs: int = 100
    """Number of passes over the training flows."""
    batch: int = 64
    """Number of flows a step."""
    lr: float = 0.001
    """Learning rate of Adam at the beginning."""
    halve_every: int = 20
    """Epochs after which the learning rate is halved, again and again."""

    def __post_init__(self) -> None:
        for name in ("epochs", "batch", "halve_every"):
            if getattr(self, name) < 1:
                raise MPSNError(f"Expected {name} >= 1, got {getattr(self, name)}.")
        if self.lr <= 0:
            raise MPSNError(f"Expected lr > 0, got {self.lr}.")


class SideBySide(torch.nn.Module):
    """Networks on one complex, run one after another: works for any, fast for small ones.

    Args:
        nets: The networks, each called as ``net(K, h)`` with h of shape (n_1, N, F), or with a
            union of complexes and h of shape (n_1, F).
        K: The complex.
    """

    def __init__(self, nets: Sequence[torch.nn.Module], K: SimplicialComplex) -> None:
        super().__init__()
        self.nets, self.K = torch.nn.ModuleList(nets), K

    def forward(self, x: Tensor, signs: Tensor | None = None) -> Tensor:
        """Return (S, N, C) for flows (S, n_1, N, F), seen in the orientations (n_1, N)."""
        if signs is None:
            return torch.stack([net(self.K, h) for net, h in zip(self.nets, x, strict=True)])
        union = collate([self.K.flip({1: column < 0}) for column in signs.T])
        hs = x.transpose(1, 2).flatten(1, 2)
        return torch.stack([net(union, h) for net, h in zip(self.nets, hs, strict=True)])


def train(
    make: Callable[[], torch.nn.Module],
    data: FlowDataset,
    training: Training,
    seeds: Sequence[int],
    place: Place,
) -> list[Run]:
    """Train one network per seed and return what each comes to.

    A seed fixes the first weights and the order of the flows. Accuracies are in percent: those in
    ``metrics`` of the trained network; on the curve, ``train`` is measured as the epoch goes along.

    Args:
        make: Makes a network with random weights.
        data: The flows; networks are trained on one orientation, and tested on those of the data.
        training: How to train.
        seeds: The seeds.
        place: Where; ticks once an epoch.
    """
    device = place.device
    nets = []
    for seed in seeds:
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            nets.append(make().to(device))
    K = data.complex.to(device)
    flow_nets = [net for net in nets if isinstance(net, EdgeFlowNet)]
    fast = len(flow_nets) == len(nets)
    stack = EdgeFlowStack(flow_nets, K) if fast else SideBySide(nets, K)
    sets = {"train": _part(data, data.train, device), "test": _part(data, ~data.train, device)}
    optimizer = torch.optim.Adam(stack.parameters(), lr=training.lr, fused=True)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, training.halve_every, 0.5)
    curve = []
    for order in orders(len(sets["train"][1]), training, seeds):
        passed = epoch(stack, optimizer, *sets["train"][:2], order.to(device))
        curve.append(torch.stack([*passed, accuracy(stack, *sets["test"], training.batch)]))
        schedule.step()
        place.tick(1)
    ends = torch.stack([accuracy(stack, *part, training.batch) for part in sets.values()])
    curves = torch.stack(curve, dim=-1).tolist()  # loss, train, test; seed; epoch
    return [
        Run(
            seed,
            0,
            dict(zip(sets, end, strict=True)),
            {name: values[s] for name, values in zip(("loss", *sets), curves, strict=True)},
        )
        for s, (seed, end) in enumerate(zip(seeds, ends.T.tolist(), strict=True))
    ]


def _part(data: FlowDataset, which: Tensor, device: torch.device) -> tuple[Tensor, Tensor, Tensor]:
    """Return flows in the orientations they are to be seen in, labels, and those orientations."""
    x, y, signs = data.x[:, which], data.y[which], data.signs[:, which]
    if not len(y):
        raise MPSNError(f"Expected flows to train on and flows to test on, got {data}.")
    return (x * signs).to(device), y.to(device), signs.to(device)


def orders(n: int, training: Training, seeds: Sequence[int]) -> Iterator[Tensor]:
    """Yield for each epoch which flows each step takes, (steps, S, batch); -1 fills up the last."""
    generators = [torch.Generator().manual_seed(seed) for seed in seeds]
    missing = -n % training.batch
    for _ in range(training.epochs):
        order = torch.stack([torch.randperm(n, generator=generator) for generator in generators])
        order = nnf.pad(order, (0, missing), value=-1)
        yield order.view(len(seeds), -1, training.batch).transpose(0, 1)


def epoch(
    stack: EdgeFlowStack | SideBySide,
    optimizer: torch.optim.Optimizer,
    flows: Tensor,
    labels: Tensor,
    order: Tensor,
) -> tuple[Tensor, Tensor]:
    """Pass over the training flows once; return mean loss and accuracy of each network, (S,)."""
    stack.train()
    losses, hits = [], []
    for index in order:
        there = index >= 0  # (S, B)
        y = labels[index]
        optimizer.zero_grad()
        logits = stack(flows[:, index].transpose(0, 1)[..., None])  # (S, B, C)
        loss = nnf.cross_entropy(logits.mT, y, reduction="none") * there
        (loss.sum(1) / there.sum(1)).sum().backward()
        optimizer.step()
        losses.append(loss.detach().sum(1))
        hits.append(((logits.argmax(2) == y) & there).sum(1))
    n = flows.shape[1]
    return torch.stack(losses).sum(0) / n, 100 * torch.stack(hits).sum(0) / n


@torch.no_grad()
def accuracy(
    stack: EdgeFlowStack | SideBySide, flows: Tensor, labels: Tensor, signs: Tensor, batch: int
) -> Tensor:
    """Return the accuracy of each network in percent, (S,)."""
    stack.eval()
    hits = []
    parts = (torch.split(flows, batch, 1), torch.split(labels, batch), torch.split(signs, batch, 1))
    for x, y, turn in zip(*parts, strict=True):
        logits = stack(x[None, ..., None].expand(len(stack.nets), -1, -1, 1), turn)
        hits.append((logits.argmax(2) == y).sum(1))
    return 100 * torch.stack(hits).sum(0) / len(labels)
