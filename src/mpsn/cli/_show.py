"""The command that shows graphs, models and results."""

import json
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from mpsn.cli._graphs import print_rows
from mpsn.cli._inputs import graphs_of
from mpsn.cli.output import AsJson, drawing, print_lines, print_table, refuse
from mpsn.errors import GraphError, MissingPackageError

if TYPE_CHECKING:
    from mpsn.complexes import Complex


def show(
    what: Annotated[
        str,
        typer.Argument(
            help="A graph file, list of simplices, built-in graph, model or folder of runs."
        ),
    ],
    graph: Annotated[
        str | None, typer.Argument(help="With a model: explain its prediction for this graph.")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Draw the graph, or the explanation, to this file.")
    ] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Draw the explanation, to explanation.svg or --plot.")
    ] = False,
    target: Annotated[
        str | None,
        typer.Option(
            help="The class, or of several targets the one, to explain. Defaults to the class "
            "predicted, or the first target."
        ),
    ] = None,
    html: Annotated[
        Path | None, typer.Option(help="Write a page for a browser, to turn and to point at.")
    ] = None,
    max_dim: Annotated[
        int | None, typer.Option(help="Largest dimension of a simplex. Defaults to all cliques.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show a graph, a model or results.

    Prints a table, and draws a picture or writes a page for a browser. Folders hold the records of
    `mpsn reproduce`; the graphs of a folder are those of `mpsn lift`.

    With a model and a graph, a file, a built-in graph or SMILES, its prediction is explained.

    Example: mpsn show rook4x4 --plot rook.png

    Example: mpsn show rook4x4 --html rook.html

    Example: mpsn show model.mpsn cats/tom.graphml --plot why.png

    Example: mpsn show model.mpsn "CC(=O)Oc1ccccc1" --explain
    """
    from mpsn._files.io import check_writable

    path = Path(what)
    plot = Path("explanation.svg") if explain and plot is None else plot
    if plot:
        check_writable(plot, what="a picture")
    if html:
        check_writable(html, what="a page")
    if path.is_dir():
        others = {"plot": plot, "html": html, "graph": graph, "target": target}
        refuse(path, "it is a folder of runs", **others, max_dim=max_dim)
        _show_runs(path, as_json)
    elif path.is_file() and _is_model(path):
        refuse(path, "it is a model", max_dim=max_dim)
        _show_model(path, graph, target, plot, html, as_json)
    else:
        refuse(path, "it is a graph", graph=graph, target=target, explain=explain)
        _show_graphs(what, plot, html, max_dim, as_json)


def _is_model(path: Path) -> bool:
    """Return whether a file is a model; graphs in an .npz are zip archives too."""
    from mpsn._files.io import names_in

    return "meta.npy" in names_in(path)


def _show_graphs(
    what: str, plot: Path | None, html: Path | None, max_dim: int | None, as_json: bool
) -> None:
    from mpsn.datasets import is_simplices, read_complex
    from mpsn.lifting import clique_complexes

    if is_simplices(what):
        graphs: list[Any] = [None]
        complexes = [read_complex(what, max_dim=max_dim)]
    else:
        graphs = graphs_of(what)
        complexes = list(clique_complexes(graphs, max_dim))
    if (plot or html) and len(complexes) > 1:
        raise GraphError(f"Expected one graph to draw, got {len(complexes)} in {what}.")
    rows = [{"simplices": K.counts, "holes": K.betti_numbers()} for K in complexes]
    if as_json:
        print(json.dumps({"graphs": rows, **_paths(plot, html)}))
    else:
        print_rows(what, rows)
    if plot:
        with drawing(plot, as_json):
            from mpsn._files.io import save_figure
            from mpsn.plotting import draw_complex

            save_figure(draw_complex(complexes[0]).figure, plot)
    if html:
        with drawing(html, as_json, "page"):
            from mpsn.plotting import explorer

            K = complexes[0]
            _write_page(html, explorer(K, title=Path(what).name, notes=_attributes(graphs[0], K)))


def _attributes(graph: Any, K: "Complex") -> list[list[str]]:
    """Return the attributes of vertices and edges, as text."""
    import networkx as nx

    if not isinstance(graph, nx.Graph):
        return []
    names = list(graph)
    plain: nx.Graph[Any] = nx.Graph(graph)
    ends = K.cells(1)[0].reshape(-1, 2).tolist()
    edges = [plain.edges[names[a], names[b]] for a, b in ends]
    return [
        [", ".join(f"{key} {value}" for key, value in cell.items()) for cell in cells]
        for cells in ([graph.nodes[name] for name in names], edges)
    ]


def _paths(plot: Path | None, html: Path | None) -> dict[str, str | None]:
    return {"figure": str(plot) if plot else None, "page": str(html) if html else None}


def _write_page(path: Path, page: str) -> None:
    from mpsn._files.io import atomic_write

    with atomic_write(path, "w", what="a page") as file:
        file.write(page)


def _show_model(
    path: Path,
    graph: str | None,
    target: str | None,
    plot: Path | None,
    html: Path | None,
    as_json: bool,
) -> None:
    from mpsn.datasets import NAMED_GRAPHS
    from mpsn.estimators import SimplicialClassifier, SimplicialRegressor, load

    model = load(path)
    if graph is None:
        if plot or html:
            raise GraphError("Expected a graph after the model: the one to explain and to draw.")
        values = {"model": type(model).__name__, "summary": model.summary()}
        print_lines(json.dumps(values) if as_json else model.summary())
        return
    if not isinstance(model, (SimplicialClassifier, SimplicialRegressor)):
        kind = type(model).__name__
        raise GraphError(f"Expected a model of graphs to explain, got a {kind} in {path}.")
    built_in = graph in NAMED_GRAPHS and not Path(graph).exists()
    explained = NAMED_GRAPHS[graph]() if built_in else graph  # a file, or SMILES
    explanation = model.explain(explained, target)
    parts = explanation.by_dimension
    if as_json:
        top = [{"vertices": v, "contribution": c} for v, c in explanation.top()]
        names = ("target", "output", "runner_up", "margin", "features")
        fields: dict[str, Any] = {name: getattr(explanation, name) for name in names}
        fields |= {"dimensions": parts, "simplices": top, **_paths(plot, html)}
        print(json.dumps(fields, default=str))
    else:
        print_lines(f"prediction: {explanation}")
        rows = [(f"all of dimension {k}", f"{value:+.4g}") for k, value in enumerate(parts)]
        rows += [(" ".join(map(str, v)), f"{value:+.4g}") for v, value in explanation.top()]
        rows += [(name, f"{value:+.4g}") for name, value in list(explanation.features.items())[:10]]
        columns = ("cell or feature", f"contribution to the {explanation.unit}")
        print_table("contributions", columns, rows)
    if plot:
        with drawing(plot, as_json):
            from mpsn._files.io import atomic_write, save_figure

            kind = plot.suffix.lower()[1:]
            if explanation.molecule is not None and kind in ("svg", "png"):
                with atomic_write(plot, "wb", what="a picture") as file:
                    file.write(explanation.draw_molecule(cast("Any", kind)))
            else:
                save_figure(explanation.draw().figure, plot)
    if html:
        with drawing(html, as_json, "page"):
            from mpsn.plotting import explorer

            K, contributions = explanation.complex, explanation.contributions
            _write_page(html, explorer(K, title=f"{graph}: {explanation}", values=contributions))


def _show_runs(folder: Path, as_json: bool) -> None:
    points = entry_points(group="mpsn.show", name="records")
    if not points:
        raise MissingPackageError(
            f"Expected mpsn-reproduction to show the records in {folder}, got none; "
            "pip install mpsn-reproduction."
        )
    for point in points:
        point.load()(folder, as_json)
