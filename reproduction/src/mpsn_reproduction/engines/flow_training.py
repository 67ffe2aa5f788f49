"""Training classifiers of edge flows on one complex, several seeds side by side."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as nnf
from torch import Tensor

from mpsn.complexes import SimplicialComplex, collate
from mpsn.datasets import FlowDataset
from mpsn.errors import MPSNError
from mpsn.nn.models import EdgeFlowNet
from mpsn.training import seeded
from mpsn.training._capture import Capture
from mpsn.training._device import Precision, check_precision, computing, exact, one_thread, products
from mpsn.training._loop import fit
from mpsn_reproduction.engines.flow_stack import EdgeFlowStack
from mpsn_reproduction.engines.side_by_side import SideBySide, by_classifier, mini_batches
from mpsn_reproduction.experiment import Resources, Run

AT_ONCE = 1 << 16  # values of flows on a CPU, where larger tensors are allocated anew each time


@dataclass(frozen=True)
class Training:
    """How to train. Defaults to the paper's settings."""

    epochs: int = 100
    """Number of passes over the training flows."""
    batch: int = 64
    """Number of flows per step."""
    lr: float = 0.001
    """Initial learning rate of Adam."""
    halve_every: int = 20
    """Number of epochs after which the learning rate is halved, again and again."""
    precision: Precision = "float32"
    """Precision of the network: float32, bf16 or, on a GPU, tf32."""

    def __post_init__(self) -> None:
        check_precision(self.precision)
        for name in ("epochs", "batch", "halve_every"):
            if getattr(self, name) < 1:
                raise MPSNError(f"Expected {name} >= 1, got {getattr(self, name)}.")
        if self.lr <= 0:
            raise MPSNError(f"Expected lr > 0, got {self.lr}.")


class OneByOne(torch.nn.Module):
    """Networks of any kind on one complex, called one after another like an ``EdgeFlowStack``.

    A network is called as ``net(K, h)`` with h of shape (n_1, N, F), or (n_1, F) for a union.
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


Stack = EdgeFlowStack | OneByOne


def train(
    make: Callable[[], torch.nn.Module],
    data: FlowDataset,
    training: Training,
    seeds: Sequence[int],
    resources: Resources,
) -> list[Run]:
    """Train one network per seed on one orientation, and test it on those of the data.

    A seed fixes the initial weights and the order of the flows; on a CPU the networks are trained
    in one thread, so that results do not depend on the number of threads. Accuracies are in
    percent: in ``metrics``, of the trained network; on the curve, ``train`` is measured during the
    epoch.
    """
    device, nets = resources.device, []
    for seed in seeds:
        with seeded(seed, device):
            nets.append(make().to(device))
    K = data.complex.to(device)
    flow_nets = [net for net in nets if isinstance(net, EdgeFlowNet)]
    fast = len(flow_nets) == len(nets)
    stack = EdgeFlowStack(flow_nets, K) if fast else OneByOne(nets, K)
    sets = {
        name: _part(data, which, device)
        for name, which in (("train", data.train), ("test", ~data.train))
    }
    x, y, _ = sets["train"]
    capture = Capture(device, fast)  # other networks ask the GPU for sizes as they go
    steps = training_steps(stack, x, y, training, capture)
    order = orders(len(y), training, seeds)

    def test() -> Tensor:
        return accuracy(stack, *sets["test"], training)

    def evaluate() -> Tensor:
        loss, hits = steps.seen
        return torch.stack([loss / len(y), 100 * hits / len(y), capture(test)]).cpu()

    with one_thread(device):
        with capture.stream(), products(training.precision, device):
            results = fit(
                stack,
                training.epochs,
                lambda epoch: ((index, ()) for index in next(order).to(device)),
                steps.step,
                evaluate,
                schedule=steps.start,
                tick=resources.tick,
            )
        ends = torch.stack([accuracy(stack, *part, training) for part in sets.values()])
    return [
        Run(seed, 0, dict(zip(sets, end, strict=True)), curve)
        for seed, end, curve in zip(
            seeds, ends.T.tolist(), by_classifier(results, ("loss", *sets)), strict=True
        )
    ]


def _part(data: FlowDataset, which: Tensor, device: torch.device) -> tuple[Tensor, Tensor, Tensor]:
    """Return flows in the orientations they are to be seen in, labels, and those orientations."""
    x, y, signs = data.x[:, which], data.y[which], data.signs[:, which]
    if not len(y):
        raise MPSNError(f"Expected flows to train on and flows to test on, got {data}.")
    return (x * signs).to(device), y.to(device), signs.to(device)


def orders(n: int, training: Training, seeds: Sequence[int]) -> Iterator[Tensor]:
    """Yield for each epoch the flows of each step, (steps, S, batch); n fills up the last."""
    generators = [torch.Generator().manual_seed(seed) for seed in seeds]
    for _ in range(training.epochs):
        order = [torch.randperm(n, generator=generator) for generator in generators]
        yield mini_batches(order, training.batch, n)


def training_steps(
    stack: Stack, flows: Tensor, labels: Tensor, training: Training, capture: Capture
) -> SideBySide:
    """Return the training steps of all networks on flows (n_1, N) with labels (N,)."""
    networks = len(stack.nets)
    padded = nnf.pad(flows, (0, 1))

    def outputs(index: Tensor, _: object) -> tuple[Tensor, Tensor]:
        with computing(training.precision, flows.device):
            logits = exact(stack(padded[:, index].transpose(0, 1)[..., None]))  # (S, B, C)
        return logits, nnf.cross_entropy(logits.mT, steps.y[index], reduction="none")

    few = max(1, AT_ONCE // (networks * len(flows)))
    steps = SideBySide(
        stack,
        outputs,
        labels,
        (networks, training.batch),
        lambda epoch: training.lr * 0.5 ** (epoch // training.halve_every),
        capture,
        at_once=None if flows.is_cuda else few,  # the gradients of parts of a batch add up
    )
    return steps


@torch.no_grad()
def accuracy(
    stack: Stack, flows: Tensor, labels: Tensor, signs: Tensor, training: Training
) -> Tensor:
    """Return the accuracy of each network in percent, (S,)."""
    stack.eval()
    hits, batch = [], training.batch
    parts = (torch.split(flows, batch, 1), torch.split(labels, batch), torch.split(signs, batch, 1))
    for x, y, turn in zip(*parts, strict=True):
        with computing(training.precision, flows.device):
            logits = exact(stack(x[None, ..., None].expand(len(stack.nets), -1, -1, 1), turn))
        hits.append((logits.argmax(2) == y).sum(1))
    return 100 * torch.stack(hits).sum(0) / len(labels)
