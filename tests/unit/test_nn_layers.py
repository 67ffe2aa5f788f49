"""Layers at the edges: nothing there, one of it, wrong shapes, compiled, and no hidden state."""

import copy
import sys

import networkx as nx
import pytest
import torch

import mpsn
from layers import APART, LAYERS
from mpsn import SimplicialComplex, nn
from mpsn.errors import LayerError
from mpsn.nn.conv._mlp import RowNorm

build = SimplicialComplex.from_simplices
RING = [[0, 1], [1, 2], [2, 3], [3, 4], [4, 0], [4, 5]]
AWKWARD = {
    "empty": SimplicialComplex(),
    "one vertex": SimplicialComplex(1),
    "isolated vertices": SimplicialComplex(3),
    "one edge, isolated vertices": build([[0, 1]], 4),
    "one triangle": build([[0, 1, 2]]),
    "tetrahedron and more": build([[0, 1, 2, 3], [3, 4]], 6),
    "empty batch": mpsn.collate([]),
    "a ring and a tail": mpsn.CellComplex.from_boundaries(6, [RING, [[0, 1, 2, 3, 4]]]),
    "a square": mpsn.CubicalComplex(4, [[[1, 0], [3, 2], [2, 0], [3, 1]], [[3, 2, 0, 1]]]),
    "batch with empty members": mpsn.collate([SimplicialComplex(), build([[0, 1]]), build([], 2)]),
}
LISTS = {
    "SINConv": lambda d: nn.SINConv(2, 3, d),
    "CINConv": lambda d: nn.CINConv(2, 3, d, lower=True, train_eps=True),
    "SINConv norm": lambda d: nn.SINConv(2, 3, d, coface_message=False, norm=True, train_eps=True),
    "LinearMPSNConv": lambda d: nn.LinearMPSNConv(2, 3, d),
    "SCConv": lambda d: nn.SCConv(2, 3),
}
SINGLE = {
    "OrientedConv": lambda d: nn.OrientedConv(2, 3, dim=d),
    "SNNConv": lambda d: nn.SNNConv(2, 3, 2, dim=d),
    "SCoNeConv": lambda d: nn.SCoNeConv(2, 3, dim=d),
}


def inputs(K, max_dim, dtype=torch.float32):
    return [torch.randn(K.count(k), 2, dtype=dtype, requires_grad=True) for k in range(max_dim + 1)]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("where", AWKWARD)
@pytest.mark.parametrize("name", LISTS)
def test_shapes_and_gradients_of_layers_on_all_dimensions(name, where, dtype):
    torch.manual_seed(0)
    K, max_dim = AWKWARD[where], 2 if name == "SCConv" else 4
    if name == "SCConv" and not isinstance(K, SimplicialComplex):
        return
    layer, xs = LISTS[name](max_dim).to(dtype), inputs(K, max_dim, dtype)
    before = [x.detach().clone() for x in xs]
    out = layer(K, xs)
    assert [tuple(y.shape) for y in out] == [(K.count(k), 3) for k in range(max_dim + 1)]
    assert all(y.dtype == dtype and torch.isfinite(y).all() for y in out)
    sum(y.square().sum() for y in out).backward()
    grads = [t.grad for t in (*xs, *layer.parameters()) if t.grad is not None]
    assert all(torch.isfinite(g).all() for g in grads)
    # Nothing was overwritten, and nothing but running statistics remembers the call.
    assert all(torch.equal(a, b) for a, b in zip(xs, before, strict=True))
    assert all(torch.equal(a, b) for a, b in zip(layer(K, xs), out, strict=True))
    assert all(torch.isfinite(b).all() for b in layer.buffers())


@pytest.mark.parametrize("where", AWKWARD)
@pytest.mark.parametrize("name", SINGLE)
def test_shapes_and_gradients_of_layers_on_one_dimension(name, where):
    torch.manual_seed(0)
    K = AWKWARD[where]
    for k in range(5):
        layer, h = SINGLE[name](k), inputs(K, k)[k]
        out = layer(K, h)
        assert out.shape == (K.count(k), 3)
        assert torch.isfinite(out).all()
        out.square().sum().backward()
        assert torch.isfinite(h.grad).all()
        assert layer(K, torch.randn(K.count(k), 5, 2)).shape == (K.count(k), 5, 3)


