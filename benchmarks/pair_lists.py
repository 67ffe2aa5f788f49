"""CINConv as peers write it: explicit lists of pairs; gather, concatenate, MLP, scatter."""

import copy

import torch

from mpsn import nn


class PairListSIN:
    """The same layer with the same weights, on pairs that are listed once, beforehand.

    Rows are gathered and added up as PyG's MessagePassing does it, and activations are torch's as
    they come.
    """

    def __init__(self, layer, K):
        self.layer, dims = copy.deepcopy(layer), range(layer.max_dim + 1)
        for module in self.layer.modules():
            if hasattr(module, "inplace"):
                module.inplace = False
        self.upper = [K.adjacency(k, "upper") for k in dims[:-1]]
        self.boundary = [K.adjacency(k, "boundary") for k in dims]

    def messages(self, k, hs):
        """Return the sums of upper messages to the k-cells."""
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
    a whole layer, also with all messages taken out, which is what no way of passing them can beat,
    and its matrix products alone. Outputs and derivatives are compared first.
    """
    torch.manual_seed(0)
    layer = nn.CINConv(width, width, max_dim=2).to(device)
    hs = [torch.randn(n, width, device=device, requires_grad=True) for n in K.counts]
    pairs = PairListSIN(layer, K)

    def messages(dims, hs):
        return [layer.upper(k, hs[k], hs[k + 1], K.incidence(k + 1)) for k in dims]

    def alone(hs):
        return [layer.update(k, h, h) for k, h in enumerate(hs)]

    dense = torch.randn(width, width, device=device)
    made = [(torch.randn_like(h), torch.empty_like(h)) for h in hs]

    def products():
        """Six dense layers per dimension, and for each the two products of its derivative."""
        for x, y in made:
            for _ in range(6):
                torch.mm(x, dense, out=y)
                torch.mm(x, dense, out=y)
                torch.mm(x.T, y)

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
            "products": (products, products),
        },
    }

    def gradients(run):
        run()
        mine, theirs = ([p.grad for p in m.parameters()] for m in (layer, pairs.layer))
        weights = mine if any(g is not None for g in mine) else theirs
        return [g for g in (*(h.grad for h in hs), *weights) if g is not None]

    for name, contestants in tasks.items():
        forth, back = contestants["pair lists"]
        expected, slopes = forth(), gradients(back)
        for who in ("eager", "compiled"):
            forth, back = contestants[who]
            check(f"{name}, {who}", forth(), expected, 1e-5)
            check(f"{name}, {who}, derivatives", gradients(back), slopes, 1e-4)
    return {
        name: {who: run for who, (_, run) in contestants.items()}
        for name, contestants in tasks.items()
    }


def check(what, got, expected, tolerance):
    """Raise unless tensors agree, in units of the largest entry: that is where rounding is from."""
    for y, right in zip(got, expected, strict=True):
        error = ((y - right).abs().max() / right.abs().max().clamp(min=1)).item()
        assert error < tolerance, f"{what}: off by {error:.1e}"
