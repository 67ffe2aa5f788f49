"""Errors that say what was expected, what came, and what to do about it."""

import zipfile
import zlib
from collections.abc import Iterable
from difflib import get_close_matches
from xml.etree.ElementTree import ParseError

# What readers of zip archives, numpy headers, JSON and XML raise on damaged files.
UNREADABLE = (
    OSError,
    EOFError,
    ValueError,
    TypeError,
    AttributeError,
    LookupError,
    RuntimeError,
    ArithmeticError,
    MemoryError,
    SyntaxError,
    zipfile.BadZipFile,
    zlib.error,
    ParseError,
)


class MPSNError(ValueError):
    """Base of all errors that mpsn raises about its input."""


class GraphError(MPSNError):
    """A graph that cannot be read as one: wrong shape, type, or vertex numbers."""


class ComplexError(MPSNError):
    """Face tables, simplices, features or orientations that do not fit together."""


class LayerError(MPSNError):
    """A layer or model that cannot be built as asked, or features that do not fit it."""


class TooLargeError(MPSNError):
    """A result that would not fit into memory, or not end today; raised before it is begun."""


class FileError(MPSNError):
    """A file that is missing, damaged, or not of the kind its name says."""


class ColoringError(MPSNError):
    """A Weisfeiler-Lehman test that cannot be run as asked."""


class MissingPackageError(MPSNError, ImportError):
    """A package that is not installed, and needed only for what was asked."""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a sentence that suggests the known names nearest to one that is unknown, or none.

    Example:
        >>> from mpsn.errors import did_you_mean
        >>> did_you_mean("hexagn", ["hexagon", "prism"])
        ' Did you mean hexagon?'
    """
    near = get_close_matches(name, list(known))
    return f" Did you mean {' or '.join(near)}?" if near else ""
