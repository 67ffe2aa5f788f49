"""The ladder: every test by name, on two graphs or on a whole list."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from mpsn.complexes._operators import Kind
from mpsn.errors import ColoringError, TooLargeError, did_you_mean
from mpsn.lifting import clique_complexes
from mpsn.wl.graphs import bare, read
from mpsn.wl.isomorphism import isomorphic, isomorphism_classes, positions_by_label
from mpsn.wl.refinement import Refinement
from mpsn.wl.relations import ADJACENCIES
from mpsn.wl.simplices import swl
from mpsn.wl.tuples import kfwl, kwl
from mpsn.wl.vertices import wl

SMALL = 100  # vertices up to which the truth is worked out beside the tests

Test = Callable[[Sequence[object], int | None], Refinement]


def _swl(*adjacencies: Kind) -> Test:
    return lambda graphs, max_dim: swl(clique_complexes(bare(graphs), max_dim), adjacencies)


TESTS: dict[str, Test] = {
    "wl": lambda graphs, _: wl(graphs),
    "2-wl": lambda graphs, _: kwl(graphs, 2),
    "3-wl": lambda graphs, _: kwl(graphs, 3),
    "2-fwl": lambda graphs, _: kfwl(graphs, 2),
    "3-fwl": lambda graphs, _: kfwl(graphs, 3),
    "swl": _swl("boundary", "upper"),
    "swl-all": _swl(*ADJACENCIES),
}

LADDER = ("wl", "2-wl", "3-wl", "2-fwl", "swl")  # what takes at most n^3 steps on graphs

VERDICTS = {True: "told apart", False: "not told apart", None: "not run"}
TRUTHS = {True: "isomorphic", False: "not isomorphic", None: "too large to check"}


@dataclass(frozen=True)
class Verdict:
    """What one test says about two graphs.

    Attributes:
        test: Name of the test.
        distinguished: Whether it tells them apart; None if it was too large to run.
        round: The first round in which their histograms differ; 0 is before any refinement.
        dim: The lowest dimension in which they differ in that round; None for tests on tuples.
        note: Why the test was not run.
    """

    test: str
    distinguished: bool | None
    round: int | None = None
    dim: int | None = None
    note: str = ""


@dataclass(frozen=True)
class Comparison:
    """What a ladder of tests says about two graphs, test by test, and the truth.

    ``isomorphic`` is None for graphs too large for an exact check.
    """

    verdicts: tuple[Verdict, ...]
    isomorphic: bool | None

    def __getitem__(self, test: str) -> Verdict:
        found = {verdict.test: verdict for verdict in self.verdicts}
        if test not in found:
            raise ColoringError(f"Expected a test that was run, {', '.join(found)}, got {test!r}.")
        return found[test]

    def __iter__(self) -> Iterator[Verdict]:
        return iter(self.verdicts)

    def __str__(self) -> str:
        lines = [f"{'test':<8} {'verdict':<15} round  dim"]
        for v in self.verdicts:
            cells = ["-" if cell is None else str(cell) for cell in (v.round, v.dim)]
            row = f"{v.test:<8} {VERDICTS[v.distinguished]:<15} {cells[0]:<6} {cells[1]:<4}{v.note}"
            lines.append(row.rstrip())
        return "\n".join([*lines, f"truth    {TRUTHS[self.isomorphic]}"])


@dataclass(frozen=True)
class Classes:
    """How a test groups a list of graphs.

    Attributes:
        test: Name of the test.
        groups: Positions of graphs the test cannot tell apart, by their first member.
        graphs: The graphs.
    """

    test: str
    groups: list[list[int]]
    graphs: Sequence[object] = field(repr=False)

    @cached_property
    def truth(self) -> list[list[int]] | None:
        """Positions of isomorphic graphs; None if a graph is too large for an exact check."""
        if self.graphs and int(read(self.graphs).ptr.diff().max()) > SMALL:
            return None
        try:
            return isomorphism_classes(self.graphs)
        except TooLargeError:
            return None

    @property
    def pairs(self) -> int:
        """Number of pairs of graphs the test cannot tell apart."""
        return sum(len(group) * (len(group) - 1) // 2 for group in self.groups)


def compare(
    G: object,
    H: object,
    tests: Sequence[str] = LADDER,
    *,
    max_dim: int | None = None,
) -> Comparison:
    """Run a ladder of tests on two graphs and say which tell them apart, and where.

    Args:
        G: A graph of any kind that :func:`mpsn.clique_complex` takes.
        H: Another one.
        tests: Names of tests: "wl"; "2-wl" and "3-wl" (oblivious); "2-fwl" and "3-fwl" (folklore:
            2-FWL = 3-WL); "swl" (boundary and upper adjacencies) and "swl-all" (all four) on clique
            complexes. All but "3-fwl" and "swl-all" unless said.
        max_dim: Largest dimension of the clique complexes; None for all cliques.

    Example:
        >>> hexagon, triangles = nx.cycle_graph(6), nx.disjoint_union(*[nx.cycle_graph(3)] * 2)
        >>> print(mpsn.wl.compare(hexagon, triangles, tests=["wl", "2-fwl", "swl"]))
        test     verdict         round  dim
        wl       not told apart  -      -
        2-fwl    told apart      1      -
        swl      told apart      0      2
        truth    not isomorphic
    """
    check_tests(tests, max_dim)
    sizes = read([G, H]).ptr.diff()
    verdicts = tuple(_verdict(test, [G, H], max_dim) for test in tests)
    return Comparison(verdicts, _truth(G, H) if int(sizes.max()) <= SMALL else None)


def _truth(G: object, H: object) -> bool | None:
    try:
        return isomorphic(G, H)
    except TooLargeError:
        return None


def _verdict(test: str, graphs: list[object], max_dim: int | None) -> Verdict:
    try:
        result = TESTS[test](graphs, max_dim)
    except TooLargeError as error:
        return Verdict(test, None, note=str(error))
    for turn in range(result.rounds + 1):
        for k in range(len(result.ptr)):
            one, two = result.classes(turn, k).tolist()
            if one != two:
                return Verdict(test, True, turn, None if test[0].isdigit() else k)
    return Verdict(test, False)


def equivalence_classes(
    graphs: Sequence[object], test: str = "swl", *, max_dim: int | None = None
) -> Classes:
    """Group graphs that a test cannot tell apart, and beside it those that are isomorphic.

    Args:
        graphs: Graphs of any kind that :func:`mpsn.clique_complex` takes.
        test: Name of a test, as for :func:`compare`.
        max_dim: Largest dimension of the clique complexes; None for all cliques.

    Example:
        >>> graphs = [nx.path_graph(3), nx.star_graph(2), nx.cycle_graph(3)]
        >>> mpsn.wl.equivalence_classes(graphs, "wl").groups
        [[0, 1], [2]]
    """
    check_tests([test], max_dim)
    if not graphs:
        return Classes(test, [], graphs)
    labels = TESTS[test](graphs, max_dim).classes()
    return Classes(test, positions_by_label(labels.tolist()), graphs)


def check_tests(tests: Sequence[str], max_dim: int | None) -> None:
    """Refuse names that no test has, and a dimension that no complex has, needed or not."""
    unknown = [test for test in tests if test not in TESTS]
    if unknown or isinstance(tests, str):
        got = tests if isinstance(tests, str) else ", ".join(map(str, unknown))
        raise ColoringError(
            f"Expected tests among {', '.join(TESTS)}, got {got}.{did_you_mean(got, TESTS)}"
        )
    clique_complexes([], max_dim)
