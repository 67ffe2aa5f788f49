"""Training of one classifier on one split, for networks whose batches change in shape."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, mse_loss

from mpsn.complexes import Complex, ComplexDataset
from mpsn.training import seeded
from mpsn.training._device import computing, exact, one_thread, products
from mpsn.training._distributed import Parallel, sum_gradients
from mpsn.training._loop import fit
from mpsn_reproduction.engines.side_by_side import score

if TYPE_CHECKING:
    from mpsn_reproduction.engines.tu_training import Settings, Split


def train_alone(
    model: torch.nn.Module,
    dataset: ComplexDataset,
    y: Tensor,
    split: "Split",
    settings: "Settings",
    *,
    seed: int,
    tick: Callable[[int], object],
) -> dict[str, list[float]]:
    """Train with Adam; return per epoch the loss, and accuracies in training, val and test.

    Args:
        model: From a batch of complexes to logits, (B, classes), or (B, 1) for numbers.
        dataset: The complexes, with features.
        y: Their classes, (N,) int64, or numbers of variance 1 to regress, (N,) float32.
        split: Positions for training, validation and testing.
        settings: How to train.
        seed: Seed of dropout, and of the order of the complexes.
        tick: Called with the number of epochs done since the last call.
    """
    train, held, size = split.train, (split.val, split.test), settings.batch_size
    order = torch.Generator().manual_seed(seed)
    adam = torch.optim.Adam(model.parameters(), settings.lr, fused=True)
    fixed = [
        [(dataset.batch(at), y[at.to(y.device)]) for at in torch.split(part, 4 * size) if len(at)]
        for part in held
    ]
    seen = torch.zeros(2, device=y.device, dtype=torch.float64)  # loss and hits of the epoch

    def schedule(epoch: int) -> None:
        seen.zero_()
        for group in adam.param_groups:
            group["lr"] = settings.rate(epoch)

    def batches(epoch: int) -> Iterator[Tensor]:
        return iter(torch.split(train[torch.randperm(len(train), generator=order)], size))

    def outputs(model: torch.nn.Module, K: Complex) -> Tensor:
        with computing(settings.precision, y.device):
            return exact(model(K))

    sizes = dataset.counts.sum(dim=1)
    forward = Parallel(lambda model, index: outputs(model, dataset.batch(index)), sizes)

    def step(index: Tensor) -> None:
        right = y[index.to(y.device)]
        logits = forward(model, index)
        numbers = right.is_floating_point()
        loss = mse_loss(logits[:, 0], right) if numbers else cross_entropy(logits, right)
        adam.zero_grad()
        torch.autograd.backward(loss)
        sum_gradients(model)
        adam.step()
        seen.add_(torch.stack([loss.detach() * len(right), score(logits.detach(), right).sum()]))

    @torch.no_grad()
    def evaluate() -> list[float]:
        hits = [[score(outputs(model, K), right).sum() for K, right in part] for part in fixed]
        means = [
            sum(part, start=seen[0] * 0) / len(at) for part, at in zip(hits, held, strict=True)
        ]
        return torch.stack([*(seen / len(train)), *means]).tolist()

    with (
        seeded(seed, y.device),
        one_thread(y.device),
        products(settings.precision, y.device),
        forward.training(model),
    ):
        results = fit(model, settings.epochs, batches, step, evaluate, schedule=schedule, tick=tick)
    names = ("loss", "train", "val", "test")
    return dict(zip(names, map(list, zip(*results, strict=True)), strict=True))
