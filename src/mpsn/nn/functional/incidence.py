"""Messages between simplices and their faces: the two sparse products everything is made of."""

from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor

from mpsn.errors import LayerError
from mpsn.nn.functional.cofaces import known
from mpsn.nn.functional.transposes import (
    Boundary,
    Coboundary,
    Gather,
    Scatter,
    add_rows,
    differentiable,
    read_rows,
    rows,
    sum_cofaces,
    sum_faces,
    times,
)

Reduce = Literal["sum", "mean"]


def gather(h: Tensor, faces: Tensor, signs: Tensor | None = None) -> list[Tensor]:
    """Read the features of the faces of every simplex, one tensor per column of the face table.

    Args:
        h: Features of the (k-1)-simplices, (n_{k-1}, ..., F).
        faces: Face table of dimension k, (n_k, k+1).
        signs: Relative orientations ±1 to multiply with, (n_k, k+1), or None for none.

    Returns:
        k+1 tensors (n_k, ..., F); number i belongs to the faces in column i.

    Example:
        >>> mpsn.nn.functional.gather(torch.tensor([[10.0], [20.0]]), torch.tensor([[1, 0]]))
        [tensor([[20.]]), tensor([[10.]])]
    """
    check_table(faces, signs)
    return times(signs, differentiable(Gather, read_rows, h, faces))


def scatter(
    messages: Sequence[Tensor], faces: Tensor, count: int, signs: Tensor | None = None
) -> Tensor:
    """Add up, at every face, what the simplices around it send there.

    Args:
        messages: What the faces in column 0, 1, ... of the table are sent,
            k+1 tensors (n_k, ..., F).
        faces: Face table of dimension k, (n_k, k+1).
        count: Number of (k-1)-simplices; those that are no one's face receive zero.
        signs: Relative orientations ±1 to multiply with, (n_k, k+1), or None for none.

    Returns:
        (count, ..., F).

    Example:
        >>> messages = [torch.tensor([[1.0]]), torch.tensor([[2.0]])]
        >>> mpsn.nn.functional.scatter(messages, torch.tensor([[1, 0]]), count=3)
        tensor([[2.],
                [1.],
                [0.]])
    """
    check_messages(messages, faces, signs)
    if all(message is messages[0] for message in messages):
        return coboundary(messages[0], faces, count, signs)
    out: Tensor = differentiable(Scatter, add_rows, faces, count, *times(signs, messages))
    return out


def boundary(
    h: Tensor, faces: Tensor, signs: Tensor | None = None, reduce: Reduce = "sum"
) -> Tensor:
    r"""Give every simplex the sum or mean over its faces: :math:`m_B`, or :math:`B_k^\top h`.

    Args:
        h: Features of the (k-1)-simplices, (n_{k-1}, ..., F).
        faces: Face table of dimension k, (n_k, k+1).
        signs: Relative orientations (n_k, k+1), or None for the unsigned :math:`|B_k|^\top h`.
        reduce: ``"sum"`` or ``"mean"``.

    Returns:
        (n_k, ..., F).

    Example:
        >>> K = SimplicialComplex.from_simplices([[0, 1, 2]])
        >>> mpsn.nn.functional.boundary(torch.tensor([[1.0], [2.0], [4.0]]), K.faces(2))
        tensor([[7.]])
    """
    check_reduce(reduce)
    check_table(faces, signs)
    if faces.shape[1] == 0:  # vertices have no faces
        return h.new_zeros((faces.shape[0], *h.shape[1:]))
    total: Tensor = differentiable(Boundary, sum_faces, h, faces, signs)  # (n_k, ..., F)
    return total / faces.shape[1] if reduce == "mean" else total


def coboundary(
    h: Tensor, faces: Tensor, count: int, signs: Tensor | None = None, reduce: Reduce = "sum"
) -> Tensor:
    r"""Give every simplex the sum or mean over its co-faces: :math:`m_C`, or :math:`B_{k+1} h`.

    Args:
        h: Features of the (k+1)-simplices, (n_{k+1}, ..., F).
        faces: Face table of dimension k+1, (n_{k+1}, k+2).
        count: Number n_k of k-simplices.
        signs: Relative orientations (n_{k+1}, k+2), or None for the unsigned :math:`|B_{k+1}| h`.
        reduce: ``"sum"`` or ``"mean"``; the mean over no co-face is zero.

    Returns:
        (n_k, ..., F).

    Example:
        >>> K = SimplicialComplex.from_simplices([[0, 1], [0, 2]])
        >>> mpsn.nn.functional.coboundary(torch.tensor([[1.0], [2.0]]), K.faces(1), 3)
        tensor([[3.],
                [1.],
                [2.]])
    """
    check_reduce(reduce)
    check_table(faces, signs, h)
    total: Tensor = differentiable(Coboundary, sum_cofaces, h, faces, count, signs)  # (n_k, ..., F)
    return total / rows(degree(faces, count, h).clamp(min=1), h) if reduce == "mean" else total


def degree(faces: Tensor, count: int, like: Tensor) -> Tensor:
    """Count the co-faces of every simplex, (count,), in the type of ``like``.

    Args:
        faces: Face table of the dimension above, (n_{k+1}, k+2).
        count: Number n_k of k-simplices.
        like: A tensor whose type and device the answer takes.

    Example:
        >>> K = SimplicialComplex.from_simplices([[0, 1], [0, 2]])
        >>> mpsn.nn.functional.degree(K.faces(1), 3, torch.zeros(()))
        tensor([2., 1., 1.])
    """
    above = None if torch.compiler.is_compiling() else known(faces)
    if above is not None and len(above.ptr) == count + 1:
        return above.ptr.diff().to(like.dtype)
    if faces.device.type == "cpu" and not torch.compiler.is_compiling():
        return torch.bincount(faces.reshape(-1), minlength=count).to(like.dtype)
    ones = like.new_ones(faces.shape[0])  # bincount would wait for a GPU
    return coboundary(ones, faces, count)


def check_table(faces: Tensor, signs: Tensor | None, *rows: Tensor) -> None:
    """Raise unless there is a sign per entry of a face table, if any, and a row per row of it."""
    if signs is not None and signs.shape != faces.shape:
        raise LayerError(
            f"Expected a sign for each entry of the face table, {tuple(faces.shape)}, "
            f"got {tuple(signs.shape)}."
        )
    for h in rows:
        if h.shape[0] != faces.shape[0]:
            raise LayerError(
                f"Expected a row for each of the {faces.shape[0]} simplices of the face table, "
                f"got {tuple(h.shape)}; pass the table of their own dimension."
            )


def check_messages(messages: Sequence[Tensor], faces: Tensor, signs: Tensor | None) -> None:
    """Raise unless there is a tensor of messages per column of a face table, a row per row."""
    check_table(faces, signs, *messages)
    if len(messages) != faces.shape[1]:
        raise LayerError(
            f"Expected messages for each of the {faces.shape[1]} columns of the face table, "
            f"got {len(messages)}."
        )


def check_reduce(reduce: str) -> None:
    """Raise unless ``reduce`` is a word we know."""
    if reduce not in ("sum", "mean"):
        raise LayerError(
            f"Expected reduce 'sum' or 'mean', got {reduce!r}; MPSNConv takes other aggregations."
        )
