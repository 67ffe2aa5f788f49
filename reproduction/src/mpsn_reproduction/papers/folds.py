"""The ten folds of graph classification: read from files, or stratified."""

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from mpsn.errors import FileError, MPSNError
from mpsn_reproduction.papers.sources import expect

FOLDS = 10


class Folds(NamedTuple):
    """Ten splits of a data set.

    Attributes:
        splits: For each fold, the positions of the graphs in each part, int64, as
            :meth:`mpsn.training.Trainer.fit` takes them: ``train``, ``test``, and ``val`` if there
            is a part to select models by. The test parts are disjoint.
        from_files: Whether the folds were read from files.
        untested: Positions of the graphs in no test part, int64.
    """

    splits: list[dict[str, Tensor]]
    from_files: bool
    untested: Tensor


def tu_folds(name: str, y: Tensor, data: Path | None = None) -> Folds:
    """Return the ten folds of a TU data set: those of Xu et al. (2019) if found, else stratified.

    They are read from ``tu_folds/NAME/train_idx-K.txt`` and ``test_idx-K.txt``, K = 1, ..., 10,
    which hold positions from 0. Their test folds are of equal size, so that a few graphs may be in
    none: three of the 1113 graphs of PROTEINS.

    Args:
        name: Name of the data set.
        y: Class of each graph, (graphs,) int64, or a number to regress.
        data: Folder of local copies. Defaults to the environment variable ``MPSN_DATA``.

    Example:
        >>> from mpsn_reproduction.papers.folds import tu_folds
        >>> folds = tu_folds("a name without files", torch.arange(40) % 2)
        >>> folds.from_files, len(folds.splits[0]["test"]), len(folds.splits[0]["train"])
        (False, 4, 36)
    """
    root = data or os.environ.get("MPSN_DATA")
    folder = Path(root or "") / "tu_folds" / name
    if not root or not folder.is_dir():
        part = stratify(strata(y), FOLDS)
        splits = [
            {"train": (part != k).nonzero()[:, 0], "test": (part == k).nonzero()[:, 0]}
            for k in range(FOLDS)
        ]
        return Folds(splits, False, torch.zeros(0, dtype=torch.int64))
    read = [
        {part: _positions(folder / f"{part}_idx-{k}.txt") for part in ("train", "test")}
        for k in range(1, FOLDS + 1)
    ]
    return _checked(folder, read, len(y))


def fair_folds(name: str, y: Tensor, data: Path | None = None) -> Folds:
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
        >>> folds = fair_folds("IMDB-BINARY", y)  # doctest: +SKIP
        >>> {part: len(rows) for part, rows in folds.splits[0].items()}  # doctest: +SKIP
        {'train': 810, 'val': 90, 'test': 100}
    """
    path = expect(
        f"fair_splits/{name}_splits.json",
        "the splits of Errica et al. (github.com/diningphil/gnn-comparison, data_splits)",
        data,
    )
    try:
        content = json.loads(path.read_text())
    except (OSError, ValueError, RecursionError) as error:
        raise FileError(f"Expected JSON in {path}, got {error!s:.100}; get a good copy.") from error
    content = content if isinstance(content, list) else []
    read = []
    for fold in content:
        match fold:
            case {
                "test": [*test],
                "model_selection": [{"train": [*train], "validation": [*val]}],
            } if all(type(i) is int for i in (*train, *val, *test)):
                read.append({"train": train, "val": val, "test": test})
    if len(read) != FOLDS or len(content) != FOLDS:
        raise FileError(
            f"Expected {FOLDS} folds in {path}, each with test, and one model_selection with train "
            f"and validation, lists of positions from 0, got {len(read)} such folds."
        )
    folds = _checked(path, read, len(y))
    if len(folds.untested):
        raise FileError(
            f"Expected every graph in a test part of {path}, got {len(folds.untested)} in none."
        )
    return folds


def _positions(path: Path) -> list[int]:
    try:
        return [int(word) for word in path.read_text().split()]
    except (OSError, ValueError) as error:
        raise FileError(
            f"Expected a position from 0 on each line of {path}, got {error}; get a good copy of "
            f"the folds, or move their folder away to use stratified ones."
        ) from error


def _checked(path: Path, read: Sequence[Mapping[str, Sequence[int]]], n: int) -> Folds:
    """Check that each fold has every graph once, and that nearly all are in one test part."""
    tested = torch.zeros(n, dtype=torch.int64)
    splits = []
    for number, parts in enumerate(read, start=1):
        positions = [i for part in parts.values() for i in part]
        wrong = [i for i in positions if not 0 <= i < n]
        if wrong or not all(parts.values()):
            raise FileError(
                f"Expected positions 0..{n - 1} in each part of fold {number} of {path}, got "
                f"{wrong[0] if wrong else 'none'}; get the folds of this data set."
            )
        times = torch.tensor(positions).bincount(minlength=n)
        if (graph := int((times != 1).int().argmax())) or times[0] != 1:
            raise FileError(
                f"Expected every graph once in fold {number} of {path}, to train on or to test, "
                f"got graph {graph}, which is in {'several parts' if times[graph] else 'none'}."
            )
        splits.append({part: torch.tensor(rows) for part, rows in parts.items()})
        tested[splits[-1]["test"]] += 1
    untested = (tested == 0).nonzero()[:, 0]
    if tested.max() > 1 or len(untested) >= FOLDS:
        problem = f"{len(untested)} in none"
        if tested.max() > 1:
            problem = f"graph {int(tested.argmax())} in several"
        raise FileError(
            f"Expected every graph in at most one test fold of {path}, and all but at most "
            f"{FOLDS - 1} in one, got {problem}."
        )
    return Folds(splits, True, untested)


def strata(y: Tensor) -> Tensor:
    """Return classes as they are, and for numbers to regress the tenth that each falls into."""
    return y.argsort().argsort() * 10 // max(len(y), 1) if y.is_floating_point() else y


def stratify(y: Tensor, parts: int, seed: int = 0) -> Tensor:
    """Split samples into parts of equal size with equal shares of each class.

    Args:
        y: Class of each sample, (n,) int64.
        parts: Number of parts.
        seed: Of the random order in each class.

    Returns:
        The part of each sample, (n,) int64.

    Example:
        >>> from mpsn_reproduction.papers.folds import stratify
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
