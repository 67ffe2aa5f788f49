"""SINConv as peers write it: explicit lists of pairs; gather, concatenate, MLP, scatter."""

import torch

from mpsn import nn
from mpsn.nn import functional as fn


class PairListSIN:
    """The same layer with the same weights, on pairs that are listed once, beforehand."""

    def __init__(self, layer, K):
        self.layer, dims = layer, range(layer.max_dim + 1)
        self.upper = [K.adjacency(k, "upper") for k in dims[:-1]]
        self.boundary = [K.adjacency(k, "boundary") for k in dims]

    def messages(self, k, hs):
        """Return the sums of upper messages to the k-simplices."""
        receiver, sender, shared, _ = self.upper[k]
        both = torch.cat([hs[k][sender], hs[k + 1][shared]], dim=1)
        message = self.layer.act(self.layer.message[k](both))
        return torch.zeros_like(hs[k]).index_add(0, receiver, message)

    def __call__(self, hs):
        """Return new features per dimension."""
        layer, out = self.layer, []
        upper = [*(self.messages(k, hs) for k in range(len(hs) - 1)), 0]
        for k, h in enumerate(hs):
            receiver, sender = self.boundary[k][:2]
            low = h.index_add(0, receiver, hs[k - 1][sender]) if k else h
            halves = [layer.mlp_boundary[k](low), layer.mlp_upper[k](h + upper[k])]
            out.append(layer.mlp_update[k](torch.cat(halves, dim=1)))
        return out


def ours(dense, act, faces, h, coface):
    """Return the same sums our way."""
    p, q = fn.split_linear([h, coface], dense.weight, dense.bias)
    messages = [act(m.add_(q)) for m in fn.gather(p, faces)]
    return fn.upper_exchange(messages, faces, h.shape[0])


def contest(K, width, device="cpu"):
    """Return two tasks, upper messages of edges and a whole layer: name -> who -> function.

    Each function runs forward and backward. The outputs are compared first.
    """
    torch.manual_seed(0)
    layer = nn.SINConv(width, width, max_dim=2).to(device)
    hs = [torch.randn(n, width, device=device, requires_grad=True) for n in K.counts]
    pairs, step_of = PairListSIN(layer, K), (layer.message[1], layer.act, K.faces(2), *hs[1:])
    step = torch.compile(ours, fullgraph=True)
    whole = torch.compile(layer, fullgraph=True)

    def task(function):
        def run():
            layer.zero_grad(set_to_none=True)
            for h in hs:
                h.grad = None
            torch.autograd.backward(ys := function(), [torch.ones_like(y) for y in ys])

        return function, run

    tasks = {
        "messages": {
            "pair lists": task(lambda: [pairs.messages(1, hs)]),
            "eager": task(lambda: [ours(*step_of)]),
            "compiled": task(lambda: [step(*step_of)]),
        },
        "layer": {
            "pair lists": task(lambda: pairs(hs)),
            "eager": task(lambda: layer(K, hs)),
            "compiled": task(lambda: whole(K, hs)),
        },
    }
    for name, contestants in tasks.items():
        expected = contestants["pair lists"][0]()
        for who in ("eager", "compiled"):
            for y, right in zip(contestants[who][0](), expected, strict=True):
                # 1e-5 of the size of what is summed up, which is where rounding comes from.
                scale = right.abs().max().item()
                error = (y - right).abs().max().item() / max(scale, 1)
                assert error < 1e-5, f"{name}, {who}: off by {error:.1e}"
    return {
        name: {who: run for who, (_, run) in contestants.items()}
        for name, contestants in tasks.items()
    }
