"""Hypergraphs and complexes in the Hypergraph Interchange Format (HIF), as JSON.

The format is that of https://github.com/HIF-org/HIF-standard.
"""

import json
import os
from pathlib import Path
from typing import Any

from mpsn._files.io import atomic_write, read_json
from mpsn._files.limits import MAX_JSON, open_file
from mpsn.complexes import SimplicialComplex
from mpsn.complexes.internal import named_complex
from mpsn.errors import ComplexError, FileError, warn

Name = str | int
REQUIRED = {"incidences": ("edge", "node"), "nodes": ("node",), "edges": ("edge",)}


def from_hif(
    source: str | os.PathLike[str] | dict[str, Any], max_dim: int | None = None
) -> SimplicialComplex:
    """Build the complex of the hyperedges in a HIF file, and of all their faces."""
    if isinstance(source, dict):
        return _complex(source, max_dim)
    path = Path(source)
    with open_file(path, "a hypergraph in HIF", MAX_JSON) as file:
        network = read_json(file.read().decode())
        try:
            return _complex(network, max_dim)
        except ComplexError as error:
            raise FileError(f"Expected a hypergraph in HIF in {path}; {error!s:.300}") from error


def to_hif(K: SimplicialComplex, path: str | os.PathLike[str] | None = None) -> dict[str, Any]:
    """Return the complex in HIF: its vertices, and an edge for every other simplex."""
    names = K.vertex_labels or range(K.num_nodes)
    if odd := [name for name in names if not _is_name(name)]:
        raise ComplexError(
            f"Expected vertex labels that are strings or integers, as HIF has them, got "
            f"{odd[0]!r:.40}; rename them with replace(vertex_labels=...)."
        )
    edges = [row for k in range(1, K.dim + 1) for row in K.simplices(k).tolist()]
    network = {
        "network-type": "asc",  # an abstract simplicial complex
        "metadata": {},
        "incidences": [{"edge": i, "node": names[v]} for i, row in enumerate(edges) for v in row],
        "nodes": [{"node": name} for name in names],
        "edges": [{"edge": i} for i in range(len(edges))],
    }
    if path is not None:
        with atomic_write(path, "w", what="a hypergraph") as file:
            json.dump(network, file, ensure_ascii=False)
    return network


def _complex(network: Any, max_dim: int | None) -> SimplicialComplex:
    if not isinstance(network, dict) or "incidences" not in network:
        raise ComplexError(
            f"Expected a JSON object with a list 'incidences', got {network!r:.60}; read lists of "
            f"simplices with mpsn.datasets.read_complex."
        )
    unused: dict[str, None] = {}
    records = {part: _records(network, part, unused) for part in REQUIRED}
    if unused:
        warn(
            f"{', '.join(unused):.200} of a hypergraph in HIF are not used: set features with "
            f"replace(x=...)."
        )
    hyperedges: dict[Name, dict[Name, None]] = {}
    for edge, node in records["incidences"]:
        hyperedges.setdefault(edge, {})[node] = None
    return named_complex([*records["nodes"], *hyperedges.values()], max_dim)


def _records(network: dict[str, Any], part: str, unused: dict[str, None]) -> list[tuple[Name, ...]]:
    """Return the names in the records of a part; what else they hold is noted as not used."""
    records, keys = network.get(part, []), REQUIRED[part]
    rows: list[tuple[Name, ...]] = []
    if not isinstance(records, list):
        raise ComplexError(f"Expected {part!r} as a list of records, got {records!r:.60}.")
    for i, record in enumerate(records):
        names: list[Any] = [record.get(key) for key in keys] if isinstance(record, dict) else [None]
        if not all(map(_is_name, names)):
            raise ComplexError(
                f"Expected {' and '.join(keys)} in each record of {part!r}, strings or integers, "
                f"got {record!r:.60} in record {i}."
            )
        rows.append(tuple(names))
        unused |= dict.fromkeys(f"{key} of {part}" for key in record if key not in keys)
    return rows


def _is_name(value: object) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool)
