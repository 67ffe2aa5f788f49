"""Processes that begin at once: forked from one that has imported what they need."""

import multiprocessing
import os
import sys
from collections.abc import Mapping
from contextlib import redirect_stderr, redirect_stdout
from multiprocessing.process import BaseProcess
from pathlib import Path

import torch

FORK = multiprocessing.get_context("forkserver")
FORK.set_forkserver_preload(["mpsn.cli", "mpsn.estimators", "mpsn_reproduction.train"])
MPSN = "from mpsn.cli import main; main()"


def start(
    code: str, *words: object, said: Path | None = None, env: Mapping[str, str] = os.environ
) -> BaseProcess:
    """Start ``python -c code words...``; what it prints goes to the file ``said``."""
    arguments = code, [str(word) for word in words], said or os.devnull, dict(env)
    process = FORK.Process(target=_run, args=arguments)
    process.start()
    return process


def finish(code: str, *words: object, said: Path, env: Mapping[str, str] = os.environ) -> str:
    """Run ``python -c code words...``, which must succeed; return what it prints."""
    process = start(code, *words, said=said, env=env)
    process.join()
    assert process.exitcode == 0, said.read_text()
    return said.read_text()


def _run(code: str, words: list[str], said: str | Path, env: dict[str, str]) -> None:
    os.environ.clear()
    os.environ.update(env)
    torch.set_num_threads(1)
    sys.argv = ["mpsn", *words]
    with Path(said).open("w", buffering=1) as file, redirect_stdout(file), redirect_stderr(file):
        exec(code, {"__name__": "__main__"})
