"""Every example runs to its end and draws a picture."""

import json
import runpy
from pathlib import Path

import pytest
import torch
from matplotlib import pyplot as plt

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.py"))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_the_example_runs_and_draws(example, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with torch.random.fork_rng():
        runpy.run_path(str(example), run_name="__main__")
    plt.close("all")
    assert [path.suffix for path in (tmp_path / "out").iterdir()] == [".png"]


def test_the_notebook_runs():
    notebook = json.loads((EXAMPLES[0].parent / "first_look.ipynb").read_text())
    names = {}
    with torch.random.fork_rng():
        for cell in notebook["cells"]:
            if cell["cell_type"] == "code":
                assert not cell["outputs"]
                exec("".join(cell["source"]), names)
    assert set(names["model"].predict(names["graphs"])) == {"thin", "thick"}
