"""How much memory a result may take."""

import psutil
import torch

from mpsn.errors import TooLargeError


def room(device: torch.device) -> int:
    """Return three quarters of the free memory, in bytes."""
    if device.type == "cuda":
        return int(torch.cuda.mem_get_info(device)[0] * 3 // 4)
    return int(psutil.virtual_memory().available * 3 // 4)


def check_vertices(n: int, device: torch.device) -> None:
    """Refuse numbers of vertices whose tables alone would not fit, before they are allocated."""
    if 32 * n > room(device):
        raise TooLargeError(
            f"Expected at most {room(device) // 32} vertices, which fit into memory, got {n}; "
            f"number the vertices 0, 1, 2, ... without gaps."
        )
