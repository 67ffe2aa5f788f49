"""The general layer: who is called how, what is refused, any aggregation."""

import copy

import networkx as nx
import pytest
import torch
from torch_geometric.nn.aggr import (
    MeanAggregation,
    SoftmaxAggregation,
    SortAggregation,
    SumAggregation,
)

import mpsn
from mpsn import SimplicialComplex, nn
from mpsn.errors import LayerError

KINDS = ("boundary", "coboundary", "lower", "upper")


@pytest.fixture(scope="module")
def K():
    return mpsn.clique_complex(nx.karate_club_graph(), max_dim=2)


@pytest.fixture(scope="module")
def xs(K):
    torch.manual_seed(0)
    return [torch.randn(n, 3, dtype=torch.float64) for n in K.counts]


def same(sender):
    return sender


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "aggr", ["max", "min", "mul", "std", "median", ["sum", "mean", "max"], SoftmaxAggregation()]
)
def test_any_aggregation_runs_over_the_neighbours(K, xs, kind, aggr):
    layer = nn.MPSNConv(lambda receiver, **m: m[kind], **{kind: same}, aggr=aggr)
    wanted = layer.aggr
    for k, out in enumerate(layer_out(layer, K, xs)):
        step = {"boundary": -1, "coboundary": 1}.get(kind, 0)
        near = k + {"boundary": -1, "lower": -1}.get(kind, 1)
        if not 0 <= near < len(xs):
            assert out.shape[0] == K.count(k)
            assert not out.any()
            continue
        pairs = K.adjacency(k, kind)
        for row in range(0, K.count(k), 7):
            heard = xs[k + step][pairs.sender[pairs.receiver == row]]
            if len(heard) == 0:
                assert not out[row].any()
                continue
            index = torch.zeros(len(heard), dtype=torch.int64)
            torch.testing.assert_close(out[row], wanted(heard, index, dim_size=1, dim=0)[0])


def layer_out(layer, K, xs):
    assert torch.isfinite(torch.cat([y.flatten() for y in layer(K, xs)])).all()
    return layer(K, xs)


def test_aggregations_that_ask_for_sorted_receivers_get_them(K, xs):
    layer = nn.MPSNConv(lambda lower: lower, lower=same, aggr=SortAggregation(2))
    pairs, out = K.adjacency(1, "lower"), layer(K, xs)[1]
    for row in range(0, K.count(1), 5):
        heard = xs[1][pairs.sender[pairs.receiver == row]]  # the two with the largest last entry
        two = heard[heard[:, -1].argsort(descending=True)][:2].flatten()
        torch.testing.assert_close(out[row, : len(two)], two)


def test_simplices_without_senders_receive_zeros():
    K = SimplicialComplex.from_simplices([[0, 1], [1, 2]], 4)  # vertex 3 has no neighbour
    xs = [torch.ones(n, 2) for n in K.counts]
    for aggr in ("sum", "mean", "max", "mul", "softmax", ["sum", "mul"]):
        layer = nn.MPSNConv(lambda upper: upper, upper=same, aggr=aggr)
        assert not layer(K, xs)[0][3].any()


@pytest.mark.parametrize(
    ("aggr", "parts"),
    [
        (SumAggregation(), ["sum"]),
        (MeanAggregation(), ["mean"]),
        (["sum", MeanAggregation(), "add"], ["sum", "mean", "sum"]),
    ],
)
@pytest.mark.parametrize("kind", KINDS)
def test_sums_and_means_under_any_name_cost_linear_time(K, xs, kind, aggr, parts):
    called = []

    def message(sender):
        called.append(len(sender))
        return torch.tanh(sender)

    def slow(sender, receiver):
        return torch.tanh(sender)

    def update(**received):
        return received[kind]

    fast = nn.MPSNConv(update, **{kind: message}, aggr=aggr)(K, xs)
    assert max(called) <= max(K.counts)
    for i, part in enumerate(parts):
        one = nn.MPSNConv(update, **{kind: slow}, aggr=part)(K, xs)
        for got, right in zip(fast, one, strict=True):
            torch.testing.assert_close(got[:, 3 * i : 3 * i + 3], right)


def test_activations_in_place_leave_features_alone(K, xs):
    class Layer(nn.MPSNConv):
        def __init__(self):
            super().__init__(boundary=torch.nn.ReLU(inplace=True), upper=[torch.nn.ReLU(True)] * 3)
            self.act = torch.nn.ReLU(inplace=True)

        def update(self, receiver, boundary, upper):
            return self.act(receiver) + boundary + upper

    before = [x.clone() for x in xs]
    out = Layer()(K, xs)
    assert all(torch.equal(a, b) for a, b in zip(xs, before, strict=True))
    plain = nn.MPSNConv(
        lambda receiver, boundary, upper: receiver.relu() + boundary + upper,
        boundary=torch.relu,
        upper=torch.relu,
    )
    torch.testing.assert_close(out, plain(K, xs))


def test_methods_functions_modules_and_lists_say_the_same(K, xs):
    torch.manual_seed(0)
    dense = [torch.nn.Linear(3, 3).double() for _ in range(3)]

    class Layer(nn.MPSNConv):
        def __init__(self):
            super().__init__()
            self.dense = torch.nn.ModuleList(dense)

        def upper(self, sender, dim):
            return self.dense[dim](sender)

        def update(self, receiver, upper):
            return receiver + upper

    by_method = Layer()
    by_list = nn.MPSNConv(lambda receiver, upper: receiver + upper, upper=dense)
    for a, b in zip(by_method(K, xs), by_list(K, xs), strict=True):
        assert torch.equal(a, b)
    assert len(list(by_list.parameters())) == 6
    for a, b in zip(copy.deepcopy(by_method)(K, xs), by_list(K, xs), strict=True):
        assert torch.equal(a, b)


