"""Messages with the shared co-face, against lists of pairs, and what is refused."""

import networkx as nx
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import ELU

import mpsn
from mpsn import nn
from mpsn.errors import LayerError
from mpsn.nn import functional as fn
from mpsn.nn._checks import activation
from mpsn.testing import complexes

SINGLE, DOUBLE = torch.float32, torch.float64


def features(K, k, dtype, batch=()):
    """Return features of k-simplices and co-faces, weight and bias, all random."""
    g = torch.Generator().manual_seed(0)
    shapes = (K.count(k), *batch, 2), (K.count(k + 1), *batch, 3), (4, 5), (4,)
    return [2 * torch.randn(s, generator=g, dtype=DOUBLE).to(dtype) for s in shapes]


def by_pairs(K, k, h, coface, weight, bias, act):
    pairs = K.adjacency(k, "upper")
    both = torch.cat([h[pairs.sender], coface[pairs.shared]], dim=-1)
    out = h.new_zeros(*h.shape[:-1], len(bias))
    return out.index_add(0, pairs.receiver, act(both @ weight.T + bias))


def derivatives(function, inputs):
    """Return the value, first derivatives and second ones."""
    inputs = [t.clone().requires_grad_() for t in inputs]
    out = function(*inputs)
    first = torch.autograd.grad(out.square().sum(), inputs, retain_graph=True)
    slopes = torch.autograd.grad(out.square().sum(), inputs, create_graph=True)
    second = torch.autograd.grad(sum(g.square().sum() for g in slopes), inputs)
    return [out.detach(), *first, *second]


@given(
    complexes(max_vertices=9) | complexes(max_vertices=9, kind="cell"),
    st.sampled_from(["elu", "relu", "tanh", "id"]),
    st.sampled_from([SINGLE, DOUBLE]),
    st.sampled_from([(), (3,)]),
)
def test_it_is_the_dense_layer_on_every_pair(K, act, dtype, batch):
    for k in range(K.dim):
        inputs = features(K, k, dtype, batch)
        a = activation(act, inplace=True)
        out = fn.coface_messages(*inputs[:2], K.incidence(k + 1), *inputs[2:], a)
        right = by_pairs(K, k, *(t.double() for t in inputs), activation(act))
        tolerance = 1e-5 if dtype == SINGLE else 1e-12
        scale = 1 + right.abs().amax()
        torch.testing.assert_close(out.double() / scale, right / scale, rtol=0, atol=tolerance)


@pytest.mark.parametrize("dtype", [SINGLE, DOUBLE])
@pytest.mark.parametrize("act", ["elu", "relu", "tanh", "id"])
@pytest.mark.parametrize("k", [0, 1, 2])
@pytest.mark.parametrize("rings", [False, True])
def test_derivatives(rings, k, act, dtype):
    K, a = mpsn.clique_complex(nx.gnp_random_graph(10, 0.6, seed=0), 3), activation(act)
    K = mpsn.ring_complex(nx.gnp_random_graph(10, 0.6, seed=0), 10, 3) if rings else K
    inputs = features(K, k, dtype)
    B = K.incidence(k + 1)
    got = derivatives(lambda h, c, w, b: fn.coface_messages(h, c, B, w, b, a), inputs)
    right = derivatives(lambda *t: by_pairs(K, k, *t, a), [t.double() for t in inputs])
    for mine, theirs in zip(got, right, strict=True):
        scale = theirs.abs().amax().clamp(min=1)
        tolerance = 1e-5 if dtype == SINGLE else 1e-12
        torch.testing.assert_close(mine.double() / scale, theirs / scale, rtol=0, atol=tolerance)


@pytest.mark.parametrize("frozen", [(0,), (1,), (2, 3), (0, 2, 3), (1, 2, 3)])
@pytest.mark.parametrize("create_graph", [False, True])
def test_only_what_learns_gets_a_gradient(frozen, create_graph):
    K, act = mpsn.clique_complex(nx.complete_graph(4), 2), ELU()
    inputs = [t.requires_grad_(i not in frozen) for i, t in enumerate(features(K, 1, SINGLE))]
    h, coface, weight, bias = inputs
    outs = (
        fn.coface_messages(h, coface, K.incidence(2), weight, bias, act),
        by_pairs(K, 1, *inputs, act),
    )
    learn = [t for t in inputs if t.requires_grad]
    got, right = (torch.autograd.grad(y.sum(), learn, create_graph=create_graph) for y in outs)
    torch.testing.assert_close(got, right, rtol=1e-4, atol=1e-4)


