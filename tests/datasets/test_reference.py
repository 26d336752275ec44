"""The reference data is found, has the shapes its README lists, and its absence is explained."""

import pyarrow as pa
import pytest

from discreet.datasets import (
    adult_hierarchy_paths,
    data_folder,
    load_adult,
    load_census,
    load_eia,
    load_tarragona,
)


@pytest.fixture
def reference_data():
    try:
        for load in (load_census, load_eia, load_tarragona, load_adult, adult_hierarchy_paths):
            load()
    except FileNotFoundError as absent:
        pytest.skip(f"needs the reference data. {absent}")


@pytest.mark.usefixtures("reference_data")
@pytest.mark.parametrize(
    ("load", "shape", "text"),
    [
        (load_census, (1080, 13), 0),
        (load_eia, (4092, 15), 2),
        (load_tarragona, (834, 13), 0),
        (load_adult, (30162, 9), 8),
    ],
)
def test_shape_and_kinds_are_those_of_the_readme(load, shape, text):
    table = load()
    assert table.shape == shape
    assert sum(pa.types.is_string(kind) for kind in table.schema.types) == text
    assert all(column.null_count == 0 for column in table.columns)


@pytest.mark.usefixtures("reference_data")
def test_known_first_rows():
    assert load_census()["AGI"][0].as_py() == 45554
    assert load_eia()["STATE"][0].as_py() == "AK"
    assert load_tarragona()["FINANCIAL.OUTCOME"][0].as_py() == -18931
    assert load_adult().slice(0, 1).to_pylist()[0]["salary-class"] == "<=50K"


@pytest.mark.usefixtures("reference_data")
def test_each_adult_column_has_a_hierarchy_of_all_its_values():
    adult, paths = load_adult(), adult_hierarchy_paths()
    assert set(paths) == set(adult.column_names)
    for column, path in paths.items():
        leaves = {line.split(";")[0] for line in path.read_text().split()}
        assert {str(value) for value in adult[column].unique().to_pylist()} <= leaves


@pytest.mark.parametrize(
    ("load", "file"),
    [
        (load_census, "census.csv"),
        (load_eia, "eia.csv"),
        (load_tarragona, "tarragona.csv"),
        (load_adult, "adult.csv"),
        (adult_hierarchy_paths, "adult_hierarchies"),
    ],
)
def test_an_empty_folder_is_explained(load, file, monkeypatch, tmp_path):
    monkeypatch.setenv("DISCREET_DATA", str(tmp_path))
    with pytest.raises(FileNotFoundError) as caught:
        load()
    message = str(caught.value)
    assert str(tmp_path / file) in message
    assert "set the environment variable DISCREET_DATA" in message


def test_a_folder_that_does_not_exist_is_explained(monkeypatch, tmp_path):
    monkeypatch.setenv("DISCREET_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(FileNotFoundError, match=r"DISCREET_DATA names .*nowhere, .*: set it to"):
        data_folder()


def test_the_folder_is_found_from_below_without_the_variable(monkeypatch, tmp_path):
    (tmp_path / "shared" / "data").mkdir(parents=True)
    below = tmp_path / "project" / "docs"
    below.mkdir(parents=True)
    monkeypatch.delenv("DISCREET_DATA", raising=False)
    monkeypatch.chdir(below)
    assert data_folder() == tmp_path / "shared" / "data"


def test_the_variable_goes_first(monkeypatch, tmp_path):
    (tmp_path / "shared" / "data").mkdir(parents=True)
    other = tmp_path / "other"
    other.mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DISCREET_DATA", str(other))
    assert data_folder() == other


def test_no_folder_at_all_is_explained(monkeypatch, tmp_path):
    monkeypatch.delenv("DISCREET_DATA", raising=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("discreet.datasets.reference.__file__", str(tmp_path / "reference.py"))
    with pytest.raises(FileNotFoundError, match=r"was not found: set .* DISCREET_DATA"):
        data_folder()
