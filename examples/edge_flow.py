"""Classify paths around two holes by their flow on edges, in orientations not seen in training.

The orientation of an edge is an arbitrary convention, so a network should not depend on it. With
tanh it does not; with relu it learns the convention, and fails when it changes. Run it with
``python examples/edge_flow.py``; it saves out/edge_flow.png.
"""

from pathlib import Path

import torch
from matplotlib import pyplot as plt
from torch.nn.functional import cross_entropy

import mpsn
from mpsn.nn.models import EdgeFlowNet

COLORS = ("tab:blue", "tab:red")


def flipped(data: mpsn.datasets.FlowDataset) -> tuple[mpsn.SimplicialComplex, torch.Tensor]:
    """Return the test flows, each on its own copy of the complex with randomly flipped edges."""
    signs = data.signs[:, ~data.train]  # (n_1, N)
    copies = mpsn.collate([data.complex.flip({1: column < 0}) for column in signs.T])
    return copies, (data.x[:, ~data.train] * signs).T.reshape(-1, 1)


def accuracy(model: EdgeFlowNet, K: mpsn.SimplicialComplex, flows: torch.Tensor, labels) -> float:
    with torch.no_grad():
        return (model(K, flows).argmax(dim=1) == labels).float().mean().item()


def train(model: EdgeFlowNet, data: mpsn.datasets.FlowDataset) -> list[float]:
    """Return the accuracy on the flipped test flows, before training and after each epoch."""
    flows, labels = data.x[:, data.train, None], data.y[data.train]  # (n_1, N, 1), (N,)
    others, truth = flipped(data), data.y[~data.train]
    optimizer = torch.optim.Adam(model.parameters(), lr=0.001)
    accuracies = [accuracy(model, *others, truth)]
    for _ in range(20):
        for index in torch.randperm(len(labels)).split(20):
            loss = cross_entropy(model(data.complex, flows[:, index]), labels[index])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        accuracies.append(accuracy(model, *others, truth))
    return accuracies


def main() -> None:
    data = mpsn.datasets.synthetic_flows(points=200, train=120, test=40)
    print(data)
    figure, (map_, holes, curves) = plt.subplots(1, 3, figsize=(12, 3.8), layout="constrained")

    mpsn.plotting.draw_complex(data.complex, map_, positions=data.positions)
    for label in (0, 1):
        path = data.paths[int((data.y == label).nonzero()[0])]
        map_.plot(*data.positions[path].T, color=COLORS[label], linewidth=3, zorder=4)
    map_.set_title("a path of each class")

    # Each hole gives one harmonic flow, which is neither a gradient nor a curl.
    seen = data.complex.harmonic_basis(1).float().T @ data.x  # (2, N)
    for label in (0, 1):
        holes.scatter(*seen[:, data.y == label], s=12, color=COLORS[label], label=f"class {label}")
    holes.set(title="flows in the harmonic space", xlabel="harmonic 1", ylabel="harmonic 2")
    holes.legend()

    for act in ("tanh", "relu"):
        model = EdgeFlowNet(act=act, hidden=16)
        accuracies = train(model, data)
        same = accuracy(model, data.complex, data.x[:, ~data.train, None], data.y[~data.train])
        print(f"{act}: test accuracy {same:.2f} in the orientation of training, ", end="")
        print(f"{accuracies[-1]:.2f} in others")
        curves.plot(accuracies, label=act)
    curves.set(
        title="test flows, flipped at random", xlabel="epoch", ylabel="accuracy", ylim=(0, 1.02)
    )
    curves.legend()
    picture = Path("out/edge_flow.png")
    picture.parent.mkdir(exist_ok=True)
    figure.savefig(picture, dpi=85)
    print(f"figure: {picture}")


if __name__ == "__main__":
    torch.manual_seed(0)
    main()
