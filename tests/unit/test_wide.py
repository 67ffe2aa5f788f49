"""A wide model on a wide batch is its models on their batches: values, gradients, statistics."""

import networkx as nx
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import mpsn
from mpsn.errors import LayerError
from mpsn.experiments.training import Settings, Split, train_folds
from mpsn.nn.models import GIN, SIN, GINConfig, SINConfig
from mpsn.nn.wide import Wide, WideData
from mpsn.testing import complexes

KINDS = {
    "SIN": lambda **more: SIN(
        SINConfig(3, 8, 2, 3, coface_message=False, jump=True, readout_dims=(0, 2), **more)
    ),
    "GIN": lambda **more: GIN(GINConfig(3, 8, 2, 3, jump=True, **more)),
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


@pytest.mark.parametrize("more", [{}, {"norm": False, "readout": "mean", "act": "elu"}])
@pytest.mark.parametrize("kind", KINDS)
def test_steps_of_all_are_steps_of_each(kind, more):
    """Five steps of Adam, changing batches: outputs, weights and statistics agree."""
    dataset, plain = graphs(), models(kind, 3, **more)
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


def splits_of(dataset):
    """Three splits; the second takes fewer steps than the others."""
    n = len(dataset)
    cuts = [(0, 2, 4), (0, 3, 7), (2, 5, 6)]
    order = torch.randperm(n, generator=torch.Generator().manual_seed(1))
    return [Split(order[c:], order[a:b], order[:a] if a else order[b:c]) for a, b, c in cuts]


@pytest.mark.parametrize("kind", KINDS)
def test_training_together_is_training_alone(kind):
    """Passes of three, and one by one without padding: the same curves up to rounding."""
    dataset = graphs(23)
    y = torch.arange(23) % 2
    plan = Settings(epochs=4, batch_size=5, lr=0.01, decay_every=2, decay=0.5)
    runs = []
    for together in (1, 2, 3):
        ticks = []
        runs.append(
            train_folds(
                dataset,
                y,
                splits_of(dataset),
                lambda i: KINDS[kind](act="elu", norm=True).double(),
                plan,
                seeds=[5, 6, 7],
                together=together,
                tick=ticks.append,
            )
        )
        assert sum(ticks) == 3 * 4
    alone = runs[0]
    for run in runs[1:]:
        for one, other in zip(run, alone, strict=True):
            for name, curve in other.curve.items():
                assert one.curve[name] == pytest.approx(curve, rel=1e-6), name
    again = train_folds(
        dataset,
        y,
        splits_of(dataset),
        lambda i: KINDS[kind](act="elu", norm=True).double(),
        plan,
        seeds=[5, 6, 7],
    )
    assert [one.curve for one in again] == [one.curve for one in alone]
