"""Several processes train the model that one would: of every batch, each computes its part."""

import signal
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from types import SimpleNamespace

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import mpsn
from mpsn.cli import main
from mpsn.errors import MPSNError
from mpsn.estimators import load
from mpsn.training._device import pick_device
from mpsn.training._launch import Place, _address, _have_own_gpus, find_place
from mpsn.training._processes import balance
from ranks import (
    GRAPHS,
    command,
    fit_own_graphs,
    join_again,
    killed_command,
    packed,
    run_ranks,
    train_all,
)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """Return what one process finds, and what each of two does."""
    return train_all(), run_ranks(2, tmp_path_factory.mktemp("ranks"), train_all)


def test_two_processes_train_the_model_of_one(trained):
    one, two = trained
    for found in two:
        assert found.keys() == one.keys()
        for name, values in one.items():
            if name.startswith("with norms"):  # which see the cells of their own process
                continue
            exact = name.startswith(("sin", "pooled", "cin"))
            np.testing.assert_allclose(
                found[name],
                values,
                rtol=1e-6 if exact else 1e-3,
                atol=1e-9 if exact else 2e-5,
                err_msg=name,
            )
        first, last = found["with norms: losses"][0][[0, -1]]
        assert last < first


def test_all_processes_have_one_model(trained):
    first, second = trained[1]
    for name, values in first.items():
        np.testing.assert_array_equal(second[name], values, err_msg=name)


@given(st.lists(st.integers(0, 20), max_size=6), st.integers(1, 3))
def test_balanced_parts(cells, parts):
    part = balance(torch.tensor(cells, dtype=torch.int64), parts).tolist()
    best = min(
        max(sum(c for c, p in zip(cells, one, strict=True) if p == q) for q in range(parts))
        for one in product(range(parts), repeat=len(cells))
    )
    assert len(part) == len(cells)
    assert set(part) <= set(range(parts))
    found = max(sum(c for c, p in zip(cells, part, strict=True) if p == q) for q in range(parts))
    assert best <= found
    assert 3 * parts * found <= (4 * parts - 1) * best  # Graham's bound


def write_rings(path, many):
    """Pack cycles with categories as features, a target, and a split; 280 kB each."""
    generator = torch.Generator().manual_seed(0)

    def rings():
        for i in range(many):
            K = mpsn.clique_complex(nx.cycle_graph(600 + i % 7))
            x = [torch.randint(0, 2, (n, 24), generator=generator) for n in K.counts]
            yield K.replace(x=x, y=torch.tensor([[float(i % 7), i % 3]]))

    mpsn.ComplexDataset.write(path, rings())
    return path


@pytest.mark.skipif(sys.platform != "linux", reason="private memory is known on Linux only")
def test_processes_leave_a_packed_collection_in_its_file(tmp_path):
    """Memory of one process, which loads it, grows with it; that of each of several does not."""
    paths = [write_rings(tmp_path / f"{many}.npz", many) for many in (24, 240)]
    more = paths[1].stat().st_size - paths[0].stat().st_size
    ((wanted, grown),) = run_ranks(1, tmp_path, packed, *paths)
    assert grown > more
    for found, grown in run_ranks(2, tmp_path, packed, *paths):
        assert grown < more / 2
        for name, curve in wanted.items():
            np.testing.assert_allclose(found[name], curve, rtol=1e-3, err_msg=name)


def write_graphs(folder):
    """Write graphs and numbers of edges; return the words of a command that learns them."""
    (folder / "graphs").mkdir()
    rows = ["graph,edges"]
    for i, graph in enumerate(GRAPHS[:24]):
        nx.write_graphml(graph, folder / "graphs" / f"{i}.graphml")
        rows.append(f"{i},{graph.number_of_edges()}")
    (folder / "edges.csv").write_text("\n".join(rows))
    rest = ["--labels", str(folder / "edges.csv"), "--regress", "--features", "constant"]
    rest += ["--epochs", "3", "--hidden", "4", "--no-kernel", "--device", "cpu"]
    return ["fit", str(folder / "graphs"), *rest, "--out"]


def lines(folder):
    """Return the one line that two processes said.

    Both say it if the first, where they agree on who does, has ended before the other asks.
    """
    (said,) = {*(folder / "0").read_text().splitlines(), *(folder / "1").read_text().splitlines()}
    return said


def test_a_killed_process_and_a_resumed_run(tmp_path, monkeypatch):
    words = write_graphs(tmp_path)
    for kind, code in {signal.SIGTERM: 2, signal.SIGKILL: -9}.items():
        out = str(tmp_path / "resumed.mpsn")
        assert run_ranks(2, tmp_path, killed_command, kind, *words, out) == [2, code]
        said = lines(tmp_path)
        assert said.startswith("error: Expected 2 processes until the end, got fewer")
    assert not (tmp_path / "resumed.mpsn").exists()
    assert (tmp_path / "resumed.mpsn.resume0").exists()
    assert run_ranks(3, tmp_path, command, *words, str(tmp_path / "resumed.mpsn")) == [0, 0, 0]
    assert (tmp_path / "0").read_text().endswith("resumed.mpsn\n")
    assert not (tmp_path / "1").read_text()
    assert not (tmp_path / "2").read_text()
    assert not list(tmp_path.glob("*.resume*"))
    monkeypatch.setattr("sys.argv", ["mpsn", *words, str(tmp_path / "whole.mpsn")])
    with pytest.raises(SystemExit, match="0"):
        main()
    one, other = (load(tmp_path / f"{name}.mpsn") for name in ("whole", "resumed"))
    assert len(other.histories_[0].train) == 3
    for ours, theirs in zip(one.histories_, other.histories_, strict=True):
        np.testing.assert_allclose(theirs.train, ours.train, rtol=1e-3)


