"""Models by keywords, readouts, populated features."""

import inspect

import networkx as nx
import numpy as np
import pytest
import torch

import mpsn
from mpsn import SimplicialComplex, nn
from mpsn.errors import LayerError
from mpsn.nn.models import GIN, SIN, EdgeFlowNet
from mpsn_reproduction.papers.sr import MLPSum

TU = {
    "coface_message": False,
    "act": "relu",
    "norm": True,
    "jump": True,
    "readout_dims": (0, 2),
    "dropout": 0.5,
    "layers": 2,
}


def ones(K, how="sum", max_dim=3, width=1):
    x = torch.ones(K.num_nodes, width, dtype=torch.float64)
    return mpsn.lift_features(K.replace(x=[x]), how, max_dim)


def union(*graphs, max_dim=3):
    return mpsn.clique_complexes(graphs, max_dim=max_dim).union


MODELS = {
    "SIN for SR": lambda: SIN(max_dim=3),
    "SIN for TU": lambda: SIN(max_dim=3, **TU),
    "SIN, mean, dropout before": lambda: SIN(
        max_dim=3, readout="mean", dropout=0.5, dropout_position="before_sum"
    ),
    "MLPSum": lambda: MLPSum(max_dim=3),
    "MLPSum, authors' readout": lambda: MLPSum(max_dim=3, shared_readout=True),
    "GIN": lambda: GIN(jump=True, norm=True, train_eps=True),
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize(
    "K",
    [
        mpsn.collate([]),
        SimplicialComplex(),
        SimplicialComplex(2),
        union(nx.complete_graph(5), nx.empty_graph(0), nx.path_graph(3), nx.complete_graph(3)),
    ],
    ids=["empty batch", "empty complex", "two vertices", "mixed batch"],
)
def test_one_row_per_complex_whatever_it_lacks(name, K):
    torch.manual_seed(0)
    model, K = MODELS[name]().double(), ones(K)
    for _ in range(2):  # a second call on the same batch is the same
        model.train()
        out = model(K)
        assert out.shape == (K.num_complexes, 16)
        out.square().sum().backward()
        grads = [p.grad for p in model.parameters() if p.grad is not None]
        assert all(torch.isfinite(g).all() for g in grads)
    model.eval()
    assert torch.equal(model(K), model(K))
    assert torch.isfinite(model(K)).all()


@pytest.mark.parametrize("name", MODELS)
def test_a_batch_gives_what_its_members_give(name):
    torch.manual_seed(0)
    model = MODELS[name]().double().eval()
    members = [ones(mpsn.clique_complex(g, 3)) for g in (nx.complete_graph(5), nx.path_graph(3))]
    alone = torch.cat([model(K) for K in members])
    torch.testing.assert_close(model(mpsn.collate(members)), alone)


@pytest.mark.parametrize("name", MODELS)
def test_a_batch_of_features_on_one_complex_gives_what_each_gives(name):
    torch.manual_seed(0)
    model = MODELS[name]().double().eval()
    K = mpsn.clique_complex(nx.karate_club_graph(), 3)
    many = [torch.randn(n, 3, 1, dtype=torch.float64) for n in K.counts[:4]]
    needed = many[: 1 if name == "GIN" else 4]
    each = torch.cat([model(K, [x[:, b] for x in needed]) for b in range(3)])
    torch.testing.assert_close(model(K, needed), each)


@pytest.mark.parametrize("model", [SIN(final_act=True), MLPSum(final_act=True)])
def test_the_last_layer_may_be_followed_by_the_non_linearity(model):
    K = ones(mpsn.clique_complex(nx.karate_club_graph(), 2), max_dim=2)
    model = model.double()
    out = model(K)
    model.readout.final_act = torch.nn.Identity()
    assert torch.equal(out, torch.nn.functional.elu(model(K)))
    assert not torch.equal(out, model(K))


def test_autocast_takes_features_of_other_types():
    torch.manual_seed(0)
    K = ones(mpsn.clique_complex(nx.karate_club_graph(), 2), max_dim=2)
    model = SIN(layers=1)
    for dtype in (torch.bfloat16, torch.float32):
        xs = [x.to(dtype) for x in K.x]
        with torch.autocast("cpu", torch.bfloat16):
            low = model(K, xs)
        full = model(K, [x.float() for x in xs])
        assert (low - full).abs().max() < 0.05 * full.abs().max()
    with torch.autocast("cpu", torch.bfloat16), pytest.raises(LayerError, match="float64; convert"):
        model(K)


def test_models_take_a_dataloader_batch():
    members = [ones(mpsn.clique_complex(nx.complete_graph(n), 3)) for n in (2, 3, 4)]
    (batch,) = mpsn.DataLoader(members, batch_size=3)
    assert SIN(max_dim=3).double()(batch).shape == (3, 16)


def test_jumping_knowledge_lets_an_absent_dimension_add_nothing():
    torch.manual_seed(0)
    model = SIN(max_dim=2, **(TU | {"norm": False})).double().eval()
    K = ones(mpsn.clique_complex(nx.path_graph(3)), max_dim=2)
    with_triangles = model(K)
    model.readout.dims = (0,)
    assert torch.equal(with_triangles, model(K))


def test_with_biases_an_absent_dimension_adds_a_constant():
    torch.manual_seed(0)
    readout = nn.ComplexReadout(4, 8, 2, dims=(0, 2))
    K = SimplicialComplex.from_simplices([[0, 1]])
    xs = [torch.randn(2, 4), torch.randn(1, 4), torch.zeros(0, 4)]
    whole = readout(K, xs)
    constant = readout.last.weight @ readout.dense[1].bias.relu()
    readout.dims = (0,)
    torch.testing.assert_close(whole, readout(K, xs) + constant)


@pytest.mark.parametrize(("position", "seen"), [("before_sum", {0, 2, 4}), ("after_sum", {0, 4})])
def test_dropout_acts_where_it_is_told_to(position, seen):
    torch.manual_seed(0)
    K = SimplicialComplex.from_simplices([[0, 1]])
    readout = nn.ComplexReadout(
        1, 64, 64, dims=(0, 1), dropout=0.5, dropout_position=position, reduce="mean"
    )
    for dense in readout.dense:  # both dimensions say 1, and the last layer nothing new
        torch.nn.init.zeros_(dense.weight)
        torch.nn.init.ones_(dense.bias)
    torch.nn.init.eye_(readout.last.weight)
    torch.nn.init.zeros_(readout.last.bias)
    xs = [torch.ones(n, 1) for n in K.counts]
    assert set(readout(K, xs).flatten().tolist()) == seen
    assert set(readout.eval()(K, xs).flatten().tolist()) == {2}


def test_readouts_name_features_that_do_not_fit():
    K = SimplicialComplex.from_simplices([[0, 1]])
    readout = nn.ComplexReadout(3, 4, 2, dims=(0, 1))
    with pytest.raises(LayerError, match="features of the 1 1-cells, got none"):
        readout(K, [torch.ones(2, 3)])
    with pytest.raises(LayerError, match="a list of features per dimension, got Tensor"):
        readout(K, torch.ones(2, 3))
    with pytest.raises(LayerError, match=r"1-cells of shape \(1, 3\)"):
        readout(K, [torch.ones(2, 3), torch.ones(2, 3)])


def test_readouts_take_lists_that_stop_where_simplices_do():
    K = SimplicialComplex.from_simplices([[0, 1]])
    readout = nn.ComplexReadout(3, 4, 2, dims=(0, 1, 2))
    for batch in ((), (5,)):
        xs = [torch.randn(n, *batch, 3) for n in (2, 1, 0)]
        for short in (xs[:2], [*xs[:2], None]):
            torch.testing.assert_close(readout(K, short), readout(K, xs))


def test_even_readouts_take_functions_that_work_in_place():
    x = torch.randn(5, 3)
    before = x.clone()
    out = nn.Even(torch.nn.Sequential(torch.nn.ReLU(inplace=True)))(x)
    assert torch.equal(x, before)
    assert torch.equal(out, x.abs())


def test_mean_readout_ignores_copies_and_sum_counts_them():
    torch.manual_seed(0)
    K = ones(mpsn.clique_complex(nx.complete_graph(4), 3))
    twice = ones(
        mpsn.clique_complex(nx.disjoint_union(nx.complete_graph(4), nx.complete_graph(4)), 3)
    )
    for readout, same in (("mean", True), ("sum", False)):
        model = SIN(max_dim=3, readout=readout).double()
        assert torch.allclose(model(K), model(twice)) == same


def test_mlp_sum_tells_apart_exactly_different_numbers_of_cliques():
    torch.manual_seed(0)
    graphs = [nx.gnp_random_graph(7, 0.5, seed=seed) for seed in range(40)]
    data = mpsn.clique_complexes(graphs, max_dim=3)
    out = MLPSum(max_dim=3).double()(ones(data.union))
    counts = data.counts.double()
    far = torch.cdist(out, out, p=torch.inf) > 1e-9
    assert torch.equal(far, torch.cdist(counts, counts, p=torch.inf) > 0.5)


def test_mlp_sum_follows_the_paper_unless_told_to_follow_the_code():
    paper, code = (MLPSum(max_dim=2, shared_readout=s) for s in (False, True))
    assert [tuple(d.weight.shape) for d in paper.readout.dense] == [(512, 256)] * 3
    assert [tuple(d.weight.shape) for d in code.readout.dense] == [(256, 256)]


def test_gin_cannot_tell_six_cycle_from_two_triangles_and_sin_can():
    torch.manual_seed(0)
    two = nx.disjoint_union(nx.complete_graph(3), nx.complete_graph(3))
    K = ones(union(nx.cycle_graph(6), two))
    a, b = GIN().double()(K)
    assert torch.dist(a, b) < 1e-9
    a, b = SIN(max_dim=3).double()(K)
    assert torch.dist(a, b) > 0.01


@pytest.mark.parametrize("config", [{}, {"act": "relu", "l0_inv": True, "upper": False}])
def test_edge_flows(config):
    torch.manual_seed(0)
    net = EdgeFlowNet(hidden=8, **config)
    K = mpsn.clique_complex(nx.karate_club_graph(), max_dim=2)
    assert net(K, torch.randn(78, 5, 1)).shape == (5, 2)
    assert net(K, torch.randn(78, 0, 1)).shape == (0, 2)
    assert net(SimplicialComplex(3), torch.zeros(0, 4, 1)).shape == (4, 2)
    assert net(mpsn.collate([]), torch.zeros(0, 1)).shape == (0, 2)
    assert sum(p.numel() for n, p in net.named_parameters() if "bias" in n) == 8 + 2


def test_edge_flow_net_learns():
    torch.manual_seed(0)
    K = mpsn.clique_complex(nx.cycle_graph(8), max_dim=2)
    boundary = K.boundary_matrix(1).to_dense()
    turn = torch.linalg.svd(boundary)[2][-1]  # the flow around the cycle
    labels = torch.arange(40) % 2
    h = torch.randn(8, 40, 1) * 0.1 + labels[None, :, None] * turn[:, None, None]
    net = EdgeFlowNet(hidden=16, layers=2)
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(60):
        loss = torch.nn.functional.cross_entropy(net(K, h), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert (net(K, h).argmax(1) == labels).float().mean() > 0.9


def test_populate_sums_over_vertices():
    torch.manual_seed(0)
    K = mpsn.clique_complex(nx.karate_club_graph(), max_dim=4)
    x = torch.randn(34, 3, dtype=torch.float64)
    layer = nn.Populate(3, max_dim=5).double()
    out = layer(K, x)
    assert torch.equal(out[0], x)
    for k in range(1, K.dim + 1):
        expected = x[K.simplices(k)].sum(1) @ layer.weights[k - 1].weight.T
        torch.testing.assert_close(out[k], expected)
    assert out[5].shape == (0, 3)


def test_pool_by_hand():
    K = union(nx.path_graph(2), nx.empty_graph(1), nx.empty_graph(0))
    h = torch.tensor([[1.0], [3.0], [5.0]])
    assert nn.global_pool(K, 0, h).tolist() == [[4.0], [5.0], [0.0]]
    assert nn.global_pool(K, 0, h, "mean").tolist() == [[2.0], [5.0], [0.0]]
    flows = torch.tensor([[[1.0], [5.0]], [[3.0], [9.0]]])  # (n, B, F)
    one = mpsn.clique_complex(nx.path_graph(2))
    assert nn.global_pool(one, 0, flows).tolist() == [[4.0], [14.0]]
    assert nn.global_pool(one, 0, flows, "mean").tolist() == [[2.0], [7.0]]
    with pytest.raises(LayerError, match=r"of 3 complexes.*a batch \(n, B, F\) lives on one"):
        nn.global_pool(K, 0, torch.ones(3, 2, 4))
    with pytest.raises(LayerError, match="features of the 3 0-cells"):
        nn.global_pool(K, 0, torch.ones(2, 4))


def test_models_say_what_they_are():
    shown = repr(SIN(hidden=8, layers=2))
    assert shown.startswith("SIN(in_channels=1, hidden=8, out_channels=16, layers=2, max_dim=2")
    assert shown.endswith("parameters)")
    assert "act='tanh', l0_inv=False" in repr(EdgeFlowNet())


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: SIN(act="swish"), "act to be one of 'elu', 'relu', 'tanh', got 'swish'"),
        (lambda: SIN(hidden=0), "Expected hidden as an integer >= 1, got 0"),
        (lambda: SIN(max_dim=-1), "Expected max_dim as an integer >= 0, got -1"),
        (lambda: SIN(layers=2.5), "Expected layers as an integer >= 1, got 2.5"),
        (lambda: SIN(hidden=True), "Expected hidden as an integer >= 1, got True"),
        (lambda: SIN(final_act="no"), "Expected final_act to be True or False, got 'no'"),
        (lambda: SIN(dropout="a lot"), "Expected dropout to be a number, got 'a lot'"),
        (lambda: SIN(dropout=1.0), "dropout rate from 0 to below 1, got 1.0"),
        (lambda: EdgeFlowNet(act="elu"), "act to be one of 'id', 'tanh', 'relu'"),
        (lambda: SIN(max_dim=1, readout_dims=(0, 2)), "readout_dims from 0 to max_dim=1"),
        (lambda: SIN()(SimplicialComplex(2)), "features of the 2 0-cells, got none"),
    ],
)
def test_bad_settings_are_named(make, message):
    with pytest.raises(LayerError, match=message):
        make()


