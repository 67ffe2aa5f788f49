"""The base class of the layers."""

import inspect

import torch


class Layer(torch.nn.Module):
    """Base of the layers: prints the settings that it keeps as attributes.

    Example:
        >>> mpsn.nn.SCoNeConv(1, 8)
        SCoNeConv(
          1, 8, dim=1
          (down): Linear(in_features=1, out_features=8, bias=False)
          (own): Linear(in_features=1, out_features=8, bias=False)
          (up): Linear(in_features=1, out_features=8, bias=False)
          (act): Tanh()
        )
    """

    def extra_repr(self) -> str:
        """Return the widths, and other settings by name."""
        settings = []
        for name in inspect.signature(type(self)).parameters:
            value = vars(self).get(name)
            if name in ("in_channels", "out_channels"):
                settings.append(f"{value}")
            elif isinstance(value, (bool, int, float, str)):
                settings.append(f"{name}={value!r}")
        return ", ".join(settings)
