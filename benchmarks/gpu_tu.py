"""Ten folds of the TU sets in one pass on a GPU: seconds an epoch, eager and captured.

Run ``python benchmarks/gpu_tu.py OUT.json DATADIR [--profile] [names...]``; DATADIR holds
tu/NAME.zip. With ``--profile``, say where an eager epoch spends its time, too.
"""

import json
import sys
import time
from pathlib import Path

import torch
from tu_data import PAPER, load, setup, splits

from mpsn.experiments.training import train_folds

EPOCHS = 6  # captures fall into the first ones
FOLDS = 10


def run(dataset, y, name, kind, capture):
    """Train; return what came out, seconds per epoch of the last ones, and before them."""
    settings, build = setup(name, kind, dataset, y, EPOCHS)
    at = []
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    start = time.perf_counter()
    trained = train_folds(
        dataset,
        y,
        splits(y, FOLDS),
        build,
        settings,
        seeds=range(FOLDS),
        device="cuda",
        tick=lambda n: at.append(time.perf_counter()),
        capture=capture,
    )
    epochs = torch.tensor(at).diff()
    return trained, {
        "s_per_epoch": float(epochs[-3:].min()),
        "s_before": at[0] - start,
        "epochs": [round(e, 4) for e in epochs.tolist()],
        "peak_gib": torch.cuda.max_memory_allocated() / 2**30,
    }


def profile(dataset, y, name, kind):
    """Return the kernels an eager epoch spends most time in: name, milliseconds, calls."""
    settings, build = setup(name, kind, dataset, y, 1)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as seen:
        train_folds(
            dataset,
            y,
            splits(y, FOLDS),
            build,
            settings,
            seeds=range(FOLDS),
            device="cuda",
            capture=False,
        )
    top = sorted(seen.key_averages(), key=lambda e: -e.self_device_time_total)[:25]
    return [(e.key[:110], round(e.self_device_time_total / 1e3, 2), e.count) for e in top]


def main():
    out, folder, *names = (word for word in sys.argv[1:] if word != "--profile")
    rows = []
    about = {"device": torch.cuda.get_device_name(), "torch": torch.__version__}
    print(about)
    for name in names or PAPER:
        dataset, y = load(folder, name)
        for kind in ("SIN", "GIN"):
            captured, fast = run(dataset, y, name, kind, capture=True)
            eager, slow = run(dataset, y, name, kind, capture=False)
            gaps = [
                abs(a - b) / max(abs(b), 1e-3)
                for one, other in zip(captured, eager, strict=True)
                for a, b in zip(one.curve["loss"][:1], other.curve["loss"][:1], strict=True)
            ]
            row = {
                "data": name,
                "model": kind,
                "captured": fast,
                "eager": slow,
                "loss_gap_first_epoch": max(gaps),
                "loss": [round(t.curve["loss"][-1], 4) for t in captured],
                "loss_eager": [round(t.curve["loss"][-1], 4) for t in eager],
                "test": [round(t.curve["test"][-1], 4) for t in captured],
            }
            rows.append(row)
            print(
                f"{name:14} {kind:4} captured {fast['s_per_epoch'] * 1e3:8.1f} ms an epoch, eager "
                f"{slow['s_per_epoch'] * 1e3:8.1f}; first epoch at {fast['s_before']:.1f} s; "
                f"{fast['peak_gib']:.2f} and {slow['peak_gib']:.2f} GiB; loss of the first epoch "
                f"differs by {row['loss_gap_first_epoch']:.1e}",
                flush=True,
            )
            if "--profile" in sys.argv:
                row["profile"] = profile(dataset, y, name, kind)
                for line in row["profile"]:
                    print("   ", *line)
            Path(out).write_text(json.dumps({**about, "rows": rows}, indent=1))


if __name__ == "__main__":
    main()
