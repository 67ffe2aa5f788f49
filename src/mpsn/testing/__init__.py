"""A test kit for your own layers: checks of their symmetries, and random complexes."""

from typing import TYPE_CHECKING, Any

from mpsn.testing._symmetry import (
    assert_orientation_equivariant,
    assert_orientation_invariant,
    assert_permutation_equivariant,
    assert_permutation_invariant,
)

if TYPE_CHECKING:
    from mpsn.testing._strategies import complexes, graphs

__all__ = [
    "assert_orientation_equivariant",
    "assert_orientation_invariant",
    "assert_permutation_equivariant",
    "assert_permutation_invariant",
    "complexes",
    "graphs",
]


def __getattr__(name: str) -> Any:
    """Import the strategies on demand: only they need hypothesis."""
    if name in ("complexes", "graphs"):
        from mpsn.testing import _strategies

        return getattr(_strategies, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
