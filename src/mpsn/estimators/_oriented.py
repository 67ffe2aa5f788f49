"""Features of cells that change sign with the orientation: scaled, and not shifted."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from mpsn.complexes import ComplexDataset
from mpsn.complexes.complex import Complex
from mpsn.errors import GraphError
from mpsn.estimators._features import Encoding
from mpsn.estimators._given import Notes
from mpsn.estimators._inputs import encoded

Signs = tuple[tuple[float, ...], ...]  # scales of the features of dimension 1, 2, ...


def prepare_oriented(
    graphs: Sequence[object],
    max_dim: int,
    encoding: Encoding | None,
    scales: Signs | None,
    *,
    notes: Notes,
    **options: Any,
) -> tuple[ComplexDataset[Any], Encoding, Signs]:
    """Read and lift graphs: vertices get features as always, other cells ``K.x`` divided by scales.

    The ``scales`` default to the root mean squares of the columns.
    """
    plain = [K.replace(x=K.x[:1]) if isinstance(K, Complex) else K for K in graphs]
    data, encoding = encoded(plain, max_dim, encoding, notes=notes, **options)
    if any(
        any(c.name not in ("both_ways", "multiplicity") for c in k) for k in encoding.columns[1:]
    ):
        why = "they have no sign; an oriented model takes features of complexes"
        notes["attributes of the edges of graphs", why] += 1
    own = [
        _signed(graphs, data, k, None if scales is None else len(scales[k - 1]))
        for k in range(1, max_dim + 1)
    ]
    if scales is None:
        scales = tuple(tuple(_size(x)) for x in own)
    for k, x in enumerate(own):
        own[k] = x / x.new_tensor(scales[k])
    return ComplexDataset(data.union.replace(x=[data.union.x[0], *own])), encoding, scales


def _size(x: Tensor) -> list[float]:
    size: list[float] = x.double().square().mean(dim=0).sqrt().tolist() if len(x) else []
    return [value or 1.0 for value in size] or [1.0] * x.shape[1]


def _signed(
    graphs: Sequence[object], data: ComplexDataset[Any], k: int, width: int | None
) -> Tensor:
    """Return the features (n_k, F) of the k-cells of all complexes; of graphs, there are none."""
    given = [K.x[k] if isinstance(K, Complex) and k < len(K.x) else None for K in graphs]
    many = data.union.ptr(k).diff().tolist()
    widths = {x.shape[1] for x in given if x is not None and len(x)}
    if width is not None and any(many):
        widths.add(width)
    lacking = any(x is None and n for x, n in zip(given, many, strict=True))
    if len(widths) > 1 or (lacking and widths - {0}):
        raise GraphError(
            f"Expected features x[{k}] of one width in all complexes"
            f"{'' if width is None else f', {width} as in the fit'}, got "
            f"{' and '.join(map(str, sorted(widths)))}{' and none' * lacking}."
        )
    wide = next(iter(widths), width or 0)
    parts = [x.reshape(-1, wide).float() for x in given if x is not None and len(x)]
    out = torch.cat([torch.zeros(0, wide, device=data.union.device), *parts])
    return out if len(out) else out.new_zeros(sum(many), wide)
