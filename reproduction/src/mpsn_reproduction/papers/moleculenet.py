"""Solubility and hydration free energy: ESOL and FreeSolv of MoleculeNet, split by scaffold."""

from collections.abc import Sequence
from pathlib import Path

from mpsn.datasets import scaffolds
from mpsn_reproduction.experiment import Job
from mpsn_reproduction.papers.graph_data import GraphData, molecules
from mpsn_reproduction.papers.graph_level import GraphLevelConfig, experiment

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


def scaffold_split(molecules: Sequence[object]) -> list[str]:
    """Return the part of each molecule: train for about 80 %, val and test for about 10 % each.

    Scaffolds are taken by the number of their molecules, the most frequent first, as MoleculeNet
    does: each goes to the first part that has room for it.

    Example:
        >>> from mpsn_reproduction.papers.moleculenet import scaffold_split
        >>> scaffold_split(["C1CC1", *["c1ccccc1"] * 8, "C1CCC1"])
        ['val', 'train', 'train', 'train', 'train', 'train', 'train', 'train', 'train', 'test']
    """
    groups: dict[str, list[int]] = {}
    for i, scaffold in enumerate(scaffolds(molecules)):
        groups.setdefault(scaffold, []).append(i)
    parts = ["test"] * len(molecules)
    room = {"train": 0.8 * len(molecules), "val": 0.1 * len(molecules)}
    for group in sorted(groups.values(), key=len, reverse=True):
        part = next((name for name, left in room.items() if len(group) <= left + 1e-9), "test")
        for i in group:
            parts[i] = part
        if part in room:
            room[part] -= len(group)
    return parts


def read(name: str, folder: Path | None) -> GraphData:
    """Read the molecules of a data set."""
    file, target = SETS[name]
    return molecules(
        file, target, lambda path, table: scaffold_split(table.molecules), folder, MAX_RING
    )


EXPERIMENT = experiment(
    "moleculenet", read, "rmse", "ESOL and FreeSolv", NOTES, jobs=jobs, parallel=True
)
