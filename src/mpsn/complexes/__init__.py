"""The values: incidences, simplicial complexes, and collections of them."""

from mpsn.complexes._batching import collate
from mpsn.complexes._homology import HodgeParts
from mpsn.complexes._operators import Adjacency
from mpsn.complexes._packed import ComplexDataset
from mpsn.complexes.incidence import Incidence
from mpsn.complexes.simplicial import SimplicialComplex

__all__ = ["Adjacency", "ComplexDataset", "HodgeParts", "Incidence", "SimplicialComplex", "collate"]
