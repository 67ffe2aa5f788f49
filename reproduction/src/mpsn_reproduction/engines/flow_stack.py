"""Several edge-flow networks on one complex, evaluated and trained in one pass."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from mpsn._rows.sums import Matrix
from mpsn.complexes import Incidence, SimplicialComplex
from mpsn.errors import LayerError
from mpsn.nn._checks import activation
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
        >>> from mpsn_reproduction.engines.flow_stack import EdgeFlowStack
        >>> from mpsn.nn.models import EdgeFlowNet
        >>> K = mpsn.clique_complex(nx.karate_club_graph(), max_dim=2)
        >>> nets = [EdgeFlowNet(hidden=8) for _ in range(3)]
        >>> EdgeFlowStack(nets, K)(torch.randn(3, 78, 5, 1)).shape
        torch.Size([3, 5, 2])
    """

    def __init__(self, nets: Sequence[EdgeFlowNet], K: SimplicialComplex) -> None:
        super().__init__()
        if not nets or any(net.settings != nets[0].settings for net in nets):
            raise LayerError(
                f"Expected networks with the same keywords, got {list(nets)}; make a stack for "
                f"each kind."
            )
        if K.num_complexes != 1:
            raise LayerError(f"Expected one complex, got a union of {K.num_complexes}.")
        self.settings = nets[0].settings
        self.l0_inv, upper = nets[0].l0_inv, self.settings["upper"]
        self.kinds = ("own", "lower", "upper")[: 3 if upper else 2]
        self.nets = list(nets)  # in a plain list: their parameters are not the stack's
        stacked = torch.func.stack_module_state(self.nets)[0]
        self.names = list(stacked)
        self.stacked = torch.nn.ParameterList(stacked.values())
        self.products = _products(K, len(nets), upper, not self.l0_inv)
        self.act = activation(self.settings["act"])

    def forward(self, x: Tensor, signs: Tensor | None = None) -> Tensor:
        """Return (S, N, out_channels).

        Args:
            x: Flows (S, n_1, N, F), each in the orientation it is to be seen in.
            signs: Those orientations, ±1, (n_1, N): the boundary matrices are multiplied with them.
        """
        S, E = len(self.nets), self.products.edges
        if x.dim() != 4 or x.shape[:2] != (S, E) or x.shape[3] != self.nets[0].in_channels:
            raise LayerError(
                f"Expected flows of shape ({S}, {E}, N, {self.nets[0].in_channels}), "
                f"got {tuple(x.shape)}."
            )
        weights = dict(zip(self.names, self.stacked, strict=True))
        device = x.device.type
        dtype = torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else x.dtype
        turn = None if signs is None or self.l0_inv else signs[..., None].to(dtype)
        h = (x.abs() if self.l0_inv else x).to(dtype)
        for i in range(self.settings["layers"]):
            own, *others = (weights[f"convs.{i}.{kind}.weight"].mT for kind in self.kinds)
            for share, other in zip(self.products.shares, others, strict=True):
                own = own - share * other
            h = h if turn is None else turn * h
            h = _layer(self.products, h, [weight.to(dtype) for weight in (own, *others)])
            h = self.act(h if turn is None else turn * h)
        pooled = (h if self.l0_inv else h.abs()).sum(dim=1, dtype=x.dtype)  # (S, N, F)
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

    Rows of features come by block, and in a block by copy: edges; vertices; triangles.
    """

    copies: int
    edges: int
    blocks: list[int]  # number of vertices and of columns of B in one copy
    shares: list[int]  # what a product with each block counts too much of every edge itself
    spread: Matrix  # Cᵀ
    collect: Matrix  # [I, C]

    def parts(self, h: Tensor, z: Tensor) -> list[Tensor]:
        """Return the features (S, n N, F) of edges, vertices and triangles, from (rows, N, F)."""
        S, (_, N, F) = self.copies, h.shape
        parts = [h, *torch.split(z, [S * n for n in self.blocks])]
        return [part.view(S, len(part) // S * N, F) for part in parts]

    def project(self, h: Tensor, z: Tensor, weights: Sequence[Tensor]) -> Tensor:
        """Multiply edges, vertices and triangles with weights (S, F, G) of their own each."""
        out = h.new_empty(len(h) + len(z), h.shape[1], weights[0].shape[2])
        targets = self.parts(out[: len(h)], out[len(h) :])
        for part, weight, target in zip(self.parts(h, z), weights, targets, strict=True):
            torch.bmm(part, weight, out=target)
        return out


class _Layer(torch.autograd.Function):
    """h W + C (Cᵀ h) W', by blocks, on rows (S E, N, F), where C does not learn."""

    @staticmethod
    def forward(ctx: Any, products: _Products, h: Tensor, *weights: Tensor) -> Tensor:
        z = products.spread @ h  # (S (n_0 + n_2'), N, F)
        ctx.products = products
        ctx.save_for_backward(h, z, *weights)
        return products.collect @ products.project(h, z, weights)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        products: _Products = ctx.products
        h, z, *weights = ctx.saved_tensors
        grad = grad.contiguous()
        spread = products.spread @ grad
        of_h = None
        if ctx.needs_input_grad[1]:
            turned = products.project(grad, spread, [weight.mT for weight in weights])
            of_h = products.collect @ turned
        sides = zip(products.parts(h, z), products.parts(grad, spread), strict=True)
        chunks = h.shape[1]
        return None, of_h, *(_product_of_rows(left, right, chunks) for left, right in sides)


