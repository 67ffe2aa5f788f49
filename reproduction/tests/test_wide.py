"""A wide model on a wide batch is its models on their batches: values, gradients, statistics."""

import networkx as nx
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import mpsn
from mpsn.errors import LayerError, MPSNError
from mpsn.nn.models import CIN, GIN, SIN
from mpsn.testing import complexes
from mpsn.training._capture import Capture
from mpsn_reproduction.engines.tu_training import Settings, Split, _Pass, train_folds
from mpsn_reproduction.engines.wide import HEIGHT, Wide, WideData, masked
from mpsn_reproduction.engines.wide.layers import Dense

KINDS = {
    "SIN": lambda **more: SIN(
        3, 8, 2, 3, coface_message=False, jump=True, readout_dims=(0, 2), **more
    ),
    "GIN": lambda **more: GIN(3, 8, 2, 3, jump=True, **more),
    "CIN": lambda **more: CIN((3, 2, 1), 8, 2, 3, **more),
    "CIN++": lambda **more: CIN((3, 2, 1), 8, 2, 2, lower=True, **more),
    "GINE": lambda **more: GIN(3, 8, 2, 3, edge_channels=2, **more),
}


def models(kind, count, **more):
    torch.manual_seed(0)
    more = {"act": "relu", "norm": True, **more}
    return [KINDS[kind](**more).double() for _ in range(count)]


def graphs(number=12, seed=0):
    """Random graphs with features: some without triangles, without edges, without vertices."""
    generator = torch.Generator().manual_seed(seed)
    out = []
    for i in range(number):
        n = (7 * i) % 11
        K = mpsn.clique_complex(nx.gnp_random_graph(n, (i % 4) / 4, seed=seed + i), max_dim=2)
        x = [torch.randn(K.count(k), 3, generator=generator).double() for k in range(3)]
        out.append(K.replace(x=x))
    return mpsn.ComplexDataset(out)


def rings(number=12):
    """Ring complexes with features of a width for each dimension; some without rings."""
    generator = torch.Generator().manual_seed(0)
    made = [nx.gnp_random_graph((7 * i) % 11, (i % 4) / 8, seed=i) for i in range(number)]
    union = mpsn.ring_complexes(made, 6).union
    x = [torch.randn(n, 3 - k, generator=generator).double() for k, n in enumerate(union.counts)]
    return mpsn.ComplexDataset(union.replace(x=x))


def data_of(kind):
    return graphs() if kind in ("SIN", "GIN") else rings()


def wide_batch(dataset, lists, max_dim=2, slack=3, many=None):
    """Gather a mini-batch per model, with padding and empty places."""
    many = many or max(map(len, lists)) + 1
    index = torch.full((len(lists), many), len(dataset))
    for row, one in zip(index, lists, strict=True):
        row[: len(one)] = torch.tensor(one, dtype=torch.int64)
    data = WideData(dataset, max_dim)
    rows = [n + slack if n else 0 for n in data.sizes(index).amax(0).tolist()]
    return data.gather(index, rows)


def state(model):
    return {name: value.clone() for name, value in model.state_dict().items()}


def assert_states_agree(got, expected):
    assert got.keys() == expected.keys()
    for name, value in expected.items():
        torch.testing.assert_close(got[name], value, rtol=1e-10, atol=1e-10)


LISTS = [[0, 5, 7, 3], [8, 9, 1], [2, 10, 11, 4]]


