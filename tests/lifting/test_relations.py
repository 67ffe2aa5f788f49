"""Hypergraphs, relations and groups against all subsets; Dowker's theorem."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import torch
import xgi
from hypothesis import given
from hypothesis import strategies as st

from mpsn import SimplicialComplex, from_groups
from mpsn.errors import ComplexError, TooLargeError
from mpsn.lifting import dowker_complex, hypergraph_complex

hyperedges = st.lists(st.sets(st.integers(0, 7), max_size=6), max_size=6)
matrices = st.integers(1, 6).flatmap(
    lambda width: st.lists(st.lists(st.booleans(), min_size=width, max_size=width), min_size=1)
)


def faces(groups, n, max_dim):
    sizes = range(1, 9 if max_dim is None else max_dim + 2)
    found = {s for group in groups for size in sizes for s in combinations(sorted(group), size)}
    return sorted(found | {(v,) for v in range(n)}, key=lambda s: (len(s), s))


@given(hyperedges, st.sampled_from([0, 1, 2, None]))
def test_downward_closure_with_a_bound(groups, max_dim):
    n = max((v for group in groups for v in group), default=-1) + 1
    expected = faces(groups, n, max_dim)
    K = hypergraph_complex(groups, max_dim)
    assert [tuple(s) for s in K.to_simplices()] == expected
    assert SimplicialComplex(n, [K.faces(k) for k in range(1, K.dim + 1)]) == K
    assert hypergraph_complex(dict(enumerate(groups)), max_dim) == K
    matrix = np.zeros((n, len(groups)), int)
    for column, group in enumerate(groups):
        matrix[list(group), column] = column + 1
    for relation in (matrix, torch.tensor(matrix), scipy.sparse.csr_array(matrix)):
        assert hypergraph_complex(relation, max_dim) == dowker_complex(relation, max_dim) == K


@given(matrices)
def test_dowkers_theorem(rows):
    relation = torch.tensor(rows)[:8]
    one, other = (
        [*dowker_complex(R, None).betti_numbers()]
        for R in (relation[relation.any(1)], relation.T[relation.T.any(1)])
    )  # rows related to nothing would be vertices alone
    size = max(len(one), len(other))
    assert one + [0] * (size - len(one)) == other + [0] * (size - len(other))


def test_hypergraphs_of_xgi():
    H = xgi.Hypergraph([["a", "b", "c", "d"], ["d", "e"]])
    H.add_node("alone")
    K = hypergraph_complex(H)
    assert K.counts == (6, 7, 4)
    assert K.vertex_labels == ("a", "alone", "b", "c", "d", "e")


def test_large_hyperedges_are_refused_or_bounded():
    with pytest.raises(TooLargeError, match="lower max_dim"):
        hypergraph_complex([range(200)], None)
    with pytest.raises(TooLargeError, match="faces of 9 vertices"):
        hypergraph_complex([range(200)], 8)
    assert hypergraph_complex([range(200)], 1).counts == (200, 19900)


def test_groups_in_a_table():
    frame = pd.DataFrame({"paper": [7, 7, 7, 9, 9, 7], "author": [*"cabdac"]})
    K = from_groups(frame, "author", "paper")
    assert K.vertex_labels == ("a", "b", "c", "d")
    assert K.simplices(2).tolist() == [[0, 1, 2]]
    assert K.simplices(1).tolist() == [[0, 1], [0, 2], [0, 3], [1, 2]]
    assert from_groups(frame, "paper", "author").simplices(1).tolist() == [[0, 1]]
    with pytest.raises(ComplexError, match="Expected a column 'writer', got columns paper, author"):
        from_groups(frame, "writer", "paper")
    with pytest.raises(ComplexError, match="1 rows with a missing value"):
        from_groups(pd.DataFrame({"a": ["x", None], "b": [1, 2]}), "a", "b")


def test_lists_are_no_relation():
    with pytest.raises(ComplexError, match="hypergraph_complex"):
        dowker_complex([[0, 1]])
    for wrong in (3, None, [0, 1]):
        with pytest.raises(ComplexError, match="Expected hyperedges as lists of vertices"):
            hypergraph_complex(wrong)
