"""Write your own layer, check its symmetries, and watch it spread a signal.

Run it with ``python examples/own_layer.py``; it saves out/own_layer.png.
"""

from pathlib import Path

import torch
from matplotlib import pyplot as plt
from matplotlib.collections import LineCollection

import mpsn
from mpsn.testing import assert_orientation_equivariant, assert_permutation_equivariant


class Spread(mpsn.nn.MPSNConv):
    """Each simplex receives messages from those it shares a face or a co-face with."""

    def __init__(self, width: int, act=torch.tanh) -> None:
        super().__init__(signed=True)
        self.in_channels, self.act = width, act
        self.own, self.down, self.up = (torch.nn.Linear(width, width, bias=False) for _ in range(3))

    def lower(self, sender):
        return self.down(sender)

    def upper(self, sender):
        return self.up(sender)

    def update(self, receiver, lower, upper):
        return self.act(self.own(receiver) + lower + upper)


def main() -> None:
    assert_permutation_equivariant(Spread(4))
    assert_orientation_equivariant(Spread(4))
    print("Spread with tanh has both symmetries")
    try:
        assert_orientation_equivariant(Spread(4, torch.relu))
    except AssertionError as counterexample:
        print(f"Spread with relu does not. {counterexample}")

    data = mpsn.datasets.synthetic_flows(points=400, train=0, test=0)
    K, ends = data.complex, data.positions[data.complex.simplices(1)]  # (n_1, 2, 2)
    layer = Spread(1)
    for linear, weight in ((layer.own, 0.5), (layer.down, -0.15), (layer.up, -0.15)):
        torch.nn.init.constant_(linear.weight, weight)
    xs = [torch.zeros(n, 1) for n in K.counts]
    middle = (ends.mean(dim=1) - 0.5).norm(dim=1).argmin()
    xs[1][middle] = 1.0  # a flow on one edge

    figure, axes = plt.subplots(1, 4, figsize=(12, 3.5), layout="constrained")
    for i, ax in enumerate(axes):
        strength = xs[1].detach().abs().flatten() ** 0.5
        ax.add_collection(LineCollection(ends.numpy(), colors="lightgray", linewidths=0.6))
        lines = LineCollection(ends.numpy(), array=strength.numpy(), cmap="inferno_r", linewidths=2)
        lines.set_alpha((strength / strength.max()).clamp(max=1).numpy())
        ax.add_collection(lines)
        ax.set(xlim=(0, 1), ylim=(0, 1), aspect="equal", xticks=[], yticks=[])
        ax.set_title(f"after {4 * i} layers")
        for _ in range(4):
            xs = layer(K, xs)
    picture = Path("out/own_layer.png")
    picture.parent.mkdir(exist_ok=True)
    figure.savefig(picture, dpi=85, bbox_inches="tight")
    print(f"figure: {picture}")


if __name__ == "__main__":
    torch.manual_seed(0)
    main()
