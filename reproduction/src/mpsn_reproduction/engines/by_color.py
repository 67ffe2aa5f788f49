"""SIN on classes of simplices that are indistinguishable to SWL, instead of on every simplex."""

from functools import partial
from typing import Any, NamedTuple

import torch
import torch.nn.functional as nnf
from torch import Tensor

from mpsn._rows.sums import segment_sum
from mpsn.complexes import SimplicialComplex
from mpsn.errors import LayerError
from mpsn.nn.conv import CINConv
from mpsn.nn.models import SIN
from mpsn.wl import swl
from mpsn_reproduction.engines.color_layer import color_layer


class Part(NamedTuple):
    """The colors of dimension k after one round, and what they are made of.

    Attributes:
        own: Their colors in the round before, (m,).
        faces: The colors before of their faces, (m (k+1),).
        entries: The messages that they receive, as positions in the table of faces of all colors of
            dimension k+1: color c receives those from ``ptr[c]`` to ``ptr[c + 1]``.
        ptr: Offsets of ``entries``, (m + 1,).
    """

    own: Tensor
    faces: Tensor
    entries: Tensor
    ptr: Tensor


class ColorClasses:
    r"""The SWL colors of complexes, round by round, for evaluating SIN once per color.

    By the paper's Lemma on the power of MPSNs, simplices that have one color after t rounds of SWL
    (boundaries and upper neighbors, :math:`c^0` the dimension) have one feature after t layers of
    SIN. So layer t needs one row per color of round t. Early rounds have few colors, and the colors
    serve any number of networks: on strongly regular graphs ten seeds share one refinement.

    Args:
        K: A complex or a union of complexes.
        rounds: How many layers the networks have.

    Example:
        >>> from mpsn_reproduction.engines.by_color import ColorClasses
        >>> from mpsn.nn.models import SIN
        >>> K = mpsn.collate([mpsn.clique_complex(nx.complete_graph(n)) for n in (3, 4)])
        >>> classes, model = ColorClasses(K, rounds=5), SIN().double()
        >>> xs = [torch.full((n, 1), k + 1.0, dtype=torch.float64) for k, n in enumerate(K.counts)]
        >>> torch.allclose(classes.embed(model, [1.0, 2.0, 3.0]), model(K, xs))
        True
    """

    def __init__(self, K: SimplicialComplex, rounds: int) -> None:
        self.K = K
        # Colors are numbered as they appear: those of one complex are close in memory.
        self.ids = [list(map(_by_appearance, colors)) for colors in swl(K, rounds=rounds).colors]
        self.rounds = [self._round(t) for t in range(rounds)]

    def _round(self, t: int) -> list[Part]:
        K, before, after = self.K, self.ids[t], self.ids[t + 1]
        first = [_first(ids) for ids in after]  # a simplex of every color
        own = [ids[at] for ids, at in zip(before, first, strict=True)]
        faces = [own[0][:0].view(-1, 1)]
        faces += [before[k - 1][K.faces(k)[first[k]]] for k in range(1, K.dim + 1)]
        parts = []
        for k in range(K.dim + 1):
            entries, ptr = own[k][:0], own[k].new_zeros(len(own[k]) + 1)
            if k < K.dim:
                of_first = K.incidence(k + 1).T.take(first[k])
                sizes, owner = of_first.sizes, of_first.row
                coface = after[k + 1][of_first.item]
                # The representative of the co-face's color has a face of the receiver's color too.
                found = faces[k + 1][coface] == own[k][owner][:, None]
                others = torch.arange(1, k + 2, device=coface.device)
                place = found.to(torch.int8).argmax(dim=1, keepdim=True)
                entries = (coface[:, None] * (k + 2) + (place + others) % (k + 2)).reshape(-1)
                ptr = nnf.pad(sizes.cumsum(0) * (k + 1), (1, 0))
            parts.append(Part(own[k], faces[k].reshape(-1), entries, ptr))
        return parts

    @torch.inference_mode()
    def embed(self, model: SIN, values: list[float]) -> Tensor:
        """Return what ``model`` makes of the complexes, (C, out_channels).

        Args:
            model: A network with as many layers as there are rounds, in evaluation mode if it has
                normalization or dropout.
            values: The feature of all simplices of each dimension.
        """
        rounds, dim = len(self.rounds), self.K.dim
        deep = len(model.convs) == rounds and model.max_dim >= dim
        plain = model.in_channels == 1 and not model.settings["lower"]
        if not (deep and plain) or model.populate is not None or len(values) <= dim:
            raise LayerError(
                f"Expected a SIN of {rounds} layers with max_dim >= {dim} that reads one feature "
                f"of each simplex, without lower neighbors, and {dim + 1} values, got {model} "
                f"and {len(values)}."
            )
        like = model.readout.last.weight
        hs = [
            like.new_full((int(len(ids) > 0), 1), v)
            for ids, v in zip(self.ids[0], values, strict=False)
        ]
        layers = []
        for conv, step, ids in zip(model.convs, self.rounds, self.ids[1:], strict=True):
            assert isinstance(conv, CINConv)
            apply = color_layer(conv) or partial(_layer, conv)
            hs = apply(step, hs)
            if model.jump or conv is model.convs[-1]:
                layers.append([self._pool(k, hs, ids, model) for k in model.readout.dims])
        return model.readout.combine(
            [torch.cat(parts, dim=1) for parts in zip(*layers, strict=True)]
        )

    def _pool(self, k: int, hs: list[Tensor], ids: list[Tensor], model: SIN) -> Tensor:
        ptr = self.K.ptr(k)
        if k > self.K.dim:
            return hs[0].new_zeros((len(ptr) - 1, hs[0].shape[1]))
        total = segment_sum(hs[k], ids[k], ptr)  # (C, F)
        if "mean" in model.readout.reduce:
            return total / ptr.diff().clamp(min=1)[:, None]
        return total


