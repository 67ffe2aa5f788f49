"""The experiment on missing citations: rules by brute force, networks, table, refusals."""

from dataclasses import replace

import pytest
import torch

import complex_files as files
from mpsn import MPSNError
from mpsn_reproduction import reproduce
from mpsn_reproduction.experiment import Job, Resources
from mpsn_reproduction.papers import coauthor
from mpsn_reproduction.papers.coauthor_data import coauthors
from mpsn_reproduction.papers.coauthor_models import Known, bounds, by_bounds, largest_eigenvalue
from mpsn_reproduction.settings import rows

CONFIGS = rows("coauthor", coauthor.CoauthorConfig)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    out = tmp_path_factory.mktemp("data")
    files.write_coauthor(out, files.coauthor_arrays(files.some_papers()))
    return out


@pytest.fixture(scope="module")
def known(folder):
    K, missing = coauthors(folder)
    return Known(K, [x[:, 0] for x in K.x], [~m for m in missing])


def cells(K):
    return [
        (k, i, {*row}) for k in range(K.dim + 1) for i, row in enumerate(K.simplices(k).tolist())
    ]


def test_rules_by_brute_force(known):
    every = cells(known.K)
    found = {name: rule(known) for name, rule in coauthor.rules().items()}
    least, most = bounds(known)
    known_cells = [(j, c, float(known.values[j][n])) for j, n, c in every if known.mask[j][n]]
    for k, i, cell in every[::41]:
        median = float(known.values[k][known.mask[k]].median())
        above = [v for _, c, v in known_cells if c >= cell]
        below = [v for _, c, v in known_cells if c <= cell]
        incident = [v for j, c, v in known_cells if abs(j - k) == 1 and (c < cell or cell < c)]
        shared = [
            v
            for j, c, v in known_cells
            if j == k and c != cell
            for _, _, between in every
            if (between == c & cell and len(between) == k)
            or (between == c | cell and len(between) == k + 2)
        ]
        for name, values in (("incident", incident), ("adjacent", shared)):
            expected = sum(values) / len(values) if values else median
            assert float(found[name][k][i]) == pytest.approx(expected, rel=1e-5)
        assert float(least[k][i]) == max(above, default=-float("inf"))
        assert float(most[k][i]) == min(below, default=float("inf"))
        best = max(above, default=min(below, default=median))
        assert float(found["bounds"][k][i]) == best


def test_bounds_hold_and_nothing_hidden_is_read(known):
    least, most = bounds(known)
    for a, v, b in zip(least, known.values, most, strict=True):
        assert ((a <= v) & (v <= b)).all()
    lies = [torch.where(m, v, 1e6) for v, m in zip(known.values, known.mask, strict=True)]
    for name, rule in coauthor.rules().items():
        for one, two in zip(rule(known), rule(known._replace(values=lies)), strict=True):
            assert torch.equal(one[one < 1e6], two[two < 1e6]), name


@pytest.mark.parametrize("row", ["snn", "snn-remask", "mpsn", "mpsn-free"])
def test_networks_read_only_what_is_known(folder, row):
    config = CONFIGS[row]
    config = replace(config, training=replace(config.training, epochs=3))
    data = coauthors(folder)
    resources = Resources(torch.device("cpu"), data, lambda n: None)
    job = Job(row, config, "30", (1,))
    (run,) = coauthor.work(job, resources)
    assert run == coauthor.work(job, resources)[0]
    K, mask = data.complex, [~m for m in coauthor.hidden(data, "30", 1)]
    values = [x[:, 0] for x in K.x]
    lies = [torch.where(m, v, 1e6) for v, m in zip(values, mask, strict=True)]
    honest, lied = (
        coauthor.impute(config, Known(K.bare(), v, mask), 0.3, 0, resources) for v in (values, lies)
    )
    for one, two in zip(honest, lied, strict=True):
        assert torch.equal(one, two)
    if row == "mpsn":  # between the bounds, and whole
        least, most = bounds(Known(K, values, mask))
        for p, a, b in zip(honest, least, most, strict=True):
            assert torch.equal(p, p.round())
            assert ((p >= a) & (p <= b)).all()


def test_a_bounded_network_is_better_than_the_median(folder):
    config = replace(CONFIGS["mpsn"], training=replace(CONFIGS["mpsn"].training, epochs=10))
    resources = Resources(torch.device("cpu"), coauthors(folder), lambda n: None)
    found = {}
    for row, settings in (("mpsn", config), ("median", CONFIGS["median"])):
        (run,) = coauthor.work(Job(row, settings, "given", (0,)), resources)
        found[row] = run.metrics
    assert all(found["mpsn"][f"error_{k}"] < found["median"][f"error_{k}"] for k in range(1, 6))


def test_masks_and_errors(folder):
    data = coauthors(folder)
    masks = coauthor.hidden(data, "50", 3)
    assert [int(m.sum()) for m in masks] == [min(n - 1, round(n / 2)) for n in data.complex.counts]
    assert coauthor.hidden(data, "given", 3) is data.missing
    values = [torch.tensor([10.0, 20.0, 30.0])]
    found = [torch.tensor([11.0, 50.0, 20.0])]
    metrics = coauthor.errors(found, values, [torch.tensor([True, False, True])])
    assert metrics == {"error_0": 5.5, "within_0": 0.5}


def test_largest_eigenvalue(known):
    for k in (0, 1, 3):
        L = known.K.hodge_laplacian(k, dtype=torch.float64).to_dense()
        exact = float(torch.linalg.eigvalsh(L)[-1])
        assert largest_eigenvalue(known.K, k) == pytest.approx(exact, rel=0.02)


def test_reproduce_draws_and_resumes(folder, tmp_path):
    for _ in range(2):
        result = reproduce(
            "coauthor", models=["bounds", "median"], only=["10", "given"], out=tmp_path, data=folder
        )
    assert [line[:2] for line in result.table.rows] == [
        ["30 %, given", "median"],
        ["30 %, given", "bounds"],
        ["10 %", "median"],
        ["10 %", "bounds"],
    ]
    assert [line[-1] for line in result.table.rows] == ["1", "1", "3", "3"]
    assert any(path.name == "coauthor.png" for path in result.figures)
    quick = reproduce("coauthor", models=["mpsn"], quick=True, seeds=1, out=tmp_path, data=folder)
    assert len(quick.table.rows) == 1
    with pytest.raises(MPSNError, match="Expected shares among"):
        coauthor.CoauthorConfig(shares=("35",))


def test_by_bounds_is_exact_where_bounds_meet(known):
    least, most = bounds(known)
    for p, v, a, b in zip(by_bounds(known), known.values, least, most, strict=True):
        assert torch.equal(p[a == b], v[a == b])
