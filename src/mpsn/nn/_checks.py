"""Validation of the inputs of layers, without reading values, which would synchronize a GPU."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from mpsn.complexes.complex import Complex
from mpsn.errors import LayerError

Activation = Callable[[Tensor], Tensor]
_MODULES = torch.nn.modules.activation
ACTIVATIONS = {name.lower(): getattr(_MODULES, name) for name in _MODULES.__all__}
ACTIVATIONS |= {"id": torch.nn.Identity, "swish": torch.nn.SiLU}


def activation(act: str | Activation, inplace: bool = False) -> Activation:
    """Return one of torch's activations by its name, or ``"id"``, as a new module; functions pass.

    ``inplace`` lets the module overwrite its input, such as the output of a dense layer, which
    halves what is saved for the gradient.
    """
    if callable(act):
        return act
    plain = act.lower().translate(dict.fromkeys(map(ord, " -_"))) if isinstance(act, str) else ""
    try:
        module: Any = ACTIVATIONS[plain]()
    except (KeyError, TypeError) as error:  # some need arguments
        raise LayerError(
            f"Expected the name of an activation, such as 'elu', 'relu', 'tanh' or 'id', or a "
            f"function, got {act!r}."
        ) from error
    if inplace and isinstance(module, torch.nn.ELU | torch.nn.ReLU):
        module.inplace = True
    return module  # type: ignore[no-any-return]


def check_least(least: int, **sizes: Any) -> None:
    """Raise unless all sizes, passed by name, are integers >= ``least``."""
    for name, size in sizes.items():
        if not isinstance(size, int | np.integer) or isinstance(size, bool) or size < least:
            raise LayerError(f"Expected {name} as an integer >= {least}, got {size!r}.")


def check_complex(K: Complex) -> None:
    """Raise unless ``K`` is a complex."""
    if not isinstance(K, Complex):
        raise LayerError(
            f"Expected a complex, got {type(K).__name__}; lift a graph with mpsn.clique_complex."
        )


def check_list(xs: object) -> None:
    """Raise unless ``xs`` is a list of features, one for each dimension."""
    if isinstance(xs, Tensor) or not hasattr(xs, "__len__"):
        raise LayerError(
            f"Expected a list of features per dimension, got {type(xs).__name__}; pass [x0, ...]."
        )


def check_cochain(K: Complex, k: int, h: Tensor, width: int, like: Tensor) -> None:
    """Raise unless ``h`` is (n_k, F) or (n_k, B, F), of the type and on the device of ``like``.

    Autocast converts types by itself, except for double precision.
    """
    check_complex(K)
    if not isinstance(h, Tensor):
        raise LayerError(
            f"Expected the features of the {k}-cells as a tensor, got {type(h).__name__}."
        )
    if h.device != like.device or h.device != K.device:
        raise LayerError(
            f"Expected complex, features and layer on one device, got {K.device}, {h.device} and "
            f"{like.device}; move them with .to(device)."
        )
    double = torch.float64 in (h.dtype, like.dtype)
    if h.dtype != like.dtype and (double or not torch.is_autocast_enabled(h.device.type)):
        raise LayerError(
            f"Expected features of type {like.dtype}, like the layer and other features, got "
            f"{h.dtype}; convert them with .to({like.dtype}), or the others with .to({h.dtype})."
        )
    if h.dim() not in (2, 3) or h.shape[0] != K.count(k) or h.shape[-1] != width:
        n = K.count(k)
        raise LayerError(
            f"Expected features of the {k}-cells of shape ({n}, {width}) or ({n}, B, {width}), "
            f"got {tuple(h.shape)}."
        )


def cochain(K: Complex, k: int, xs: Sequence[Tensor | None], width: int, like: Tensor) -> Tensor:
    """Return the features of dimension k in a list, see :func:`cochains`."""
    x = xs[k] if k < len(xs) else None
    if x is None:
        if K.count(k) and width:
            raise LayerError(
                f"Expected features of the {K.count(k)} {k}-cells, got none; lift those "
                f"of the vertices with mpsn.lift_features or mpsn.nn.Populate."
            )
        given = next((given for given in xs if given is not None), like)
        x = given.new_zeros((K.count(k), *given.shape[1:-1], width))
    check_cochain(K, k, x, width, like)
    return lowered(x)


def lowered(x: Tensor) -> Tensor:
    """Return features in the type of autocast, where it is on, before they are gathered and summed.

    Dense layers would round them later: sums are then read in half the size.
    """
    where = x.device.type
    if x.dtype == torch.float32 and torch.is_autocast_enabled(where):
        return x.to(torch.get_autocast_dtype(where))
    return x


def cochains(
    K: Complex,
    xs: Sequence[Tensor | None],
    max_dim: int,
    width: int | Sequence[int],
    like: Tensor,
) -> list[Tensor]:
    """Return features of dimension 0, ..., max_dim, of the type and on the device of ``like``.

    Features may be None or missing in ``xs`` where there are no cells, or where the ``width``, one
    for all dimensions or one for each, is 0; they are empty then.
    """
    check_complex(K)
    check_list(xs)
    if len(xs) > max_dim + 1:
        raise LayerError(
            f"Expected features of dimensions 0 to {max_dim}, got {len(xs)} tensors; "
            f"pass xs[:{max_dim + 1}], or raise max_dim."
        )
    widths = width if isinstance(width, Sequence) else [width] * (max_dim + 1)
    out = [cochain(K, k, xs, n, like) for k, n in enumerate(widths)]
    if any(x.shape[1:-1] != out[0].shape[1:-1] for x in out):
        raise LayerError(
            f"Expected features (n, F), or (n, B, F) of the same B, in all dimensions, got "
            f"{', '.join(str(tuple(x.shape)) for x in out)}."
        )
    return out
