"""The training loop."""

import copy
import math
from collections.abc import Callable, Iterable
from typing import TypeVar

import torch

Batch = TypeVar("Batch")
Result = TypeVar("Result")


def fit(
    module: torch.nn.Module,
    epochs: int,
    batches: Callable[[int], Iterable[Batch]],
    step: Callable[[Batch], object],
    evaluate: Callable[[], Result],
    *,
    schedule: Callable[[int], object] = lambda epoch: None,
    stop: Callable[[Result], bool] = lambda result: False,
    tick: Callable[[int], object] = lambda epochs: None,
    done: Iterable[Result] = (),
) -> list[Result]:
    """Train: steps on mini-batches, then an evaluation, epoch after epoch.

    Args:
        module: The network; in training mode during steps, else in evaluation mode.
        epochs: Largest number of epochs.
        batches: From the number of an epoch, 0, 1, ..., to its mini-batches.
        step: Takes a training step on a mini-batch.
        evaluate: Called after each epoch; what it returns is returned for all epochs.
        schedule: Called with the number of each epoch before it begins, to set the learning rate.
        stop: Returns whether to stop, given the last evaluation.
        tick: Called with the number of epochs done since the last call.
        done: Results of earlier epochs, to go on after them.
    """
    results = list(done)
    for epoch in range(len(results), epochs):
        schedule(epoch)
        module.train()
        for batch in batches(epoch):
            step(batch)
        module.eval()
        results.append(evaluate())
        tick(1)
        if stop(results[-1]):
            break
    return results


class EarlyStopping:
    """Stop when a loss has not fallen for ``patience`` epochs; restore the weights of the best.

    The learning rate rises linearly in the first ``warmup`` epochs, during which training never
    stops, and is halved when the loss has not fallen for a third of ``patience``.
    """

    def __init__(
        self,
        module: torch.nn.Module,
        optimizer: torch.optim.Optimizer,
        patience: int,
        warmup: int = 0,
    ) -> None:
        self.module, self.patience, self.warmup, self.best = module, patience, warmup, 0
        self.weights = module.state_dict()
        self._epochs, self._least = 0, math.inf
        self._optimizer = optimizer
        self._rates = [group["lr"] for group in optimizer.param_groups]
        self._plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(
            optimizer, factor=0.5, patience=max(1, patience // 3)
        )

    def schedule(self, epoch: int) -> None:
        """Set the learning rate of an epoch; to be called before it begins."""
        if epoch < self.warmup:
            for group, rate in zip(self._optimizer.param_groups, self._rates, strict=True):
                group["lr"] = rate * (epoch + 1) / self.warmup

    def __call__(self, loss: float) -> bool:
        """Note the loss of an epoch; return whether to stop."""
        epoch = self._epochs
        self._epochs += 1
        if epoch >= self.warmup:
            self._plateau.step(loss)
        if loss <= self._least:  # never if it is NaN
            self._least = loss
            self.best, self.weights = epoch, copy.deepcopy(self.module.state_dict())
        return epoch - max(self.best, self.warmup - 1) >= self.patience

    def restore(self) -> None:
        """Give the network the weights of the best epoch."""
        self.module.load_state_dict(self.weights)
