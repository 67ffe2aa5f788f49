"""Adjacent pairs of cells, receiver after receiver, for messages that need every pair."""

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import torch
from torch import Tensor

from mpsn._rows.rows import Rows
from mpsn.complexes.incidence import Incidence

if TYPE_CHECKING:
    from mpsn.complexes.complex import Complex


Kind = Literal["boundary", "coboundary", "lower", "upper"]


class Pairs(NamedTuple):
    """The pairs of one of the four adjacencies, sorted by receiver; see :meth:`Complex.adjacency`.

    Attributes:
        receiver: (P,) int64, ascending.
        sender: (P,) int64.
        shared: The cell that connects them, (P,) int64; the sender itself for faces and co-faces.
        sign: Their relative orientation ±1, (P,) int8.
        sender_sign: The relative orientation of the sender and the shared cell, (P,) int8.
    """

    receiver: Tensor
    sender: Tensor
    shared: Tensor
    sign: Tensor
    sender_sign: Tensor


def pairs_of(K: "Complex", k: int, kind: Kind) -> Pairs:
    """Return the pairs of the k-cells with their senders; they are kept on the incidence.

    Example:
        >>> from mpsn.complexes._pairs import pairs_of
        >>> K = SimplicialComplex.from_simplices([[0, 1], [1, 2]])
        >>> pairs = pairs_of(K, 0, "upper")
        >>> pairs.receiver.tolist(), pairs.sender.tolist(), pairs.shared.tolist()
        ([0, 1, 1, 2], [1, 0, 2, 1], [0, 0, 1, 1])
    """
    B = between(K, k, kind)

    def find() -> Pairs:
        if torch.compiler.is_compiling():
            return Pairs(*listed_pairs(*B.parts(), kind))
        return Pairs(*_by_receiver(B, kind))

    return B._keep(("pairs", kind), find)  # type: ignore[no-any-return]


def between(K: "Complex", k: int, kind: str) -> Incidence:
    """Return the incidence through which k-cells are adjacent."""
    return K.incidence(k if kind in ("boundary", "lower") else k + 1)


def _receivers(B: Incidence, kind: str) -> int:
    return len(B) if kind in ("boundary", "lower") else B.count


def _by_receiver(B: Incidence, kind: str) -> tuple[Tensor, ...]:
    parts = pairs_through(B, kind)
    order = Rows(parts[0], _receivers(B, kind), 1).positions.item
    return tuple(part[order] for part in parts)


def pairs_through(B: Incidence, kind: str) -> tuple[Tensor, ...]:
    """Return receiver, sender, shared cell, sign, and sign of the sender, by the shared cell."""
    if kind == "boundary":
        return B.cell, B.face, B.face, B.signs, B.signs
    if kind == "coboundary":
        return B.face, B.cell, B.cell, B.signs, B.signs
    groups = _sorted_entries(B) if kind == "upper" else B.positions
    others = groups.others()
    one, two = groups.item[others.row], groups.item[others.item]
    end, shared = (B.face, B.cell) if kind == "upper" else (B.cell, B.face)
    return end[one], end[two], shared[two], B.signs[one] * B.signs[two], B.signs[two]


def _sorted_entries(B: Incidence) -> Rows:
    """Return the entries of every cell, by ascending face."""

    def find() -> Rows:
        order = B.positions.item
        entries = order[Rows(B.cell[order], len(B), 1).positions.item]
        return Rows(entries, len(B.face), B.width, B.ptr)

    return B._keep("sorted", find)  # type: ignore[no-any-return]


# A compiler sees one operator, as the number of pairs is not known to it.


@torch.library.custom_op("mpsn::listed_pairs", mutates_args=())
def listed_pairs(
    face: Tensor, ptr: Tensor | None, sign: Tensor | None, count: int, width: int, kind: str
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Return the parts of the pairs of an incidence, as :class:`Pairs` holds them."""
    parts = _by_receiver(Incidence.of_parts(face, ptr, sign, count, width), kind)
    return tuple(part.clone() for part in parts)  # type: ignore[return-value]


@listed_pairs.register_fake
def _(face: Tensor, *others: Any) -> tuple[Tensor, ...]:
    number = torch.library.get_ctx().new_dynamic_size()
    ends = [face.new_empty(number) for _ in range(3)]
    return *ends, *(face.new_empty(number, dtype=torch.int8) for _ in range(2))