def test_features_may_stop_where_simplices_do():
    K = build([[0, 1]], 3)
    xs = [torch.randn(3, 2), torch.randn(1, 2)]
    layer = nn.SINConv(2, 3, max_dim=3)
    short, padded = layer(K, xs), layer(K, [*xs, torch.zeros(0, 2), None])
    assert [tuple(y.shape) for y in short] == [(3, 3), (1, 3), (0, 3), (0, 3)]
    assert all(torch.equal(a, b) for a, b in zip(short, padded, strict=True))
    assert [tuple(y.shape) for y in layer(SimplicialComplex(), [])] == [(0, 3)] * 4


@pytest.mark.filterwarnings("ignore::torch.jit.TracerWarning", "ignore:.torch.jit.trace")
def test_learned_features_and_traces():
    K = mpsn.clique_complex(nx.complete_graph(4), 2)
    layer = nn.SINConv(2, 3, max_dim=2).requires_grad_(False)
    xs = [torch.randn(n, 2) for n in K.counts]
    out = layer(K, xs)
    torch.testing.assert_close(layer(K, torch.nn.ParameterList(xs)), out)
    traced = torch.jit.trace(lambda *hs: tuple(layer(K, hs)), xs, check_trace=False)
    torch.testing.assert_close(list(traced(*xs)), out)


def test_batch_norm_leaves_too_few_rows_alone():
    norm = RowNorm(2)
    state = copy.deepcopy(norm.state_dict())
    assert torch.isfinite(norm(torch.ones(1, 2))).all()
    norm(torch.ones(0, 2))
    assert all(torch.equal(state[key], value) for key, value in norm.state_dict().items())
    rows = torch.randn(50, 2)
    torch.testing.assert_close(norm(rows), torch.nn.BatchNorm1d(2)(rows))
    assert norm(torch.randn(5, 7, 2)).shape == (5, 7, 2)


def test_populate_sums_over_the_vertices_of_any_cell():
    torch.manual_seed(0)
    edges = [[0, 1], [1, 2], [2, 3], [3, 0], [0, 4], [1, 4], [2, 4], [3, 4]]
    sides = [[0, 1, 2, 3], [0, 4, 5], [1, 5, 6], [2, 6, 7], [3, 7, 4]]
    pyramid = mpsn.CellComplex.from_boundaries(5, [edges, sides, [[0, 1, 2, 3, 4]]])
    cubes = mpsn.cubical_complex(torch.ones(1, 2, 1)).bare()
    for K in (
        pyramid,
        cubes,
        mpsn.ring_complex(nx.petersen_graph(), 6),
        build([[0, 1, 2, 3], [3, 4]]),
    ):
        layer, x = nn.Populate(2, max_dim=3).double(), torch.randn(K.num_nodes, 2).double()
        out = layer(K, x)
        for k in range(1, 4):
            index, ptr = K.cells(k)
            cells = index.split(ptr.diff().tolist())
            total = [x[cell].sum(0) for cell in cells] if K.count(k) else []
            right = torch.stack(total) if total else x[:0]
            torch.testing.assert_close(out[k], layer.weights[k - 1](right))
            lifted = mpsn.lift_features(K.replace(x=[x]), "mean", 3).x[k]
            sizes = ptr.diff()[:, None] if total else 1
            torch.testing.assert_close(lifted, right / sizes)


def test_sin_computes_the_dimensions_asked_for():
    K = mpsn.clique_complex(nx.karate_club_graph(), max_dim=2)
    xs = [torch.randn(n, 4) for n in K.counts]
    layer = nn.SINConv(4, 5, max_dim=2)
    every = layer(K, xs)
    for got, k in zip(layer(K, xs, dims=(2, 0)), (2, 0), strict=True):
        assert torch.equal(got, every[k])
    with pytest.raises(LayerError, match="Expected dims from 0 to 2"):
        layer(K, xs, dims=(-1,))


