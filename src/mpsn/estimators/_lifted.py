"""What estimators of graphs and of their cells share: how graphs become complexes with features."""

from typing import Any, ClassVar

from mpsn.estimators._features import Wanted
from mpsn.estimators._settings import with_settings
from mpsn.estimators._trained import Trained
from mpsn.lifting import AnyLift, Lift


@with_settings
class Lifted(Trained):
    """A model of graphs, which are lifted, or of complexes.

    Args:
        lift: The cells: ``"cliques"``; ``"rings"``, chordless cycles as 2-cells;
            ``"cliques+rings"``, with cliques of four and more vertices on top; ``"cubes"``; a
            function that takes a graph, as a pair of ``edge_index`` and ``num_nodes``, to a complex
            with the same vertices and at least the same edges; or another name or
            :class:`mpsn.Lift`. Lifts of more than the edges of a graph are passed graphs, points,
            ... as they are, and all features of their complexes are used. Complexes stay.
        max_dim: Largest dimension of a cell; 2 for triangles and rings.
        max_ring: Largest number of vertices of a ring.
        features: Which features to use. ``"auto"`` for all that vertices, edges and simplices have,
            and degrees, directions and multiplicities; a dictionary for the same, with the kinds
            of some attributes, ``"number"`` or ``"category"``; or only ``"x"``, ``"degree"``,
            ``"constant"``, or the attributes in a list. Matrices are called ``"x"``,
            ``"edge_attr"``, ``"x[2]"``, ..., and their columns ``"x.0"``, ``"x.1"``, ....
        dropout: Dropout rate before the last dense layer of the default network.
    """

    lift: AnyLift = "cliques"
    max_dim: int = 2
    max_ring: int = 6
    features: Wanted = "auto"
    dropout: float = 0.0

    _counted: ClassVar[tuple[str, ...]] = ("members", "max_dim")

    @property
    def _depth(self) -> int:
        """Largest dimension of the cells that have weights in the default network."""
        return self.max_dim

    def _lift(self) -> Lift:
        return Lift.of(self.lift, max_dim=max(self.max_dim, 1), max_ring=self.max_ring)

    def __sklearn_tags__(self) -> Any:
        """Return tags: the input is graphs or complexes, not a table."""
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.no_validation = True
        return tags


def counts_in_words(counts: tuple[int, ...]) -> str:
    """Return numbers of cells for a summary."""
    return ", ".join(f"{n:,} of dimension {k}" for k, n in enumerate(counts))
