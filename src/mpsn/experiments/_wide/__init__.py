"""Several models of one kind, trained in one pass: as one wide model on one wide batch."""

from mpsn.experiments._wide.batch import WideBatch, WideData
from mpsn.experiments._wide.masked import HEIGHT
from mpsn.experiments._wide.model import Wide

__all__ = ["HEIGHT", "Wide", "WideBatch", "WideData"]
