"""Errors that say what was expected, what was found, and what to do about it."""

import re
import sys
import warnings
import zipfile
import zlib
from collections.abc import Iterable
from difflib import get_close_matches

# What readers of text, JSON and zip archives raise on damaged files. Errors of other types are
# bugs of this library, or are caught where another library parses the file.
UNREADABLE = (
    OSError,
    EOFError,
    ValueError,
    NotImplementedError,  # zip archives of a kind that zipfile does not know
    RecursionError,  # JSON nested too deeply
    zipfile.BadZipFile,
    zlib.error,
)


class MPSNError(ValueError):
    """Base class of all errors that mpsn raises about its input."""


class GraphError(MPSNError):
    """Input that is not a valid graph: wrong shape, type, or vertex numbers."""


class ComplexError(MPSNError):
    """Face tables, simplices, features or orientations that do not fit together."""


class LayerError(MPSNError):
    """Invalid settings of a layer or model, or features that do not fit it."""


class ConfigError(MPSNError):
    """Settings that do not exist, or values they cannot take."""


class TooLargeError(MPSNError):
    """A result that would not fit into memory or take too long; raised before work starts."""


class FileError(MPSNError):
    """A file that is missing, damaged, or not in the expected format."""


class MissingDataError(FileError):
    """A data set that has no local copy and could not be downloaded."""


class ColoringError(MPSNError):
    """Invalid settings of a Weisfeiler-Lehman test."""


class MissingPackageError(MPSNError, ImportError):
    """An optional package that is needed here and not installed."""


class TrainingInterrupted(UserWarning):
    """Training that was interrupted; the best model so far is kept."""


class CaptureWarning(UserWarning):
    """Steps of training run one kernel after another, for they cannot be a CUDA graph."""


class LeftOut(UserWarning):
    """Something in the data that is not used, and why."""


class MeshWarning(UserWarning):
    """A mesh that is not a manifold, and why."""


def out_of_memory(error: BaseException | None) -> bool:
    """Return whether an error says that memory could not be allocated; torch has none for this."""
    said = isinstance(error, RuntimeError) and re.search("alloc|out of memory", str(error))
    return isinstance(error, MemoryError) or bool(said)


def warn(message: str, kind: type[Warning] = LeftOut) -> None:
    """Warn at the line of the user's code that led here, however deep."""
    frame, level = sys._getframe(), 1
    while frame.f_back and frame.f_globals.get("__name__", "").startswith("mpsn."):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, kind, stacklevel=level)


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a sentence that suggests the known names closest to ``name``, or an empty string.

    Example:
        >>> from mpsn.errors import did_you_mean
        >>> did_you_mean("hexagn", ["hexagon", "prism"])
        ' Did you mean hexagon?'
    """
    near = get_close_matches(name, list(known))
    return f" Did you mean {' or '.join(near)}?" if near else ""


def visible(text: object) -> str:
    r"""Return text with escapes for what a terminal would obey instead of show.

    Names in files can hold anything.

    Example:
        >>> from mpsn.errors import visible
        >>> print(visible("graph \x1b[2J"), visible("Ω"))
        graph \x1b[2J Ω
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in str(text))
