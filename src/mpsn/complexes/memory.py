"""How much memory a result may take."""

import psutil
import torch


def room(device: torch.device) -> int:
    """Return three quarters of the free memory, in bytes."""
    if device.type == "cuda":
        return int(torch.cuda.mem_get_info(device)[0] * 3 // 4)
    return int(psutil.virtual_memory().available * 3 // 4)
