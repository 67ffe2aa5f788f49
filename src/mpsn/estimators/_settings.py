"""Settings of estimators: declared and described once, by the class that introduces them."""

import inspect
import re
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(kw_only_default=True, field_specifiers=(field,))
def with_settings(cls: type[T]) -> type[T]:
    """Make the annotated attributes of a class, and of its bases, keywords of its constructor.

    Those of bases that its docstring does not describe are described as there.
    """
    made = dataclass(kw_only=True, repr=False, eq=False)(cls)
    made.__doc__ = _described(made)
    return made


def _described(cls: Any) -> str:
    """Return the docstring of a class with descriptions of all settings."""
    doc = inspect.cleandoc(cls.__doc__)
    own = _arguments(doc)
    texts: dict[str, str] = {}
    for base in reversed(cls.__mro__[1:]):
        texts |= _arguments(inspect.cleandoc(base.__dict__.get("__doc__") or ""))
    inherited = [one.name for one in fields(cls) if one.name not in own and one.name in texts]
    rest = "\n".join(texts[name] for name in inherited)
    if not own:
        head, separator, tail = doc.partition("\nExample:")
        return f"{head.rstrip()}\n\nArgs:\n{rest}\n{separator}{tail}"
    last = list(own.values())[-1]
    return doc.replace(last, f"{last}\n{rest}", 1) if rest else doc


def _arguments(doc: str) -> dict[str, str]:
    """Return the descriptions of arguments in a docstring, as they stand there, by name."""
    _, _, section = doc.partition("\nArgs:\n")
    section = re.split(r"\n(?=\S)", section)[0]
    parts = re.split(r"\n(?=    \S)", section.rstrip())
    return {part.strip().partition(":")[0]: part for part in parts if ":" in part}
