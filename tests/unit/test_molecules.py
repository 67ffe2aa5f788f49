"""Molecules, with RDKit as the oracle."""

import gzip
import sys
from dataclasses import replace
from itertools import chain, pairwise
from xml.etree import ElementTree

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import torch
from rdkit import Chem
from sklearn.model_selection import cross_val_score

import mpsn
from mpsn.datasets import category_names, molecule_graph, read_collection
from mpsn.datasets._molecules import ATOMS, BONDS
from mpsn.errors import FileError, GraphError, LeftOut, MissingPackageError, MPSNError
from mpsn.estimators import ScaffoldKFold, SimplicialClassifier, SimplicialRegressor
from mpsn.estimators._draw_molecule import AGAINST, FOR, _color, _rings
from mpsn.estimators._inputs import prepare
from mpsn.lifting import Lift
from processes import finish

MOLECULES = [  # in all of them, the chordless cycles are the smallest set of smallest rings
    "CC(=O)Oc1ccccc1C(=O)O",
    "Cn1c(=O)c2c(ncn2C)n(C)c1=O",
    "c1ccc2ccccc2c1",
    "C1CCC2(CC1)CCCO2",
    "CC12CCC3C(CCc4cc(O)ccc43)C1CCC2O",
    "c1ccc(-c2ccccc2)cc1",
    "[O-][N+](=O)c1ccc(Cl)cc1Br",
    "C1CC1C1CCC1",
    "C1CCCCCCCCCCCCCCC1",
    "C[C@H](N)C(=O)O",
    "C/C=C/C#N",
    "[Na+].[Cl-]",
    "[NH4+]",
    "C",
]
BAD = {
    "c1ccccc": "not valid SMILES",
    "CO(C)C": "valence",
    "": "no SMILES",
    "hello": "not valid",
    "C a": "not",
}


@pytest.fixture(scope="module")
def found():
    return mpsn.read_molecules(MOLECULES)


def test_cells_are_those_of_rdkit(found):
    assert found.rows == tuple(range(len(MOLECULES)))
    assert found.left_out == {}
    for smiles, K in zip(MOLECULES, found.data, strict=True):
        mol = Chem.MolFromSmiles(smiles)
        assert K.count(0) == mol.GetNumAtoms()
        assert K.count(1) == mol.GetNumBonds()
        walks = Chem.GetSymmSSSR(mol)
        assert K.count(2) == len(walks)
        if len(walks):
            index, ptr = K.cells(2)
            rings = {frozenset(index[a:b].tolist()) for a, b in pairwise(ptr.tolist())}
            assert rings == {frozenset(walk) for walk in walks}
            assert sorted(K.x[2][:, 0].tolist()) == sorted(map(len, walks))


def test_molecules_can_be_made_from_categories(found):
    """Elements, charges, hydrogens and bonds determine a molecule but for its stereochemistry."""
    for smiles, K in zip(MOLECULES, found.data, strict=True):
        made = Chem.RWMol()
        for element, charge, hydrogens, aromatic, _ in K.x[0].tolist():
            atom = Chem.Atom(element)
            atom.SetFormalCharge(charge - 8)
            atom.SetNumExplicitHs(hydrogens)
            atom.SetNoImplicit(True)
            atom.SetIsAromatic(bool(aromatic))
            made.AddAtom(atom)
        ends = K.incidence(1).table.tolist() if K.dim else []
        for (u, v), (kind, _, _) in zip(ends, K.x[1].tolist(), strict=True):
            made.AddBond(u, v, Chem.BondType.values[kind])
        Chem.SanitizeMol(made)
        wanted = Chem.MolFromSmiles(smiles)
        Chem.RemoveStereochemistry(wanted)
        assert Chem.MolToSmiles(made) == Chem.MolToSmiles(wanted)