@pytest.mark.parametrize("coface_message", [True, False])
def test_sin_projects_dimensions_of_different_widths(coface_message):
    torch.manual_seed(0)
    K = mpsn.clique_complex(nx.karate_club_graph(), max_dim=3)
    layer = nn.SINConv([4, 2, 0, 1], 5, max_dim=3, coface_message=coface_message)
    xs = [torch.randn(n, width) for n, width in zip(K.counts, (4, 2, 0, 1), strict=True)]
    start = [p(x) for p, x in zip(layer.project, xs, strict=True)]
    start[2] = start[1][K.faces(2)].mean(dim=1)  # without features: the mean over faces
    plain = nn.SINConv(5, 5, max_dim=3, coface_message=coface_message)
    plain.load_state_dict({k: v for k, v in layer.state_dict().items() if "project" not in k})
    torch.testing.assert_close(layer(K, xs), plain(K, start))
    torch.testing.assert_close(layer(K, [*xs[:2], None, xs[3]]), plain(K, start))
    # a dimension without cells, and a batch of features
    tree = mpsn.clique_complex(nx.path_graph(3))
    batch = [torch.randn(3, 7, 4), torch.randn(2, 7, 2)]
    out = layer(tree, batch)
    assert [tuple(h.shape) for h in out] == [(3, 7, 5), (2, 7, 5), (0, 7, 5), (0, 7, 5)]
    torch.testing.assert_close(layer(tree, [x[:, 2] for x in batch])[0], out[0][:, 2])


def test_a_warm_layer_makes_few_calls():
    """So that small complexes are fast: time there goes to Python, not to sums."""
    K = mpsn.clique_complex(nx.karate_club_graph(), max_dim=2)
    layer, xs, calls = nn.SINConv(4, 4, max_dim=2), [torch.randn(n, 4) for n in K.counts], []
    layer(K, xs)

    def note(frame, event, _):
        if event == "call" and "/mpsn/" in frame.f_code.co_filename:
            calls.append((frame.f_code.co_filename, frame.f_code.co_name))

    before = sys.getprofile()
    sys.setprofile(note)
    layer(K, xs)
    sys.setprofile(before)
    assert 0 < len(calls) <= 90, calls
    assert len({file for file, _ in calls}) <= 6


@pytest.mark.parametrize("eps", ["none", "fixed", "learned"])
@pytest.mark.parametrize("coface_message", [True, False])
@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("kind", ["simplices", "rings", "cubes"])
def test_cin_is_its_equation_on_lists_of_pairs(kind, lower, coface_message, eps):
    torch.manual_seed(0)
    K = {
        "simplices": lambda: mpsn.clique_complex(nx.karate_club_graph(), max_dim=2),
        "rings": lambda: mpsn.ring_complex(nx.karate_club_graph(), max_ring=5),
        "cubes": lambda: mpsn.cubical_complex(torch.ones(3, 4)).bare(),
    }[kind]()
    xs = [torch.randn(n, 4, dtype=torch.float64) for n in K.counts]
    options = {"none": {}, "fixed": {"eps": 0.5}, "learned": {"eps": 0.5, "train_eps": True}}[eps]
    kind = nn.CINConv if lower else nn.SINConv  # one code
    layer = kind(4, 5, 2, coface_message=coface_message, lower=lower, **options).double()
    assert ("eps" in dict(layer.named_parameters())) == (eps == "learned")
    own = torch.full((3, 3), 1.0 if eps == "none" else 1.5, dtype=torch.float64)
    if eps == "learned":  # another number for each dimension and each part
        torch.nn.init.normal_(layer.eps)
        own = 1 + layer.eps.detach()

    def received(k, kind, dense, near):
        pairs = K.adjacency(k, kind)
        messages = xs[k][pairs.sender]
        if coface_message:
            both = torch.cat([messages, xs[near][pairs.shared]], dim=1)
            messages = torch.nn.functional.elu(dense(both))
        return torch.zeros_like(xs[k]).index_add(0, pairs.receiver, messages)

    for k in range(3):
        low, up = own[k, 0] * xs[k], own[k, 1] * xs[k]
        if k:
            pairs = K.adjacency(k, "boundary")
            low = low.index_add(0, pairs.receiver, xs[k - 1][pairs.sender])
        if k < 2:
            up = up + received(k, "upper", layer.message[k] if coface_message else None, k + 1)
        parts = [layer.mlp_boundary[k](low), layer.mlp_upper[k](up)]
        if lower:
            side = own[k, 2] * xs[k]
            if k:
                dense = layer.lower_message[k - 1] if coface_message else None
                side = side + received(k, "lower", dense, k - 1)
            parts.append(layer.mlp_lower[k](side))
        torch.testing.assert_close(layer(K, xs)[k], layer.mlp_update[k](torch.cat(parts, dim=1)))


