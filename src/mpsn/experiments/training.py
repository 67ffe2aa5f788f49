"""Training classifiers on many splits of a data set at once."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from mpsn.complexes import ComplexDataset
from mpsn.errors import MPSNError
from mpsn.experiments._wide import HEIGHT, Wide, WideData
from mpsn.experiments.capture import Rows, Steps
from mpsn.nn.models import GIN, SIN

SLACK = 64  # rows of padding at least, so that what hangs on padding is spread out
CLASSES = 32  # different shapes to capture; fewer waste padding, more take time to capture


@dataclass(frozen=True)
class Settings:
    """How to train."""

    epochs: int = 200
    """Number of passes over the training complexes."""
    batch_size: int = 32
    """Complexes in a mini-batch."""
    lr: float = 0.001
    """Learning rate of Adam at the start."""
    decay_every: int = 50
    """After how many epochs the learning rate drops, again and again."""
    decay: float = 0.5
    """By what factor."""


class Split(NamedTuple):
    """Positions of the complexes to train on, to choose by, and to test on; int64 tensors."""

    train: Tensor
    val: Tensor
    test: Tensor


class Trained(NamedTuple):
    """A trained model, and per epoch its ``loss``, and accuracy in ``train``, ``val``, ``test``.

    Loss and training accuracy are those of the mini-batches as they came by, dropout included; the
    others are taken after the epoch. The accuracy on no complexes is nan.
    """

    model: SIN | GIN
    curve: dict[str, list[float]]


def train_folds(
    dataset: ComplexDataset,
    y: Tensor,
    splits: Sequence[Split],
    build: Callable[[int], SIN | GIN],
    settings: Settings,
    *,
    seeds: Sequence[int],
    device: torch.device | str = "cpu",
    tick: Callable[[int], object] = lambda epochs: None,
    together: int | None = None,
    capture: bool = True,
) -> list[Trained]:
    """Train one classifier per split with Adam and cross-entropy, many in one pass.

    On a GPU all are trained as one wide model on one wide batch (``experiments/_wide``), in steps
    captured as CUDA graphs; on a CPU one after another, without any padding. Either way the
    data set lives on the device, and each model draws its mini-batches from a generator of its own.

    Args:
        dataset: The complexes, with features.
        y: Their classes, (N,) int64.
        splits: What to train on, one per model.
        build: Makes the model for a split, after torch has been seeded with its seed.
        settings: How to train.
        seeds: One per split: for the weights, the order of the complexes, and dropout.
        device: Where to train.
        tick: Called with the number of epochs that are done since the last call, over all models.
        together: How many models to train in one pass, unless their numbers of steps differ;
            all on a GPU, one on a CPU unless said.
        capture: Whether to capture the steps on a GPU.

    Returns:
        For each split, the model and its curves. On a CPU the same call gives the same curves, bit
        for bit; on a GPU sums are taken in any order, and they differ by rounding.
    """
    _check(dataset, y, splits, seeds)
    device = torch.device(device)
    y = y.to(device)
    out: dict[int, Trained] = {}
    with torch.random.fork_rng([device] if device.type == "cuda" else []):
        models = []
        for i, seed in enumerate(seeds):
            torch.manual_seed(seed)
            models.append(build(i))
        data = WideData(dataset.to(device), models[0].max_dim)
        groups = defaultdict(list)
        for i, split in enumerate(splits):
            groups[-(-len(split.train) // settings.batch_size)].append(i)
        most = together or (len(splits) if device.type == "cuda" else 1)
        for members in groups.values():
            for at in range(0, len(members), most):
                some = members[at : at + most]
                torch.manual_seed(seeds[some[0]])
                run = _Pass(
                    data,
                    y,
                    [splits[i] for i in some],
                    [models[i] for i in some],
                    [seeds[i] for i in some],
                    settings,
                    capture,
                )
                out.update(zip(some, run.train(tick), strict=True))
    return [out[i] for i in range(len(splits))]


class _Pass:
    """Models that take equally many steps, trained together."""

    def __init__(
        self,
        data: WideData,
        y: Tensor,
        splits: Sequence[Split],
        models: Sequence[SIN | GIN],
        seeds: Sequence[int],
        settings: Settings,
        capture: bool,
    ) -> None:
        device = y.device
        self.data, self.splits, self.settings = data, splits, settings
        self.y = torch.cat([y, y.new_zeros(1)])
        self.none = len(y)  # the complex that is none
        self.wide = Wide(models).to(device)  # type: ignore[arg-type]
        on_gpu = device.type == "cuda"
        self.lr = torch.tensor(
            settings.lr, device=device, dtype=torch.float32 if on_gpu else torch.float64
        )
        self.adam = torch.optim.Adam(self.wide.parameters(), self.lr, fused=True, capturable=on_gpu)
        self.steps = Steps(device, capture)
        self.padded = len(models) > 1 or self.steps.captures

        orders = [torch.Generator().manual_seed(seed) for seed in seeds]
        ranks = torch.Generator().manual_seed(0)
        batches = [self._epoch(orders, ranks) for _ in range(settings.epochs)]
        self.train_rows = self._rows(torch.cat(batches), CLASSES if self.steps.captures else None)
        self.batches = batches
        held = [torch.cat([s.val, s.test]) for s in splits]
        by_size = [h[data.sizes(h[:, None]).sum(1).argsort(stable=True)] for h in held]
        self.held = self._table(by_size, 4 * settings.batch_size)
        self.held_rows = self._rows(self.held)

        # What the steps read and write, and nothing else: the models aside.
        self.index = torch.zeros(batches[0].shape[1:], dtype=torch.int64, device=device)
        self.held_index = torch.zeros(self.held.shape[1:], dtype=torch.int64, device=device)
        self.is_test = torch.zeros((len(splits), len(y) + 1), dtype=torch.bool, device=device)
        for m, split in enumerate(splits):
            self.is_test[m, split.test.to(device)] = True
        self.seen = torch.zeros((4, len(splits)), dtype=torch.float64, device=device)

    def _epoch(self, orders: Sequence[torch.Generator], ranks: torch.Generator) -> Tensor:
        """Draw the mini-batches of an epoch, (steps, M, B).

        Each model shuffles its complexes by itself, and sees the mini-batches in random order; that
        is, a random order of their sizes, which all models share: then those that are gathered into
        one wide batch are alike in size, and need little padding.
        """
        shuffled = [
            split.train[torch.randperm(len(split.train), generator=order)]
            for split, order in zip(self.splits, orders, strict=True)
        ]
        table = self._table(shuffled, self.settings.batch_size)
        by_size = self.data.sizes(table).sum(-1).argsort(dim=0, stable=True)  # (steps, M)
        rank = torch.randperm(len(table), generator=ranks)
        return table[by_size[rank], torch.arange(len(self.splits))]

    def _table(self, lists: Sequence[Tensor], many: int) -> Tensor:
        """Cut each model's list of complexes into mini-batches, (steps, M, many)."""
        steps = max(-(-len(one) // many) for one in lists)
        out = torch.full((len(lists), steps * many), self.none)
        for row, one in zip(out, lists, strict=True):
            row[: len(one)] = one
        return out.view(len(lists), steps, many).transpose(0, 1)

    def _rows(self, index: Tensor, classes: int | None = None) -> list[Rows]:
        """Say how high the blocks of each step are; in how many different ways, if that counts."""
        need = self.data.sizes(index).amax(1)  # (steps, D)
        if classes is not None:
            for part in need.sum(1).argsort(stable=True).tensor_split(classes):
                need[part] = need[part].amax(0)
        if self.padded:
            need = torch.where(need > 0, (-(-(need + SLACK) // HEIGHT)).clamp(min=2) * HEIGHT, 0)
        return [tuple(row) for row in need.tolist()]

    def train(self, tick: Callable[[int], object]) -> list[Trained]:
        """Train, and return the models with their curves."""
        sizes = [[len(s.train), len(s.train), len(s.val), len(s.test)] for s in self.splits]
        many = torch.tensor(sizes, dtype=torch.float64).T  # (4, M)
        curves, rows = [], iter(self.train_rows)
        with self.steps.place():
            for epoch, batches in enumerate(self.batches):
                self.lr.fill_(
                    self.settings.lr * self.settings.decay ** (epoch // self.settings.decay_every)
                )
                self.seen.zero_()
                self.wide.train()
                for batch in batches.to(self.index.device):
                    self.index.copy_(batch)
                    self.steps.run(self.train_step, next(rows))
                self.wide.eval()
                for batch, height in zip(
                    self.held.to(self.index.device), self.held_rows, strict=True
                ):
                    self.held_index.copy_(batch)
                    self.steps.run(self.held_step, height)
                curves.append(self.seen.cpu() / many)
                tick(len(self.splits))
        each = torch.stack(curves, dim=-1)  # (4, M, epochs)
        names = ("loss", "train", "val", "test")
        return [
            Trained(self.wide.unstack(m), dict(zip(names, each[:, m].tolist(), strict=True)))
            for m in range(len(self.splits))
        ]

    def train_step(self, rows: Rows) -> None:
        """Take one step of every model on its mini-batch."""
        logits = self.wide(self.data.gather(self.index, rows, self.padded))  # (M, B, classes)
        y = self.y[self.index]
        valid = self.index < self.none
        losses = (
            torch.nn.functional.cross_entropy(
                logits.flatten(0, 1), y.flatten(), reduction="none"
            ).view(y.shape)
            * valid
        )  # (M, B)
        loss = (losses.sum(1) / valid.sum(1)).sum()
        self.adam.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        self.adam.step()
        self.seen[0] += losses.detach().sum(1)
        self.seen[1] += ((logits.argmax(-1) == y) & valid).sum(1)

    @torch.no_grad()
    def held_step(self, rows: Rows) -> None:
        """Count what every model gets right of the complexes held back from it."""
        logits = self.wide(self.data.gather(self.held_index, rows, self.padded))
        right = (logits.argmax(-1) == self.y[self.held_index]) & (self.held_index < self.none)
        test = self.is_test.gather(1, self.held_index)
        self.seen[2] += (right & ~test).sum(1)
        self.seen[3] += (right & test).sum(1)


def _check(
    dataset: ComplexDataset, y: Tensor, splits: Sequence[Split], seeds: Sequence[int]
) -> None:
    if len(y) != len(dataset) or len(seeds) != len(splits) or not splits:
        raise MPSNError(
            f"Expected one class per complex and one seed per split, got {len(y)} classes for "
            f"{len(dataset)} complexes and {len(seeds)} seeds for {len(splits)} splits."
        )
    for i, split in enumerate(splits):
        every = torch.cat(split)
        if not len(split.train) or every.min() < 0 or every.max() >= len(dataset):
            raise MPSNError(
                f"Expected positions from 0 to {len(dataset) - 1}, and some to train on, "
                f"got others in split {i}."
            )
        if every.bincount().max() > 1:
            raise MPSNError(
                f"Expected each complex once in split {i}, got some twice; take those to choose by "
                f"out of those to train on."
            )
