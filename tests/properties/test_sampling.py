"""Parts of a complex on which a network computes what it computes on the whole."""

import networkx as nx
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mpsn import SubcomplexLoader, clique_complex
from mpsn.complexes import neighborhood, partition
from mpsn.errors import ComplexError
from mpsn.nn import CINConv
from mpsn.testing import complexes

kinds = st.sampled_from(["simplicial", "cell", "cubical"])


@st.composite
def cases(draw):
    K = draw(complexes(max_vertices=9, features=3, oriented=True, kind=draw(kinds)))
    k = draw(st.integers(0, max(K.dim, 0)))
    n = K.count(k)
    rows = draw(st.lists(st.integers(0, n - 1), max_size=3)) if n else []
    return K, k, torch.tensor(rows, dtype=torch.int64)


def run(layers, K):
    h = list(K.x)
    with torch.no_grad():
        for layer in layers:
            h = layer(K, h)
    return h


@settings(max_examples=60)
@given(cases(), st.integers(0, 3))
def test_the_output_on_the_cells_is_that_on_the_whole_complex(case, hops):
    K, k, rows = case
    torch.manual_seed(0)
    layers = [CINConv(3, 3, 3, norm=False).double() for _ in range(hops)]
    part = neighborhood(K, {k: rows}, hops)
    whole, here = run(layers, K), run(layers, part.complex)
    assert torch.equal(part.rows[k][part.seeds[k]], rows)
    if len(rows):
        torch.testing.assert_close(here[k][part.seeds[k]], whole[k][rows])


@settings(max_examples=60)
@given(cases(), st.integers(0, 2))
def test_also_with_messages_through_all_adjacencies(case, hops):
    K, k, rows = case
    torch.manual_seed(0)
    part = neighborhood(K, {k: rows}, hops, lower=True)
    if not len(rows):
        return
    whole, here = [list(K.x), list(part.complex.x)]
    for _ in range(hops):
        whole, here = spread(K, whole), spread(part.complex, here)
    torch.testing.assert_close(here[k][part.seeds[k]], whole[k][rows])


def spread(K, h):
    """Sum over all four adjacencies, with signs."""
    out = [x.clone() for x in h]
    for k in range(1, K.dim + 1):
        B = K.incidence(k)
        out[k] += B.from_faces(h[k - 1], signed=True) + B.lower(h[k], signed=True)
        out[k - 1] += B.from_cofaces(h[k], signed=True) + B.upper(h[k - 1], signed=True)
    return out


def test_a_sample_of_the_cofaces_is_bounded_and_closed():
    K = clique_complex(nx.complete_graph(30), max_dim=2)
    generator = torch.Generator().manual_seed(0)
    part = neighborhood(K, {0: [3]}, 1, fan_out=4, generator=generator)
    assert part.complex.counts == (5, 4)
    part = neighborhood(K, {1: [7, 7]}, 2, fan_out=2, generator=generator)
    assert part.complex.count(2) <= 2 + 2 * 7
    for k in range(1, 3):  # numbers in the whole complex, faces included
        faces = part.rows[k - 1][part.complex.faces(k)]
        assert torch.equal(faces, K.faces(k)[part.rows[k]])


def test_the_loader_covers_all_cells_once():
    K = clique_complex(nx.gnp_random_graph(60, 0.1, seed=1)).replace(y=1)
    for options in ({"batch_size": 7, "shuffle": True}, {"batch_size": 50, "num_workers": 1}):
        loader = SubcomplexLoader(K, range(60), dim=0, hops=1, **options)
        seen = [part.rows[0][part.seeds[0]] for part in loader]
        assert torch.equal(torch.cat(seen).sort().values, torch.arange(60))
        assert len(seen) == len(loader)


def test_parts_of_metis_have_few_neighbors():
    pytest.importorskip("pymetis")
    K = clique_complex(nx.grid_2d_graph(20, 20))
    batches = partition(K, 1, 4)
    assert torch.equal(torch.cat(batches).sort().values, torch.arange(K.count(1)))
    sizes = [part.complex.count(1) for part in SubcomplexLoader(K, batches, 1, 1)]
    assert len(sizes) == 4
    assert sum(sizes) < 1.3 * K.count(1)


def test_cells_that_are_not_there_are_refused():
    K = clique_complex(nx.path_graph(4))
    for cells in ({0: [4]}, {2: [0]}, {1: [-1]}, {0: [[1]]}, {0: [0.5]}, {0: [True]}):
        with pytest.raises(ComplexError, match="Expected"):
            neighborhood(K, cells, 1)
    with pytest.raises(ComplexError, match=r"numbers of 0-cells, got torch.float"):
        SubcomplexLoader(K, [0.5], 0, 1)
    with pytest.raises(ComplexError, match="Expected parts"):
        partition(K, 0, 0)