def test_numbers_of_numpy_will_do():
    settings = SIN(hidden=np.int64(8), dropout=np.float32(0.5)).settings
    assert settings == SIN(hidden=8, dropout=0.5).settings
    assert (type(settings["hidden"]), type(settings["dropout"])) == (int, float)
    assert nn.OrientedConv(2, 3, dim=np.int64(1)).dim == 1


@pytest.mark.parametrize("name", nn.models.__all__)
def test_a_model_is_built_again_from_its_settings(name):
    model = getattr(nn.models, name)
    if name in ("Marked", "Model"):
        return
    first = model(hidden=4)
    again = model(**first.settings)
    assert first.settings == again.settings
    assert set(first.settings) == set(inspect.signature(model).parameters)
    ours, theirs = first.state_dict(), again.state_dict()
    assert [(k, v.shape) for k, v in ours.items()] == [(k, v.shape) for k, v in theirs.items()]
    with pytest.raises(TypeError, match="heads"):
        model(heads=4)


def test_sin_takes_a_width_per_dimension_from_the_features_of_a_complex():
    torch.manual_seed(0)
    model = SIN(in_channels=(3, 2, 0), hidden=8, out_channels=2, layers=2).eval()
    graphs = [nx.karate_club_graph(), nx.path_graph(4)]
    union = mpsn.clique_complexes(graphs, max_dim=2).union
    K = union.replace(x=[torch.randn(union.count(0), 3), torch.randn(union.count(1), 2)])
    assert model(K).shape == (2, 2)
    torch.testing.assert_close(model(K), torch.cat([model(part) for part in K.to_list()]))
    first = K.to_list()[0]
    order = {k: torch.randperm(n) for k, n in enumerate(first.counts)}
    torch.testing.assert_close(model(first.permute(order)), model(first), rtol=1e-4, atol=1e-5)
    program = torch.export.export(model, (K,))
    torch.testing.assert_close(program.module()(K), model(K))
