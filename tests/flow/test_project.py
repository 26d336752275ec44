"""A project key: the same cell has the same draw in every release, which ends averaging."""

import pickle
import shutil
import stat

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

from discreet import Recipe, check_release, protect, read_table, write_table
from discreet.attacks import averaging
from discreet.draws import Seed
from discreet.errors import BadInput

KEY, OTHER = "0f" * 32, "1e" * 32
NOISE = {"method": "noise", "columns": ["pay"], "kind": "multiplicative", "scale": 0.2}
ADDITIVE = NOISE | {"kind": "additive"}
OMA = {"method": "oma", "columns": ["rent"], "k": 5}
PRAM = {"method": "pram", "columns": ["job"], "retention": 0.5}
SHIFT = {"method": "date-shift", "columns": ["seen"], "days": 100}


def people(n=400, seed=1):
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "id": np.arange(n) + 1000,
            "person": np.arange(n) // 2,
            "pay": np.round(np.exp(rng.normal(8, 1, n)), 2),
            "rent": np.round(np.exp(rng.normal(6, 1, n)), 2),
            "job": rng.choice(["nurse", "clerk", "cook"], n),
            "seen": np.datetime64("2024-01-01") + rng.integers(0, 300, n).astype("timedelta64[D]"),
        }
    )


def recipe(*steps, columns=("pay",), **more):
    roles = {"row_key": "id", "confidential": [*columns], "rest": "drop"} | more.pop("roles", {})
    return {"roles": roles, "steps": list(steps), "counts": "rows", **more}


def released(tmp_path, table, given, engine="memory"):
    """Return what was released of each row of a table, in its order."""
    release = protect(table, given, engine=engine)
    release.save(tmp_path / "out", force=True, format="parquet")
    rows = parquet.read_table(tmp_path / "out/internal/rows.parquet")["original_row"].to_numpy()
    found = read_table(tmp_path / "out/public/table.parquet").to_pandas()
    found.index = rows
    release.close()
    return found.sort_index()


def test_releases_by_other_recipes_have_the_same_noise(tmp_path):
    table = people()
    one = released(tmp_path, table, recipe(ADDITIVE, project_key=KEY))
    two = released(tmp_path, table, recipe(OMA, ADDITIVE, columns=["pay", "rent"], project_key=KEY))
    assert one["pay"].tolist() == two["pay"].tolist()
    # Another key, or none: other draws.
    for more in ({"project_key": OTHER}, {}):
        other = released(tmp_path, table, recipe(ADDITIVE, **more))
        assert (one["pay"] != other["pay"]).mean() > 0.9


def test_the_key_ends_averaging(tmp_path):
    """Two releases of one table: their mean is as good as noise / sqrt(2), or as one of them."""
    table = people(2000)
    steps = [[ADDITIVE], [OMA, ADDITIVE]]
    original = table.select(["pay"]).to_pandas()
    for more, left in (({}, 0.5**0.5), ({"project_key": KEY}, 1.0)):
        both = [
            released(tmp_path, table, recipe(*own, columns=["pay", "rent"][: len(own)], **more))
            for own in steps
        ]
        column = averaging(original, [one[["pay"]] for one in both]).columns["pay"]
        assert column.mean / column.one == pytest.approx(left, abs=0.05)


def test_other_parameters_have_other_draws(tmp_path):
    """The same draw at two scales would give the original back: x + 0.1 e and x + 0.2 e."""
    table = people(2000)
    pay = table["pay"].to_numpy()
    small = released(tmp_path, table, recipe(NOISE | {"scale": 0.1}, project_key=KEY))["pay"]
    large = released(tmp_path, table, recipe(NOISE, project_key=KEY))["pay"]
    found = np.corrcoef(small / pay - 1, large / pay - 1)[0, 1]
    assert abs(found) < 0.1
    # And so has additive noise where one row more makes another standard deviation.
    fewer = released(tmp_path, table.slice(1), recipe(ADDITIVE, project_key=KEY))["pay"]
    all_ = released(tmp_path, table, recipe(ADDITIVE, project_key=KEY))["pay"]
    sd = pay.std()
    found = np.corrcoef((fewer.to_numpy() - pay[1:]) / sd, (all_.to_numpy() - pay)[1:] / sd)[0, 1]
    assert abs(found) < 0.1


