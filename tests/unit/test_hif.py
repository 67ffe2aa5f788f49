"""The Hypergraph Interchange Format: against its schema, XGI's own reader, and files by hand."""

import gzip
import json

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpsn import SimplicialComplex, clique_complex
from mpsn.errors import ComplexError, FileError, LeftOut, TooLargeError
from mpsn.testing import complexes

NETWORK = {
    "network-type": "undirected",
    "metadata": {"name": "papers"},
    "incidences": [
        {"edge": "p1", "node": "ann"},
        {"edge": "p1", "node": "bob"},
        {"edge": "p1", "node": "carl"},
        {"edge": 2, "node": "carl"},
        {"edge": 2, "node": "dora"},
        {"edge": 2, "node": "carl"},
    ],
    "nodes": [{"node": "eve"}, {"node": "ann"}],
    "edges": [{"edge": "none"}, {"edge": 2}],
}
BY_HAND = SimplicialComplex.from_simplices([["ann", "bob", "carl"], ["carl", "dora"], ["eve"]])

# Of https://github.com/HIF-org/HIF-standard: the keys of each record, and those it must have.
KEYS = {
    "incidences": ({"edge", "node", "weight", "direction", "attrs"}, {"edge", "node"}),
    "nodes": ({"node", "weight", "attrs"}, {"node"}),
    "edges": ({"edge", "weight", "attrs"}, {"edge"}),
}


def check_schema(network):
    assert {"incidences"} <= network.keys() <= {*KEYS, "network-type", "metadata"}
    assert network.get("network-type", "asc") in {"undirected", "directed", "asc"}
    for part, (allowed, required) in KEYS.items():
        for record in network.get(part, []):
            assert required <= record.keys() <= allowed
            assert all(type(record[key]) in (str, int) for key in required)


def test_a_network_by_hand():
    check_schema(NETWORK)
    assert SimplicialComplex.from_hif(NETWORK) == BY_HAND
    assert SimplicialComplex.from_hif(NETWORK, max_dim=1).counts == (5, 4)
    assert SimplicialComplex.from_hif({"incidences": []}).counts == ()


@given(complexes(max_dim=3), st.booleans())
def test_there_and_back(K, named):
    K = K.bare()
    K = SimplicialComplex(K.num_nodes, [K.faces(k) for k in range(1, K.dim + 1)])
    if named and K.num_nodes:
        K = K.replace(vertex_labels=[f"v{i:03}" for i in range(K.num_nodes)])
    network = K.to_hif()
    check_schema(network)
    assert len(network["edges"]) == sum(K.counts[1:])
    assert SimplicialComplex.from_hif(json.loads(json.dumps(network))) == K


def test_files(tmp_path):
    K = BY_HAND
    check_schema(K.to_hif(tmp_path / "K.json"))
    (tmp_path / "K.json.gz").write_bytes(gzip.compress((tmp_path / "K.json").read_bytes()))
    for name in ("K.json", "K.json.gz"):
        assert SimplicialComplex.from_hif(str(tmp_path / name)) == K


@pytest.mark.filterwarnings("ignore")  # of xgi
def test_xgi_reads_and_writes_the_same(tmp_path):
    xgi = pytest.importorskip("xgi")
    K = clique_complex(nx.karate_club_graph(), max_dim=3)
    K.to_hif(tmp_path / "ours.json")
    theirs = xgi.read_hif(tmp_path / "ours.json")
    assert isinstance(theirs, xgi.SimplicialComplex)
    assert SimplicialComplex.from_xgi(theirs) == K
    xgi.write_hif(K.to_xgi(), tmp_path / "theirs.json")
    assert SimplicialComplex.from_hif(tmp_path / "theirs.json") == K
    hypergraph = xgi.Hypergraph([[1, 2, 3], [3, "x"], [7]])
    xgi.write_hif(hypergraph, tmp_path / "theirs.json")
    ours = SimplicialComplex.from_hif(tmp_path / "theirs.json")
    assert ours.to_simplices() == SimplicialComplex.from_xgi(hypergraph).to_simplices()
    assert set(ours.vertex_labels) == {1, 2, 3, "x", 7}


def test_what_is_left_out_is_said():
    incidence = {"edge": 0, "node": 0, "direction": "head", "weight": 2}
    network = {"incidences": [incidence], "nodes": [{"node": 0, "attrs": {"age": 3}}]}
    with pytest.warns(LeftOut, match=r"^direction of incidences, weight of .*, attrs of nodes of"):
        assert SimplicialComplex.from_hif(network).counts == (1,)


@pytest.mark.parametrize(
    ("network", "message"),
    [
        ([[0, 1]], r"a JSON object with a list 'incidences', got \[\[0, 1\]\]"),
        ({"edges": []}, "a list 'incidences'"),
        ({"incidences": {"edge": 1}}, "'incidences' as a list of records"),
        ({"incidences": [{"edge": 1}]}, r"edge and node in each record .* got .* in record 0"),
        ({"incidences": [{"edge": 1, "node": 1.5}]}, "strings or integers"),
        ({"incidences": [{"edge": 1, "node": True}]}, "strings or integers"),
        ({"incidences": [[1, 2]]}, "edge and node in each record"),
        ({"incidences": [], "nodes": [{"node": [1]}]}, "node in each record of 'nodes'"),
    ],
)
def test_other_content_is_refused(tmp_path, network, message):
    (tmp_path / "bad.json").write_text(json.dumps(network))
    with pytest.raises(FileError, match=rf"(?s)bad\.json; .*{message}"):
        SimplicialComplex.from_hif(tmp_path / "bad.json")
    if isinstance(network, dict):
        with pytest.raises(ComplexError, match=message):
            SimplicialComplex.from_hif(network)


def test_damaged_and_oversized_files(tmp_path):
    (tmp_path / "cut.json").write_text(json.dumps(NETWORK)[:-20])
    with pytest.raises(FileError, match="damaged or of another kind"):
        SimplicialComplex.from_hif(tmp_path / "cut.json")
    with pytest.raises(FileError, match="got nothing"):
        SimplicialComplex.from_hif(tmp_path / "none.json")
    wide = {"incidences": [{"edge": 0, "node": i} for i in range(60)]}
    with pytest.raises(TooLargeError, match="a simplex of 60 vertices and all its faces"):
        SimplicialComplex.from_hif(wide)


def test_names_that_the_format_has_not():
    K = SimplicialComplex.from_simplices([[("a", 1), ("b", 2)]])
    with pytest.raises(ComplexError, match=r"strings or integers, as HIF has them, got \('a', 1\)"):
        K.to_hif()
