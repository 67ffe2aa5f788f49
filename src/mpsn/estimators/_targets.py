"""What estimators of graphs predict: classes or numbers."""

from dataclasses import dataclass
from typing import ClassVar

from mpsn.errors import FileError, MPSNError

LARGEST = 1e150  # mean and deviation of targets: squares, and predictions, do not overflow


@dataclass(frozen=True)
class Classes:
    """The targets of a classifier: the classes, sorted, and the number of graphs of each."""

    classes: tuple[bool | int | float | str, ...]
    sizes: tuple[int, ...]
    metric: ClassVar[str] = "accuracy"
    guess: ClassVar[str] = "majority class"

    def __post_init__(self) -> None:
        if not len(self.classes) == len(self.sizes) == len(set(self.classes)) >= 2:
            raise FileError("expected at least two different classes and their sizes")

    @property
    def width(self) -> int:
        """Number of outputs of the network."""
        return len(self.classes)

    @property
    def prior(self) -> tuple[float, ...]:
        """Outputs by which the most frequent class is guessed."""
        return tuple(map(float, self.sizes))

    def __str__(self) -> str:
        sizes = zip(self.classes, self.sizes, strict=True)
        return "classes " + ", ".join(f"{name} ({n})" for name, n in sizes)


@dataclass(frozen=True)
class Numbers:
    """The targets of a regressor: how they were standardized, and whether graphs have just one."""

    mean: tuple[float, ...]
    scale: tuple[float, ...]
    flat: bool
    metric: ClassVar[str] = "R²"
    guess: ClassVar[str] = "mean"

    def __post_init__(self) -> None:
        if not 1 <= len(self.mean) == len(self.scale) or (self.flat and len(self.mean) > 1):
            raise FileError("expected a mean and a scale for each target")
        for mean, scale in zip(self.mean, self.scale, strict=True):
            if not (abs(mean) < LARGEST and 0 < scale < LARGEST):
                raise MPSNError(
                    f"Expected targets y of size up to {LARGEST:.0e}, got mean {mean:.3g} and "
                    f"standard deviation {scale:.3g}; use other units."
                )

    @property
    def width(self) -> int:
        """Number of outputs of the network."""
        return len(self.mean)

    @property
    def prior(self) -> tuple[float, ...]:
        """Outputs by which the mean is guessed."""
        return (0.0,) * self.width

    def __str__(self) -> str:
        pairs = zip(self.mean, self.scale, strict=True)
        return f"numbers, {', '.join(f'{m:.4g} ± {s:.4g}' for m, s in pairs)} in the fit"


Targets = Classes | Numbers
