"""Sets of graphs in the layout of the TU collection (Morris et al. 2020), as 2-complexes."""

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor

from mpsn.complexes import ComplexDataset, SimplicialComplex
from mpsn.complexes.internal import from_parts
from mpsn.datasets._sources import USE, find_data, locate
from mpsn.datasets._tu_raw import Numbers, RawGraphs, holds, parse, read_members
from mpsn.errors import FileError, MissingDataError, did_you_mean, warn
from mpsn.lifting import clique_complex

SOURCE = "https://www.chrsmrrs.com/graphkerneldatasets"

Features = Literal["labels", "degrees", "constant"]
MAX_KINDS = 128  # labels or degrees up to which they are one-hot encoded


class TUSet(NamedTuple):
    """Vertex features of a set of the paper, and what a download of it is checked against.

    Editions of an archive differ in how often they list an edge, so a download is checked by its
    graphs: by their :func:`fingerprint` or, if that is unknown, by the numbers in the paper's
    table: graphs, classes, and mean and median of triangles.
    """

    features: Features
    graphs: int
    classes: int
    triangles: tuple[float, float]
    checksum: str = ""


@dataclass(frozen=True)
class TUDataset:
    """A lifted set of graphs with targets; see :func:`TU`."""

    name: str
    """Name in the collection."""
    complexes: ComplexDataset
    """Clique 2-complexes of all graphs, with features (n_k, num_features) per dimension."""
    y: Tensor
    """Class of each graph, 0, 1, ..., in the order of the names the classes have in the file; for
    regression the targets, (graphs,) or (graphs, targets) float32."""
    num_classes: int
    """Number of classes; 0 for regression."""
    num_features: int
    """Number of features."""
    labeled: bool
    """Whether the features of vertices are from the file, not their degrees or a constant."""

    def __len__(self) -> int:
        return len(self.complexes)

    def __repr__(self) -> str:
        kinds = f"in {self.num_classes} classes" if self.num_classes else "to regress"
        return (
            f"TUDataset({self.name}, {len(self)} graphs {kinds}, "
            f"{self.num_features} features, counts={self.complexes.union.counts})"
        )


def TU(name: str, data: str | os.PathLike[str] | None = None) -> TUDataset:
    """Read a set of graphs in the layout of the TU collection, as clique 2-complexes (section 6).

    In the paper's six sets, vertices have the features of Xu et al. (2019): one-hot labels
    (PROTEINS, NCI1), one-hot degrees (IMDB-BINARY, IMDB-MULTI), or the constant 1 (REDDIT-BINARY,
    REDDIT-MULTI-5K). In other sets they have one-hot labels and standardized attributes; without
    any, one-hot degrees, or the constant 1 for more than 128 degrees. Edges and triangles have the
    mean over their vertices.

    The set is read from a local copy, ``tu/NAME.zip`` or ``tu/NAME/``, or else downloaded. A
    download of the six is kept only if it holds the right graphs, which is checked by checksum; for
    REDDIT-MULTI-5K, whose checksum is not known, by the counts in the paper's table. Other sets are
    not downloaded.

    Args:
        name: PROTEINS, NCI1, IMDB-BINARY, IMDB-MULTI, REDDIT-BINARY or REDDIT-MULTI-5K, or the name
            of any other set that is there.
        data: Folder of local copies, or the zip file or folder of this set. Defaults to the
            environment variable ``MPSN_DATA``.

    Example:
        >>> mpsn.datasets.TU("PROTEINS")  # doctest: +SKIP
        TUDataset(PROTEINS, 1113 graphs in 2 classes, 3 features, counts=(43471, 81044, 30501))
    """
    source = find_source(name, data)
    if name in TU_SETS:
        features = TU_SETS[name].features
        raw = parse(name, read_members(name, source, *_parts(features)))
        return assemble(name, lift(raw, features), features == "labels")
    raw = parse(name, read_members(name, source))
    unused = [kind for kind in ("edge_labels", "edge_attributes") if getattr(raw, kind) is not None]
    if unused:
        warn(
            f"{' and '.join(unused)} of {name} are not used: the features of edges are the means "
            f"of their vertices'.",
        )
    labels = raw.node_labels
    few = labels is not None and labels.shape[1] == 1 and len(np.unique(labels)) <= MAX_KINDS
    degrees = labels is None and raw.node_attributes is None
    union = lift(raw, "labels" if few else "degrees" if degrees else "constant")
    kinds = union.x[0]
    assert kinds is not None
    if degrees and int(kinds.max()) >= MAX_KINDS:
        union = union.replace(x=[torch.zeros_like(kinds)])
    tables = (None if few else labels, raw.node_attributes)
    numbers = [table for table in tables if table is not None]
    table = np.concatenate(numbers, axis=1) if numbers else None
    return assemble(name, union, not degrees, table, few)


