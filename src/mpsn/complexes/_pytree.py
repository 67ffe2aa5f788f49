"""Registration of values as pytrees, for torch.export and torch.func."""

from collections.abc import Callable, Iterable
from typing import Any

from torch.utils import _pytree


def register(
    kind: type[Any], fields: tuple[str, ...], context: tuple[str, ...], caches: tuple[str, ...] = ()
) -> None:
    """Register a class, given its attributes: tensors, constants, and caches to start empty."""

    def flatten(value: Any) -> tuple[list[Any], Any]:
        return [getattr(value, name) for name in fields], [getattr(value, c) for c in context]

    def flatten_with_keys(value: Any) -> tuple[list[Any], Any]:
        keys = [_pytree.GetAttrKey(name.lstrip("_")) for name in fields]
        children, rest = flatten(value)
        return list(zip(keys, children, strict=True)), rest

    def unflatten(children: Iterable[Any], rest: Any) -> Any:
        out = object.__new__(kind)
        out.__dict__.update(zip(fields, children, strict=True))
        out.__dict__.update({name: {} for name in caches})
        out.__dict__.update(zip(context, map(_hashable, rest), strict=True))
        return out

    same: Callable[[Any], Any] = list
    _pytree.register_pytree_node(
        kind,
        flatten,
        unflatten,
        serialized_type_name=f"mpsn.{kind.__name__}",
        flatten_with_keys_fn=flatten_with_keys,
        to_dumpable_context=same,
        from_dumpable_context=same,
    )


def _hashable(value: Any) -> Any:
    """Convert lists back to tuples, which JSON turns into lists."""
    return tuple(map(_hashable, value)) if isinstance(value, list | tuple) else value
