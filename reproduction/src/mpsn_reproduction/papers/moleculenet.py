"""Solubility and hydration free energy: ESOL and FreeSolv of MoleculeNet, split by scaffold."""

from functools import partial
from pathlib import Path

from mpsn.datasets._scaffolds import scaffold_split
from mpsn_reproduction.experiment import Experiment, Job
from mpsn_reproduction.papers.graph_data import GraphData, molecules
from mpsn_reproduction.papers.graph_level import GraphLevelConfig, measured, steps, work
from mpsn_reproduction.papers.graph_table import figures, table

MAX_RING = 6  # larger ones are many in fused rings, and rare elsewhere
SETS = {  # file and target
    "ESOL": ("molecules/ESOL_delaney-processed", "measured log solubility in mols per litre"),
    "FreeSolv": ("molecules/FreeSolv_SAMPL", "expt"),
}
NOTES = [
    "One scaffold split, about 80, 10 and 10 % of the molecules, frequent scaffolds in training, "
    "as in MoleculeNet; targets are the log of solubility in mol/l, and kcal/mol. The forest is on "
    "Morgan fingerprints.",
]


def jobs(row: str, config: GraphLevelConfig, seeds: tuple[int, ...]) -> list[Job]:
    """Return one job per data set, for all seeds."""
    return [Job(row, config, name, seeds) for name in SETS]


def read(name: str, folder: Path | None) -> GraphData:
    """Read the molecules of a data set."""
    file, target = SETS[name]
    return molecules(
        file, target, lambda table, path: scaffold_split(table.molecules), folder, MAX_RING
    )


EXPERIMENT = Experiment(
    "moleculenet",
    GraphLevelConfig,
    jobs,
    read,
    partial(work, "rmse", ("y",)),
    steps,
    partial(table, "ESOL and FreeSolv: root mean squared error", "lowest", {}, NOTES, ()),
    partial(figures, "moleculenet", "root mean squared error"),
    seeds=5,
    measured=partial(measured, ("y",)),
    parallel=True,
)
