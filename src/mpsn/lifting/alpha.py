"""Complexes of points that gudhi builds: alpha, Delaunay-Čech and witness complexes."""

import math
from typing import Any

import torch
from torch import Tensor

from mpsn._rows.memory import in_memory
from mpsn._rows.packages import package
from mpsn.complexes import SimplicialComplex
from mpsn.errors import ComplexError, warn
from mpsn.lifting._near import as_points, check_radius
from mpsn.lifting._shared import Device, check_size


def alpha_complex(
    points: object,
    radius: float | None = None,
    max_dim: int | None = None,
    *,
    device: Device = None,
) -> SimplicialComplex:
    """Build the alpha complex of points, a part of their Delaunay triangulation (needs gudhi).

    A simplex enters with the radius of its smallest empty circumscribed ball. The complex has the
    homotopy type of the union of balls of that radius around the points, and O(n) simplices in the
    plane, O(n^2) in space. Points at the same place count once.

    Args:
        points: Coordinates (n, d), or PyG ``Data`` with ``pos``.
        radius: Largest radius of a simplex. Defaults to the whole triangulation.
        max_dim: Largest dimension of a simplex. Defaults to d.
        device: Device of the complex. Defaults to that of the points.

    Returns:
        A complex with features x[0], the coordinates (followed by ``data.x``), and x[k] (n_k, 1),
        the radii, which are the square roots of gudhi's filtration values. Labels ``data.y`` stay.

    Example:
        >>> K = mpsn.alpha_complex([[0.0, 0.0], [3.0, 0.0], [0.0, 4.0]])
        >>> K, K.x[1].T
        (SimplicialComplex(dim=2, counts=(3, 3, 1), features=(2, 1, 1)),
         tensor([[1.5000, 2.0000, 2.5000]]))
    """
    return _delaunay("AlphaComplex", points, radius, max_dim, device)


def cech_complex(
    points: object,
    radius: float | None = None,
    max_dim: int | None = None,
    *,
    device: Device = None,
) -> SimplicialComplex:
    """Build the Delaunay-Čech complex of points (needs gudhi).

    The simplices of the Delaunay triangulation with the radius of their smallest enclosing ball, as
    in the Čech complex, to whose homotopy type it collapses (Bauer and Edelsbrunner, 2017).
    Arguments and features as for :func:`mpsn.alpha_complex`.

    Example:
        >>> K = mpsn.lifting.cech_complex([[0.0, 0.0], [4.0, 0.0], [2.0, 1.0]], radius=2)
        >>> K.counts, K.x[2]
        ((3, 3, 1), tensor([[2.]]))
    """
    return _delaunay("DelaunayCechComplex", points, radius, max_dim, device)


def witness_complex(
    points: object,
    landmarks: int | object,
    radius: float = 0.0,
    max_dim: int | None = 2,
    *,
    device: Device = None,
) -> SimplicialComplex:
    """Build the witness complex of points: landmarks span simplices, all points witness (gudhi).

    A point is a witness of the landmarks nearest to it; of others too, if their squared distance
    exceeds that of the nearer ones by at most ``radius`` squared (de Silva and Carlsson, 2004).

    Args:
        points: The witnesses: coordinates (n, d), or PyG ``Data`` with ``pos``.
        landmarks: Their coordinates (m, d), or how many of the points to take, each as far as
            possible from those before, the first point first.
        radius: Largest relaxation. Defaults to 0, the complex of proper witnesses.
        max_dim: Largest dimension of a simplex; None for no bound.
        device: Device of the complex. Defaults to that of the points.

    Returns:
        A complex with features x[0], the coordinates of the landmarks, and x[k] (n_k, 1), the
        relaxations at which the simplices enter, square roots of gudhi's filtration values.

    Example:
        >>> circle = torch.linspace(0, 6.2, 100)
        >>> points = torch.stack([circle.cos(), circle.sin()], dim=1)
        >>> K = mpsn.lifting.witness_complex(points, 8, radius=0.1)
        >>> K.num_nodes, K.betti_numbers()[:2]
        (8, (1, 1))
    """
    check_size(max_dim, "max_dim", 0, "no bound")
    check_radius(radius)
    position, _, y = as_points(points, device)
    cloud = position.double().cpu().numpy()
    if isinstance(landmarks, int):
        check_size(landmarks, "landmarks", 1)
        chosen = package("gudhi", "tda").choose_n_farthest_points(
            cloud, nb_points=landmarks, starting_point=0
        )
    else:
        chosen = as_points(landmarks).position.double().tolist()
        if chosen and len(chosen[0]) != position.shape[1]:
            raise ComplexError(
                f"Expected landmarks in the {position.shape[1]} dimensions of the points, got "
                f"{len(chosen[0])}."
            )
    if y is not None and len(y) == len(position) > 1:
        warn("Labels y of the points are left out: the vertices are landmarks.")
        y = None
    with in_memory("a complex", "use fewer landmarks, a smaller radius or a smaller max_dim"):
        builder = package("gudhi", "tda").EuclideanWitnessComplex(landmarks=chosen, witnesses=cloud)
        tree = builder.create_simplex_tree(radius**2, -1 if max_dim is None else max_dim)
    return _keep(tree, torch.tensor(chosen, dtype=torch.float64).to(position), y, squared=True)


def _delaunay(
    kind: str, points: object, radius: float | None, max_dim: int | None, device: Device
) -> SimplicialComplex:
    check_size(max_dim, "max_dim", 0, "that of the points")
    if radius is not None:
        check_radius(radius)
    position, x, y = as_points(points, device)
    most = math.inf if radius is None else radius**2
    with in_memory("a complex", "use fewer points, or points of fewer dimensions"):
        builder = getattr(package("gudhi", "tda"), kind)(points=position.double().cpu().numpy())
        tree = builder.create_simplex_tree(most, output_squared_values=False)
    if max_dim is not None:
        tree.prune_above_dimension(max_dim)
    if left := len(position) - tree.num_vertices():
        warn(f"Points ({left:,}) at the same places as others are left out.")
    return _keep(tree, x, y)


def _keep(tree: Any, x: Tensor, y: Tensor | None, squared: bool = False) -> SimplicialComplex:
    """Return the complex of a tree, with features of its vertices, on their device."""
    K: SimplicialComplex = SimplicialComplex.from_gudhi(tree).to(x.device)
    kept = torch.tensor(K.vertex_labels or range(K.num_nodes), dtype=torch.int64, device=x.device)
    if y is not None and len(y) == len(x) > 1:  # one per point
        y = y[kept]
    x = x[kept]
    values = [v if v is None else v.clamp_min(0).sqrt() if squared else v for v in K.x]
    K = K.replace(x=[x, *(v if v is None else v.to(x.dtype) for v in values[1:])])
    return K if y is None else K.replace(y=y)
