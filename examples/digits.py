"""Handwritten digits as cubical complexes: count their holes, and classify them with CIN.

Run it with ``python examples/digits.py``.
"""

from pathlib import Path

import matplotlib as mpl
import torch
from matplotlib import pyplot as plt
from sklearn.datasets import load_digits

import mpsn
from mpsn.nn.models import CIN

mpl.use("Agg")
INK = 4  # pixels darker than this, of 0 to 16, are squares
ROWS, COLUMNS = torch.meshgrid(*[torch.linspace(-1, 1, 8)] * 2, indexing="ij")


def corners(image: torch.Tensor) -> torch.Tensor:
    """Return the places of the corners of dark pixels, as the complex numbers them."""
    near = torch.nn.functional.pad(image > INK, (1, 1, 1, 1))
    kept = near[1:, 1:] | near[1:, :-1] | near[:-1, 1:] | near[:-1, :-1]
    return kept.nonzero().flip(1) * torch.tensor([1, -1])


def as_complex(image: torch.Tensor, label: int) -> mpsn.CubicalComplex:
    """Make squares of the dark pixels; a cell has a gray value and a place as features."""
    ink = image > INK
    layers = [mpsn.cubical_complex(values, mask=ink) for values in (image / 16, ROWS, COLUMNS)]
    xs = [torch.cat(parts, dim=1) for parts in zip(*(K.x for K in layers), strict=True)]
    return layers[0].replace(x=xs, y=torch.tensor(label))


def train(model: torch.nn.Module, data: mpsn.ComplexDataset, test: mpsn.ComplexDataset) -> float:
    """Return the accuracy on the test data."""
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(8):
        for index in torch.randperm(len(data)).split(32):
            batch = data.batch(index)
            loss = torch.nn.functional.cross_entropy(model(batch), batch.y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    model.eval()
    with torch.no_grad():
        return (model(test.union).argmax(dim=1) == test.y).float().mean().item()


def main() -> None:
    images, labels = load_digits(return_X_y=True)
    images = torch.from_numpy(images).float().view(-1, 8, 8)
    complexes = [as_complex(images[i], int(labels[i])) for i in range(700)]
    holes = torch.tensor([K.betti_numbers()[1] for K in complexes])
    shares = torch.stack(
        [
            (holes[labels[:700] == digit].clamp(max=2)[:, None] == torch.arange(3)).float().mean(0)
            for digit in range(10)
        ]
    )
    print("digit  share with 0, 1, 2 or more holes")
    for digit, row in enumerate(shares.tolist()):
        print(f"{digit:5}  {'  '.join(f'{share:.2f}' for share in row)}")
    data, test = mpsn.ComplexDataset(complexes[:600]), mpsn.ComplexDataset(complexes[600:])
    model = CIN(3, 16, 10, layers=2, act="relu", norm=True, jump=True)
    print(f"CIN: accuracy on 100 other digits {train(model, data, test):.2f}")

    figure, axes = plt.subplots(1, 4, figsize=(11, 3.2), layout="constrained")
    for ax, digit in zip(axes, (0, 3, 8), strict=False):
        i = next(i for i in range(700) if labels[i] == digit)
        gray = [x[:, 0] for x in complexes[i].x]
        mpsn.plotting.draw_complex(complexes[i], ax, positions=corners(images[i]), values=gray)
        article, plural = "an" if digit == 8 else "a", "" if holes[i] == 1 else "s"
        ax.set_title(f"{article} {digit} with {holes[i]} hole{plural}")
    bottom = torch.zeros(10)
    for number, part in enumerate(shares.T):
        axes[3].bar(range(10), part, bottom=bottom, label=("none", "one", "two or more")[number])
        bottom = bottom + part
    axes[3].set(xticks=range(10), xlabel="digit", title="number of holes")
    axes[3].legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=3, frameon=False)
    picture = Path("out/digits.png")
    picture.parent.mkdir(exist_ok=True)
    figure.savefig(picture, dpi=85)
    print(f"figure: {picture}")


if __name__ == "__main__":
    torch.manual_seed(0)
    main()
