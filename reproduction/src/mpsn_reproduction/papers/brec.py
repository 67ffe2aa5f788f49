"""BREC: pairs of graphs that are hard to distinguish, by exact tests and untrained networks.

BREC (Wang and Zhang 2024) has 400 pairs in seven categories. A test distinguishes a pair or does
not; a network with random weights, in double precision, distinguishes a pair if its embeddings are
further apart than rounding explains, and can do so at most where the test on the same complexes
does.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, Self

import torch
from torch import Tensor

from mpsn.complexes import ComplexDataset
from mpsn.convert import Graph
from mpsn.datasets import read_graphs
from mpsn.errors import ConfigError, FileError
from mpsn.lifting import Lift
from mpsn.nn.models import CIN, GIN, Model
from mpsn.wl import Refinement, individualized, kfwl, swl, wl
from mpsn_reproduction.baselines import check_baseline, make_baseline
from mpsn_reproduction.baselines.gsn import substructures
from mpsn_reproduction.experiment import Experiment, Job, Resources, Run
from mpsn_reproduction.papers.brec_table import CATEGORIES, figures, measured, table
from mpsn_reproduction.papers.sources import expect
from mpsn_reproduction.papers.sr import embed, relabel, untrained
from mpsn_reproduction.settings import Network

FILE = "brec/brec_pairs.g6"


@dataclass(frozen=True)
class BRECConfig:
    """A test, and a network to compare with it, if any."""

    test: Literal["wl", "2-fwl", "swl", "individualized", "gsn"] = "swl"
    """The test; SWL and individualization are those of the lift's complexes, and GSN is WL with the
    numbers of their cells at each vertex as initial colors."""
    lift: Literal["cliques", "rings", "cliques+rings", "cubes"] = "cliques"
    """How graphs become complexes."""
    max_dim: int | None = None
    """Largest dimension of cliques. Defaults to all cliques."""
    max_ring: int = 6
    """Largest number of vertices of a ring."""
    short_ring: int = 4
    """The same in the categories of ``short``."""
    short: tuple[str, ...] = ()
    """Categories where there are too many long rings."""
    alone: tuple[str, ...] = ()
    """Categories where the graph is taken alone, as a complex of dimension 1."""
    marks: Literal[0, 1] = 0
    """Whether to mark each vertex in turn."""
    depth: int = 1
    """How many vertices individualization marks one after another."""
    branch: Literal["largest", "all"] = "largest"
    """Which vertices it marks next: those of the largest class, or all."""
    network: Network[CIN] | None = None
    """Settings of a network to compare with the test: CIN, which is SIN on clique complexes."""
    gin: Network[GIN] | None = None
    """Settings of ``baseline``."""
    baseline: str = ""
    """Another network to compare with the test: gsn, ign or ppgn."""
    gain: float = 1.0
    """Factor of the default initial weights and biases before the readout."""
    eps: float = 100.0
    """Embeddings are different if they are more than this many times further apart than those of
    one graph with its vertices in another order."""
    categories: tuple[str, ...] = tuple(CATEGORIES)
    """Categories of pairs, by name."""

    def __post_init__(self) -> None:
        for name in {*self.categories, *self.short, *self.alone} - set(CATEGORIES):
            raise ConfigError(f"Expected categories among {', '.join(CATEGORIES)}, got {name!r}.")
        check_baseline(self.baseline, self.gin)
        if self.gin is not None and not self.baseline:
            raise ConfigError("Expected settings in gin with a baseline, got them alone.")
        if self.test != "swl" and (self.network is not None or self.marks):
            raise ConfigError(f"Expected CIN and marks with test 'swl', got {self.test!r}.")

    @property
    def exact(self) -> bool:
        """Whether there is no network."""
        return self.network is None and not self.baseline

    def quick(self) -> Self:
        """Return the small version: the two categories of the smallest graphs."""
        return replace(self, categories=("basic", "simple regular"))

    def lifted(self, graphs: Sequence[object], category: str) -> ComplexDataset[Any]:
        """Lift graphs of a category."""
        if category in self.alone:
            return Lift("cliques", max_dim=1).many(graphs)
        max_ring = self.short_ring if category in self.short else self.max_ring
        return Lift.of(self.lift, max_dim=self.max_dim, max_ring=max_ring).many(graphs)


def jobs(row: str, config: BRECConfig, seeds: tuple[int, ...]) -> list[Job]:
    """Return one job per category, for all seeds together; exact tests have nothing random."""
    return [Job(row, config, name, (0,) if config.exact else seeds) for name in config.categories]


def steps(job: Job) -> int:
    """Return the number of pairs."""
    return len(CATEGORIES[job.data])


def read(category: str, folder: Path | None) -> list[Any]:
    """Read the graphs of a category: 2i and 2i + 1 are pair i."""
    source = "github.com/GraphPKU/BREC, as graph6, two lines for each pair,"
    path = expect(FILE, source, folder)
    graphs, pairs = read_graphs(path), CATEGORIES[category]
    if len(graphs) != 800:
        raise FileError(f"Expected 400 pairs in {path}, got {len(graphs)} graphs.")
    return graphs[2 * pairs.start : 2 * pairs.stop]


def work(job: Job, resources: Resources) -> list[Run]:
    """Count the pairs that the test, or each seed's network, distinguishes."""
    config: BRECConfig = job.config
    exact = []
    for i in range(0, len(resources.data), 2):
        exact.append(distinguished(config, resources.data[i : i + 2], job.data))
        resources.tick(1)
    told = torch.tensor(exact)
    if config.exact:
        count = int(told.sum())
        return [Run(s, 0, {"pairs": len(told), "distinguished": count}) for s in job.seeds]
    return networks(config, job, resources, told)


