"""Lifting of rings against networkx; messages over ragged incidences against rectangular ones."""

import csv
import os
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
import torch
from side_by_side import best

from mpsn import ring_complex, ring_complexes
from mpsn.complexes import Incidence


def molecules():
    """The 12 000 molecules of ZINC as (edge_index, num_nodes), atoms and bonds only."""
    Chem = pytest.importorskip("rdkit.Chem")
    file = Path(os.environ.get("MPSN_DATA", "data")) / "zinc" / "zinc12k.csv"
    if not file.exists():
        pytest.skip(f"no {file}; set MPSN_DATA")
    graphs = []
    with file.open() as rows:
        for row in csv.DictReader(rows):
            mol = Chem.MolFromSmiles(row["smiles"])
            ends = [(bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()) for bond in mol.GetBonds()]
            edges = torch.tensor(ends, dtype=torch.int64).reshape(-1, 2).T.contiguous()
            graphs.append((edges, mol.GetNumAtoms()))
    return graphs


def gnp(count, n=20, p=0.2, seed=0):
    rng = np.random.default_rng(seed)
    pairs = np.stack(np.triu_indices(n, 1))
    kept = [pairs[:, rng.random(pairs.shape[1]) < p] for _ in range(count)]
    return [(torch.from_numpy(edges), n) for edges in kept]


def together(graphs):
    """One graph with the given ones as components, as in a PyG batch."""
    starts = np.cumsum([0, *(n for _, n in graphs)])
    edges = [edges + int(start) for (edges, _), start in zip(graphs, starts, strict=False)]
    return torch.cat(edges, dim=1), int(starts[-1])


@pytest.mark.parametrize(
    ("graphs", "longest", "goals"),
    [(molecules, 18, (50, 100)), (lambda: gnp(1000), 6, (50, 50))],
    ids=["molecules", "random"],
)
@pytest.mark.parametrize("batched", [False, True], ids=["list", "batch"])
def test_rings_against_networkx(faster, graphs, longest, goals, batched):
    """From edges to the complexes; networkx gets its own graphs ready-made."""
    items = graphs()
    theirs = []
    for edges, n in items:
        graph = nx.empty_graph(n)
        graph.add_edges_from(edges.T.tolist())
        theirs.append(graph)
    union = together(items)

    def networkx():
        return sum(1 for graph in theirs for _ in nx.chordless_cycles(graph, length_bound=longest))

    def ours():
        return ring_complex(union, longest) if batched else ring_complexes(items, longest).union

    assert ours().count(2) == networkx()
    faster(ours, {"networkx": networkx}, goal=goals[batched], rounds=9, others_rounds=1)


SUMS = ["from_faces", "from_cofaces", "upper", "lower", "upper_messages", "lower_messages"]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", SUMS)
def test_ragged_incidences_cost_at_most_2_5_times_rectangular_ones(benchmark, name, dtype):
    """As many entries, cells and faces: 20 000 rings of 3 to 9 edges, or of 6 each; width 64."""
    n, count, gen = 20_000, 60_000, torch.Generator().manual_seed(0)
    sizes = torch.randint(3, 10, (n,), generator=gen)
    sizes[: n // 2] = 12 - sizes[n // 2 :]  # 6 on average
    ptr = torch.nn.functional.pad(sizes.cumsum(0), (1, 0))
    face = torch.randint(count, (6 * n,), generator=gen)
    sign = torch.ones(6 * n, dtype=torch.int8)
    pair = [Incidence(face, count, 6), Incidence(face, count, None, ptr, sign)]
    rows = {"from_faces": count, "upper": count, "from_cofaces": n, "lower": n}.get(name, 6 * n)
    h = torch.randn(rows, 64, generator=gen, dtype=dtype, requires_grad=True)

    def step(B):
        getattr(B, name)(h).sum().backward()

    rectangular, ragged = (best(lambda B=B: step(B), 5) for B in pair)
    print(f"\n{name}, {dtype}: ragged {ragged / rectangular:.2f} x rectangular (goal 2.5)", end="")
    benchmark.extra_info["ratio"] = ragged / rectangular
    benchmark.pedantic(lambda: None)
    assert ragged <= 2.5 * rectangular
