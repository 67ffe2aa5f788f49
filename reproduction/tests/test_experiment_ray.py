"""The Ray engine on a cluster of two nodes, one of which is killed: nothing lost, nothing twice."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from dataclasses import replace

import psutil
import pytest

import toy_experiment
from mpsn.errors import FileError, MPSNError
from mpsn.nn.models import GIN
from mpsn_reproduction import RayEngine
from mpsn_reproduction import search as _tune
from mpsn_reproduction.cluster import QUIET, _watch_this_process
from mpsn_reproduction.engine import run
from mpsn_reproduction.papers.tu import TUConfig
from mpsn_reproduction.search import Grid, tune
from mpsn_reproduction.settings import Network
from mpsn_reproduction.train import StepTraining
from toy_experiment import EXPERIMENT, LOGGED, ToyConfig, contents, refuse
from tu_files import members, reddit_like, write_zip

os.environ |= QUIET  # before ray is imported
ray = pytest.importorskip("ray")
TOY = {name: ToyConfig(float(i), pause=0.2) for i, name in enumerate("abcd")}


@pytest.fixture(scope="module")
def cluster():
    from ray.cluster_utils import Cluster

    _watch_this_process()  # by a process that stays as long as this one
    before = {process.pid for process in psutil.Process().children(recursive=True)}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join(sys.path))  # of the workers
        options = {"num_cpus": 1, "object_store_memory": 80 << 20}
        try:
            cluster = Cluster(True, head_node_args={**options, "include_dashboard": False})
            second = cluster.add_node(**options)
        except Exception as error:  # Ray raises Exception itself, after 30 seconds
            pytest.skip(f"Ray starts no cluster on this machine: {error}")
        RayEngine(cluster.address).check("cpu")  # the connection that all tests use
        yield cluster, second
        ray.shutdown()
        cluster.shutdown()
    started = [p for p in psutil.Process().children(recursive=True) if p.pid not in before]
    assert not psutil.wait_procs(started, timeout=30)[1]


def test_a_killed_node_loses_nothing_and_nothing_runs_twice(cluster, tmp_path, capfd, monkeypatch):
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
                    until = time.monotonic() + 120
                    while not begun_there():
                        assert time.monotonic() < until
                        time.sleep(0.01)
                    nodes.remove_node(second, allow_graceful=False)

    records = run(LOGGED, TOY, 1, out=out, data=log, engine=Killing()).records
    assert capfd.readouterr() == ("", "")  # nothing of Ray
    assert Counter(known) == {str(r.job): 1 for r in records}
    assert len(records) == 8
    begun = Counter(path.name.split("-")[1] for path in log.glob("begun-*"))
    assert all(begun[job] == 1 for job in known[:2])
    assert sum(begun.values()) > 8  # what ran on the node that was killed ran again
    monkeypatch.setattr(toy_experiment, "sleep", lambda seconds: None)
    run(EXPERIMENT, TOY, 1, out=tmp_path / "alone")
    assert contents(out) == contents(tmp_path / "alone")
    before = {path: path.stat().st_mtime_ns for path in out.rglob("*.json")}
    run(LOGGED, TOY, 1, out=out, data=log, engine=engine)
    assert {path: path.stat().st_mtime_ns for path in out.rglob("*.json")} == before


def test_an_error_of_a_job_reaches_the_user_and_loses_nothing(cluster, tmp_path):
    bad = {"a": ToyConfig(0.5), "bad": ToyConfig(-1.0)}
    with pytest.raises(FileError, match=r"^Expected a scale above 0, got less.$"):
        run(EXPERIMENT, bad, 1, out=tmp_path, engine=RayEngine())
    assert {path.parent.name[:2] for path in tmp_path.rglob("*.json")} <= {"a"}
    with pytest.raises(MPSNError, match=r"Expected 0.5 GPUs on a node of the Ray cluster.*got 0"):
        run(EXPERIMENT, bad, 1, out=tmp_path, engine=RayEngine(gpus=0.5), device="cuda")
    with pytest.raises(MPSNError, match="Expected cpu, cuda or auto on a Ray cluster"):
        run(EXPERIMENT, bad, 1, out=tmp_path, engine=RayEngine(), device="toaster")


def test_a_search_gives_the_same_on_a_cluster(cluster, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    graphs, classes = reddit_like(50)
    name = "REDDIT-MULTI-5K"
    write_zip(tmp_path / f"data/tu/{name}.zip", members(name, graphs, classes))
    base = TUConfig(name, gin=Network(GIN), train=StepTraining(), folds=2)
    grid = Grid((8,), (8,), (0.5,), ("after_sum",), (0.03, 1e-6), (50,), (0.5,), (1,))
    options = {"epochs": (1, 2), "keep": 2, "data": tmp_path / "data"}
    alone = tune(base, grid, out=tmp_path / "alone", **options)
    assert tune(base, grid, out=tmp_path / "ray", engine=RayEngine(), **options) == alone
    # Recorded settings are not trained again; an error of another one reaches the user.
    monkeypatch.setattr(_tune, "EXPERIMENT", replace(_tune.EXPERIMENT, work=refuse))
    assert tune(base, grid, out=tmp_path / "ray", **options) == alone
    with pytest.raises(FileError, match=r"got the job l1-h8-d0.5-b8-lr1e-09"):
        tune(base, replace(grid, lr=(1e-9,)), out=tmp_path / "ray", engine=RayEngine(), **options)


def test_ctrl_c_ends_the_jobs(cluster, tmp_path):
    def interrupt():
        while not list(tmp_path.glob("begun-*")):
            time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGINT)

    long = {"long": ToyConfig(1.0, pause=60.0)}
    threading.Thread(target=interrupt, daemon=True).start()
    with pytest.raises(KeyboardInterrupt):
        run(LOGGED, long, 1, out=tmp_path / "runs", data=tmp_path, engine=RayEngine())
    until = time.monotonic() + 20
    while ray.available_resources().get("CPU", 0) < ray.cluster_resources()["CPU"]:
        assert time.monotonic() < until
        time.sleep(0.1)
    assert not list(tmp_path.glob("ended-*"))


def test_where_ray_does_not_start_the_remedy_is_said(monkeypatch):
    def init(address, **options):
        raise Exception("The current node timed out during startup.")

    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setattr(ray, "init", init)
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    with pytest.raises(MPSNError, match=r"got: The current node timed out.*--engine local"):
        RayEngine().check("cpu")
    with pytest.raises(MPSNError, match=r"a Ray cluster at auto.*ray start --head"):
        RayEngine("auto").check("cpu")


@pytest.mark.parametrize(("end", "said"), [("os._exit(1)", True), ("1 / 0", False)])
def test_the_end_by_ray_is_explained(end, said):
    """Ray's library ends the process without an exit of Python, as here."""
    program = "import os; from mpsn_reproduction.cluster import _watch_this_process as watch; "
    program += f"watch(); {end}"
    err = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stderr
    assert ("finished jobs are recorded, run the same command again" in err) == said


@pytest.mark.parametrize("gpus", [0, -1, 1.5, float("nan")])
def test_only_a_fraction_of_a_gpu_or_whole_ones_can_be_asked_for(gpus):
    with pytest.raises(MPSNError, match="Expected a fraction of a GPU for each job"):
        RayEngine(gpus=gpus)
