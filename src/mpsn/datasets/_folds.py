"""Folds for cross-validation: read from files, or stratified."""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from mpsn.datasets._sources import expect
from mpsn.errors import FileError, MPSNError

FOLDS = 10


class Folds(NamedTuple):
    """Ten splits of a data set into training and test graphs.

    Attributes:
        train: For each fold, the positions of the training graphs, int64.
        test: For each fold, the positions of the test graphs; the test folds are disjoint.
        from_files: Whether the folds were read from files.
        untested: Positions of the graphs in no test fold, int64.
        val: For each fold, the positions of the graphs to select models by, which are in neither of
            the others; empty if the folds have none.
    """

    train: list[Tensor]
    test: list[Tensor]
    from_files: bool
    untested: Tensor
    val: Sequence[Tensor] = ()

    def imbalance(self, y: Tensor) -> float:
        """Return how far the share of a class in some part is from that in the whole set, at most.

        Takes the class of each graph, (graphs,) int64.
        """

        def shares(classes: Tensor) -> Tensor:
            return classes.bincount(minlength=int(y.max()) + 1) / len(classes)

        parts = [*self.train, *self.test, *self.val]
        return max(float((shares(y[part]) - shares(y)).abs().max()) for part in parts)


def tu_folds(name: str, y: Tensor, data: str | os.PathLike[str] | None = None) -> Folds:
    """Return the ten folds of a TU data set: those of Xu et al. (2019) if found, else stratified.

    They are read from ``tu_folds/NAME/train_idx-K.txt`` and ``test_idx-K.txt``, K = 1, ..., 10,
    which hold positions from 0. Their test folds are of equal size, so that a few graphs may be in
    none: three of the 1113 graphs of PROTEINS.

    Args:
        name: Name of the data set.
        y: Class of each graph, (graphs,) int64, or a number to regress.
        data: Folder of local copies. Defaults to the environment variable ``MPSN_DATA``.

    Example:
        >>> folds = mpsn.datasets.tu_folds("a name without files", torch.arange(40) % 2)
        >>> folds.from_files, len(folds.test[0]), len(folds.train[0])
        (False, 4, 36)
    """
    where = data or os.environ.get("MPSN_DATA")
    folder = Path(where or "") / "tu_folds" / name
    if not where or not folder.is_dir():
        part = stratify(strata(y), FOLDS)
        test = [(part == k).nonzero()[:, 0] for k in range(FOLDS)]
        train = [(part != k).nonzero()[:, 0] for k in range(FOLDS)]
        return Folds(train, test, False, test[0][:0])
    train, test = (
        [_positions(folder / f"{kind}_idx-{k}.txt", len(y)) for k in range(1, FOLDS + 1)]
        for kind in ("train", "test")
    )
    return Folds(train, test, True, _untested(folder, train, test, len(y)))


def fair_folds(name: str, y: Tensor, data: str | os.PathLike[str] | None = None) -> Folds:
    """Read the ten folds of a TU data set in the layout of Errica et al. (2020).

    Each has a test part, and of the rest a part to train on and a part to select models by. They
    are read from ``fair_splits/NAME_splits.json``: a list of ten folds with positions ``test``,
    and ``train`` and ``validation`` in ``model_selection``, from 0. Each fold has every graph once,
    and every graph is in one test part.

    Args:
        name: Name of the data set.
        y: Class of each graph, (graphs,) int64.
        data: Folder of local copies. Defaults to the environment variable ``MPSN_DATA``.

    Example:
        >>> folds = mpsn.datasets.fair_folds("IMDB-BINARY", y)  # doctest: +SKIP
        >>> [len(part[0]) for part in (folds.train, folds.val, folds.test)]  # doctest: +SKIP
        [810, 90, 100]
    """
    path = expect(
        f"fair_splits/{name}_splits.json",
        "the splits of Errica et al. (github.com/diningphil/gnn-comparison, data_splits)",
        data,
    )
    try:
        found = json.loads(path.read_text())
    except (OSError, ValueError, RecursionError) as error:
        raise FileError(f"Expected JSON in {path}, got {error!s:.100}; get a good copy.") from error
    found = found if isinstance(found, list) else []
    every = []
    for fold in found:
        match fold:
            case {
                "test": [*test],
                "model_selection": [{"train": [*train], "validation": [*val]}],
            } if all(type(i) is int for part in (train, val, test) for i in part):
                every.append([_checked(path, part, len(y)) for part in (train, val, test)])
    if len(every) != FOLDS or len(found) != FOLDS:
        raise FileError(
            f"Expected {FOLDS} folds in {path}, each with test, and one model_selection with train "
            f"and validation, lists of positions from 0, got {len(every)} such folds."
        )
    trains, vals, tests = map(list, zip(*every, strict=True))
    rest = [torch.cat(parts) for parts in zip(trains, vals, strict=True)]
    untested = _untested(path, rest, tests, len(y))
    if len(untested):
        raise FileError(
            f"Expected every graph in a test part of {path}, got {len(untested)} in none."
        )
    return Folds(trains, tests, True, untested, vals)


