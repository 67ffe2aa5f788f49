"""SIN on classes of simplices that are indistinguishable to SWL, instead of on every simplex."""

from typing import Any, NamedTuple

import torch
import torch.nn.functional as nnf
from torch import Tensor

from mpsn.complexes import Incidence, SimplicialComplex, _plain
from mpsn.complexes._sparse import ranges, segment_sum
from mpsn.errors import LayerError
from mpsn.nn import functional as fn
from mpsn.nn.conv import CINConv
from mpsn.nn.models import SIN
from mpsn.wl import swl


class Round(NamedTuple):
    """From the colors of one round to those of the next, one tensor per dimension k.

    Attributes:
        own: The color before of every color, (m_k,).
        faces: The colors before of the faces of every color of dimension k >= 1.
        senders: For every color, the leave-one-out messages it receives, as rows of the table of
            (m_{k+1}, k+2) such messages; the rows of color c are ``ptr[c]`` up to the next.
        ptr: Where the rows of each color start in ``senders``, and the end, (m_k + 1,).
    """

    own: list[Tensor]
    faces: list[Incidence]
    senders: list[Tensor]
    ptr: list[Tensor]


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
        >>> from mpsn.experiments._by_color import ColorClasses
        >>> from mpsn.nn.models import SIN, SINConfig
        >>> K = mpsn.collate([mpsn.clique_complex(nx.complete_graph(n)) for n in (3, 4)])
        >>> classes, model = ColorClasses(K, rounds=5), SIN(SINConfig()).double()
        >>> xs = [torch.full((n, 1), k + 1.0, dtype=torch.float64) for k, n in enumerate(K.counts)]
        >>> torch.allclose(classes.embed(model, [1.0, 2.0, 3.0]), model(K, xs))
        True
    """

    def __init__(self, K: SimplicialComplex, rounds: int) -> None:
        self.K = K
        # Without a palette the colors of a round and dimension are consecutive numbers.
        self.ids = [
            [c - c.min() if len(c) else c for c in colors]
            for colors in swl(K, rounds=rounds).colors
        ]
        self.rounds = [self._round(t) for t in range(rounds)]

    def _round(self, t: int) -> Round:
        K, before, after = self.K, self.ids[t], self.ids[t + 1]
        first = [_first(ids) for ids in after]  # a simplex of every color
        own = [ids[at] for ids, at in zip(before, first, strict=True)]
        faces = [
            Incidence(before[k - 1][K.faces(k)[first[k]]].reshape(-1), _size(before[k - 1]), k + 1)
            for k in range(1, K.dim + 1)
        ]
        senders, lists = [], []
        for k in range(K.dim):
            order, ptr = K.incidence(k + 1).cofaces
            sizes = ptr.diff()[first[k]]
            owner, at = ranges(ptr[:-1][first[k]], sizes)
            coface = after[k + 1][order[at] // (k + 2)]
            # The representative of the co-face's color has a face of the receiver's color too.
            found = faces[k].table[coface] == own[k][owner][:, None]
            senders.append(coface * (k + 2) + found.to(torch.int8).argmax(dim=1))
            lists.append(nnf.pad(sizes.cumsum(0), (1, 0)))
        return Round(own, faces, senders, lists)

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
        if not deep or model.populate is not None or len(values) <= dim:
            raise LayerError(
                f"Expected a SIN of {rounds} layers with max_dim >= {dim} that reads its features, "
                f"and {dim + 1} values, got {model} and {len(values)}."
            )
        like = model.readout.last.weight
        hs = [
            like.new_full((int(len(ids) > 0), 1), v)
            for ids, v in zip(self.ids[0], values, strict=False)
        ]
        layers = []
        for conv, step, ids in zip(model.convs, self.rounds, self.ids[1:], strict=True):
            assert isinstance(conv, CINConv)
            hs = self._layer(conv, step, hs)
            if model.config.jump or conv is model.convs[-1]:
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

    def _layer(self, conv: CINConv, step: Round, hs: list[Tensor]) -> list[Tensor]:
        out = []
        for k, own in enumerate(step.own):
            h = hs[k].index_select(0, own)
            low, up = conv.own(k, h, 0), conv.own(k, h, 1)
            if k > 0:
                low = step.faces[k - 1].boundary(hs[k - 1]).add_(low)
            if k < self.K.dim:
                table = self._others(conv, k, step, hs)
                up = segment_sum(table, step.senders[k], step.ptr[k]).add_(up)
            out.append(conv.update(k, low, up))
        return out

    def _others(self, conv: CINConv, k: int, step: Round, hs: list[Tensor]) -> Tensor:
        """Return the leave-one-out sums of messages to k-simplices, (m_{k+1} (k+2), F)."""
        h, coface, faces, own = hs[k], hs[k + 1], step.faces[k], step.own[k + 1]
        if not conv.message:
            return _plain.flat(faces, _plain.leave_one_out(faces, _plain.gather(faces, h)))
        dense: Any = conv.message[k]
        p, q = fn.split_linear([h, coface], dense.weight, dense.bias)
        q = q.index_select(0, own)
        messages = [conv.act(m.add_(q)) for m in _plain.gather(faces, p)]
        return _plain.flat(faces, _plain.leave_one_out(faces, messages))


def _size(ids: Tensor) -> int:
    return int(ids.max()) + 1 if len(ids) else 0


def _first(ids: Tensor) -> Tensor:
    """Return the first position of every number 0, 1, ... in ``ids``."""
    at = torch.arange(len(ids), device=ids.device)
    return ids.new_full((_size(ids),), len(ids)).scatter_reduce_(0, ids, at, "amin")
