"""What arguments a user's function takes, read once, when a layer is built."""

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
    """How to call a function: with which names, or with the sender alone."""

    names: tuple[str, ...]
    positional: bool = False


def read_function(role: str, function: Callable[..., Any] | None) -> Function | None:
    """Read the signature of a message or update function, or say why it cannot be called.

    Args:
        role: ``"boundary"``, ``"coboundary"``, ``"lower"``, ``"upper"`` or ``"update"``.
        function: A function, method or module, or None.

    Example:
        >>> from mpsn.nn.conv._signature import read_function
        >>> read_function("upper", lambda sender, shared: sender + shared)
        Function(names=('sender', 'shared'), positional=False)
    """
    if function is None:
        return None
    if not callable(function):
        raise LayerError(f"Expected {role} as a function or a list of them, got {function!r}.")
    called = function.forward if isinstance(function, torch.nn.Module) else function
    try:
        parameters = inspect.signature(called).parameters.values()
    except ValueError:  # torch's own functions, such as torch.tanh, do not tell
        parameters = inspect.signature(lambda input: input).parameters.values()
    needed = [p for p in parameters if p.default is p.empty and p.kind is not p.VAR_KEYWORD]
    words = VOCABULARY[role]
    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        names = words
    else:
        names = tuple(p.name for p in parameters if p.name in words)
    unknown = [p.name for p in needed if p.name not in words]
    if not unknown:
        return Function(names)
    if (
        role != "update"
        and len(needed) == 1
        and needed[0].kind is not inspect.Parameter.VAR_POSITIONAL
    ):
        return Function(("sender",), positional=True)
    raise LayerError(
        f"Expected {role} to take arguments named {', '.join(words)}, got {', '.join(unknown)}; "
        f"rename them, or wrap the function in a lambda."
    )
