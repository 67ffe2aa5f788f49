"""Color counts as features for scikit-learn."""

import subprocess
import sys

import networkx as nx
import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC
from torch_geometric.data import Data

import mpsn
from mpsn import MPSNError
from mpsn.estimators import SWLKernel, WLKernel

GRAPHS = [nx.gnp_random_graph(8, 0.5, seed=i) for i in range(12)]
KERNELS = [WLKernel(), WLKernel(0), WLKernel(None), SWLKernel(), SWLKernel(None, None)]
KERNELS += [SWLKernel(lift="cliques+rings", max_dim=None), SWLKernel(lift=mpsn.clique_complex)]


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: str(kernel).split(" at ")[0])
def test_transform_repeats_fit_transform(kernel):
    features = clone(kernel).fit_transform(GRAPHS)
    fitted = clone(kernel).fit(GRAPHS)
    assert (fitted.transform(GRAPHS) != features).nnz == 0
    for i, graph in enumerate(GRAPHS):
        assert (fitted.transform([graph]) != features[[i]]).nnz == 0


@pytest.mark.parametrize("rounds", [0, 2])
def test_rows_count_all_simplices_in_every_round(rounds):
    Ks = mpsn.clique_complexes(GRAPHS, 2)
    features = SWLKernel(rounds).fit_transform(GRAPHS)
    totals = Ks.counts.sum(dim=1) * (rounds + 1)
    assert features.sum(axis=1).tolist() == totals.tolist()
    assert WLKernel(rounds).fit_transform(GRAPHS).sum(axis=1).tolist() == [8 * (rounds + 1)] * 12


def test_kernels_of_other_lifts():
    six, two = nx.cycle_graph(6), nx.disjoint_union(*[nx.cycle_graph(3)] * 2)
    ten, fives = nx.cycle_graph(10), nx.disjoint_union(*[nx.cycle_graph(5)] * 2)
    for graphs, lift, same in (
        ([six, two], "cubes", True),
        ([six, two], "rings", False),
        ([ten, fives], "cliques", True),
        ([ten, fives], "rings", False),
    ):
        one, other = SWLKernel(lift=lift).fit_transform(graphs).toarray()
        assert (one == other).all() == same
    assert SWLKernel(lift="rings", max_ring=4).fit_transform([ten, fives]).shape[1] < 20
    with pytest.raises(MPSNError, match="Expected a lift among"):
        SWLKernel(lift="trees").fit([six])


def test_features_are_those_of_the_refinement():
    r = mpsn.wl.wl(GRAPHS, rounds=3)
    gram = WLKernel(3).fit_transform(GRAPHS)
    gram = (gram @ gram.T).toarray()
    for i in (0, 5):
        for j in range(12):
            pairs = (
                (r.histograms_at(t)[i][0], r.histograms_at(t)[j][0]) for t in range(r.rounds + 1)
            )
            same = sum(one[c] * two.get(c, 0) for one, two in pairs for c in one)
            assert gram[i, j] == same


def test_unseen_colors_have_a_column_per_round_and_dimension():
    kernel = SWLKernel(rounds=1).fit([nx.cycle_graph(3)])
    known = len(kernel.palette_)
    row = kernel.transform([nx.complete_graph(4)]).toarray()[0]
    assert row.shape == (known + 2 * 3,)
    assert row[:known].sum() == 4 + 6 + 4 + 4  # round 0, and triangles: nothing above them
    assert row[known:].tolist() == [0, 0, 0, 4, 6, 0]
    assert len(kernel.palette_) == known  # transform learns nothing
    assert not kernel.transform([nx.cycle_graph(3)])[:, known:].sum()


def test_pipeline_and_cross_validation():
    """Cycles in one piece or in two, which SWL sees only in small ones."""
    one = [nx.cycle_graph(n) for n in range(6, 18)]
    two = [nx.disjoint_union(nx.cycle_graph(3), nx.cycle_graph(n - 3)) for n in range(6, 18)]
    y = np.repeat([0, 1], 12)
    model = make_pipeline(SWLKernel(), LinearSVC(random_state=0))
    assert cross_val_score(model, one + two, y, cv=3).mean() == 1
    blind = make_pipeline(WLKernel(), LinearSVC(random_state=0))
    assert cross_val_score(blind, one + two, y, cv=3).mean() <= 0.75


def test_vertex_features_count():
    edges = torch.tensor([[0, 1], [1, 0]])
    data = [Data(edge_index=edges, x=torch.tensor([[0.0], [float(i)]])) for i in range(2)]
    for plain, labeled in (
        (WLKernel(1), WLKernel(1, initial="features")),
        (SWLKernel(1), SWLKernel(1, initial="features")),
    ):
        one, two = plain.fit_transform(data).toarray()
        assert (one == two).all()
        one, two = labeled.fit_transform(data).toarray()
        assert (one != two).any()


def test_what_does_not_count_need_not_agree():
    edges = torch.tensor([[0, 1], [1, 0]])
    data = [
        Data(edge_index=edges, x=torch.ones(2, n), edge_attr=torch.ones(2, n), y=torch.ones(1, n))
        for n in (1, 2)
    ]
    for kernel in (WLKernel(), SWLKernel()):
        one, two = kernel.fit_transform([*data]).toarray()
        assert (one == two).all()
    with pytest.raises(MPSNError, match="of one shape and type"):
        SWLKernel(initial="features").fit(data)


def test_attributes_of_networkx_graphs_are_features():
    """The same colors as from a column of numbers."""
    plain, named, both = [], [], []
    for n, kinds in ((3, "CCO"), (3, "COC"), (4, "OCCO")):
        graph = nx.path_graph(n)
        kind = dict(enumerate(kinds))
        nx.set_node_attributes(graph, kind, "atom")
        named.append(graph)
        both.append(graph.copy())
        nx.set_node_attributes(both[-1], 0.5, "mass")
        x = torch.tensor([[float(k == "O")] for k in kinds])
        ends = torch.tensor(list(graph.edges)).T
        plain.append(Data(edge_index=torch.cat([ends, ends.flip(0)], 1), x=x))
    nx.set_node_attributes(named[0], {0: "x"}, "note")  # of one vertex only
    expected = WLKernel(2, "features").fit_transform(plain).toarray()
    for graphs in (named, both):
        kernel = WLKernel(2, "features")
        assert (sorted(kernel.fit_transform(graphs).toarray().T.tolist())) == (
            sorted(expected.T.tolist())
        )
        assert (kernel.transform(graphs).toarray() == kernel.fit_transform(graphs).toarray()).all()
        with pytest.raises(MPSNError, match="got a graph without"):
            kernel.transform([nx.path_graph(3)])


def test_bad_input():
    with pytest.raises(NotFittedError):
        WLKernel().transform(GRAPHS)
    with pytest.raises(MPSNError, match="got a graph without"):
        WLKernel(initial="features").fit(GRAPHS)
    with pytest.raises(MPSNError, match="'uniform' or 'features', got 'degree'"):
        WLKernel(initial="degree").fit(GRAPHS)
    with pytest.raises(MPSNError, match="at least one vertex"):
        SWLKernel().fit([nx.empty_graph(0)])


def test_the_core_does_without_scikit_learn():
    code = "import sys, mpsn.wl, mpsn.nn; sys.exit('sklearn' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
