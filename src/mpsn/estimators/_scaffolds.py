"""Cross-validation of molecules by their scaffolds."""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import GroupKFold

from mpsn.datasets import scaffolds


class ScaffoldKFold(GroupKFold):
    """Split molecules into folds such that those with the same scaffold are in the same fold.

    Scaffolds are those of Bemis and Murcko: rings, and the chains between them. All molecules
    without a ring have the same, empty one. The largest groups are distributed first, each to the
    smallest fold, so that the same molecules always give the same folds. Needs RDKit
    (``pip install 'mpsn[chem]'``).

    Args:
        n_splits: Number of folds. Defaults to 5.

    Example:
        >>> from mpsn.estimators import ScaffoldKFold
        >>> molecules = ["c1ccccc1", "Cc1ccccc1O", "CCO", "C", "C1CCCC1", "NC1CCCC1"]
        >>> for train, test in ScaffoldKFold(n_splits=3).split(molecules):
        ...     print([molecules[i] for i in test])
        ['c1ccccc1', 'Cc1ccccc1O']
        ['C1CCCC1', 'NC1CCCC1']
        ['CCO', 'C']
    """

    def __init__(self, n_splits: int = 5) -> None:
        super().__init__(n_splits)

    def split(
        self, X: Iterable[object], y: Any = None, groups: None = None
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Yield the positions of the molecules to train on, and of those to test on.

        Args:
            X: A list of SMILES, or of RDKit molecules.
            y: Not used.
            groups: Not used.
        """
        molecules = list(X)
        yield from super().split(molecules, y, scaffolds(molecules))
