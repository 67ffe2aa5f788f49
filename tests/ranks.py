"""Processes that train one model together, as a launcher would start them."""

import multiprocessing
import os
import socket
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

from mpsn.training._launch import joined

START = multiprocessing.get_context("forkserver")  # imports once, for all processes
START.set_forkserver_preload(["ranks", "mpsn.estimators", "mpsn.experiments._tu", "sklearn.svm"])


def _rank(rank: int, size: int, port: int, function: Any, args: Any, parent: Connection) -> None:
    place = {"RANK": rank, "WORLD_SIZE": size, "LOCAL_RANK": rank, "MASTER_PORT": port}
    os.environ.update({name: str(value) for name, value in place.items()})
    os.environ["MASTER_ADDR"] = "127.0.0.1"
    import torch

    torch.set_num_threads(1)
    with joined():
        parent.send(function(*args))


def run_ranks(size: int, function: Callable[..., Any], *args: Any) -> list[Any]:
    """Return what a function returns in each of several processes; exit codes where it does not."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    running = []
    for rank in range(size):
        ours, theirs = START.Pipe(duplex=False)
        process = START.Process(target=_rank, args=(rank, size, port, function, args, theirs))
        process.start()
        theirs.close()
        running.append((process, ours))
    found = []
    for process, ours in running:
        try:
            found.append(ours.recv())
        except EOFError:
            process.join()
            found.append(process.exitcode)
        process.join()
    return found
