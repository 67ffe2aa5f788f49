"""Run the command line as a user does."""

import sys

import pytest

from mpsn.cli import main


@pytest.fixture
def mpsn(monkeypatch, capsys):
    """Run ``mpsn`` with some arguments; return its exit status, output and errors."""

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["mpsn", *map(str, arguments)])
        with pytest.raises(SystemExit) as ending:
            main()
        out, err = capsys.readouterr()
        return ending.value.code, out, err

    return run
