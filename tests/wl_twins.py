"""The tests of the ladder written down plainly, with dictionaries, straight from the paper.

Every twin returns the colors of each round as one dictionary per complex or graph. Rounds go on
until one splits nothing.
"""

from itertools import combinations, pairwise, product


def refine(colors, signature):
    """Refine dictionaries {thing: color} together; ``signature(i, thing, colors[i])``."""
    rounds = [colors]
    while True:
        palette = {}
        colors = [
            {thing: palette.setdefault(signature(i, thing, c), len(palette)) for thing in c}
            for i, c in enumerate(rounds[-1])
        ]
        before = {color for c in rounds[-1] for color in c.values()}
        rounds.append(colors)
        if len(palette) == len(before):
            return rounds


def swl(complexes, adjacencies=("boundary", "upper")):
    """Color simplices; complexes are lists of sorted vertex tuples, closed under faces."""
    neighbors = [_neighbors(simplices, "lower" in adjacencies) for simplices in complexes]

    def signature(i, simplex, c):
        boundary, coboundary, lower, upper = neighbors[i][simplex]
        parts = {
            "boundary": [c[face] for face in boundary],
            "coboundary": [c[coface] for coface in coboundary],
            "lower": [(c[other], c[face]) for other, face in lower],
            "upper": [(c[other], c[coface]) for other, coface in upper],
        }
        return c[simplex], *(tuple(sorted(parts[name])) for name in adjacencies)

    return refine([{s: len(s) for s in simplices} for simplices in complexes], signature)


def _neighbors(simplices, with_lower):
    around = {simplex: ([], [], [], []) for simplex in simplices}
    for coface in simplices:
        if len(coface) > 1:
            faces = list(combinations(coface, len(coface) - 1))
            around[coface][0].extend(faces)
            for face in faces:
                around[face][1].append(coface)
                around[face][3].extend((other, coface) for other in faces if other != face)
    if with_lower:
        for simplex, (boundary, _, lower, _) in around.items():
            for face in boundary:
                lower.extend((other, face) for other in around[face][1] if other != simplex)
    return around


def cells(K):
    """Return any complex as a dictionary {(k, i): list of faces (k - 1, j)}."""
    found = {(0, i): [] for i in range(K.count(0))}
    for k in range(1, K.dim + 1):
        B = K.incidence(k)
        face, ptr = B.face.tolist(), B.offsets.tolist()
        found |= {(k, i): [(k - 1, f) for f in face[a:b]] for i, (a, b) in enumerate(pairwise(ptr))}
    return found


def cwl(complexes, adjacencies=("boundary", "upper"), first=None):
    """Color the cells of :func:`cells`; one message for each shared face or co-face."""
    cofaces = [{cell: [] for cell in faces} for faces in complexes]
    for faces, above in zip(complexes, cofaces, strict=True):
        for cell, below in faces.items():
            for face in below:
                above[face].append(cell)

    def signature(i, cell, c):
        faces, above = complexes[i], cofaces[i]
        parts = {
            "boundary": [c[f] for f in faces[cell]],
            "coboundary": [c[d] for d in above[cell]],
            "lower": [(c[s], c[f]) for f in faces[cell] for s in above[f] if s != cell],
            "upper": [(c[s], c[d]) for d in above[cell] for s in faces[d] if s != cell],
        }
        return c[cell], *(tuple(sorted(parts[name])) for name in adjacencies)

    start = first or [{cell: cell[0] for cell in faces} for faces in complexes]
    return refine(start, signature)


def marked(complexes, adjacencies=("boundary", "upper"), dims=(0,)):
    """Mark cells of some dimensions in all ways; return for each round and complex their colors."""
    copies = [
        (i, marks)
        for i, faces in enumerate(complexes)
        for marks in product(*([c for c in faces if c[0] == k] or [None] for k in dims))
    ]
    first = [
        {cell: (cell[0], *(cell == mark for mark in marks)) for cell in complexes[i]}
        for i, marks in copies
    ]
    rounds = cwl([complexes[i] for i, _ in copies], adjacencies, first)
    return [
        [
            {
                marks: tuple(sorted(c.values()))
                for (j, marks), c in zip(copies, colors, strict=True)
                if i == j
            }
            for i in range(len(complexes))
        ]
        for colors in rounds
    ]


def individualized(complexes, depth, branch):
    """Mark vertices one after another; return the color of each complex at each depth.

    ``branch(i, marks)`` names the vertices to try next in complex i; colors are nested tuples.
    """
    trees = [{(): branch(i, ())} for i in range(len(complexes))]
    for i, tree in enumerate(trees):
        for level in range(depth):
            for marks in [m for m in tree if len(m) == level]:
                tree |= {(*marks, v): branch(i, (*marks, v)) for v in tree[marks]}
    copies = [(i, marks) for i, tree in enumerate(trees) for marks in tree]
    first = [
        {c: (c[0], marks.index(c) if c in marks else -1) for c in complexes[i]}
        for i, marks in copies
    ]
    last = cwl([complexes[i] for i, _ in copies], first=first)[-1]
    stable = {
        copy: tuple(sorted(colors.values())) for copy, colors in zip(copies, last, strict=True)
    }

    def color(i, marks, more):
        children = [color(i, (*marks, v), more - 1) for v in trees[i][marks]] if more else []
        return stable[i, marks], tuple(sorted(children))

    return [[color(i, (), d) for i in range(len(complexes))] for d in range(depth + 1)]


def wl(graphs, colors=None):
    """Color vertices of networkx graphs."""
    first = colors or [dict.fromkeys(graph, 0) for graph in graphs]
    return refine(first, lambda i, v, c: (c[v], tuple(sorted(c[u] for u in graphs[i][v]))))


def kwl(graphs, k):
    """Color k-tuples of vertices, oblivious."""

    def signature(i, v, c):
        return c[v], *(
            tuple(sorted(c[(*v[:j], w, *v[j + 1 :])] for w in graphs[i])) for j in range(k)
        )

    return refine([_types(graph, k) for graph in graphs], signature)


def kfwl(graphs, k):
    """Color k-tuples of vertices, folklore."""

    def signature(i, v, c):
        heard = (tuple(c[(*v[:j], w, *v[j + 1 :])] for j in range(k)) for w in graphs[i])
        return c[v], tuple(sorted(heard))

    return refine([_types(graph, k) for graph in graphs], signature)


def _types(graph, k):
    return {
        v: tuple((a == b, graph.has_edge(a, b)) for a, b in combinations(v, 2))
        for v in product(graph, repeat=k)
    }
