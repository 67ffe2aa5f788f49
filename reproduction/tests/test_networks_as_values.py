"""Networks that are not built yet, as values in the settings of experiments."""

import copy
import json
import pickle

import pytest

from mpsn.errors import ConfigError, LayerError
from mpsn.nn.models import CIN, SIN
from mpsn.training import from_plain
from mpsn_reproduction.settings import Network


def test_networks_are_values():
    sin = Network(SIN, hidden=8, in_channels=(3, 2, 0))
    assert sin == Network(SIN, in_channels=(3, 2, 0)).replace(hidden=8)
    assert hash(sin) == hash(pickle.loads(pickle.dumps(sin)))
    assert copy.deepcopy(sin) == sin != sin.replace(layers=2)
    assert sin != Network(CIN, **sin)
    assert eval(repr(sin)) == sin
    assert sin(out_channels=3).settings == {**sin, "out_channels": 3}
    assert from_plain(Network[SIN], json.loads(json.dumps(dict(sin))), "JSON") == sin
    with pytest.raises(AttributeError, match="use replace"):
        sin.hidden = 3
    with pytest.raises(AttributeError, match="no attribute 'heads'"):
        sin.heads  # noqa: B018
    with pytest.raises(TypeError, match="heads"):
        Network(SIN, heads=4)
    with pytest.raises(LayerError, match="Expected layers as an integer >= 1"):
        sin.replace(layers=0)
    with pytest.raises(ConfigError, match="known settings in here, got heads"):
        from_plain(Network[SIN], {"heads": 4}, "here")
