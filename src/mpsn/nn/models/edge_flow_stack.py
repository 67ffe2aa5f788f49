"""Several edge-flow networks on one complex, evaluated and trained in one pass."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
import torch.nn.functional as nnf
from torch import Tensor

from mpsn.complexes import SimplicialComplex, grouped
from mpsn.errors import LayerError
from mpsn.nn.checks import activation
from mpsn.nn.functional import incidence
from mpsn.nn.models.edge_flow import EdgeFlowNet


class EdgeFlowStack(torch.nn.Module):
    r"""Edge-flow networks of one config, each with weights of its own, side by side.

    On one complex a layer before its non-linearity is, for every network,

    .. math:: h W_0 + (B_1^\top B_1 - 2) h W_1 + (B_2 B_2^\top - D) h W_2
        = h W + B_1^\top (B_1 h) W_1 + B (B^\top h) W_2, \qquad W = W_0 - 2 W_1 - m W_2

    where m is the largest number of triangles at an edge and B is :math:`B_2` with one more column
    for each edge at which there are fewer, holding :math:`\sqrt{m - D_e}`. So features are
    projected on vertices and triangles, of which a flat complex has as many as edges, instead of
    twice on edges; and with :math:`C = [B_1^\top, B]` there are two sparse products a layer,
    :math:`z = C^\top h` and :math:`[I, C]` times the projections of h and z. The derivative has the
    same form.

    Another orientation T of the edges is a sign on rows, :math:`T (TLT) (Th) = L h`: no matrix is
    built for it.

    Args:
        nets: The networks. The stack holds copies of their parameters, stacked along a new first
            dimension, in ``parameters()``; :meth:`write_back` copies them back.
        K: The complex, not a union.

    Shapes:
        S networks; x of shape (S, n_1, N, F) holds N flows for each; result (S, N, out_channels).

    Example:
        >>> from mpsn.nn.models import EdgeFlowConfig, EdgeFlowNet, EdgeFlowStack
        >>> K = mpsn.clique_complex(nx.karate_club_graph(), max_dim=2)
        >>> nets = [EdgeFlowNet(EdgeFlowConfig(hidden=8)) for _ in range(3)]
        >>> EdgeFlowStack(nets, K)(torch.randn(3, 78, 5, 1)).shape
        torch.Size([3, 5, 2])
    """

    def __init__(self, nets: Sequence[EdgeFlowNet], K: SimplicialComplex) -> None:
        super().__init__()
        if not nets or any(net.config != nets[0].config for net in nets):
            raise LayerError(
                f"Expected networks of one config, got {[net.config for net in nets]}; "
                "make a stack for each config."
            )
        if K.num_complexes != 1:
            raise LayerError(f"Expected one complex, got a union of {K.num_complexes}.")
        self.config = nets[0].config
        self.nets = list(nets)  # as a plain attribute: their parameters are not the stack's
        stacked = torch.func.stack_module_state(self.nets)[0]
        self.names = list(stacked)
        self.stacked = torch.nn.ParameterList(stacked.values())
        self.products = _products(K, len(nets), self.config.upper, not self.config.l0_inv)
        self.act = activation(self.config.act)

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "nets":
            object.__setattr__(self, name, value)
        else:
            super().__setattr__(name, value)

    def forward(self, x: Tensor, signs: Tensor | None = None) -> Tensor:
        """Return (S, N, out_channels).

        Args:
            x: Flows (S, n_1, N, F), each in the orientation it is to be seen in.
            signs: Those orientations, ±1, (n_1, N): the boundary matrices are multiplied with them.
        """
        S, E = len(self.nets), self.products.edges
        if x.dim() != 4 or x.shape[:2] != (S, E) or x.shape[3] != self.config.in_channels:
            raise LayerError(
                f"Expected flows of shape ({S}, {E}, N, {self.config.in_channels}), "
                f"got {tuple(x.shape)}."
            )
        weights = dict(zip(self.names, self.stacked, strict=True))
        turn = None if signs is None or self.config.l0_inv else signs[..., None].to(x.dtype)
        h = x.abs() if self.config.l0_inv else x
        for i in range(self.config.layers):
            own, *others = (
                weights[f"convs.{i}.{kind}.weight"].mT
                for kind in ("own", "lower", "upper")[: 3 if self.config.upper else 2]
            )
            for share, other in zip(self.products.shares, others, strict=True):
                own = own - share * other
            h = h if turn is None else turn * h
            h = _Layer.apply(self.products, h, own, *others)  # type: ignore[no-untyped-call]
            h = self.act(h if turn is None else turn * h)
        pooled = (h if self.config.l0_inv else h.abs()).sum(dim=1)  # (S, N, F)
        hidden = torch.baddbmm(
            weights["head.0.bias"][:, None], pooled, weights["head.0.weight"].mT
        ).relu()
        return torch.baddbmm(weights["head.2.bias"][:, None], hidden, weights["head.2.weight"].mT)

    def write_back(self) -> None:
        """Copy the parameters to the networks the stack was made from."""
        for s, net in enumerate(self.nets):
            net.load_state_dict(
                {name: p[s].detach() for name, p in zip(self.names, self.stacked, strict=True)}
            )


class _Products(NamedTuple):
    """The sparse products with Cᵀ and [I, C] for S copies of a complex, and what goes with them.

    A product is an embedding bag: for each row, which rows to add up, and with which weights.
    """

    copies: int
    edges: int
    blocks: list[int]  # columns of C that belong to vertices, and to triangles
    shares: list[int]  # what a product with each block counts too much of every edge itself
    spread: tuple[Tensor, Tensor, Tensor]  # index, offsets, weights of Cᵀ
    collect: tuple[Tensor, Tensor, Tensor]  # those of [I, C]

    def project(self, h: Tensor, z: Tensor, weights: Sequence[Tensor]) -> Tensor:
        """Multiply edges, vertices and triangles with weights (S, F, G) of their own, one each."""
        S, E, N, _ = h.shape
        out = h.new_empty(S, E + sum(self.blocks), N, weights[0].shape[2])
        rows = [E, *self.blocks]
        targets = torch.split(out.flatten(1, 2), [n * N for n in rows], dim=1)
        for part, weight, target in zip(self.parts(h, z), weights, targets, strict=True):
            torch.bmm(part, weight, out=target)
        return out

    def parts(self, h: Tensor, z: Tensor) -> list[Tensor]:
        """Return edges, vertices and triangles as matrices, (S, rows N, F) each."""
        rows = [n * h.shape[2] for n in self.blocks]
        return [h.flatten(1, 2), *torch.split(z.flatten(1, 2), rows, dim=1)]


class _Layer(torch.autograd.Function):
    """h W + C (Cᵀ h) W', by blocks, where C does not learn."""

    @staticmethod
    def forward(ctx: Any, products: _Products, h: Tensor, *weights: Tensor) -> Tensor:
        h = h.contiguous()
        z = _bag(products.spread, h)  # (S, n_0 + n_2', N, F)
        ctx.products = products
        ctx.save_for_backward(h, z, *weights)
        return _bag(products.collect, products.project(h, z, weights))

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        products: _Products = ctx.products
        h, z, *weights = ctx.saved_tensors
        grad = grad.contiguous()
        spread = _bag(products.spread, grad)
        sides = zip(products.parts(h, z), products.parts(grad, spread), strict=True)
        of_weights = [left.mT @ right for left, right in sides]
        of_h = None
        if ctx.needs_input_grad[1]:
            turned = products.project(grad, spread, [weight.mT for weight in weights])
            of_h = _bag(products.collect, turned)
        return None, of_h, *of_weights


