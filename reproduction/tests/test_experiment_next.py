"""The experiment on next steps: beginnings of paths, orientations, Markov chains, table."""

from dataclasses import replace
from itertools import pairwise

import pytest
import torch

import complex_files as files
from mpsn_reproduction import reproduce
from mpsn_reproduction.experiment import Job
from mpsn_reproduction.papers import next as experiment
from mpsn_reproduction.papers.next import OrientedConfig, OrientedNet, SCoNe, SCoNeConfig
from mpsn_reproduction.papers.next_data import next_nodes
from mpsn_reproduction.settings import rows
from protocol import perform

CONFIGS = rows("next", experiment.NextConfig)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    out = tmp_path_factory.mktemp("data")
    arrays, walks = files.next_arrays()
    files.write_next(out, arrays)
    return out, next_nodes(out), walks


def test_prefixes_are_the_beginnings_of_walks(made):
    _, data, walks = made
    found = experiment.prefixes(data.complex, data.forward)
    edges = {tuple(e): i for i, e in enumerate(data.complex.simplices(1).tolist())}
    expected = []
    for walk in walks:
        for end in range(len(walk) - 1, 1, -1):
            flow = torch.zeros(len(edges))
            for u, v in pairwise(walk[:end]):
                flow[edges[min(u, v), max(u, v)]] += 1 if u < v else -1
            expected.append((flow.tolist(), walk[end - 1], walk[end]))
    targets = found.candidates.gather(1, found.y[:, None])[:, 0]
    assert expected == list(
        zip(found.x.T.tolist(), found.last.tolist(), targets.tolist(), strict=True)
    )


@pytest.mark.parametrize(
    ("kind", "config"),
    [
        (SCoNe, SCoNeConfig(hidden=4, layers=2)),
        (OrientedNet, OrientedConfig(width=4, coordinates=3)),
        (OrientedNet, OrientedConfig(width=4, coordinates=0)),
    ],
)
def test_logits_do_not_depend_on_orientations(made, kind, config):
    _, data, _ = made
    torch.manual_seed(0)
    net = kind(config, data.complex)
    steps = data.forward
    out = net(data.complex, *steps[:3])
    flip = torch.rand(data.complex.count(1)) < 0.5
    signs = torch.where(flip, -1.0, 1.0)[:, None]
    turned = data.complex.flip({1: flip, 2: torch.rand(data.complex.count(2)) < 0.5})
    torch.testing.assert_close(net(turned, signs * steps.x, *steps[1:3]), out)
    assert (out[steps.candidates < 0] < -1e8).all()
    other = net(data.complex, -steps.x, *steps[1:3])
    assert not torch.allclose(out, other)


def test_markov_chains_count_steps(made):
    _, data, walks = made
    asked = experiment.part(data.forward, torch.arange(5))
    known = [experiment.prefixes(data.complex, data.forward)]
    steps = [(a, b, c) for walk in walks for a, b, c in zip(walk, walk[1:], walk[2:], strict=False)]
    one, two = (
        experiment.markov(experiment.Markov(order), known, data.complex, asked) for order in (1, 2)
    )
    for i in range(5):
        u = walks[i][-2]
        for j, v in enumerate(asked.candidates[i].tolist()):
            if v >= 0:
                count = sum((b, c) == (u, v) for _, b, c in steps)
                assert one[i, j] == count
                after = sum(step == (walks[i][-3], u, v) for step in steps)
                assert two[i, j] == count + 1000 * after


def test_walks_that_go_on_straight_are_learned(made):
    _, data, _ = made
    config = replace(CONFIGS["oriented"], training=replace(CONFIGS["oriented"].training, epochs=25))
    runs, _ = perform(experiment.EXPERIMENT, Job("oriented", config, "", (0,), (0, 1)), data)
    assert all(run.metrics["forward"] > 60 for run in runs)


def test_reproduce_draws_and_resumes(made, tmp_path):
    for _ in range(2):
        result = reproduce("next", quick=True, seeds=1, out=tmp_path, data=made[0])
    assert [line[0] for line in result.table.rows][:3] == ["markov-1", "markov-2", "scone"]
    assert {line[-1] for line in result.table.rows} == {"10"}
    assert any(path.name == "next.png" for path in result.figures)
