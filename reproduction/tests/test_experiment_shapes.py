"""Point clouds on surfaces, their complexes, and the experiment on them."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.spatial import KDTree

import mpsn
from mpsn import rips_complex
from mpsn.datasets import SHAPES, shapes
from mpsn.datasets._shapes import spread, surface
from mpsn.errors import ConfigError, MPSNError
from mpsn_reproduction.papers import shapes as _shapes
from mpsn_reproduction.settings import rows
from protocol import perform


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.mark.parametrize("shape", SHAPES)
def test_points_lie_on_the_surface(shape, rng):
    x = surface(shape, 500, rng)
    assert x.shape == (500, 4)
    if shape == "sphere":
        np.testing.assert_allclose(np.linalg.norm(x, axis=1), 1)
        return
    if shape == "double torus":
        inner = np.sort(np.abs(x[:, 0]))  # two circles of radius 1 around (±c, 0)
        radius = x[:, 2].max()
        c = 1 + radius / 2
        to = np.hypot(np.hypot(np.abs(x[:, 0]) - c, x[:, 1]) - 1, x[:, 2])
        assert inner[0] < 0.3
        assert np.ptp(to) < 0.02
        return
    tube = np.hypot(x[:, 2], x[:, 3])
    to = np.hypot(np.hypot(x[:, 0], x[:, 1]) - 1, tube)
    assert np.ptp(to) < 1e-9
    if shape == "torus":
        assert not x[:, 3].any()
    else:  # the tube turns by half a turn around the axis
        angle = np.arctan2(x[:, 1], x[:, 0]) / 2
        off = x[:, 2] * np.sin(angle) - x[:, 3] * np.cos(angle)
        np.testing.assert_allclose(off, 0, atol=1e-9)


def test_points_are_uniform_by_area(rng):
    """Of a torus, the outer half has the share 1/2 + r / π of the area."""
    for shape in ("torus", "Klein bottle"):
        shares, exact = [], []
        for _ in range(20):
            x = surface(shape, 2000, rng)
            from_axis = np.hypot(x[:, 0], x[:, 1])
            width = np.hypot(from_axis - 1, np.hypot(x[:, 2], x[:, 3])).mean()
            v = np.linspace(0, 2 * np.pi, 10_000, endpoint=False)
            turn = width * np.sin(v) / 2 * (shape == "Klein bottle")
            area = np.hypot(1 + width * np.cos(v), turn)
            exact.append(area[np.cos(v) > 0].sum() / area.sum())
            shares.append((from_axis > 1).mean())
        assert abs(np.mean(shares) - np.mean(exact)) < 0.01  # 40 000 points: 4 standard errors
    assert exact[0] > 0.6


def test_topology_of_the_clouds():
    """Rips complexes have the first Betti numbers of the surfaces (over the rationals)."""
    clouds, y = shapes(1, 300, noise=0.02, seed=1)
    found = [rips_complex(cloud, 1.4).betti_numbers()[:2] for cloud in clouds]
    assert y.tolist() == [0, 1, 2, 3]
    assert found == [(1, 0), (1, 2), (1, 1), (1, 4)]


def test_clouds_are_scaled_and_repeatable():
    clouds, _ = shapes(2, 60, noise=0.0)
    for cloud in clouds:
        assert np.median(KDTree(cloud).query(cloud, 7)[0][:, 6]) == pytest.approx(1)
    again, _ = shapes(2, 60, noise=0.0)
    assert all(map(torch.equal, clouds, again))
    other, _ = shapes(2, 60, noise=0.0, seed=1)
    assert not torch.equal(clouds[0], other[0])
    for wrong in ({"per_class": 0}, {"points": 6}, {"noise": -1.0}):
        with pytest.raises(MPSNError, match="Expected at least 1 cloud per class"):
            shapes(**wrong)


def test_farthest_points(rng):
    x = rng.random((100, 2))
    chosen = spread(x, 10)
    for i in range(1, 10):
        nearest = KDTree(chosen[:i]).query(x)[0]
        assert KDTree(chosen[:i]).query(chosen[i])[0] == nearest.max()


def test_features_are_lengths_and_do_not_turn(rng):
    cloud = shapes(1, 40)[0][1]
    K = _shapes.with_lengths(rips_complex(cloud, 1.3))
    turn = torch.from_numpy(np.linalg.qr(rng.standard_normal((4, 4)))[0])
    turned = cloud @ turn + 3
    L = _shapes.with_lengths(rips_complex(turned, 1.3))
    assert K.counts == L.counts
    for a, b in zip(K.x, L.x, strict=True):
        torch.testing.assert_close(a, b, atol=1e-5, rtol=0)
    ends = K.simplices(1)
    distance = torch.cdist(cloud, cloud)
    torch.testing.assert_close(
        K.x[1][:, 0].double(), distance[ends[:, 0], ends[:, 1]], atol=1e-5, rtol=0
    )
    assert len(ends) == int((distance.triu(1) > 0).logical_and(distance <= 1.3).sum())
    assert mpsn.clique_complex(K.to_networkx(), 2).counts == K.counts


def test_splits_are_disjoint_and_even():
    y = torch.arange(40) % 4
    for seed, split in enumerate(_shapes.splits(y, (0, 1))):
        assert [len(split[part]) for part in ("train", "val", "test")] == [24, 8, 8]
        every = torch.cat(list(split.values()))
        assert every.sort().values.tolist() == list(range(40)), seed
        assert all(y[part].bincount().unique().numel() == 1 for part in split.values())
    assert not torch.equal(*(split["test"] for split in _shapes.splits(y, (0, 1))))


def test_the_experiment_in_small():
    configs = rows("shapes", _shapes.ShapesConfig)
    assert set(configs) == set(_shapes.MODELS)
    records = []
    for row, config in configs.items():
        quick = config.quick()
        small = replace(quick, per_class=5, points=30, train=replace(quick.train, epochs=2))
        for job in _shapes.jobs(row, small, (0, 1)):
            data = _shapes.read(_shapes.source(job), None)
            records.append(
                _shapes.Record(job, perform(_shapes.EXPERIMENT, job, data)[0], 1.0, 1, {})
            )
    table = _shapes.table(records)
    assert [line[0] for line in table.rows] == [*_shapes.MODELS.values(), "SIN minus GIN"]
    assert [line[2] for line in table.rows] == ["0.5", "0.5", "0.5", ""]  # seconds per seed
    assert len(_shapes.figures(records, None)["shapes"].axes) == 5
    with pytest.raises(ConfigError, match="one of sin and gin"):
        replace(configs["gin"], gin=None)
    for name in _shapes.LIMITS:
        with pytest.raises(ConfigError, match=f"Expected {name} from .* to .*, got -1"):
            replace(configs["gin"], **{name: -1})
