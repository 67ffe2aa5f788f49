"""Compiled functions are kept on the disk, also where the installation cannot be written."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import mpsn

COUNT = """if True:
    import torch
    from mpsn._rows import cpu, rows
    assert rows.Rows(torch.tensor([1, 0, 1]), 3, 1).positions.item.tolist() == [1, 0, 2]
    print(sum(cpu.count_sort.stats.cache_hits.values()))
"""


def run(package: Path, home: Path) -> subprocess.CompletedProcess[str]:
    """Run a compiled function of a copy of mpsn; print how often it came from the disk."""
    paths = {"PYTHONPATH": str(package), "HOME": str(home), "USERPROFILE": str(home)}
    kept = {k: v for k, v in os.environ.items() if k not in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME")}
    command = [sys.executable, "-c", COUNT]
    return subprocess.run(
        command, env={**kept, **paths}, text=True, capture_output=True, check=True
    )


def test_compiled_functions_are_kept_where_there_is_a_place(tmp_path):
    copy = tmp_path / "package"
    source = Path(mpsn.__file__).parent
    shutil.copytree(source, copy / "mpsn", ignore=shutil.ignore_patterns("__pycache__"))
    for folder in [path for path in copy.rglob("*") if path.is_dir()]:
        (folder / "__pycache__").touch()  # so that nothing can be written beside the source
    (tmp_path / "home").mkdir()
    runs = [run(copy, tmp_path / "home") for _ in range(2)]
    assert [done.stdout.strip() for done in runs] == ["0", "1"]
    assert "NUMBA_CACHE_DIR" not in runs[0].stderr

    (tmp_path / "file").touch()
    nowhere = run(copy, tmp_path / "file")
    assert nowhere.stdout.strip() == "0"
    assert nowhere.stderr.count("Set NUMBA_CACHE_DIR to a writable folder") == 1
