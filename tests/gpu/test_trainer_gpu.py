"""The trainer on a GPU: captured is eager is the CPU, for networks side by side."""

from typing import Any

import networkx as nx
import pytest
import torch

import mpsn
from mpsn.nn.models import CIN, GIN, SIN
from mpsn.training import Trainer

# Of what torch.compile itself looks at.
pytestmark = [pytest.mark.gpu, pytest.mark.filterwarnings("ignore:The .grad attribute")]

SIZES: dict[str, Any] = {"hidden": 16, "out_channels": 2, "layers": 2, "act": "relu"}
NETWORKS = {
    "SIN": lambda: SIN(3, **SIZES, coface_message=False, norm=True),
    "SIN, no norm": lambda: SIN(3, **SIZES, coface_message=False),
    "GIN": lambda: GIN(3, **SIZES, norm=True),
    "CIN": lambda: CIN((3, 2, 1), **SIZES, norm=True),
    "GINE": lambda: GIN(3, edge_channels=2, **SIZES, norm=True),
}


def data_of(name: str, dtype: torch.dtype) -> mpsn.ComplexDataset[Any]:
    """Return complexes with features; widths differ by dimension for CIN and GINE."""
    graphs = [nx.gnp_random_graph(5 + i % 11, 0.4, seed=i) for i in range(60)]
    rings = name in ("CIN", "GINE")
    made = mpsn.ring_complexes(graphs, 6) if rings else mpsn.clique_complexes(graphs, max_dim=2)
    generator = torch.Generator().manual_seed(0)
    x = [
        torch.randn(n, 3 - rings * k, generator=generator).to(dtype)
        for k, n in enumerate(made.union.counts)
    ]
    return mpsn.ComplexDataset(made.union.replace(x=x))


def losses(name: str, device: str, dtype: torch.dtype, **how: Any) -> torch.Tensor:
    """Train three networks; return their losses in training and validation, (3, 2, epochs)."""

    def network(seed: int) -> torch.nn.Module:
        return NETWORKS[name]().to(dtype)

    trainer = Trainer([network] * 3, device=device, lr=0.001, epochs=8, batch_size=7, **how)
    trainer.fit(data_of(name, dtype), torch.arange(60) % 2, split=0.2)
    return torch.tensor([[history.train, history.valid] for history in trainer.histories])


@pytest.mark.parametrize("average", [0.0, 0.5])
@pytest.mark.parametrize("name", NETWORKS)
def test_captured_is_eager_is_cpu(name: str, average: float) -> None:
    """Float64, so that what differs is rounding; enough epochs for every shape to be replayed."""
    how = {"dtype": torch.float64, "average": average}
    cpu = losses(name, "cpu", **how)
    for capture in (False, True):
        # Biases before norms have no gradient but rounding, which Adam blows up.
        cuda = losses(name, "cuda", capture=capture, **how)
        torch.testing.assert_close(cuda, cpu, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("precision", ["tf32", "bf16"])
def test_precision_of_captured_steps(precision: str) -> None:
    """Captured is eager, and within rounding of float32 on a CPU."""
    how = {"dtype": torch.float32, "metrics": ["accuracy"]}
    cpu = losses("SIN", "cpu", **how)
    eager, captured = (
        losses("SIN", "cuda", capture=capture, precision=precision, **how)
        for capture in (False, True)
    )
    torch.testing.assert_close(eager[:, 0], cpu[:, 0], rtol=0.1, atol=0)
    torch.testing.assert_close(captured[:, 0], eager[:, 0], rtol=0.05, atol=0)
    assert not torch.allclose(eager[:, 0], cpu[:, 0], rtol=1e-5, atol=0)
