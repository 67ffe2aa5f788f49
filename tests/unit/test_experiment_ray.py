"""The Ray engine on a cluster of two nodes, one of which is killed: nothing lost, nothing twice."""

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace

import psutil
import pytest

from mpsn.errors import FileError, MissingPackageError, MPSNError
from mpsn.experiments import RayEngine
from mpsn.experiments._engine import run
from mpsn.experiments._ray import QUIET
from mpsn.experiments._tu import TUConfig
from mpsn.experiments._tu_training import Settings
from mpsn.experiments._tune import Grid, tune
from mpsn.nn.models import GINConfig
from toy_experiment import EXPERIMENT, LOGGED, ToyConfig, contents
from tu_files import members, reddit_like, write_zip

os.environ |= QUIET  # before ray is imported
ray = pytest.importorskip("ray")
TOY = {name: ToyConfig(float(i), pause=0.1) for i, name in enumerate("abcdef")}


@pytest.fixture(scope="module")
def cluster():
    from ray.cluster_utils import Cluster

    before = {process.pid for process in psutil.Process().children(recursive=True)}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join(sys.path))  # of the workers
        options = {"num_cpus": 1, "object_store_memory": 80 << 20}
        cluster = Cluster(True, head_node_args={**options, "include_dashboard": False})
        second = cluster.add_node(**options)
        RayEngine(cluster.address).check("cpu")  # the connection that all tests use
        yield cluster, second
        ray.shutdown()
        cluster.shutdown()
    started = [p for p in psutil.Process().children(recursive=True) if p.pid not in before]
    assert not psutil.wait_procs(started, timeout=5)[1]


def test_a_killed_node_loses_nothing_and_nothing_runs_twice(cluster, tmp_path):
    log, out = tmp_path / "log", tmp_path / "runs"
    log.mkdir()
    nodes, second = cluster
    engine, known = RayEngine(), []

    def begun_there():
        begun = {path.name.removeprefix("begun-") for path in log.glob("begun-*")}
        ended = {path.name.removeprefix("ended-") for path in log.glob("ended-*")}
        return any(second.node_id in name for name in begun - ended)

    class Killing:
        check = engine.check

        def records(self, *arguments):
            for record in engine.records(*arguments):
                yield record  # it is written before the next one is asked for
                known.append(str(record.job))
                if len(known) == 2:
                    while not begun_there():
                        time.sleep(0.01)
                    nodes.remove_node(second, allow_graceful=False)

    records = run(LOGGED, TOY, 1, out=out, data=log, engine=Killing()).records
    assert Counter(known) == {str(r.job): 1 for r in records}
    assert len(records) == 12
    begun = Counter(path.name.split("-")[1] for path in log.glob("begun-*"))
    assert all(begun[job] == 1 for job in known[:2])
    assert sum(begun.values()) > 12  # what ran on the node that was killed ran again
    run(EXPERIMENT, TOY, 1, out=tmp_path / "alone")
    assert contents(out) == contents(tmp_path / "alone")
    before = {path: path.stat().st_mtime_ns for path in out.rglob("*.json")}
    run(LOGGED, TOY, 1, out=out, data=log, engine=engine)
    assert {path: path.stat().st_mtime_ns for path in out.rglob("*.json")} == before


def test_an_error_of_a_job_reaches_the_user_and_loses_nothing(cluster, tmp_path):
    bad = {"a": ToyConfig(0.5), "bad": ToyConfig(-1.0)}
    with pytest.raises(FileError, match="^Expected a scale above 0, got less.$"):
        run(EXPERIMENT, bad, 1, out=tmp_path, engine=RayEngine())
    assert {path.parent.name[:2] for path in tmp_path.rglob("*.json")} <= {"a-"}
    with pytest.raises(MPSNError, match="Expected 0.5 GPUs in the Ray cluster.*got 0"):
        run(EXPERIMENT, bad, 1, out=tmp_path, engine=RayEngine(gpus=0.5), device="cuda")
    with pytest.raises(MPSNError, match="Expected cpu, cuda or auto on a Ray cluster"):
        run(EXPERIMENT, bad, 1, out=tmp_path, engine=RayEngine(), device="toaster")


def test_asha_prunes_and_leaves_the_records_of_the_rounds(cluster, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    graphs, classes = reddit_like(50)
    name = "REDDIT-MULTI-5K"
    write_zip(tmp_path / f"data/tu/{name}.zip", members(name, graphs, classes))
    base = TUConfig(name, gin=GINConfig(), train=Settings(), folds=2)
    grid = Grid((8,), (4,), (0.5,), ("after_sum",), (0.1, 1e-6, 1e-7), (1,), (0.5,), (1,))
    options = {"keep": 3, "data": tmp_path / "data"}
    with pytest.raises(MPSNError, match="Expected --engine ray for --asha"):
        tune(base, grid, epochs=(1, 2), asha=True, out=tmp_path / "none", **options)

    def search():
        out = tmp_path / "asha"
        return tune(base, grid, epochs=(1, 2), asha=True, out=out, engine=RayEngine(), **options)

    found = search()
    assert len(found) == 3
    assert [s.epochs for s in found].count(2) in (1, 2)
    for epochs in (1, 2):
        tune(base, grid, epochs=[epochs], out=tmp_path / "every", **options)
    every, asha = contents(tmp_path / "every"), contents(tmp_path / "asha")
    assert len(every) == 6
    assert asha == {path: every[path] for path in asha}
    times = {path: path.stat().st_mtime_ns for path in tmp_path.glob("asha/*/*.json")}
    assert search() == found
    assert {path: path.stat().st_mtime_ns for path in tmp_path.glob("asha/*/*.json")} == times
    broken = replace(base, folds=1, gin=GINConfig(hidden=-1))
    with pytest.raises(MPSNError):
        tune(broken, grid, epochs=(1, 2), asha=True, out=tmp_path, engine=RayEngine(), **options)


def test_ctrl_c_cancels_the_jobs_and_says_how_to_go_on(cluster, tmp_path):
    command = ["reproduce", "sr", "--model", "sin", "--engine", "ray", "--out", str(tmp_path)]
    env = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "RAY_ADDRESS": cluster[0].address}
    victim = subprocess.Popen(
        [sys.executable, "-m", "mpsn", *command], env=env, stderr=subprocess.PIPE, text=True
    )
    while ray.available_resources().get("CPU"):  # until a job runs
        assert victim.poll() is None
        time.sleep(0.1)
    victim.send_signal(signal.SIGINT)
    _, err = victim.communicate(timeout=60)
    assert victim.returncode == 130
    lines = [line for line in err.splitlines() if not line.lstrip("\r").startswith("sr:")]
    assert "".join(lines).strip().startswith("interrupted; finished jobs are recorded")
    until = time.monotonic() + 10
    while ray.available_resources().get("CPU", 0) < 1:
        assert time.monotonic() < until
        time.sleep(0.1)


def test_without_ray_the_remedy_is_said(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingPackageError, match=r'pip install "mpsn\[ray\]"'):
        run(EXPERIMENT, TOY, 1, out=tmp_path, engine=RayEngine())


@pytest.mark.parametrize("gpus", [0, -1, 1.5, float("nan")])
def test_only_a_fraction_of_a_gpu_or_whole_ones_can_be_asked_for(gpus):
    with pytest.raises(MPSNError, match="Expected a fraction of a GPU for each job"):
        RayEngine(gpus=gpus)
