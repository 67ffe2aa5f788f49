"""What experiments and estimators share: settings, files, devices, seeds, captures."""

import gc
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal

import networkx as nx
import pytest
import torch

from mpsn.errors import ConfigError, MPSNError
from mpsn.estimators import SimplicialClassifier, load
from mpsn.training import _checkpoint, captured, from_plain
from mpsn.training._capture import keep_garbage
from mpsn.training._device import one_thread, pick_device, seeded

CPU = torch.device("cpu")


def test_functions_are_called_each_time_on_a_cpu():
    total = torch.zeros(())
    add = captured(lambda by: total.add_(by), CPU)
    assert not add.enabled
    for step in (1, 2, 2):
        out = add(step)
    assert out is total
    assert total == 5


def test_devices():
    assert pick_device("cpu") == pick_device(CPU) == CPU
    assert pick_device() == torch.device("cuda" if torch.cuda.is_available() else "cpu")
    for wrong in ("toaster", "cuda:99", 3.5, None):
        with pytest.raises(MPSNError, match="Expected a device such as cpu or cuda, got"):
            pick_device(wrong)


def test_seeds_leave_the_state_alone():
    state = torch.get_rng_state()
    drawn = []
    for _ in range(2):
        with seeded(7, CPU):
            drawn.append(torch.rand(3))
    assert torch.equal(*drawn)
    assert torch.equal(torch.get_rng_state(), state)


def test_seeds_in_threads_do_not_meet():
    """Every thread draws what it would draw alone, and the state is restored after all of them."""

    def draw(seed):
        with seeded(seed, CPU):
            found = []
            for _ in range(20):
                found.append(torch.rand(3))
                time.sleep(0.001)
        return torch.cat(found)

    state = torch.get_rng_state()
    alone = [draw(seed) for seed in range(4)]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(draw, range(4)))
    assert all(map(torch.equal, alone, together))
    assert torch.equal(torch.get_rng_state(), state)


def test_one_thread_on_a_cpu():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        with one_thread(CPU):
            assert torch.get_num_threads() == 1
        assert torch.get_num_threads() == 2
        with one_thread(torch.device("cuda")):
            assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


@dataclass(frozen=True)
class Small:
    width: int = 1


@dataclass(frozen=True)
class Large:
    width: int
    height: float
    kind: Literal["a", "b"] = "a"
    inner: Small | None = None
    many: tuple[Small, ...] = ()
    table: dict[str, list[float]] | None = None
    numbers: dict[str, int | float] | None = None

    def __post_init__(self):
        if self.width < 0:
            raise TypeError("a bug")


class Plain:
    def __init__(
        self, n: int, *, names: str | Sequence[str] = "", by: Mapping[Any, float] | None = None
    ):
        self.n, self.names, self.by = n, names, by


def test_settings_of_all_types():
    values = {
        "width": 2,
        "height": 3,
        "kind": "b",
        "inner": {"width": 4},
        "many": [{}, {"width": 5}],
        "table": {"x": [1, 0.5]},
        "numbers": {"i": 1, "f": 2.0},
    }
    found = from_plain(Large, values, "here")
    assert found == Large(
        2, 3.0, "b", Small(4), (Small(), Small(5)), {"x": [1.0, 0.5]}, {"i": 1, "f": 2.0}
    )
    assert type(found.height) is float
    assert [type(v) for v in found.numbers.values()] == [int, float]
    plain = from_plain(Plain, {"n": 1, "names": ["a"], "by": {"x": 1}}, "here")
    assert (plain.n, plain.names, plain.by) == (1, ["a"], {"x": 1.0})


@pytest.mark.parametrize(
    ("kind", "values", "message"),
    [
        (Large, [], "Expected settings by name in here, got"),
        (Large, {"width": 1}, "Expected all settings in here, got none for height"),
        (Large, {"width": 1, "height": 1, "kin": 2}, "got kin; Did you mean kind?"),
        (Large, {"width": True, "height": 1}, "here: width of type int, got True"),
        (Large, {"width": 1, "height": "1"}, "here: height of type float, got '1'"),
        (Large, {"width": 1, "height": 1, "kind": "c"}, "here: kind of type"),
        (Large, {"width": 1, "height": 1, "kind": ["a"]}, "here: kind of type"),
        (Large, {"width": 1, "height": 1, "inner": {"x": 1}}, "here: inner, got x"),
        (Large, {"width": 1, "height": 1, "many": [1]}, "here: many of type Small"),
        (Large, {"width": 1, "height": 1, "table": {"x": ["y"]}}, "here: table of type float"),
        (Plain, {}, "got none for n"),
        (Plain, {"n": 1, "names": 3}, "here: names of type str"),
        (Plain, {"n": 1, "by": {"x": "y"}}, "here: by of type float"),
    ],
)
def test_settings_that_do_not_fit(kind, values, message):
    with pytest.raises(ConfigError, match=message.replace("?", r"\?")):
        from_plain(kind, values, "here")


def test_a_bug_is_not_reported_as_bad_settings_or_a_damaged_file(tmp_path, monkeypatch):
    with pytest.raises(TypeError, match="a bug"):
        from_plain(Large, {"width": -1, "height": 1.0}, "here")
    graphs = [nx.path_graph(3), nx.cycle_graph(3)] * 3
    model = SimplicialClassifier(hidden=2, layers=1, members=1, epochs=1, device="cpu")
    model.fit(graphs, [0, 1] * 3).save(tmp_path / "model.mpsn")
    for error in (TypeError, AttributeError):

        def broken(*_, error=error):
            raise error("a bug")

        for where in (
            "mpsn.estimators._saving.adopt_weights",
            "mpsn.estimators._base.Ensemble",
        ):
            with monkeypatch.context() as patch:
                patch.setattr(where, broken)
                with pytest.raises(error, match="a bug"):
                    load(tmp_path / "model.mpsn")


def test_models_are_written_whole(tmp_path, monkeypatch):
    path = tmp_path / "model.mpsn"
    _checkpoint.write_model(path, _checkpoint.ModelFile("A", {"x": 1}, {"w": torch.ones(2)}))
    before = path.read_bytes()

    def full(file, **arrays):
        file.write(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("numpy.savez", full)
    with pytest.raises(MPSNError, match=r"Expected to write a model to .*No space left"):
        _checkpoint.write_model(path, _checkpoint.ModelFile("B", {}, {}))
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["model.mpsn"]
    kind, state, tensors = _checkpoint.read_model(path)
    assert (kind, state, tensors["w"].tolist()) == ("A", {"x": 1}, [1, 1])


def test_no_garbage_is_collected_during_a_capture():
    with keep_garbage():
        with suppress(ZeroDivisionError), keep_garbage():
            raise ZeroDivisionError
        assert not gc.isenabled()
    assert gc.isenabled()
