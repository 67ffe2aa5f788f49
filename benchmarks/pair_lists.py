"""SINConv as peers write it: explicit lists of pairs; gather, concatenate, MLP, scatter."""

import copy

import torch

from mpsn import nn


class PairListSIN:
    """The same layer with the same weights, on pairs that are listed once, beforehand.

    Rows are gathered and added up as PyG's MessagePassing does it, and activations are torch's as
    they come. Written with MessagePassing itself it takes the same time.
    """

    def __init__(self, layer, K):
        self.layer, dims = copy.deepcopy(layer), range(layer.max_dim + 1)
        for module in self.layer.modules():
            if hasattr(module, "inplace"):
                module.inplace = False
        self.upper = [K.adjacency(k, "upper") for k in dims[:-1]]
        self.boundary = [K.adjacency(k, "boundary") for k in dims]

    def messages(self, k, hs):
        """Return the sums of upper messages to the k-simplices."""
        receiver, sender, shared, _ = self.upper[k]
        both = [hs[k].index_select(0, sender), hs[k + 1].index_select(0, shared)]
        message = self.layer.act(self.layer.message[k](torch.cat(both, dim=1)))
        return torch.zeros_like(hs[k]).index_add(0, receiver, message)

    def __call__(self, hs):
        """Return new features per dimension."""
        layer, out = self.layer, []
        upper = [*(self.messages(k, hs) for k in range(len(hs) - 1)), 0]
        for k, h in enumerate(hs):
            receiver, sender = self.boundary[k][:2]
            low = h.index_add(0, receiver, hs[k - 1].index_select(0, sender)) if k else h
            halves = [layer.mlp_boundary[k](low), layer.mlp_upper[k](h + upper[k])]
            out.append(layer.mlp_update[k](torch.cat(halves, dim=1)))
        return out


def contest(K, width, device="cpu"):
    """Return three tasks: name -> who -> function, which runs forward and backward.

    Upper messages to edges, where most of the pairs are; upper messages to vertices and edges; and
    a whole layer, also with all messages taken out, which is what no way of passing them can beat.
    The outputs are compared first.
    """
    torch.manual_seed(0)
    layer = nn.SINConv(width, width, max_dim=2).to(device)
    hs = [torch.randn(n, width, device=device, requires_grad=True) for n in K.counts]
    pairs = PairListSIN(layer, K)

    def messages(dims, hs):
        return [layer._upper(k, hs[k], hs[k + 1], K.faces(k + 1)) for k in dims]

    def alone(hs):
        return [layer.update(k, h, h) for k, h in enumerate(hs)]

    compiled = torch.compile(messages, fullgraph=True)
    alone_compiled = torch.compile(alone, fullgraph=True)
    whole = torch.compile(layer, fullgraph=True)

    def task(function):
        def run():
            for h in (*hs, *layer.parameters(), *pairs.layer.parameters()):
                h.grad = None
            torch.autograd.backward(ys := function(), [torch.ones_like(y) for y in ys])

        return function, run

    tasks = {
        name: {
            "pair lists": task(lambda dims=dims: [pairs.messages(k, hs) for k in dims]),
            "eager": task(lambda dims=dims: messages(dims, hs)),
            "compiled": task(lambda dims=dims: compiled(dims, hs)),
        }
        for name, dims in (("messages to edges", (1,)), ("messages", (0, 1)))
    } | {
        "layer": {
            "pair lists": task(lambda: pairs(hs)),
            "eager": task(lambda: layer(K, hs)),
            "compiled": task(lambda: whole(K, hs)),
            "perceptrons": task(lambda: alone(hs)),
            "same, compiled": task(lambda: alone_compiled(hs)),
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
