"""The experiment on surfaces: rules, networks, scores, splits, and the small version."""

import gzip
import json

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from mpsn import ComplexDataset, collate
from mpsn.datasets import SURFACE_TYPES
from mpsn.datasets._surfaces import FILE
from mpsn.errors import ConfigError
from mpsn_reproduction import reproduce
from mpsn_reproduction.experiment import Job
from mpsn_reproduction.papers import surfaces
from mpsn_reproduction.papers.surface_search import triangulated_surfaces
from mpsn_reproduction.papers.surfaces import ROWS
from mpsn_reproduction.papers.surfaces_nets import (
    Diffusion,
    bound,
    harmonic_weights,
    laplacian,
    with_harmonic,
)
from mpsn_reproduction.settings import rows
from protocol import perform

CONFIGS = rows("surfaces", surfaces.SurfacesConfig)


@pytest.fixture(scope="module")
def data():
    return ComplexDataset(collate([triangulated_surfaces(n).union for n in (6, 7, 8)]))


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), min_size=1, max_size=30))
def test_scores_by_their_definitions(pairs):
    y, guess = torch.tensor(pairs).T
    found = surfaces.scores("test", y[:, None].expand(-1, 4), guess[:, None].expand(-1, 4))
    recalls = [(guess[y == which] == which).double().mean() for which in torch.unique(y)]
    assert found["test_b1_balanced"] == pytest.approx(float(torch.stack(recalls).mean()))
    constant = 1 in (len(torch.unique(y)), len(torch.unique(guess)))
    correlation = 0.0 if constant else float(torch.corrcoef(torch.stack([y, guess]).double())[0, 1])
    assert found["test_genus_mcc"] == pytest.approx(correlation, abs=1e-12)


def test_splits_are_disjoint_stratified_and_differ_by_seed(data):
    kind = surfaces.labels(data)[:, 0]
    parts = surfaces.split(kind, 0)
    assert torch.equal(torch.cat(parts).sort().values, torch.arange(len(data)))
    for which in torch.unique(kind):
        sizes = [int((kind[part] == which).sum()) for part in parts]
        assert sizes[1] == sizes[2] == sum(sizes) // 5
    assert not torch.equal(parts[2], surfaces.split(kind, 1)[2])


def test_rules_predict_the_most_frequent_class_of_the_same_key(data):
    y = surfaces.labels(data)
    exact = surfaces.rule("betti", data)(data)
    assert torch.equal(exact, y)
    refined = ComplexDataset(data.union.barycentric_subdivision())
    assert torch.equal(surfaces.rule("betti", data)(refined), y)
    euler = surfaces.rule("euler", data)(refined)
    torus, bottle = (y[:, 0] == SURFACE_TYPES.index(name) for name in ("T^2", "Klein bottle"))
    assert (euler[~torus & ~bottle] == y[~torus & ~bottle]).all()
    assert len(torch.unique(euler[torus | bottle], dim=0)) == 1
    assert torch.equal(surfaces.rule("majority", data)(data)[0], y.mode(0).values)


def test_harmonic_weights_are_the_diagonals_of_projections(data):
    weights = harmonic_weights(data.union)
    for i in (0, 5, 30, 50):
        K = data[i]
        for k in range(3):
            basis = K.harmonic_basis(k)
            start, stop = data.union.ptr(k)[i : i + 2]
            mine = weights[k][start:stop, 0].double()
            torch.testing.assert_close(mine, (basis**2).sum(1), atol=1e-4, rtol=0)


def test_laplacians_and_the_bound_of_their_eigenvalues(data):
    K = data[40]
    for k in (1, 2):
        h = torch.randn(K.count(k), 3)
        torch.testing.assert_close(laplacian(K, k, h), K.hodge_laplacian(k) @ h)
        largest = torch.linalg.eigvalsh(K.hodge_laplacian(k).to_dense()).max()
        assert largest <= bound(K).item() + 1e-4


