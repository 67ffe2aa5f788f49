"""mpsn.training.Trainer against plain loops, alone and side by side, whole and cut off."""

import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
import torch
from sklearn.model_selection import KFold
from torch import Tensor

import mpsn
from mpsn.errors import FileError, MPSNError, TrainingInterrupted
from mpsn.nn.models import CIN, GIN, SIN
from mpsn.training import METRICS, Run, StepDecay, Trainer, TrainerSettings, forward_padded, loss_of
from mpsn.training import _run as run_module
from mpsn.training._schedules import factor, plateau

NAN = float("nan")
GRAPHS = [nx.gnp_random_graph(4 + i % 7, 0.5, seed=i) for i in range(40)]


def data_of(lift: str = "cliques") -> mpsn.ComplexDataset[Any]:
    options = {"max_dim": 2} if lift == "cliques" else {}
    lifted = mpsn.Lift(lift, **options).many(GRAPHS)
    generator = torch.Generator().manual_seed(0)
    x = [torch.randn(n, 3, generator=generator) for n in lifted.union.counts[:3]]
    return mpsn.ComplexDataset(lifted.union.skeleton(2).replace(x=x))


def double(data: mpsn.ComplexDataset[Any]) -> mpsn.ComplexDataset[Any]:
    return mpsn.ComplexDataset(data.union.replace(x=[x.double() for x in data.union.x]))


def sin(seed: int = 0, **changes: Any) -> SIN:
    return SIN(
        **{"in_channels": 3, "hidden": 8, "layers": 2, "out_channels": 2, "norm": True, **changes}
    )


def labels() -> Tensor:
    return torch.tensor([int(graph.number_of_edges() > 8) for graph in GRAPHS])


def weights(network: torch.nn.Module) -> list[Tensor]:
    return [tensor.double() for tensor in network.state_dict().values()]


def same(one: torch.nn.Module, other: torch.nn.Module, **options: Any) -> bool:
    pairs = zip(weights(one), weights(other), strict=True)
    return all(torch.allclose(a, b, **options) for a, b in pairs)


# Against a loop written out ------------------------------------------------------------------


def by_hand(data: Any, y: Tensor, train: Tensor, epochs: int, size: int) -> tuple[Any, list[float]]:
    torch.manual_seed(5)
    network = sin().double()
    order = torch.Generator().manual_seed(5)
    adam = torch.optim.AdamW(network.parameters(), lr=0.01, weight_decay=0.1)
    losses = []
    for epoch in range(epochs):
        for group in adam.param_groups:
            group["lr"] = 0.01 * 0.5**epoch
        network.train()
        total = 0.0
        for index in torch.split(train[torch.randperm(len(train), generator=order)], size):
            loss = torch.nn.functional.cross_entropy(network(data.batch(index)), y[index])
            adam.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
            adam.step()
            total += loss.item() * len(index)
        losses.append(total / len(train))
    return network.eval(), losses


def test_it_trains_as_a_plain_loop_does() -> None:
    data, y, train = double(data_of()), labels(), torch.arange(30)
    network, losses = by_hand(data, y, train, 3, 8)
    trainer = Trainer(
        lambda seed: sin().double(),
        lr=0.01,
        weight_decay=0.1,
        schedule=StepDecay(1),
        clip=1.0,
        epochs=3,
        batch_size=8,
        seed=5,
    ).fit(data, y, {"train": train})
    assert same(trainer.networks[0], network, atol=1e-5)
    assert trainer.histories[0].train == pytest.approx(losses, abs=1e-5)


def test_the_optimizer_sees_the_schedule() -> None:
    rates = []

    def note(run: Any) -> None:
        rates.append(run.optimizer.param_groups[0]["lr"])

    Trainer(sin, lr=0.1, schedule="cosine", warmup=2, epochs=4, callbacks=[note]).fit(
        data_of(), labels()
    )
    expected = [0.1 * min(1, (e + 1) / 2) * (1 + np.cos(np.pi * e / 4)) / 2 for e in range(4)]
    assert rates == pytest.approx(expected)


