"""The matrix of a layer before its activation."""

import copy
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from mpsn.complexes import SimplicialComplex
from mpsn.errors import MPSNError


def layer_matrix(
    layer: Callable[[SimplicialComplex, Sequence[Tensor]], Sequence[Tensor]],
    K: SimplicialComplex,
    widths: Sequence[int],
    outputs: Sequence[int] | None = None,
    populate: Callable[[Tensor], Sequence[Tensor]] | None = None,
) -> NDArray[np.float64]:
    r"""Return the matrix W of a layer on a complex, with out = ψ(W in).

    The paper's standard form (equation "MPSN full standard"): in and out are
    :math:`\operatorname{vec}` of the features, column by column within a dimension, dimension by
    dimension, so that a term :math:`M H V` of the layer is a block :math:`V^\top \otimes M` of W.
    The layer is called once per input coordinate.

    Args:
        layer: ``layer(K, xs)``, linear in the features except for its activation ``layer.act``.
        K: The complex.
        widths: Width d_n of the input per dimension.
        outputs: Dimensions of the output to include. Defaults to all.
        populate: A linear map from vertex features (S_0, d_0) to the features of all dimensions.
            The matrix is then W C, with C the matrix of this map, and ``in`` the vertex features.

    Returns:
        Float64 array (M, N), with M the number of outputs and N the number of inputs.

    Example:
        >>> K = mpsn.clique_complex(nx.complete_graph(3))
        >>> layer = mpsn.nn.LinearMPSNConv(1, 3, max_dim=2, act="relu")
        >>> mpsn.regions.layer_matrix(layer, K, [1, 1, 1]).shape
        (21, 7)
    """
    linear: Any = layer
    if isinstance(layer, torch.nn.Module):
        linear = copy.deepcopy(layer).double().eval()
        if hasattr(linear, "act"):
            linear.act = torch.nn.Identity()
    inputs = widths[:1] if populate else widths
    shapes = [(K.count(n), d) for n, d in enumerate(inputs)]
    sizes = [s * d for s, d in shapes]

    def apply(vector: Tensor) -> Tensor:
        parts = torch.split(vector, sizes)
        xs = [part.reshape(d, s).T.contiguous() for part, (s, d) in zip(parts, shapes, strict=True)]
        out = linear(K, list(populate(xs[0])) if populate else xs)
        chosen = range(len(out)) if outputs is None else outputs
        return torch.cat([out[n].T.reshape(-1) for n in chosen])

    with torch.no_grad():
        columns = torch.eye(sum(sizes), dtype=torch.float64)
        matrix = torch.stack([apply(column) for column in columns], dim=1)
        generator = torch.Generator().manual_seed(0)
        probe = torch.randn(sum(sizes), dtype=torch.float64, generator=generator)
        near = 1e-8 * float((matrix.abs() @ probe.abs()).sum())
        # Both signs and two sizes: a relu, an abs or a clamp fails one of them.
        if not all(
            torch.allclose(apply(c * probe) / c, matrix @ probe, atol=near) for c in (1, -1, 100)
        ):
            raise MPSNError(
                "Expected a layer that is linear before its activation, got one that is not; "
                "remove biases and inner activations, and name the last one `act`."
            )
    return matrix.numpy()