def test_diffusion_counts_harmonic_signals_before_and_after_subdivision(data):
    net = Diffusion(16, 32, 1e-5, 8, 3).eval()
    for K in (data.union, data.union.barycentric_subdivision()):
        with torch.no_grad():
            ranks = torch.stack([net.rank(K, k) for k in (1, 2)], 1)
        assert torch.equal(ranks.round().long(), data.y[:, 4:])
    net.tolerance = 0.0  # 32 rounds are too few for subdivisions
    with torch.no_grad():
        assert not torch.equal(net.rank(K, 2).round().long(), data.y[:, 5])


@pytest.mark.parametrize("model", ["gin", "sin", "harmonic", "oriented", "diffusion"])
def test_networks_do_not_depend_on_orientations(data, model, monkeypatch):
    """Random signals are turned with the cells, as their distribution does not change."""
    net = surfaces.network(surfaces.SurfacesConfig(model, hidden=8, layers=3, rounds=20)).eval()
    K, draw = data.union, torch.randn
    flips = {K.count(k): torch.rand(K.count(k)) < 0.5 for k in (1, 2)}
    outs = []
    for turn in (False, True):
        L = K.flip({k: flips[K.count(k)] for k in (1, 2)}) if turn else K
        L = with_harmonic(L) if model == "harmonic" else L
        generator = torch.Generator().manual_seed(0)

        def signals(shape, device, turn=turn, generator=generator):
            return draw(shape, generator=generator) * (1 - 2 * (flips[shape[0]] & turn))[:, None]

        monkeypatch.setattr(torch, "randn", signals)
        with torch.no_grad():
            outs.append(net(L))
    torch.testing.assert_close(*outs, atol=1e-3, rtol=1e-3)


def metrics_of(config, data):
    ((run,), _) = perform(surfaces.EXPERIMENT, Job("row", config), data)
    return run.metrics


@pytest.mark.parametrize("model", ["gin", "sin", "harmonic", "oriented", "diffusion"])
def test_a_run_is_reproducible_and_has_all_scores(data, model):
    config = surfaces.SurfacesConfig(
        model, hidden=4, layers=2, signals=8, rounds=8, epochs=2, batch=16, subdivisions=1
    )
    one = metrics_of(config, data)
    assert one == metrics_of(config, data)
    assert one.keys() >= {"valid_b1_mcc", "n8_type_balanced", "once_genus_mcc"}


def test_the_diffusion_learns_types_and_keeps_them_under_subdivision(data):
    config = surfaces.SurfacesConfig(
        "diffusion", epochs=30, batch=16, lr=0.01, tolerance=1e-4, signals=12, subdivisions=1
    )
    metrics = metrics_of(config, data)
    assert metrics["test_type_balanced"] == metrics["once_type_balanced"] == 1
    assert metrics["once_orientable_mcc"] == 1


def test_a_small_version_from_file_to_table(data, tmp_path):
    write(tmp_path, data)
    found = reproduce("surfaces", models=["majority", "betti"], quick=True, out=tmp_path / "runs",
                      data=tmp_path)  # fmt: skip
    rows = {tuple(line[:2]): line[2:] for line in found.table.rows}
    parts = ("all", "≤ 8 vertices", "subdivided once")
    assert list(rows) == [(part, row) for part in parts for row in ("majority", "betti")]
    assert rows["all", "betti"][0] == rows["subdivided once", "betti"][0] == "1.000 / 1.000"
    assert rows["all", "majority"][1] == "0.500 / 0.000"
    assert found.figures[0].name == "surfaces.png"


def write(folder, data):
    items = [
        {
            "triangulation": (K.simplices(2) + 1).tolist(),
            "n_vertices": K.num_nodes,
            "betti_numbers": row[3:],
            "name": SURFACE_TYPES[row[0]],
            "orientable": bool(row[1]),
            "genus": row[2],
        }
        for K, row in zip(data, data.y.tolist(), strict=True)
    ]
    (folder / FILE).parent.mkdir()
    (folder / FILE).write_bytes(gzip.compress(json.dumps(items).encode()))


def test_every_row_has_a_name_in_the_table_and_bad_settings_are_refused():
    assert set(CONFIGS) == set(ROWS)
    with pytest.raises(ConfigError, match="epochs"):
        surfaces.SurfacesConfig("gin", epochs=0)
