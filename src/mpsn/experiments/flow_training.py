"""Training classifiers of edge flows on one complex, several seeds side by side."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import torch
import torch.nn.functional as nnf
from torch import Tensor

from mpsn.complexes import SimplicialComplex, collate
from mpsn.datasets._flows import FlowDataset
from mpsn.errors import MPSNError
from mpsn.experiments._flow_stack import EdgeFlowStack
from mpsn.experiments.experiment import Place, Run
from mpsn.nn.models import EdgeFlowNet

T = TypeVar("T")

AT_ONCE = 1 << 16  # values of flows on a CPU; larger tensors would be fetched from the system anew


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
    nets = []
    for seed in seeds:
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            nets.append(make().to(place.device))
    K = data.complex.to(place.device)
    flow_nets = [net for net in nets if isinstance(net, EdgeFlowNet)]
    fast = len(flow_nets) == len(nets)
    stack = EdgeFlowStack(flow_nets, K) if fast else SideBySide(nets, K)
    sets = {
        name: _part(data, which, place.device)
        for name, which in (("train", data.train), ("test", ~data.train))
    }
    x, y, _ = sets["train"]
    steps = Steps(stack, x, y, training.batch)
    test = recorded(stack, lambda: accuracy(stack, *sets["test"], training.batch))
    steps.start()
    curve = []
    for number, order in enumerate(orders(len(y), training, seeds)):
        steps.lr.fill_(training.lr * 0.5 ** (number // training.halve_every))
        loss, hits = steps.epoch(order.to(place.device))
        curve.append(torch.stack([loss / len(y), 100 * hits / len(y), test()]).tolist())
        place.tick(1)
    ends = torch.stack([accuracy(stack, *part, training.batch) for part in sets.values()])
    return [
        Run(
            seed,
            0,
            dict(zip(sets, end, strict=True)),
            {name: [at[i][s] for at in curve] for i, name in enumerate(("loss", *sets))},
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


class Steps:
    """Training steps of all networks, each on a batch of its own.

    Args:
        stack: The networks.
        flows: The training flows, (n_1, N).
        labels: Their classes, (N,).
        batch: Number of flows a step.
    """

    def __init__(
        self, stack: EdgeFlowStack | SideBySide, flows: Tensor, labels: Tensor, batch: int
    ) -> None:
        self.stack, self.flows, self.labels = stack, flows, labels
        S, device = len(stack.nets), flows.device
        self.index = torch.zeros(S, batch, dtype=torch.int64, device=device)
        self.passed = torch.zeros(2, S, device=device)  # sums of losses and hits
        self.lr = torch.zeros((), device=device)  # a tensor: a recorded step sees it change
        self.adam = torch.optim.Adam(
            stack.parameters(), lr=self.lr, fused=True, capturable=device.type == "cuda"
        )
        few = max(1, AT_ONCE // (S * len(flows)))
        self.at_once = batch if device.type == "cuda" else few  # flows, whose gradients add up
        self.step = recorded(stack, self._step)

    def start(self) -> None:
        """Forget the steps that were taken, with rate zero, to record one."""
        for state in self.adam.state.values():
            for value in state.values():
                value.zero_()

    def epoch(self, order: Tensor) -> Tensor:
        """Take steps on the flows in order, (steps, S, batch); return losses and hits, (2, S)."""
        self.stack.train()
        self.passed.zero_()
        for index in order:
            self.index.copy_(index)
            self.step()
        return self.passed

    def _step(self) -> None:
        total = (self.index >= 0).sum(1)  # (S,)
        self.adam.zero_grad()
        for index in torch.split(self.index, self.at_once, 1):
            there = index >= 0  # (S, B)
            y = self.labels[index]
            logits = self.stack(self.flows[:, index].transpose(0, 1)[..., None])  # (S, B, C)
            loss = nnf.cross_entropy(logits.mT, y, reduction="none") * there
            torch.autograd.backward((loss.sum(1) / total).sum())
            self.passed[0] += loss.detach().sum(1)
            self.passed[1] += ((logits.detach().argmax(2) == y) & there).sum(1)
        self.adam.step()


def recorded(stack: torch.nn.Module, function: Callable[[], T]) -> Callable[[], T]:
    """Record what a function does on a GPU, and return one that does it again in a single launch.

    Tensors it reads or changes must stay where they are; what it returns is overwritten the next
    time. It is called a few times to warm up. On the CPU, and for networks that ask the GPU for
    sizes as they go, the function itself is returned.
    """
    device = next(stack.parameters()).device
    if device.type != "cuda" or not isinstance(stack, EdgeFlowStack):
        return function
    aside = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
    aside.wait_stream(torch.cuda.current_stream(device))
    with torch.cuda.stream(aside):
        for _ in range(3):
            function()
    torch.cuda.current_stream(device).wait_stream(aside)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = function()

    def again() -> T:
        graph.replay()
        return result

    return again


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