@pytest.mark.parametrize(
    "layer",
    [
        nn.CINConv(2, 3, 2, lower=True),
        nn.LinearMPSNConv(2, 3, 2),
        nn.SCConv(2, 3),
        nn.OrientedConv(2, 3),
        nn.SNNConv(2, 3, 2),
        nn.SCoNeConv(2, 3),
    ],
    ids=lambda layer: type(layer).__name__,
)
def test_no_layer_forms_a_square_matrix(layer):
    leaves = 100_000  # whose square does not fit
    faces = torch.stack([torch.arange(1, leaves + 1), torch.zeros(leaves, dtype=torch.int64)], 1)
    K = SimplicialComplex(leaves + 1, [faces])
    xs = inputs(K, 2)
    out = layer(K, xs[1]) if hasattr(layer, "dim") else layer(K, xs)[1]
    assert torch.isfinite(out).all()
    out.sum().backward()


def test_oriented_conv_without_upper_sees_no_triangles():
    hollow, filled = build([[0, 1], [1, 2], [0, 2]]), build([[0, 1, 2]])
    h = torch.randn(3, 2)
    without, full = nn.OrientedConv(2, 3, upper=False), nn.OrientedConv(2, 3)
    assert torch.equal(without(hollow, h), without(filled, h))
    assert not torch.allclose(full(hollow, h), full(filled, h))


# torch.compile makes an instance of every autograd.Function it meets, and warns itself about it.
@pytest.mark.filterwarnings("ignore:.*should not be instantiated:DeprecationWarning")
def test_inductor_agrees():
    # This very case gave wrong numbers in torch 2.13 before mpsn::settle; see transposes.py.
    torch._dynamo.reset()
    torch.manual_seed(0)
    K = mpsn.clique_complex(nx.karate_club_graph(), max_dim=2)
    layer, xs = nn.SINConv(2, 3, 2), inputs(K, 2)
    compiled = torch.compile(layer, fullgraph=True)
    want, got = layer(K, xs), compiled(K, xs)
    torch.testing.assert_close(got, want, atol=1e-5, rtol=1e-5)
    grads = [torch.autograd.grad(sum(y.sum() for y in ys), xs) for ys in (want, got)]
    torch.testing.assert_close(grads[1], grads[0], atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda K, xs: nn.SINConv(2, 3, 1)(K, xs),
            r"dimensions 0 to 1, got 3 tensors; pass xs\[:2",
        ),
        (lambda K, xs: nn.SINConv(2, 3, 2)(K, xs[:2]), "features of the 1 2-cells, got none"),
        (lambda K, xs: nn.SINConv(2, 3, 2)(K, [xs[0], None, xs[2]]), "3 1-cells, got none"),
        (lambda K, xs: nn.SINConv(5, 3, 2)(K, xs), r"shape \(3, 5\) or \(3, B, 5\), got \(3, 2\)"),
        (lambda K, xs: nn.SINConv(2, 3, 2)(K, xs[::-1]), r"0-cells of shape \(3, 2\)"),
        (lambda K, xs: nn.OrientedConv(2, 3)(K, xs[2]), r"1-cells of shape \(3, 2\)"),
        (lambda K, xs: nn.OrientedConv(2, 3)(K, xs[1][0]), r"got \(2,\)"),
        (
            lambda K, xs: nn.OrientedConv(2, 3, act="sine"),
            "name of an activation, such as 'elu'",
        ),
        (lambda K, xs: nn.global_pool(K, 0, xs[0], "maximal"), "Expected"),
        (lambda K, xs: nn.Populate(5, 2)(K, xs[0]), r"shape \(3, 5\)"),
        (lambda K, xs: nn.ComplexReadout(2, 2, 2, dims=()), "at least one dimension"),
        (
            lambda K, xs: nn.ComplexReadout(2, 2, 2, dims=(0,), dropout_position="a"),
            "dropout_position 'before_sum' or 'after_sum', got 'a'",
        ),
        (lambda K, xs: nn.SINConv(2, 3, -1), "max_dim as an integer >= 0, got -1"),
        (
            lambda K, xs: nn.SINConv([2, 2], 3, 2),
            r"for each dimension from 0 to 2, got",
        ),
        (lambda K, xs: nn.SINConv([0, 2], 3, 1), r"in_channels\[0\] as an integer >= 1, got 0"),
        (lambda K, xs: nn.SINConv([2, -1], 3, 1), r"in_channels\[1\] as an integer >= 0, got -1"),
        (lambda K, xs: nn.SINConv([2, 3, 2], 3, 2)(K, xs), r"1-cells of shape \(3, 3\)"),
        (lambda K, xs: nn.LinearMPSNConv(2, 3, 1.5), "max_dim as an integer >= 0, got 1.5"),
        (lambda K, xs: nn.Populate(2, -1), "max_dim as an integer >= 0, got -1"),
        (lambda K, xs: nn.OrientedConv(2, 3, dim=-1), "dim as an integer >= 0, got -1"),
        (lambda K, xs: nn.SCoNeConv(2, 3, dim=True), "dim as an integer >= 0, got True"),
        (lambda K, xs: nn.SNNConv(2, 3, -1), "degree as an integer >= 0, got -1"),
        (lambda K, xs: nn.SINConv(2, 3, 2)(nx.path_graph(3), xs), "a complex, got Graph"),
        (lambda K, xs: nn.SINConv(2, 3, 2)(K, xs[0]), "list of features per dimension, got Tensor"),
        (lambda K, xs: nn.OrientedConv(2, 3)(K, xs), "1-cells as a tensor, got list"),
        (
            lambda K, xs: nn.OrientedConv(2, 3)(K, xs[1].double()),
            r"features of type torch.float32, .* got torch.float64; convert them with .to\(",
        ),
        (
            lambda K, xs: nn.OrientedConv(2, 3).to("meta")(K, xs[1]),
            "on one device, got cpu, cpu and meta",
        ),
    ],
)
def test_bad_input_is_named(call, message):
    K = build([[0, 1, 2]])
    with pytest.raises(LayerError, match=message):
        call(K, [torch.randn(n, 2) for n in K.counts])


