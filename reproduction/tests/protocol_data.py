"""The data of every experiment that trains or fits, in small, and what spoils its test part."""

from dataclasses import replace
from functools import cache
from typing import Any

import networkx as nx
import numpy as np
import torch

import complex_files as files
from mpsn import ComplexDataset, clique_complexes, collate
from mpsn.datasets import (
    TUDataset,
    synthetic_flows,
)
from mpsn_reproduction.experiment import Job
from mpsn_reproduction.papers import coauthor as _coauthor
from mpsn_reproduction.papers import shapes as _shapes
from mpsn_reproduction.papers import surfaces as _surfaces
from mpsn_reproduction.papers.coauthor_data import Coauthors
from mpsn_reproduction.papers.coauthor_data import from_arrays as coauthors
from mpsn_reproduction.papers.folds import Folds
from mpsn_reproduction.papers.graph_data import GraphData
from mpsn_reproduction.papers.next_data import from_arrays as next_nodes
from mpsn_reproduction.papers.surface_search import triangulated_surfaces
from mpsn_reproduction.papers.temporal_data import TemporalSimplices
from protocol import mask, noisy, other_labels, spoiled

# Graphs with classes ---------------------------------------------------------------------------


@cache
def graphs(number: int = 40) -> TUDataset:
    """Return random graphs with two classes and noise for features."""
    made = [nx.gnp_random_graph(7 + i % 4, 0.4 + 0.1 * (i % 3), seed=i) for i in range(number)]
    union = clique_complexes(made, 2).union
    generator = torch.Generator().manual_seed(0)
    x = [torch.randn(n, 3, generator=generator) for n in union.counts]
    y = torch.arange(number) % 2
    return TUDataset("made", ComplexDataset(union.replace(x=x)), y, 2, 3, labeled=True)


def folds(validation: bool = False) -> tuple[TUDataset, Folds]:
    """Return the graphs and ten folds, which have parts for validation or not."""
    data = graphs()
    test = list(torch.arange(len(data)).split(4))
    rest = [torch.cat(test[:k] + test[k + 1 :]) for k in range(10)]
    splits = [
        {"train": rows[6:], "val": rows[:6], "test": part}
        if validation
        else {"train": rows, "test": part}
        for rows, part in zip(rest, test, strict=True)
    ]
    return data, Folds(splits, True, test[0][:0])


def spoil_fold(data: tuple[TUDataset, Folds], job: Job) -> tuple[TUDataset, Folds]:
    """Spoil the test part of the first fold."""
    sets, parts = data
    which = mask(len(sets), parts.splits[0]["test"])
    complexes = spoiled(sets.complexes, which)
    return replace(sets, complexes=complexes, y=other_labels(sets.y, which)), parts


# Graphs with a fixed split ---------------------------------------------------------------------


@cache
def categories(targets: int, molecules: bool = False) -> GraphData:
    """Return complexes with categories for features, in three parts."""
    data = graphs(36)
    generator = torch.Generator().manual_seed(1)
    union = data.complexes.union
    x = [torch.randint(4, (n, 2), generator=generator) for n in union.counts]
    y = torch.randint(2, (36, targets), generator=generator).float()
    smiles = [f"{'C' * (1 + i % 7)}{'O' * (i % 2)}" for i in range(36)] if molecules else ()
    return GraphData(ComplexDataset(union.replace(x=x)), y, torch.arange(36) // 2 % 3, smiles)


def spoil_part(data: GraphData, job: Job) -> GraphData:
    """Spoil the test part."""
    which = data.part == 2
    y = other_labels(data.y.long(), which).float()
    smiles = ["N" if gone else one for one, gone in zip(data.molecules, which, strict=False)]
    return data._replace(complexes=spoiled(data.complexes, which), y=y, molecules=smiles)


# Flows and paths -------------------------------------------------------------------------------


@cache
def flows() -> Any:
    """Return flows on a small complex."""
    return synthetic_flows(points=100, train=16, test=8)


def spoil_flows(data: Any, job: Job) -> Any:
    """Spoil the test flows."""
    test = ~data.train
    x, signs = noisy(data.x.T, test).T, data.signs.clone()
    signs[:, test] *= -1
    return replace(data, x=x, y=other_labels(data.y, test), signs=signs)


@cache
def paths() -> Any:
    """Return paths on a square."""
    return next_nodes(files.next_arrays(side=4, number=20)[0])


def spoil_paths(data: Any, job: Job) -> Any:
    """Spoil the test paths of the first split."""
    test = data.test[0]

    def turned(steps: Any) -> Any:
        other = torch.where(steps.candidates[:, 1] >= 0, 1 - steps.y.clamp(max=1), steps.y)
        return steps._replace(x=noisy(steps.x.T, test).T, y=torch.where(test, other, steps.y))

    return replace(data, forward=turned(data.forward), reversed=turned(data.reversed))


# Complexes -------------------------------------------------------------------------------------


@cache
def citations() -> Coauthors:
    """Return citations of the simplices of a complex."""
    return coauthors(files.coauthor_arrays(files.some_papers(number=15, authors=12, most=3)))


def spoil_citations(data: Coauthors, job: Job) -> Coauthors:
    """Replace the citations that are to be found."""
    K, masks = data.complex, _coauthor.hidden(data, job.data, job.seeds[0])
    return data._replace(
        complex=K.replace(x=[noisy(x, m) for x, m in zip(K.x, masks, strict=True)])
    )


@cache
def meetings() -> TemporalSimplices:
    """Return meetings over time."""
    simplices, times = files.meetings()
    ends = np.cumsum([0, *map(len, simplices)])
    return TemporalSimplices(np.concatenate(simplices) - 1, ends, np.array(times))


def spoil_meetings(data: TemporalSimplices, job: Job) -> TemporalSimplices:
    """Let others meet in the last fifth of the time, which is tested."""
    start = data.ptr[round(0.8 * len(data.times))]
    index = data.index.copy()
    index[start:] = 29 - index[start:]
    return replace(data, index=index)


@cache
def surfaces() -> Any:
    """Return the triangulated surfaces with up to seven vertices."""
    return ComplexDataset(collate([triangulated_surfaces(n).union for n in (4, 5, 6, 7)]))


def spoil_surfaces(data: Any, job: Job) -> Any:
    """Give the test surfaces other labels."""
    test = _surfaces.split(_surfaces.labels(data)[:, 0], job.seeds[0])[2]
    y = data.y.clone()
    y[test] = y[test].roll(1, 0) if len(test) > 1 else 0
    return ComplexDataset(data.union.replace(y=y))


@cache
def clouds() -> Any:
    """Return complexes of point clouds."""
    return _shapes.read((5, 12, 0.05, 1.3), None)


def spoil_clouds(data: Any, job: Job) -> Any:
    """Spoil the test clouds."""
    (split,) = _shapes.splits(data.y, job.seeds)
    which = mask(len(data), split["test"])
    return spoiled(data, which, other_labels(data.y, which))