def test_an_error_of_all_processes_is_one_line(tmp_path):
    assert run_ranks(2, tmp_path, command, "fit", str(tmp_path / "none"), "-o", "m.mpsn") == [2, 2]
    said = lines(tmp_path)
    assert said.startswith("error: ")
    assert "none" in said
    found = run_ranks(2, tmp_path, fit_own_graphs)
    assert found[0] == found[1]
    assert found[0].startswith("Expected the same data, targets and")


def test_processes_join_more_than_once(tmp_path):
    assert run_ranks(2, tmp_path, join_again) == [[2, 2, 1]] * 2


def test_only_some_models_and_experiments_train_in_several_processes(tmp_path):
    complex_file, labels = tmp_path / "complex.txt", tmp_path / "labels.csv"
    complex_file.write_text("\n".join(f"{i} {i + 1}" for i in range(9)))
    labels.write_text("cell,label\n" + "\n".join(f"{i},{'ab'[i % 2]}" for i in range(10)))
    words = ["fit", str(complex_file), "--cells", str(labels), "-o", str(tmp_path / "m.mpsn")]
    assert run_ranks(2, tmp_path, command, *words) == [2, 2]
    said = lines(tmp_path)
    assert "Expected one process to train on cells" in said
    words = ["reproduce", "sr", "--quick", "--out", str(tmp_path / "runs")]
    assert run_ranks(2, tmp_path, command, *words) == [2, 2]
    said = lines(tmp_path)
    assert "got sr in 2 processes" in said


@pytest.mark.parametrize(
    ("gpus", "own"),
    [
        ([["a"], ["b"], ["c"]], True),  # of one process each, in a pod or a task of Slurm
        ([["a", "b", "c"]] * 3, True),
        ([["a", "b"]] * 3, False),
        ([["a"]] * 3, False),
        ([[], ["a"], ["b"]], False),
        ([[]] * 3, False),
    ],
)
def test_processes_that_share_a_gpu_do_not_use_nccl(monkeypatch, gpus, own):
    """Each tells the others, in a thread of its own here, which GPU it has."""
    here, store = threading.local(), torch.distributed.HashStore()
    monkeypatch.setattr("torch.cuda.device_count", lambda: len(here.gpus))
    properties = "torch.cuda.get_device_properties"
    monkeypatch.setattr(properties, lambda number: SimpleNamespace(uuid=here.gpus[number]))

    def ask(rank):
        here.gpus = gpus[rank]
        return _have_own_gpus(store, Place(rank, 3, rank))

    with ThreadPoolExecutor(3) as pool:
        assert list(pool.map(ask, range(3))) == [own] * 3


@pytest.mark.parametrize("name", ["auto", "cuda", "cpu"])
def test_a_process_touches_its_own_gpu_only(monkeypatch, name):
    touched = []
    cuda = {"is_available": lambda: True, "device_count": lambda: 2, "current_device": lambda: 1}
    for function, result in {**cuda, "set_device": touched.append}.items():
        monkeypatch.setattr(f"torch.cuda.{function}", result)
    monkeypatch.setattr("mpsn.training._device.world_size", lambda: 4)
    check = "mpsn.training._device.checked_device"
    monkeypatch.setattr(check, lambda name: touched.append("check") or torch.device("cpu"))
    for key, value in {"RANK": "3", "WORLD_SIZE": "4", "LOCAL_RANK": "3"}.items():
        monkeypatch.setenv(key, value)
    gpu = name != "cpu"
    assert pick_device(name) == torch.device("cuda:1" if gpu else "cpu")
    assert touched == [1] * gpu + ["check"]


def test_the_place_of_a_process():
    slurm = {"SLURM_PROCID": "5", "SLURM_NTASKS": "8", "SLURM_LOCALID": "1"}
    assert find_place({}) == find_place(slurm) == (0, 1, 0)
    assert find_place({**slurm, "SLURM_STEP_NODELIST": "gpu[07-09],big"}) == (5, 8, 1)
    assert find_place({**slurm, "MASTER_ADDR": "here"}) == (5, 8, 1)
    torchrun = {"RANK": "1", "WORLD_SIZE": "2", "LOCAL_RANK": "1"}
    assert find_place({**slurm, **torchrun, "MASTER_ADDR": "here"}) == (1, 2, 1)
    assert find_place({"RANK": "1", "WORLD_SIZE": "2"}) == (1, 2, 0)  # one process in each pod
    for nodes, first in {
        "gpu[07-09],big": "gpu07",
        "a1,a2": "a1",
        "n[3,5]": "n3",
        "n[3,5]-ib,m": "n3-ib",
        "rack[2-3]-node[01-04,7],other": "rack2-node01",
        "x": "x",
    }.items():
        assert _address({"SLURM_STEP_NODELIST": nodes}) == first
    for wrong in ("2", "-1", "one", ""):
        with pytest.raises(MPSNError, match="Expected RANK from 0 to below WORLD_SIZE, got RANK="):
            find_place({"RANK": wrong, "WORLD_SIZE": "2"})