def test_stereochemistry_and_sizes_of_categories(found):
    alanine, nitrile = found.data[9], found.data[10]
    assert alanine.x[0][:, 4].tolist() == [0, int(Chem.ChiralType.CHI_TETRAHEDRAL_CCW), 0, 0, 0, 0]
    assert int(Chem.BondStereo.STEREOE) in nitrile.x[1][:, 2].tolist()
    for x, sizes in zip(found.data.union.x, found.categories, strict=True):
        assert x.dtype == torch.int64
        assert x.shape[1] == len(sizes)
        assert (x.max(dim=0).values < torch.tensor(list(sizes.values()))).all()
    assert ATOMS["chirality"] == len(Chem.ChiralType.values)
    assert BONDS["bond"] == len(Chem.BondType.values)
    assert BONDS["stereo"] == len(Chem.BondStereo.values)
    assert found.data.union.x[0][:, 1].unique().tolist() == [7, 8, 9]
    odd = mpsn.read_molecules([Chem.MolFromSmiles("[Fe+12]")]).data[0].x[0]
    assert odd.tolist() == [[26, 16, 0, 0, 0]]


def test_long_rings_are_a_choice():
    assert mpsn.read_molecules([MOLECULES[8]], max_ring=15).data[0].counts[2:] == ()
    assert mpsn.read_molecules([MOLECULES[8]]).data[0].x[2].tolist() == [[16]]


def test_all_sources_are_read_alike(tmp_path, found):
    y = [i / 2 for i in range(len(MOLECULES))]
    frame = pd.DataFrame({"name": "m", "Canonical_SMILES": MOLECULES, "y": y})
    frame.to_csv(tmp_path / "m.csv", index=False)
    frame.to_csv(tmp_path / "m.tsv.gz", index=False, sep="\t")
    (tmp_path / "m.smi").write_text("".join(f"{smiles} a name\n" for smiles in MOLECULES))
    with Chem.SDWriter(str(tmp_path / "m.sdf")) as writer:
        for smiles, number in zip(MOLECULES, y, strict=True):
            mol = Chem.MolFromSmiles(smiles)
            mol.SetProp("y", str(number))
            writer.write(mol)
    tables = [frame, tmp_path / "m.csv", str(tmp_path / "m.tsv.gz"), tmp_path / "m.sdf"]
    for source in tables:
        again = mpsn.read_molecules(source, y="y").data
        assert again.y.tolist() == y
        assert again.union.counts == found.data.union.counts
    mols = [*map(Chem.MolFromSmiles, MOLECULES)]
    for source in (*tables[:3], tmp_path / "m.smi", mols, frame["Canonical_SMILES"]):
        assert mpsn.read_molecules(source).data == found.data


def test_targets_with_gaps(tmp_path):
    (tmp_path / "m.csv").write_text("smiles,a,b\nC,1,\nCC,0,2.5\nCCC,1,NA\n")
    assert mpsn.read_molecules(tmp_path / "m.csv", y="a").data.y.tolist() == [1, 0, 1]
    assert mpsn.read_molecules(tmp_path / "m.csv", y="a").data.y.dtype == torch.int64
    both = mpsn.read_molecules(tmp_path / "m.csv", y=["a", "b"]).data.y
    assert both.dtype == torch.float32
    np.testing.assert_equal(both.numpy(), [[1, np.nan], [0, 2.5], [1, np.nan]])
    assert mpsn.read_molecules(tmp_path / "m.csv", y=["a"]).data[1].y.tolist() == [[0]]


def test_what_cannot_be_read_is_listed(tmp_path):
    mixed = ["CCO", *BAD, None, "CC", 7, Chem.MolFromSmiles("CO(C)C", sanitize=False)]
    with pytest.warns(LeftOut, match=r"8 of 10 that cannot be used \(row 1: 'c1ccccc' is not"):
        found = mpsn.read_molecules(mixed)
    assert found.rows == (0, 7)
    assert list(found.left_out) == [1, 2, 3, 4, 5, 6, 8, 9]
    for row, why in enumerate(BAD.values(), start=1):
        assert why in found.left_out[row]
    assert "sanitize" in found.left_out[9]
    with pytest.raises(FileError, match="got 8 of 10"):
        mpsn.read_molecules(mixed, strict=True)
    with pytest.raises(FileError, match="got 1 of 1"):
        mpsn.read_molecules(["xx"])
    (tmp_path / "m.sdf").write_text("\nbroken\n\n  1  0\nM  END\n$$$$\n")
    with pytest.raises(FileError, match="cannot be used"):
        mpsn.read_molecules(tmp_path / "m.sdf")