@pytest.mark.parametrize(
    "more", [{}, {"norm": False}, {"norm": False, "readout": "mean", "act": "elu"}]
)
@pytest.mark.parametrize("kind", KINDS)
def test_steps_of_all_are_steps_of_each(kind, more):
    """Five steps of Adam, changing batches: outputs, weights and statistics agree."""
    dataset, plain = data_of(kind), models(kind, 3, **more)
    wide = Wide(plain)
    # A bias before a norm has no gradient but rounding, which the usual eps would blow up.
    one_adam = torch.optim.Adam(wide.parameters(), 0.01, eps=1e-5)
    adams = [torch.optim.Adam(model.parameters(), 0.01, eps=1e-5) for model in plain]
    for step in range(5):
        lists = [[(i + step) % len(dataset) for i in one] for one in LISTS]
        out = wide(wide_batch(dataset, lists, plain[0].max_dim))
        one_adam.zero_grad()
        sum(out[m, : len(one)].square().mean() for m, one in enumerate(lists)).backward()
        one_adam.step()
        for m, (model, adam, one) in enumerate(zip(plain, adams, lists, strict=True)):
            alone = model(dataset.batch(one))
            torch.testing.assert_close(out[m, : len(one)], alone, rtol=1e-10, atol=1e-10)
            adam.zero_grad()
            alone.square().mean().backward()
            adam.step()
            assert_states_agree(wide.unstack(m).state_dict(), state(model))
    wide.eval()
    out = wide(wide_batch(dataset, LISTS, plain[0].max_dim))
    for m, (model, one) in enumerate(zip(plain, LISTS, strict=True)):
        alone = model.eval()(dataset.batch(one))
        torch.testing.assert_close(out[m, : len(one)], alone, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("lists", [[[3], [7]], [[4, 10], [5, 1]], [[0], [11]]])
@pytest.mark.parametrize("kind", KINDS)
def test_single_complexes_and_missing_dimensions(kind, lists):
    """One complex each; none with a triangle; none with a vertex."""
    dataset, plain = data_of(kind), models(kind, 2)
    out = Wide(plain)(wide_batch(dataset, lists, plain[0].max_dim))
    for m, one in enumerate(lists):
        alone = plain[m](dataset.batch(one))
        torch.testing.assert_close(out[m, : len(one)], alone, rtol=1e-10, atol=1e-10)


@settings(max_examples=15)
@given(st.lists(complexes(max_dim=2, features=3), min_size=2, max_size=6), st.integers(1, 9))
def test_wide_is_a_loop(some, slack):
    """Any complexes, any padding; elu, since relu's slope at rounding is anyone's guess."""
    some = [K.replace(x=[*K.x, *[torch.zeros(0, 3).double()] * (2 - K.dim)][:3]) for K in some]
    dataset = mpsn.ComplexDataset(some)
    plain = models("SIN", 3, act="elu")
    lists = [list(range(len(some)))[i : i + 3] for i in range(3)]
    wide = Wide(plain)
    out = wide(wide_batch(dataset, lists, slack=slack))
    for m, one in enumerate(lists):
        alone = plain[m](dataset.batch(one))
        torch.testing.assert_close(out[m, : len(one)], alone, rtol=1e-9, atol=1e-9)
        assert_states_agree(wide.unstack(m).state_dict(), plain[m].state_dict())


@pytest.mark.parametrize("norm", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_padding_does_not_matter(kind, norm):
    """Garbage in the features of padding changes no output, gradient or statistic."""
    dataset, seen = data_of(kind), []
    for garbage in (0.0, 1e4):
        wide = Wide(models(kind, 3, norm=norm))
        batch = wide_batch(dataset, LISTS, wide.model.max_dim)
        x = []
        for k in range(wide.model.max_dim + 1):
            inside = torch.arange(batch.K.count(k) // 3) < batch.valid[k][:, None]
            assert not inside.all()
            x.append(torch.where(inside.reshape(-1, 1), batch.K.x[k], garbage))
        out = wide(batch._replace(K=batch.K.replace(x=x)))
        out.square().sum().backward()
        grads = [p.grad for p in wide.parameters() if p.grad is not None]
        assert len(grads) > 10
        seen.append([out, *grads, *wide.buffers()])
    for clean, dirty in zip(*seen, strict=True):
        torch.testing.assert_close(dirty, clean, rtol=1e-9, atol=1e-9)


def test_dropout_is_each_models_own():
    """Equal models on equal batches: different in training, equal in use; half is dropped."""
    torch.manual_seed(0)
    model = SIN(3, 200, 2, 1, coface_message=False, dropout=0.5)
    wide = Wide([model.double()] * 2)
    batch = wide_batch(graphs(), [[3, 7]] * 2)
    dropped = []
    wide.model.readout.dropout.register_forward_hook(
        lambda module, inputs, output: dropped.append((output == 0)[inputs[0] != 0])
    )
    first, second = wide(batch)
    assert not torch.equal(first, second)
    assert dropped[0].double().mean() == pytest.approx(0.5, abs=0.05)
    first, second = wide.eval()(batch)
    assert torch.equal(first, second)


def test_unstack_gives_ordinary_models():
    plain = models("SIN", 3)
    wide = Wide(plain)
    for m, model in enumerate(plain):
        assert type(wide.unstack(m)) is SIN
        assert_states_agree(wide.unstack(m).state_dict(), model.state_dict())


@pytest.mark.parametrize(
    "different",
    [
        lambda: [SIN(train_eps=True)],
        lambda: [GIN(train_eps=True)],
        lambda: [GIN(hidden=8), GIN()],
    ],
)
def test_what_cannot_be_stacked_is_refused(different):
    with pytest.raises(LayerError, match="Expected models"):
        Wide(different())


def test_blocks_in_pieces_are_blocks():
    """Rows enough to cut into pieces, with gradients in pieces: the numbers of one whole piece."""
    torch.manual_seed(0)
    x, weight = torch.randn(2, 3 * HEIGHT, 5).double(), torch.randn(2, 5, 4).double()
    n = torch.tensor([[HEIGHT + 3.0], [1.0]]).double()
    shift, bias, running = torch.randn(3, 2, 4).double().unbind()
    inputs = [t.requires_grad_() for t in (x, weight, shift, bias)]
    seen = []
    for rows in (x, torch.nn.functional.pad(x, (0, 0, 0, 1))):  # the latter cannot be cut
        dense = Dense.apply(rows.flatten(0, 1), weight, None).view(2, -1, 4)
        before = running.clone(), running.exp(), torch.zeros(2, dtype=torch.int64)
        out = masked.Norm.apply(dense, n, shift, bias, bias, before, 0.1, 1e-5, True)
        out = out + masked.ReLU.apply(dense, n, shift)
        loss = (out[:, : 3 * HEIGHT] * torch.arange(4)).square().sum()
        seen.append([loss, *before, *torch.autograd.grad(loss, inputs)])
    for whole, cut in zip(*seen, strict=True):
        torch.testing.assert_close(cut, whole, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("norm", [False, True])
def test_broken_features_show(norm):
    """What is not a number stays that, in its model and no other."""
    dataset = graphs()
    batch = wide_batch(dataset, LISTS)
    batch.K.x[0][0] = torch.nan
    out = Wide(models("SIN", 3, norm=norm))(batch)
    assert out[0].isnan().any()
    assert not out[1:].isnan().any()


def splits_of(dataset):
    """Three splits; the second takes fewer steps than the others."""
    n = len(dataset)
    cuts = [(0, 2, 4), (0, 3, 7), (2, 5, 6)]
    order = torch.randperm(n, generator=torch.Generator().manual_seed(1))
    return [Split(order[c:], order[a:b], order[:a] if a else order[b:c]) for a, b, c in cuts]


@pytest.mark.parametrize("kind", ["SIN", "GIN"])
def test_training_together_is_training_alone(kind):
    """Together, and one by one without padding: the same curves up to rounding."""
    dataset = graphs(23)
    y = torch.arange(23) % 2
    plan = Settings(epochs=2, batch_size=5, lr=0.01, decay_every=1, decay=0.5)

    def run_of(together):
        ticks = []
        trained = train_folds(
            dataset,
            y,
            splits_of(dataset),
            lambda i: KINDS[kind](act="elu", norm=True).double(),
            plan,
            seeds=[5, 6, 7],
            together=together,
            tick=ticks.append,
        )
        assert sum(ticks) == 3 * 2
        return trained

    runs = [run_of(together) for together in (1, 3)]
    alone = runs[0]
    for one, other in zip(runs[1], alone, strict=True):
        for name, curve in other.curve.items():
            assert one.curve[name] == pytest.approx(curve, rel=1e-6, nan_ok=True), name
    assert [one.curve for one in run_of(1)] == [one.curve for one in alone]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"y": torch.zeros(3).long()}, "one class per complex"),
        ({"seeds": [1]}, "one seed per split"),
        ({"splits": [Split(*torch.tensor([[0], [1], [99]]))] * 3}, "positions from 0 to 22"),
        ({"splits": [Split(*torch.tensor([[0], [1], [1]]))] * 3}, "each complex once in split 0"),
    ],
)
def test_splits_that_do_not_fit_are_refused(change, words):
    dataset = graphs(23)
    given = {"y": torch.zeros(23).long(), "splits": splits_of(dataset), "seeds": [0, 1, 2]}
    with pytest.raises(MPSNError, match=words):
        train_folds(dataset, build=models, settings=Settings(), **{**given, **change})


def test_every_mini_batch_fits_its_shape():
    dataset, at = graphs(), torch.arange(12)
    splits = [Split(at[:6], at[6:8], at[8:]), Split(at[6:], at[:2], at[2:6])]
    y, capture = at % 2, Capture(torch.device("cpu"))
    few = Settings(epochs=2, batch_size=4)
    run = _Pass(WideData(dataset, 2), y, splits, models("SIN", 2), [0, 1], few, capture)
    index = torch.cat(run.batches)
    for shapes in (1, 3, 32):  # four steps
        rows = run._rows(index, shapes)
        assert len(set(rows)) <= shapes
        assert (torch.tensor(rows) >= run.data.sizes(index).amax(1)).all()
