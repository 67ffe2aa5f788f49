"""The signatures of user-defined functions, read once, when a layer is built."""

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

import torch

from mpsn.errors import LayerError

MESSAGE = ("receiver", "sender", "dim")
VOCABULARY = {
    "boundary": MESSAGE,
    "coboundary": MESSAGE,
    "lower": (*MESSAGE, "shared"),
    "upper": (*MESSAGE, "shared"),
    "update": ("receiver", "boundary", "coboundary", "lower", "upper", "dim"),
}


class Function(NamedTuple):
    """How to call a function: the names of its arguments, or the sender as the only one.

    ``needed`` are those without a default.
    """

    names: tuple[str, ...]
    needed: tuple[str, ...] = ()
    positional: bool = False


def read_function(role: str, function: Callable[..., Any] | None) -> Function | None:
    """Read the signature of a message or update function, given its role in ``VOCABULARY``.

    Example:
        >>> from mpsn.nn.conv._signature import read_function
        >>> read_function("upper", lambda sender, shared: sender + shared)
        Function(names=('sender', 'shared'), needed=('sender', 'shared'), positional=False)
    """
    if function is None:
        return None
    if not callable(function):
        raise LayerError(f"Expected {role} as a function or a list of them, got {function!r}.")
    called = function.forward if isinstance(function, torch.nn.Module) else function
    try:
        parameters = inspect.signature(called).parameters.values()
    except ValueError:  # torch's own functions, such as torch.tanh, have no signature
        parameters = inspect.signature(lambda input: input).parameters.values()
    needed = [p for p in parameters if p.default is p.empty and p.kind is not p.VAR_KEYWORD]
    words = VOCABULARY[role]
    every = any(p.kind is p.VAR_KEYWORD for p in parameters)
    unknown = [p.name for p in needed if p.name not in words]
    if not unknown:
        names = words if every else tuple(p.name for p in parameters if p.name in words)
        return Function(names, tuple(p.name for p in needed))
    if role != "update" and len(needed) == 1 and needed[0].kind is not needed[0].VAR_POSITIONAL:
        return Function(("sender",), ("sender",), positional=True)
    raise LayerError(
        f"Expected {role} to take arguments named {', '.join(words)}, got {', '.join(unknown)}; "
        f"rename them, or wrap the function in a lambda."
    )
