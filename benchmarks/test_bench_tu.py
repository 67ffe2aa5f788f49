"""Training on TU graphs: what messages cost beside the dense layers."""

import os
import time
from itertools import pairwise

import pytest
import torch
from tu_data import setup, splits

from mpsn.datasets import TU
from mpsn.experiments.training import train_folds
from mpsn.nn import SINConv


def without_messages(self, K, xs):
    """Do what SINConv does, every simplex for itself."""
    return [
        update(torch.cat([low(x), up(x)], dim=-1))
        for x, low, up, update in zip(
            xs, self.mlp_boundary, self.mlp_upper, self.mlp_update, strict=True
        )
    ]


@pytest.mark.skipif("MPSN_DATA" not in os.environ, reason="needs local data: set MPSN_DATA")
@pytest.mark.parametrize("name", ["PROTEINS", "IMDB-BINARY"])
def test_an_epoch_costs_little_more_than_its_dense_layers(name, monkeypatch, capsys):
    data = TU(name)
    settings, build = setup(data, "SIN", epochs=3)

    def epoch():
        """Return the processor seconds of an epoch, the first not counted."""
        at = []
        train_folds(
            data.complexes,
            data.y,
            splits(data.y)[:1],
            build,
            settings,
            seeds=[0],
            tick=lambda _: at.append(time.process_time()),
        )
        return min(b - a for a, b in pairwise(at))

    whole = epoch()
    with monkeypatch.context() as patch:
        patch.setattr(SINConv, "forward", without_messages)
        dense = epoch()
    ratio = min(whole, epoch()) / dense
    with capsys.disabled():
        print(
            f"\n{name}: {whole:.2f} s an epoch, {ratio:.2f} x its dense layers (goal 1.6)", end=""
        )
    assert ratio <= 1.6
