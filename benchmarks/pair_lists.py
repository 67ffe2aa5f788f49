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

    def messages(self, hs):
        """Return the sums of upper messages, one tensor per dimension below the top."""
        out = []
        for k, (receiver, sender, shared, _) in enumerate(self.upper):
            both = torch.cat([hs[k][sender], hs[k + 1][shared]], dim=1)
            message = self.layer.act(self.layer.message[k](both))
            out.append(torch.zeros_like(hs[k]).index_add(0, receiver, message))
        return out

    def __call__(self, hs):
        """Return new features per dimension."""
        layer, out = self.layer, []
        upper = [*self.messages(hs), 0]
        for k, h in enumerate(hs):
            receiver, sender = self.boundary[k][:2]
            low = h.index_add(0, receiver, hs[k - 1][sender]) if k else h
            halves = [layer.mlp_boundary[k](low), layer.mlp_upper[k](h + upper[k])]
            out.append(layer.mlp_update[k](torch.cat(halves, dim=1)))
        return out


def ours(layer, tables, hs):
    """Return the sums of upper messages, one tensor per dimension below the top, our way."""
    out = []
    for k, faces in enumerate(tables):
        dense = layer.message[k]
        p, q = fn.split_linear([hs[k], hs[k + 1]], dense.weight, dense.bias)
        messages = [layer.act(m.add_(q)) for m in fn.gather(p, faces)]
        out.append(fn.upper_exchange(messages, faces, hs[k].shape[0]))
    return out


def contest(K, width, device="cpu"):
    """Return two tasks, messages alone and the whole layer: name -> contestants -> function.

    Each function runs forward and backward. The outputs are compared first.
    """
    torch.manual_seed(0)
    layer = nn.SINConv(width, width, max_dim=2).to(device)
    hs = [torch.randn(n, width, device=device, requires_grad=True) for n in K.counts]
    tables, pairs = [K.faces(1), K.faces(2)], PairListSIN(layer, K)
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
            "pair lists": task(lambda: pairs.messages(hs)),
            "eager": task(lambda: ours(layer, tables, hs)),
            "compiled": task(lambda: step(layer, tables, hs)),
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
