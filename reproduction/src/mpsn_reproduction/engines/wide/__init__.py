"""Several models of one kind, trained in one pass: as one wide model on one wide batch."""

from mpsn_reproduction.engines.wide.batch import WideBatch, WideData
from mpsn_reproduction.engines.wide.masked import HEIGHT
from mpsn_reproduction.engines.wide.model import Wide

__all__ = ["HEIGHT", "Wide", "WideBatch", "WideData"]
