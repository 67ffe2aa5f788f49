"""Values: objects that cannot be assigned to."""

from typing import Any, Self

import torch

# Of the pickles in files of torch.save: values are made again by functions that check, which
# torch.load may call on any file.
SAVED = torch.serialization.DEFAULT_PROTOCOL


class Value:
    """Base class of immutable objects; methods return new ones."""

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"cannot assign to {name!r}: {type(self).__name__} is immutable")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"cannot delete {name!r}: {type(self).__name__} is immutable")

    def _with(self, **changes: Any) -> Self:
        """Return a copy with other attributes."""
        out = object.__new__(type(self))
        out.__dict__.update({**self.__dict__, **changes})
        return out
