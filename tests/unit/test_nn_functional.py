"""The primitives on face tables: shapes, edge cases, gradients, determinism, compilation."""

import networkx as nx
import pytest
import torch

import mpsn
from mpsn import SimplicialComplex
from mpsn.complexes import incidence_signs
from mpsn.errors import LayerError, MPSNError
from mpsn.nn import functional as fn

KINDS = ("boundary", "coboundary", "lower", "upper")


def sender_dim(k, kind):
    return {"boundary": k - 1, "coboundary": k + 1}.get(kind, k)


def features(K, width=2, dtype=torch.float64, batch=()):
    g = torch.Generator().manual_seed(0)
    return [torch.randn(n, *batch, width, generator=g, dtype=dtype) for n in (*K.counts, 0)]


@pytest.fixture(scope="module")
def karate():
    K = mpsn.clique_complex(nx.karate_club_graph(), max_dim=4)
    g = torch.Generator().manual_seed(1)
    return K.flip({k: torch.rand(K.count(k), generator=g) < 0.5 for k in range(1, K.dim + 1)})


@pytest.mark.parametrize(
    ("dtype", "width"), [(torch.float32, 2), (torch.float32, 12), (torch.float64, 2)]
)
@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_sums_are_products_with_the_boundary_matrices(karate, kind, signed, dtype, width):
    K, xs = karate, features(karate, width, dtype)
    for k in range(K.dim + 1):
        down = K.boundary_matrix(k, signed, dtype).to_dense() if k else torch.zeros(0, K.count(0))
        down = down.to(dtype)
        up = K.boundary_matrix(k + 1, signed, dtype).to_dense()
        M = {"boundary": down.T, "coboundary": up, "lower": down.T @ down, "upper": up @ up.T}[kind]
        if kind in ("lower", "upper"):
            M = M - torch.diag(M.diag())
        s = sender_dim(k, kind)
        h = xs[s] if s >= 0 else torch.zeros(0, 2, dtype=dtype)
        got = fn.aggregate(K, k, kind, h, signed=signed)
        assert got.dtype == dtype
        torch.testing.assert_close(
            got, M @ h, atol=1e-4 if dtype == torch.float32 else 1e-12, rtol=0
        )
        mean = fn.aggregate(K, k, kind, h, signed=signed, reduce="mean")
        senders = M.ne(0).sum(1, keepdim=True).clamp(min=1)
        torch.testing.assert_close(mean, got / senders)


@pytest.mark.parametrize("kind", KINDS)
def test_a_batch_axis_rides_along(karate, kind):
    xs = features(karate, batch=(3,))
    for k in range(karate.dim):
        h = xs[sender_dim(k, kind)] if sender_dim(k, kind) >= 0 else xs[0][:0]
        for reduce in ("sum", "mean"):
            got = fn.aggregate(karate, k, kind, h, signed=True, reduce=reduce)
            each = [
                fn.aggregate(karate, k, kind, h[:, b], signed=True, reduce=reduce) for b in range(3)
            ]
            torch.testing.assert_close(got, torch.stack(each, dim=1))


