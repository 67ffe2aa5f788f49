"""Train SIN and GIN on graphs that differ in their triangles, which only SIN can see.

All graphs are 4-regular on 20 vertices, so a network that passes messages only along edges gives
the same answer for all of them. Class 1 consists of rings with many triangles and a few swapped
edges, class 0 of random graphs. Run it with ``python examples/classify_graphs.py``; it saves
out/classify_graphs.png.
"""

from pathlib import Path

import networkx as nx
import torch
from matplotlib import pyplot as plt

import mpsn
from mpsn.nn.models import GIN, SIN


def make_graphs(count: int, seed: int) -> tuple[list[nx.Graph], torch.Tensor]:
    """Make random 4-regular graphs (class 0) and rings with some swapped edges (class 1)."""
    graphs, labels = [], torch.arange(count) % 2
    for i, label in enumerate(labels.tolist()):
        if label:
            graph = nx.circulant_graph(20, [1, 2])
            nx.double_edge_swap(graph, nswap=4, max_tries=1000, seed=seed + i)
        else:
            graph = nx.random_regular_graph(4, 20, seed=seed + i)
        graphs.append(graph)
    return graphs, labels


def pack(graphs: list[nx.Graph], labels: torch.Tensor) -> mpsn.ComplexDataset:
    """Lift graphs up to triangles; every simplex has the feature 1."""
    union = mpsn.clique_complexes(graphs, max_dim=2).union
    return mpsn.ComplexDataset(union.replace(x=[torch.ones(n, 1) for n in union.counts], y=labels))


def train(model: torch.nn.Module, data: mpsn.ComplexDataset, test: mpsn.ComplexDataset):
    """Return the accuracy on the test data after each epoch."""
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    accuracies = []
    for _ in range(10):
        model.train()
        for index in torch.randperm(len(data)).split(32):
            batch = data.batch(index)
            loss = torch.nn.functional.cross_entropy(model(batch), batch.y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            right = model(test.union).argmax(dim=1) == test.y
        accuracies.append(right.float().mean().item())
    return accuracies


def main() -> None:
    data, test = pack(*make_graphs(200, seed=0)), pack(*make_graphs(100, seed=1000))
    settings = {"hidden": 16, "out_channels": 2, "layers": 2, "readout": "mean"}
    models = {"GIN": GIN(**settings), "SIN": SIN(**settings)}
    figure, axes = plt.subplots(1, 3, figsize=(11, 3.4), layout="constrained")
    for ax, i, title in zip(
        axes, (0, 1), ("class 0: random", "class 1: from a ring"), strict=False
    ):
        mpsn.plotting.draw_complex(test[i], ax)
        ax.set_title(title)
    for name, model in models.items():
        accuracies = train(model, data, test)
        print(f"{name}: test accuracy {accuracies[-1]:.2f}")
        axes[2].plot(range(1, len(accuracies) + 1), accuracies, label=name)
    axes[2].set(xlabel="epoch", ylabel="test accuracy", ylim=(0.4, 1.02))
    axes[2].legend()
    picture = Path("out/classify_graphs.png")
    picture.parent.mkdir(exist_ok=True)
    figure.savefig(picture, dpi=85)
    print(f"figure: {picture}")


if __name__ == "__main__":
    torch.manual_seed(0)
    main()
