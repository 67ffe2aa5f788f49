"""Ten folds of the TU sets in one pass on a GPU: seconds an epoch, eager and captured.

Run ``python benchmarks/gpu_tu.py OUT.json DATADIR [names...]``; see ``--help``.
"""

import argparse
import json
import time
from pathlib import Path

import torch
from tu_data import PAPER, setup, splits

from mpsn.datasets import TU
from mpsn_reproduction.experiment import Resources
from mpsn_reproduction.train import accuracies, train_classifiers

EPOCHS = 6  # captures fall into the first ones
FOLDS = 10


def train(data, build, settings, capture, tick):
    """Train on all folds."""
    place, parts = Resources(torch.device("cuda"), None, tick), splits(data.y, FOLDS)
    seeds = range(FOLDS)
    return train_classifiers(
        build, data.complexes, data.y, parts, seeds, settings, place, capture=capture
    )


def run(data, kind, capture):
    """Train; return what came out, seconds per epoch of the last ones, and before them."""
    settings, build = setup(data, kind, EPOCHS)
    at = []
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    start = time.perf_counter()
    trained = train(data, build, settings, capture, lambda n: at.append(time.perf_counter()))
    epochs = torch.tensor(at[FOLDS - 1 :: FOLDS], dtype=torch.float64).diff()
    return [accuracies(history) for history in trained.histories], {
        "s_per_epoch": float(epochs[-3:].min()),
        "s_before": at[0] - start,
        "epochs": [round(e, 4) for e in epochs.tolist()],
        "peak_gib": torch.cuda.max_memory_allocated() / 2**30,
    }


def profile(data, kind):
    """Return the kernels an eager epoch spends most time in: name, milliseconds, calls."""
    settings, build = setup(data, kind, 1)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as seen:
        train(data, build, settings, False, lambda n: None)
    top = sorted(seen.key_averages(), key=lambda e: -e.self_device_time_total)[:25]
    return [(e.key[:110], round(e.self_device_time_total / 1e3, 2), e.count) for e in top]


def main():
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("out", type=Path, help="JSON file to write")
    options.add_argument("data", type=Path, help="folder that holds tu/NAME.zip")
    options.add_argument("names", nargs="*", help="data sets. Defaults to all")
    options.add_argument("--models", nargs="+", default=["SIN", "GIN"])
    options.add_argument("--eager", action="store_true", help="time steps not captured, too")
    options.add_argument("--profile", action="store_true", help="list the kernels of an epoch, too")
    given = options.parse_args()
    about = {"device": torch.cuda.get_device_name(), "torch": torch.__version__}
    rows = []
    print(about)
    for name in given.names or PAPER:
        data = TU(name, given.data)
        for kind in given.models:
            captured, row = run(data, kind, capture=True)
            row = {"data": name, "model": kind, "captured": row}
            row["loss"] = [curve["loss"] for curve in captured]
            row["test"] = [curve["test"][-1] for curve in captured]
            print(name, kind, "captured", *report(row["captured"]), flush=True)
            if given.eager:
                eager, row["eager"] = run(data, kind, capture=False)
                row["loss_eager"] = [curve["loss"] for curve in eager]
                print(name, kind, "eager   ", *report(row["eager"]), flush=True)
            if given.profile:
                row["profile"] = profile(data, kind)
                for line in row["profile"]:
                    print("   ", *line, flush=True)
            rows.append(row)
            given.out.write_text(json.dumps({**about, "rows": rows}, indent=1))


def report(row):
    """Say what was measured in a few words."""
    yield f"{row['s_per_epoch'] * 1e3:.1f} ms an epoch, {row['peak_gib']:.2f} GiB;"
    yield f"first epoch done after {row['s_before']:.1f} s, then {row['epochs']}"


if __name__ == "__main__":
    main()
