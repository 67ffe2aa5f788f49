"""Compare colorings: which is finer."""

from collections.abc import Sequence

import torch
from torch import Tensor

from mpsn.errors import ColoringError

Colors = Tensor | Sequence[Tensor]  # (n,), or one tensor (n_k,) per dimension


def refines(fine: Colors, coarse: Colors) -> bool:
    r"""Return whether a coloring refines another, :math:`c \sqsubseteq d` (Definition 22).

    It does if cells of one dimension that share a color in the first share one in the second.

    Args:
        fine: Colors of cells, one tensor (n_k,) per dimension such as ``Refinement.colors[t]``; or
            one tensor (n,), such as ``Refinement.classes()``.
        coarse: Other colors of the same cells.

    Example:
        >>> r = mpsn.wl.swl(mpsn.clique_complex(nx.karate_club_graph()))
        >>> mpsn.wl.refines(r.colors[2], r.colors[1]), mpsn.wl.refines(r.colors[1], r.colors[2])
        (True, False)
    """
    one, two = ([c] if isinstance(c, Tensor) else list(c) for c in (fine, coarse))
    sizes, others = [tuple(c.shape) for c in one], [tuple(c.shape) for c in two]
    if sizes != others or any(len(size) != 1 for size in sizes):
        raise ColoringError(
            f"Expected two colorings of the same cells, tensors (n_k,), got {sizes} and {others}."
        )
    pairs = (torch.unique(torch.stack(both), dim=1) for both in zip(one, two, strict=True))
    return all(len(torch.unique(pair[0])) == pair.shape[1] for pair in pairs)


def equivalent(one: Colors, two: Colors) -> bool:
    r"""Return whether two colorings refine each other, :math:`c \equiv d`.

    Arguments as for :func:`refines`.

    Example:
        >>> mpsn.wl.equivalent(torch.tensor([3, 3, 5]), torch.tensor([0, 0, 1]))
        True
    """
    return refines(one, two) and refines(two, one)
