"""The incidence: rectangular and ragged, against dense matrices and brute force."""

import pickle
from itertools import pairwise

import networkx as nx
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.func import jacfwd, jacrev, jvp, vmap
from torch.utils import _pytree as pytree

import mpsn
from mpsn import SimplicialComplex
from mpsn._rows.rows import Rows
from mpsn._rows.sums import CHUNK, LeaveOneOut, Matrix, segment_sum
from mpsn.complexes import Incidence
from mpsn.errors import ComplexError

SUMS = ("from_faces", "from_cofaces", "upper", "lower")


@st.composite
def incidences(draw):
    """Make an incidence of random cells; some have no face, some faces no cell."""
    count = draw(st.integers(1, 6))
    n = draw(st.integers(0, 7))
    if draw(st.booleans()):
        cells = draw(
            st.lists(st.sets(st.integers(0, count - 1), max_size=count), min_size=n, max_size=n)
        )
        width = None
    else:
        width = draw(st.integers(1, count))
        each = st.sets(st.integers(0, count - 1), min_size=width, max_size=width)
        cells = draw(st.lists(each, min_size=n, max_size=n))
    cells = [draw(st.permutations(sorted(cell))) for cell in cells]
    face = torch.tensor([f for cell in cells for f in cell], dtype=torch.int64)
    sign = torch.tensor(
        draw(st.lists(st.sampled_from([-1, 1]), min_size=len(face), max_size=len(face))),
        dtype=torch.int8,
    )
    ptr = torch.tensor([0, *map(len, cells)]).cumsum(0) if width is None else None
    return Incidence(face, count, width, ptr, sign)


def dense(B, signed):
    """Return the matrix (count, cells), entry by entry."""
    out = torch.zeros(B.count, len(B), dtype=torch.float64)
    for cell, (start, end) in enumerate(zip(B.offsets[:-1], B.offsets[1:], strict=True)):
        for e in range(start, end):
            out[B.face[e], cell] = B.sign[e].double() if signed else 1.0
    return out


def off_diagonal(M):
    return M - torch.diag(M.diag())


def matrices(B, signed):
    """Return the matrix of each sum."""
    M = dense(B, signed)
    return {
        "from_faces": M.T,
        "from_cofaces": M,
        "upper": off_diagonal(M @ M.T),
        "lower": off_diagonal(M.T @ M),
    }


def rows_in(B, name):
    return len(B) if name in ("from_cofaces", "lower") else B.count


def random(*shape, dtype=torch.float64):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(0), dtype=dtype)


@given(incidences(), st.booleans(), st.sampled_from([(), (3,)]))
def test_sums_and_derivatives_are_products_with_matrices(B, signed, batch):
    for name, M in matrices(B, signed).items():
        counts = M.abs().sum(1) if name in ("from_faces", "from_cofaces") else None
        if counts is None:
            one = matrices(B, False)[name]  # neighbors, as often as they share something
            counts = one.sum(1)
        for dtype in (torch.float32, torch.float64):
            h = random(rows_in(B, name), *batch, 2, dtype=dtype).requires_grad_()
            out = getattr(B, name)(h, signed=signed)
            right = torch.einsum("nm,m...->n...", M.to(dtype), h)
            tolerance = 1e-5 if dtype == torch.float32 else 1e-12
            torch.testing.assert_close(out, right, rtol=tolerance, atol=tolerance)
            mean = getattr(B, name)(h, signed=signed, reduce="mean")
            share = counts.clamp(min=1).to(dtype).view(-1, *(1,) * (out.dim() - 1))
            torch.testing.assert_close(mean, right / share, rtol=tolerance, atol=tolerance)
            weights = torch.randn_like(out)
            grads = [torch.autograd.grad((y * weights).sum(), h)[0] for y in (out, right)]
            torch.testing.assert_close(*grads, rtol=tolerance, atol=tolerance)


