"""The general message passing layer, with any messages, aggregation and update."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from torch import Tensor

from mpsn._rows.sums import per_row
from mpsn.complexes.complex import Complex
from mpsn.complexes.incidence import Reduce
from mpsn.complexes.internal import Kind, pairs_of
from mpsn.errors import LayerError
from mpsn.nn import functional as fn
from mpsn.nn._checks import check_input
from mpsn.nn.conv._signature import Function, read_function

KINDS: tuple[Kind, ...] = ("boundary", "coboundary", "lower", "upper")
LINEAR: dict[str, Reduce] = {"sum": "sum", "add": "sum", "mean": "mean"}
Functions = Callable[..., Tensor] | Sequence[Callable[..., Tensor] | None] | None


class MPSNConv(torch.nn.Module):
    r"""The general message passing layer, with custom functions (section 4 of the paper).

    .. math::
        m_B(\sigma) &= \mathrm{AGG}_{\tau \in B(\sigma)} M_B(h_\sigma, h_\tau) \\
        m_C(\sigma) &= \mathrm{AGG}_{\tau \in C(\sigma)} M_C(h_\sigma, h_\tau) \\
        m_\downarrow(\sigma) &= \mathrm{AGG}_{\tau \in N_\downarrow(\sigma)}
            M_\downarrow(h_\sigma, h_\tau, h_{\sigma\cap\tau}) \\
        m_\uparrow(\sigma) &= \mathrm{AGG}_{\tau \in N_\uparrow(\sigma)}
            M_\uparrow(h_\sigma, h_\tau, h_{\sigma\cup\tau}) \\
        h_\sigma' &= U(h_\sigma, m_B(\sigma), m_C(\sigma), m_\downarrow(\sigma), m_\uparrow(\sigma))

    Pass the functions, or subclass and define methods of the same names. Functions are called by
    argument names: messages may use ``receiver``, ``sender``, ``shared`` (lower and upper only);
    the update ``receiver``, ``boundary``, ``coboundary``, ``lower``, ``upper``; all of them
    ``dim``, the dimension of the receivers. A message with one argument of another name, such as a
    ``torch.nn.Linear``, gets the sender. A list holds one function, or None, per dimension.
    Functions must not modify their arguments, except by modules with ``inplace=True``.

    A message that does not use ``receiver`` costs linear time with sum or mean: it is computed
    once per cell, or per cell and shared cell. Other messages are computed for all pairs, which can
    be quadratically many for ``lower``. Results are the same up to rounding if messages treat rows
    independently, unlike batch normalization in training.

    With ``signed=True``, messages are computed relative to the orientation of the sender τ,
    :math:`o_{\sigma\tau} M(o_{\sigma\tau} h_\sigma, h_\tau, o_{\tau\delta} h_\delta)`, where δ is
    the shared cell and o are relative orientations. With odd functions, and an odd aggregation such
    as sum or mean, the layer is then orientation equivariant.

    Args:
        update: U.
        boundary: M_B. Defaults to no such messages; likewise the next three.
        coboundary: M_C.
        lower: M_↓.
        upper: M_↑.
        aggr: AGG: any aggregation of PyG, by name or as a module, or a list of those, whose results
            are concatenated. Defaults to ``"sum"``.
        signed: Whether to use relative orientations. Defaults to False.

    Shapes:
        One tensor (n_k, F_k) per dimension, in and out; higher cells are ignored. A cell without
        senders receives zeros, whose width is found by calling the message on zero rows.

    Example:
        >>> class Layer(mpsn.nn.MPSNConv):
        ...     def __init__(self, width):
        ...         super().__init__(boundary=torch.nn.Linear(width, width))
        ...         self.mix = torch.nn.Linear(2 * width, width)
        ...
        ...     def upper(self, sender, shared):
        ...         return self.mix(torch.cat([sender, shared], dim=-1)).relu()
        ...
        ...     def update(self, receiver, boundary, upper):
        ...         return receiver + boundary + upper
        >>> K = mpsn.clique_complex(nx.karate_club_graph(), max_dim=2)
        >>> xs = Layer(4)(K, [torch.randn(n, 4) for n in K.counts])
    """

    def __init__(
        self,
        update: Functions = None,
        *,
        boundary: Functions = None,
        coboundary: Functions = None,
        lower: Functions = None,
        upper: Functions = None,
        aggr: str | torch.nn.Module | Sequence[str | torch.nn.Module] = "sum",
        signed: bool = False,
    ) -> None:
        super().__init__()
        self.signed = signed
        self.reduces, self.aggr = _read_aggregation(aggr)
        self._functions: dict[str, list[Function | None] | Function | None] = {}
        passed = (boundary, coboundary, lower, upper, update)
        for name, functions in zip((*KINDS, "update"), passed, strict=True):
            self._adopt(name, functions)
        if "update" not in self._functions:
            raise LayerError(
                "Expected an update function, got none; pass update=..., or define a method update."
            )
        updates = self._functions["update"]
        for how in updates if isinstance(updates, list) else [updates]:
            missing = [kind for kind in KINDS if how and kind in how.needed]
            missing = [kind for kind in missing if kind not in self._functions]
            if missing:
                raise LayerError(
                    f"Expected a message {missing[0]!r}, which update takes, got none; define a "
                    f"method or pass a function of that name, or give the argument a default."
                )

    def _adopt(self, name: str, functions: Functions) -> None:
        """Set a function as an attribute, unless the class has a method of that name."""
        method = getattr(type(self), name, None)
        if method is not None and functions is not None:
            raise LayerError(f"Expected {name} as a method or as an argument, got both; drop one.")
        if method is not None:
            self._functions[name] = read_function(name, getattr(self, name))
        elif callable(functions) and not isinstance(functions, torch.nn.ModuleList):
            setattr(self, name, functions)
            self._functions[name] = read_function(name, functions)
        elif functions is not None:
            if not hasattr(functions, "__iter__"):
                raise LayerError(
                    f"Expected {name} as a function or a list of them, got {functions!r}."
                )
            each = list(functions)
            setattr(self, name, each)
            modules = [f for f in each if isinstance(f, torch.nn.Module)]
            self.add_module(f"{name}_modules", torch.nn.ModuleList(modules))
            self._functions[name] = [read_function(name, f) for f in each]

    def _call(self, name: str, k: int, **values: Any) -> Any:
        """Call a function with the values that it uses."""
        how, function, values["dim"] = self._functions[name], getattr(self, name), k
        if isinstance(how, list):
            how, function = how[k], function[k]
        assert how is not None
        named = {key: values[key] for key in how.names}
        if any(getattr(module, "inplace", False) for module in self.modules()):
            named = {key: v.clone() if isinstance(v, Tensor) else v for key, v in named.items()}
        return function(*named.values()) if how.positional else function(**named)

    def _how(self, name: str, k: int) -> Function | None:
        how = self._functions.get(name)
        return how[k] if isinstance(how, list) else how

    def forward(self, K: Complex, xs: Sequence[Tensor]) -> list[Tensor]:
        """Return new features per dimension; the inputs are not modified."""
        check_input(K, xs)
        for k, x in enumerate(xs):
            if not isinstance(x, Tensor) or x.shape[0] != K.count(k):
                raise LayerError(
                    f"Expected features of the {K.count(k)} {k}-cells, one row each, "
                    f"got {tuple(x.shape) if isinstance(x, Tensor) else x!r}."
                )
        for name, how in self._functions.items():
            if isinstance(how, list) and len(how) < len(xs):
                raise LayerError(
                    f"Expected in {name} a function or None for each of {len(xs)} dimensions, "
                    f"got {len(how)}."
                )
        return [self._layer(K, k, xs) for k in range(len(xs))]

    def _layer(self, K: Complex, k: int, xs: Sequence[Tensor]) -> Tensor:
        if self._how("update", k) is None:
            raise LayerError(f"Expected an update function for dimension {k}, got none.")
        received: dict[str, Tensor | None] = dict.fromkeys(KINDS)
        for kind in KINDS:
            how = self._how(kind, k)
            if how is None:
                continue
            near = k - 1 if kind in ("boundary", "lower") else k + 1
            if not 0 <= near < len(xs):
                received[kind] = self._silence(kind, k, xs[k])
            elif not self.reduces or "receiver" in how.names:
                received[kind] = self._by_pairs(K, k, kind, xs[k], xs[near])
            else:
                shared = "shared" in how.names
                received[kind] = self._in_linear_time(K, k, kind, xs[k], xs[near], shared)
        out: Tensor = self._call("update", k, receiver=xs[k], **received)
        return out

    def _silence(self, kind: Kind, k: int, h: Tensor) -> Tensor:
        """Return the zeros that k-cells receive if there is no dimension of senders."""
        none = h[:0]
        message = self._call(kind, k, receiver=none, sender=none, shared=none)
        index = torch.zeros(0, dtype=torch.int64, device=h.device)
        return self._aggregate(message, index, h.shape[0])

    def _aggregate(self, message: Tensor, receiver: Tensor, count: int) -> Tensor:
        if self.reduces:
            total = message.new_zeros((count, *message.shape[1:])).index_add(0, receiver, message)
            number = torch.bincount(receiver, minlength=count).clamp(min=1)
            mean = total / per_row(number, total)
            return _join([total if reduce == "sum" else mean for reduce in self.reduces])
        if torch.compiler.is_compiling() or message.shape[0]:
            out: Tensor = self.aggr(message, receiver, dim_size=count, dim=0)
            has_sender = torch.zeros(count, dtype=torch.bool, device=out.device)
            has_sender[receiver] = True
            return torch.where(has_sender.view(-1, *(1,) * (out.dim() - 1)), out, 0)
        # Some of PyG's aggregations fail on zero rows; infer the shape from one row.
        row, first = message.new_zeros((1, *message.shape[1:])), receiver.new_zeros(1)
        like: Tensor = self.aggr(row, first, dim_size=1, dim=0)
        return like.new_zeros((count, *like.shape[1:]))

    def _in_linear_time(
        self, K: Complex, k: int, kind: Kind, h: Tensor, near: Tensor, shared: bool
    ) -> Tensor:
        signed = self.signed
        if not shared:
            message = self._call(kind, k, sender=near if kind in ("boundary", "coboundary") else h)
            parts = [
                fn.aggregate(K, k, kind, message, signed=signed, reduce=r) for r in self.reduces
            ]
            return _join(parts)
        up = kind == "upper"
        incidence = K.incidence(k + 1 if up else k)
        if up:
            sender, between = incidence.gather(h), incidence.spread(near)
            between = per_row(incidence.signs, between) * between if signed else between
        else:
            sender, between = incidence.spread(h), incidence.gather(near, signed=signed)
        message = self._call(kind, k, sender=sender, shared=between)
        exchange = incidence.upper_messages if up else incidence.lower_messages
        return _join([exchange(message, signed=signed, reduce=r) for r in self.reduces])

    def _by_pairs(self, K: Complex, k: int, kind: Kind, h: Tensor, near: Tensor) -> Tensor:
        pairs, apart = pairs_of(K, k, kind), kind in ("boundary", "coboundary")
        values = {"sender": (near if apart else h)[pairs.sender], "receiver": h[pairs.receiver]}
        if not apart:
            values["shared"] = near[pairs.shared]
        if self.signed:
            values["receiver"] = per_row(pairs.sign, h) * values["receiver"]
        if self.signed and not apart:
            values["shared"] = per_row(pairs.sender_sign, near) * values["shared"]
        message = self._call(kind, k, **values)
        message = per_row(pairs.sign, message) * message if self.signed else message
        return self._aggregate(message, pairs.receiver, h.shape[0])


def _read_aggregation(aggr: object) -> tuple[list[Reduce], Any]:
    """Return sums and means by name; anything else as a module of PyG, which is imported then."""
    one = isinstance(aggr, str | torch.nn.Module)
    parts: list[Any] = list(aggr) if isinstance(aggr, Iterable) and not one else [aggr]
    if parts and all(isinstance(part, str) and part in LINEAR for part in parts):
        return [LINEAR[part] for part in parts], None
    from torch_geometric.nn.aggr import MeanAggregation, MultiAggregation, SumAggregation
    from torch_geometric.nn.resolver import aggregation_resolver

    try:
        module: Any = aggregation_resolver(aggr) if one else MultiAggregation(parts)
    except (TypeError, ValueError) as error:
        raise LayerError(
            f"Expected aggr as an aggregation of PyG, a name or a list, got {aggr!r}: {error}"
        ) from error
    names: dict[type, Reduce] = {SumAggregation: "sum", MeanAggregation: "mean"}
    kinds = [type(part) for part in ([module] if one else module.aggrs)]
    if all(kind in names for kind in kinds):
        return [names[kind] for kind in kinds], None
    return [], module


def _join(parts: list[Tensor]) -> Tensor:
    return parts[0] if len(parts) == 1 else torch.cat(parts, dim=-1)
