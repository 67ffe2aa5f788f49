"""Pictures of molecules, by RDKit, with atoms, bonds and rings in color."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Literal
from xml.sax.saxutils import escape

import networkx as nx
from torch import Tensor

from mpsn._rows.packages import package
from mpsn.complexes.complex import Complex
from mpsn.errors import MPSNError

WIDTH, HEIGHT, LEGEND = 640, 440, 76  # pixels: of the molecule, and of what is below it
LONGEST = 130  # characters of a caption
AGAINST, FOR = (0.13, 0.40, 0.67), (0.70, 0.09, 0.17)  # the ends of matplotlib's "RdBu"

Color = tuple[float, ...]


def draw_molecule(
    molecule: Any,
    K: Complex,
    values: Sequence[Tensor],
    caption: str,
    unit: str,
    kind: Literal["svg", "png"] = "svg",
) -> bytes:
    """Draw a molecule: red where cells of its complex have positive values, blue where negative.

    Args:
        molecule: The molecule, of RDKit.
        K: Its complex; vertices are atoms, in their order.
        values: Per dimension, a number for each cell, (n_k,); only atoms, bonds and rings show.
        caption: The first line below the picture.
        unit: What the numbers are, for the scale below it.
        kind: The format.
    """
    chem = package("rdkit.Chem", "chem", "draw molecules")
    from rdkit.Chem.Draw import rdMolDraw2D
    from rdkit.Geometry import Point2D

    makers = {"svg": rdMolDraw2D.MolDraw2DSVG, "png": rdMolDraw2D.MolDraw2DCairo}
    if kind not in makers:
        raise MPSNError(f"Expected a picture of kind 'svg' or 'png', got {kind!r:.40}.")
    most = max((float(part.abs().max()) for part in values if len(part)), default=0.0)
    colors = [[_color(value, most) for value in part.tolist()] for part in values]
    flat = chem.Mol(molecule)
    chem.rdDepictor.Compute2DCoords(flat)
    flat = rdMolDraw2D.PrepareMolForDrawing(flat, addChiralHs=False)
    ends = K.incidence(1).table.tolist() if K.dim > 0 else []
    bonds = [flat.GetBondBetweenAtoms(u, v).GetIdx() for u, v in ends]

    def pen() -> Any:
        found = makers[kind](WIDTH, HEIGHT + LEGEND, WIDTH, HEIGHT)
        options: Any = found.drawOptions()
        options.prepareMolsBeforeDrawing = options.clearBackground = False
        options.highlightBondWidthMultiplier = 12
        options.fixedBondLength = 70.0  # of small molecules
        return found

    def draw(target: Any) -> None:
        target.DrawMolecule(
            flat,
            highlightAtoms=list(range(flat.GetNumAtoms())),
            highlightAtomColors=dict(enumerate(colors[0])),
            highlightBonds=bonds,
            highlightBondColors=dict(zip(bonds, colors[1] if ends else [], strict=True)),
        )

    first, target = pen(), pen()
    draw(first)  # to learn where atoms go: rings are to be below them
    target.ClearDrawing()
    target.SetFillPolys(True)
    for walk, color in zip(_rings(K, ends), colors[2] if K.dim > 1 else [], strict=True):
        target.SetColour(color)
        target.DrawPolygon([first.GetDrawCoords(v) for v in walk], rawCoords=True)
    draw(target)
    step, left = 8, WIDTH / 2 - 80
    for i in range(20):
        target.SetColour(_color(i - 9.5, 9.5))
        x = left + step * i
        target.DrawRect(Point2D(x, HEIGHT + 34), Point2D(x + step, HEIGHT + 44), rawCoords=True)
    caption = caption if len(caption) <= LONGEST else f"{caption[:60]} ... {caption[-60:]}"
    texts = [(caption, WIDTH / 2, 14, 0, min(15.0, 1200 / max(len(caption), 1)))]
    texts += [(f"{-most:.3g}", left - 10, 39, 2, 15.0), (f"{most:+.3g}", left + 170, 39, 1, 15.0)]
    texts += [(f"contribution to the {unit}", WIDTH / 2, 62, 0, 15.0)]
    if kind == "png":  # RDKit's font has only ASCII
        target.SetColour((0.0, 0.0, 0.0))
        for text, x, y, align, size in texts:
            target.SetFontSize(size)
            plain = text.encode("ascii", "replace").decode()
            target.DrawString(plain, Point2D(x, HEIGHT + y), align, rawCoords=True)
    target.FinishDrawing()
    found = target.GetDrawingText()
    if kind == "png":
        return bytes(found)
    lines = [
        f"<text x='{x}' y='{HEIGHT + y + 5}' font-size='{size:.1f}px' font-family='sans-serif' "
        f"text-anchor='{('middle', 'start', 'end')[align]}'>{escape(text)}</text>\n"
        for text, x, y, align, size in texts
    ]
    body, end, _ = found.rpartition("</svg>")
    whole = f"{body}{''.join(lines)}{end}\n"
    return whole.encode("latin-1", "xmlcharrefreplace")


def _color(value: float, most: float) -> Color:
    """Return white for 0, and deeper colors up to the largest number."""
    share = min(1.0, abs(value) / most) if most else 0.0
    return tuple(1 - share * (1 - part) for part in (FOR if value > 0 else AGAINST))


def _rings(K: Complex, ends: list[Any]) -> list[list[int]]:
    """Return the atoms of each ring, one after the other around it."""
    if K.dim < 2:
        return []
    sides, offsets = K.incidence(2).face.tolist(), K.incidence(2).offsets.tolist()
    around = [[ends[s] for s in sides[start:end]] for start, end in pairwise(offsets)]
    return [list(nx.dfs_preorder_nodes(nx.Graph(ring))) for ring in around]
