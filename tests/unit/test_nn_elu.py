"""ELU by the exponential is torch's ELU."""

import pytest
import torch

from mpsn.nn.elu import ELU


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("inplace", [False, True])
def test_equal_to_torch(dtype, inplace):
    ends = [0.0, -0.0, 1e-20, -1e-20, 800.0, -800.0, torch.inf, -torch.inf, torch.nan]
    x = torch.cat([torch.tensor(ends, dtype=dtype), torch.randn(100, dtype=dtype) * 3])
    expected, given = torch.nn.functional.elu(x), x.clone()
    out = ELU(inplace=inplace)(given)
    torch.testing.assert_close(out, expected, rtol=0, atol=3e-16, equal_nan=True)
    torch.testing.assert_close(given, out if inplace else x, equal_nan=True)


def test_gradients():
    x = torch.randn(20, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(ELU(), (x,))
    with torch.no_grad():
        torch.testing.assert_close(ELU()(x), torch.nn.functional.elu(x), rtol=0, atol=3e-16)
