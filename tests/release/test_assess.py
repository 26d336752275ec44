import json

import numpy as np
import pyarrow as pa
import pytest

from discreet import Recipe, assess, protect
from discreet.errors import BadInput

ROLES = {"quasi": ["age", "sex"], "confidential": ["pay"]}
ORIGINAL = pa.table(
    {"age": [31, 32, 45, 46], "sex": ["f", "f", "m", None], "pay": [1.0, 2.0, 8.0, 9.5]}
)
PROTECTED = pa.table(
    {"age": [30, 30, 45, 45], "sex": ["f", "f", "m", None], "pay": [1.5, 1.5, 8.75, 8.75]}
)


def test_before_and_after():
    result = assess(ORIGINAL, PROTECTED, ROLES)
    sizes = result.risk["class_sizes"]
    assert sizes["before"]["unique"] == 4
    assert sizes["after"] == {
        "records": 4, "classes": 3, "smallest": 1, "unique": 2, "under_3": 4, "under_5": 4,
        "average_risk": 0.75,
    }  # fmt: skip
    assert result.utility["il1s"]["columns"].keys() == {"age", "pay"}
    assert result.utility["columns"]["columns"]["pay"]["mean"] == [5.125, 5.125]
    assert result.score is None
    assert "score" in result.left_out


def test_as_data_and_as_json():
    result = assess(ORIGINAL, PROTECTED, ROLES)
    assert json.loads(result.to_json()) == json.loads(json.dumps(result.to_dict()))


def test_the_row_map_is_used():
    rows = np.array([2, 0, 3, 1])
    shuffled = PROTECTED.take(pa.array(rows))
    one, other = assess(ORIGINAL, shuffled, ROLES, rows=rows), assess(ORIGINAL, PROTECTED, ROLES)
    losses = [result.utility["il1s"]["columns"] for result in (one, other)]
    assert losses[0] == pytest.approx(losses[1])


def test_identical_tables_lose_nothing():
    result = assess(ORIGINAL, ORIGINAL, ROLES)
    assert "il1s" not in result.utility
    assert result.left_out["interval_disclosure"] == "no numeric column differs"
    assert result.left_out["il1s"] == "no numeric column differs"


def test_rows_that_do_not_match_are_refused():
    with pytest.raises(
        BadInput, match="the original has 4 rows, the protected table 3; give the release"
    ):
        assess(ORIGINAL, PROTECTED.slice(1), ROLES)


def test_household_numbers_are_not_measured(households, recipe_text):
    result = protect(households, Recipe.from_toml(recipe_text)).assess()
    assert result.utility["il1s"]["columns"].keys() == {"age", "income", "assets"}
    assert "household_id" not in result.utility["columns"]["columns"]


def test_without_quasi_columns_it_says_so():
    result = assess(ORIGINAL, PROTECTED, {"rest": "insensitive"})
    assert result.left_out["class_sizes"] == "there is no quasi column in both tables"