def distinguished(config: BRECConfig, pair: Sequence[Graph], category: str) -> bool:
    """Return whether the test distinguishes two graphs.

    Once stable, co-faces tell as much as upper neighbors and are fewer. Marks can only help, so
    they are used on pairs that are indistinguishable without.
    """
    if config.test == "wl" or config.test == "2-fwl":
        return _differ(wl(pair) if config.test == "wl" else kfwl(pair, 2))
    lifted = config.lifted(pair, category)
    if config.test == "individualized":
        return _differ(individualized(lifted, config.depth, branch=config.branch))
    if config.test == "gsn":
        return _differ(wl(pair, [substructures(K) for K in lifted]))
    return any(
        _differ(swl(lifted, ("boundary", "coboundary"), marks=marks))
        for marks in range(config.marks + 1)
    )


def _differ(found: Refinement) -> bool:
    one, two = found.classes().tolist()
    return bool(one != two)


def networks(config: BRECConfig, job: Job, resources: Resources, told: Tensor) -> list[Run]:
    """Compare the embeddings of the pairs with each other, and with what the test says."""
    graphs = resources.data
    both = [config.lifted(many, job.data) for many in (graphs, list(map(relabel, graphs)))]
    max_dim = max(lifted.union.dim for lifted in both)

    def make() -> Model:
        if config.gin is not None:
            return make_baseline(config.baseline, config.gin)
        assert config.network is not None
        return config.network(max_dim=max_dim)

    models = [untrained(make, seed, "float64", config.gain) for seed in job.seeds]
    models = [model.to(resources.device) for model in models]
    first, again = (embed(models, lifted.to(resources.device)) for lifted in both)
    runs = []
    for seed, rows, copies in zip(job.seeds, first, again, strict=True):
        metrics = against_test(rows, copies, told, config.eps)
        runs.append(Run(seed, 0, {"pairs": len(told), **metrics}))
    return runs


def against_test(rows: Tensor, again: Tensor, told: Tensor, eps: float) -> dict[str, int | float]:
    """Compare pairs of embeddings, rows 2i and 2i + 1 of (2 pairs, width), with the test.

    ``again`` are the embeddings of the same graphs with vertices in another order: ``rounding`` is
    the larger difference of a pair's graphs from these, or a unit in the last place.
    """
    pairs, copies = (t.reshape(len(told), 2, -1) for t in (rows, again))
    least = torch.finfo(rows.dtype).eps * pairs.norm(dim=2).amax(1)
    unit = torch.maximum((pairs - copies).norm(dim=2).amax(1), least)
    ratio = ((pairs[:, 0] - pairs[:, 1]).norm(dim=1) / unit).cpu()
    different = ratio > eps
    metrics: dict[str, int | float] = {
        "distinguished": int(different.sum()),
        "as_test": float(torch.equal(different, told)),
        "against_test": int((different & ~told).sum()),
    }
    if not told.all():
        metrics["largest_equal"] = float(ratio[~told].max())
    if told.any():
        metrics["smallest_different"] = float(ratio[told].min())
    return metrics


EXPERIMENT = Experiment(
    "brec", BRECConfig, jobs, read, work, steps, table, figures, seeds=3, measured=measured
)
