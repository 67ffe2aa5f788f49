"""networkx and xgi as oracles: cliques, rings, graph Laplacians, boundary matrices."""

import networkx as nx
import numpy as np
import pytest
import torch
import xgi

from mpsn import SimplicialComplex, clique_complex, ring_complex


@pytest.mark.parametrize("seed", range(5))
def test_all_cliques_of_networkx(seed):
    graph = nx.gnp_random_graph(18, 0.5, seed=seed)
    cliques = sorted(tuple(sorted(c)) for c in nx.enumerate_all_cliques(graph))
    assert sorted(map(tuple, clique_complex(graph, None).to_simplices())) == cliques


@pytest.mark.parametrize("longest", [3, 5, 12])
@pytest.mark.parametrize("seed", range(5))
def test_all_chordless_cycles_of_networkx(seed, longest):
    graph = nx.gnp_random_graph(16, 0.25 + 0.1 * seed, seed=seed)
    expected = sorted(sorted(c) for c in nx.chordless_cycles(graph, length_bound=longest))
    vertex, ptr = ring_complex(graph, longest).cells(2)
    assert sorted(part.tolist() for part in vertex.tensor_split(ptr[1:-1])) == expected


def test_graph_laplacian_and_incidence():
    graph = nx.gnp_random_graph(20, 0.3, seed=3)
    K = SimplicialComplex.from_graph(graph)
    L = K.hodge_laplacian(0, dtype=torch.float64).to_dense().numpy()
    np.testing.assert_array_equal(L, nx.laplacian_matrix(graph).toarray())
    B = nx.incidence_matrix(graph, edgelist=K.simplices(1).tolist(), oriented=True).toarray()
    np.testing.assert_array_equal(K.boundary_matrix(1).to_dense().numpy(), B)
    assert K.betti_numbers()[0] == nx.number_connected_components(graph)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_boundary_and_laplacian_of_xgi(k):
    graph = nx.gnp_random_graph(9, 0.7, seed=4)
    K = clique_complex(graph, max_dim=3)
    S = xgi.SimplicialComplex([s for s in K.to_simplices() if len(s) > 1])
    S.add_nodes_from(range(9))
    B, rows, columns = xgi.boundary_matrix(S, order=k, index=True)
    members = S.edges.members(dtype=dict)

    def at(index, d):
        ours = [frozenset(s) for s in K.simplices(d).tolist()]
        theirs = [frozenset({name}) if d == 0 else members[name] for name in index.values()]
        return [theirs.index(s) for s in ours]

    theirs = B[np.ix_(at(rows, k - 1), at(columns, k))]
    np.testing.assert_array_equal(np.abs(theirs), K.boundary_matrix(k, signed=False).to_dense())
    np.testing.assert_array_equal(theirs, K.boundary_matrix(k).to_dense())