def _parts(features: Features) -> tuple[Sequence[str], Sequence[str]]:
    """Return the files that are needed for these features, and others: none."""
    return ["A", "graph_indicator", "graph_labels"] + ["node_labels"] * (features == "labels"), ()


def find_source(
    name: str, data: str | os.PathLike[str] | None, expected: TUSet | None = None
) -> Path:
    """Return the folder or zip file of a set: the one given, a local copy, or a download.

    A download is checked against ``expected``, which defaults to the entry of :data:`TU_SETS`.
    """
    if data is not None and (Path(data).suffix == ".zip" or holds(Path(data), name)):
        return Path(data)
    folder = data or os.environ.get("MPSN_DATA")
    if folder and (path := Path(folder) / "tu" / name).is_dir():
        return path
    expected = expected or TU_SETS.get(name)
    if expected is None:
        if (archive := find_data(f"tu/{name}.zip", data)) is not None:
            return archive
        raise MissingDataError(
            f"Expected the set {name!r:.60} at DIR/tu/{name:.60}.zip or DIR/tu/{name:.60}/ with "
            f"data=DIR or MPSN_DATA=DIR, found none; only {', '.join(TU_SETS)} are downloaded."
            f"{did_you_mean(name, TU_SETS)}"
        )
    check = partial(_verify, name, expected)
    return locate(f"tu/{name}.zip", f"{SOURCE}/{name}.zip", check, data)


def _verify(name: str, expected: TUSet, content: bytes) -> None:
    """Raise unless a download holds the graphs of the set."""
    members = read_members(name, content, *_parts(expected.features))
    union = lift(parse(name, members), expected.features)
    assert union.y is not None
    right: object = expected.checksum
    read: object = fingerprint(union)
    if not right:
        triangles = union.ptr(2).diff().double()
        spread = (round(triangles.mean().item(), 1), triangles.quantile(0.5).item())
        right = (expected.graphs, expected.classes, expected.triangles)
        read = (union.num_complexes, int(union.y.max()) + 1, spread)
    if read != right:
        raise FileError(
            f"Expected graphs with {'checksum' if expected.checksum else 'counts'} {right} in "
            f"{SOURCE}/{name}.zip, got {read}; the collection has changed or the download is "
            f"broken. To use it anyway, put it at DIR/tu/{name}.zip, and {USE}."
        )


def fingerprint(union: SimplicialComplex) -> str:
    """Return a checksum of the content of a set: sizes, edges, classes and kinds of vertices."""
    digest = hashlib.sha256()
    for part in (union.ptr(0), union.faces(1), union.y, union.x[0]):
        assert part is not None
        digest.update(part.numpy().astype("<i8").tobytes())
    return digest.hexdigest()[:32]


