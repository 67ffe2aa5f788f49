"""Which defaults the estimators should have, and how they compare with other methods.

    python benchmarks/estimators.py choose --out runs/estimators --jobs 14 --device cuda
    python benchmarks/estimators.py compare --out runs/estimators --jobs 14 --device cuda
    python benchmarks/estimators.py report --out runs/estimators --pack records.jsonl

Nine data sets: five of the TU collection, from the folder that MPSN_DATA names, on the folds of
Xu et al., and four that are generated, on ten stratified folds. ``choose`` fits every candidate to
four fifths of the training parts of the first folds and scores it on the last fifth; test parts are
not looked at. ``compare`` fits the defaults and the other methods to the
training parts and scores them on the test parts. Every fit leaves a record in ``--out``, and those
that are there are not repeated. With ``--device cuda``, sets of large complexes use the GPU;
networks on small ones are as fast on a CPU core.
"""

import argparse
import json
import os
import time
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from unittest import mock

import networkx as nx
import numpy as np
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, MaxAbsScaler, StandardScaler
from sklearn.svm import LinearSVC

from mpsn.datasets import read_collection
from mpsn.estimators import SimplicialClassifier, SWLKernel, WLKernel, _kernel
from mpsn.estimators._inputs import prepare
from mpsn.nn.models import GIN, SIN
from mpsn.training import hold_out, select
from mpsn_reproduction.experiment import Resources
from mpsn_reproduction.papers.folds import tu_folds
from mpsn_reproduction.train import StepTraining, accuracies, train_classifiers

TU = ("NCI1", "REDDIT-BINARY", "IMDB-BINARY", "IMDB-MULTI", "PROTEINS")
LARGE = ("REDDIT-BINARY", "IMDB-BINARY", "IMDB-MULTI")  # complexes
LABELED = ("NCI1", "PROTEINS")
CANDIDATES = {  # settings that differ from the defaults
    "default": {},
    "kernel alone": {"kernel": True},
    "networks alone": {"kernel": False},
    "rate 0.005": {"learning_rate": 0.005},
    "rate 0.003": {"learning_rate": 0.003},
    "1 network": {"members": 1},
    "3 networks": {"members": 3},
    "3 layers": {"layers": 3},
    "width 64": {"hidden": 64},
    "mean": {"readout": "mean"},
    "dropout 0.5": {"dropout": 0.5},
    "patience 15": {"patience": 15},
    "batch 32": {"batch_size": 32},
}
FORMS = {  # of the kernel alone
    "kernel of 2 rounds": {"ROUNDS": 2},
    "kernel of 4 rounds": {"ROUNDS": 4},
    "kernel of all colors": {"LEAST": 1},
}
CANDIDATES |= {name: {"kernel": True} for name in FORMS}
METHODS = ("default", "SIN", "GIN", "SWL kernel", "WL kernel", "counts")
METHODS = (*METHODS, "kernel alone", "networks alone")
INNER_FOLDS = 2


def ages(rng):
    """Return graphs with an integer attribute of many values; it and the density say a little."""
    graphs, y = [], np.arange(300) % 2
    for label in y:
        graph = nx.gnp_random_graph(int(rng.integers(10, 22)), 0.22 + 0.06 * label, seed=rng)
        values = rng.normal(40 + 5 * label, 15, len(graph)).clip(0, 99).astype(int)
        nx.set_node_attributes(graph, dict(enumerate(values.tolist())), "age")
        graphs.append(graph)
    return graphs, y


def cliques(rng):
    """Return random graphs of equally many edges, one in twelve with a planted clique."""
    graphs, y = [], (np.arange(420) % 12 == 0).astype(int)
    for label in y:
        n = int(rng.integers(14, 24))
        graph = nx.gnm_random_graph(n, 3 * n - 10 * label, seed=rng)
        if label:
            graph.add_edges_from(nx.complete_graph(5).edges)
        graphs.append(graph)
    return graphs, y


