"""Any graph layer along chosen neighborhoods of a complex."""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from mpsn.complexes.complex import Complex
from mpsn.complexes.internal import Kind, pairs_of
from mpsn.errors import LayerError
from mpsn.nn._checks import Activation, activation, check_input

Neighborhood = tuple[int, Kind]


class NeighborhoodConv(torch.nn.Module):
    r"""Graph layers along neighborhoods of a complex (Papillon et al. 2024, GCCN).

    .. math:: H_k' = \psi\Bigl(\sum_{N \text{ of } k} \omega_N(H_{k_N}, H_k, N)\Bigr)

    Each neighborhood is a typed graph in the Hasse diagram of the complex, or between the cells of
    one dimension, on which a layer of PyG runs, or any module with its signature.

    Args:
        layers: The layer of each neighborhood, a dimension k of receivers and a kind
            ``"boundary"``, ``"coboundary"``, ``"lower"`` or ``"upper"`` of senders. It is called
            as ``layer((senders, receivers), edge_index)`` for the first two, and
            ``layer(x, edge_index)`` for the others.
        act: ψ: an activation of torch by name, ``"id"``, or a function. Defaults to ``"relu"``.

    Shapes:
        One tensor (n_k, F) per dimension in; G instead of F out. Dimensions that receive nothing
        keep their features.

    Example:
        >>> from torch_geometric.nn import GATConv, SAGEConv
        >>> K = mpsn.clique_complex(nx.karate_club_graph(), max_dim=2)
        >>> layer = mpsn.nn.NeighborhoodConv({
        ...     (0, "upper"): GATConv(3, 8), (1, "boundary"): SAGEConv(3, 8),
        ...     (1, "lower"): SAGEConv(3, 8), (2, "boundary"): SAGEConv(3, 8)})
        >>> [tuple(x.shape) for x in layer(K, [torch.randn(n, 3) for n in K.counts])]
        [(34, 8), (78, 8), (45, 8)]
    """

    def __init__(
        self, layers: Mapping[Neighborhood, torch.nn.Module], *, act: str | Activation = "relu"
    ) -> None:
        super().__init__()
        if not layers:
            raise LayerError("Expected a layer for at least one neighborhood, got none.")
        self.neighborhoods = tuple(layers)
        self.layers = torch.nn.ModuleList(layers.values())
        self.act = activation(act)

    def forward(self, K: Complex, xs: Sequence[Tensor]) -> list[Tensor]:
        """Return new features per dimension; the inputs are not modified."""
        check_input(K, xs)
        out = list(xs)
        received: dict[int, list[Tensor]] = {}
        for (k, kind), layer in zip(self.neighborhoods, self.layers, strict=True):
            near = {"boundary": k - 1, "coboundary": k + 1}.get(kind, k)
            if not 0 <= min(k, near) <= max(k, near) < len(xs):
                raise LayerError(
                    f"Expected features of dimensions {k} and {near} for the neighborhood "
                    f"{(k, kind)}, got {len(xs)} tensors."
                )
            pairs = pairs_of(K, k, kind)
            edge_index = torch.stack([pairs.sender, pairs.receiver])
            x = xs[k] if near == k else (xs[near], xs[k])
            received.setdefault(k, []).append(layer(x, edge_index))
        for k, messages in received.items():
            out[k] = self.act(torch.stack(messages).sum(0))
        return out

    def extra_repr(self) -> str:
        """Return the neighborhoods."""
        return ", ".join(f"{kind} of {k}" for k, kind in self.neighborhoods)
