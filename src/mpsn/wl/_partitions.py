"""Ordered partitions of graphs with equally many vertices: stable ones, and what marks make."""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from mpsn._rows.rows import Rows
from mpsn.wl import _partitions_cpu as cpu

Partition = NDArray[np.int32]


def graphs_of(edges: Tensor, color: Tensor, first: Tensor) -> cpu.Graphs:
    """Return graphs as the compiled loops take them.

    Args:
        edges: Ends of the edges, (E, 2), numbered through all graphs.
        color: Initial color of each vertex.
        first: Offsets of the graphs, (graphs + 1,).
    """
    total = int(first[-1])
    ends = Rows(torch.cat([edges[:, 0], edges[:, 1]]), total, 1).positions
    near = torch.cat([edges[:, 1], edges[:, 0]])[ends.item]
    near = near - first[torch.repeat_interleave(first.diff())[near]]
    narrow = near.to(torch.int32).numpy(), color.to(torch.int32).numpy()
    return cpu.Graphs(ends.offsets.numpy(), *narrow, first.numpy(), 0)


class Refiner:
    """Refines partitions of graphs of ``n`` vertices, and counts how often."""

    def __init__(self, graphs: cpu.Graphs, n: int) -> None:
        self.graphs, self.refinements = graphs._replace(n=n), 0
        self.work = np.zeros((6, n + 1), np.int32)

    def stable(self, graph: int) -> Partition:
        """Return the stable partition of a graph with its initial colors."""
        n, first = self.graphs.n, self.graphs.first[graph]
        color = self.graphs.color[first : first + n]
        order = np.argsort(color, kind="stable")
        partition = np.zeros((4, n), np.int32)
        partition[cpu.ORDER], partition[cpu.PLACE, order] = order, np.arange(n)
        _, starts, sizes = np.unique(color[order], return_index=True, return_counts=True)
        partition[cpu.START, order] = np.repeat(starts, sizes)
        partition[cpu.SIZE, starts] = sizes
        self.work[cpu.QUEUE, : len(starts)], self.work[cpu.QUEUED, starts] = starts, 1
        cpu.refine(self.graphs, graph, partition, self.work, 0, len(starts))
        self.refinements += 1
        return partition

    def single_out(self, graph: int, vertex: int, partition: Partition) -> Partition:
        """Return the stable partition in which a vertex has a color of its own, too."""
        partition = partition.copy()
        cpu.single_out(self.graphs, graph, vertex, partition, self.work)
        self.refinements += 1
        return partition

    def agree(self, one: int, starts: Partition, two: int, partition: Partition) -> bool:
        """Return whether color refinement cannot distinguish two graphs with partitions.

        Args:
            one: The first graph.
            starts: Row ``START`` of its partition.
            two: The second graph.
            partition: Its partition.
        """
        return cpu.agree(self.graphs, one, starts, two, partition, self.work)