def test_rows_are_known_again_in_another_table(tmp_path):
    """Rows that come later, in another order; a cell with another value has another draw."""
    table = people()
    one = released(tmp_path, table, recipe(NOISE, project_key=KEY))["pay"].to_numpy()
    turned = table.take(np.arange(399, -1, -1)).slice(0, 300)
    pay = turned["pay"].to_numpy().copy()
    pay[0] += 1
    turned = turned.set_column(turned.column_names.index("pay"), "pay", pa.array(pay))
    two = released(tmp_path, turned, recipe(NOISE, project_key=KEY))["pay"].to_numpy()
    assert two[1:].tolist() == one[::-1][1:300].tolist()
    assert two[0] / pay[0] != pytest.approx(one[-1] / (pay[0] - 1), rel=1e-3)


def test_categories_and_dates(tmp_path):
    table = people()
    roles = {"unit": "person"}
    given = [(PRAM, "job", {}), (SHIFT, "seen", roles)]
    for step, column, more in given:
        own = recipe(step, columns=[column], roles=more, project_key=KEY)
        both = recipe(step, NOISE, columns=[column, "pay"], roles=more, project_key=KEY)
        one, two = (released(tmp_path, table, x)[column] for x in (own, both))
        assert one.tolist() == two.tolist()
        assert one.tolist() != table[column].to_pylist()
    # Dates of a person are moved by as much, whatever they are.
    seen = pd.Series(table["seen"].to_pylist())
    moved = (pd.to_datetime(one) - pd.to_datetime(seen)).dt.days
    assert (moved[::2].to_numpy() == moved[1::2].to_numpy()).all()
    assert moved.nunique() > 50


@pytest.mark.parametrize("kind", ["additive", "correlated", "logarithmic", "multiplicative"])
def test_engines_agree_and_the_check_replays_it(tmp_path, kind):
    table = people()
    path = tmp_path / "people.parquet"
    write_table(table, path)
    steps = [NOISE | {"columns": ["pay", "rent"], "kind": kind}, PRAM]
    given = recipe(*steps, columns=["pay", "rent", "job"], project_key=KEY)
    one, two = (released(tmp_path, path, given, engine) for engine in ("memory", "duckdb"))
    pd.testing.assert_frame_equal(one, two, check_dtype=False)
    internal = tmp_path / "out/internal"
    given = tmp_path / "out/public/table.parquet", internal / "recipe.toml", internal, path
    assert check_release(*given).ok
    # With another key the cells are not those of the plan.
    shutil.copytree(tmp_path / "out", tmp_path / "moved")
    (tmp_path / "moved/internal/project.key").write_text(OTHER)
    internal = tmp_path / "moved/internal"
    found = check_release(given[0], internal / "recipe.toml", internal, path)
    assert not found.ok


def test_the_key_is_kept_and_named_by_other_recipes(tmp_path):
    table = people()
    protect(table, recipe(NOISE, project_key="new")).save(tmp_path / "one")
    kept = tmp_path / "one/internal/project.key"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    text = (tmp_path / "one/internal/recipe.toml").read_text()
    assert 'project_key = "project.key"' in text
    assert kept.read_text().strip() not in text
    # A rerun gives identical bytes.
    protect(table, tmp_path / "one/internal/recipe.toml").save(tmp_path / "two")
    for name in ("public/table.csv", "internal/recipe.toml", "internal/project.key"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
    again = recipe(NOISE, OMA, columns=["pay", "rent"], project_key=str(kept))
    first = released(tmp_path, table, recipe(NOISE, project_key=str(kept)))
    assert first["pay"].tolist() == released(tmp_path, table, again)["pay"].tolist()
    for path in (tmp_path / "one/public").iterdir():
        assert kept.read_text().strip() not in path.read_text("utf-8")


def test_what_is_refused(tmp_path):
    table = people()
    without = recipe(NOISE, project_key="new")
    del without["roles"]["row_key"]
    with pytest.raises(BadInput, match="step 1 \\(noise\\) draws by row, and project_key needs"):
        protect(table, without)
    with pytest.raises(BadInput, match="cannot be read"):
        protect(table, recipe(NOISE, project_key=str(tmp_path / "nothing.key")))
    (tmp_path / "wrong.key").write_text("secret")
    with pytest.raises(BadInput, match="is not a project key"):
        protect(table, recipe(NOISE, project_key=str(tmp_path / "wrong.key")))


def test_a_recipe_without_the_key_is_as_it_was():
    assert Recipe.from_dict(recipe(NOISE)).project_key is None
    assert "project_key" not in Recipe.from_dict(recipe(NOISE)).dump()


def test_a_seed_is_sent_whole():
    seed = pickle.loads(pickle.dumps(Seed.of(5, 7)))
    assert (int(seed), seed.project) == (5, 7)
