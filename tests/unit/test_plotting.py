"""Pictures are drawn where they are asked for, with what is in the complex."""

import networkx as nx
import torch
from matplotlib import pyplot as plt

from mpsn import SimplicialComplex, clique_complex
from mpsn.plotting import draw_complex


def test_draws_every_simplex_into_the_given_axes():
    K = clique_complex(nx.karate_club_graph())
    _, ax = plt.subplots()
    assert draw_complex(K, ax) is ax
    triangles, edges, vertices = ax.collections
    assert len(triangles.get_paths()) == 45
    assert len(edges.get_segments()) == 78
    assert vertices.get_offsets().shape == (34, 2)
    plt.close("all")


def test_positions_and_colors():
    K = clique_complex(nx.complete_graph(3))
    points = torch.tensor([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    ax = draw_complex(K, positions=points, colors=[torch.tensor([0, 1, 1]), None])
    vertices = ax.collections[2]
    assert vertices.get_offsets().tolist() == points.tolist()
    faces = vertices.get_facecolors()
    assert (faces[1] == faces[2]).all()
    assert (faces[0] != faces[1]).any()
    plt.close("all")


def test_draws_the_empty_complex():
    assert draw_complex(SimplicialComplex()).collections[2].get_offsets().shape == (0, 2)
    plt.close("all")