def _product_of_rows(left: Tensor, right: Tensor, chunks: int) -> Tensor:
    """Return leftᵀ right, (S, F, G), of very many rows: in chunks, which run in parallel."""
    S, rows = left.shape[0], left.shape[1] // max(1, chunks)
    left, right = (side.view(S * chunks, rows, side.shape[2]) for side in (left, right))
    return torch.bmm(left.mT, right).view(S, chunks, left.shape[2], right.shape[2]).sum(1)


def _layer(products: _Products, h: Tensor, weights: list[Tensor]) -> Tensor:
    """Return a layer before its non-linearity, from (S, E, N, F) to (S, E, N, G).

    If the input is narrower, what edges receive is gathered first, as 2 or 3 times F features, by
    a layer whose weights are unit vectors; the product with the weights then comes last.
    """
    S, E, N, F = h.shape
    wide, G = len(weights) * F, weights[0].shape[2]
    rows = h.reshape(S * E, N, F).contiguous()
    if wide >= G:
        out: Tensor = _Layer.apply(products, rows, *weights)  # type: ignore[no-untyped-call]
        return out.view(S, E, N, G)
    units = torch.eye(wide, dtype=h.dtype, device=h.device).view(-1, 1, F, wide)
    heard = _Layer.apply(products, rows, *units.expand(-1, S, -1, -1))  # type: ignore
    # Rows in N chunks: the derivative in the weights is then N products that run in parallel.
    out = heard.view(S, N, E, wide) @ torch.cat(weights, dim=1)[:, None]
    return out.view(S, E, N, G)


class _Block(NamedTuple):
    """Columns of C, n of them, for one copy: where they are not zero, and what they hold there."""

    edges: Tensor
    columns: Tensor
    values: Tensor
    n: int
    share: int


def _products(K: SimplicialComplex, copies: int, upper: bool, signed: bool) -> _Products:
    """Write down the sparse matrices for S copies of the complex."""
    blocks = [_vertices(K, signed), _triangles(K, signed)][: 2 if upper else 1]
    E, copy, before = K.count(1), torch.arange(copies, device=K.device)[:, None], 0
    parts = []
    for block in blocks:
        edges, columns = copy * E + block.edges, before + copy * block.n + block.columns
        parts.append((edges.reshape(-1), columns.reshape(-1), block.values.repeat(copies)))
        before += copies * block.n
    edge, column, value = (torch.cat(side) for side in zip(*parts, strict=True))
    own = torch.arange(copies * E, device=K.device)
    collect = Matrix.of(
        torch.cat([own, edge]),
        torch.cat([own, copies * E + column]),
        torch.cat([torch.ones_like(own, dtype=value.dtype), value]),
        (copies * E, copies * E + before),
    )
    spread = Matrix.of(column, edge, value, (before, copies * E))
    n, shares = [block.n for block in blocks], [block.share for block in blocks]
    return _Products(copies, E, n, shares, spread, collect)


def _vertices(K: SimplicialComplex, signed: bool) -> _Block:
    B = K.incidence(1)
    return _Block(B.cell, B.face, _values(B, signed), K.count(0), 2)


def _triangles(K: SimplicialComplex, signed: bool) -> _Block:
    """Return the triangles, and a column for each edge that is in fewer of them than another."""
    B = K.incidence(2)
    degree = B.degree
    most = int(degree.max()) if len(degree) else 0
    fewer = (degree < most).nonzero()[:, 0]
    n = K.count(2) + len(fewer)
    column = torch.arange(n, device=K.device)
    return _Block(
        torch.cat([B.face, fewer]),
        torch.cat([B.cell, column[K.count(2) :]]),
        torch.cat([_values(B, signed), (most - degree[fewer]).double().sqrt()]),
        n,
        most,
    )


def _values(B: Incidence, signed: bool) -> Tensor:
    return B.signs.double() if signed else torch.ones_like(B.face, dtype=torch.float64)