@pytest.mark.parametrize("reduce", ["sum", "mean"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "K",
    [
        SimplicialComplex(),
        SimplicialComplex(3),
        SimplicialComplex.from_simplices([[0, 1]], 5),  # the last receivers hear nothing
        SimplicialComplex.from_simplices([[0, 1, 2]], 5),
    ],
    ids=["empty", "no edges", "one edge", "one triangle"],
)
def test_every_simplex_gets_a_row_and_a_finite_one(K, kind, reduce):
    for k in range(4):
        s = sender_dim(k, kind)
        h = torch.ones(K.count(s) if s >= 0 else 0, 2, requires_grad=True)
        out = fn.aggregate(K, k, kind, h, reduce=reduce)
        assert out.shape == (K.count(k), 2)
        assert torch.isfinite(out).all()
        if k > 0 or kind in ("coboundary", "upper"):  # vertices hear a constant zero from below
            out.sum().backward()
            assert torch.isfinite(h.grad).all()


def test_unsigned_neighbours_do_not_cancel():
    # In a filled triangle each edge is lower and upper neighbour of the others, with opposite
    # signs: |L_down + L_up| loses them all. Taken apart, as here, nothing is lost.
    K = SimplicialComplex.from_simplices([[0, 1, 2]])
    assert K.hodge_laplacian(1).to_dense().abs().sum() == 9  # the diagonal alone
    h = torch.ones(3, 1)
    total = fn.aggregate(K, 1, "lower", h) + fn.aggregate(K, 1, "upper", h)
    assert total.tolist() == [[4.0], [4.0], [4.0]]


def small():
    K = SimplicialComplex.from_simplices([[0, 1, 2], [1, 2, 3], [3, 4]], 6)
    return K.flip({1: torch.tensor([True, False, True, True, False, False])})


@pytest.mark.parametrize("reduce", ["sum", "mean"])
@pytest.mark.parametrize("signed", [False, True])
def test_gradients(signed, reduce):
    K = small()
    for kind in KINDS:
        h = features(K)[sender_dim(1, kind)].requires_grad_()
        assert torch.autograd.gradcheck(
            lambda x, kind=kind: fn.aggregate(K, 1, kind, x, signed=signed, reduce=reduce), h
        )
    for exchange, k, count in ((fn.upper_exchange, 2, K.count(1)), (fn.lower_exchange, 1, 6)):
        faces, signs = fn.incidence(K, k, signed)
        g = torch.Generator().manual_seed(0)
        messages = [
            torch.randn(K.count(k), 2, generator=g, dtype=torch.float64, requires_grad=True)
            for _ in range(k + 1)
        ]
        assert torch.autograd.gradcheck(
            lambda *m, e=exchange, f=faces, n=count, s=signs: e(m, f, n, s, reduce), messages
        )
        assert torch.autograd.gradgradcheck(
            lambda *m, e=exchange, f=faces, n=count, s=signs: e([t**2 for t in m], f, n, s, reduce),
            messages,
        )


def test_split_linear_gradients_and_order_of_parts():
    g = torch.Generator().manual_seed(0)
    a, b, w, c = (
        torch.randn(s, generator=g, dtype=torch.float64, requires_grad=True)
        for s in ((4, 2), (4, 3), (5, 5), (5,))
    )
    assert torch.autograd.gradcheck(lambda *t: sum(fn.split_linear(t[:2], *t[2:])), (a, b, w, c))
    left, right = fn.split_linear([a, b], w, None)
    torch.testing.assert_close(left + right, torch.cat([a, b], 1) @ w.T)


def every_primitive(h1, h2, faces1, faces2, signs1, signs2):
    n0, n1 = 6, h1.shape[0]
    up = [torch.tanh(m + h2) for m in fn.gather(h1, faces2, signs2)]
    down = fn.scatter([h1, -h1], faces1, n0, signs1)
    low = [torch.tanh(h1 + m) for m in fn.gather(down, faces1)]
    return (
        fn.boundary(h1, faces2, signs2, "mean"),
        fn.coboundary(h2, faces2, n1, signs2, "mean"),
        fn.upper(h1, faces2, signs2, "mean"),
        fn.lower(h1, faces1, n0, signs1, "mean"),
        fn.upper_exchange(up, faces2, n1, signs2, "mean"),
        fn.lower_exchange(low, faces1, n0, signs1, "mean"),
        fn.coface_exchange(h1, h2, faces2, h2.new_ones(3, 4), h2.new_ones(3), torch.tanh),
    )


def primitive_inputs():
    K = small()
    h1, h2 = (features(K)[k].requires_grad_() for k in (1, 2))
    return h1, h2, K.faces(1), K.faces(2), incidence_signs(K, 1), incidence_signs(K, 2)


# torch.compile makes an instance of every autograd.Function it meets, and warns itself about it.
@pytest.mark.filterwarnings("ignore:.*should not be instantiated:DeprecationWarning")
def test_all_primitives_compile_as_one_graph():
    inputs = primitive_inputs()
    compiled = torch.compile(every_primitive, fullgraph=True, backend="aot_eager")
    expected = every_primitive(*inputs)
    got = compiled(*inputs)
    torch.testing.assert_close(got, expected)
    want = torch.autograd.grad(sum(y.sum() for y in expected), inputs[:2])
    torch.testing.assert_close(torch.autograd.grad(sum(y.sum() for y in got), inputs[:2]), want)


def test_deterministic_algorithms_suffice():
    inputs = primitive_inputs()
    torch.use_deterministic_algorithms(True)
    try:
        results = []
        for _ in range(2):
            out = every_primitive(*inputs)
            grads = torch.autograd.grad(sum((y**2).sum() for y in out), inputs[:2])
            results.append((*out, *grads))
    finally:
        torch.use_deterministic_algorithms(False)
    assert all(torch.equal(a, b) for a, b in zip(*results, strict=True))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda K, h: fn.aggregate(K, 1, "sideways", h), "Expected kind 'boundary'"),
        (lambda K, h: fn.aggregate(K, 1, "upper", h[:2]), "6 1-simplices, one row each, got 2"),
        (lambda K, h: fn.aggregate(K, 1, "upper", h, reduce="max"), "Expected reduce 'sum' or"),
        (lambda K, h: fn.boundary(h, K.faces(2), reduce="median"), "Expected reduce 'sum' or"),
        (lambda K, h: fn.boundary(h[:4], K.faces(2)), "entries from 0 to 3, got 0 to 4"),
        (
            lambda K, h: fn.boundary(h, K.faces(2), incidence_signs(K, 1)),
            r"a sign for each entry of the face table, \(2, 3\), got \(6, 2\)",
        ),
        (
            lambda K, h: fn.coboundary(h, K.faces(2), 6),
            r"a row for each of the 2 simplices of the face table, got \(6, 2\)",
        ),
        (
            lambda K, h: fn.scatter([h[:2]] * 2, K.faces(2), 6),
            "messages for each of the 3 columns of the face table, got 2",
        ),
        (
            lambda K, h: fn.upper_exchange([h[:2]] * 2, K.faces(2), 6),
            "messages for each of the 3 columns of the face table, got 2",
        ),
        (
            lambda K, h: fn.lower_exchange([h, h[:2]], K.faces(1), 6),
            "a row for each of the 6 simplices of the face table",
        ),
    ],
)
def test_bad_input_is_named(call, message):
    K = small()
    with pytest.raises(LayerError, match=message) as error:
        call(K, features(K)[1])
    assert isinstance(error.value, MPSNError)
