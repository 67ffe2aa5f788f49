"""Theorem 12: SNN (Ebli et al.) and SC-Conv (Bunch et al.) are special cases of the MPSN layer."""

import networkx as nx
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mpsn import nn
from mpsn.testing import complexes

CLOSE = {"atol": 1e-10, "rtol": 1e-10}


def dense(matrix):
    return matrix.to_dense()


def operators(K, k):
    """Return B_k, B_{k+1} dense, with no rows where there is no dimension below."""
    below = (
        dense(K.boundary_matrix(k, dtype=torch.float64))
        if k
        else torch.zeros(0, K.count(0), dtype=torch.float64)
    )
    return below, dense(K.boundary_matrix(k + 1, dtype=torch.float64))


@settings(max_examples=50)
@given(complexes(features=3, oriented=True), st.integers(0, 2), st.integers(0, 3))
def test_snn_is_its_formula(K, k, degree):
    torch.manual_seed(0)
    layer = nn.SNNConv(3, 4, degree, dim=k, act="tanh", bias=True).double()
    h = K.x[k] if k <= K.dim else torch.zeros(0, 3, dtype=torch.float64)
    L = dense(K.hodge_laplacian(k, dtype=torch.float64))
    total = layer.weights[0].bias + sum(
        torch.linalg.matrix_power(L, r) @ h @ w.weight.T for r, w in enumerate(layer.weights)
    )
    torch.testing.assert_close(layer(K, h), torch.tanh(total), **CLOSE)


@settings(max_examples=50)
@given(complexes(features=3, oriented=True), st.integers(0, 3))
def test_snn_is_a_stack_of_general_layers(K, degree):
    """Each layer adds one power; features carry (L^r h, the sum so far)."""
    torch.manual_seed(0)
    snn = nn.SNNConv(3, 4, degree, dim=1, act="tanh").double()
    xs = list(K.x)
    if K.dim < 1:
        return
    sums = [x @ snn.weights[0].weight.T for x in xs]
    states = [torch.cat([x, s], dim=1) for x, s in zip(xs, sums, strict=True)]
    for weight in snn.weights[1:]:

        def update(receiver, boundary, coboundary, lower, upper, w=weight):
            # A message that returns the receiver counts faces and co-faces: the diagonal of L.
            h = (boundary + coboundary + lower + upper)[:, :3]
            return torch.cat([h, receiver[:, 3:] + w(h)], dim=1)

        layer = nn.MPSNConv(
            update,
            boundary=lambda receiver, sender: receiver,
            coboundary=lambda receiver, sender: receiver,
            lower=lambda sender: sender,
            upper=lambda sender: sender,
            signed=True,
        )
        states = layer(K, states)
    torch.testing.assert_close(snn(K, xs[1]), torch.tanh(states[1][:, 3:]), **CLOSE)


@settings(max_examples=30)
@given(complexes(features=3, oriented=True).filter(lambda K: K.dim > 0), st.integers(1, 3))
def test_snn_is_one_layer_over_neighborhoods_of_radius_r(K, degree):
    """The proof's form: M_↓ and M_↑ over simplices up to R lower or upper steps away."""
    for k in range(K.dim + 1):
        torch.manual_seed(0)
        snn = nn.SNNConv(3, 4, degree, dim=k, act="tanh").double().requires_grad_(False)
        total = snn.weights[0](K.x[k])
        for kind, part in (("lower", "down"), ("upper", "up")):
            pairs = K.adjacency(k, kind)
            graph = nx.empty_graph(K.count(k))
            graph.add_edges_from(zip(pairs.receiver.tolist(), pairs.sender.tolist(), strict=True))
            L = dense(K.hodge_laplacian(k, part, dtype=torch.float64))
            powers = [torch.linalg.matrix_power(L, r) for r in range(1, degree + 1)]
            for cell, near in nx.all_pairs_shortest_path_length(graph, cutoff=degree):
                for other in near:
                    for power, weight in zip(powers, snn.weights[1:], strict=True):
                        total[cell] += power[cell, other] * weight(K.x[k][other])
        torch.testing.assert_close(snn(K, K.x[k]), torch.tanh(total), **CLOSE)


def bunch(K):
    """Write down the matrices of Bunch et al., section 2.1, densely and literally."""
    B1, B2 = (dense(K.boundary_matrix(k, dtype=torch.float64)) for k in (1, 2))
    one = torch.ones_like
    d0 = B1.abs().sum(1).clamp(min=1)
    d2 = B2.abs().sum(1).clamp(min=1)
    D0, D2 = torch.diag(d0), torch.diag(d2)
    D1_inv = torch.linalg.pinv(torch.diag(2 * (B1.abs() @ d2)))
    D5_inv = torch.linalg.pinv(torch.diag(B2.abs().sum(1)))
    D3, D4 = torch.eye(B2.shape[1]).double() / 3, torch.eye(B2.shape[1]).double()
    I0, I1, I2 = torch.diag(one(d0)), torch.diag(one(d2)), D4
    A0u = D0 - B1 @ B1.T
    A1u = D2 - B2 @ D3 @ B2.T
    A1d = torch.linalg.inv(D2) - B1.T @ D1_inv @ B1
    A2d = torch.linalg.inv(D4) - B2.T @ D5_inv @ B2
    return {
        "00": (A0u + I0) @ torch.linalg.inv(D0 + I0),
        "01": D1_inv @ B1,
        "10": D2 @ B1.T @ D1_inv,
        "11": (D2 + I1) @ (A1d + I1) + (A1u + I1) @ torch.linalg.inv(D2 + I1),
        "12": B2 @ D3,
        "21": D4 @ B2.T @ D5_inv,
        "22": (D4 + I2) @ (A2d + I2),
    }


