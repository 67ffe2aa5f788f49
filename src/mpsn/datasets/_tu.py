"""Graph classification sets of the TU collection (Morris et al. 2020), lifted to 2-complexes."""

import hashlib
import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor

from mpsn.complexes import ComplexDataset, SimplicialComplex, packed
from mpsn.datasets._sources import cache_folder, locate
from mpsn.datasets._tu_raw import RawGraphs, holds, parse, read_members
from mpsn.errors import UNREADABLE, FileError, MPSNError
from mpsn.lifting import clique_complex

SOURCE = "https://www.chrsmrrs.com/graphkerneldatasets"
FORMAT = 1  # of cached complexes; a change of this file, the lift or the layout raises it


class TUSet(NamedTuple):
    """What a set has for vertex features, and how a download of it is known to be right.

    The archives of the collection list some edges twice, and other editions do not; so not the
    bytes of a file are checked but the graphs in it, see :func:`fingerprint`. Where no trusted copy
    was at hand to take it from, there is the paper's table: graphs, classes, mean and median number
    of triangles.
    """

    features: Literal["labels", "degrees", "constant"]
    graphs: int
    classes: int
    triangles: tuple[float, float]
    sha256: str = ""


@dataclass(frozen=True)
class TUDataset:
    """A graph classification set, lifted; see :func:`TU`."""

    name: str
    """Name in the collection."""
    complexes: ComplexDataset
    """The clique 2-complexes of all graphs, with features (n_k, num_features) per dimension."""
    y: Tensor
    """Class of each graph, 0, 1, ..., in the order of the names the classes have in the file."""
    num_classes: int
    """Number of classes."""
    num_features: int
    """Width of the features."""

    def __len__(self) -> int:
        return len(self.complexes)

    def __repr__(self) -> str:
        return (
            f"TUDataset({self.name}, {len(self)} graphs in {self.num_classes} classes, "
            f"{self.num_features} features, counts={self.complexes.union.counts})"
        )


def TU(name: str, data: str | os.PathLike[str] | None = None) -> TUDataset:
    """Read one of the paper's six graph classification sets, as clique 2-complexes (section 6).

    Vertices get the features that Xu et al. 2019 gave them: one-hot labels (PROTEINS, NCI1), the
    degree, one-hot over those that occur (IMDB-BINARY, IMDB-MULTI), or the constant 1
    (REDDIT-BINARY, REDDIT-MULTI-5K); edges and triangles get the mean over their vertices.

    The set is read from ``tu/NAME.zip`` or ``tu/NAME/`` in the folder ``data``, or in the one the
    environment variable ``MPSN_DATA`` names, and downloaded where there is neither. A download is
    kept only if it holds the graphs it should, known by checksum; for REDDIT-MULTI-5K, whose
    checksum we do not know, by the counts in the paper's table. The lifted complexes are kept in
    the cache, under a key made of the content of the files and the version of the format; a
    damaged file there is replaced.

    Args:
        name: PROTEINS, NCI1, IMDB-BINARY, IMDB-MULTI, REDDIT-BINARY or REDDIT-MULTI-5K.
        data: Folder of local copies, or the zip file or folder of this set itself.

    Example:
        >>> mpsn.datasets.TU("PROTEINS")  # doctest: +SKIP
        TUDataset(PROTEINS, 1113 graphs in 2 classes, 3 features, counts=(43471, 81044, 30501))
    """
    if name not in SETS:
        raise MPSNError(f"Expected the name of a set among {', '.join(SETS)}, got {name!r}.")
    return assemble(name, _cached(name, find_source(name, data)))


def find_source(name: str, data: str | os.PathLike[str] | None) -> Path:
    """Return the folder or zip file of a set: the one given, a local copy, or a download."""
    if data is not None and (Path(data).suffix == ".zip" or holds(Path(data), name)):
        return Path(data)
    folder = data or os.environ.get("MPSN_DATA")
    if folder and (path := Path(folder) / "tu" / name).is_dir():
        return path
    return locate(
        f"tu/{name}.zip", f"{SOURCE}/{name}.zip", lambda content: _verify(name, content), data
    )


def _verify(name: str, content: bytes) -> None:
    """Refuse a download of other graphs than those the name stands for."""
    known = SETS[name]
    union = lift(parse(name, read_members(name, content, known.features == "labels")), known)
    found = fingerprint(union)
    if known.sha256:
        right, expected, got = found == known.sha256, known.sha256, found
    else:
        triangles = union.ptr(2).diff().double()
        counts = (
            union.num_complexes,
            int(union.y.max()) + 1,  # type: ignore[union-attr]
            (round(triangles.mean().item(), 1), triangles.quantile(0.5).item()),
        )
        wanted = (known.graphs, known.classes, known.triangles)
        right, expected, got = counts == wanted, f"{wanted}", f"{counts}"
    if not right:
        raise FileError(
            f"Expected graphs with {'checksum' if known.sha256 else 'counts'} {expected} in "
            f"{SOURCE}/{name}.zip, got {got}; the collection has changed or the download is "
            f"broken. To use it as it is, put it at DIR/tu/{name}.zip, then pass data=DIR or set "
            f"MPSN_DATA=DIR."
        )


def fingerprint(union: SimplicialComplex) -> str:
    """Return the SHA-256 of what a file says: sizes, edges, classes and kinds of vertices."""
    parts = [union.ptr(0), union.faces(1), union.y, union.x[0]]
    digest = hashlib.sha256()
    for part in parts:
        assert part is not None
        digest.update(part.numpy().astype("<i8").tobytes())
    return digest.hexdigest()


