"""How much memory a file may cost: in proportion to its size."""

from typing import NamedTuple

from mpsn.errors import TooLargeError

FACTOR = 20  # bytes of memory per byte of a file
FREE = 1 << 28  # bytes of memory that any file may take


def unpack_limit(size: int) -> int:
    """Return how many bytes a compressed file of a size may unpack to: 25 for one, or 16 MiB."""
    return max(1 << 24, 25 * size)


class Limit(NamedTuple):
    """The most memory that the content of a file may take, in bytes."""

    name: str
    most: int

    @classmethod
    def of(cls, name: object, size: int, most: int | None = None) -> "Limit":
        """Return the limit for a file of a size; ``most`` is what the user allows."""
        return cls(str(name), max(FREE, FACTOR * size, most or 0))

    def check(self, need: int, what: str) -> None:
        """Refuse content that needs more memory than the limit."""
        if need > self.most:
            raise TooLargeError(
                f"Expected content of at most {self.most:,} bytes in memory, got {what} in "
                f"{self.name}, which take {need:,}; split it, or raise max_bytes."
            )
