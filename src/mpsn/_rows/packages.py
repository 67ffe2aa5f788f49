"""Other packages: imported only where they are used."""

import sys
from importlib import import_module
from typing import Any, TypeGuard

from mpsn.errors import MissingPackageError


def package(name: str, extra: str | None = None, why: str = "") -> Any:
    """Import an optional package, which one of our extras may bring, or say why it is needed."""
    try:
        return import_module(name)
    except ImportError as error:
        top, purpose = name.split(".")[0], why and f", to {why}"
        needed = f"'mpsn[{extra}]'" if extra else top
        raise MissingPackageError(
            f"Expected {top}{purpose}, got none; run pip install {needed}."
        ) from error


def is_pyg(value: object, kind: str) -> TypeGuard[Any]:
    """Return whether a value is a ``torch_geometric.data.Data`` or ``Dataset``, without importing.

    Example:
        >>> from mpsn._rows.packages import is_pyg
        >>> is_pyg(3, "Data")
        False
    """
    module = sys.modules.get("torch_geometric.data")
    return module is not None and isinstance(value, getattr(module, kind))
