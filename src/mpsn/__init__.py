"""Message passing simplicial networks.

Graphs only know pairs. Simplicial complexes also know triangles, tetrahedra and so on, and a
network that passes messages between simplices sees what ordinary graph networks cannot.

    >>> K = mpsn.clique_complex(nx.karate_club_graph(), max_dim=2)
    >>> K, K.betti_numbers()
    (SimplicialComplex(dim=2, counts=(34, 78, 45)), (1, 9, 9))

Names are imported when they are first used, so that ``import mpsn`` and the command line's help
need not wait for torch.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mpsn import (
        complexes,
        convert,
        datasets,
        estimators,
        lifting,
        nn,
        plotting,
        regions,
        testing,
        training,
        wl,
    )
    from mpsn.complexes import (
        CellComplex,
        ComplexDataset,
        CubicalComplex,
        DataLoader,
        SimplicialComplex,
        SubcomplexLoader,
        collate,
        load,
    )
    from mpsn.datasets import read_graphs, read_molecules
    from mpsn.errors import MPSNError
    from mpsn.lifting import (
        Lift,
        alpha_complex,
        clique_complex,
        clique_complexes,
        cube_complex,
        cube_complexes,
        cubical_complex,
        from_groups,
        lift_features,
        mesh_complex,
        ring_complex,
        ring_complexes,
        rips_complex,
    )

__version__ = "0.1.0"

__all__ = [
    "CellComplex",
    "ComplexDataset",
    "CubicalComplex",
    "DataLoader",
    "Lift",
    "MPSNError",
    "SimplicialComplex",
    "SubcomplexLoader",
    "alpha_complex",
    "clique_complex",
    "clique_complexes",
    "collate",
    "complexes",
    "convert",
    "cube_complex",
    "cube_complexes",
    "cubical_complex",
    "datasets",
    "estimators",
    "from_groups",
    "lift_features",
    "lifting",
    "load",
    "mesh_complex",
    "nn",
    "plotting",
    "read_graphs",
    "read_molecules",
    "regions",
    "ring_complex",
    "ring_complexes",
    "rips_complex",
    "testing",
    "training",
    "wl",
]

_HOMES = {
    "CellComplex": "mpsn.complexes",
    "ComplexDataset": "mpsn.complexes",
    "CubicalComplex": "mpsn.complexes",
    "DataLoader": "mpsn.complexes",
    "Lift": "mpsn.lifting",
    "MPSNError": "mpsn.errors",
    "SimplicialComplex": "mpsn.complexes",
    "SubcomplexLoader": "mpsn.complexes",
    "alpha_complex": "mpsn.lifting",
    "clique_complex": "mpsn.lifting",
    "clique_complexes": "mpsn.lifting",
    "collate": "mpsn.complexes",
    "cube_complex": "mpsn.lifting",
    "cube_complexes": "mpsn.lifting",
    "cubical_complex": "mpsn.lifting",
    "from_groups": "mpsn.lifting",
    "lift_features": "mpsn.lifting",
    "load": "mpsn.complexes",
    "mesh_complex": "mpsn.lifting",
    "read_graphs": "mpsn.datasets",
    "read_molecules": "mpsn.datasets",
    "ring_complex": "mpsn.lifting",
    "ring_complexes": "mpsn.lifting",
    "rips_complex": "mpsn.lifting",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name not in _HOMES:
        return importlib.import_module(f"{__name__}.{name}")
    value = globals()[name] = getattr(importlib.import_module(_HOMES[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
