"""A test kit for your own layers and code: symmetries, and random complexes for hypothesis."""

from typing import TYPE_CHECKING, Any

from mpsn.testing.symmetry import (
    assert_orientation_equivariant,
    assert_orientation_invariant,
    assert_permutation_equivariant,
)

if TYPE_CHECKING:
    from mpsn.testing.strategies import complexes, graphs

__all__ = [
    "assert_orientation_equivariant",
    "assert_orientation_invariant",
    "assert_permutation_equivariant",
    "complexes",
    "graphs",
]


def __getattr__(name: str) -> Any:
    """Bring in the strategies when asked: they alone need hypothesis."""
    if name in ("complexes", "graphs"):
        from mpsn.testing import strategies

        return getattr(strategies, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
