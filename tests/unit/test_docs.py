"""The paper map points at tests that exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MAP = (ROOT / "docs" / "paper_map.md").read_text()


@pytest.mark.parametrize("where", sorted(set(re.findall(r"`(\w+/test_\w+\.py[:\w]*)`", MAP))))
def test_every_test_in_the_paper_map_exists(where):
    file, _, name = where.partition("::")
    text = (ROOT / "tests" / file).read_text()
    assert f"def {name}" in text
