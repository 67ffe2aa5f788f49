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
    B = K.incidence(k if kind in ("boundary", "lower") else k + 1)

    def find() -> Pairs:
        if torch.compiler.is_compiling():
            return Pairs(*listed_pairs(*B.parts(), kind))
        return Pairs(*_listed(B, kind))

    return B._keep(("pairs", kind), find)  # type: ignore[no-any-return]


def number_of_pairs(K: "Complex", k: int, kind: Kind) -> int:
    """Return the number of pairs, without listing them; it is kept on the incidence."""
    B = K.incidence(k if kind in ("boundary", "lower") else k + 1)
    if kind in ("boundary", "coboundary"):
        return len(B.face)
    sizes = B.degree if kind == "lower" else B.sizes
    return B._keep(("pairs", kind, "number"), lambda: int((sizes * (sizes - 1)).sum()))  # type: ignore[no-any-return]


def _listed(B: Incidence, kind: str) -> tuple[Tensor, ...]:
    """Return receiver, sender, shared cell, sign, and sign of the sender, by receiver."""
    if kind == "boundary":
        order = torch.arange(len(B.face), device=B.face.device)
        ends = B.cell, B.face, B.face
    elif kind == "coboundary":
        order = B.positions.item
        ends = B.face, B.cell, B.cell
    else:
        one, two = entry_pairs(B, kind)
        end, shared = (B.face, B.cell) if kind == "upper" else (B.cell, B.face)
        order = Rows(end[one], len(B) if kind == "lower" else B.count).positions.item
        one, two = one[order], two[order]
        return end[one], end[two], shared[two], B.signs[one] * B.signs[two], B.signs[two]
    return *(each[order] for each in ends), B.signs[order], B.signs[order]


def entry_pairs(B: Incidence, kind: str) -> tuple[Tensor, Tensor]:
    """Return the entries of receivers and senders of ``"upper"`` or ``"lower"`` pairs."""
    if kind == "upper":
        groups = Rows(sorted_entries(B), len(B.face), B.width, B.ptr)
    else:
        groups = B.positions
    others = groups.others()
    return groups.item[others.row], groups.item[others.item]


def sorted_entries(B: Incidence) -> Tensor:
    """Return the entries by cell and, within a cell, by ascending face, (nnz,) int64."""

    def find() -> Tensor:
        order = B.positions.item
        return order[Rows(B.cell[order], len(B)).positions.item]

    entries: Tensor = B._keep("sorted", find)
    return entries


# A compiler sees one operator, as the number of pairs is not known to it.


@torch.library.custom_op("mpsn::listed_pairs", mutates_args=())
def listed_pairs(
    face: Tensor, ptr: Tensor | None, sign: Tensor | None, count: int, width: int, kind: str
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Return the parts of the pairs of an incidence, as :class:`Pairs` holds them."""
    parts = _listed(Incidence.of_parts(face, ptr, sign, count, width), kind)
    return tuple(part.clone() for part in parts)  # type: ignore[return-value]


@listed_pairs.register_fake
def _(face: Tensor, *others: Any) -> tuple[Tensor, ...]:
    number = torch.library.get_ctx().new_dynamic_size()
    ends = [face.new_empty(number) for _ in range(3)]
    return *ends, *(face.new_empty(number, dtype=torch.int8) for _ in range(2))