def test_the_derivative_by_one_input_depends_on_the_others():
    K, act = mpsn.clique_complex(nx.complete_graph(4), 2), ELU()
    h, coface, weight, bias = inputs = [t.requires_grad_() for t in features(K, 1, SINGLE)]
    outs = (
        fn.coface_messages(h, coface, K.incidence(2), weight, bias, act),
        by_pairs(K, 1, *inputs, act),
    )
    slopes = [torch.autograd.grad(y.sum(), h, create_graph=True)[0] for y in outs]
    got, right = (torch.autograd.grad(s.square().sum(), [coface, weight, bias]) for s in slopes)
    torch.testing.assert_close(got, right, rtol=1e-4, atol=1e-4)


def test_inputs_that_depend_on_each_other():
    K, act = mpsn.clique_complex(nx.complete_graph(4), 2), ELU()
    h, _, weight, bias = features(K, 1, SINGLE)

    def tied(exchange):
        return lambda h, w, b: exchange(h, K.incidence(2).from_faces(h @ w[:2, :2]), w[:, :4], b)

    got = derivatives(
        tied(lambda h, c, w, b: fn.coface_messages(h, c, K.incidence(2), w, b, act)),
        [h, weight, bias],
    )
    right = derivatives(tied(lambda *t: by_pairs(K, 1, *t, act)), [h, weight, bias])
    for mine, theirs in zip(got, right, strict=True):
        scale = theirs.abs().amax()
        torch.testing.assert_close(mine / scale, theirs / scale, rtol=0, atol=1e-5)


@pytest.mark.parametrize("act", ["elu", "relu", "tanh", "id"])
def test_small_numbers_keep_their_digits(act):
    K, a = mpsn.clique_complex(nx.path_graph(2), 1), activation(act)
    x = torch.tensor([[-1e-5], [-1e-4]])
    eye, nothing = torch.tensor([[1.0, 0.0]]), torch.zeros(1)
    out = fn.coface_messages(x, torch.zeros(1, 1), K.incidence(1), eye, nothing, a)
    torch.testing.assert_close(out.double(), a(x.double()).flip(0), rtol=1e-6, atol=0)


@pytest.mark.parametrize("act", ["elu", "relu"])
def test_what_is_not_a_number_stays_so_and_extremes_are_right(act):
    K, a = mpsn.clique_complex(nx.path_graph(3), 1), activation(act)
    x = torch.tensor([[torch.nan], [-200.0], [torch.inf]])
    eye, nothing = torch.tensor([[1.0, 0.0]]), torch.zeros(1)
    out = fn.coface_messages(x, torch.zeros(2, 1), K.incidence(1), eye, nothing, a)
    assert out[0].item() == a(x[1]).item()
    assert out[1].isnan()
    assert out[2].item() == a(x[1]).item()


@pytest.mark.filterwarnings("ignore:There is a performance drop")  # of torch's embedding bags
def test_vmap_sees_torch_operations():
    K = mpsn.clique_complex(nx.complete_graph(4), 2)
    layer = nn.SINConv(2, 3, 2).requires_grad_(False)
    xs = [torch.randn(5, n, 2) for n in K.counts]
    many = torch.vmap(lambda *one: layer(K, one)[1])(*xs)
    torch.testing.assert_close(many[3], layer(K, [x[3] for x in xs])[1])


def test_tables_that_do_not_fit_are_refused():
    K = mpsn.clique_complex(nx.complete_graph(4), 2)
    h, coface, weight, bias = features(K, 1, SINGLE)
    with pytest.raises(LayerError, match=r"of 4 cells and 6 co-faces, as .* has, got 6 and 4"):
        fn.coface_messages(h, coface, K.incidence(1), weight, bias, ELU())
    with pytest.raises(LayerError, match=r"same shape between, got \(2,\) and \(\)"):
        fn.coface_messages(torch.stack([h, h], 1), coface, K.incidence(2), weight, bias, ELU())
    with pytest.raises(LayerError, match=r"of 6 cells and 4 co-faces, as .* has, got 3 and 4"):
        fn.coface_messages(h[:3], coface, K.incidence(2), weight, bias, ELU())
