"""Parts that are held out, class by class."""

import torch

from mpsn.training import hold_out


def test_every_class_is_in_both_parts_in_proportion():
    y = torch.tensor([0] * 50 + [1] * 20 + [2] * 2 + [3])
    stay, held = hold_out(y, 0.1, 0)
    assert torch.cat([stay, held]).sort().values.tolist() == list(range(73))
    assert y[held].bincount(minlength=4).tolist() == [5, 2, 1, 0]
    for fraction in (0.01, 0.25, 0.3, 0.9, 0.99):
        for seed in range(5):
            stay, held = hold_out(y, fraction, seed)
            assert y[stay].bincount().min() >= 1
            assert y[held].bincount(minlength=4).tolist()[3] == 0
            assert set(y[held].tolist()) == {0, 1, 2}
            assert abs(len(held) - 73 * fraction) <= 4
    assert not torch.equal(hold_out(y, 0.3, 1)[1], hold_out(y, 0.3, 2)[1])
    assert len(hold_out(y, 0.0, 0)[1]) == 0
    assert len(hold_out(torch.zeros(40), 0.25, 0)[1]) == 10
