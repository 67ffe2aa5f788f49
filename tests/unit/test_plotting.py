"""Pictures are drawn where they are asked for, with what is in the complex."""

import networkx as nx
import pytest
import torch
from matplotlib import pyplot as plt

from mpsn import CellComplex, SimplicialComplex, clique_complex, clique_complexes
from mpsn.errors import ComplexError
from mpsn.plotting import draw_complex, draw_stable_colors


def test_draws_every_simplex_into_the_given_axes():
    K = clique_complex(nx.karate_club_graph())
    _, ax = plt.subplots()
    assert draw_complex(K, ax) is ax
    triangles, edges, vertices = ax.collections
    assert len(triangles.get_paths()) == 45
    assert len(edges.get_segments()) == 78
    assert vertices.get_offsets().shape == (34, 2)


def test_positions_and_colors():
    K = clique_complex(nx.complete_graph(3))
    points = torch.tensor([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    ax = draw_complex(K, positions=points, colors=[torch.tensor([0, 1, 1]), None])
    vertices = ax.collections[2]
    assert vertices.get_offsets().tolist() == points.tolist()
    faces = vertices.get_facecolors()
    assert (faces[1] == faces[2]).all()
    assert (faces[0] != faces[1]).any()


def test_positions_as_networkx_gives_them():
    graph = nx.path_graph(3)
    layout = nx.circular_layout([2, 0, 1])
    ax = draw_complex(clique_complex(graph), positions=layout, colors=[[0, 1, 2]])
    points = ax.collections[2].get_offsets()
    assert points.tolist() == [layout[i].tolist() for i in range(3)]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"positions": torch.zeros(2, 3)}, r"positions of shape \(3, 2\), .*, got \(2, 3\)"),
        ({"positions": torch.zeros(4, 2)}, r"got \(4, 2\)"),
        ({"positions": [0.0] * 6}, r"got \(6,\)"),
        ({"positions": [[0.0], [0.0, 1.0], [1.0, 1.0]]}, r"positions of shape \(3, 2\)"),
        ({"positions": {0: (0, 0), 2: (1, 1)}}, r"vertices 0, ..., 2, got none of 1"),
        ({"positions": {i: (0, 0, i) for i in range(3)}}, r"got \(3, 3\)"),
        ({"colors": [torch.tensor([0, 1])]}, r"colors\[0\] to be 3 integers, .* shape \(2,\)"),
        ({"colors": [None, torch.zeros(3, 1)]}, r"colors\[1\] to be 3 integers"),
        ({"colors": [None, None, [0.5]]}, r"colors\[2\] to be 1 integers.* of float64"),
        ({"colors": torch.tensor([0, 1, 1])}, r"colors\[0\] .* got shape \(\)"),
    ],
)
def test_bad_positions_and_colors(arguments, message):
    with pytest.raises(ComplexError, match=message):
        draw_complex(clique_complex(nx.complete_graph(3)), **arguments)
    assert not plt.get_fignums()


def test_draws_the_empty_complex():
    assert draw_complex(SimplicialComplex()).collections[2].get_offsets().shape == (0, 2)


def test_stable_colors_are_shared_between_complexes():
    triangle, path = nx.cycle_graph(3), nx.path_graph(3)
    axes = draw_stable_colors(list(clique_complexes([triangle, path, path])))
    edges = [ax.collections[1].get_colors() for ax in axes]
    assert len(axes) == 3
    assert (edges[1] == edges[2]).all()
    assert (edges[0][:2] != edges[1]).any()


def test_components_do_not_overlap():
    ax = draw_complex(clique_complex(nx.disjoint_union(nx.cycle_graph(3), nx.cycle_graph(3))))
    points = ax.collections[2].get_offsets()
    one, two = points[:3], points[3:]
    apart = (one.max(0) < two.min(0)) | (two.max(0) < one.min(0))
    assert apart.any()


def test_draws_rings_and_squares_as_polygons():
    edges = [[0, 2], [2, 1], [1, 3], [3, 0]]  # 0, 2, 1, 3 in this order around the square
    K = CellComplex.from_boundaries(4, [edges, [[2, 0, 1, 3]]])
    points = torch.tensor([[0.0, 0.0], [1.0, 1.0], [1.0, 0.0], [0.0, 1.0]])
    polygons, lines, _ = draw_complex(K, positions=points, values=[None, None, [1.0]]).collections
    (path,) = polygons.get_paths()
    corners = path.vertices[:4]
    steps = abs(corners - torch.tensor(corners).roll(1, 0).numpy()).sum(axis=1)
    assert steps.tolist() == [1.0] * 4  # along the sides, never across
    assert len(lines.get_segments()) == 4
