"""The Ray engine on a cluster of two nodes, one of which is killed: nothing lost, nothing twice."""

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, replace

import psutil
import pytest

from mpsn.errors import FileError, MissingPackageError, MPSNError
from mpsn.experiments import RayEngine
from mpsn.experiments._engine import run
from mpsn.experiments._store import Store
from toy_experiment import EXPERIMENT, LOGGED, ToyConfig, contents, jobs

ray = pytest.importorskip("ray")
TOY = {name: ToyConfig(float(i), pause=0.1) for i, name in enumerate("abcdef")}


@pytest.fixture(scope="module")
def cluster():
    from ray.cluster_utils import Cluster

    before = {process.pid for process in psutil.Process().children(recursive=True)}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("PYTHONPATH", os.pathsep.join(sys.path))  # of the workers
        options = {"num_cpus": 1, "object_store_memory": 80 << 20}
        cluster = Cluster(True, head_node_args={**options, "include_dashboard": False})
        second = cluster.add_node(**options)
        yield cluster, second
        ray.shutdown()
        cluster.shutdown()
    started = [p for p in psutil.Process().children(recursive=True) if p.pid not in before]
    assert not psutil.wait_procs(started, timeout=5)[1]


def test_a_killed_node_loses_nothing_and_nothing_runs_twice(cluster, tmp_path):
    log, out = tmp_path / "log", tmp_path / "runs"
    log.mkdir()
    nodes, second = cluster
    engine = RayEngine(nodes.address)
    known = []

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
