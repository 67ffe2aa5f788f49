"""Memory limits for results."""

import psutil
import torch

from mpsn.errors import TooLargeError


def available_memory(device: torch.device) -> int:
    """Return the number of bytes that a result may use: three quarters of the free memory."""
    if device.type == "cuda":
        return int(torch.cuda.mem_get_info(device)[0] * 3 // 4)
    return int(psutil.virtual_memory().available * 3 // 4)


def check_vertices(n: int, device: torch.device) -> None:
    """Raise if tables for ``n`` vertices would not fit into memory, before allocating them."""
    most = available_memory(device) // 32
    if n > most:
        raise TooLargeError(
            f"Expected at most {most} vertices, which fit into memory, got {n}; "
            f"number the vertices 0, 1, 2, ... without gaps."
        )