def _layer(conv: CINConv, parts: list[Part], hs: list[Tensor]) -> list[Tensor]:
    out = []
    for k, part in enumerate(parts):
        h = hs[k].index_select(0, part.own)
        low, up = conv.own(k, h, 0), conv.own(k, h, 1)
        if k > 0:
            ptr = torch.arange(0, len(part.faces) + 1, k + 1, device=h.device)
            low = segment_sum(hs[k - 1], part.faces, ptr).add_(low)
        if k + 1 < len(parts):
            table = _messages(conv, k, parts[k + 1], hs)
            up = segment_sum(table, part.entries, part.ptr).add_(up)
        out.append(conv.update(k, low, up))
    return out


def _messages(conv: CINConv, k: int, cofaces: Part, hs: list[Tensor]) -> Tensor:
    """Return the messages from the faces of all colors of dimension k+1, (m_{k+1} (k+2), F)."""
    if not conv.message:
        return hs[k].index_select(0, cofaces.faces)
    dense: Any = conv.message[k]
    p, q = dense.split([hs[k], hs[k + 1]])
    m: Tensor = p.index_select(0, cofaces.faces).view(-1, k + 2, p.shape[1])
    m += q.index_select(0, cofaces.own)[:, None]
    return conv.act(m).view(-1, p.shape[1])


def _by_appearance(colors: Tensor) -> Tensor:
    """Number colors, which without a palette are consecutive, from 0 up by first appearance."""
    if not len(colors):
        return colors
    ids = colors - colors.min()
    order = _first(ids).argsort()
    rank = torch.empty_like(order)
    rank[order] = torch.arange(len(order), device=order.device)
    return rank[ids]


def _size(ids: Tensor) -> int:
    return int(ids.max()) + 1 if len(ids) else 0


def _first(ids: Tensor) -> Tensor:
    """Return the first position of every number 0, 1, ... in ``ids``."""
    at = torch.arange(len(ids), device=ids.device)
    return ids.new_full((_size(ids),), len(ids)).scatter_reduce_(0, ids, at, "amin")
