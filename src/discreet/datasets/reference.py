"""Loaders for the public reference files of the field, which are not part of the package."""

import os
from pathlib import Path

import pyarrow as pa
from pyarrow import csv


def data_folder() -> Path:
    """Find the folder with the reference data.

    It is the folder that the environment variable ``DISCREET_DATA`` names. Without the variable it
    is ``shared/data`` in the working directory, in this source file's folder, or in a parent of
    either, whichever is met first.

    Returns
    -------
    pathlib.Path
        An existing folder. The files in it are not checked.

    Raises
    ------
    FileNotFoundError
        If there is no such folder.

    Examples
    --------
    >>> import os, tempfile
    >>> from unittest import mock
    >>> from discreet.datasets import data_folder
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with mock.patch.dict(os.environ, DISCREET_DATA=folder):
    ...         str(data_folder()) == folder
    True
    """
    named = os.environ.get("DISCREET_DATA")
    if named:
        folder = Path(named).expanduser()
        if not folder.is_dir():
            raise FileNotFoundError(
                f"DISCREET_DATA names {folder}, which is not a folder: "
                "set it to the folder with the reference data."
            )
        return folder
    for start in (Path.cwd(), Path(__file__).resolve().parent):
        for parent in (start, *start.parents):
            folder = parent / "shared" / "data"
            if folder.is_dir():
                return folder
    raise FileNotFoundError(
        "The reference data was not found: set the environment variable DISCREET_DATA to its "
        "folder, or put it into shared/data beside the project."
    )


def load_census() -> pa.Table:
    """Load the CASC reference file "Census": 1080 persons, 13 numeric columns.

    Returns
    -------
    pyarrow.Table

    Raises
    ------
    FileNotFoundError
        If the reference data is not there; see `data_folder`.

    Examples
    --------
    >>> from discreet.datasets import load_census
    >>> load_census().shape  # doctest: +SKIP
    (1080, 13)
    """
    return _load("census.csv")


def load_eia() -> pa.Table:
    """Load the CASC reference file "EIA": 4092 monthly accounts of utilities, 15 columns.

    Returns
    -------
    pyarrow.Table
        The first five columns identify or classify, the other ten are revenues and sales.

    Raises
    ------
    FileNotFoundError
        If the reference data is not there; see `data_folder`.

    Examples
    --------
    >>> from discreet.datasets import load_eia
    >>> load_eia().column_names[:3]  # doctest: +SKIP
    ['UTILITYID', 'UTILNAME', 'STATE']
    """
    return _load("eia.csv")


def load_tarragona() -> pa.Table:
    """Load the CASC reference file "Tarragona": 834 companies, 13 numeric columns.

    Returns
    -------
    pyarrow.Table

    Raises
    ------
    FileNotFoundError
        If the reference data is not there; see `data_folder`.

    Examples
    --------
    >>> from discreet.datasets import load_tarragona
    >>> load_tarragona().shape  # doctest: +SKIP
    (834, 13)
    """
    return _load("tarragona.csv")


def load_adult() -> pa.Table:
    """Load UCI Adult: the 30162 complete records, 9 columns, all text but ``age``.

    Returns
    -------
    pyarrow.Table

    Raises
    ------
    FileNotFoundError
        If the reference data is not there; see `data_folder`.

    See Also
    --------
    adult_hierarchy_paths : The generalization hierarchies of these columns.

    Examples
    --------
    >>> from discreet.datasets import load_adult
    >>> load_adult().shape  # doctest: +SKIP
    (30162, 9)
    """
    return _load("adult.csv", delimiter=";")


def adult_hierarchy_paths() -> dict[str, Path]:
    """Find the generalization hierarchies of the Adult columns.

    Returns
    -------
    dict of str to pathlib.Path
        For each column of `load_adult` a ``;``-separated file without header: a value, then its
        coarser levels.

    Raises
    ------
    FileNotFoundError
        If the reference data is not there; see `data_folder`.

    Examples
    --------
    >>> from discreet.datasets import adult_hierarchy_paths
    >>> adult_hierarchy_paths()["sex"].name  # doctest: +SKIP
    'sex.csv'
    """
    folder = data_folder() / "adult_hierarchies"
    paths = {path.stem: path for path in sorted(folder.glob("*.csv"))}
    if not paths:
        raise _missing(folder / "*.csv")
    return paths


def _load(name: str, delimiter: str = ",") -> pa.Table:
    path = data_folder() / name
    if not path.is_file():
        raise _missing(path)
    return csv.read_csv(path, parse_options=csv.ParseOptions(delimiter=delimiter))


def _missing(path: Path) -> FileNotFoundError:
    return FileNotFoundError(
        f"The reference file {path} does not exist: put it there, or set the environment variable "
        "DISCREET_DATA to the folder that holds the reference data."
    )