def test_the_plateau_rule_is_torchs() -> None:
    losses = torch.rand(60, generator=torch.Generator().manual_seed(1)).tolist()
    weight = torch.nn.Parameter(torch.zeros(1))
    sgd = torch.optim.SGD([weight], lr=1.0)
    rule = torch.optim.lr_scheduler.ReduceLROnPlateau(sgd, factor=0.5, patience=3)
    for epoch, loss in enumerate(losses):
        rule.step(loss)
        assert sgd.param_groups[0]["lr"] == plateau(losses[: epoch + 1], 3)


@pytest.mark.parametrize(
    ("losses", "best", "stopped"),
    [
        ([3.0, 1.0, 2.0, 2.0, 0.5], 1, 3),
        ([NAN, 3.0, 2.0, NAN, 2.5], 2, 4),  # NaN is no progress, also if it comes first
        ([NAN, NAN, NAN], 0, 2),
        ([1.0, 1.0, 2.0, 1.0], 3, None),  # as long as the loss is as low, training goes on
    ],
)
def test_early_stopping_keeps_the_weights_of_the_least_loss(
    losses: list[float], best: int, stopped: int | None
) -> None:
    network, y = torch.nn.Linear(1, 1, bias=False), torch.zeros(1)
    parts, settings = {"train": torch.arange(1)}, TrainerSettings(patience=2)
    samples: Any = None
    run = Run(0, 0, network, samples, y, parts, settings, loss_of("mse"), y.device)
    run.evaluated = network
    ended = None
    for epoch, loss in enumerate(losses):
        torch.nn.init.constant_(network.weight, epoch)
        run._conclude(loss)
        if run.done:
            ended = epoch
            break
    run.close()
    assert (run.best, ended) == (best, stopped)
    assert network.weight.item() == best


def test_the_learning_rate_rises_and_is_halved() -> None:
    """Two epochs of warming up; then half, whenever two epochs are no better than the best."""
    losses = [9.0, 9.0, 5.0, 4.0, 4.0, 4.5, 5.0, NAN, 4.0, 4.0]
    rates = [0.8 * factor("plateau", epoch, 10, 2, 6, losses[:epoch]) for epoch in range(10)]
    assert rates == pytest.approx([0.4, 0.8, 0.8, 0.8, 0.8, 0.8, 0.8, 0.4, 0.4, 0.4])


# Padding and capture -------------------------------------------------------------------------


@pytest.mark.parametrize("lift", ["cliques", "rings"])
@pytest.mark.parametrize("kind", ["sin", "cin", "gin"])
def test_padding_changes_neither_outputs_nor_gradients_nor_norms(lift: str, kind: str) -> None:
    data, index = data_of(lift), torch.tensor([3, 11, 7, 20, 3])
    torch.manual_seed(0)
    make: Callable[..., Any] = {"sin": SIN, "cin": CIN, "gin": GIN}[kind]
    options = {} if kind == "gin" else {"norm": True}
    network = make(in_channels=3, hidden=8, layers=2, out_channels=2, **options).double()
    data = double(data)
    twin = make(in_channels=3, hidden=8, layers=2, out_channels=2, **options).double()
    twin.load_state_dict(network.state_dict())
    shape = data.padded_shape(torch.stack([index, index.flip(0)]))
    for _ in range(2):
        plain = network(data.batch(index))
        padded = forward_padded(twin, data.batch(index, pad=shape))
        assert padded.shape == plain.shape
        assert torch.allclose(plain, padded, atol=1e-10)
        for one, out in ((network, plain), (twin, padded)):
            one.zero_grad()
            out.square().sum().backward()
        for p, q in zip(network.parameters(), twin.parameters(), strict=True):
            if p.grad is None or q.grad is None:
                assert p.grad is None or not p.grad.any()
                continue
            assert torch.allclose(p.grad, q.grad, atol=1e-8)
    assert same(network, twin, atol=1e-10)
    network.eval(), twin.eval()
    padded = forward_padded(twin, data.batch(index, pad=shape))
    assert torch.allclose(network(data.batch(index)), padded, atol=1e-10)


