"""Intrinsic coordinates of the vertices of a complex."""

import math

import torch
from torch import Tensor

from mpsn.complexes import Complex
from mpsn.errors import ComplexError


def laplacian_coordinates(K: Complex, number: int) -> Tensor:
    """Return coordinates of the vertices, (n_0, number) float64, from the graph Laplacian.

    Eigenvectors of :math:`L_0` for its smallest positive eigenvalues, scaled to mean square 1 and
    signed so that the entry of largest magnitude is positive. Uses a dense matrix.

    Args:
        K: A connected complex.
        number: Number of coordinates.

    Example:
        >>> from mpsn_reproduction.papers.coordinates import laplacian_coordinates
        >>> K = SimplicialComplex.from_simplices([[0, 1], [1, 2]])
        >>> laplacian_coordinates(K, 1).round(decimals=2).T.abs()
        tensor([[1.2200, 0.0000, 1.2200]], dtype=torch.float64)
    """
    if not 1 <= number < K.num_nodes or K.betti_numbers()[0] != 1:
        raise ComplexError(
            f"Expected a connected complex of more than {number} >= 1 vertices, got {K} with "
            f"Betti numbers {K.betti_numbers()}; take a component, or fewer coordinates."
        )
    L = K.hodge_laplacian(0, dtype=torch.float64).to_dense()
    waves: Tensor = torch.linalg.eigh(L).eigenvectors[:, 1 : number + 1]
    largest = waves.gather(0, waves.abs().round(decimals=9).argmax(dim=0, keepdim=True))
    return waves * largest.sign() * math.sqrt(K.num_nodes)
