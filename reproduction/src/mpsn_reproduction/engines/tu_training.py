"""Training classifiers on many splits of a data set at once."""

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from mpsn.complexes import ComplexDataset
from mpsn.errors import MPSNError
from mpsn.nn.models import CIN, GIN, Hierarchical, Model
from mpsn.training import seeded, world_size
from mpsn.training._capture import Capture
from mpsn.training._device import Precision, check_precision, computing, exact, one_thread, products
from mpsn.training._distributed import own_part
from mpsn.training._loop import fit
from mpsn.training._processes import all_sum
from mpsn_reproduction.engines.one_by_one import train_alone
from mpsn_reproduction.engines.side_by_side import SideBySide, by_classifier, mini_batches, score
from mpsn_reproduction.engines.wide import HEIGHT, Wide, WideData

SLACK = 64  # rows of padding at least, so that simplices of padding are spread out
SHAPES = 16  # different shapes to capture; fewer waste padding, more take time to capture

Rows = tuple[int, ...]
Curves = dict[str, list[float]]


@dataclass(frozen=True)
class Settings:
    """How to train."""

    epochs: int = 200
    """Number of passes over the training complexes."""
    batch_size: int = 32
    """Complexes in a mini-batch."""
    lr: float = 0.001
    """Initial learning rate of Adam."""
    decay_every: int = 50
    """Number of epochs after which the learning rate drops, again and again."""
    decay: float = 0.5
    """Factor by which it drops."""
    precision: Precision = "float32"
    """Precision of the network: float32, bf16 or, on a GPU, tf32."""

    def __post_init__(self) -> None:
        for name in ("epochs", "batch_size", "decay_every"):
            if getattr(self, name) < 1:
                raise MPSNError(f"Expected {name} >= 1, got {getattr(self, name)}.")
        check_precision(self.precision)
        for name in ("lr", "decay"):
            if not 0 < getattr(self, name) < math.inf:
                raise MPSNError(f"Expected {name} > 0, got {getattr(self, name)}.")

    def rate(self, epoch: int) -> float:
        """Return the learning rate of an epoch."""
        return self.lr * self.decay ** (epoch // self.decay_every)


class Split(NamedTuple):
    """Positions of the complexes for training, validation and testing; int64 tensors."""

    train: Tensor
    val: Tensor
    test: Tensor


class Trained(NamedTuple):
    """A trained model, and per epoch its ``loss``, and accuracy in ``train``, ``val``, ``test``.

    Loss and training accuracy are measured during the epoch, with dropout; the others after it. The
    accuracy on no complexes is nan.
    """

    model: Model
    curve: dict[str, list[float]]


def train_folds(
    dataset: ComplexDataset,
    y: Tensor,
    splits: Sequence[Split],
    build: Callable[[int], Model],
    settings: Settings,
    *,
    seeds: Sequence[int],
    device: torch.device | str = "cpu",
    tick: Callable[[int], object] = lambda epochs: None,
    together: int | None = None,
    capture: bool = True,
    pauses: Sequence[int] = (),
    watch: Callable[[list[Curves]], object] = lambda curves: None,
) -> list[Trained]:
    """Train one classifier per split with Adam and cross-entropy, many in one pass.

    On a GPU all are trained as one wide model on one wide batch (``engines/wide``), in steps
    captured as CUDA graphs; on a CPU one after another in one thread, without any padding. Models
    other than CIN, SIN and GIN are trained one after another, on batches that change in shape. On a
    CPU the same call gives the same curves, bit for bit, whatever the number of threads; on a GPU
    the order of sums varies.

    Args:
        dataset: The complexes, with features.
        y: Their classes, (N,) int64, or numbers of variance 1 to regress, (N,) float32.
        splits: One per model.
        build: Makes the model for a split, after torch has been seeded with its seed.
        settings: How to train.
        seeds: One per split: for the weights, the order of the complexes, and dropout.
        device: Where to train.
        tick: Called with the number of epochs done since the last call, over all models.
        together: Number of models to train in one pass. Defaults to all on a GPU, one on a CPU.
        capture: Whether to capture the steps on a GPU.
        pauses: Ascending numbers of epochs after which all models wait for each other.
        watch: Called at each pause with the curves of all models so far; it may raise an error to
            end the training.
    """
    _check(dataset, y, splits, seeds)
    device = torch.device(device)
    y = y.to(device)
    models = []
    for i, seed in enumerate(seeds):
        with seeded(seed, device):
            models.append(build(i))
    dataset = dataset.to(device)
    if not isinstance(models[0], CIN | GIN):
        if pauses:
            raise MPSNError("Expected sin or gin to watch, got a model that is trained alone.")
        if world_size() > 1 and not isinstance(models[0], Hierarchical):
            raise MPSNError(
                f"Expected SIN or GIN in {world_size()} processes, got "
                f"{type(models[0]).__name__}; choose --model sin,gin, or start it without torchrun "
                f"or srun."
            )
        alone = []
        for model, split, seed in zip(models, splits, seeds, strict=True):
            model = model.to(device)
            curve = train_alone(model, dataset, y, split, settings, seed=seed, tick=tick)
            alone.append(Trained(model, curve))
        return alone
    data = WideData(dataset, models[0].max_dim)
    groups = defaultdict(list)
    for i, split in enumerate(splits):
        groups[-(-len(split.train) // settings.batch_size)].append(i)
    most = together or (len(splits) if device.type == "cuda" and world_size() == 1 else 1)
    parts = [
        tuple(members[at : at + most])
        for members in groups.values()
        for at in range(0, len(members), most)
    ]

    def begin(some: Sequence[int]) -> _Pass:
        return _Pass(
            data,
            y,
            [splits[i] for i in some],
            [models[i] for i in some],
            [seeds[i] for i in some],
            settings,
            Capture(device, capture and world_size() == 1),
        )

    waiting: dict[tuple[int, ...], _Pass] = {}
    states: dict[tuple[int, ...], list[Tensor]] = defaultdict(list)
    for pause in (*pauses, settings.epochs):
        out: dict[int, Trained] = {}
        for some in parts:
            with seeded(seeds[some[0]], device, states[some]), one_thread(device):
                run = waiting.pop(some, None) or begin(some)
                out.update(zip(some, run.train(pause, tick), strict=True))
            if pause < settings.epochs:
                waiting[some] = run
        if pause < settings.epochs:
            watch([out[i].curve for i in range(len(splits))])
    return [out[i] for i in range(len(splits))]


class _Pass:
    """Models that take equally many steps, trained together."""

    def __init__(
        self,
        data: WideData,
        y: Tensor,
        splits: Sequence[Split],
        models: Sequence[Model],
        seeds: Sequence[int],
        settings: Settings,
        capture: Capture,
    ) -> None:
        self.data, self.splits, self.settings, self.capture = data, splits, settings, capture
        self.none = len(y)  # position of no complex
        self.wide = Wide(models).to(y.device)  # type: ignore[arg-type]
        self.results: list[Tensor] = []
        self.padded = len(models) > 1 or capture.enabled

        orders = [torch.Generator().manual_seed(seed) for seed in seeds]
        ranks = torch.Generator().manual_seed(0)
        self.batches = [self._epoch(orders, ranks) for _ in range(settings.epochs)]
        self.rows = self._rows(torch.cat(self.batches), SHAPES if capture.enabled else None)
        held = [torch.cat([s.val, s.test]) for s in splits]
        by_size = [h[data.sizes(h[:, None]).sum(1).argsort(stable=True)] for h in held]
        self.held = self._own(mini_batches(by_size, 4 * settings.batch_size, self.none))
        self.held_rows = self._rows(self.held)
        self.next_rows = iter(self.rows)

        # What the steps read and write, beside the models.
        self.steps = SideBySide(
            self.wide,
            self._outputs,
            y,
            (len(splits), settings.batch_size),
            settings.rate,
            capture,
            dtype=torch.float64,
        )
        self.held_index = torch.zeros(self.held.shape[1:], dtype=torch.int64, device=y.device)
        self.is_test = torch.zeros((len(splits), len(y) + 1), dtype=torch.bool, device=y.device)
        for m, split in enumerate(splits):
            self.is_test[m, split.test.to(y.device)] = True
        self.right = torch.zeros((2, len(splits)), dtype=torch.float64, device=y.device)

    def _epoch(self, orders: Sequence[torch.Generator], ranks: torch.Generator) -> Tensor:
        """Draw the mini-batches of an epoch, (steps, M, B).

        Each model shuffles its own complexes, and sees the mini-batches in random order; that is, a
        random order of their sizes, which all models share: then those that are gathered into one
        wide batch are similar in size, and need little padding.
        """
        shuffled = [
            split.train[torch.randperm(len(split.train), generator=order)]
            for split, order in zip(self.splits, orders, strict=True)
        ]
        table = mini_batches(shuffled, self.settings.batch_size, self.none)
        by_size = self.data.sizes(table).sum(-1).argsort(dim=0, stable=True)  # (steps, M)
        rank = torch.randperm(len(table), generator=ranks)
        return self._own(table[by_size[rank], torch.arange(len(self.splits))])

    def _own(self, index: Tensor) -> Tensor:
        """Return the part of mini-batches (steps, M, B) that this process computes."""
        return own_part(index, self.data.sizes(index[..., None]).sum(-1), self.none)

    def _rows(self, index: Tensor, shapes: int | None = None) -> list[Rows]:
        """Return how high the blocks of each step are, in at most so many different shapes."""
        need = self.data.sizes(index).amax(1)  # (steps, D)
        if shapes is not None:
            for part in need.sum(1).argsort(stable=True).tensor_split(min(shapes, len(need))):
                need[part] = need[part].amax(0)
        if self.padded:
            need = torch.where(need > 0, (-(-(need + SLACK) // HEIGHT)).clamp(min=2) * HEIGHT, 0)
        return [tuple(row) for row in need.tolist()]

    def train(self, epochs: int, tick: Callable[[int], object]) -> list[Trained]:
        """Train up to so many epochs in all, and return the models with their curves."""
        sizes = [[len(s.train), len(s.train), len(s.val), len(s.test)] for s in self.splits]
        many = torch.tensor(sizes, dtype=torch.float64).T  # (4, M)
        device = self.right.device

        def batches(epoch: int) -> Iterator[tuple[Tensor, Rows]]:
            return ((index, next(self.next_rows)) for index in self.batches[epoch].to(device))

        with self.capture.stream(), products(self.settings.precision, device):
            self.results = fit(
                self.wide,
                epochs,
                batches,
                self.steps.step,
                lambda: self._evaluate() / many,
                schedule=self.steps.start,
                tick=lambda epochs: tick(epochs * len(self.splits)),
                done=self.results,
            )
        curves = by_classifier(self.results, ("loss", "train", "val", "test"))
        return [Trained(self.wide.unstack(m), curve) for m, curve in enumerate(curves)]

    def _outputs(self, index: Tensor, rows: Rows) -> tuple[Tensor, Tensor]:
        """Return logits and losses of every model on its mini-batch."""
        logits, y = self._logits(index, rows), self.steps.y[index]
        if y.is_floating_point():
            return logits, (logits[..., 0] - y) ** 2
        losses = cross_entropy(logits.flatten(0, 1), y.flatten(), reduction="none")
        return logits, losses.view(y.shape)

    def _logits(self, index: Tensor, rows: Rows) -> Tensor:
        """Return the outputs of every model on complexes (M, B), (M, B, classes)."""
        batch = self.data.gather(index, rows, self.padded)
        with computing(self.settings.precision, index.device):
            return exact(self.wide(batch))

    def _evaluate(self) -> Tensor:
        """Return summed losses, and right answers in training, validation and testing, (4, M)."""
        self.right.zero_()
        for index, rows in zip(self.held.to(self.right.device), self.held_rows, strict=True):
            self.held_index.copy_(index)
            self.capture(self._held_step, rows)
        return all_sum(torch.cat([self.steps.seen, self.right])).cpu()

    @torch.no_grad()
    def _held_step(self, rows: Rows) -> None:
        """Count the right answers of every model on complexes held out from it."""
        index = self.held_index
        right = score(self._logits(index, rows), self.steps.y[index]) * (index < self.none)
        test = self.is_test.gather(1, index)
        self.right[0] += (right * ~test).sum(1)
        self.right[1] += (right * test).sum(1)


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
                f"Expected positions from 0 to {len(dataset) - 1}, and at least one for training, "
                f"got others in split {i}."
            )
        if every.bincount().max() > 1:
            raise MPSNError(
                f"Expected each complex once in split {i}, got some twice; remove those for "
                f"validation and testing from those for training."
            )
