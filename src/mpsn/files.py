"""Files that are written whole or not at all."""

from mpsn._files.io import atomic_write, check_writable, save_figure

__all__ = ["atomic_write", "check_writable", "save_figure"]
