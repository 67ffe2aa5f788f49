"""Several processes that train one model: found by the variables that launchers set."""

import hashlib
import os
import re
import signal
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from datetime import timedelta
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from mpsn.errors import MPSNError

WAIT = timedelta(minutes=10)  # for a process that is late
_JOINS = count()  # the same in all processes
LAUNCHERS = (  # torchrun and Kubernetes' training operators; Slurm's srun
    ("RANK", "WORLD_SIZE", "LOCAL_RANK"),
    ("SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID"),
)


class LostProcess(MPSNError):  # noqa: N818
    """Another process that trains the same model is gone, or all are told to stop."""

    def __init__(self, size: int) -> None:
        super().__init__(
            f"Expected {size} processes until the end, got fewer: one was killed or failed, or the "
            f"run was stopped; run the same command again, with any number of processes, to go on "
            f"from what is saved."
        )


class Place(NamedTuple):
    """The number of this process among all, how many there are, and its number on its machine."""

    rank: int = 0
    size: int = 1
    local: int = 0


def find_place(env: Mapping[str, str]) -> Place:
    """Return the place of this process by its environment; the only one without a launcher.

    Example:
        >>> from mpsn.training._launch import find_place
        >>> find_place({"RANK": "3", "WORLD_SIZE": "8", "LOCAL_RANK": "1"})
        Place(rank=3, size=8, local=1)
        >>> find_place({"SLURM_PROCID": "0", "SLURM_NTASKS": "8"})  # in a script, without srun
        Place(rank=0, size=1, local=0)
    """
    for names in LAUNCHERS:
        slurm = names[0].startswith("SLURM")
        if names[0] not in env or names[1] not in env or (slurm and not _address(env)):
            continue
        words = [env.get(name, "0") for name in names]
        numbers = [int(word) if word.isdecimal() else -1 for word in words]
        if min(numbers) < 0 or numbers[0] >= numbers[1]:
            given = ", ".join(f"{name}={word}" for name, word in zip(names, words, strict=True))
            raise MPSNError(
                f"Expected {names[0]} from 0 to below {names[1]}, got {given:.100}; start all "
                "processes with torchrun or srun."
            )
        return Place(*numbers)
    return Place()


def _address(env: Mapping[str, str]) -> str:
    """Return where processes meet: as given, or the first machine of a step of Slurm."""
    first = re.findall(r"(?:[^,\[]|\[[^]]*\])+", env.get("SLURM_STEP_NODELIST", ""))[:1]
    return env.get("MASTER_ADDR") or re.sub(r"\[([^],-]*)[^]]*\]", r"\1", "".join(first))


def _have_own_gpus(store: Any, place: Place) -> bool:
    """Return whether all processes have GPUs, and no two of them the same; they tell each other.

    Numbers would not do: a launcher may show each process its own GPU, as number 0.
    """
    import torch

    gpus, own = torch.cuda.device_count(), ""
    if gpus:
        own = str(torch.cuda.get_device_properties(place.local % gpus).uuid)
    store.set(f"gpu of {place.rank}", own)
    found = {bytes(store.get(f"gpu of {rank}")) for rank in range(place.size)}
    return len(found) == place.size and b"" not in found


@cache
def _meet(rank: int, size: int) -> Any:
    """Return the store through which processes meet: one, however often they join."""
    from torch.distributed.rendezvous import rendezvous

    store, *_ = next(rendezvous("env://", rank, size, timeout=WAIT))
    return store


@contextmanager
def joined() -> Iterator[None]:
    """Let the processes that a launcher started train together inside the block.

    Gloo connects CPUs, and NCCL GPUs, unless processes share one. Only the first process prints.
    Inside such a block another one does nothing. An error that several processes raise is raised in
    one of them, if it can be; the others exit. Launchers end all processes when one is gone
    (SIGTERM): that is such an error, too.
    """
    place = find_place(os.environ)
    rank, size, _ = place
    if size == 1:
        yield
        return
    from torch import distributed as dist
    from torch._C._distributed_c10d import PrefixStore

    if dist.is_initialized():
        yield
        return
    if address := _address(os.environ):
        job = int(re.sub(r"\D", "", os.environ.get("SLURM_JOB_ID", "")) or 0)
        os.environ.setdefault("MASTER_ADDR", address)
        os.environ.setdefault("MASTER_PORT", str(20000 + job % 10000))
    try:
        store = PrefixStore(f"join {next(_JOINS)}", _meet(rank, size))
        backend = "cpu:gloo,cuda:nccl" if _have_own_gpus(store, place) else "gloo"
        dist.init_process_group(backend, store=store, rank=rank, world_size=size, timeout=WAIT)
    except (RuntimeError, ValueError) as error:
        raise MPSNError(
            f"Expected to meet {size - 1} other processes, got {str(error).splitlines()[0]:.200}; "
            f"start all of them with torchrun or srun, or set MASTER_ADDR and MASTER_PORT."
        ) from error

    def stop(*_: object) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        raise LostProcess(size)

    signal.signal(signal.SIGTERM, stop)
    with ExitStack() as quiet:
        if rank:
            nowhere = quiet.enter_context(Path(os.devnull).open("w"))
            quiet.enter_context(redirect_stdout(nowhere))
            quiet.enter_context(redirect_stderr(nowhere))
        whole = False
        try:
            yield
            whole = True
        except SystemExit as done:
            whole = not done.code
            raise
        except MPSNError as error:
            key = hashlib.sha256(str(error).encode()).hexdigest()
            try:
                again = store.add(key, 1) > 1
            except RuntimeError:  # the store was in a process that is gone
                again = False
            if again:
                raise SystemExit(2) from error
            raise
        finally:
            if whole:  # else it might wait for one that is gone
                dist.destroy_process_group()