def blocks(rng):
    """Return sixty graphs, half of them with two communities, of the same density."""
    y = np.arange(60) % 2
    chances = ([[0.25, 0.25], [0.25, 0.25]], [[0.42, 0.08], [0.08, 0.42]])
    return [nx.stochastic_block_model([10, 10], chances[label], seed=rng) for label in y], y


def families(rng):
    """Return forty graphs of each of ten families."""
    y = np.arange(400) % 10

    def make(kind):
        n = int(rng.integers(16, 28)) // 2 * 2
        return [
            lambda: nx.gnp_random_graph(n, 4 / n, seed=rng),
            lambda: nx.random_labeled_tree(n, seed=rng),
            lambda: nx.barabasi_albert_graph(n, 2, seed=rng),
            lambda: nx.watts_strogatz_graph(n, 4, 0.1, seed=rng),
            lambda: nx.watts_strogatz_graph(n, 4, 0.5, seed=rng),
            lambda: nx.random_regular_graph(3, n, seed=rng),
            lambda: nx.random_regular_graph(4, n, seed=rng),
            lambda: nx.powerlaw_cluster_graph(n, 2, 0.8, seed=rng),
            lambda: nx.random_geometric_graph(n, 0.3, seed=rng),
            lambda: nx.gnm_random_graph(n, 2 * n, seed=rng),
        ][kind]()

    graphs = [nx.Graph(make(label).edges) for label in y]
    return [nx.convert_node_labels_to_integers(graph) for graph in graphs], y


GENERATED = {"ages": ages, "cliques": cliques, "blocks": blocks, "families": families}


@cache
def read(name):
    """Return the graphs of a set, their classes 0, 1, ..., and (train, test) for each fold."""
    if name in GENERATED:
        graphs, y = GENERATED[name](np.random.default_rng(0))
        for graph in graphs:
            for attributes in graph.nodes.values():
                attributes.pop("pos", None)
                attributes.pop("block", None)
        folder = None
    else:
        folder = Path(os.environ["MPSN_DATA"])
        found = list(read_collection([folder / "tu" / f"{name}.zip"]))
        graphs = [graph for _, graph, _ in found]
        y = np.unique([label for _, _, label in found], return_inverse=True)[1]
    found = tu_folds(name, torch.as_tensor(y), folder)
    return graphs, y, [(parts["train"].numpy(), parts["test"].numpy()) for parts in found.splits]


def counts(graphs):
    """Return the numbers of vertices, edges and triangles."""
    return np.array(
        [
            [len(g), g.number_of_edges(), sum(nx.triangles(g).values()) / 3]
            for g in map(plain, graphs)
        ]
    )


def plain(graph):
    if isinstance(graph, nx.Graph):
        return graph
    out = nx.Graph(graph.edge_index.T.tolist())
    out.add_nodes_from(range(graph.num_nodes))
    out.remove_edges_from(list(nx.selfloop_edges(out)))
    return out


def fit_kernel(kind, name, graphs, y):
    """Return a function that predicts, of the rounds and C with the best inner validation."""
    initial = {} if name not in LABELED else {"initial": "features"}
    best = None
    for rounds in (2, 3, 4):
        colors = kind(rounds=rounds, **initial)
        table = colors.fit_transform(graphs)
        machine = make_pipeline(MaxAbsScaler(), LinearSVC(max_iter=20000))
        search = GridSearchCV(machine, {"linearsvc__C": [0.003, 0.03, 0.3]}, cv=3)
        search.fit(table, y)
        if best is None or search.best_score_ > best[0]:
            best = search.best_score_, colors, search
    return lambda new: best[2].predict(best[1].transform(new))