@given(incidences(), st.booleans())
def test_messages_are_sums_over_pairs_of_entries(B, signed):
    nnz = len(B.face)
    m = random(nnz, 2)
    sign = B.sign.double() if signed else torch.ones(nnz, dtype=torch.float64)
    up, down = torch.zeros(B.count, 2).double(), torch.zeros(len(B), 2).double()
    many_up, many_down = torch.zeros(B.count), torch.zeros(len(B))
    for a in range(nnz):
        for b in range(nnz):
            both = sign[a] * sign[b] * m[b]
            if a != b and B.cell[a] == B.cell[b]:
                up[B.face[a]] += both
                many_up[B.face[a]] += 1
            if a != b and B.face[a] == B.face[b]:
                down[B.cell[a]] += both
                many_down[B.cell[a]] += 1
    torch.testing.assert_close(B.upper_messages(m, signed=signed), up)
    torch.testing.assert_close(B.lower_messages(m, signed=signed), down)
    mean = B.upper_messages(m, signed=signed, reduce="mean")
    torch.testing.assert_close(mean, up / many_up.clamp(min=1)[:, None].double())
    mean = B.lower_messages(m, signed=signed, reduce="mean")
    torch.testing.assert_close(mean, down / many_down.clamp(min=1)[:, None].double())
    below, above = random(B.count, 3), random(len(B), 3)
    torch.testing.assert_close(
        B.gather(below, signed=signed), below[B.face] * sign[:, None], rtol=0, atol=0
    )
    torch.testing.assert_close(B.spread(above), above[B.cell], rtol=0, atol=0)


@given(incidences())
def test_entries_can_be_read_in_every_order(B):
    order, ptr = B.positions.item, B.positions.offsets
    for face in range(B.count):
        assert torch.equal(order[ptr[face] : ptr[face + 1]], (B.face == face).nonzero()[:, 0])
    assert B.degree.tolist() == [(B.face == face).sum().item() for face in range(B.count)]
    torch.testing.assert_close(B.matrix(dtype=torch.float64).to_dense(), dense(B, True))
    torch.testing.assert_close(B.matrix(False, torch.float64).to_dense(), dense(B, False))


def rings():
    """A square, a triangle and a digon on six edges, with signs by walking around."""
    face = torch.tensor([0, 1, 2, 3, 3, 4, 5, 1, 2])
    sign = torch.tensor([1, 1, -1, 1, 1, -1, 1, 1, 1], dtype=torch.int8)
    return Incidence(face, 6, None, torch.tensor([0, 4, 7, 9]), sign)


def triangles():
    return mpsn.clique_complex(nx.complete_graph(5)).incidence(2)


CASES = [pytest.param(rings, id="ragged"), pytest.param(triangles, id="rectangular")]


def everything(B, below, above):
    """Apply every sum, with something in between that is not linear."""
    m = torch.tanh(B.gather(below, signed=True) * B.spread(above))
    return torch.cat(
        [
            B.from_faces(below.sin(), signed=True, reduce="mean").flatten(),
            B.from_cofaces(above.sin(), signed=True, reduce="mean").flatten(),
            B.upper(below.sin(), signed=True).flatten(),
            B.lower(above.sin(), reduce="mean").flatten(),
            B.upper_messages(m, signed=True).flatten(),
            B.lower_messages(m, reduce="mean").flatten(),
        ]
    )


@pytest.mark.parametrize("make", CASES)
@pytest.mark.filterwarnings("ignore:There is a performance drop")  # of vmap in torch itself
def test_derivatives_of_every_kind(make):
    B = make()
    below, above = random(B.count, 2).requires_grad_(), random(len(B), 2).requires_grad_()
    assert torch.autograd.gradcheck(lambda x, y: everything(B, x, y), (below, above))
    assert torch.autograd.gradgradcheck(lambda x, y: everything(B, x, y), (below, above))
    x, y, v = below.detach(), above.detach(), random(B.count, 2).flip(0)
    J = jacrev(lambda t: everything(B, t, y))(x)
    torch.testing.assert_close(jacfwd(lambda t: everything(B, t, y))(x), J)
    along = jvp(lambda t: everything(B, t, y), (x,), (v,))[1]
    torch.testing.assert_close(along, torch.einsum("aij,ij->a", J, v))
    many = torch.stack([x, v, x - v])
    each = torch.stack([everything(B, t, y) for t in many])
    torch.testing.assert_close(vmap(lambda t: everything(B, t, y))(many), each)
    vectorized = torch.autograd.functional.jacobian(
        lambda t: everything(B, t, y), x, vectorize=True
    )
    torch.testing.assert_close(vectorized, J)


