"""Several models of one kind, trained in one pass: as one wide model on one wide batch."""

from mpsn.nn.wide.batch import WideBatch, WideData
from mpsn.nn.wide.masked import HEIGHT
from mpsn.nn.wide.model import Wide

__all__ = ["HEIGHT", "Wide", "WideBatch", "WideData"]
