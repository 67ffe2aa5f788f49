"""Layers beside those of TopoModelX, with its weights: the same equations from other hands."""

import networkx as nx
import pytest
import torch

import mpsn
from mpsn import nn
from mpsn.nn.conv._attend import Attend

can = pytest.importorskip("topomodelx.nn.cell.can_layer")
hmc = pytest.importorskip("topomodelx.nn.combinatorial.hmc_layer")
san = pytest.importorskip("topomodelx.nn.simplicial.san_layer")
sccnn = pytest.importorskip("topomodelx.nn.simplicial.sccnn_layer")
scn = pytest.importorskip("topomodelx.nn.simplicial.scn2_layer")
scnn = pytest.importorskip("topomodelx.nn.simplicial.scnn_layer")

K = mpsn.clique_complex(nx.karate_club_graph(), 2)
pytestmark = pytest.mark.filterwarnings("ignore:Sparse invariant checks")
DTYPES = pytest.mark.parametrize("dtype", [torch.float32, torch.float64])


@pytest.fixture(autouse=True)
def _double_by_default(request):
    """Their layers make tensors of torch's default type."""
    dtype = request.getfixturevalue("dtype")
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    torch.manual_seed(0)
    yield
    torch.set_default_dtype(before)


def cochains(width):
    return [torch.randn(n, width) for n in K.counts]


def agree(ours, theirs):
    tolerance = 1e-5 if theirs.dtype == torch.float32 else 1e-10
    torch.testing.assert_close(ours, theirs, rtol=tolerance, atol=tolerance)


def pattern(matrix):
    """Return a sparse matrix of ones."""
    matrix = matrix.coalesce()
    return torch.sparse_coo_tensor(
        matrix.indices(), torch.ones_like(matrix.values()), matrix.shape
    ).coalesce()


def neighbors(k, kind):
    pairs = K.adjacency(k, kind)
    n = K.count(k)
    return torch.sparse_coo_tensor(
        torch.stack([pairs.receiver, pairs.sender]), torch.ones(len(pairs.sender)), (n, n)
    ).coalesce()


@torch.no_grad()
def copy_(parameter, value):
    assert parameter.shape == value.shape
    parameter.copy_(value)


@DTYPES
def test_san(dtype):
    h = cochains(3)[1]
    theirs = san.SANLayer(3, 4, n_filters=2)
    ours = nn.SANConv(3, 4, 2, harmonic_degree=3, step=0.05, act="id", score_act="elu")
    for own, other in ((ours.lower, theirs.conv_down), (ours.upper, theirs.conv_up)):
        copy_(own.weight.weight, other.weight.permute(0, 2, 1).reshape(8, 3))
        copy_(own.score.weight, other.att_weight.view(2, 8))
    copy_(ours.harmonic.weight, theirs.conv_harmonic.weight.T)
    down, up = (K.hodge_laplacian(1, part) for part in ("down", "up"))
    step = torch.eye(K.count(1)) - 0.05 * K.hodge_laplacian(1).to_dense()
    agree(ours(K, h), theirs(h, up, down, torch.linalg.matrix_power(step, 3)))


@DTYPES
def test_can(dtype):
    h = cochains(3)[1]
    theirs = can.CANLayer(3, 4, heads=2, add_self_loops=False, update_func="relu")
    ours = nn.CANConv(3, 4, heads=2, act="relu", score_act=torch.nn.LeakyReLU())
    for own, other in ((ours.lower, theirs.lower_att), (ours.upper, theirs.upper_att)):
        copy_(own.value.weight, other.lin.weight)
        copy_(own.sender_score, other.att_weight_src[0])
        copy_(own.receiver_score, other.att_weight_dst[0])
    copy_(ours.own.weight, theirs.lin.weight * theirs.eps)
    agree(ours(K, h), theirs(h, neighbors(1, "lower"), neighbors(1, "upper")))


@DTYPES
def test_the_blocks_of_hmc(dtype):
    x0, x1, _ = cochains(3)
    theirs = hmc.HBS(3, 4, softmax=True)
    ours = Attend(3, 4)
    copy_(ours.value.weight, theirs.weight[0].T)
    copy_(ours.receiver_score[0], theirs.att_weight[0][:4, 0])
    copy_(ours.sender_score[0], theirs.att_weight[0][4:, 0])
    agree(ours(K, 0, "upper", x0), theirs(x0, neighbors(0, "upper")))

    theirs = hmc.HBNS(3, 4, 3, 4, softmax=True)
    on_edges, on_vertices = theirs(x1, x0, pattern(K.boundary_matrix(1)))
    score = theirs.att_weight[:, 0].view(2, 4)
    for kind, k, sender, receiver, result, turn in (
        ("coboundary", 0, x1, x0, on_vertices, False),
        ("boundary", 1, x0, x1, on_edges, True),
    ):
        ours = Attend(3, 4, receiver_channels=3)
        weights = (theirs.w_t, theirs.w_s) if turn else (theirs.w_s, theirs.w_t)
        copy_(ours.value.weight, weights[0].T)
        copy_(ours.receiver.weight, weights[1].T)
        copy_(ours.sender_score[0], score[int(turn)])
        copy_(ours.receiver_score[0], score[1 - int(turn)])
        agree(ours(K, k, kind, sender, receiver), result)


@DTYPES
def test_scn(dtype):
    xs = cochains(3)
    theirs = scn.SCN2Layer(3, 3, 3)
    ours = nn.SCNConv(3, 3, 2, act="relu")
    for k, conv in enumerate((theirs.conv_0_to_0, theirs.conv_1_to_1, theirs.conv_2_to_2)):
        copy_(ours.weights[k].weight, conv.weight.T)
    right = theirs(*xs, *(K.hodge_laplacian(k, normalized=True) for k in range(3)))
    for own, other in zip(ours(K, xs), right, strict=True):
        agree(own, other)


@DTYPES
def test_scnn(dtype):
    h = cochains(3)[1]
    theirs = scnn.SCNNLayer(3, 4, conv_order_down=3, conv_order_up=2)
    ours = nn.SCNNConv(3, 4, 3, 2, scale=0.1, act="id")
    copy_(ours.weight.weight, theirs.weight.permute(1, 2, 0).reshape(4, -1))
    agree(ours(K, h), theirs(h, *(0.1 * K.hodge_laplacian(1, part) for part in ("down", "up"))))


@DTYPES
def test_sccnn(dtype):
    xs = cochains(3)
    theirs = sccnn.SCCNNLayer((3, 3, 3), (4, 4, 4), conv_order=2, sc_order=2)
    ours = nn.SCCNNConv(3, 4, 2, degree=2, scale=0.1, act="id")
    # Theirs lists vertices to edges first, edges, then triangles; ours the cells themselves first.
    orders = ([0, 1, 2, 3, 4, 5], [3, 4, 5, 0, 1, 2, 6, 7, 8, 9, 10], [0, 1, 2, 3, 4, 5])
    for own, other, order in zip(
        ours.weights, (theirs.weight_0, theirs.weight_1, theirs.weight_2), orders, strict=True
    ):
        copy_(own.weight, other[:, :, order].permute(1, 2, 0).reshape(4, -1))
    parts = [(0, "full"), (1, "down"), (1, "up"), (2, "full")]
    laplacians = [0.1 * K.hodge_laplacian(k, part) for k, part in parts]
    right = theirs(xs, laplacians, [K.boundary_matrix(1), K.boundary_matrix(2)])
    for own, other in zip(ours(K, xs), right, strict=True):
        agree(own, other)
