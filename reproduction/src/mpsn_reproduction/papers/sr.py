"""Strongly regular graphs: pairs indistinguishable to an untrained network (figure "exp_sr").

All graphs of a family are lifted to clique complexes of full dimension; vertices have the feature
1, higher simplices the sum over their vertices. A network with random weights embeds them, and
fails on a pair if the two embeddings are closer than a threshold. The exact answer for networks of
any depth and width is the simplicial Weisfeiler-Lehman test, SWL: none can do better.
"""

import re
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, Self, TypeVar

import torch
from torch import Tensor

from mpsn.complexes import Complex, ComplexDataset
from mpsn.convert import Graph
from mpsn.datasets import SR_FAMILIES, strongly_regular
from mpsn.errors import ConfigError, MPSNError
from mpsn.lifting import clique_complexes, ring_complexes
from mpsn.nn import ComplexReadout, mlp
from mpsn.nn.models import GIN, SIN, Model
from mpsn.training import seeded
from mpsn.wl import swl
from mpsn_reproduction.baselines import check_baseline, make_baseline
from mpsn_reproduction.experiment import Experiment, Job, Resources, Run
from mpsn_reproduction.papers.sr_table import figures, measured, table
from mpsn_reproduction.settings import Network

M = TypeVar("M", bound=torch.nn.Module)
NUMBERS = 1 << 20  # features of one layer that are computed at a time
COPIES = 32  # graphs that are relabeled to measure rounding
Parameters = tuple[int, int, int, int]
CONSTRUCTED = tuple(p for p, family in SR_FAMILIES.items() if family.construct is not None)


def name_of(parameters: Parameters) -> str:
    """Return the name of a family, such as SR(16,6,2,2)."""
    return f"SR({','.join(map(str, parameters))})"


class MLPSum(Model):
    """A dense layer per dimension and SIN's readout, without messages (appendix F of the paper).

    If features depend on the dimension only, it distinguishes complexes by their numbers of cells
    only.

    Args:
        in_channels: Width of the features of cells. Defaults to 1.
        hidden: Width of the dense layer of each dimension; twice that in the readout. Defaults to
            256.
        out_channels: Width of the embedding. Defaults to 16.
        max_dim: Largest dimension of the cells used. Defaults to 2.
        act: Non-linearity throughout: ``"elu"``, ``"relu"`` or ``"tanh"``. Defaults to ``"elu"``.
        shared_readout: Whether the readout shares one dense layer, of width ``hidden``, between
            dimensions, as in the authors' code; in the paper each has its own, of twice that
            width. Defaults to False.
        final_act: Whether the non-linearity follows the last dense layer, as in the paper, but not
            in the authors' code. Defaults to False.

    Shapes:
        Reads K.x, or features (n_k, F) per dimension passed beside K; returns (C, out_channels)
        for a union of C complexes.

    Example:
        >>> from mpsn_reproduction.papers.sr import MLPSum
        >>> K = mpsn.clique_complex(nx.karate_club_graph(), max_dim=2)
        >>> K = mpsn.lift_features(K.replace(x=[torch.ones(34, 1)]), "sum")
        >>> MLPSum()(K).shape
        torch.Size([1, 16])
    """

    def __init__(
        self,
        in_channels: int = 1,
        hidden: int = 256,
        out_channels: int = 16,
        max_dim: int = 2,
        act: Literal["elu", "relu", "tanh"] = "elu",
        shared_readout: bool = False,
        final_act: bool = False,
    ) -> None:
        super().__init__(locals())
        self.in_channels, self.hidden, self.max_dim = in_channels, hidden, max_dim
        dims = range(max_dim + 1)
        self.dense = torch.nn.ModuleList(mlp([in_channels, hidden], act) for _ in dims)
        self.readout = ComplexReadout(
            hidden,
            hidden if shared_readout else 2 * hidden,
            out_channels,
            dims=dims,
            act=act,
            shared=shared_readout,
            final_act=final_act,
        )

    def forward(self, K: Complex, xs: Sequence[Tensor | None] | None = None) -> Tensor:
        """Return one row per complex."""
        hs = dict(enumerate(self.features_of(K, xs)))
        nothing = self.readout.last.weight.new_zeros(0, self.in_channels)
        rows = (nothing if hs.get(k) is None else hs[k] for k in range(self.max_dim + 1))
        out: Tensor = self.readout(K, [dense(h) for dense, h in zip(self.dense, rows, strict=True)])
        return out