@pytest.mark.slow
@pytest.mark.parametrize("make", CASES)
def test_all_sums_compile_as_one_graph(make):
    B = make()
    below, above = random(B.count, 2).requires_grad_(), random(len(B), 2).requires_grad_()
    compiled = torch.compile(lambda x, y: everything(B, x, y), fullgraph=True)
    got, right = compiled(below, above), everything(B, below, above)
    torch.testing.assert_close(got, right)
    weights = random(*right.shape)
    slopes = [torch.autograd.grad((out * weights).sum(), (below, above)) for out in (got, right)]
    torch.testing.assert_close(*slopes)


@pytest.mark.parametrize("make", CASES)
def test_deterministic_algorithms_suffice(make):
    B = make()
    below, above = random(B.count, 2).requires_grad_(), random(len(B), 2).requires_grad_()
    torch.use_deterministic_algorithms(True)
    try:
        results = []
        for _ in range(2):
            out = everything(B, below, above)
            results.append([out, *torch.autograd.grad(out.square().sum(), (below, above))])
    finally:
        torch.use_deterministic_algorithms(False)
    assert all(torch.equal(a, b) for a, b in zip(*results, strict=True))


@pytest.mark.parametrize("make", CASES)
def test_integers_are_summed_as_integers(make):
    B = make()
    for name, M in matrices(B.with_sign(B.signs), False).items():
        h = torch.arange(2 * rows_in(B, name)).view(-1, 2)
        assert torch.equal(getattr(B, name)(h), M.long() @ h)


@given(st.lists(st.integers(0, 40), max_size=5), st.integers(0, 2**31))
def test_others_of_long_groups(sizes, seed):
    """Groups longer than a chunk, and chunks of chunks, against sums over the others."""
    g = torch.Generator().manual_seed(seed)
    nnz, many = sum(sizes), 7
    ptr = torch.tensor([0, *sizes]).cumsum(0)
    order = torch.randperm(nnz, generator=g)
    sender = torch.randint(many, (nnz,), generator=g)
    receiver = torch.randint(3, (nnz,), generator=g)
    sign = torch.randint(2, (nnz,), generator=g) * 2 - 1
    h = torch.randn(many, 2, generator=g, dtype=torch.float64)
    right = torch.zeros(3, 2, dtype=torch.float64)
    for start, end in pairwise(ptr):
        for a in order[start:end]:
            others = order[start:end][order[start:end] != a]
            right[receiver[a]] += sign[a] * sign[others].double() @ h[sender[others]]
    groups, receivers = Rows(order, nnz, ptr=ptr), Rows(receiver, 3, 1).positions
    A = LeaveOneOut(groups, receivers, sender, many, sign)
    assert (A.above is not None) == (max(sizes, default=0) > CHUNK)
    torch.testing.assert_close(A @ h, right)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("weighted", [False, True])
def test_segment_sums(dtype, weighted):
    """Against one by one; empty lists at any place."""
    h, index = random(9, 3, dtype=dtype), torch.tensor([8, 0, 0, 3, 5])
    ptr = torch.tensor([0, 0, 2, 5, 5, 5])
    weight = random(5) if weighted else None
    each = h[index] if weight is None else h[index] * weight[:, None].to(dtype)
    ends = ptr.tolist()
    slow = torch.stack([each[i:j].sum(dim=0) for i, j in pairwise(ends)])
    torch.testing.assert_close(segment_sum(h, index, ptr, weight), slow)
    assert segment_sum(h, index[:0], ptr[:1]).shape == (0, 3)
    nothing = torch.zeros(3, dtype=torch.int64)
    assert segment_sum(h[:0], index[:0], nothing).tolist() == [[0] * 3] * 2


def test_sparse_rows_know_their_transpose():
    M = random(4, 6) * (random(6, 4).T > 0)
    rows, columns = M.nonzero(as_tuple=True)
    A = Matrix.of(rows, columns, M[rows, columns], (4, 6))
    torch.testing.assert_close(A @ torch.eye(6, dtype=torch.float64), M)
    torch.testing.assert_close(A.T @ torch.eye(4, dtype=torch.float64), M.T)
    assert A.T.T is A