@pytest.mark.parametrize(
    ("text", "options", "said"),
    [
        ("a,b\nC,1\n", {}, "Expected one column of SMILES, named so, got 0 among a, b"),
        ("smiles_1,smiles_2\nC,C\n", {}, "got 2 among"),
        ("smiles,y\nC,1\n", {"smiles": "smile"}, "Did you mean smiles"),
        ("smiles,y\nC,1\n", {"y": "z"}, "Expected a column 'z'"),
        ("smiles,y\nC,active\n", {"y": "y"}, "Expected finite numbers in the column 'y'"),
        ("smiles,y\nC,1,2\n", {}, "Expected 2 columns on line 2"),
        ("smiles,smiles\nC,C\n", {}, "distinct names"),
        ("", {}, "got 0 among none"),
    ],
)
def test_tables_that_do_not_fit(tmp_path, text, options, said):
    (tmp_path / "m.csv").write_text(text)
    with pytest.raises(FileError, match=said):
        mpsn.read_molecules(tmp_path / "m.csv", **options)


def test_files_that_are_none_of_molecules(tmp_path):
    with pytest.raises(FileError, match="put SMILES into a list"):
        mpsn.read_molecules("CCO")
    with pytest.raises(FileError, match="got nothing"):
        mpsn.read_molecules(tmp_path / "missing.smi")
    (tmp_path / "m.smi").write_bytes(b"C\xff")
    with pytest.raises(FileError, match="Expected a file of molecules at"):
        mpsn.read_molecules(tmp_path / "m.smi")
    (tmp_path / "m.smi.gz").write_bytes(gzip.compress(b"C\n")[:-4])
    with pytest.raises(FileError, match="Expected a file of molecules at"):
        mpsn.read_molecules(tmp_path / "m.smi.gz")


def test_files_load_and_train_without_rdkit(found, tmp_path):
    found.data.save(tmp_path / "m.npz")
    program = (
        "import sys; assert 'rdkit' not in sys.modules; sys.modules['rdkit'] = None; "
        "import mpsn; from mpsn.estimators import *; "
        f"data = mpsn.ComplexDataset.load({str(tmp_path / 'm.npz')!r}); "
        "model = SimplicialClassifier(kernel=True).fit(data, [0, 1] * 7); "
        "print(len(data), len(model.predict(data)))"
    )
    assert finish(program, said=tmp_path / "said").split() == ["14", "14"]


def test_without_rdkit_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "rdkit.Chem", None)
    with pytest.raises(MissingPackageError, match=r"pip install 'mpsn\[chem\]'"):
        mpsn.read_molecules(["C"])
    with pytest.raises(MissingPackageError, match="'CCO', which is no path of a graph file"):
        SimplicialClassifier(kernel=True).fit(["CCO", "C"], [0, 1])


def test_categories_have_words():
    atoms, bonds = category_names(molecule_graph("C[O-]"))
    assert {name: words[1] for name, words in atoms.items()} == {
        "element": "O",
        "charge": -1,
        "hydrogens": 0,
        "aromatic": False,
        "chirality": "CHI_UNSPECIFIED",
    }
    assert {name: words.tolist() for name, words in bonds.items()} == {
        "bond": ["SINGLE"],
        "in_ring": [False],
        "stereo": ["STEREONONE"],
    }
    (iron,) = category_names(molecule_graph(Chem.MolFromSmiles("[Fe+12]")))[0]["charge"]
    assert iron == 8


