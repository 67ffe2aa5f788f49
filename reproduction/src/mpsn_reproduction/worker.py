"""A process that runs one job, and ends when the process that started it does.

This module imports nothing heavy, so that the parent is watched before torch is loaded.
"""

import os
import pickle
import signal
import threading
from multiprocessing import parent_process
from multiprocessing.connection import Connection, wait


def start(task: bytes, parent: Connection) -> None:
    """Call a pickled function with its arguments, and with the connection to the parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends its processes itself
    threading.Thread(target=_watch, daemon=True).start()
    function, arguments = pickle.loads(task)  # of our own parent
    function(*arguments, parent)


def _watch() -> None:
    """End this process, whatever it is doing, when its parent has ended."""
    above = parent_process()
    assert above is not None
    wait([above.sentinel])
    os._exit(1)