@dataclass(frozen=True)
class SRConfig:
    """A network to embed the graphs with, or none for exact SWL, and when a pair counts as equal.

    At most one of ``sin``, ``mlp_sum`` and ``gin`` is given. Its ``max_dim`` is replaced by the
    largest dimension in the family.
    """

    sin: Network[SIN] | None = None
    """Settings of SIN, if that is the network."""
    mlp_sum: Network[MLPSum] | None = None
    """Settings of MLP-sum, if that is the network."""
    gin: Network[GIN] | None = None
    """Settings of GIN, or of the baseline, if that is the network."""
    baseline: str = ""
    """Network that takes the settings of GIN in its place: gsn, ign or ppgn."""
    gain: float = 1.0
    """Factor of the default initial weights and biases before the readout."""
    dtype: Literal["float32", "float64"] = "float64"
    """Precision of the network."""
    distance: Literal["absolute", "rounding"] = "absolute"
    """Unit of eps: 1, or the largest distance between the embeddings of a graph and of the same
    graph with its vertices in another order, which is only rounding."""
    eps: float = 0.01
    """Two embeddings at most this far apart count as equal."""
    max_ring: int = 0
    """Largest number of vertices of the rings that replace cliques, if any, in the exact test or
    in GSN."""
    families: tuple[str, ...] = tuple(map(name_of, SR_FAMILIES))
    """Families of graphs, by name."""

    def __post_init__(self) -> None:
        if (self.sin, self.mlp_sum, self.gin).count(None) < 2:
            raise ConfigError("Expected one of sin, mlp_sum and gin, or none, got several.")
        check_baseline(self.baseline, self.gin)
        if self.max_ring and not self.exact and self.baseline != "gsn":
            raise ConfigError("Expected max_ring for the exact test or GSN, got another network.")
        known = [name_of(p) for p in SR_FAMILIES]
        for name in set(self.families) - set(known):
            raise ConfigError(f"Expected families among {', '.join(known)}, got {name!r}.")

    @property
    def exact(self) -> bool:
        """Whether this is exact SWL."""
        return self.sin is None and self.mlp_sum is None and self.gin is None

    def quick(self) -> Self:
        """Return the small version: the families that are constructed."""
        return replace(self, families=tuple(map(name_of, CONSTRUCTED)))


def jobs(row: str, config: SRConfig, seeds: tuple[int, ...]) -> list[Job]:
    """Return one job per family, for all seeds together; exact SWL has nothing random."""
    return [Job(row, config, name, (0,) if config.exact else seeds) for name in config.families]


def steps(job: Job) -> int:
    """Return the number of graphs."""
    return SR_FAMILIES[_parameters(job.data)].size


def read(family: str, folder: Path | None) -> list[Graph]:
    """Read or construct the graphs of a family."""
    return strongly_regular(*_parameters(family), data=folder)


def work(job: Job, resources: Resources) -> list[Run]:
    """Count the pairs that are indistinguishable to each seed's network, or to exact SWL."""
    config: SRConfig = job.config
    device, graphs = resources.device, resources.data

    def lift(graphs: Sequence[Any]) -> ComplexDataset[Any]:
        if config.max_ring:
            return ring_complexes(graphs, config.max_ring, device=device)
        return clique_complexes(graphs, None, device=device)

    lifted = lift(graphs)
    if config.exact:
        equal = swl_pairs(lifted)
        resources.tick(len(lifted))
        return [Run(seed, 0, _rate(len(equal), int(equal.sum()))) for seed in job.seeds]
    networks = [build(config, seed, lifted.union.dim).to(device) for seed in job.seeds]
    embeddings = embed(networks, lifted, resources.tick)
    if config.distance == "absolute":
        return [
            Run(seed, 0, close(rows, config.eps))
            for seed, rows in zip(job.seeds, embeddings, strict=True)
        ]
    exact = None if config.baseline else swl_pairs(lifted)
    copies = lift(list(map(relabel, graphs[:COPIES])))
    return [
        Run(seed, 0, against_swl(rows, again, exact, config.eps))
        for seed, rows, again in zip(job.seeds, embeddings, embed(networks, copies), strict=True)
    ]


def build(config: SRConfig, seed: int, max_dim: int) -> Model:
    """Return the network with the random weights of a seed."""

    def make() -> Model:
        if config.gin is not None:
            return make_baseline(config.baseline, config.gin) if config.baseline else config.gin()
        network = config.sin or config.mlp_sum
        assert network is not None
        return network(max_dim=max_dim)

    return untrained(make, seed, config.dtype, config.gain)