def test_estimators_find_the_same_features_in_smiles_and_in_complexes(found):
    """The order of columns is that of names, which complexes do not have."""
    smiles, _ = prepare(MOLECULES, 2, lift=Lift("rings", max_ring=18))
    complexes, _ = prepare(found.data, 2)
    for one, other in zip(smiles.union.x, complexes.union.x, strict=True):
        assert one.shape == other.shape
        assert sorted(one.T.tolist()) == sorted(other.T.tolist())


def test_estimators_take_molecules():
    rings = [f"C1{'C' * n}C1" for n in range(1, 9)]
    chains = ["C" * n for n in range(2, 10)]
    smiles, y = rings + chains, [1] * 8 + [0] * 8
    model = SimplicialClassifier(lift="rings", max_ring=18, kernel=True).fit(smiles, y)
    assert model.counts_[2] == 8
    assert model.predict(pd.Series(smiles)).tolist() == y
    assert model.predict([Chem.MolFromSmiles("C1CCCCC1")]).tolist() == [1]
    assert "hydrogens (one-hot" in model.summary()
    assert model.explain("C1CC1O").complex.counts == (4, 4, 1)
    weights = [len(word) for word in smiles]
    cut = ScaffoldKFold(2)
    with pytest.warns(LeftOut, match="far beyond the targets in the fit"):
        scores = cross_val_score(SimplicialRegressor(kernel=True), smiles, weights, cv=cut)
    assert np.isfinite(scores).all()
    with pytest.raises(GraphError, match="Expected the path of a graph file, or a molecule") as e:
        model.predict(["no molecule"])
    assert "'no molecule' is not valid SMILES" in str(e.value)
    with pytest.raises(FileError, match="got nothing"):
        model.predict(["missing.graphml"])
    assert len(model.predict(["C" * 5000])) == 1  # longer than the name of a file may be


