"""The page for a browser: what is in it, and what a real browser makes of it."""

import json
import re
import time
from functools import partial

import networkx as nx
import numpy as np
import pytest
import torch

from browser import CHROMIUM, Browser
from mpsn import SimplicialComplex, clique_complex, ring_complex
from mpsn.errors import ComplexError, TooLargeError
from mpsn.plotting import explorer
from mpsn.wl import swl

IN_BROWSER = pytest.mark.skipif(CHROMIUM is None, reason="no chromium")


def read(page):
    """Return the data of a page."""
    return json.loads(re.search(r'id="data">(.*?)</script>', page, re.S)[1])


@pytest.mark.parametrize("lift", [clique_complex, partial(ring_complex, max_ring=6)])
def test_colors_are_those_of_swl_and_change_only_where_a_color_splits(lift):
    K = lift(nx.karate_club_graph())
    refined, turns = swl(K), read(explorer(K))["colors"]
    for turn, colors in enumerate(refined.colors):
        for k, row in enumerate(colors):
            shown = [
                [c for t, c in zip(s[::2], s[1::2], strict=True) if t <= turn][-1] for s in turns[k]
            ]
            pairs = set(zip(row.tolist(), shown, strict=True))
            assert len(pairs) == len({a for a, _ in pairs}) == len({b for _, b in pairs})
    assert all(len(rows[0]) == 2 for rows in turns)  # the first cell never changes


def test_flows_are_harmonic_along_the_edges_as_drawn():
    K = clique_complex(nx.karate_club_graph()).flip({1: torch.arange(78) % 2 == 0})
    data = read(explorer(K))
    B = np.zeros((34, 78))
    for j, (tail, head) in enumerate(data["cells"][1]):
        B[tail, j], B[head, j] = -1, 1
    flows = np.array(data["flows"])
    assert flows.shape == (9, 78)
    assert np.linalg.matrix_rank(flows) == 9
    assert abs(flows @ B.T).max() < 1e-9  # what flows in flows out
    sides = {tuple(ends): j for j, ends in enumerate(data["cells"][1])}
    for triangle in data["cells"][2]:
        around = sum(
            flows[:, sides[a, b]] if (a, b) in sides else -flows[:, sides[b, a]]
            for a, b in zip(triangle, [*triangle[1:], triangle[0]], strict=True)
        )
        assert abs(around).max() < 1e-9  # and nothing turns around a triangle


def test_names_features_and_notes_cannot_break_the_page():
    graph = nx.Graph([("</script><b>", "ä")])
    K = clique_complex(graph).replace(x=[torch.arange(40.0).reshape(2, 20), None])
    data = read(explorer(K, title="<i>", notes=[["age 3", ""]]))
    assert data["title"] == "<i>"
    assert data["texts"][0][0].startswith("vertex </script><b>\nage 3\nfeatures 0 1 2")
    assert data["texts"][0][0].endswith("11 ...")
    assert data["texts"][1] == ["edge </script><b>, ä"]


def test_odd_complexes():
    for K in (SimplicialComplex(), SimplicialComplex.from_simplices([[0]])):
        assert len(read(explorer(K))["positions"][0]) == K.num_nodes
    K = clique_complex(nx.complete_graph(3))
    (points,) = read(explorer(K, positions=torch.eye(3)))["positions"]
    assert np.linalg.norm(points, axis=1).max() == pytest.approx(1, abs=1e-3)
    with pytest.raises(ComplexError, match=r"positions of shape \(3, 2\) or \(3, 3\)"):
        explorer(K, positions=torch.zeros(3, 4))
    with pytest.raises(ComplexError, match=r"values\[0\]"):
        explorer(K, values=[[1.0]])


def test_too_many_cells():
    K = SimplicialComplex(50_001)
    with pytest.raises(TooLargeError, match=r"at most 50,000 cells .* got 50,001; explore a part"):
        explorer(K)


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    browser = Browser(tmp_path_factory.mktemp("profile"))
    yield browser
    browser.close()


