"""Files like those of the data sets that are complexes, small and made from scratch."""

import gzip
from itertools import combinations, pairwise

import numpy as np

from mpsn import SimplicialComplex
from mpsn_reproduction.papers import coauthor_data, next_data


def coauthor_arrays(papers):
    """Return the arrays of a co-author complex, from the citations of papers by their authors."""
    cited = {}
    for authors, citations in papers.items():
        for k in range(len(authors)):
            for face in combinations(sorted(authors), k + 1):
                cited[face] = cited.get(face, 0) + citations
    arrays = {}
    for k in range(max(map(len, cited))):
        rows = [face for face in cited if len(face) == k + 1]
        arrays[f"simplices_{k}"] = np.array(rows, dtype=np.int32)
        arrays[f"citations_{k}"] = np.array([float(cited[row]) for row in rows])
        arrays[f"missing30_{k}"] = np.arange(len(rows)) % 3 == 1
    return arrays


def some_papers(number=40, authors=25, seed=0, most=7):
    """Return citations of random papers of two to seven authors."""
    rng = np.random.default_rng(seed)
    ids = 10 + 3 * np.arange(authors)
    papers = {tuple(ids[:7]): 9}
    for _ in range(number):
        team = rng.choice(ids, rng.integers(2, most + 1), replace=False)
        papers[tuple(sorted(team.tolist()))] = int(rng.integers(1, 20))
    return papers


def write_coauthor(folder, arrays):
    path = folder / coauthor_data.NAME
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez(path, **arrays)
    return path


def write_temporal(folder, name, simplices, times):
    """Write simplices with vertices from 1."""
    place = folder / "closure" / name
    place.mkdir(parents=True, exist_ok=True)
    lists = {
        "nverts": map(len, simplices),
        "simplices": [v for simplex in simplices for v in simplex],
        "times": times,
    }
    for part, numbers in lists.items():
        text = "".join(f"{number}\n" for number in numbers)
        (place / f"{name}-{part}.txt.gz").write_bytes(gzip.compress(text.encode()))
    return place


def meetings(number=600, people=30, seed=0):
    """Return random meetings of two or three of a circle of people, mostly close to each other."""
    rng = np.random.default_rng(seed)
    out = []
    for _ in range(number):
        one = int(rng.integers(people))
        size = 3 if rng.random() < 0.15 else 2
        steps = rng.choice(np.arange(1, 6), size - 1, replace=False)
        out.append([one + 1, *((one + steps) % people + 1).tolist()])
    return out, list(range(number))


def next_arrays(side=5, number=40, seed=0):
    """Return the arrays of walks to the right or down on a triangulated square."""
    rng = np.random.default_rng(seed)
    triangles = []
    for i in range(side - 1):
        for j in range(side - 1):
            a, b, c, d = (
                i * side + j,
                i * side + j + 1,
                (i + 1) * side + j,
                (i + 1) * side + j + 1,
            )
            triangles += [[a, b, d], [a, c, d]]
    K = SimplicialComplex.from_simplices(triangles)
    edges = {(u, v): i for i, (u, v) in enumerate(K.simplices(1).tolist())}
    near = [sorted({a + b - u for a, b in edges if u in (a, b)}) for u in range(K.num_nodes)]
    arrays = {"B1": K.boundary_matrix(1), "B2": K.boundary_matrix(2)}
    arrays = {name: B.to_dense().numpy().astype(np.int16) for name, B in arrays.items()}
    walks = []
    while len(walks) < number:
        walk, step = [int(rng.integers(side * side // 2))], (1, side)[rng.integers(2)]
        while len(walk) < 5 and walk[-1] + step in near[walk[-1]]:
            walk.append(walk[-1] + step)
        if len(walk) > 2:
            walks.append(walk)
    for prefix, turned in (("", walks), ("rev_", [walk[::-1] for walk in walks])):
        flows = np.zeros((number, len(edges), 1), dtype=np.int16)
        targets = np.zeros((number, max(map(len, near)), 1), dtype=np.int16)
        for i, walk in enumerate(turned):
            for u, v in pairwise(walk[:-1]):
                flows[i, edges[min(u, v), max(u, v)]] += 1 if u < v else -1
            targets[i, near[walk[-2]].index(walk[-1])] = 1
        arrays[f"{prefix}flows_in"], arrays[f"{prefix}targets"] = flows, targets
        for name, place in (("last_nodes", -2), ("target_nodes", -1)):
            arrays[prefix + name] = np.array([walk[place] for walk in turned], dtype=np.int16)
    masks = np.zeros((10, number), dtype=np.int8)
    for row in masks:
        row[rng.permutation(number)[: number // 5]] = 1
    return {**arrays, "test_masks_10": masks}, walks


def write_next(folder, arrays):
    path = folder / next_data.NAME
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez(path, **arrays)
    return path
