"""Compare two graphs, or group a list of graphs, by tests of increasing power."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, TypeVar

from mpsn.errors import ColoringError, TooLargeError, did_you_mean
from mpsn.lifting import Lift, clique_complexes, ring_complexes
from mpsn.wl._individualized import individualized
from mpsn.wl._inputs import bare, read
from mpsn.wl._isomorphism import isomorphic, isomorphism_classes, partition
from mpsn.wl._refinement import Refinement
from mpsn.wl._relations import ADJACENCIES
from mpsn.wl._tuples import kfwl, kwl
from mpsn.wl._vertices import wl
from mpsn.wl.simplices import swl

SMALL = 100  # largest number of vertices for an exact isomorphism check

T = TypeVar("T")


def _on_cells(
    graphs: Sequence[object],
    max_dim: int | None,
    max_ring: int,
    lift: str = "cliques",
    **options: Any,
) -> Refinement:
    lifted = Lift.of(lift, max_dim=max_dim, max_ring=max_ring).many(bare(graphs))
    return swl(lifted, **options)


def _twice_marked(graphs: Sequence[object], max_dim: int | None) -> Refinement:
    return individualized(clique_complexes(bare(graphs), max_dim), 2, branch="all")


def _to_depth(depth: int, graphs: Sequence[object], *_: object) -> Refinement:
    return individualized(clique_complexes(bare(graphs), 1), depth)


#: The tests by name; each takes graphs, a largest dimension and a largest ring.
TESTS: dict[str, Callable[[Sequence[object], int | None, int], Refinement]] = {
    "wl": lambda graphs, *_: wl(graphs),
    "2-wl": lambda graphs, *_: kwl(graphs, 2),
    "3-wl": lambda graphs, *_: kwl(graphs, 3),
    "2-fwl": lambda graphs, *_: kfwl(graphs, 2),
    "3-fwl": lambda graphs, *_: kfwl(graphs, 3),
    "swl": _on_cells,
    "swl-all": partial(_on_cells, adjacencies=tuple(ADJACENCIES)),
    "rings": partial(_on_cells, lift="rings"),
    "cliques+rings": partial(_on_cells, lift="cliques+rings"),
    "cubes": partial(_on_cells, lift="cubes"),
    "marked-wl": lambda graphs, *_: _on_cells(graphs, 1, 3, marks=1),
    "marked-swl": partial(_on_cells, marks=1),
    "marked-rings": partial(_on_cells, lift="rings", marks=1),
    "marked-cliques+rings": partial(_on_cells, lift="cliques+rings", marks=1),
    "twice-marked-wl": lambda graphs, *_: _twice_marked(graphs, 1),
    "twice-marked-swl": lambda graphs, max_dim, _: _twice_marked(graphs, max_dim),
    **{f"depth-{depth}": partial(_to_depth, depth) for depth in (1, 2, 3, 4)},
}

LADDER = ("wl", "2-wl", "3-wl", "2-fwl", "swl")  # at most n^3 steps per round on graphs


@dataclass(frozen=True)
class Verdict:
    """Result of one test on two graphs.

    Attributes:
        test: Name of the test.
        distinguished: Whether the test distinguishes them; None if it was too large to run.
        round: The first round in which their histograms differ, 0 before any refinement; of "depth"
            and "twice-marked" tests the first depth, the number of marked vertices.
        dim: The lowest dimension in which they differ in that round; None for tests on tuples, with
            marks or by depth.
        note: Why the test was not run.
        refinements: How many colorings were refined, which is the cost of marks and depth.
    """

    test: str
    distinguished: bool | None
    round: int | None = None
    dim: int | None = None
    note: str = ""
    refinements: int = 0

    @property
    def outcome(self) -> str:
        """The result in words."""
        if self.distinguished is None:
            return "not run"
        return "distinguished" if self.distinguished else "indistinguishable"

    def __str__(self) -> str:
        """Return a line such as ``swl: distinguished in round 0, dimension 2``."""
        line = f"{self.test}: {self.outcome}"
        if self.round is not None:
            how = "at depth" if self.test.startswith(("depth", "twice")) else "in round"
            line += f" {how} {self.round}"
        if self.dim is not None:
            line += f", dimension {self.dim}"
        if self.refinements > 2:  # more than one of each graph
            line += f"; {self.refinements:,} refinements"
        return f"{line}; {self.note}" if self.note else line


@dataclass(frozen=True)
class Comparison:
    """Results of several tests on two graphs, and whether the graphs are isomorphic.

    ``isomorphic`` is None for graphs too large for an exact check.
    """

    verdicts: tuple[Verdict, ...]
    isomorphic: bool | None

    @property
    def truth(self) -> str:
        """Whether the graphs are isomorphic, in words."""
        if self.isomorphic is None:
            return "too large to check"
        return "isomorphic" if self.isomorphic else "not isomorphic"

    def __getitem__(self, test: str) -> Verdict:
        verdicts = {verdict.test: verdict for verdict in self.verdicts}
        if test not in verdicts:
            raise ColoringError(
                f"Expected a test that was run, {', '.join(verdicts)}, got {test!r}."
            )
        return verdicts[test]

    def __iter__(self) -> Iterator[Verdict]:
        return iter(self.verdicts)

    def __str__(self) -> str:
        return "\n".join([*map(str, self.verdicts), f"truth: {self.truth}"])


@dataclass(frozen=True)
class Classes:
    """A list of graphs, grouped by a test.

    Attributes:
        test: Name of the test.
        groups: Positions of graphs that the test cannot distinguish, by their first member.
        graphs: The graphs.
    """

    test: str
    groups: list[list[int]]
    graphs: Sequence[object] = field(repr=False)

    @cached_property
    def truth(self) -> list[list[int]] | None:
        """Positions of isomorphic graphs; None if a graph is too large for an exact check."""
        return _if_small(self.graphs, lambda: isomorphism_classes(self.graphs))

    @property
    def pairs(self) -> int:
        """Number of pairs of graphs that the test cannot distinguish."""
        return sum(len(group) * (len(group) - 1) // 2 for group in self.groups)


def compare(
    G: object,
    H: object,
    tests: Sequence[str] = LADDER,
    *,
    max_dim: int | None = None,
    max_ring: int = 6,
) -> Comparison:
    """Find out which tests distinguish two graphs, and in which round and dimension.

    Args:
        G: A graph of any type that :func:`mpsn.clique_complex` takes.
        H: Another one.
        tests: Names of tests: "wl"; "2-wl" and "3-wl" (oblivious); "2-fwl" and "3-fwl" (folklore:
            2-FWL = 3-WL); "swl" (boundary and upper adjacencies) and "swl-all" (all four) on clique
            complexes; "rings", "cliques+rings" and "cubes", which are SWL on complexes with rings
            as 2-cells, or squares, cubes, ...; marked refinement, "marked-wl" on the graph alone,
            "marked-swl", "marked-rings" and "marked-cliques+rings", with up to two marks
            "twice-marked-wl" and "twice-marked-swl"; and "depth-1" to "depth-4", individualization
            and refinement of the graph alone (:func:`individualized`). Defaults to "wl", "2-wl",
            "3-wl", "2-fwl" and "swl".
        max_dim: Largest dimension of cliques and cubes. Defaults to that of the largest.
        max_ring: Largest number of vertices of a ring. Defaults to 6.

    Example:
        >>> hexagon, triangles = nx.cycle_graph(6), nx.disjoint_union(*[nx.cycle_graph(3)] * 2)
        >>> print(mpsn.wl.compare(hexagon, triangles, tests=["wl", "2-fwl", "swl"]))
        wl: indistinguishable
        2-fwl: distinguished in round 1
        swl: distinguished in round 0, dimension 2
        truth: not isomorphic
    """
    check_tests(tests, max_dim, max_ring)
    read([G, H])
    verdicts = tuple(_verdict(test, [G, H], max_dim, max_ring) for test in tests)
    return Comparison(verdicts, _if_small([G, H], lambda: isomorphic(G, H)))


def equivalence_classes(
    graphs: Sequence[object],
    test: str = "swl",
    *,
    max_dim: int | None = None,
    max_ring: int = 6,
) -> Classes:
    """Group graphs that a test cannot distinguish, and those that are isomorphic.

    Args:
        graphs: Graphs of any type that :func:`mpsn.clique_complex` takes.
        test: Name of a test, as for :func:`compare`.
        max_dim: Largest dimension of cliques. Defaults to that of the largest clique.
        max_ring: Largest number of vertices of a ring. Defaults to 6.

    Example:
        >>> graphs = [nx.path_graph(3), nx.star_graph(2), nx.cycle_graph(3)]
        >>> mpsn.wl.equivalence_classes(graphs, "wl").groups
        [[0, 1], [2]]
    """
    check_tests([test], max_dim, max_ring)
    if not graphs:
        return Classes(test, [], graphs)
    labels = TESTS[test](graphs, max_dim, max_ring).classes().tolist()
    return Classes(test, partition(labels), graphs)


def check_tests(tests: Sequence[str], max_dim: int | None, max_ring: int) -> None:
    """Refuse unknown tests, and bad sizes even if no test uses them."""
    unknown = [test for test in tests if test not in TESTS]
    if unknown or isinstance(tests, str):
        got = tests if isinstance(tests, str) else ", ".join(map(str, unknown))
        raise ColoringError(
            f"Expected tests among {', '.join(TESTS)}, got {got}.{did_you_mean(got, TESTS)}"
        )
    ring_complexes([], max_ring, max_dim)


def _verdict(test: str, graphs: list[object], max_dim: int | None, max_ring: int) -> Verdict:
    try:
        result = TESTS[test](graphs, max_dim, max_ring)
    except TooLargeError as error:
        return Verdict(test, None, note=str(error))
    for round in range(result.rounds + 1):
        for k in range(len(result.ptr)):
            one, two = result.classes(round, k).tolist()
            if one != two:
                cells = test.startswith(("wl", "swl", "rings", "cliques", "cubes"))
                dim = k if cells else None
                return Verdict(test, True, round, dim, refinements=result.refinements)
    return Verdict(test, False, refinements=result.refinements)


def _if_small(graphs: Sequence[object], check: Callable[[], T]) -> T | None:
    """Return the result of an exact check, or None if a graph is too large for it."""
    if graphs and int(read(graphs).ptr.diff().max()) > SMALL:
        return None
    try:
        return check()
    except TooLargeError:
        return None
