"""Folds for cross-validation: read from files, or dealt out class by class."""

import os
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from mpsn.errors import FileError, MPSNError

FOLDS = 10


class Folds(NamedTuple):
    """Ten ways to split a data set.

    Attributes:
        train: For each fold, positions of the graphs to train on, int64.
        test: For each fold, those to test on; no graph is in two of them.
        given: Whether they were read from files.
        untested: Graphs that no fold tests, int64.
    """

    train: list[Tensor]
    test: list[Tensor]
    given: bool
    untested: Tensor


def tu_folds(name: str, y: Tensor, data: str | os.PathLike[str] | None = None) -> Folds:
    """Return the ten folds of a TU data set: those of Xu et al. 2019 where given, else stratified.

    Files ``tu_folds/NAME/train_idx-K.txt`` and ``test_idx-K.txt``, K = 1, ..., 10, with positions
    from 0, are looked for in the folder ``data``, or in the one the environment variable
    ``MPSN_DATA`` names. Folds of equal size leave out what is over: three of the 1113 graphs of
    PROTEINS are in no test fold.

    Args:
        name: Name of the data set.
        y: Class of each graph, (graphs,) int64.
        data: Folder of local copies.

    Example:
        >>> folds = mpsn.datasets.tu_folds("none of that name", torch.arange(40) % 2)
        >>> folds.given, len(folds.test[0]), len(folds.train[0])
        (False, 4, 36)
    """
    where = data or os.environ.get("MPSN_DATA")
    folder = Path(where or "") / "tu_folds" / name
    if not where or not folder.is_dir():
        part = stratify(y, FOLDS)
        test = [(part == k).nonzero()[:, 0] for k in range(FOLDS)]
        train = [(part != k).nonzero()[:, 0] for k in range(FOLDS)]
        return Folds(train, test, False, test[0][:0])
    train, test = (
        [_positions(folder / f"{kind}_idx-{k}.txt", len(y)) for k in range(1, FOLDS + 1)]
        for kind in ("train", "test")
    )
    return Folds(train, test, True, _untested(folder, train, test, len(y)))


def _positions(path: Path, n: int) -> Tensor:
    try:
        numbers = [int(word) for word in path.read_text().split()]
    except (OSError, ValueError) as error:
        raise FileError(
            f"Expected a position from 0 on each line of {path}, got {error}; get a good copy of "
            f"the folds, or move their folder away for stratified ones."
        ) from error
    wrong = [i for i in numbers if not 0 <= i < n]
    if wrong or len(set(numbers)) < len(numbers) or not numbers:
        got = f"{wrong[0]}" if wrong else "some twice" if numbers else "none"
        raise FileError(
            f"Expected positions 0..{n - 1} in {path}, each at most once, got {got}; these folds "
            f"are not those of the data set."
        )
    return torch.tensor(numbers)


def _untested(folder: Path, train: list[Tensor], test: list[Tensor], n: int) -> Tensor:
    """Check that folds part the data set; return what is over."""
    tested = torch.zeros(n, dtype=torch.int64)
    for k, (train_k, test_k) in enumerate(zip(train, test, strict=True), 1):
        tested[test_k] += 1
        seen = torch.bincount(torch.cat([train_k, test_k]), minlength=n)
        for problem, at in (("is in both", seen > 1), ("is in neither", seen == 0)):
            if bool(at.any()):
                raise FileError(
                    f"Expected every graph either in train_idx-{k}.txt or in test_idx-{k}.txt of "
                    f"{folder}, got graph {int(at.nonzero()[0])}, which {problem}."
                )
    if bool((tested > 1).any()):
        raise FileError(
            f"Expected every graph in one test fold of {folder} at most, got graph "
            f"{int((tested > 1).nonzero()[0])} in several."
        )
    untested = (tested == 0).nonzero()[:, 0]
    if len(untested) >= FOLDS:
        raise FileError(
            f"Expected the test folds of {folder} to cover the data set, but for less than "
            f"{FOLDS} graphs that are over, got {len(untested)} in no test fold."
        )
    return untested


def stratify(y: Tensor, parts: int, seed: int = 0) -> Tensor:
    """Deal things out into parts of equal size, each class evenly; return the part of each.

    Args:
        y: Class of each thing, (n,) int64.
        parts: How many parts.
        seed: Of the order in which they are dealt out.

    Example:
        >>> from mpsn.datasets._folds import stratify
        >>> part = stratify(torch.tensor([0, 0, 0, 0, 1, 1]), 2)
        >>> [part[:4].bincount().tolist(), part[4:].bincount().tolist()]
        [[2, 2], [1, 1]]
    """
    n = len(y)
    if not 1 < parts <= n:
        raise MPSNError(f"Expected from 2 to {n} parts, as many as there are graphs, got {parts}.")
    order = torch.randperm(n, generator=torch.Generator().manual_seed(seed))
    order = order[y[order].argsort(stable=True)]
    part = torch.empty(n, dtype=torch.int64)
    part[order] = torch.arange(n) % parts
    return part


def hold_out(y: Tensor, train: Tensor, parts: int = 10, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Take a stratified part, one of ``parts``, out of what there is to train on.

    Args:
        y: Class of each graph, (graphs,) int64.
        train: Positions of the graphs to train on.
        parts: One part in how many.
        seed: Of the choice.

    Returns:
        Positions that stay, and positions that are taken out.

    Example:
        >>> from mpsn.datasets._folds import hold_out
        >>> stay, out = hold_out(torch.arange(40) % 2, torch.arange(20))
        >>> len(stay), len(out)
        (18, 2)
    """
    out = stratify(y[train], parts, seed) == 0
    return train[~out], train[out]
