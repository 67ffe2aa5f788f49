"""What pooling returns, and the way back."""

from collections.abc import Sequence
from typing import NamedTuple

from torch import Tensor

from mpsn.complexes import Incidence
from mpsn.complexes.complex import Complex


class Pooled(NamedTuple):
    """A smaller complex, and how cells became its cells.

    Attributes:
        K: The complex, or union; without features, labels and vertex names of its own.
        xs: Its features, one tensor (m_k, F) per dimension, or None where none were given.
        maps: For each dimension the :class:`mpsn.complexes.Incidence` of the n_k old cells with
            the one new cell that each became, if any. Its ``from_faces`` goes back, from (m_k, F)
            to (n_k, F), and its ``from_cofaces`` sums old cells at the new ones.
    """

    K: Complex
    xs: list[Tensor | None]
    maps: tuple[Incidence, ...]


def unpool(
    maps: Sequence[Incidence], xs: Sequence[Tensor | None], *, signed: bool = False
) -> list[Tensor | None]:
    r"""Return features of the old cells: those of the cell that each became, or zero.

    After :func:`mpsn.nn.topk_pool` cells that were dropped get zeros, as in Graph U-Nets; after
    :func:`mpsn.nn.coarsen` each cell gets the value of its image, and degenerate cells zeros.

    Args:
        maps: ``Pooled.maps``.
        xs: Features of the new cells, each (m_k, ..., F) or None.
        signed: Whether to multiply by the orientation of a cell relative to its image, for odd
            features such as flows. Defaults to False.

    Returns:
        One tensor (n_k, ..., F) per dimension, or None where ``xs`` has none.

    Example:
        >>> K = mpsn.clique_complex(nx.path_graph(3))
        >>> x = torch.tensor([[1.0], [2.0], [3.0]])
        >>> small = mpsn.nn.topk_pool(K, [x], torch.tensor([1.0, 0.0, 0.5]))
        >>> mpsn.nn.unpool(small.maps, small.xs)[0].T
        tensor([[1.0000, 0.0000, 1.5000]])
    """
    out = list(xs)
    for k, (x, B) in enumerate(zip(xs, maps, strict=False)):
        out[k] = None if x is None else B.from_faces(x, signed=signed)
    return out
