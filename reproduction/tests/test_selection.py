"""The epoch is selected in validation: by the rule itself, and in each experiment that selects one.

In all curves here validation is best where testing is worst, so that whoever looks at the wrong
one is seen.
"""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from mpsn.errors import MPSNError
from mpsn.training import History, best_epoch, select
from mpsn_reproduction import search as tuning
from mpsn_reproduction.experiment import Run
from mpsn_reproduction.papers import graph_level
from mpsn_reproduction.papers.tu_table import paper_protocol

NAN = math.nan
VALIDATION, TEST = [0.25, NAN, 0.75, 0.5, 0.75], [1.0, 0.875, 0.125, 0.5, 0.25]  # no rounding
numbers = st.one_of(st.just(NAN), st.sampled_from([-math.inf, 0.0, 0.5, 1.0, math.inf]))


@given(st.lists(numbers, min_size=1, max_size=6), st.booleans())
def test_the_first_best_number_is_selected(curve, highest):
    best = None
    for epoch, value in enumerate(curve):
        if value != value:
            continue
        if best is None or (value > curve[best] if highest else value < curve[best]):
            best = epoch
    assert best_epoch(curve, highest=highest) == (best or 0)
    worst = [-value if highest else value for value in curve]
    found = select(curve, worst, highest=highest)
    assert found.epoch == (best or 0)
    assert str(found[1:]) == str((curve[found.epoch], worst[found.epoch]))  # NaN too


def test_curves_of_other_epochs_are_refused():
    with pytest.raises(MPSNError, match="over the same epochs, got 2 and 3"):
        select([0.1, 0.2], [0.1, 0.2, 0.3])


@pytest.mark.parametrize("metric", ["auc", "mae", "rmse"])
def test_predictions_of_graphs_report_the_epoch_that_is_best_in_validation(metric):
    """Means of two targets, of which each alone is best elsewhere; errors are to be low."""
    sign = 1 if metric == "auc" else -1
    apart = torch.tensor([[0.5, -0.5]])
    val, test = (sign * torch.tensor(c, dtype=torch.float64)[:, None] for c in (VALIDATION, TEST))
    lean = torch.tensor([3.0, 0, 0, 0, -3.0])[:, None] * apart
    curves = {
        f"{part}_{name}": tuple(curve.tolist())
        for part, both in {"val": val + lean, "test": test + apart}.items()
        for name, curve in zip("ab", both.T, strict=True)
    }
    run = graph_level._run(3, History((0.0,) * 5, (), 0, curves), metric, ("a", "b"), 7)
    expected = {
        "val": 0.75,
        "test": 0.125,
        "last": 0.25,
        "chosen": 2 * sign,
        "parameters": 7 * sign,
    }
    assert run.metrics == pytest.approx(
        {name: sign * value for name, value in expected.items()}
        | {"test_a": sign * 0.125 + 0.5, "test_b": sign * 0.125 - 0.5}
    )
    assert run.curve["val"] == pytest.approx(
        (sign * torch.tensor(VALIDATION)).tolist(), nan_ok=True
    )
    assert run.curve["test"] == pytest.approx([sign * value for value in TEST])


def test_settings_are_compared_where_their_mean_validation_is_best():
    curves = [[0.9, NAN, 0.5, 0.2], [0.1, 0.8, 0.7, 0.3]]  # means 0.5, NaN, 0.6, 0.25
    runs = [
        Run(0, fold, {}, {"val": curve, "val_test": [1 - value for value in curve]})
        for fold, curve in enumerate(curves)
    ]
    assert tuning._accuracies(runs) == pytest.approx([50, 70])


def test_the_papers_protocol_selects_an_epoch_for_each_seed():
    curves = {(0, 0): [0.1, 0.9, NAN], (0, 1): [0.3, 0.5, 1.0], (1, 0): [0.6, 0.2, 0.1]}
    curves[1, 1] = [0.4, 0.3, 0.2]
    runs = [Run(seed, fold, {}, {"test": curve}) for (seed, fold), curve in curves.items()]
    assert paper_protocol(runs).seeds == pytest.approx((70, 50))
