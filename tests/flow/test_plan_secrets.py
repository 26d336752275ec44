"""What is drawn, and who is called what, when a plan is applied to another table."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet import protect
from tests.flow.plans import BANDS, NOISE, people, recipe, saved


def test_no_draw_comes_again(tmp_path):
    """An attack: of a table that hardly changed, the same noise would cancel out."""
    asked = recipe(NOISE, seed=7, allow_predictable_seed=True)
    table = people(seed=1)
    first = protect(table, asked)
    first.save(tmp_path / "release")
    later = protect(table, plan=tmp_path / "release")
    assert later.recipe.seed >= 1 << 64
    assert later.recipe.order_seed != first.recipe.order_seed
    noise = [
        (pc.subtract(release.table["assets"], table["assets"])).drop_null().to_numpy()
        for release in (first, later)
    ]
    assert abs(np.corrcoef(*noise)[0, 1]) < 0.2
    assert any("all draws go by a fresh secret" in one for one in later.log["warnings"])


def test_cells_of_a_project_keep_their_noise(tmp_path):
    table = people(seed=1).append_column("key", pa.array(range(1000, 1600)))
    asked = recipe(NOISE | {"kind": "multiplicative"}, project_key="new", roles={"row_key": "key"})
    first = protect(table, asked)
    first.save(tmp_path / "release")
    again = protect(table.slice(100), plan=tmp_path / "release")
    assert again.table["assets"].equals(first.table["assets"].slice(100))
    assert again.log["plan"]["anew"] == {
        "1": "its draws are those of the project's key, for the values that there are now"
    }
    assert not any("fresh secret" in one for one in again.log["warnings"])


def test_other_draws_than_those_of_a_project_are_fresh(tmp_path):
    table = people(seed=1).append_column("key", pa.array(range(1000, 1600)))
    noise = NOISE | {"kind": "multiplicative"}
    swapped = {"method": "rank-swap", "columns": ["income"], "p": 10.0}
    asked = recipe(noise, swapped, project_key="new", roles={"row_key": "key"})
    plan = saved(table, asked, tmp_path / "release")
    warned = protect(table, plan=plan).log["warnings"]
    assert any(one.startswith("all other draws go by a fresh secret") for one in warned)


def test_pseudonyms_are_new_unless_they_are_to_be_the_same(tmp_path):
    asked = recipe(BANDS, roles={"pseudonyms": ["name"], "identifiers": []}, counts="rows")
    table = people(seed=1)
    first = protect(table, asked)
    first.save(tmp_path / "release")
    new = protect(table, plan=tmp_path / "release")
    assert not {*new.table["name"].to_pylist()} & {*first.table["name"].to_pylist()}
    assert any("pseudonyms are made with a new key" in one for one in new.log["warnings"])
    same = protect(table, plan=tmp_path / "release", same_pseudonyms=True)
    assert same.table["name"].equals(first.table["name"])
