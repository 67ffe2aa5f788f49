"""Counting cycles: how well networks predict the number of subgraphs of a kind."""

from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass
from math import comb
from pathlib import Path
from typing import Any, Literal

import networkx as nx
import torch

from mpsn.complexes import ComplexDataset
from mpsn.convert import as_graph
from mpsn.datasets import read_graphs
from mpsn.lifting import Lift
from mpsn_reproduction.experiment import Job
from mpsn_reproduction.papers.graph_data import PARTS, GraphData, listed_parts
from mpsn_reproduction.papers.graph_level import GraphLevelConfig, experiment
from mpsn_reproduction.papers.sources import expect

LENGTHS = (3, 4, 5, 6)
NAMES = (*(f"{n}-cycles" for n in LENGTHS), "chordal 4-cycles")
NOTES = [
    "Mean absolute errors of standardized counts of subgraphs, not only of chordless cycles; one "
    "network predicts all five. Published, from networks for one count each: MPNN .358 .208 .186 "
    ".145 .260; subgraph GNN .010 .020 .025 .046 .007; Local 2-GNN .009 .011 .017 .034 .007; Local "
    "2-FGNN .003 .004 .010 .020 .003.",
]


@dataclass(frozen=True)
class CountingConfig(GraphLevelConfig):
    """A network, and how graphs become complexes."""

    lift: Literal["cliques", "rings"] = "rings"
    """How graphs become complexes: with triangles, or rings of up to six vertices, as 2-cells."""


def counts(graph: "nx.Graph[Any]") -> list[int]:
    """Count the cycles of length 3 to 6 in a graph, and the 4-cycles together with a chord.

    Example:
        >>> from mpsn_reproduction.papers.counting import counts
        >>> counts(nx.complete_graph(4))
        [4, 3, 0, 0, 6]
    """
    lengths = Counter(map(len, nx.simple_cycles(graph, max(LENGTHS))))
    chordal = sum(comb(len(set(graph[u]) & set(graph[v])), 2) for u, v in graph.edges)
    return [*(lengths[n] for n in LENGTHS), chordal]


def read(lift: Literal["cliques", "rings"], folder: Path | None) -> GraphData:
    """Read the graphs and their split, lift them, and count."""
    source = "github.com/leichen2018/GNN-Substructure-Counting, with the split beside it,"
    path = expect("counting/regular5000.g6", source, folder)
    graphs = [as_graph(graph) for graph in read_graphs(path)]
    parts = listed_parts(path, graphs, "regular5000")
    part = torch.tensor([PARTS.index(name) for name in parts])
    y = torch.tensor([counts(nx.Graph(g.edge_index.T.tolist())) for g in graphs]).float()
    inner = y[part == 0]
    y = (y - inner.mean(0)) / inner.std(0)
    union = Lift.of(lift, max_dim=2, max_ring=max(LENGTHS)).many(graphs).union
    size = union.incidence(2).offsets.diff()[:, None]
    x = [torch.zeros(n, 1, dtype=torch.int64) for n in union.counts[:2]]
    return GraphData(ComplexDataset(union.replace(x=[*x, size])), y, part)


def source(job: Job) -> Hashable:
    """Return the lift."""
    lift: Hashable = job.config.lift
    return lift


EXPERIMENT = experiment(
    "counting",
    read,
    "mae",
    "Counting",
    NOTES,
    names=NAMES,
    config=CountingConfig,
    source=source,
)