def lift(raw: RawGraphs, features: Features) -> SimplicialComplex:
    """Lift all graphs at once; x[0] is the kind of each vertex, (n_0, 1) int64, from 0.

    The disjoint union of the graphs is one graph; its complex, cut where the graphs begin, is the
    disjoint union of theirs.
    """
    n, graphs = len(raw.owner), len(raw.targets)
    K = clique_complex((raw.edges.T, n), max_dim=2)
    starts = torch.from_numpy(np.searchsorted(raw.owner, np.arange(graphs + 1)))
    kinds = torch.zeros(n, dtype=torch.int64)
    if features == "degrees":
        kinds = _ranks(torch.bincount(K.faces(1).reshape(-1), minlength=n))
    elif features == "labels":
        assert raw.node_labels is not None
        kinds = _ranks(torch.from_numpy(raw.node_labels[:, 0].copy()))
    parts = {"x_0": kinds[:, None], "y": _targets(raw.targets)}
    for k in range(K.dim + 1):
        parts[f"ptr_{k}"] = torch.searchsorted(K.simplices(k)[:, 0].contiguous(), starts)
    parts |= {f"faces_{k}": K.faces(k) for k in range(1, K.dim + 1)}
    parts["y_ptr"] = torch.arange(graphs + 1)
    union: SimplicialComplex = from_parts(parts, check=False)
    return union


def _ranks(values: Tensor) -> Tensor:
    ranks: Tensor = torch.unique(values, return_inverse=True)[1]
    return ranks


def _targets(table: Numbers) -> Tensor:
    """Return classes as numbers from 0, or what is to be regressed."""
    if table.shape[1] > 1 or table.dtype.kind == "f":
        return torch.from_numpy(table.astype(np.float32)).squeeze(1)
    return _ranks(torch.from_numpy(table[:, 0].copy()))


def assemble(
    name: str,
    union: SimplicialComplex,
    labeled: bool,
    numbers: Numbers | None = None,
    shares: bool = True,
) -> TUDataset:
    """Return the data set of a lifted union, with features in all dimensions.

    They are the shares of the kinds among the vertices of a simplex, and the means of further
    ``numbers``, (vertices, F), which are standardized.
    """
    y, kinds = union.y, union.x[0]
    assert y is not None
    assert kinds is not None
    width = int(kinds.max()) + 1
    x = [_shares(kinds[:, 0][union.simplices(k)], width) for k in range(3)]
    if numbers is not None:
        scale = numbers.std(axis=0)
        scaled = (numbers - numbers.mean(axis=0)) / np.where(scale > 0, scale, 1)
        table = torch.from_numpy(scaled.astype(np.float32))
        means = [table[union.simplices(k)].mean(1) for k in range(3)]
        x = [torch.cat(pair, 1) for pair in zip(x, means, strict=True)] if shares else means
    classes = 0 if y.is_floating_point() else int(y.max()) + 1
    complexes = ComplexDataset(union.replace(x=x))
    return TUDataset(name, complexes, y, classes, x[0].shape[1], labeled)


def _shares(kinds: Tensor, width: int) -> Tensor:
    """Return the mean of one-hot rows: the share of each kind among the vertices of a simplex."""
    out = torch.from_numpy(np.zeros((len(kinds), width), np.float32))  # numpy gets larger pages
    return out.scatter_add_(1, kinds, torch.full(kinds.shape, 1 / kinds.shape[1]))  # (n_k, F)


TU_SETS = {
    "PROTEINS": TUSet("labels", 1113, 2, (27.4, 21), "ae8e482ada025272eb0681d10740d421"),
    "NCI1": TUSet("labels", 4110, 2, (0.05, 0), "1b3c2ff8dac6bbc6d0b02d47155baf13"),
    "IMDB-BINARY": TUSet("degrees", 1000, 2, (392.0, 119.5), "cec19a5be37f4f6cd00568823ff2f26d"),
    "IMDB-MULTI": TUSet("degrees", 1500, 3, (305.9, 56), "46638a129bb6870ee9b781f8652e1a0b"),
    "REDDIT-BINARY": TUSet("constant", 2000, 2, (24.8, 11), "7cc9696b23c67deebaf95373f64b720b"),
    "REDDIT-MULTI-5K": TUSet("constant", 4999, 5, (21.8, 11)),
}