def test_a_function_of_an_incidence_depends_on_nothing_else(monkeypatch):
    read = []
    sort = mpsn._rows.rows._positions
    monkeypatch.setattr(mpsn._rows.rows, "_positions", lambda *args: read.append(1) or sort(*args))
    K = mpsn.clique_complex(nx.karate_club_graph())
    h = torch.randn(K.count(1), 2, requires_grad=True)
    for _ in range(3):
        K.incidence(2).upper(h).sum().backward()
    assert len(read) == 1  # found once, and kept on the value
    table = K.faces(2).clone()
    twin = Incidence(table.reshape(-1), K.count(1), 3)
    assert torch.equal(twin.upper(h), K.incidence(2).upper(h))
    assert len(read) == 2
    assert twin == K.incidence(2)
    table[0] = torch.tensor([5, 6, 7])
    assert twin != K.incidence(2)


@pytest.mark.parametrize("make", CASES)
def test_it_is_a_value(make):
    B = make()
    B.lower(random(len(B), 1))
    assert pickle.loads(pickle.dumps(B)) == B
    leaves, spec = pytree.tree_flatten(B)
    assert pytree.tree_unflatten(leaves, spec) == B
    assert B.apply(torch.clone) == B
    assert B.apply(lambda t: t) is B  # with all that is kept
    turned = B.with_sign(-B.signs)
    assert turned != B
    h = random(len(B), 2)
    assert torch.equal(turned.from_cofaces(h, signed=True), -B.from_cofaces(h, signed=True))
    assert torch.equal(turned.lower(h), B.lower(h))
    with pytest.raises(AttributeError, match="cannot assign"):
        B.count = 3


def test_ragged_ones_have_no_table_and_say_so():
    assert repr(rings()) == "Incidence(cells=3, count=6, entries=9)"
    with pytest.raises(ComplexError, match="one number of faces for a table, got Incidence"):
        _ = rings().table


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"face": torch.zeros(2, 2, dtype=torch.int64)}, r"int64 of shape \(nnz,\), got torch.int"),
        ({"face": torch.zeros(2)}, "Expected face as int64"),
        ({"width": None}, "width or ptr, got neither"),
        ({"ptr": torch.tensor([0, 4])}, "width or ptr, got both"),
        ({"width": 3}, "rows of width 3 >= 1, got 4 entries"),
        ({"width": 0}, "rows of width 0 >= 1"),
        ({"width": None, "ptr": torch.tensor([0, 3])}, "ptr to rise from 0 to 4"),
        ({"width": None, "ptr": torch.tensor([0, 5, 4])}, "ptr to rise from 0 to 4"),
        ({"width": None, "ptr": torch.tensor([0, 4])}, "a sign for each entry"),
        ({"count": 3}, "faces from 0 to 2, got 0 to 3"),
        ({"face": torch.tensor([0, -1])}, "faces from 0 to 3, got -1 to 0"),
        ({"sign": torch.tensor([1, 1, 2, 1])}, "signs ±1"),
        ({"sign": torch.tensor([1, 1])}, r"signs ±1 of shape \(4,\), got shape \(2,\)"),
    ],
)
def test_bad_incidences_are_refused(parts, message):
    good = {"face": torch.tensor([0, 1, 2, 3]), "count": 4, "width": 2}
    with pytest.raises(ComplexError, match=message):
        Incidence(**(good | parts))


@pytest.mark.parametrize("name", SUMS)
def test_bad_features_are_refused(name):
    B = triangles()
    with pytest.raises(ComplexError, match=r"each of the 10 cells.* got \(9, 2\)"):
        getattr(B, name)(torch.zeros(9, 2))
    with pytest.raises(ComplexError, match="Expected reduce 'sum' or 'mean', got 'max'"):
        getattr(B, name)(torch.zeros(10, 2), reduce="max")
    with pytest.raises(ComplexError, match="each of the 30 entries"):
        B.upper_messages(torch.zeros(10, 2))


def test_cells_that_do_not_exist_receive_nothing():
    K = SimplicialComplex.from_simplices([[0, 1]], 5)
    for k in range(4):
        B = K.incidence(k)
        assert len(B) == K.count(k)
        assert B.from_faces(torch.ones(B.count, 2)).shape == (K.count(k), 2)
        assert B.from_cofaces(torch.ones(len(B), 2)).shape == (B.count, 2)
        for h in (B.lower(torch.ones(len(B), 2)), B.upper(torch.ones(B.count, 2))):
            assert h.isfinite().all()
