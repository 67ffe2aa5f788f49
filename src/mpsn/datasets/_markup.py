"""GraphML, GEXF, GML and JSON, read by networkx with all attributes of vertices and edges."""

import io
import json
import re
from collections.abc import Callable, Iterator
from typing import IO, Any
from xml.parsers import expat

import networkx as nx

from mpsn._files.limits import Limit
from mpsn.errors import GraphError

XML_ERRORS = (expat.ExpatError, SyntaxError)
LIBRARY_ERRORS = (
    nx.NetworkXException,
    LookupError,
    TypeError,
    AttributeError,
    ArithmeticError,
    RuntimeError,
)


class _Whole(io.BytesIO):
    """Content that is read in one piece: expat before 2.6 takes quadratic time over many."""

    def read(self, size: int | None = -1) -> bytes:
        return super().read()


def read_graphml(file: IO[bytes], limit: Limit) -> Iterator[Any]:
    """Yield the graph of a GraphML file."""
    yield _by_library(nx.read_graphml, _checked(file))


def read_gexf(file: IO[bytes], limit: Limit) -> Iterator[Any]:
    """Yield the graph of a GEXF file."""
    yield _by_library(nx.read_gexf, _checked(file))


def _checked(file: IO[bytes]) -> _Whole:
    content = file.read()
    parser = expat.ParserCreate()
    parser.StartDoctypeDeclHandler = _refuse_doctype
    _by_library(parser.Parse, content, True)
    return _Whole(content)


def _refuse_doctype(*_: object) -> None:
    """No DOCTYPE is needed, and entities can blow up a small file or name other files."""
    raise GraphError("expected XML without a DOCTYPE, got one; delete it")


def read_gml(file: IO[bytes], limit: Limit) -> Iterator[Any]:
    """Yield the graph of a GML file; its vertices have their labels, or else their ids as names."""
    text = file.read().decode("utf-8-sig")
    label = "label" if re.search(r"^\s*label\s|\slabel\s", text) else "id"
    yield _by_library(nx.parse_gml, text.splitlines(), label=label)


def read_json(file: IO[bytes], limit: Limit) -> Iterator[Any]:
    """Yield the graphs of a file of node-link data."""
    content = json.loads(file.read())
    for data in content if isinstance(content, list) else [content]:
        if not isinstance(data, dict) or not {"links", "edges"} & data.keys():
            raise GraphError(
                "expected node-link data, with nodes and links; write it with nx.node_link_data"
            )
        if not isinstance(data.get("graph", {}), dict):
            raise GraphError(
                f"expected attributes of a graph by name, got {data['graph']!r:.60} as graph"
            )
        edges = "links" if "links" in data else "edges"
        graph = _by_library(nx.node_link_graph, data, edges=edges)
        listed = _by_library(nx.node_link_graph, data | {edges: []}, edges=edges)
        if len(listed) < len(graph):
            stray = next(node for node in graph if node not in listed)
            raise GraphError(f"expected links between listed nodes, got one to {stray!r:.60}")
        yield graph


def _by_library(read: Callable[..., Any], *arguments: object, **options: object) -> Any:
    """Call a reader of another library, which may raise many types of errors on bad content."""
    try:
        return read(*arguments, **options)
    except (*LIBRARY_ERRORS, *XML_ERRORS) as error:
        raise GraphError(f"{type(error).__name__}: {error}") from error
