"""Training of several classifiers at once, each on mini-batches of its own."""

from collections.abc import Callable, Hashable, Sequence

import torch
from torch import Tensor

from mpsn.training._capture import Capture
from mpsn.training._distributed import sum_gradients
from mpsn.training._processes import all_sum

# From positions (M, B) and the key of the capture to logits (M, B, C) and losses (M, B).
Outputs = Callable[..., tuple[Tensor, Tensor]]


class SideBySide:
    """Training steps of M classifiers with Adam, each on its own mini-batch.

    Args:
        module: Holds the parameters of all classifiers.
        outputs: Computes logits and losses.
        y: The classes, (N,); position N in a mini-batch stands for no sample.
        shape: Number M of classifiers and size of a mini-batch.
        rate: From the number of an epoch to its learning rate.
        capture: Captures the steps on a GPU.
        dtype: Precision of the sums, and of the learning rate on a CPU.
        at_once: Number of samples per classifier whose gradients are computed at a time.
    """

    def __init__(
        self,
        module: torch.nn.Module,
        outputs: Outputs,
        y: Tensor,
        shape: tuple[int, int],
        rate: Callable[[int], float],
        capture: Capture,
        *,
        dtype: torch.dtype = torch.float32,
        at_once: int | None = None,
    ) -> None:
        cuda = y.is_cuda
        self.module = module
        self.outputs, self.rate, self.capture, self.none = outputs, rate, capture, len(y)
        self.y = torch.cat([y, y.new_zeros(1)])
        self.at_once = at_once or shape[1]
        self.index = torch.zeros(shape, dtype=torch.int64, device=y.device)
        self.seen = torch.zeros((2, shape[0]), dtype=dtype, device=y.device)  # losses and hits
        # A tensor, so that a captured step sees it change.
        self.lr = torch.zeros((), dtype=torch.float32 if cuda else dtype, device=y.device)
        self.adam = torch.optim.Adam(module.parameters(), self.lr, fused=True, capturable=cuda)

    def start(self, epoch: int) -> None:
        """Begin an epoch."""
        self.lr.fill_(self.rate(epoch))
        self.seen.zero_()

    def step(self, batch: tuple[Tensor, Hashable]) -> None:
        """Take a step on positions (M, B), given with the key of the capture."""
        self.index.copy_(batch[0])
        self.capture(self._step, batch[1])

    def _step(self, key: Hashable) -> None:
        total = all_sum((self.index < self.none).sum(1))
        self.adam.zero_grad()
        for index in torch.split(self.index, self.at_once, 1):
            valid, y = index < self.none, self.y[index]
            logits, losses = self.outputs(index, key)
            losses = losses * valid  # (M, B)
            torch.autograd.backward((losses.sum(1) / total).sum())
            self.seen[0] += losses.detach().sum(1)
            self.seen[1] += (score(logits.detach(), y) * valid).sum(1)
        sum_gradients(self.module)
        self.adam.step()


def score(logits: Tensor, y: Tensor) -> Tensor:
    """Return 1 for right classes and 0 for others, (M, B).

    For numbers of variance 1, it is what has the mean R²: 1 less the squared error.
    """
    if y.is_floating_point():
        return 1 - (logits[..., 0] - y) ** 2
    return (logits.argmax(-1) == y).to(logits.dtype)


def mini_batches(lists: Sequence[Tensor], size: int, none: int) -> Tensor:
    """Cut each classifier's list of samples into mini-batches, (steps, M, size); none fills up."""
    steps = max(-(-len(one) // size) for one in lists)
    out = torch.full((len(lists), steps * size), none)
    for row, one in zip(out, lists, strict=True):
        row[: len(one)] = one
    return out.view(len(lists), steps, size).transpose(0, 1)


def by_classifier(results: list[Tensor], names: Sequence[str]) -> list[dict[str, list[float]]]:
    """Turn values of each epoch, (names, M), into the curves of each classifier."""
    each = torch.stack(results, dim=-1)  # (names, M, epochs)
    return [dict(zip(names, each[:, m].tolist(), strict=True)) for m in range(each.shape[1])]
