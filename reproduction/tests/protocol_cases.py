"""Every experiment that trains or fits, in small."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import protocol_data as made
from mpsn.nn import models
from mpsn_reproduction.experiment import Experiment, Job
from mpsn_reproduction.papers import (
    closure,
    coauthor,
    counting,
    fair,
    flow,
    imdb,
    molhiv,
    ocean,
    shapes,
    surfaces,
    tu,
    zinc,
)
from mpsn_reproduction.papers import next as next_node
from mpsn_reproduction.papers.graph_level import Forest, GraphLevelConfig
from mpsn_reproduction.papers.tu import Baseline, TUConfig
from mpsn_reproduction.papers.tu_kernels import KernelConfig
from mpsn_reproduction.settings import Network
from mpsn_reproduction.train import CosineTraining, StepTraining

HALVED = [0.5, 0.5, 0.25, 0.25, 0.125]  # from 0.5, every second epoch
TENTHS = [0.1, 0.1, 0.05, 0.05, 0.025]


@dataclass(frozen=True)
class Case:
    """An experiment in small.

    Attributes:
        experiment: The experiment.
        config: Its settings.
        data: Makes its data, always the same.
        spoil: From data and job to the data with another test part.
        tested: Beginnings of the names of metrics and curves that are about the test part.
        rates: The learning rate of each epoch, of every network; none if nothing is trained.
        name: Name of the data, for the job.
        fixed: The function that divides the data by labels, as module and name: it is to divide
            spoiled data as the others.
        random: Whether anything depends on the seed.
        together: Whether a job may have several seeds.
    """

    experiment: Experiment
    config: Any
    data: Callable[[], Any]
    spoil: Callable[[Any, Job], Any]
    tested: tuple[str, ...]
    rates: Sequence[float] = ()
    name: str = ""
    fixed: tuple[Any, str] | None = None
    random: bool = True
    together: bool = True

    def job(self, *seeds: int) -> Job:
        """Return the job of some seeds, on the first fold."""
        return Job("row", self.config, self.name, seeds or (0,))


SIN = Network(models.SIN, hidden=4, layers=1, dropout=0.5, norm=True, coface_message=False)
GIN = Network(models.GIN, hidden=4, layers=1, dropout=0.5, norm=True)
HOW = StepTraining(epochs=5, batch_size=16, lr=0.5, decay_every=2, decay=0.5)
TU = TUConfig("PROTEINS", sin=SIN, train=HOW)
DGCNN = replace(TU, sin=None, gin=Baseline(network="dgcnn", hidden=4, layers=1))
KERNEL = TUConfig("PROTEINS", kernel=KernelConfig("wl", (0, 1), (1.0, 10.0), 2))
IMDB = imdb.IMDBConfig(gin=GIN, train={"made": HOW}, test=True)
ON_TEST = ("honest", "val_test", "test")


COSINE = [0.25, 0.5 * 0.9045085, 0.5 * 0.6545085, 0.5 * 0.3454915, 0.5 * 0.0954915]
LEVEL = CosineTraining(epochs=5, batch_size=6, lr=0.5, warmup=2, average=0.5)
CIN = GraphLevelConfig(
    cin=Network(models.CIN, hidden=4, layers=1, norm=True, dropout=0.5), train=LEVEL
)
GINE = GraphLevelConfig(
    gin=Network(models.GIN, hidden=4, layers=1, norm=True, edge_channels=1), train=LEVEL
)
FOREST = GraphLevelConfig(forest=Forest(trees=5, bits=64))
COUNTING = counting.CountingConfig(cin=CIN.cin, train=LEVEL)


FLOW = flow.FlowConfig(
    model=Network(models.EdgeFlowNet, hidden=4, layers=1),
    training=flow.Training(epochs=5, batch=8, lr=0.1, halve_every=2),
)
OCEAN = ocean.OceanConfig(
    model=Network(ocean.MapFlowNet, coordinates=2, dims=(0, 1), hidden=4), training=FLOW.training
)
LOGISTIC = replace(OCEAN, model=ocean.LogisticConfig("flow"))
STEPS = next_node.Training(epochs=2, batch=8, lr=0.1)
NEXT = next_node.NextConfig(next_node.SCoNeConfig(hidden=4, layers=1), STEPS)
ORIENTED = next_node.NextConfig(next_node.OrientedConfig(width=4, depth=1, coordinates=2), STEPS)


SHAPES = shapes.ShapesConfig(
    replace(HOW, lr=0.02), gin=Network(models.GIN, hidden=8, layers=1), per_class=5, points=12
)
SURFACES = surfaces.SurfacesConfig("sin", 4, 1, epochs=4, batch=8, lr=0.1, subdivisions=1)
CITED = coauthor.CoauthorConfig(training=coauthor.Training(epochs=3, lr=0.1))
CLOSURE = closure.ClosureConfig(network=closure.Network(hidden=4, epochs=3, lr=0.1))

CASES = {
    "tu sin": Case(tu.EXPERIMENT, TU, made.folds, made.spoil_fold, ON_TEST, HALVED),
    "tu dgcnn": Case(tu.EXPERIMENT, DGCNN, made.folds, made.spoil_fold, ON_TEST, HALVED),
    "tu kernel": Case(tu.EXPERIMENT, KERNEL, made.folds, made.spoil_fold, ON_TEST, random=False),
    "fair": Case(
        fair.EXPERIMENT,
        replace(TU, whole=False),
        lambda: made.folds(validation=True),
        made.spoil_fold,
        (*ON_TEST, "imbalance"),
        HALVED,
    ),
    "imdb": Case(
        imdb.EXPERIMENT, IMDB, made.folds, made.spoil_fold, ("score", "last"), HALVED, "made"
    ),
    "imdb inside": Case(
        imdb.EXPERIMENT, replace(IMDB, test=False), made.folds, made.spoil_fold, (), HALVED, "made"
    ),
    "imdb lookup": Case(
        imdb.EXPERIMENT,
        replace(IMDB, gin=None, lookup="degrees"),
        made.folds,
        made.spoil_fold,
        ("score", "ceiling"),
        name="made",
        random=False,
    ),
    "shapes": Case(
        shapes.EXPERIMENT,
        SHAPES,
        made.clouds,
        made.spoil_clouds,
        ("accuracy", "test"),
        [0.02, 0.02, 0.01, 0.01, 0.005],
        fixed=(shapes, "splits"),
    ),
    "zinc cin": Case(
        zinc.EXPERIMENT, CIN, lambda: made.categories(1), made.spoil_part, ("test", "last"), COSINE
    ),
    "molhiv gin": Case(
        molhiv.EXPERIMENT,
        GINE,
        lambda: made.categories(1),
        made.spoil_part,
        ("test", "last"),
        COSINE,
    ),
    "molhiv forest": Case(
        molhiv.EXPERIMENT,
        FOREST,
        lambda: made.categories(1, True),
        made.spoil_part,
        ("test", "last"),
    ),
    "counting": Case(
        counting.EXPERIMENT,
        COUNTING,
        lambda: made.categories(5),
        made.spoil_part,
        ("test", "last"),
        COSINE,
    ),
    "flow": Case(flow.EXPERIMENT, FLOW, made.flows, made.spoil_flows, ("test",), TENTHS),
    "ocean": Case(ocean.EXPERIMENT, OCEAN, made.flows, made.spoil_flows, ("test",), TENTHS),
    "ocean logistic": Case(
        ocean.EXPERIMENT, LOGISTIC, made.flows, made.spoil_flows, ("test",), random=False
    ),
    "next scone": Case(
        next_node.EXPERIMENT, NEXT, made.paths, made.spoil_paths, ("forward", "reversed"), [0.1] * 2
    ),
    "next oriented": Case(
        next_node.EXPERIMENT,
        ORIENTED,
        made.paths,
        made.spoil_paths,
        ("forward", "reversed"),
        [0.1] * 2,
    ),
    "coauthor": Case(
        coauthor.EXPERIMENT,
        CITED,
        made.citations,
        made.spoil_citations,
        ("error", "within"),
        [0.1] * 3,
        name="30",
    ),
    "closure": Case(
        closure.EXPERIMENT,
        CLOSURE,
        made.meetings,
        made.spoil_meetings,
        ("auc", "precision", "closed"),
        [0.1] * 3,
        name="email-Enron",
    ),
    "closure logistic": Case(
        closure.EXPERIMENT,
        replace(CLOSURE, score="logistic"),
        made.meetings,
        made.spoil_meetings,
        ("auc", "precision", "closed"),
        name="email-Enron",
        random=False,
    ),
    "surfaces": Case(
        surfaces.EXPERIMENT,
        SURFACES,
        made.surfaces,
        made.spoil_surfaces,
        ("test", "once", "n"),
        [0.1] * 4,
        fixed=(surfaces, "split"),
        together=False,
    ),
}
