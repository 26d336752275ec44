"""Points of one or two records by the plan of an earlier release: refused, unless somebody said so."""

import json

import numpy as np
import pyarrow as pa
import pytest

from discreet import protect
from discreet.errors import BadInput, BrokenPromise
from tests.flow.plans import people, recipe, saved


def test_points_of_one_record_are_refused_though_no_number_was_given(tmp_path):
    bands = {"method": "equal-frequency", "columns": ["income"], "n_points": 3}
    plan = saved(people(900, 1), recipe(bands), tmp_path / "release")
    ordered = people(900, 1).sort_by([("income", "ascending")])
    some, one = ordered.slice(0, 100), ordered.filter(ordered["income"].is_valid()).slice(700, 1)
    table = pa.concat_tables([some, one])
    said = [
        "  step 1 (equal-frequency): a point of column 'income' stands for 1 record",
        "decide on these steps anew with --anew 1, or on all with --recipe",
    ]
    for suppress in (False, True):
        with pytest.raises(BrokenPromise) as error:
            protect(table, plan=plan, suppress=suppress)
        assert str(error.value).splitlines()[1:] == said
    # Nor was one given to the release that this plan made, or to a step that is decided on anew.
    protect(people(1800, 3), plan=plan).save(tmp_path / "later")
    later = tmp_path / "later" / "internal"
    with pytest.raises(BrokenPromise, match=r"step 1 \(given-cuts\): a point of column 'income'"):
        protect(table, plan=later)
    many = saved(people(900, 1), recipe(bands | {"n_points": 60}), tmp_path / "many")
    with pytest.raises(BadInput, match=r"step 1 \(equal-frequency\).*min_count"):
        protect(people(70, 2), plan=many, anew=[1])


def test_a_part_of_two_that_a_point_of_more_had_allows_no_point_of_one(tmp_path):
    """What the earlier release showed decides nothing: nobody has said min_count = 1."""
    x = [*np.repeat(np.arange(80.0), 3), 81, 82, 90, 90, 90, 97, 98, 100]
    bands = {"method": "equal-width", "columns": ["x"], "n_points": 10, "encoding": "nearest"}
    asked = {"roles": {"confidential": ["x"]}, "steps": [bands]}
    plan = saved(pa.table({"x": x}), asked, tmp_path / "release")
    made = json.loads((plan / "plan.json").read_text())["steps"][0]["columns"]["x"]
    assert min(made["counts"]) == 2
    with pytest.raises(BrokenPromise, match="a point of column 'x' stands for 1 record"):
        protect(pa.table({"x": [1.0, 2, 3, 4, 5, 91]}), plan=plan)


def test_points_of_one_record_stay_allowed_where_somebody_said_so(tmp_path):
    bands = {"method": "equal-frequency", "columns": ["income"], "n_points": 60, "min_count": 1}
    plan = saved(people(70, 2), recipe(bands), tmp_path / "release")
    protect(people(80, 3), plan=plan).save(tmp_path / "later")
    later = tmp_path / "later" / "internal"
    assert "min_count = 1" in (later / "recipe.toml").read_text()
    assert protect(people(90, 4), plan=later).check.ok
