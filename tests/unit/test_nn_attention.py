"""Attention over neighbors, beside its definition pair by pair."""

import networkx as nx
import pytest
import torch
from torch.nn.functional import elu

import mpsn
from mpsn.nn.functional import attention

KINDS = ("boundary", "coboundary", "lower", "upper")
EDGES = [[0, 1], [1, 2], [2, 3], [3, 0], [0, 4], [4, 2]]
COMPLEXES = {
    "simplices": mpsn.clique_complex(nx.karate_club_graph(), 3),
    "cells": mpsn.CellComplex.from_boundaries(6, [EDGES, [[0, 1, 2, 3], [2, 3, 4, 5]]]),
    "cubes": mpsn.cubical_complex(torch.ones(3, 2)),
    "empty": mpsn.clique_complex(nx.empty_graph(3), 2),
}
SIGNED = pytest.mark.parametrize("signed", [False, True])


def sizes(K, k, kind):
    sender = {"boundary": k - 1, "coboundary": k + 1}.get(kind, k)
    return (K.count(sender) if sender >= 0 else 0), K.count(k)


def by_definition(K, k, kind, value, score, signed, loops):
    """Return the weighted means, receiver by receiver; ``score`` is a function of a pair."""
    pairs = K.adjacency(k, kind)
    rows = []
    for receiver in range(K.count(k)):
        chosen = (pairs.receiver == receiver).nonzero()[:, 0].tolist()
        terms = [(int(pairs.sender[i]), int(pairs.sign[i]) if signed else 1) for i in chosen]
        shared = {"lower": k, "upper": k + 1}.get(kind, 0)
        entries = K.incidence(shared)
        inside = entries.face if kind == "upper" else entries.cell
        terms += [(receiver, 1)] if loops and bool((inside == receiver).any()) else []
        if not terms:
            rows.append(torch.zeros_like(value[:1])[0] if len(value) else value.new_zeros(2, 3))
            continue
        scores = torch.stack([score(sender, receiver) for sender, _ in terms])  # (N, H)
        values = torch.stack([sign * value[sender] for sender, sign in terms])
        rows.append((scores.softmax(0)[..., None] * values).sum(0))
    return torch.stack(rows) if rows else value.new_zeros(0, 2, 3)


@SIGNED
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("split", [False, True])
@pytest.mark.parametrize("name", COMPLEXES)
def test_attention_is_its_definition(name, split, kind, signed):
    K, generator = COMPLEXES[name], torch.Generator().manual_seed(0)
    for k in range(K.dim + 1):
        senders, receivers = sizes(K, k, kind)
        value, s, r = (
            torch.randn(*shape, dtype=torch.float64, generator=generator, requires_grad=True)
            for shape in ((senders, 2, 3), (senders, 2), (receivers, 2))
        )
        for loops in (False, True) if kind in ("lower", "upper") else (False,):
            out = attention(
                K, k, kind, value, s, None if split else r, act=elu, signed=signed, loops=loops
            )
            right = by_definition(
                K,
                k,
                kind,
                value,
                lambda i, j, s=s, r=r: elu(s[i] if split else s[i] + r[j]),
                signed,
                loops,
            )
            torch.testing.assert_close(out, right, rtol=1e-10, atol=1e-10)
            if right.requires_grad and right.numel():
                ours, theirs = (
                    torch.autograd.grad(y.square().sum(), (value, s), allow_unused=True)
                    for y in (out, right)
                )
                torch.testing.assert_close(ours, theirs, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("split", [False, True])
def test_scores_of_any_size_are_exact(split):
    """The largest of a group does not drown the others, nor does one far below vanish."""
    K = mpsn.clique_complex(nx.star_graph(3), 1)  # three edges at one vertex
    value = torch.tensor([1.0, 2.0, 4.0]).view(3, 1, 1)
    score = torch.tensor([[500.0], [-500.0], [-500.0]])
    receiver = None if split else torch.zeros(3, 1)
    out = attention(K, 1, "lower", value, score, receiver, act=lambda x: x)
    assert out.flatten().tolist() == [3, 1, 1]


@pytest.mark.parametrize("split", [False, True])
def test_hubs_in_single_precision_are_as_in_double(split):
    K = mpsn.clique_complex(nx.star_graph(600), 1)
    generator = torch.Generator().manual_seed(0)
    value, s, r = (torch.randn(600, *shape, generator=generator) for shape in ((1, 4), (1,), (1,)))
    single = attention(K, 1, "lower", value, 3 * s, None if split else r)
    double = attention(K, 1, "lower", value.double(), 3 * s.double(), None if split else r.double())
    torch.testing.assert_close(single.double(), double, rtol=1e-5, atol=1e-6)


def test_scores_of_senders_alone_list_no_pairs():
    """A star of 100 000 edges has 10^10 lower pairs."""
    n = 100_000
    K = mpsn.SimplicialComplex.from_simplices(
        torch.stack([torch.zeros(n, dtype=torch.int64), torch.arange(1, n + 1)], dim=1)
    )
    out = attention(K, 1, "lower", torch.ones(n, 1, 1), torch.zeros(n, 1))
    torch.testing.assert_close(out, torch.ones(n, 1, 1))


def test_loops_of_faces_are_refused():
    K = COMPLEXES["simplices"]
    with pytest.raises(mpsn.MPSNError, match="'lower' or 'upper'"):
        attention(K, 1, "boundary", torch.ones(34, 1, 1), torch.ones(34, 1), loops=True)