def test_a_copy_has_weights_of_its_own(K, xs):
    layer = nn.MPSNConv(
        lambda upper: upper, upper=[torch.nn.Linear(3, 3).double(), None, same][:1] * 3
    )
    twin = copy.deepcopy(layer)
    with torch.no_grad():
        for p in twin.parameters():
            p.zero_()
    assert layer(K, xs)[0].abs().sum() > 0
    assert twin(K, xs)[0].abs().sum() == 0


def test_messages_left_out_do_not_reach_the_update(K, xs):
    def update(receiver, boundary, upper=None):
        assert upper is None
        return receiver + boundary

    out = nn.MPSNConv(update, boundary=[None, same, same])
    with pytest.raises(TypeError):
        out(K, xs)  # there is no boundary message in dimension 0 for an update that adds it
    out = nn.MPSNConv(update, boundary=same)(K, xs)
    assert torch.equal(out[0], xs[0])


def test_receiver_free_messages_are_called_once_per_simplex_or_incidence(K, xs):
    seen = []

    def upper(sender, shared):
        seen.append(len(sender))
        return sender

    nn.MPSNConv(lambda upper: upper, upper=upper)(K, xs)
    assert seen == [2 * K.count(1), 3 * K.count(2), 0]
    seen.clear()

    def lower(sender):
        seen.append(len(sender))
        return sender

    nn.MPSNConv(lambda lower: lower, lower=lower)(K, xs)
    assert seen == [0, K.count(1), K.count(2)]


def test_simplices_above_the_features_are_left_out(K, xs):
    layer = nn.MPSNConv(lambda upper: upper, upper=same)
    assert layer(K, xs[:1])[0].abs().sum() == 0
    assert [y.shape for y in layer(SimplicialComplex(), [])] == []


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: nn.MPSNConv(upper=same), "Expected an update function, got none"),
        (
            lambda: nn.MPSNConv(same, upper=same),
            "Expected update to take arguments named receiver, boundary",
        ),
        (
            lambda: nn.MPSNConv(lambda upper: upper, upper=lambda sender, edge: sender),
            "Expected upper to take arguments named receiver, sender, dim, shared, got edge",
        ),
        (
            lambda: nn.MPSNConv(lambda boundary: boundary, boundary=lambda sender, shared: sender),
            "Expected boundary to take arguments named receiver, sender, dim, got shared",
        ),
        (
            lambda: nn.MPSNConv(lambda upper: upper, upper=lambda *args: args[0]),
            "Expected upper to take arguments named",
        ),
        (lambda: nn.MPSNConv(lambda upper: upper, upper=3), "upper as a function or a list.*got 3"),
        (
            lambda: nn.MPSNConv(lambda upper: upper, upper=[same, 3]),
            "upper as a function or a list.*got 3",
        ),
        (
            lambda: nn.MPSNConv(lambda upper: upper, upper=same, aggr="sume"),
            "aggr as an aggregation of PyG, a name or a list, got 'sume'",
        ),
        (
            lambda: nn.MPSNConv(lambda upper: upper, upper=same, aggr=7),
            "aggr as an aggregation of PyG, a name or a list, got 7",
        ),
    ],
)
def test_functions_that_cannot_be_called_are_refused_at_once(make, message):
    with pytest.raises(LayerError, match=message):
        make()


def test_a_method_and_an_argument_of_one_name_are_refused():
    class Layer(nn.MPSNConv):
        def update(self, receiver):
            return receiver

    with pytest.raises(LayerError, match="Expected update as a method or as an argument, got both"):
        Layer(update=lambda receiver: receiver)


def test_wrong_rows_and_missing_updates_are_named(K, xs):
    layer = nn.MPSNConv([lambda receiver: receiver, None, None])
    with pytest.raises(LayerError, match="update function for dimension 1, got none"):
        layer(K, xs)
    with pytest.raises(LayerError, match="features of the 34 0-cells, one row each"):
        layer(K, xs[1:])
    with pytest.raises(LayerError, match="features of the 34 0-cells, one row each, got None"):
        layer(K, [None, *xs[1:]])
    with pytest.raises(LayerError, match="Expected a complex, got Graph"):
        layer(nx.karate_club_graph(), xs)
    with pytest.raises(LayerError, match="a list of features per dimension, got Tensor"):
        layer(K, xs[0])
    layer = nn.MPSNConv(lambda upper: upper, upper=[same])
    with pytest.raises(LayerError, match=r"in upper a function or None for each of 3.*got 1"):
        layer(K, xs)


def test_an_update_that_takes_a_message_nobody_sends():
    class Layer(nn.MPSNConv):
        def uper(self, sender):
            return sender

        def update(self, receiver, upper):
            return upper

    with pytest.raises(
        LayerError, match="Expected a message 'upper', which update takes, got none"
    ):
        Layer()
    with pytest.raises(LayerError, match="Expected a message 'lower'"):
        nn.MPSNConv([lambda receiver, lower: lower], upper=torch.tanh)
    layer = nn.MPSNConv(lambda receiver, lower=None: receiver, upper=torch.tanh)
    K = mpsn.clique_complex(nx.cycle_graph(3))
    assert [len(x) for x in layer(K, [torch.ones(n, 1) for n in K.counts])] == [3, 3, 1]
