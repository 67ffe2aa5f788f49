"""The device to compute on, checked."""

import torch

from mpsn.errors import MPSNError


def check_holds(device: torch.device) -> None:
    """Refuse the device meta, on which tensors hold no numbers."""
    if device.type == "meta":
        raise MPSNError(
            "Expected a device that holds numbers, got meta; choose another, such as by "
            "torch.set_default_device('cpu')."
        )


def pick_device(name: str | torch.device = "auto") -> torch.device:
    """Return a device that works; ``"auto"`` is the GPU if there is one, else the CPU."""
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError, TypeError) as error:
        reason = f" ({str(error).splitlines()[0]})" if str(name).startswith("cuda") else ""
        raise MPSNError(
            f"Expected a device such as cpu or cuda, got {name!r}{reason}; use 'auto' for a GPU if "
            f"there is one."
        ) from error
    for used in (device, torch.get_default_device()):
        check_holds(used)
    return device