def test_the_list_of_layers_is_complete():
    assert {name.split()[0] for name in LAYERS} | APART == set(nn.conv.__all__)


def test_layers_tell_their_sizes():
    assert "2, 3, max_dim=1" in repr(nn.SINConv(2, 3, 1))
    assert "2, 3, dim=2, signed=True" in repr(nn.OrientedConv(2, 3, dim=2))
    assert "degree=3" in repr(nn.SNNConv(2, 3, 3))


@pytest.mark.parametrize(("width", "degree"), [(1, 3), (2, 3), (5, 3), (1, 0)])
def test_snn_is_a_polynomial_of_the_scaled_laplacian(width, degree):
    torch.manual_seed(0)
    K = build([[0, 1, 2], [1, 2, 3], [3, 4]])
    layer = nn.SNNConv(2, width, degree, bias=True, scale=0.3).double()
    h = torch.randn(K.count(1), 2, dtype=torch.float64)
    L = 0.3 * K.hodge_laplacian(1, dtype=torch.float64).to_dense()
    powers = [torch.linalg.matrix_power(L, r) @ h for r in range(degree + 1)]
    expected = sum(w(p) for w, p in zip(layer.weights, powers, strict=True))
    torch.testing.assert_close(layer(K, h), expected)


@pytest.mark.parametrize("act", ["gelu", "leaky_relu", torch.sin, torch.nn.SiLU()])
@pytest.mark.parametrize("norm", [False, True])
def test_any_activation_by_name_or_itself(act, norm):
    K = build([[0, 1, 2], [2, 3]])
    xs = [torch.randn(n, 2) for n in K.counts]
    layer = nn.SINConv(2, 3, 2, act=act, norm=norm)
    function = act if callable(act) else getattr(torch.nn.functional, act)
    out = layer(K, xs)
    assert all(y.isfinite().all() for y in out)
    k, B = 0, K.incidence(1)
    dense = layer.message[k]
    pairs = K.adjacency(0, "upper")
    both = torch.cat([xs[0][pairs.sender], xs[1][pairs.shared]], 1)
    right = torch.zeros(4, 2).index_add(0, pairs.receiver, function(dense(both)))
    torch.testing.assert_close(layer.upper(k, xs[0], xs[1], B), right)
