"""Small made data sets in TU layout, for tests."""

import zipfile
from pathlib import Path

import networkx as nx


def members(name, graphs, classes, labels=None, both=True, **more):
    """Return the files of a data set, by name; vertices and graphs are numbered from 1.

    ``more`` are the lines of other files, such as edge_labels.
    """
    union = nx.disjoint_union_all(graphs)
    ends = [(u + 1, v + 1) for u, v in union.edges]
    ends += [(v, u) for u, v in ends] if both else []
    owners = [i for i, graph in enumerate(graphs, 1) for _ in graph]
    files = {
        "A": [f"{u}, {v}" for u, v in ends],
        "graph_indicator": owners,
        "graph_labels": classes,
    }
    if labels is not None:
        files["node_labels"] = labels
    files |= more
    if classes is None:
        del files["graph_labels"]
    return {
        f"{name}/raw/{name}_{part}.txt": "".join(f"{line}\n" for line in lines)
        for part, lines in files.items()
    }


def write_zip(path, files):
    """Write a zip file of texts."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for place, text in files.items():
            file.writestr(place, text)
    return path


def reddit_like(graphs=25, seed=0):
    """Return threads, as REDDIT-MULTI-5K has: near-trees with a few triangles, in five classes."""
    made = []
    for i in range(graphs):
        graph = nx.random_labeled_tree(20 + 3 * (i % 5), seed=seed + i)
        extra = nx.gnm_random_graph(len(graph), 2 + 4 * (i % 5), seed=seed + i)
        graph.add_edges_from(extra.edges)
        made.append(graph)
    return made, [1 + i % 5 for i in range(graphs)]
