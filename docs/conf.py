"""The site: ``make docs`` builds it into out/docs, without a network and without warnings."""

import re
from pathlib import Path
from typing import Any

import networkx as nx
import typer
from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.util.logging import getLogger

import mpsn
from mpsn import cli
from mpsn_reproduction.page import write_docs

LOG = getLogger(__name__)

project = "mpsn"
author = copyright = "The mpsn developers"
release = version = mpsn.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
myst_enable_extensions = ["deflist", "dollarmath"]
myst_heading_anchors = 3
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
autodoc_default_options = {"members": True, "exclude-members": "extra_repr"}
napoleon_custom_sections = [("Shapes", "params_style")]
napoleon_use_ivar = True

nitpicky = True
nitpick_ignore_regex = [
    # Types of other libraries: looking them up would take a network.
    (
        "py:.*",
        r"(collections|hypothesis|inspect|matplotlib|networkx|numpy|nx|os|pathlib|sklearn|torch\w*)\..*",
    ),
    (
        "py:.*",
        r"Complex|mpsn\.(\w+\.)?_\w+\.\w+(\.\w+)?|mpsn_reproduction\.[a-z]\w*\.\w+",
    ),  # named in strings, or in internal modules
    (
        "py:.*",
        r"Axes|Figure|mpsn(_reproduction|\.lifting)\.\w+\.[CT]",
    ),  # two of those, and type variables
]

html_theme = "furo"
html_title = "mpsn"
html_math_renderer = "mathml"
html_copy_source = False
html_static_path = ["_static"]
html_css_files = ["site.css"]


def _mathml(translator: Any, node: nodes.math | nodes.math_block) -> None:
    """Write a formula as MathML, which browsers read themselves: no script from elsewhere."""
    text = re.sub(r"\\[bB]ig(?![a-z])", "", node.astext())  # sizes that docutils does not know
    try:
        translator.body.append(tex2mathml(text, as_block=isinstance(node, nodes.math_block)))
    except MathError as error:
        LOG.warning("formula: %s", error, location=node)
    raise nodes.SkipNode


def _skip(app: Sphinx, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool | None:
    """Leave out what scikit-learn adds to every estimator, and names of fields without a text."""
    field = str(getattr(obj, "__doc__", "")).startswith("Alias for field number")
    return (
        True
        if field or re.fullmatch(r"set_(output|\w+_request)|get_metadata_routing", name)
        else None
    )


def _colon(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Keep napoleon from taking words before a colon, in the text of an attribute, for a type."""
    if what == "attribute":
        lines[:] = [line.replace(": ", " \N{EN DASH} ") for line in lines]


def _commands(app: Sphinx, page: str, source: list[str]) -> None:
    """Add the help of every command to the page of the command line."""
    if page != "cli":
        return
    below: list[tuple[str, Any]] = [("mpsn", typer.main.get_command(cli.app))]
    while below:
        name, command = below.pop(0)
        context = command.make_context(name, [], resilient_parsing=True)
        context.max_content_width = context.terminal_width = 90
        source[0] += f"## {name}\n\n```text\n{command.get_help(context)}\n```\n\n"
        inner = getattr(command, "commands", {})
        below += [(f"{name} {word}", inner[word]) for word in inner]


def _links(app: Sphinx, tree: nodes.document, page: str) -> None:
    """Turn the symbols in the map of the paper into links to the reference."""
    if page != "paper_map":
        return
    known = app.env.domaindata["py"]["objects"]
    for literal in list(tree.findall(nodes.literal)):
        text = re.sub(r"\(.*", "", literal.astext())
        tried = (text, text.replace("SimplicialComplex", "Complex"), text.rpartition(".")[0])
        ends = [f".{one}" for one in tried if one]
        found = [n for end in ends for n in sorted(known, key=len) if f".{n}".endswith(end)]
        if text.startswith("mpsn "):
            target = "cli", text.split(" --")[0].replace(" ", "-")
        elif found:
            target = known[found[0]].docname, known[found[0]].node_id
        else:
            continue
        link = nodes.reference(
            refuri=f"{app.builder.get_relative_uri(page, target[0])}#{target[1]}"
        )
        literal.replace_self(link)
        link += literal


def _explorer(app: Sphinx) -> None:
    """Write the page that the gallery links to."""
    K = mpsn.clique_complex(nx.karate_club_graph(), max_dim=None)
    Path(app.outdir).mkdir(parents=True, exist_ok=True)
    Path(app.outdir, "explorer.html").write_text(
        mpsn.plotting.explorer(K, title="The karate club"), encoding="utf-8"
    )


def _results(app: Sphinx) -> None:
    """Make the page of results from the records."""
    write_docs(Path(app.srcdir).parent / "reproduction" / "results", Path(app.srcdir))


def setup(app: Sphinx) -> None:
    """Tell Sphinx about all of them."""
    app.connect("source-read", _commands)
    app.connect("doctree-resolved", _links)
    app.connect("builder-inited", _explorer)
    app.connect("builder-inited", _results)
    app.connect("autodoc-process-docstring", _colon, priority=400)  # before napoleon's
    app.add_html_math_renderer("mathml", (_mathml, None), (_mathml, None))  # type: ignore[arg-type]
    app.connect("autodoc-skip-member", _skip)