def test_a_padded_batch_holds_its_complexes() -> None:
    data = data_of("rings")
    index = torch.tensor([0, 8, 15, 39])
    shape = data.padded_shape(index)
    K = data.batch(index, pad=shape)
    assert K.to_list()[:-1] == [data[i] for i in index.tolist()]
    assert len(set(shape[:3])) == 3
    for k in (1, 2):  # the padding is sound, and hangs on padding
        B = K.incidence(k)
        mpsn.complexes.Incidence(B.face, B.count, B.width, B.ptr, B.sign)
        padding = B.cell >= K.ptr(k)[-2]
        assert bool((B.face[padding] >= K.ptr(k - 1)[-2]).all())


def test_padded_training_is_training(monkeypatch: pytest.MonkeyPatch) -> None:
    data, y = double(data_of()), labels()
    how = {"lr": 0.01, "epochs": 3, "batch_size": 8, "average": 0.9, "metrics": ["accuracy"]}
    networks = [lambda seed: sin().double()] * 2
    plain = Trainer(networks, **how).fit(data, y, 0.25)
    monkeypatch.setattr(run_module, "can_capture", lambda device: True)
    padded = Trainer(networks, **how).fit(data, y, 0.25)
    for one, other in zip(plain.networks, padded.networks, strict=True):
        assert same(one, other, atol=1e-4)
    for a, b in zip(plain.histories, padded.histories, strict=True):
        assert a.train == pytest.approx(b.train, abs=1e-6)
        assert a.valid == pytest.approx(b.valid, abs=1e-6)
        assert a.curves["val_accuracy"] == b.curves["val_accuracy"]


