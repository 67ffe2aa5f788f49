"""The training loop."""

import copy
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
    """
    results = []
    for epoch in range(epochs):
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

    The learning rate is halved when the loss has not fallen for a third as long.
    """

    def __init__(
        self, module: torch.nn.Module, optimizer: torch.optim.Optimizer, patience: int
    ) -> None:
        self.module, self.patience, self.best = module, patience, 0
        self._plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(
            optimizer, factor=0.5, patience=max(1, patience // 3)
        )
        self._losses: list[float] = []
        self._weights = module.state_dict()

    def __call__(self, loss: float) -> bool:
        """Note the loss of an epoch; return whether to stop."""
        epoch = len(self._losses)
        self._losses.append(loss)
        self._plateau.step(loss)
        if loss <= min(self._losses):
            self.best, self._weights = epoch, copy.deepcopy(self.module.state_dict())
        return epoch - self.best >= self.patience

    def restore(self) -> None:
        """Give the network the weights of the best epoch."""
        self.module.load_state_dict(self._weights)