def _positions(path: Path, n: int) -> Tensor:
    try:
        numbers = [int(word) for word in path.read_text().split()]
    except (OSError, ValueError) as error:
        raise FileError(
            f"Expected a position from 0 on each line of {path}, got {error}; get a good copy of "
            f"the folds, or move their folder away to use stratified ones."
        ) from error
    return _checked(path, numbers, n)


def _checked(path: Path, numbers: Sequence[int], n: int) -> Tensor:
    wrong = [i for i in numbers if not 0 <= i < n]
    if wrong or len(set(numbers)) < len(numbers) or not numbers:
        got = f"{wrong[0]}" if wrong else "some twice" if numbers else "none"
        raise FileError(
            f"Expected positions 0..{n - 1} in {path}, each at most once, got {got}; get the folds "
            f"of this data set."
        )
    return torch.tensor(numbers)


def _untested(folder: Path, train: list[Tensor], test: list[Tensor], n: int) -> Tensor:
    """Check that the folds partition the data set; return the graphs in no test fold."""
    tested = torch.zeros(n, dtype=torch.int64)
    for k, (train_k, test_k) in enumerate(zip(train, test, strict=True), 1):
        tested[test_k] += 1
        seen = torch.bincount(torch.cat([train_k, test_k]), minlength=n)
        for problem, at in (("is in both", seen > 1), ("is in neither", seen == 0)):
            if bool(at.any()):
                raise FileError(
                    f"Expected every graph once in fold {k} of {folder}, to train on or to test, "
                    f"got graph {int(at.nonzero()[0])}, which {problem}."
                )
    if bool((tested > 1).any()):
        raise FileError(
            f"Expected every graph in at most one test fold of {folder}, got graph "
            f"{int((tested > 1).nonzero()[0])} in several."
        )
    untested = (tested == 0).nonzero()[:, 0]
    if len(untested) >= FOLDS:
        raise FileError(
            f"Expected the test folds of {folder} to cover all but at most {FOLDS - 1} graphs, got "
            f"{len(untested)} in no test fold."
        )
    return untested


def strata(y: Tensor) -> Tensor:
    """Return classes as they are, and for numbers to regress the tenth that each falls into."""
    return y.argsort().argsort() * 10 // max(len(y), 1) if y.is_floating_point() else y


def stratify(y: Tensor, parts: int, seed: int = 0) -> Tensor:
    """Split samples into parts of equal size with equal shares of each class.

    Takes the class of each sample, (n,) int64, and returns the part of each, (n,) int64.

    Example:
        >>> from mpsn.datasets._folds import stratify
        >>> part = stratify(torch.tensor([0, 0, 0, 0, 1, 1]), 2)
        >>> [part[:4].bincount().tolist(), part[4:].bincount().tolist()]
        [[2, 2], [1, 1]]
    """
    n = len(y)
    if not 1 < parts <= n:
        raise MPSNError(f"Expected from 2 to {n} parts, the number of graphs, got {parts}.")
    order = torch.randperm(n, generator=torch.Generator().manual_seed(seed))
    order = order[y[order].argsort(stable=True)]
    part = torch.empty(n, dtype=torch.int64)
    part[order] = torch.arange(n) % parts
    return part
