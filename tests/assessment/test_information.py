"""Information loss, and the models, as measures of `assess`, in memory and on DuckDB."""

import numpy as np
import pyarrow as pa
import pytest

from discreet import assess, protect, write_table
from discreet.utility import information_loss, propensity_mse

RECIPE = {
    "roles": {"quasi": ["age", "town"], "confidential": ["pay"]},
    "steps": [
        {"method": "oma", "columns": ["age"], "k": 5},
        {"method": "pram", "columns": ["town"]},
        {"method": "noise", "columns": ["pay"], "scale": 0.3},
    ],
}  # fmt: skip


def people(n):
    rng = np.random.default_rng(3)
    return pa.table(
        {
            "age": rng.integers(18, 90, n),
            "town": rng.choice(["Ulm", "Linz", "Bern"], n),
            "pay": rng.gamma(3, 900, n).round(2),
        }
    )


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    folder = tmp_path_factory.mktemp("information")
    original = people(800)
    write_table(original, folder / "people.parquet")
    release = protect(original, RECIPE)
    release.save(folder / "release")
    return original, release.table, folder


def test_information_loss_is_taken_by_name_and_equals_the_function(released):
    original, protected, _ = released
    found = assess(original, protected, RECIPE, measures=["information_loss"])
    expected = information_loss(original, protected, detail=True)
    entry = found.utility["information_loss"]
    assert entry["value"] == pytest.approx(expected.value)
    assert entry["columns"] == pytest.approx(expected.columns)
    assert found.left_out == {}
    assert [row["name"] for row in found.shown()] == [
        "information_loss",
        *(f"information_loss of {name}" for name in ("age", "town", "pay")),
    ]
    # The decision page tells it as a part of the cost, so nobody has to ask for it.
    assert assess(original, protected, RECIPE).utility["information_loss"] == entry


@pytest.mark.parametrize("measure", ["information_loss", "propensity_mse"])
def test_on_duckdb_a_sample_is_measured_and_marked(released, monkeypatch, measure):
    original, protected, folder = released
    files = folder / "people.parquet", folder / "release"
    whole = {"information_loss": information_loss, "propensity_mse": propensity_mse}[measure]
    expected = whole(original, protected)
    found = assess(*files, RECIPE, measures=[measure], engine="duckdb")
    assert found.utility[measure]["value"] == pytest.approx(expected, rel=1e-6)
    assert "sample" not in found.utility[measure]
    monkeypatch.setattr("discreet.assessment.facts.DRAWN", 400)
    entry = assess(*files, RECIPE, measures=[measure], engine="duckdb").utility[measure]
    assert 300 < entry["sample"] < 800
    assert entry["of"] == 800
    assert f"estimated on a sample of {entry['sample']} of 800 records" in entry["means"]
    assert entry["value"] == pytest.approx(expected, abs=0.1)


def test_records_that_were_left_out_have_lost_all():
    original = people(40)
    recipe = {"roles": {"confidential": ["age", "town", "pay"]}}
    found = assess(
        original, original.slice(0, 30), recipe, rows=np.arange(30), measures=["information_loss"]
    )
    assert found.utility["information_loss"]["value"] > 0.1


def test_values_guessed_among_a_sample_are_marked(released, monkeypatch):
    original, protected, _ = released
    monkeypatch.setattr("discreet.assessment.facts.MOST_LINKED", 300)
    monkeypatch.setattr("discreet.assessment.facts.LINKED", 200)
    found = assess(original, protected, RECIPE, measures=["informed_values"])
    entry = found.risk["informed_values"]
    assert (entry["sample"], entry["of"]) == (200, 800)
    assert entry["means"].endswith("estimated on a sample of 200 of 800 records")
    assert all(row["sampled"] for row in found.shown())