def networks(kind, name, device):
    """Train our experiment's SIN or GIN on all folds; return the test accuracies."""
    graphs, y, folds = read(name)
    data, _ = prepare(graphs, 2)
    y = torch.as_tensor(y)
    splits = []
    for train, test in folds:
        stay, held = hold_out(y[train], 0.1, 0)
        splits.append({"train": train[stay], "val": train[held], "test": test})
    sizes = (data.union.x[0].shape[1], 32, int(y.max()) + 1, 4)
    same = {"act": "relu", "norm": True, "jump": True, "readout": "sum", "dropout": 0.5}

    def build():
        if kind == "GIN":
            return GIN(*sizes, **same)
        return SIN(*sizes, **same, coface_message=False, readout_dims=(0, 1, 2))

    settings = StepTraining(200, 32, 0.001)
    place = Resources(torch.device(device), None, lambda epochs: None)
    trained = train_classifiers(build, data, y, splits, range(10), settings, place)
    curves = [accuracies(history) for history in trained.histories]
    return [select(curve["val"], curve["test"]).test for curve in curves]


def score(part, name, fold, method, device):
    """Fit a method to a fold, and return its accuracy, or those of all folds."""
    if method in ("SIN", "GIN") and part == "outer":
        return networks(method, name, device)
    graphs, y, folds = read(name)
    train, test = folds[fold]
    if part == "inner":
        stay, held = (at.numpy() for at in hold_out(torch.as_tensor(y[train]), 0.2, fold))
        train, test = train[stay], train[held]
    seen, new = [graphs[i] for i in train], [graphs[i] for i in test]
    if method == "counts":
        model = make_pipeline(FunctionTransformer(counts), StandardScaler(), LogisticRegression())
    elif method.endswith(" kernel"):
        kind = SWLKernel if method == "SWL kernel" else WLKernel
        return float((fit_kernel(kind, name, seen, y[train])(new) == y[test]).mean())
    else:
        model = SimplicialClassifier(**CANDIDATES[method], device=device)
    with mock.patch.dict(vars(_kernel), FORMS.get(method, {})):
        return float(model.fit(seen, y[train]).score(new, y[test]))


def run(task, out, device):
    """Run a task, and leave a record."""
    torch.set_num_threads(1)
    part, name, fold, method = task
    where = device if name in LARGE or method in ("SIN", "GIN") else "cpu"
    start = time.perf_counter()
    record = {"part": part, "set": name, "fold": fold, "method": method}
    record["accuracy"] = score(part, name, fold, method, where)
    record |= {"seconds": time.perf_counter() - start, "device": where}
    path = path_of(task, out)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.with_suffix(".part").write_text(json.dumps(record))
    path.with_suffix(".part").replace(path)
    return record


def path_of(task, out):
    part, name, fold, method = task
    return out / part / f"{name}-{fold}-{method.replace(' ', '_')}.json"


def tasks_of(command, sets, folds, methods):
    """Return what is to be done, the longest first."""
    if command == "choose":
        return [
            ("inner", name, fold, method)
            for fold in range(min(folds, INNER_FOLDS))
            for name in sets
            for method in methods or CANDIDATES
        ]
    found = []
    for method in methods or METHODS:
        for name in sets:
            if method in ("SIN", "GIN"):
                found += [("outer", name, "all", method)] if name in GENERATED else []
            else:
                found += [("outer", name, fold, method) for fold in range(folds)]
    return found


def published(results):
    """Return the honest accuracies of the experiments' SIN and GIN on TU sets, seed 0, by fold."""
    found = {}
    for name in TU:
        for kind in ("SIN", "GIN"):
            rows = defaultdict(dict)  # of seed 0, by fold
            for path in results.glob(f"tu/{name.lower()}-{kind.lower()}*/*.json"):
                runs = json.loads(path.read_text())["runs"]
                rows[path.parent.name] |= {r["fold"]: r["metrics"] for r in runs if not r["seed"]}
            whole = [[row[fold] for fold in sorted(row)] for row in rows.values() if len(row) == 10]
            if whole:
                best = max(whole, key=lambda row: np.mean([fold["val"] for fold in row]))
                found[name, kind] = [fold["honest"] for fold in best]
    return found


