"""The value: simplicial complexes, their operators, and unions of them."""

from mpsn.complexes.batching import collate
from mpsn.complexes.complex import SimplicialComplex
from mpsn.complexes.homology import (
    HodgeParts,
    betti_numbers,
    harmonic_basis,
    hodge_decomposition,
)
from mpsn.complexes.incidence import by_face, degrees, incidence_signs
from mpsn.complexes.operators import (
    Adjacency,
    adjacency,
    boundary_matrix,
    hodge_laplacian,
)
from mpsn.complexes.orientation import flip, permute
from mpsn.complexes.packed import ComplexDataset

__all__ = [
    "Adjacency",
    "ComplexDataset",
    "HodgeParts",
    "SimplicialComplex",
    "adjacency",
    "betti_numbers",
    "boundary_matrix",
    "by_face",
    "collate",
    "degrees",
    "flip",
    "harmonic_basis",
    "hodge_decomposition",
    "hodge_laplacian",
    "incidence_signs",
    "permute",
]