def test_norms_of_other_rows_are_refused_in_padded_batches() -> None:
    class Odd(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm = torch.nn.BatchNorm1d(3)

        def forward(self, K: mpsn.SimplicialComplex) -> Tensor:
            assert K.x[0] is not None
            return self.norm(K.x[0][:7])

    data, index = data_of(), torch.arange(4)
    K = data.batch(index, pad=data.padded_shape(index))
    with pytest.raises(MPSNError, match=r"one row for each cell .* LayerNorm"):
        forward_padded(Odd(), K)


# Several networks, threads, processes --------------------------------------------------------


def test_networks_are_trained_as_alone() -> None:
    data, y = data_of(), labels()
    how = {"epochs": 2, "batch_size": 8}
    both = Trainer([sin, sin], seed=3, **how).fit(data, y)
    alone = Trainer(sin, seed=4, **how).fit(data, y)
    assert same(both.networks[1], alone.networks[0], rtol=0, atol=0)
    assert both.histories[1] == alone.histories[0]
    assert not same(both.networks[0], both.networks[1])
    assert not torch.equal(both.splits[0]["val"], both.splits[1]["val"])


def test_each_network_may_have_a_seed() -> None:
    data, y, how = data_of(), labels(), {"epochs": 2, "batch_size": 8}
    listed = Trainer([sin, sin], seed=[7, 4], **how).fit(data, y, 0.2)
    alone = Trainer(sin, seed=4, **how).fit(data, y, 0.2)
    assert same(listed.networks[1], alone.networks[0], rtol=0, atol=0)
    assert listed.histories[1] == alone.histories[0]
    assert torch.equal(listed.splits[1]["val"], alone.splits[0]["val"])
    with pytest.raises(MPSNError, match="a seed, or one for each of 2 networks, got 3"):
        Trainer([sin, sin], seed=[1, 2, 3]).fit(data, y)


def test_threads_do_not_matter() -> None:
    data, y, before = data_of(), labels(), torch.get_num_threads()
    found = []
    try:
        for threads in (1, 2):
            torch.set_num_threads(threads)
            found.append(Trainer(sin, epochs=2).fit(data, y).networks[0])
    finally:
        torch.set_num_threads(before)
    assert same(*found, rtol=0, atol=0)


def test_random_numbers_of_others_are_left_alone() -> None:
    torch.manual_seed(1)
    expected = torch.rand(3)
    network = sin()
    torch.manual_seed(1)
    Trainer(network, epochs=1).fit(data_of(), labels())
    assert torch.equal(torch.rand(3), expected)


# Cut off and resumed -------------------------------------------------------------------------


class KilledError(Exception):
    pass


def test_a_killed_fit_goes_on_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data, y = data_of(), labels()
    monkeypatch.setattr("mpsn.training._resume.SECONDS", 0.0)
    how = {"epochs": 6, "batch_size": 8, "average": 0.9, "schedule": "plateau", "patience": 3}

    def networks() -> list[Any]:
        return [lambda seed: sin(dropout=0.3)] * 2

    whole = Trainer(networks(), **how).fit(data, y)

    def kill(run: Any) -> None:
        if (run.number, run.epoch) == (1, 3):
            raise KilledError

    path = tmp_path / "model"
    with pytest.raises(KilledError):
        Trainer(networks(), callbacks=[kill], **how).fit(data, y, resume=path)
    epochs: list[tuple[int, int]] = []
    again = Trainer(networks(), callbacks=[lambda r: epochs.append((r.number, r.epoch))], **how)
    again.fit(data, y, resume=path)
    assert epochs[0] == (1, 3)  # network 0 was done
    for one, other in zip(whole.networks, again.networks, strict=True):
        assert same(one, other, rtol=0, atol=0)
    assert whole.histories == again.histories


def test_a_checkpoint_of_other_data_is_not_taken_up(tmp_path: Path) -> None:
    data, path = data_of(), tmp_path / "model"
    Trainer(sin, epochs=1).fit(data, labels(), resume=path)
    epochs: list[int] = []
    other = Trainer(sin, epochs=1, callbacks=[lambda run: epochs.append(run.epoch)])
    other.fit(data, 1 - labels(), resume=path)
    assert epochs == [1]


def test_ctrl_c_keeps_the_best(recwarn: pytest.WarningsRecorder) -> None:
    def interrupt(run: Any) -> None:
        if run.epoch == 2:
            signal.raise_signal(signal.SIGINT)
            threading.Event().wait(0.5)

    trainer = Trainer([sin, sin], epochs=500, callbacks=[interrupt])
    with pytest.warns(TrainingInterrupted, match="best of"):
        trainer.fit(data_of(), labels())
    assert trainer.interrupted
    assert len(trainer.networks) == 1
    assert trainer.predict(data_of()).shape == (40, 2)


# Targets, splits, metrics --------------------------------------------------------------------


def test_the_best_epoch_in_validation_is_kept() -> None:
    seen: list[dict[str, Tensor]] = []

    def note(run: Any) -> None:
        seen.append({name: t.clone() for name, t in run.network.state_dict().items()})

    trainer = Trainer(sin, lr=0.05, epochs=12, patience=3, callbacks=[note])
    trainer.fit(data_of(), labels(), 0.3)
    history = trainer.histories[0]
    assert history.best == max(
        i for i, loss in enumerate(history.valid) if loss == min(history.valid)
    )
    state = trainer.networks[0].state_dict()
    assert all(torch.equal(state[name], seen[history.best][name]) for name in state)
    assert len(history.train) in (12, history.best + 4)


def test_nothing_depends_on_the_test_part() -> None:
    data, y, n = data_of(), labels(), len(GRAPHS)
    split = {"train": range(24), "val": range(24, 32), "test": range(32, n)}
    spoiled = y.clone()
    spoiled[32:] = 1 - spoiled[32:]
    x = list(data.union.x)
    for k in range(3):
        assert x[k] is not None
        x[k] = torch.where((data.union.batch(k) >= 32)[:, None], torch.randn_like(x[k]), x[k])
    noise = mpsn.ComplexDataset(data.union.replace(x=x))
    how = {"epochs": 4, "batch_size": 8, "patience": 2, "average": 0.5, "metrics": ["accuracy"]}
    one, other = (Trainer(sin, **how).fit(*given, split) for given in ((data, y), (noise, spoiled)))
    assert same(one.networks[0], other.networks[0], rtol=0, atol=0)
    assert one.histories[0].valid == other.histories[0].valid
    assert one.histories[0].curves["test_loss"] != other.histories[0].curves["test_loss"]


@pytest.mark.parametrize("loss", ["mse", "mae", "huber", "binary_cross_entropy", "cross_entropy"])
def test_missing_targets_do_not_count(loss: str) -> None:
    torch.manual_seed(0)
    outputs = torch.randn(6, 2)
    y = torch.tensor([[0, 1], [1, -1], [-1, -1], [1, 0], [0, 0], [1, 1]])
    if loss == "cross_entropy":
        missing = torch.tensor([0, 1, -1, 1, 0, -1])
        expected = torch.nn.functional.cross_entropy(outputs[[0, 1, 3, 4]], missing[[0, 1, 3, 4]])
        assert torch.allclose(loss_of(loss)(outputs, missing), expected)
        return
    numbers = torch.where(y < 0, torch.nan, y.float())
    there = ~numbers.isnan()
    plain = {
        "mse": torch.nn.functional.mse_loss,
        "mae": torch.nn.functional.l1_loss,
        "huber": torch.nn.functional.huber_loss,
        "binary_cross_entropy": torch.nn.functional.binary_cross_entropy_with_logits,
    }[loss]
    assert torch.allclose(loss_of(loss)(outputs, numbers), plain(outputs[there], numbers[there]))
    if loss == "binary_cross_entropy":
        assert torch.equal(loss_of(loss)(outputs, y), loss_of(loss)(outputs, numbers))


def test_class_weights_are_torchs() -> None:
    outputs, y = torch.randn(20, 3), torch.arange(20) % 3
    expected = torch.nn.functional.cross_entropy(outputs, y, torch.tensor([1.0, 2.0, 5.0]))
    assert torch.allclose(loss_of("cross_entropy", [1.0, 2.0, 5.0])(outputs, y), expected)


def test_metrics_are_scikit_learns() -> None:
    from sklearn import metrics

    rng = np.random.default_rng(0)
    out, y = rng.normal(size=50).round(1), rng.integers(0, 2, 50)
    numbers, truth = torch.tensor(out), torch.tensor(y)
    assert METRICS["auc"](numbers, truth) == pytest.approx(metrics.roc_auc_score(y, out))
    assert METRICS["accuracy"](numbers[:, None], truth[:, None]) == pytest.approx(
        metrics.accuracy_score(y, out > 0)
    )
    target = torch.tensor(rng.normal(size=50))
    assert METRICS["r2"](numbers, target) == pytest.approx(metrics.r2_score(target, out))
    assert METRICS["mae"](numbers, target) == pytest.approx(
        metrics.mean_absolute_error(target, out)
    )
    assert METRICS["rmse"](numbers, target) == pytest.approx(
        metrics.root_mean_squared_error(target, out)
    )


def test_training_is_measured_on_the_outputs_of_its_steps() -> None:
    """Without a change of the weights and without norms, they are those of the network."""
    data, y, split = data_of(), labels(), {"train": torch.arange(0, 40, 2)}
    trainer = Trainer(lambda seed: sin(norm=False), lr=1e-12, epochs=2, metrics=["accuracy", "auc"])
    curves = trainer.fit(data, y, split).histories[0].curves
    rows = trainer.outputs(data)[0][::2]
    for name in ("accuracy", "auc"):
        assert curves[f"train_{name}"] == (METRICS[name](rows, y[::2]),) * 2


def test_splits_of_scikit_learn_are_one_for_each_network() -> None:
    folds = KFold(3, shuffle=True, random_state=0)
    trainer = Trainer([sin] * 3, epochs=1).fit(data_of(), labels(), folds)
    for split, (stay, val) in zip(trainer.splits, folds.split(np.zeros(40)), strict=True):
        assert split["train"].tolist() == stay.tolist()
        assert split["val"].tolist() == val.tolist()


def test_cells_have_targets() -> None:
    class Rows(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv = mpsn.nn.SINConv(3, 4, max_dim=2, norm=True)

        def forward(self, K: mpsn.SimplicialComplex) -> Tensor:
            return self.conv(K, K.x)[1]

    data = data_of()
    y = (torch.arange(data.union.count(1)) % 4).float()
    y[::5] = torch.nan
    trainer = Trainer(lambda seed: Rows(), loss="mse", cells=1, epochs=2, batch_size=64)
    trainer.fit(data, y[:, None].expand(-1, 4))
    assert trainer.predict(data).shape == (data.union.count(1), 4)
    whole = trainer.networks[0](data.union)
    assert torch.allclose(trainer.predict(data), whole, atol=1e-6)
    alone = Trainer(lambda seed: Rows(), loss="mse", cells=1, epochs=2)
    alone.fit(data.union, y[:, None].expand(-1, 4), 0.2)
    assert torch.isfinite(alone.predict(data.union)).all()


def test_other_data_have_batches_of_their_own() -> None:
    K = data_of()[4]

    class Flows:
        """Several cochains on one complex."""

        x = torch.randn(K.count(1), 20)

        def __len__(self) -> int:
            return 20

        def batch(self, index: Tensor) -> tuple[Any, Tensor]:
            return K, self.x[:, index, None]

    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.dense = torch.nn.Linear(1, 3)

        def forward(self, K: Any, h: Tensor) -> Tensor:
            return self.dense(K.incidence(1).lower(h)).sum(dim=0)

    trainer = Trainer(lambda seed: Net(), epochs=2).fit(Flows(), torch.arange(20) % 3)
    assert trainer.predict(Flows()).shape == (20, 3)


def test_save_and_load(tmp_path: Path) -> None:
    data, y, path = data_of(), labels(), tmp_path / "trainer.npz"
    trainer = Trainer([sin, sin], epochs=2, metrics=["auc"]).fit(data, y)
    trainer.save(path)
    again = Trainer(sin).load(path)
    assert torch.equal(again.predict(data), trainer.predict(data))
    assert again.histories == trainer.histories
    assert trainer.score(data, y) == again.score(data, y)
    with pytest.raises(FileError, match="damaged"):
        Trainer(lambda seed: sin(hidden=4)).load(path)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"epochs": 0}, "epochs as an integer >= 1"),
        ({"lr": float("nan")}, "lr as a number above 0"),
        ({"loss": "mea"}, r"Did you mean m(ae|se)"),
        ({"optimizer": "adm"}, "Did you mean adam"),
        ({"schedule": "cos"}, "schedule among constant, cosine, plateau"),
        ({"average": 1.0}, "average as a number from 0 to below 1"),
        ({"metrics": ["acc"]}, "metric among accuracy"),
        ({"precision": "half"}, "precision float32, tf32 or bf16"),
        ({"size": 3}, "settings among .* got size"),
        ({"sync_norms": True, "device": "cpu"}, "a GPU to synchronize norms"),
    ],
)
def test_settings_are_checked(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(MPSNError, match=message):
        Trainer(sin, **settings).fit(data_of(), labels())


@pytest.mark.parametrize(
    ("y", "split", "message"),
    [
        (torch.zeros(3), 0.1, "a target y for each of 40"),
        (np.array(["a", "b"] * 20), 0.1, "numpy.unique"),
        (torch.zeros(40), 1.5, "split from 0 to below 1"),
        (torch.zeros(40), ([0, 1], [1, 2]), "got some twice"),
        (torch.zeros(40), ([0, 99], [1]), "positions from 0 to 39"),
        (torch.zeros(40), [([0], [1])] * 3, "one for each of 1 networks"),
    ],
)
def test_targets_and_splits_are_checked(y: Any, split: Any, message: str) -> None:
    with pytest.raises(MPSNError, match=message):
        Trainer(sin, loss="mse").fit(data_of(), y, split)