def three(K):
    blank = torch.zeros(0, 3, dtype=torch.float64)
    return [K.x[k] if k <= K.dim else blank for k in range(3)]


@settings(max_examples=50)
@given(complexes(features=3, oriented=True))
def test_sc_conv_is_its_formula(K):
    torch.manual_seed(0)
    layer, S, xs = nn.SCConv(3, 4, act="tanh").double(), bunch(K), three(K)
    for to, got in enumerate(layer(K, xs)):
        total = sum(
            S[road] @ xs[int(road[1])] @ w.weight.T
            for road, w in layer.weights.items()
            if road[0] == str(to)
        )
        torch.testing.assert_close(got, torch.tanh(total), **CLOSE)


@settings(max_examples=50)
@given(complexes(features=3, oriented=True))
def test_sc_conv_is_a_general_layer(K):
    """Degrees and the diagonals ride along as features; messages weigh the sender by them."""
    torch.manual_seed(0)
    sc, S, xs = nn.SCConv(3, 4, act="tanh").double(), bunch(K), three(K)
    w = sc.weights
    d0, d2 = (K.incidence(k).degree.clamp(min=1).double() for k in (1, 2))
    d1 = 2 * K.incidence(1).from_cofaces(d2).clamp(min=1)
    extra = [
        torch.stack([d0, d1, S["00"].diag()], dim=1),
        torch.stack([d2, d2, S["11"].diag()], dim=1),
        torch.ones(K.count(2), 3, dtype=torch.float64) * S["22"].diag()[:, None],
    ]
    states = [torch.cat([x, e], dim=1) for x, e in zip(xs, extra, strict=True)]

    def first(t):  # degrees lose the sign that features of oriented simplices carry
        return t[:, 3:4].abs()

    def second(t):
        return t[:, 4:5].abs()

    def h(t):
        return t[:, :3]

    layer = nn.MPSNConv(
        [
            lambda receiver, coboundary, upper: torch.tanh(
                w["00"](receiver[:, 5:] * h(receiver) + upper) + w["01"](coboundary)
            ),
            lambda receiver, boundary, coboundary, lower, upper: torch.tanh(
                w["11"](receiver[:, 5:] * h(receiver) + lower + upper)
                + w["10"](boundary)
                + w["12"](coboundary)
            ),
            lambda receiver, boundary, lower: torch.tanh(
                w["22"](receiver[:, 5:] * h(receiver) + lower) + w["21"](boundary)
            ),
        ],
        boundary=[
            None,
            lambda receiver, sender: first(receiver) * h(sender) / second(sender),
            lambda sender: h(sender) / first(sender),
        ],
        coboundary=[
            lambda receiver, sender: h(sender) / second(receiver),
            lambda sender: h(sender) / 3,
            None,
        ],
        upper=[
            lambda sender: -h(sender) / (first(sender) + 1),
            lambda sender: -h(sender) / (first(sender) + 1) / 3,
            None,
        ],
        lower=[
            None,
            lambda receiver, sender, shared: -(first(receiver) + 1) * h(sender) / second(shared),
            lambda sender, shared: -2 * h(sender) / first(shared),
        ],
        signed=True,
    )
    for got, expected in zip(layer(K, states), sc(K, xs), strict=True):
        torch.testing.assert_close(got, expected, **CLOSE)


@pytest.mark.parametrize("k", [0, 1, 2, 3])
@settings(max_examples=30)
@given(K=complexes(features=3, oriented=True))
def test_linear_mpsn_scone_and_oriented_are_their_formulas(k, K):
    torch.manual_seed(0)
    xs = [K.x[i] if i <= K.dim else torch.zeros(0, 3).double() for i in range(4)]
    linear = nn.LinearMPSNConv(3, 4, max_dim=3, act="tanh").double()
    down, up = operators(K, k)
    h = xs[k]
    total = linear.own[k](h)
    if k > 0:
        total = total + linear.down[k - 1](down.T @ down @ h)
        total = total + linear.from_faces[k - 1](down.T @ xs[k - 1])
    if k < 3:
        total = total + linear.up[k](up @ up.T @ h) + linear.from_cofaces[k](up @ xs[k + 1])
    torch.testing.assert_close(linear(K, xs)[k], torch.tanh(total), **CLOSE)

    scone = nn.SCoNeConv(3, 4, dim=k).double()
    total = scone.down(down.T @ down @ h) + scone.own(h) + scone.up(up @ up.T @ h)
    torch.testing.assert_close(scone(K, h), torch.tanh(total), **CLOSE)

    oriented = nn.OrientedConv(3, 4, dim=k, act="tanh").double()
    lower, upper = down.T @ down, up @ up.T
    lower, upper = lower - torch.diag(lower.diag()), upper - torch.diag(upper.diag())
    total = oriented.own(h) + oriented.lower(lower @ h) + oriented.upper(upper @ h)
    torch.testing.assert_close(oriented(K, h), torch.tanh(total), **CLOSE)