def untrained(make: Callable[[], M], seed: int, dtype: str, gain: float) -> M:
    """Return a network with the random weights of a seed, by torch's default initialization.

    They are drawn in the precision of the network, as in the authors' code.
    """
    cpu = torch.device("cpu")
    with seeded(seed, cpu):
        network = make().to(getattr(torch, dtype)).eval()
    with seeded(seed, cpu):
        for module in network.modules():
            if isinstance(module, torch.nn.Linear):
                module.reset_parameters()
    with torch.no_grad():
        for name, parameter in network.named_parameters():
            if not name.startswith("readout"):
                parameter.mul_(gain)
    return network


def embed(
    networks: Sequence[Any],
    lifted: ComplexDataset[Any],
    tick: Callable[[int], object] = lambda done: None,
) -> list[Tensor]:
    """Embed complexes with networks of one kind, part by part, as (complexes, width) doubles each.

    The parts are so small that one layer has about ``NUMBERS`` features; each is computed in one
    thread, so that results do not depend on the number of threads.
    """
    per_graph = sum(lifted.union.counts) // len(lifted) + 1
    size = max(1, NUMBERS // networks[0].hidden // per_graph)
    parts = [slice(i, i + size) for i in range(0, len(lifted), size)]

    @torch.inference_mode()
    def embed_part(part: slice) -> list[Tensor]:
        K, first = lifted.batch(part), networks[0]
        like = first.readout.last.weight
        xs = [like.new_full((n, 1), k + 1) for k, n in enumerate(K.counts[: first.max_dim + 1])]
        return [network(K, xs).double() for network in networks]

    threads, embeddings = torch.get_num_threads(), []
    pool = ThreadPoolExecutor(threads if lifted.union.device.type == "cpu" else 1)
    torch.set_num_threads(1)
    try:
        for rows in pool.map(embed_part, parts):
            embeddings.append(rows)
            tick(len(rows[0]))
    finally:
        pool.shutdown(cancel_futures=True)
        torch.set_num_threads(threads)
    return [torch.cat(rows) for rows in zip(*embeddings, strict=True)]


def relabel(graph: Graph) -> Graph:
    """Return the same graph with its vertices in another, fixed random order."""
    order = torch.randperm(graph.num_nodes, generator=torch.Generator().manual_seed(0))
    return graph._replace(edge_index=order[graph.edge_index])


def swl_pairs(lifted: ComplexDataset[Any]) -> Tensor:
    """Return which pairs are indistinguishable to SWL, (n(n-1)/2,), in the order of torch.pdist.

    Once stable, co-faces tell as much as upper neighbors and are fewer.
    """
    labels = swl(lifted, ("boundary", "coboundary")).classes()
    return torch.pdist(labels[:, None].double()) == 0


def against_swl(
    rows: Tensor, again: Tensor, exact: Tensor | None, eps: float
) -> dict[str, int | float]:
    """Compare the pairs that are equal up to rounding with those of SWL, if these are given.

    ``rows`` are embeddings (n, width), ``again`` those of the first graphs with vertices in another
    order; embeddings at most ``eps`` times as far apart as these count as equal.
    """
    rounding = (rows[: len(again)] - again).norm(dim=1).max()
    least = torch.finfo(rows.dtype).eps * rows.norm(dim=1).max()
    unit, distances = float(torch.maximum(rounding, least)), torch.pdist(rows)
    failed = distances <= eps * unit
    metrics = _rate(len(failed), int(failed.sum())) | {"rounding": unit}
    if exact is None:
        return metrics | {"largest": float(distances.max())}
    metrics |= {
        "as_swl": float(torch.equal(failed, exact)),
        "told_apart_against_swl": int((exact & ~failed).sum()),
    }
    if exact.any():
        metrics["largest_equal"] = float(distances[exact].max())
    if not exact.all():
        metrics["smallest_different"] = float(distances[~exact].min())
    return metrics


def close(rows: Tensor, eps: float) -> dict[str, int | float]:
    """Count the pairs of embeddings that are at most ``eps`` apart."""
    if not rows.isfinite().all():
        raise MPSNError(
            "Expected embeddings that are finite, got others: use a smaller gain or fewer layers."
        )
    distances = torch.pdist(rows)
    return _rate(len(distances), int((distances <= eps).sum()))


def _rate(pairs: int, failed: int) -> dict[str, int | float]:
    return {"pairs": pairs, "failed": failed, "rate": failed / pairs}


def _parameters(name: str) -> Parameters:
    n, d, lam, mu = map(int, re.findall(r"\d+", name))
    return n, d, lam, mu


EXPERIMENT = Experiment(
    "sr", SRConfig, jobs, read, work, steps, table, figures, seeds=10, measured=measured
)
