"""The values: incidences, complexes of simplices, cubes or cells, and collections of them."""

from mpsn.complexes._collating import collate
from mpsn.complexes._homology import HodgeParts
from mpsn.complexes._loading import DataLoader
from mpsn.complexes._operators import Adjacency
from mpsn.complexes._packed import ComplexDataset
from mpsn.complexes._sampling import Part, SubcomplexLoader, neighborhood, partition
from mpsn.complexes._saving import load
from mpsn.complexes._symmetries import orientation
from mpsn.complexes.cellular import CellComplex
from mpsn.complexes.complex import Complex
from mpsn.complexes.cubical import CubicalComplex
from mpsn.complexes.incidence import Incidence
from mpsn.complexes.simplicial import SimplicialComplex

__all__ = [
    "Adjacency",
    "CellComplex",
    "Complex",
    "ComplexDataset",
    "CubicalComplex",
    "DataLoader",
    "HodgeParts",
    "Incidence",
    "Part",
    "SimplicialComplex",
    "SubcomplexLoader",
    "collate",
    "load",
    "neighborhood",
    "orientation",
    "partition",
]