def records(out):
    """Return the records in a folder, or in a file with one a line."""
    if out.is_file():
        return [json.loads(line) for line in out.read_text().splitlines()]
    return [json.loads(path.read_text()) for path in sorted(out.glob("*/*.json"))]


def tables(out, results):
    """Return the two tables of all records, as lines of Markdown."""
    inner, outer, seconds = defaultdict(list), defaultdict(list), defaultdict(list)
    for record in records(out):
        key = record["set"], record["method"]
        found = record["accuracy"] if isinstance(record["accuracy"], list) else [record["accuracy"]]
        (inner if record["part"] == "inner" else outer)[key] += found
        seconds[record["part"], *key].append(record["seconds"])
    outer |= published(results)
    lines = []
    for title, table, methods in (("inner", inner, CANDIDATES), ("outer", outer, METHODS)):
        sets = [name for name in (*TU, *GENERATED) if any(key[0] == name for key in table)]
        found = {method for _, method in table}
        names = [m for m in [*methods, *sorted(found - set(methods))] if m in found]
        if not sets:
            continue
        lines += [f"| {title} | {' | '.join(sets)} | mean | seconds |"]
        lines += ["|---" * (len(sets) + 3) + "|"]
        for method in names:
            rows = [table.get((name, method), []) for name in sets]
            cells = [
                f"{100 * np.mean(row):.1f} ± {100 * np.std(row, ddof=1) / len(row) ** 0.5:.1f}"
                if len(row) > 1
                else "".join(f"{100 * value:.1f}" for value in row)
                for row in rows
            ]
            mean = f"{100 * np.mean([np.mean(row) for row in rows]):.2f}" if all(rows) else ""
            spent = [s for name in sets for s in seconds[title, name, method]]
            lines.append(f"| {method} | {' | '.join(cells)} | {mean} | {sum(spent):.0f} |")
        lines.append("")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("command", choices=("choose", "compare", "report"))
    parser.add_argument("--out", type=Path, default=Path("runs/estimators"))
    parser.add_argument("--sets", nargs="+", default=[*TU, *GENERATED])
    parser.add_argument("--methods", nargs="+", help="some of the candidates or methods only")
    parser.add_argument("--folds", type=int, default=10)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--jobs", type=int, default=1, help="fits at a time, in processes")
    parser.add_argument("--minutes", type=float, default=60, help="time to stop after")
    parser.add_argument("--quick", action="store_true", help="two generated sets, two folds")
    parser.add_argument("--pack", type=Path, help="write all records to this file, one a line")
    parser.add_argument("--results", type=Path, default=Path("reproduction/results"))
    options = parser.parse_args()
    if options.quick:
        options.sets, options.folds = ["blocks", "ages"], 2
    if options.command != "report":
        every = tasks_of(options.command, options.sets, options.folds, options.methods)
        todo = [task for task in every if not path_of(task, options.out).exists()]
        end = time.monotonic() + 60 * options.minutes
        with ProcessPoolExecutor(options.jobs, get_context("spawn")) as pool:
            futures = [pool.submit(run, task, options.out, options.device) for task in todo]
            for i, (task, future) in enumerate(zip(todo, futures, strict=True)):
                try:
                    record = future.result(timeout=max(0.0, end - time.monotonic()))
                except TimeoutError:
                    print(f"stopped: {len(todo) - i} of {len(todo)} tasks may be left", flush=True)
                    for process in list(pool._processes.values()):
                        process.terminate()
                    break
                except Exception as error:  # one fit that fails is said, the others go on
                    print(f"failed: {task}: {error!r}", flush=True)
                else:
                    print(json.dumps(record), flush=True)
    if options.pack:
        lines = [json.dumps(record) + "\n" for record in records(options.out)]
        options.pack.write_text("".join(lines))
    print("\n".join(tables(options.out, options.results)))


if __name__ == "__main__":
    main()