def _cached(name: str, source: Path) -> SimplicialComplex:
    """Return the lifted union from the cache, or lift it and put it there."""
    labeled = SETS[name].features == "labels"
    members = read_members(name, source, labeled)
    key = hashlib.sha256(f"{FORMAT} {packed.FORMAT} {name}".encode())
    for part, content in members.items():
        key.update(f" {part} {len(content)} ".encode())
        key.update(content)
    path = cache_folder() / "tu" / f"{name}-{key.hexdigest()[:32]}.npz"
    with suppress(*UNREADABLE):
        return _load(path)
    union = lift(parse(name, members), SETS[name])
    with suppress(OSError, FileError):  # a cache that cannot be written to is no reason to stop
        path.parent.mkdir(parents=True, exist_ok=True)
        ComplexDataset(union).save(path)
    return union


def _load(path: Path) -> SimplicialComplex:
    """Read a cached union, whose bytes the checksums inside an .npz vouch for.

    ``ComplexDataset.load`` looks at every face too, which takes longer than to lift again.
    """
    with path.open("rb") as raw, np.load(raw, allow_pickle=False) as file:
        parts = {part: torch.from_numpy(file[part]) for part in file.files if part != "meta"}
    tables = [parts[f"faces_{k}"] for k in (1, 2) if f"faces_{k}" in parts]
    offsets = [parts[f"ptr_{k}"] for k in range(len(tables) + 1)]
    return SimplicialComplex._trusted(
        tables, offsets, x=[parts["x_0"]], y=parts["y"], y_ptr=parts["y_ptr"]
    )


def lift(raw: RawGraphs, known: TUSet) -> SimplicialComplex:
    """Lift all graphs at once; x[0] is the kind of each vertex, (n_0, 1) int64, from 0 on.

    The disjoint union of the graphs is one graph; its complex, cut where the graphs begin, is the
    disjoint union of theirs.
    """
    n, graphs = len(raw.owner), len(raw.classes)
    K = clique_complex((raw.edges.T, n), max_dim=2)
    starts = torch.from_numpy(np.searchsorted(raw.owner, np.arange(graphs + 1)))
    first = [K.simplices(k)[:, 0].contiguous() for k in range(K.dim + 1)]
    kinds = torch.zeros(n, dtype=torch.int64)
    if known.features == "degrees":
        kinds = _ranks(torch.bincount(K.faces(1).reshape(-1), minlength=n))
    elif raw.labels is not None:
        kinds = _ranks(torch.from_numpy(raw.labels))
    return SimplicialComplex._trusted(
        [K.faces(k) for k in range(1, K.dim + 1)],
        [torch.searchsorted(vertices, starts) for vertices in first],
        x=[kinds[:, None]],
        y=_ranks(torch.from_numpy(raw.classes)),
        y_ptr=torch.arange(graphs + 1),
    )


def _ranks(values: Tensor) -> Tensor:
    ranks: Tensor = torch.unique(values, return_inverse=True)[1]
    return ranks


def assemble(name: str, union: SimplicialComplex) -> TUDataset:
    """Return the data set of a lifted union, with features in all dimensions."""
    y, kinds = union.y, union.x[0]
    assert y is not None
    assert kinds is not None
    width = int(kinds.max()) + 1
    lifted = SimplicialComplex._trusted(
        union._faces,
        union._ptr,
        x=[_shares(kinds[:, 0][union.simplices(k)], width) for k in range(3)],
        y=y,
        y_ptr=union._y_ptr,
    )
    return TUDataset(name, ComplexDataset(lifted), y, int(y.max()) + 1, width)


def _shares(kinds: Tensor, width: int) -> Tensor:
    """Return the mean of one-hot rows: which share of a simplex's vertices is of which kind."""
    out = torch.from_numpy(np.zeros((len(kinds), width), np.float32))  # numpy gets larger pages
    return out.scatter_add_(1, kinds, torch.full(kinds.shape, 1 / kinds.shape[1]))  # (n_k, F)


SETS = {
    "PROTEINS": TUSet(
        "labels",
        1113,
        2,
        (27.4, 21),
        "ae8e482ada025272eb0681d10740d4210ef49a9719c8817c6660bb517c415380",
    ),
    "NCI1": TUSet(
        "labels",
        4110,
        2,
        (0.05, 0),
        "1b3c2ff8dac6bbc6d0b02d47155baf13336983f79e6137198da4de2c3d20e33a",
    ),
    "IMDB-BINARY": TUSet(
        "degrees",
        1000,
        2,
        (392.0, 119.5),
        "cec19a5be37f4f6cd00568823ff2f26dbe7c34b6ec4fbad4e400f5bccebdaf4b",
    ),
    "IMDB-MULTI": TUSet(
        "degrees",
        1500,
        3,
        (305.9, 56),
        "46638a129bb6870ee9b781f8652e1a0bf5583b3290d281559b4595c4e487f9d3",
    ),
    "REDDIT-BINARY": TUSet(
        "constant",
        2000,
        2,
        (24.8, 11),
        "7cc9696b23c67deebaf95373f64b720b53165845b176b42386692f1cd5dcdd66",
    ),
    "REDDIT-MULTI-5K": TUSet("constant", 4999, 5, (21.8, 11)),
}
