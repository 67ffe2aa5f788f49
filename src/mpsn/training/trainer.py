"""The trainer: networks, side by side, on complexes or on their cells."""

import copy
import os
import threading
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import wait
from dataclasses import asdict
from pathlib import Path
from typing import Any, ClassVar, Self

import torch
from torch import Tensor
from tqdm import tqdm

from mpsn.errors import FileError, MPSNError, TrainingInterrupted
from mpsn.training._checkpoint import (
    ModelFile,
    damaged,
    read_model,
    with_nan,
    without_nan,
    write_model,
)
from mpsn.training._config import from_plain
from mpsn.training._device import pick_device, seeded, serial_worker
from mpsn.training._launch import LostProcess, joined
from mpsn.training._losses import METRICS, loss_of
from mpsn.training._processes import check_same, rank, world_size
from mpsn.training._resume import Checkpoints, key_of
from mpsn.training._run import History, Interrupted, Run, train
from mpsn.training._samples import (
    Samples,
    Wholes,
    as_targets,
    contents,
    outputs_of,
    samples_of,
)
from mpsn.training._settings import TrainerSettings
from mpsn.training._splits import Split, splits_of

Network = torch.nn.Module | Callable[[int], torch.nn.Module]
KIND = "Trainer"


class Trainer:
    """Train networks on complexes, or on the cells of one dimension.

    A network takes a union of complexes to one row for each of them, or, with ``cells``, for each
    cell of that dimension. Several networks are trained side by side, each as it would be alone;
    their outputs are averaged.

    On a GPU, steps and evaluations of whole complexes are captured as CUDA graphs, on batches that
    are padded to a few shapes, each network on a stream of its own; a network that cannot be
    captured is trained as usual, with a warning. On a CPU each network is trained in one thread, so
    that results do not depend on the number of threads. Started by ``torchrun`` or ``srun``,
    several processes train each network together.

    Args:
        network: A module; a function from a seed to a module, called after torch has been seeded
            with it; or a list of either, for networks side by side.
        loss: ``"cross_entropy"`` of classes, ``"binary_cross_entropy"`` of tasks of 0 and 1,
            ``"mse"``, ``"mae"`` or ``"huber"`` of numbers; or a function from outputs and targets
            to losses. Targets that are NaN, or -1 of classes, do not count. Defaults to
            ``"cross_entropy"``.
        optimizer: ``"adamw"``, ``"adam"``, ``"sgd"``, or a function such as ``torch.optim.RAdam``.
        lr: Largest learning rate. Defaults to 0.001.
        weight_decay: Decay of the weights. Defaults to 0.
        schedule: ``"constant"``; ``"cosine"``, down to 0 after the last epoch; ``"plateau"``,
            halved when the loss in validation, or else in training, has not fallen for a third of
            ``patience``; or a function from the epoch 0, 1, ... to a factor, such as
            :class:`StepDecay`.
        warmup: Number of epochs in which the learning rate rises. Defaults to 0.
        average: Decay, per step, of a moving average of the weights, which is what is evaluated and
            kept; batch norms see their statistics anew before. Defaults to 0, for none.
        clip: Largest norm of the gradient. Defaults to None, for any.
        epochs: Largest number of passes over the training part. Defaults to 100.
        patience: Number of epochs without a lower loss in validation after which training stops;
            the warm-up does not count. Defaults to None, for no early stop.
        batch_size: Number of complexes, or cells, in a step. Defaults to 128.
        precision: ``"float32"``; ``"bf16"``, autocast to bfloat16; or ``"tf32"``, matrix products
            of rounded factors on a GPU.
        device: ``"auto"``, ``"cpu"`` or ``"cuda"``.
        seed: Of weights, order and dropout; network i has ``seed + i``. Or a list of seeds, one for
            each network. Defaults to 0.
        class_weight: Weights of the classes, (C,), or of 0 and 1 in each task, (T, 2).
        metrics: Measured after each epoch in all parts that are held out, and during it in the
            training part: names among ``"accuracy"``, ``"auc"``, ``"mae"``, ``"rmse"`` and
            ``"r2"``, or functions of outputs and targets by name.
        callbacks: Functions that are called after each epoch with the network's
            :class:`~mpsn.training.Run`; ``run.stop()`` ends its training. One that has a method
            ``start`` is also told when training begins.
        cells: Dimension of the cells that have targets. Defaults to None, for whole complexes.
        capture: Whether to capture steps on a GPU. Defaults to True.
        sync_norms: Whether batch norms see the cells of all processes, on GPUs. Defaults to False.
        progress: Whether to show a progress bar. Defaults to False.

    Attributes:
        networks: The networks, in evaluation mode; with a validation part, with the weights of the
            epoch whose loss was lowest there.
        histories: What happened in the training of each, epoch by epoch.
        splits: The positions of the parts, for each network.

    Example:
        >>> graphs = [nx.cycle_graph(n) for n in range(3, 13)] * 4
        >>> data = mpsn.clique_complexes(graphs)
        >>> data = mpsn.ComplexDataset(data.union.replace(x=[torch.ones(data.union.num_nodes, 1)]))
        >>> data = mpsn.ComplexDataset(mpsn.lift_features(data.union))
        >>> long = torch.tensor([int(len(graph) > 7) for graph in graphs])
        >>> def network(seed):
        ...     return mpsn.nn.models.SIN(in_channels=1, hidden=8, layers=2, out_channels=2)
        >>> trainer = mpsn.training.Trainer([network] * 2, lr=0.01, epochs=5, metrics=["accuracy"])
        >>> trainer.fit(data, long, split=0.2).predict(data).shape
        torch.Size([40, 2])
        >>> sorted(trainer.histories[0].curves)
        ['train_accuracy', 'val_accuracy', 'val_loss']
    """

    settings: ClassVar[type[TrainerSettings]] = TrainerSettings
    networks: list[torch.nn.Module]
    histories: list[History]
    splits: list[Split]

    def __init__(self, network: Network | Sequence[Network], **settings: Any) -> None:
        unknown = settings.keys() - TrainerSettings.__dataclass_fields__.keys()
        if unknown:
            raise MPSNError(
                f"Expected settings among {', '.join(TrainerSettings.__dataclass_fields__)}, got "
                f"{sorted(unknown)[0]}."
            )
        self.how = TrainerSettings(**settings)
        self._given = list(network) if isinstance(network, Sequence) else [network]
        self.networks, self.histories, self.splits = [], [], []
        self.interrupted = False

    def fit(
        self,
        data: Any,
        y: Any = None,
        split: Any = 0.1,
        *,
        resume: str | os.PathLike[str] | None = None,
    ) -> Self:
        """Train.

        After Ctrl-C the best weights so far are kept, with a warning.

        Args:
            data: A :class:`~mpsn.ComplexDataset`, a list of complexes, or a complex for its cells;
                or an object with ``__len__`` and ``batch``, from positions (B,) to the arguments of
                a network.
            y: Targets, one row for each complex or cell. Defaults to those of the data.
            split: A fraction to hold out for validation; positions ``(train, val)`` or
                ``(train, val, test)``, or a dictionary of them by name, whose parts are all
                measured; a splitter of scikit-learn, whose i-th split is that of network i; or a
                list of splits, one for each network. Defaults to 0.1.
            resume: A path beside which to keep checkpoints, ``path.resume0``, ...; the same fit
                goes on from there if it was killed. Defaults to none.
        """
        with joined():
            return self._fit(data, y, split, resume)

    def _fit(self, data: Any, y: Any, split: Any, resume: Any) -> Self:
        how = self.how
        device = pick_device(how.device)
        samples = samples_of(data, how.cells, device)
        if world_size() > 1 and not isinstance(samples, Wholes):
            raise MPSNError(
                f"Expected one process to train on cells, got {world_size()}; only networks of "
                f"whole complexes are trained by several."
            )
        targets = as_targets(getattr(data, "y", None) if y is None else y)
        if len(targets) != len(samples.sizes):
            raise MPSNError(
                f"Expected a target y for each of {len(samples.sizes)} samples, got {len(targets)}."
            )
        seeds = how.seeds(len(self._given))
        self.splits, self.interrupted = splits_of(split, targets, seeds), False
        loss, y_here = loss_of(how.loss, how.class_weight).to(device), targets.to(device)
        runs = []
        for i, (one, seed, parts) in enumerate(zip(self._given, seeds, self.splits, strict=True)):
            network = self._build(one, seed, device)
            runs.append(Run(i, seed, network, samples, y_here, parts, how, loss, device))
        checkpoints = None
        if resume is not None or world_size() > 1:
            key = self._key(runs, targets, data)
            check_same(key, "data, targets and settings")
            checkpoints = None if resume is None else Checkpoints(Path(resume), key)
        self._train(runs, checkpoints, device)
        self.networks = [run.network for run in runs]
        self.histories = [run.history for run in runs]
        self.splits = [run.parts for run in runs]
        return self

    def _key(self, runs: Sequence[Run], targets: Tensor, data: Any) -> str:
        """Return what differs when networks, data, targets or settings do."""
        how = self.how
        unlike = {"callbacks", "progress", "device", "metrics", "loss", "schedule", "optimizer"}
        plain = [pair for pair in how.asdict().items() if pair[0] not in unlike]
        words = [how.loss, how.schedule, how.optimizer]
        named = [getattr(word, "__qualname__", word) for word in words]
        positions = [part for run in runs for part in run.parts.values()]
        described = [plain, named, *(str(run.network) for run in runs)]
        return key_of(described, [targets, *positions, *contents(data)])

    def _build(self, one: Network, seed: int, device: torch.device) -> torch.nn.Module:
        network = one
        if not isinstance(one, torch.nn.Module):
            with seeded(seed, device):
                network = one(seed)
        if not isinstance(network, torch.nn.Module):
            raise MPSNError(
                f"Expected a network, or a function from a seed to one, got "
                f"{type(network).__name__}."
            )
        if self.how.sync_norms:
            if device.type != "cuda":
                raise MPSNError(
                    "Expected a GPU to synchronize norms on, got a CPU; use sync_norms=False."
                )
            convert: Any = torch.nn.SyncBatchNorm.convert_sync_batchnorm
            network = convert(network)
        return network.to(device)

    def _train(
        self, runs: list[Run], checkpoints: Checkpoints | None, device: torch.device
    ) -> None:
        """Train in another thread, so that Ctrl-C meets no half step."""
        stop = threading.Event()
        together = len(runs) if device.type == "cuda" and world_size() == 1 else 1
        groups = [runs[start : start + together] for start in range(0, len(runs), together)]
        begun: list[Run] = []

        def work() -> None:
            for group in groups:
                if stop.is_set():
                    return
                with seeded(group[0].seed, device):
                    begun.extend(group)
                    self._train_group(group, checkpoints, stop)

        with serial_worker() as pool:
            future = pool.submit(work)
            try:
                while not future.done():  # a wait hides Ctrl-C at times
                    wait([future], 0.2)
            except KeyboardInterrupt:
                self.interrupted = True
            finally:
                stop.set()
            try:
                future.result()
            except Interrupted:
                self.interrupted = True
        if self.interrupted:
            runs[:] = [run for run in begun if run.epoch]
            if not runs or world_size() > 1:  # which need not have stopped at one step
                raise KeyboardInterrupt
            epochs = ", ".join(str(run.epoch) for run in runs)
            warnings.warn(
                f"Training was interrupted; the best of {epochs} epochs is kept.",
                TrainingInterrupted,
                stacklevel=4,
            )

    def _train_group(
        self, runs: list[Run], checkpoints: Checkpoints | None, stop: threading.Event
    ) -> None:
        bars: dict[int, Any] = {}
        for run in runs:
            for callback in self.how.callbacks:
                if hasattr(callback, "start"):
                    callback.start(run)
            run.prepare()
            if checkpoints is not None:
                checkpoints.restore(run)
            bars[run.number] = tqdm(
                total=self.how.epochs,
                initial=run.epoch,
                desc=f"network {run.number + 1} of {len(self._given)}",
                disable=not self.how.progress or rank() > 0,
                position=run.number,
                unit="epoch",
            )

        def after(run: Run) -> None:
            bar, last = bars[run.number], {name: c[-1] for name, c in run.curves.items()}
            bar.set_postfix({name: f"{value:.3f}" for name, value in last.items()})
            bar.update(1)
            if checkpoints is not None:
                checkpoints.note(run)

        try:
            train(runs, stop.is_set, after)
        except (Interrupted, LostProcess):
            if checkpoints is not None:
                checkpoints.write()
            raise
        finally:
            for bar in bars.values():
                bar.close()
            for run in runs:
                if run.epoch:
                    run.close()

    def outputs(self, data: Any, index: Any = None) -> Tensor:
        """Return the outputs of each network for some samples, by default all, (M, n, C)."""
        if not self.networks:
            raise MPSNError("Expected a trainer that was fitted or loaded; call fit first.")
        device = next(self.networks[0].parameters()).device
        samples: Samples = samples_of(data, self.how.cells, device)
        every = torch.arange(len(samples.sizes)) if index is None else torch.as_tensor(index)
        return torch.stack(
            [outputs_of(network, samples, every, self.how, device) for network in self.networks]
        )

    def predict(self, data: Any, index: Any = None) -> Tensor:
        """Return the mean of the networks' outputs for some samples, by default all, (n, C)."""
        return self.outputs(data, index).mean(dim=0)

    def score(self, data: Any, y: Any = None, index: Any = None) -> float:
        """Return the accuracy of predictions; of numbers, R²."""
        targets = as_targets(getattr(data, "y", None) if y is None else y)
        targets = targets if index is None else targets[torch.as_tensor(index)]
        classes = self.how.loss in ("cross_entropy", "binary_cross_entropy")
        metric = METRICS["accuracy" if classes else "r2"]
        return float(metric(self.predict(data, index).cpu(), targets))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the weights of the networks, and their histories, to one file: no pickle."""
        if not self.networks:
            raise MPSNError("Expected a trainer that was fitted; call fit before save.")
        tensors = {
            f"{i}.{name}": tensor
            for i, network in enumerate(self.networks)
            for name, tensor in network.state_dict().items()
        }
        histories = [without_nan(asdict(history)) for history in self.histories]
        write_model(path, ModelFile(KIND, {"histories": histories}, tensors))

    def load(self, path: str | os.PathLike[str]) -> Self:
        """Read what :meth:`save` wrote into networks like these; runs no code from the file."""
        kind, state, tensors = read_model(path)
        device = pick_device(self.how.device)
        try:
            if kind != KIND:
                raise FileError(f"it holds a {kind}")
            histories = [
                from_plain(History, with_nan(one), "a history") for one in state["histories"]
            ]
            every = self._given * (1 if len(self._given) > 1 else len(histories))
            networks = [
                self._build(copy.deepcopy(one), seed, device)
                for one, seed in zip(every, self.how.seeds(len(every)), strict=True)
            ]
            for i, network in enumerate(networks):
                weights = {
                    name.partition(".")[2]: tensor
                    for name, tensor in tensors.items()
                    if name.partition(".")[0] == str(i)
                }
                network.load_state_dict(weights)
                network.eval()
        except (AttributeError, KeyError, TypeError, ValueError, RuntimeError) as error:
            raise damaged(path, error) from error
        self.networks, self.histories = networks, histories
        return self

    def __repr__(self) -> str:
        settings = [f"{name}={value!r}" for name, value in self.how.asdict().items()
                    if value != TrainerSettings.__dataclass_fields__[name].default
                    and name not in ("callbacks", "progress")]  # fmt: skip
        return f"Trainer({', '.join([f'{len(self._given)} networks', *settings])})"
