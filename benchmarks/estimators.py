"""Accuracy of the estimators' defaults by plain 10-fold cross-validation, and of the kernels.

    python benchmarks/estimators.py PROTEINS IMDB-BINARY
    python benchmarks/estimators.py PROTEINS --set layers=3 --set readout=mean
    python benchmarks/estimators.py IMDB-BINARY --kernels

Data in the folder that MPSN_DATA names. Every fold fits anew on nine tenths, a tenth of which is
held out inside the fit to stop early; the last tenth is only predicted.
"""

import argparse
import ast
import os
import time
from pathlib import Path

import numpy as np
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler
from sklearn.svm import LinearSVC

from mpsn.datasets._collections import read_collection
from mpsn.estimators import SimplicialClassifier
from mpsn.wl import SWLKernel, WLKernel


def value(text: str) -> object:
    try:
        return ast.literal_eval(text)
    except (SyntaxError, ValueError):
        return text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="+")
    parser.add_argument("--set", action="append", default=[], help="a setting, NAME=VALUE")
    parser.add_argument("--kernels", action="store_true", help="WL and SWL kernels with an SVM")
    parser.add_argument("--folds", type=int, default=0, help="seed of the split into ten folds")
    parser.add_argument("--jobs", type=int, default=1, help="folds at a time, in processes")
    options = parser.parse_args()
    settings = dict(pair.split("=", 1) for pair in options.set)
    models = {
        "SimplicialClassifier": SimplicialClassifier(**{k: value(v) for k, v in settings.items()})
    }
    if options.kernels:
        models = {
            kind.__name__: make_pipeline(kind(), MaxAbsScaler(), LinearSVC(max_iter=10000))
            for kind in (WLKernel, SWLKernel)
        }
    for name in options.names:
        found = list(read_collection([Path(os.environ["MPSN_DATA"]) / "tu" / f"{name}.zip"]))
        graphs, y = [graph for _, graph, _ in found], np.array([label for _, _, label in found])
        folds = StratifiedKFold(10, shuffle=True, random_state=options.folds)
        for kind, model in models.items():
            start = time.perf_counter()
            scores = 100 * cross_val_score(
                model, graphs, y, cv=folds, error_score="raise", n_jobs=options.jobs
            )
            seconds = time.perf_counter() - start
            print(
                f"{name} {kind} {settings or ''}: {scores.mean():.1f} ± {scores.std():.1f} "
                f"in {seconds:.0f} s; folds {' '.join(f'{score:.1f}' for score in scores)}",
                flush=True,
            )


if __name__ == "__main__":
    main()
