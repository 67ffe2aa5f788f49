"""Checks of what a layer is handed; values are not read, so that nothing waits for the device."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from mpsn.complexes import SimplicialComplex
from mpsn.errors import LayerError

Activation = Callable[[Tensor], Tensor]
ACTIVATIONS: dict[str, type[torch.nn.Module]] = {
    "elu": torch.nn.ELU,
    "id": torch.nn.Identity,
    "relu": torch.nn.ReLU,
    "tanh": torch.nn.Tanh,
}


def activation(name: str | Activation, inplace: bool = False) -> Activation:
    """Return the activation of that name as a new module; a function or module stays itself.

    Args:
        name: The name, or what it would stand for.
        inplace: Whether the module may overwrite its input, if it can: for what a dense layer has
            just made, that halves what is kept for the derivative.
    """
    if callable(name):
        return name
    if name not in ACTIVATIONS:
        raise LayerError(
            f"Expected activation {', '.join(map(repr, ACTIVATIONS))} or a function, got {name!r}."
        )
    module = ACTIVATIONS[name]()
    if inplace and isinstance(module, torch.nn.ELU | torch.nn.ReLU):
        module.inplace = True
    return module


def check_least(least: int, **sizes: Any) -> None:
    """Raise unless all sizes, each under its name, are whole numbers from ``least`` on."""
    for name, size in sizes.items():
        if not isinstance(size, int | np.integer) or isinstance(size, bool) or size < least:
            raise LayerError(f"Expected {name} >= {least}, a whole number, got {size!r}.")


def check_complex(K: SimplicialComplex) -> None:
    """Raise unless it is a complex."""
    if not isinstance(K, SimplicialComplex):
        raise LayerError(
            f"Expected a SimplicialComplex, got {type(K).__name__}; "
            f"of a graph mpsn.clique_complex makes one."
        )


def check_list(xs: object) -> None:
    """Raise unless there are several features, one for each dimension."""
    if isinstance(xs, Tensor) or not hasattr(xs, "__len__"):
        raise LayerError(f"Expected a list of features per dimension, got {type(xs).__name__}.")


def check_cochain(K: SimplicialComplex, k: int, h: Tensor, width: int, like: Tensor) -> None:
    """Raise unless ``h`` holds (n_k, F) or (n_k, B, F) features of the k-simplices.

    They must have the type and device of ``like``, a weight of the layer or other features.
    Autocast converts types by itself, but not double precision.
    """
    check_complex(K)
    if not isinstance(h, Tensor):
        raise LayerError(
            f"Expected the features of the {k}-simplices as a tensor, got {type(h).__name__}."
        )
    if h.device != like.device or h.device != K.device:
        raise LayerError(
            f"Expected complex, features and layer on one device, got {K.device}, {h.device} and "
            f"{like.device}; move them with .to(device)."
        )
    double = torch.float64 in (h.dtype, like.dtype)
    if h.dtype != like.dtype and (double or not torch.is_autocast_enabled(h.device.type)):
        raise LayerError(
            f"Expected features of type {like.dtype}, as layer and other features are, got "
            f"{h.dtype}; convert them with .to({like.dtype}), or all else with .to({h.dtype})."
        )
    if h.dim() not in (2, 3) or h.shape[0] != K.count(k) or h.shape[-1] != width:
        n = K.count(k)
        raise LayerError(
            f"Expected features of the {k}-simplices of shape ({n}, {width}) or ({n}, B, {width}), "
            f"got {tuple(h.shape)}."
        )


def cochain(
    K: SimplicialComplex, k: int, xs: Sequence[Tensor | None], width: int, like: Tensor
) -> Tensor:
    """Return features of dimension k out of a list; arguments as for :func:`cochains`."""
    x = xs[k] if k < len(xs) else None
    if x is None:
        if K.count(k):
            raise LayerError(
                f"Expected features of the {K.count(k)} {k}-simplices, got none; lift those "
                f"of the vertices with mpsn.lift_features or mpsn.nn.Populate."
            )
        x = next((given[:0] for given in xs if given is not None), like.new_zeros((0, width)))
    check_cochain(K, k, x, width, like)
    return x


def cochains(
    K: SimplicialComplex, xs: Sequence[Tensor | None], max_dim: int, width: int, like: Tensor
) -> list[Tensor]:
    """Return features of dimension 0, ..., max_dim, empty ones where the complex has no simplex.

    Args:
        K: The complex.
        xs: Features per dimension; may stop, or be None, where there are no simplices.
        max_dim: The largest dimension wanted.
        width: Width F of all features.
        like: A weight of the layer, whose type and device features must have.
    """
    check_complex(K)
    check_list(xs)
    if len(xs) > max_dim + 1:
        raise LayerError(
            f"Expected features of dimensions 0 to {max_dim}, got {len(xs)} tensors; "
            f"pass xs[:{max_dim + 1}], or raise max_dim."
        )
    out = [cochain(K, k, xs, width, like) for k in range(max_dim + 1)]
    if any(x.shape[1:] != out[0].shape[1:] for x in out):
        raise LayerError(
            f"Expected features of one shape (n, F) or (n, B, F) in all dimensions, but for n, got "
            f"{', '.join(str(tuple(x.shape)) for x in out)}."
        )
    return out
