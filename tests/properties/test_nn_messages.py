"""Fast path = explicit pairs = the definition, spelled out; batching = looping."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import mpsn
from mpsn import nn
from mpsn.testing import complexes

KINDS = ("boundary", "coboundary", "lower", "upper")
signed = st.booleans()
reduces = st.sampled_from(["sum", "mean"])


def keep(receiver, boundary, coboundary, lower, upper):
    return torch.cat([receiver, boundary, coboundary, lower, upper], dim=-1)


def one(sender):
    return torch.cos(sender) * 2


def two(sender, shared):
    return torch.cos(sender - 2 * shared)


def fast(signed, aggr):
    return nn.MPSNConv(
        keep, boundary=one, coboundary=one, lower=two, upper=two, signed=signed, aggr=aggr
    )


def slow(signed, aggr):
    return nn.MPSNConv(
        keep,
        boundary=lambda receiver, sender: one(sender),
        coboundary=lambda receiver, sender: one(sender),
        lower=lambda receiver, sender, shared: two(sender, shared),
        upper=lambda receiver, sender, shared: two(sender, shared),
        signed=signed,
        aggr=aggr,
    )


def by_definition(K, xs, signed, aggr):
    """Spell out the paper's sums with vertex sets and loops."""
    sets = [[frozenset(row) for row in K.simplices(k).tolist()] for k in range(len(xs))]
    sign = {}
    for k in range(1, len(xs)):
        for s, (row, o) in enumerate(
            zip(K.faces(k).tolist(), K.incidence(k).signs.view(-1, k + 1).tolist(), strict=True)
        ):
            for f, value in zip(row, o, strict=True):
                sign[sets[k][s], sets[k - 1][f]] = value if signed else 1

    def o(a, b):
        return sign[a, b] if len(a) > len(b) else sign[b, a]

    def total(messages):
        zero = torch.zeros(xs[0].shape[1], dtype=torch.float64)
        return sum(messages, zero) / (max(len(messages), 1) if aggr == "mean" else 1)

    out = []
    for k, x in enumerate(xs):
        rows = []
        for i, s in enumerate(sets[k]):
            parts = [x[i]]
            for step in (-1, 1):
                near = sets[k + step] if 0 <= k + step < len(xs) else []
                touching = [j for j, t in enumerate(near) if s < t or t < s]
                parts.append(total([o(s, near[j]) * one(xs[k + step][j]) for j in touching]))
            for step in (-1, 1):
                near = sets[k + step] if 0 <= k + step < len(xs) else []
                messages = []
                for j, t in enumerate(sets[k]):
                    shared = s & t if step < 0 else s | t
                    if j != i and shared in near:
                        d = xs[k + step][near.index(shared)]
                        frame = o(t, shared)
                        messages.append(o(s, shared) * frame * two(xs[k][j], frame * d))
                parts.append(total(messages))
            rows.append(torch.cat(parts))
        out.append(torch.stack(rows) if rows else x.new_zeros(0, 5 * x.shape[1]))
    return out


@given(complexes(max_vertices=6, features=2, oriented=True), signed, reduces)
def test_fast_path_pairs_and_definition_agree(K, signed, aggr):
    xs = list(K.x)
    by_pairs = slow(signed, aggr)(K, xs)
    for got, pairs, twin in zip(
        fast(signed, aggr)(K, xs), by_pairs, by_definition(K, xs, signed, aggr), strict=True
    ):
        torch.testing.assert_close(got, pairs, atol=1e-12, rtol=1e-12)
        torch.testing.assert_close(got, twin, atol=1e-12, rtol=1e-12)


@pytest.mark.parametrize("kind", ["cell", "cubical"])
@given(data=st.data())
def test_fast_path_and_pairs_agree_on_cells(kind, data):
    K = data.draw(complexes(max_vertices=6, features=2, oriented=True, kind=kind))
    signed_, aggr = data.draw(signed), data.draw(reduces)
    xs = list(K.x)
    pairs = slow(signed_, aggr)(K, xs)
    torch.testing.assert_close(fast(signed_, aggr)(K, xs), pairs, atol=1e-12, rtol=1e-12)


@pytest.mark.parametrize("kind", ["simplicial", "cell", "cubical"])
@settings(max_examples=20)
@given(data=st.data())
def test_batching_equals_looping(kind, data):
    one = complexes(max_vertices=5, features=2, oriented=True, kind=kind)
    many = data.draw(st.lists(one, max_size=4))
    torch.manual_seed(0)
    union = mpsn.collate(many)
    layers = [
        nn.SINConv(2, 3, max_dim=3),
        nn.SINConv(2, 3, max_dim=3, coface_message=False, act="relu"),
        nn.CINConv(2, 3, max_dim=3, lower=True),
        nn.LinearMPSNConv(2, 3, max_dim=3, act="tanh"),
        fast(signed=True, aggr="mean"),
    ]
    for layer in layers:
        layer.double()
        blank = torch.zeros(0, 2, dtype=torch.float64)
        xs = [x if x is not None else blank for x in (*union.x, *[None] * 4)][:4]
        together = layer(union, xs)
        alone = [layer(K, [*K.x, *[blank] * 4][:4]) for K in many]
        for k in range(4):
            rows = torch.cat([y[k] for y in alone]) if alone else together[k]
            torch.testing.assert_close(together[k], rows)


@given(complexes(max_vertices=6, features=3, oriented=True), st.integers(1, 4))
def test_a_batch_of_cochains_equals_the_disjoint_union(K, batch):
    torch.manual_seed(0)
    h = torch.randn(K.count(1), batch, 3, dtype=torch.float64)
    layer = nn.OrientedConv(3, 4, act="tanh").double()
    union = mpsn.collate([K] * batch)
    apart = layer(union, h.transpose(0, 1).reshape(-1, 3)).view(batch, -1, 4)
    torch.testing.assert_close(layer(K, h), apart.transpose(0, 1))
    net = nn.models.EdgeFlowNet(in_channels=3, hidden=8).double()
    torch.testing.assert_close(net(K, h), net(union, h.transpose(0, 1).reshape(-1, 3)))


@pytest.mark.parametrize("layer", [nn.SINConv, nn.LinearMPSNConv])
@settings(max_examples=30)
@given(complexes(max_vertices=6, features=3, oriented=True))
def test_batched_features_equal_one_by_one(layer, K):
    torch.manual_seed(0)
    conv = layer(3, 4, max_dim=3).double()
    xs = [torch.randn(K.count(k), 2, 3, dtype=torch.float64) for k in range(4)]
    together = conv(K, xs)
    for b in range(2):
        for y, one_ in zip(together, conv(K, [x[:, b] for x in xs]), strict=True):
            torch.testing.assert_close(y[:, b], one_)