def test_words_that_are_paths_are_not_smiles(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    model = SimplicialClassifier(lift="rings", kernel=True).fit(["CC", "C1CC1"], [0, 1])
    (tmp_path / "CCO").write_text("")
    with pytest.raises(FileError, match="Expected a graph file ending in"):
        model.predict(["CCO"])


def test_scaffolds_are_never_split():
    smiles = [
        f"{'C' * n}{ring}" for ring in ("c1ccccc1", "C1CCC1", "c1ccncc1", "O") for n in (1, 2)
    ]
    smiles = smiles[::2] + smiles[1::2]
    scaffold = [ring for _ in (1, 2) for ring in ("benzene", "butane", "pyridine", "none")]
    cut = ScaffoldKFold(n_splits=3)
    assert cut.get_n_splits() == 3
    folds = [test.tolist() for _, test in cut.split(smiles)]
    assert sorted(chain(*folds)) == list(range(8))
    for train, test in cut.split([*map(Chem.MolFromSmiles, smiles)], np.zeros(8)):
        assert not {scaffold[i] for i in train} & {scaffold[i] for i in test}
    assert folds == [test.tolist() for _, test in cut.split(smiles)]
    with pytest.raises(GraphError, match="got 'xx' at index 1: 'xx' is not valid SMILES"):
        next(cut.split(["C", "xx", "CC"]))


def test_collections_of_molecules(tmp_path):
    (tmp_path / "m.csv").write_text("id,SMILES,y\n7,C,a\n8,xx,b\n9,CC,\n")
    found = read_collection([tmp_path / "m.csv"], target="y")
    with pytest.warns(LeftOut, match="row 1: 'xx' is not valid SMILES; row 2: there is no y"):
        items = list(found)
    assert [(name, label) for name, mol, label in items if mol] == [("m.csv:0", "a")]
    assert found.table.head == ["id", "SMILES", "y"]
    assert found.table.rows[2] == ["9", "CC", ""]
    with pytest.raises(FileError, match="Expected one table of molecules"):
        read_collection([tmp_path / "m.csv"] * 2, smiles="SMILES")
    with pytest.raises(FileError, match="Expected one table of molecules"):
        read_collection([tmp_path / "m.csv"], labels=tmp_path / "m.csv")
    (tmp_path / "edges.csv").write_text("source,target\n0,1\n")
    assert read_collection([tmp_path / "edges.csv"]).table is None


def test_explanations_are_drawn_by_rdkit(monkeypatch):
    smiles = [f"C1{'C' * n}C1" for n in range(1, 9)] + ["C" * n for n in range(2, 10)]
    model = SimplicialRegressor(lift="rings", max_ring=18, kernel=True)
    model.fit(smiles, [float(len(word)) for word in smiles], tasks=["length"])
    found = model.explain("OC1CCC1")
    assert found.molecule.GetNumAtoms() == 5
    colored = found.draw_molecule().decode()
    root = ElementTree.fromstring(colored)
    words = [text.text for text in root.iter("{http://www.w3.org/2000/svg}text")]
    assert words[0] == str(found) == f"length: {found.output:.4g}"
    assert words[3] == "contribution to the number"
    odd = replace(found, target="ΔG <mol> " + 200 * "x")
    (caption, *_) = ElementTree.fromstring(odd.draw_molecule()).iter(
        "{http://www.w3.org/2000/svg}text"
    )
    assert caption.text.startswith("ΔG <mol> xx")
    assert caption.text.endswith(f"xx: {found.output:.4g}")
    assert len(caption.text) < 130
    assert odd.draw_molecule("png")
    most = max(float(part.abs().max()) for part in found.contributions)
    assert _color(most, most) == pytest.approx(FOR)
    assert _color(-most, most) == pytest.approx(AGAINST)
    assert _color(0.0, 0.0) == (1.0, 1.0, 1.0)

    def code(value):
        return "#" + "".join(f"{round(255 * part):02X}" for part in _color(value, most))

    for k, part in enumerate(found.contributions):
        for value in part.tolist():  # every atom, bond and ring has its color, up to rounding
            red = int(code(value)[1:3], 16)
            near = [f"#{r:02X}" for r in range(max(0, red - 1), min(255, red + 1) + 1)]
            assert any(word in colored for word in near), (k, value)
    assert found._repr_svg_() == colored
    assert found.draw_molecule("png").startswith(b"\x89PNG")
    with pytest.raises(MPSNError, match="'svg' or 'png', got 'gif'"):
        found.draw_molecule("gif")
    atoms, bonds = category_names(molecule_graph("CCO"))
    for odd in ("C", "[Na+].[Cl-]", "C1CCCCCCCCCCCCCCC1"):  # no bonds; two parts; one large ring
        assert model.explain(odd).draw_molecule()
    plain = nx.path_graph(3)
    for i, row in enumerate(zip(*atoms.values(), strict=True)):
        plain.nodes[i].update(zip(atoms, row, strict=True))
    for i, row in enumerate(zip(*bonds.values(), strict=True)):
        plain.edges[i, i + 1].update(zip(bonds, row, strict=True))
    plain = model.explain(plain)
    assert plain.output == model.explain("CCO").output
    assert plain._repr_svg_() is None
    with pytest.raises(MPSNError, match="Expected an explanation of a molecule"):
        plain.draw_molecule()
    monkeypatch.setitem(sys.modules, "rdkit.Chem", None)
    with pytest.raises(MissingPackageError, match=r"to draw molecules, got none; run pip install"):
        found.draw_molecule()


def test_rings_are_walked_around():
    K = mpsn.ring_complex(nx.Graph([(0, 5), (5, 1), (1, 4), (4, 2), (2, 3), (3, 0)]), 6)
    (walk,) = _rings(K, K.incidence(1).table.tolist())
    assert len(walk) == 6
    edges = {frozenset(pair) for pair in K.incidence(1).table.tolist()}
    assert {frozenset(pair) for pair in zip(walk, walk[1:] + walk[:1], strict=True)} == edges
