"""Loading complexes in batches."""

from collections.abc import Sequence
from typing import Any

from torch.utils import data
from torch.utils.data._utils.collate import collate as collate_items
from torch.utils.data._utils.collate import default_collate_fn_map

from mpsn.complexes._collating import collate
from mpsn.complexes._packed import ComplexDataset
from mpsn.complexes.complex import Complex


class DataLoader(data.DataLoader[Any]):
    """Load complexes in batches, each their disjoint union (:func:`mpsn.collate`).

    A :class:`~mpsn.ComplexDataset` makes a batch without a Python loop over its complexes. Items
    may also be tuples or dictionaries of complexes and numbers, such as ``(K, target)``.

    Args:
        dataset: A ``ComplexDataset``, a list of complexes, or any other data set of them.
        batch_size: Number of complexes in a batch. Defaults to 1.
        shuffle: Whether to shuffle the complexes in every epoch. Defaults to False.
        **options: Of PyTorch's ``DataLoader``: ``num_workers``, ``pin_memory``, ``sampler``, ...

    Example:
        >>> cycles = mpsn.clique_complexes([nx.cycle_graph(n) for n in (3, 4, 5)])
        >>> for batch in mpsn.DataLoader(cycles, batch_size=2):
        ...     print(batch)
        SimplicialComplex(dim=2, counts=(7, 7, 1), complexes=2)
        SimplicialComplex(dim=1, counts=(5, 5))
    """

    def __init__(
        self,
        dataset: ComplexDataset[Any] | Sequence[Any] | data.Dataset[Any],
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        **options: Any,
    ) -> None:
        super().__init__(dataset, batch_size, shuffle, collate_fn=_together, **options)  # type: ignore[arg-type]


def _together(batch: Any) -> Any:
    if isinstance(batch, Complex):  # of a ComplexDataset
        return batch
    return collate_items(batch, collate_fn_map={Complex: _union, **default_collate_fn_map})


def _union(complexes: list[Complex], **_: object) -> Complex:
    return collate(complexes)
