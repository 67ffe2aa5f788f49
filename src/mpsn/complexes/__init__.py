"""The value: simplicial complexes, their operators, and unions of them."""

from mpsn.complexes.batching import collate
from mpsn.complexes.complex import SimplicialComplex
from mpsn.complexes.homology import (
    HodgeParts,
    betti_numbers,
    harmonic_basis,
    hodge_decomposition,
)
from mpsn.complexes.incidence import degrees, grouped, incidence_signs
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
    "collate",
    "degrees",
    "flip",
    "grouped",
    "harmonic_basis",
    "hodge_decomposition",
    "hodge_laplacian",
    "incidence_signs",
    "permute",
]
