"""The experiments by name: what ``mpsn reproduce NAME`` does, and which options it takes.

This module imports nothing heavy, so that ``--help`` answers at once.
"""

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mpsn_reproduction.experiment import Experiment


@dataclass(frozen=True)
class Entry:
    """An experiment in the catalog; its code is in the module ``papers.NAME``.

    Attributes:
        help: What it does, as ``--help`` prints it.
        subset: Name and help of the option that selects data sets, if there are several.
        reads_data: Whether it reads data sets from files.
        has_precision: Whether the settings of its networks have a precision.
    """

    help: str
    subset: tuple[str, str] | None = None
    reads_data: bool = True
    has_precision: bool = False


CATALOG = {
    "regions": Entry(
        """Count the linear regions of GNN, SCNN and MPSN layers, exactly, beside the theorems'.

        For GNN and SCNN the theorems give the number itself, for MPSN an upper bound. Also draws
        the paper's figures: the regions in a slice of input space, of all three on a triangle, and
        with edge features populated from vertices.

        Example: mpsn reproduce regions
        """,
        reads_data=False,
    ),
    "sr": Entry(
        """Distinguish strongly regular graphs: exact SWL, untrained SIN, MLP-sum, GIN and others.

        Prints the fraction of the pairs of each family that are indistinguishable to a model,
        beside the authors' code, and draws the paper's figure. Families that are not at hand
        are left out and reported.

        Example: mpsn reproduce sr --quick
        """,
        ("family", "Families such as 'SR(25,12,5,6)', comma- or space-separated. Defaults to all."),
    ),
    "brec": Entry(
        """Distinguish the pairs of BREC: exact tests on graphs and complexes, untrained networks.

        Prints how many of the 400 pairs each test distinguishes, by category: WL, 2-FWL, SWL on
        cliques and rings, marked refinement; and whether networks distinguish the same pairs as
        their test.

        Example: mpsn reproduce brec --quick --data DIR
        """,
        ("category", "Comma-separated categories such as CFI. Defaults to all."),
    ),
    "flow": Entry(
        """Classify trajectories around two holes by their edge flows, in unseen orientations.

        Trains the paper's five models and prints their accuracies beside the paper's; draws the
        complex with a trajectory of each class, the flows in the harmonic space, and the training
        curves.

        Example: mpsn reproduce flow --quick
        """,
        reads_data=False,
        has_precision=True,
    ),
    "ocean": Entry(
        """Classify ocean drifters by the way they turn around Madagascar.

        Like `mpsn reproduce flow`, on real tracks, with simple baselines and a model beyond the
        paper.

        Example: mpsn reproduce ocean --data DIR
        """,
        has_precision=True,
    ),
    "tu": Entry(
        """Classify the graphs of the TU data sets: SIN, other networks, and kernels.

        Models are sin, hierarchical (sin with pooling, on PROTEINS) and gin; dcnn, dgcnn, gsn, ign,
        ngn and ppgn; swl-kernel, wl-kernel, walk-kernel, graphlet-kernel and propagation-kernel.
        Trains on ten folds, SIN and GIN side by side on a GPU, and prints two accuracies: under the
        paper's protocol, which selects the epoch on the test folds, and under an honest one. SIN
        and GIN have three seeds or --seeds, other models one. Data sets that are not at hand
        are left out and reported. See also `mpsn reproduce fair`.

        Example: mpsn reproduce tu --dataset PROTEINS --model sin,gin --device cuda
        """,
        (
            "dataset",
            "Comma-separated data sets such as IMDB-BINARY, or any that is at DIR/tu/NAME.zip or "
            "DIR/tu/NAME/ with --data DIR. Defaults to the paper's.",
        ),
        has_precision=True,
    ),
    "fair": Entry(
        """Classify the graphs of the TU data sets on the splits of Errica et al. (2020).

        Trains SIN, GIN and a structure-agnostic baseline on ten folds, each with its own validation
        part to select epoch and settings by, and prints test accuracies beside published ones.
        Reads DIR/fair_splits/NAME_splits.json.

        Example: mpsn reproduce fair --dataset IMDB-BINARY --device cuda --data DIR
        """,
        ("dataset", "Comma-separated data sets such as IMDB-BINARY. Defaults to all."),
        has_precision=True,
    ),
    "imdb": Entry(
        """Study why SIN trails GIN on the IMDB data sets: one change at a time.

        Trains variants of SIN and GIN (width, depth, readout, normalization, features, dropout,
        aggregation) inside the training parts of the folds, and prints their accuracies there, and
        paired differences to GIN with standard errors.

        Example: mpsn reproduce imdb --model gin,sin,sin-small --device cuda --data DIR
        """,
        has_precision=True,
    ),
    "shapes": Entry(
        """Classify point clouds on a sphere, torus, Klein bottle and double torus.

        Trains GIN, SIN, and SIN with pooling on Rips complexes with lengths as features, and prints
        their accuracies on unseen clouds; draws the clouds, and what pooling keeps of them.

        Example: mpsn reproduce shapes --quick
        """,
        reads_data=False,
        has_precision=True,
    ),
    "surfaces": Entry(
        """Recognize triangulated surfaces: type, orientability, genus and Betti number.

        Trains GIN, SIN, SIN with harmonic features, an oriented network and a diffusion on all
        surfaces with up to 10 vertices, and tests them on others and on barycentric subdivisions,
        beside rules that count cells or compute Betti numbers.

        Example: mpsn reproduce surfaces --quick --data DIR
        """
    ),
    "coauthor": Entry(
        """Impute missing citations in a complex of co-authors.

        Hides 10 to 50 % of the citations in every dimension and compares the median, the mean over
        neighbors, bounds by faces and co-faces, SNN (Ebli et al. 2020) and a general MPSN.

        Example: mpsn reproduce coauthor --quick --data DIR
        """,
        ("missing", "Comma-separated percentages such as 30, or 'given'. Defaults to all."),
    ),
    "closure": Entry(
        """Predict which triples of vertices become triangles.

        In the co-author complex, and in temporal sets of e-mails and contacts: common neighbors,
        means of edge weights, a logistic regression and a network.

        Example: mpsn reproduce closure --quick --data DIR
        """,
        ("dataset", "Comma-separated data sets such as email-Enron. Defaults to all."),
    ),
    "next": Entry(
        """Predict the next step of ocean drifters: SCoNe, an oriented network, Markov chains.

        Trains on paths and tests on others, forward and reversed, in ten splits.

        Example: mpsn reproduce next --quick --data DIR
        """
    ),
    "zinc": Entry(
        """Predict the penalized logP of molecules on ZINC: CIN on rings, and GIN with bonds.

        Trains all seeds of a network side by side on a GPU, and prints the mean absolute error in
        validation and testing beside published ones. Reads DIR/zinc/zinc12k.csv, for which it needs
        RDKit, or DIR/zinc/zinc12k.npz, packed by mpsn_reproduction.pack.

        Example: mpsn reproduce zinc --data DIR --device cuda
        """,
        has_precision=True,
    ),
    "molhiv": Entry(
        """Predict activity against HIV on the scaffold split of ogbg-molhiv: CIN, GIN, a forest.

        Prints ROC-AUC in validation and testing beside published ones. Reads DIR/molecules/HIV.csv,
        or the packed HIV.npz, as `mpsn reproduce zinc` does; the forest, on fingerprints, needs
        RDKit and scikit-learn.

        Example: mpsn reproduce molhiv --data DIR --device cuda
        """,
        has_precision=True,
    ),
    "moleculenet": Entry(
        """Predict solubility (ESOL) and hydration free energy (FreeSolv), split by scaffold.

        Prints root mean squared errors of CIN, GIN and a forest on fingerprints. Reads CSV files in
        DIR/molecules, or packed ones, as `mpsn reproduce zinc` does.

        Example: mpsn reproduce moleculenet --data DIR
        """,
        ("dataset", "ESOL or FreeSolv. Defaults to both."),
        has_precision=True,
    ),
    "counting": Entry(
        """Count cycles of length 3 to 6, and chordal 4-cycles: CIN on rings, SIN, and GIN.

        Prints mean absolute errors of standardized counts of subgraphs beside published ones. Reads
        DIR/counting/regular5000.g6 and its split.

        Example: mpsn reproduce counting --data DIR --device cuda
        """,
        has_precision=True,
    ),
}


def find(name: str) -> "Experiment":
    """Return an experiment by its name in the catalog."""
    experiment: Experiment = import_module(f"mpsn_reproduction.papers.{name}").EXPERIMENT
    return experiment
