"""ELU as compiled code is torch's ELU."""

import pytest
import torch

from mpsn.nn.elu import ELU


@pytest.fixture(autouse=True, params=[1, 2], ids=["compiled", "torch's"])
def _threads(request):
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield
    torch.set_num_threads(before)


def test_to_the_last_place():
    x = -torch.logspace(-300, 3, 100_000, dtype=torch.float64)
    torch.testing.assert_close(ELU()(x), torch.expm1(x), rtol=4.5e-16, atol=0)


def test_other_layouts_and_slopes():
    x = torch.randn(8, 6, dtype=torch.float64)
    for given, layer in ((x.T, ELU()), (x[:, ::2], ELU(inplace=True)), (x, ELU(alpha=2.0))):
        expected = torch.nn.functional.elu(given.clone(), layer.alpha)
        torch.testing.assert_close(layer(given), expected, rtol=1e-15, atol=0)


def test_torch_is_told():
    """Traced, differentiated forward, or overwritten while a derivative needs the old values."""
    x = torch.randn(5, dtype=torch.float64)
    torch.testing.assert_close(torch.jit.trace(ELU(), x)(-x), torch.nn.functional.elu(-x))
    with torch.autograd.forward_ad.dual_level():
        dual = ELU()(torch.autograd.forward_ad.make_dual(x, torch.ones_like(x)))
        slope = torch.autograd.forward_ad.unpack_dual(dual).tangent
    torch.testing.assert_close(slope, torch.where(x > 0, 1, x.exp()))
    w = torch.ones(5, dtype=torch.float64, requires_grad=True)
    y = (w * x).sum()
    ELU(inplace=True)(x)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


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