def show(browser, path, page):
    path.write_text(page, encoding="utf-8")
    browser.open(path)
    assert not browser.seen("Runtime.exceptionThrown")
    asked = [event["request"]["url"] for event in browser.seen("Network.requestWillBeSent")]
    assert asked == [path.as_uri()]  # and nothing else
    return browser.run("view.getBoundingClientRect().toJSON()")


PIXELS = """spots.map(([x, y]) =>
    [...pen.getImageData(x * devicePixelRatio, y * devicePixelRatio, 1, 1).data].join())"""


@IN_BROWSER
def test_the_slider_recolors_and_pointing_tells(browser, tmp_path):
    K = clique_complex(nx.path_graph(5))
    line = [[float(i), 0.0] for i in range(5)]
    page = explorer(K, positions=line, notes=[list("abcde")], values=[[1, 0, 0, 0, -1], None, None])
    box = show(browser, tmp_path / "page.html", page)
    contributions = browser.run(PIXELS)
    assert contributions[0] != contributions[4]
    browser.run("(mode.value = 'swl', mode.onchange())")
    assert len(set(browser.run(PIXELS))) == 1
    assert "0 of 2: 1 color of vertices" in browser.run("at('said').textContent")
    slider = browser.run("round.getBoundingClientRect().toJSON()")
    browser.click(slider["right"] - 3, slider["y"] + slider["height"] / 2)
    last = browser.run(PIXELS)
    assert len(set(last)) == 3
    assert last[0] == last[4]
    assert last[1] == last[3]
    assert "2 of 2: 3 colors of vertices" in browser.run("at('said').textContent")
    x, y, _ = browser.run("spots[4]")
    browser.mouse("Moved", box["x"] + x, box["y"] + y)
    lines = browser.run("tip.hidden ? '' : tip.textContent").split("\n")
    assert lines[:2] == ["vertex 4", "e"]
    assert lines[3] == "contribution -1.00"
    (x, y, _), (u, v, _) = browser.run("[spots[0], spots[1]]")
    browser.mouse("Moved", box["x"] + (x + u) / 2, box["y"] + (y + v) / 2)
    assert browser.run("tip.textContent").startswith("edge 0, 1")
    browser.mouse("Moved", box["x"] + x, box["y"] + y + 100)
    assert browser.run("tip.hidden")


@IN_BROWSER
def test_flows_and_three_dimensions(browser, tmp_path):
    box = show(browser, tmp_path / "page.html", explorer(clique_complex(nx.cycle_graph(6))))
    assert "Betti numbers 1, 1: 1 component, 1 loop." in browser.run("at('facts').textContent")
    assert browser.run("[...mode.options].map(o => o.text)") == [
        "SWL colors",
        "harmonic flow 1 of 1",
    ]
    before = browser.run("view.toDataURL()")
    browser.run("(mode.value = 0, mode.onchange())")
    assert browser.run("view.toDataURL()") != before
    solid = browser.run("solid.getBoundingClientRect().toJSON()")
    flat = browser.run("spots.map(s => s[2])")
    browser.click(solid["x"] + 5, solid["y"] + 5)
    assert browser.run("spots.map(s => s[2])") != flat
    before = browser.run("spots")
    browser.mouse("Moved", 300, box["y"] + 50)
    browser.mouse("Pressed", 300, box["y"] + 50)
    browser.mouse("Moved", 380, box["y"] + 90)
    browser.mouse("Released", 380, box["y"] + 90)
    assert browser.run("spots") != before


@IN_BROWSER
def test_five_thousand_cells_open_within_three_seconds(browser, tmp_path):
    graph = nx.triangular_lattice_graph(40, 40)
    K = clique_complex(nx.convert_node_labels_to_integers(graph))
    assert sum(K.counts) > 5000 - 100
    places = list(nx.get_node_attributes(graph, "pos").values())
    page = explorer(K, positions=places)
    start = time.perf_counter()
    show(browser, tmp_path / "page.html", page)
    assert browser.run("spots.length") == K.num_nodes
    assert time.perf_counter() - start < 3
