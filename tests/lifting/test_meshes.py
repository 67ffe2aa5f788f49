"""Meshes from files, arrays and PyG data, sound and broken."""

import sys
import warnings

import pytest
import torch
import trimesh
from torch_geometric.data import Data

import mpsn
from mpsn import mesh_complex
from mpsn.errors import ComplexError, FileError, MeshWarning, MissingPackageError


@pytest.fixture
def torus():
    return trimesh.creation.torus(1, 0.3, major_sections=12, minor_sections=8)


@pytest.mark.parametrize("suffix", ["off", "ply", "obj", "stl"])
def test_files(torus, suffix, tmp_path):
    path = tmp_path / f"torus.{suffix}"
    torus.export(path)
    with warnings.catch_warnings():
        warnings.simplefilter("error", MeshWarning)
        K = mesh_complex(path, edge_lengths=True, areas=True, angles=True)
    assert K.counts == (96, 288, 192)
    assert K.betti_numbers() == (1, 2, 1)
    assert K.x[0].dtype == torch.float32
    area, angles = K.x[2][:, 0], K.x[2][:, 1:]
    assert float(area.sum()) == pytest.approx(torus.area, rel=1e-4)
    assert torch.allclose(angles.sum(1), torch.full((192,), torch.pi))
    total = torch.bincount(K.simplices(2).reshape(-1), angles.reshape(-1))
    assert float((2 * torch.pi - total).sum()) == pytest.approx(0, abs=1e-3)  # Gauss-Bonnet
    length = K.x[0][K.simplices(1)].diff(dim=1).norm(dim=2)
    assert torch.allclose(K.x[1], length)


def test_triangles_and_angles_as_trimesh_finds_them(torus):
    K = mesh_complex(torus, angles=True, areas=True)
    rows = {tuple(sorted(face)): i for i, face in enumerate(torus.faces.tolist())}
    for row, found in zip(K.simplices(2).tolist(), K.x[2].tolist(), strict=True):
        i = rows[tuple(row)]
        expected = [torus.face_angles[i][torus.faces[i].tolist().index(v)] for v in row]
        assert found == pytest.approx([torus.area_faces[i], *expected], abs=1e-5)


def test_arrays_tetrahedra_and_data():
    points = torch.rand(5, 3, dtype=torch.float64)
    K = mesh_complex((points, [[3, 1, 2, 0], [4, 1, 2, 3]]))
    assert K.counts == (5, 9, 7, 2)
    assert torch.equal(K.x[0], points)
    face = torch.tensor([[0, 1, 2]]).T
    data = Data(pos=points[:3], face=face, x=torch.ones(3, 1), y=torch.tensor([1]))
    L = mesh_complex(data)
    assert L.counts == (3, 3, 1)
    assert L.x[0].shape == (3, 4)
    assert L.y.tolist() == [1]


BROKEN = {
    "repeated triangles: 1": [[0, 1, 2], [2, 0, 1]],
    "degenerate triangles, with a repeated vertex: 2": [[0, 1, 2], [3, 3, 1], [4, 4, 4]],
    "edges in more than two triangles: 1": [[0, 1, 2], [0, 1, 3], [0, 1, 4]],
    "vertices at which several sheets meet: 1": [[0, 1, 2], [0, 3, 4]],
    "vertices in none of the triangles: 2": [[0, 1, 2]],
}


@pytest.mark.parametrize("defect", BROKEN)
def test_broken_meshes_are_loaded_and_said_to_be_so(defect):
    points = torch.rand(5, 3)
    with pytest.warns(MeshWarning) as said:
        K = mesh_complex((points, BROKEN[defect]))
    (message,) = (str(warning.message) for warning in said)
    assert defect in message
    assert "edges on the boundary" in message
    expected = {tuple(sorted(set(row))) for row in BROKEN[defect]}
    assert expected <= {tuple(s) for s in K.to_simplices()}
    assert K.num_nodes == 5


def test_a_boundary_is_no_defect():
    square = torch.tensor([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    K = mesh_complex((square, [[0, 1, 2], [0, 2, 3]]), areas=True)
    assert K.x[2].tolist() == [[0.5], [0.5]]


def test_refused(tmp_path, monkeypatch):
    (tmp_path / "empty.stl").write_text("")
    (tmp_path / "bad.ply").write_text("hello")
    (tmp_path / "far.obj").write_text("v 0 0 0\nf 1 2 9\n")
    for name, message in {
        "none.off": "found no file",
        "empty.stl": "at least one triangle|damaged",  # by version of trimesh
        "bad.ply": "damaged or of another kind",
        "far.obj": "damaged or of another kind",
    }.items():
        with pytest.raises(FileError, match=message):
            mesh_complex(tmp_path / name)
    for mesh, message in (
        ((torch.zeros(3, 3), [[0, 1, 3]]), r"vertices 0\.\.2, got 0 to 3"),
        ((torch.zeros(3, 3), [[0, 1]]), r"triangles \(m, 3\)"),
        (Data(pos=torch.zeros(3, 3)), "triangles face"),
        (7, "Expected a mesh"),
    ):
        with pytest.raises(ComplexError, match=message):
            mesh_complex(mesh)
    monkeypatch.setitem(sys.modules, "trimesh", None)
    with pytest.raises(MissingPackageError, match=r"pip install 'mpsn\[mesh\]'"):
        mpsn.mesh_complex(tmp_path / "bad.ply")
