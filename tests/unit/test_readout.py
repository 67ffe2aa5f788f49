"""The readout is its equation (section 4 and appendix F of the paper)."""

import networkx as nx
import pytest
import torch

from mpsn import clique_complex, collate
from mpsn.errors import LayerError
from mpsn.nn import ComplexReadout


def test_the_readout_is_its_equation():
    """It sums each dimension, transforms, sums over dimensions and transforms, per complex."""
    parts = [clique_complex(nx.complete_graph(n)) for n in (2, 4, 3)]
    K = collate(parts)
    xs = [torch.randn(n, 5) for n in K.counts]
    readout = ComplexReadout(5, 7, 2, dims=(0, 1, 2), act="elu", final_act=True)
    expected, start = [], [0, 0, 0]
    for part in parts:
        total = torch.zeros(7)
        for p in range(3):
            end = start[p] + part.count(p)
            h = xs[p][start[p] : end].sum(dim=0)
            total += torch.nn.functional.elu(readout.dense[p](h))
            start[p] = end
        expected.append(torch.nn.functional.elu(readout.last(total)))
    torch.testing.assert_close(readout(K, xs), torch.stack(expected))


def test_the_readout_sees_multisets_only():
    K = clique_complex(nx.cycle_graph(5))
    xs = [torch.randn(n, 5) for n in K.counts]
    readout = ComplexReadout(5, 7, 2, dims=(0, 1))
    shuffled = [x[torch.randperm(len(x))] for x in xs]
    torch.testing.assert_close(readout(K, shuffled), readout(K, xs))


@pytest.mark.parametrize("dims", [(), (0, 2, 0)])
def test_a_readout_reads_each_dimension_once(dims):
    with pytest.raises(LayerError, match="Expected at least one dimension to read, each once"):
        ComplexReadout(5, 7, 2, dims=dims)
