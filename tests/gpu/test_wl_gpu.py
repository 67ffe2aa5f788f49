"""Colors are the same numbers on CPU and GPU."""

import networkx as nx
import pytest
import torch

from mpsn import clique_complexes
from mpsn.wl import Palette, kfwl, kwl, swl, wl

pytestmark = pytest.mark.gpu


def pairs(device):
    graphs = [nx.gnp_random_graph(12, 0.5, seed=seed) for seed in range(8)]
    edges = [torch.tensor(list(graph.edges), device=device).T for graph in graphs]
    return [(edge_index, 12) for edge_index in edges]


def assert_same(on_cpu, on_gpu):
    assert on_gpu.colors[-1][0].device.type == "cuda"
    assert on_gpu.histograms == on_cpu.histograms
    for a, b in zip(on_cpu.colors, on_gpu.colors, strict=True):
        assert all(torch.equal(one, two.cpu()) for one, two in zip(a, b, strict=True))
    assert torch.equal(on_cpu.classes(), on_gpu.classes().cpu())


@pytest.mark.parametrize(
    "test", [wl, kwl, kfwl, lambda g, **kw: kwl(g, 3, **kw), lambda g, **kw: kfwl(g, 3, **kw)]
)
def test_graphs(test):
    assert_same(test(pairs("cpu")), test(pairs("cuda")))
    assert_same(test(pairs("cpu"), palette=Palette()), test(pairs("cuda"), palette=Palette()))


@pytest.mark.parametrize("chosen", [("boundary", "upper"), ("coboundary", "lower")])
def test_complexes(chosen):
    Ks = clique_complexes(pairs("cpu"), None)
    assert_same(swl(Ks, chosen), swl(Ks.to("cuda"), chosen))
    assert_same(swl(Ks, palette=Palette()), swl(Ks.to("cuda"), palette=Palette()))


def test_initial_colors():
    colors = [torch.arange(12) % 3] * 8
    there = [color.cuda() for color in colors]
    assert_same(wl(pairs("cpu"), colors), wl(pairs("cuda"), there))
    Ks = clique_complexes(pairs("cpu"))
    Ks = [K.replace(x=[torch.arange(12.0)[:, None] % 3]) for K in Ks]
    assert_same(swl(Ks, initial="features"), swl([K.cuda() for K in Ks], initial="features"))
