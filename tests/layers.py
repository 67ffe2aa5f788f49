"""Every layer, by the widths that it takes and returns, for the tests that all of them pass."""

import torch

from mpsn import nn

LAYERS = {
    "SINConv": lambda n, m: nn.SINConv(n, m, 2),
    "SINConv without co-faces": lambda n, m: nn.SINConv(n, m, 2, coface_message=False),
    "CINConv": lambda n, m: nn.CINConv(n, m, 2, lower=True),
    "LinearMPSNConv": lambda n, m: nn.LinearMPSNConv(n, m, 2, act="tanh"),
    "SCConv": lambda n, m: nn.SCConv(n, m),
    "OrientedConv": lambda n, m: nn.OrientedConv(n, m, act="tanh"),
    "SNNConv": lambda n, m: nn.SNNConv(n, m, 2, act="tanh"),
    "SCoNeConv": lambda n, m: nn.SCoNeConv(n, m, act="tanh"),
    "CANConv": lambda n, m: nn.CANConv(n, m, heads=2, act="tanh", score_act="tanh"),
    "SANConv": lambda n, m: nn.SANConv(n, m, score_act="tanh"),
    "GSANConv": lambda n, m: nn.GSANConv(n, m, 2),
    "HMCConv": lambda n, m: nn.HMCConv(n, m, heads=2, act="tanh"),
    "SCNConv": lambda n, m: nn.SCNConv(n, m, 2),
    "SCNNConv": lambda n, m: nn.SCNNConv(n, m, basis="chebyshev", normalized=True),
    "SCCNNConv": lambda n, m: nn.SCCNNConv(n, m, 2, basis="jacobi", normalized=True),
    "SheafConv": lambda n, m: nn.SheafConv(n, dim=1, maps="general"),
    "MPSNConv": lambda n, m: nn.MPSNConv(
        lambda receiver, boundary, coboundary, lower, upper: torch.tanh(
            receiver + boundary + coboundary + lower + upper
        ),
        boundary=torch.nn.Linear(n, n),
        coboundary=torch.tanh,
        lower=lambda sender, shared: sender * shared,
        upper=lambda sender, shared: sender * shared,
        signed=True,
    ),
    "MPSNConv by pairs": lambda n, m: nn.MPSNConv(
        lambda receiver, lower, upper: receiver + lower[:, :n] + upper[:, n:],
        lower=lambda sender, receiver: torch.tanh(sender * receiver),
        upper=torch.nn.Linear(n, n),
        aggr=["max", "sum"],
    ),
}
OF_SIMPLICES = {"SCConv"}  # all others take any cells
# Left out: one runs layers of PyG; attention of the other is torch's, without forward derivatives.
APART = {"NeighborhoodConv", "CellTransformerConv"}


def called(layer, K, xs):
    """Return what a layer makes of features of dimensions 0 to 2, or of the one that it takes."""
    return layer(K, xs[layer.dim] if hasattr(layer, "dim") else xs)