def _bag(product: tuple[Tensor, Tensor, Tensor], h: Tensor) -> Tensor:
    """Multiply a sparse matrix with the rows of S copies, (S, n, N, F)."""
    index, offsets, weights = product
    out = nnf.embedding_bag(
        index, h.flatten(0, 1).flatten(1), offsets, mode="sum", per_sample_weights=weights.to(h)
    )
    return out.view(h.shape[0], -1, *h.shape[2:])


def _products(K: SimplicialComplex, copies: int, upper: bool, signed: bool) -> _Products:
    """Write down the non-zero entries of C, by column and by row, for a number of copies."""
    E, device = K.count(1), K.device
    edge, column, value = [], [], []
    blocks, shares = [K.count(0)], [2]
    faces, signs = incidence(K, 1, signed)
    own = torch.arange(E, device=device)
    edge.append(own.repeat_interleave(2))
    column.append(faces.reshape(-1))
    value.append(torch.ones_like(column[0]) if signs is None else signs.reshape(-1))
    if upper:
        faces, signs = incidence(K, 2, signed)
        triangles = torch.arange(K.count(2), device=device).repeat_interleave(3)
        degree = torch.bincount(faces.reshape(-1), minlength=E)
        most = int(degree.max()) if E else 0
        fewer = (degree < most).nonzero()[:, 0]
        edge += [faces.reshape(-1), fewer]
        column += [blocks[0] + triangles, blocks[0] + K.count(2) + torch.arange(len(fewer)).to(own)]
        value += [torch.ones_like(triangles) if signs is None else signs.reshape(-1)]
        value += [(most - degree[fewer]).double().sqrt()]
        blocks.append(K.count(2) + len(fewer))
        shares.append(most)
    rows, columns = torch.cat(edge), torch.cat(column)
    values = torch.cat([v.double() for v in value])
    M = sum(blocks)
    spread = _csr(columns, rows, values, M, E, copies)
    collect = _csr(
        torch.cat([own, rows]),
        torch.cat([own, columns + E]),
        torch.cat([torch.ones_like(own).double(), values]),
        E,
        E + M,
        copies,
    )
    return _Products(copies, E, blocks, shares, spread, collect)


def _csr(
    rows: Tensor, columns: Tensor, values: Tensor, n: int, m: int, copies: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Return index, offsets and weights of an (n, m) matrix, repeated along the diagonal."""
    order, ptr = grouped(rows, n)
    copy = torch.arange(copies, device=rows.device)[:, None]
    index = (columns[order] + copy * m).reshape(-1)
    offsets = (ptr[:-1] + copy * len(order)).reshape(-1)
    return index, offsets, values[order].repeat(copies)
