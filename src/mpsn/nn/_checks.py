"""Validation of the inputs of layers, without reading values, which would synchronize a GPU."""

from collections.abc import Callable, Mapping, Sequence
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


def check_input(K: Complex, xs: object = ()) -> None:
    """Raise unless ``K`` is a complex and ``xs`` a list of features, one for each dimension."""
    if not isinstance(K, Complex):
        raise LayerError(
            f"Expected a complex, got {type(K).__name__}; lift a graph with mpsn.clique_complex."
        )
    if isinstance(xs, Tensor) or not hasattr(xs, "__len__"):
        raise LayerError(
            f"Expected a list of features per dimension, got {type(xs).__name__}; pass [x0, ...]."
        )


def check_cochain(K: Complex, k: int, h: Tensor, width: int, like: Tensor) -> None:
    """Raise unless ``K`` is a complex, and ``h`` features of its k-cells that suit a layer."""
    check_input(K)
    _check_features(K, k, h, width, like)


def _check_features(K: Complex, k: int, h: Tensor, width: int, like: Tensor) -> None:
    """Raise unless ``h`` is (n_k, F) or (n_k, B, F), of the type and on the device of ``like``."""
    if not isinstance(h, Tensor):
        raise LayerError(
            f"Expected the features of the {k}-cells as a tensor, got {type(h).__name__}."
        )
    if not h.device == like.device == K.device:
        raise LayerError(
            f"Expected complex, features and layer on one device, got {K.device}, {h.device} and "
            f"{like.device}; move them with .to(device)."
        )
    if h.dtype != like.dtype and not _same_later(h, like):
        raise LayerError(
            f"Expected features of type {like.dtype}, like the layer and other features, got "
            f"{h.dtype}; convert them with .to({like.dtype}), or the others with .to({h.dtype})."
        )
    n = K.count(k)
    if h.dim() not in (2, 3) or (h.shape[0], h.shape[-1]) != (n, width):
        raise LayerError(
            f"Expected features of the {k}-cells of shape ({n}, {width}) or ({n}, B, {width}), "
            f"got {tuple(h.shape)}."
        )


def _same_later(h: Tensor, like: Tensor) -> bool:
    """Return whether types become equal: autocast converts all but doubles."""
    double = torch.float64 in (h.dtype, like.dtype)
    return not double and torch.is_autocast_enabled(h.device.type)


def cochains(
    K: Complex,
    xs: Sequence[Tensor | None],
    max_dim: int,
    width: int | Sequence[int],
    like: Tensor,
) -> list[Tensor]:
    """Return features of dimension 0, ..., max_dim; see :func:`cochains_of`.

    The ``width`` is one for all dimensions, or one for each.
    """
    check_input(K, xs)
    if len(xs) > max_dim + 1:
        raise LayerError(
            f"Expected features of dimensions 0 to {max_dim}, got {len(xs)} tensors; "
            f"pass xs[:{max_dim + 1}], or raise max_dim."
        )
    dims = range(max_dim + 1)
    widths = dict.fromkeys(dims, width) if isinstance(width, int) else dict(enumerate(width))
    return cochains_of(K, xs, widths, like)


def cochains_of(
    K: Complex, xs: Sequence[Tensor | None], widths: Mapping[int, int], like: Tensor
) -> list[Tensor]:
    """Return features of the dimensions in ``widths``, of the type and device of ``like``.

    Features may be None or missing in ``xs`` where there are no cells, or where the width is 0;
    they are empty then. Where autocast is on, they get its type, before they are gathered and
    summed: dense layers would round them later, and sums are then read in half the size.
    """
    out = []
    for k, width in widths.items():
        x = xs[k] if k < len(xs) else None
        out.append(_nothing(K, k, xs, width, like) if x is None else x)
        _check_features(K, k, out[-1], width, like)
        if out[-1].shape[1:-1] != out[0].shape[1:-1]:
            raise LayerError(
                f"Expected features (n, F), or (n, B, F) of the same B, in all dimensions, got "
                f"{tuple(out[0].shape)} and {tuple(out[-1].shape)}."
            )
    if torch.is_autocast_enabled(like.device.type):
        lower = torch.get_autocast_dtype(like.device.type)
        out = [x.to(lower) if x.dtype == torch.float32 else x for x in out]
    return out


def _nothing(K: Complex, k: int, xs: Sequence[Tensor | None], width: int, like: Tensor) -> Tensor:
    """Return the features of no cells, or of width 0, shaped like others in the list."""
    if K.count(k) and width:
        raise LayerError(
            f"Expected features of the {K.count(k)} {k}-cells, got none; lift those "
            f"of the vertices with mpsn.lift_features or mpsn.nn.Populate."
        )
    other = next((x for x in xs if x is not None), like)
    return other.new_zeros((K.count(k), *other.shape[1:-1], width))
