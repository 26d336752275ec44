"""A seed that is used again: the same bytes for the same, and nothing in common otherwise."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import tomli_w

import discreet
from discreet.recipe.recipe import Recipe

N = 400
NEW = "are new ones"


@pytest.fixture(scope="module")
def wave():
    draw = np.random.default_rng(1)
    return pa.table(
        {
            "household": np.repeat(np.arange(N // 2), 2),
            "pay": draw.lognormal(10, 0.5, N),
            "town": draw.choice(["Ulm", "Bonn", "Kiel"], N),
        }
    )


def recipe(**more):
    step = {"method": "noise", "columns": ["pay"], "scale": 0.2, "precision": "full"}
    roles = {"confidential": ["pay"], "insensitive": ["town"], "household": "household"}
    return {"roles": roles, "counts": "rows", "steps": [step | more]}


def again(release, **more):
    """Return the recipe that a release keeps, its step changed."""
    kept = release.recipe.model_dump(exclude_none=True)
    kept["steps"][0] |= more
    return Recipe.from_dict(kept)


def pay(release):
    return release.table["pay"].to_numpy()


def told(release):
    return [said for said in release.log["warnings"] if NEW in said]


def test_noise_of_another_strength_does_not_give_the_original_back(wave):
    one = discreet.protect(wave, recipe())
    two = discreet.protect(wave, again(one, scale=0.1))
    # a = x + 0.2 s e and b = x + 0.1 s e with the same e have only one solution.
    found = 2 * pay(two) - pay(one)
    truth = wave["pay"].to_numpy()
    assert np.abs(found / truth - 1).max() > 0.1
    noises = [pay(release) - truth for release in (one, two)]
    assert abs(np.corrcoef(noises)[0, 1]) < 0.2
    assert told(two) == [
        "the recipe's seed was drawn for other roles or parameters, so all draws, the order of the "
        "rows and the household numbers are new ones"
    ]


def test_the_next_wave_of_a_panel_shares_no_draw_no_order_and_no_number(wave, tmp_path):
    growth = 1 + np.random.default_rng(2).uniform(0, 0.1, N)
    later = wave.set_column(1, "pay", pa.array(wave["pay"].to_numpy() * growth))
    multiplied = {"kind": "multiplicative"}
    one = discreet.protect(wave, recipe(**multiplied))
    two = discreet.protect(later, again(one))
    # Noise that is the same factor twice would cancel.
    assert np.abs(pay(two) / pay(one) / growth - 1).max() > 0.1
    numbers = [release.table["household"].to_numpy() for release in (one, two)]
    assert (numbers[0] == numbers[1]).mean() < 0.1
    for name, release in (("one", one), ("two", two)):
        release.save(tmp_path / name)
    maps = [
        pd.read_parquet(tmp_path / name / "internal" / "rows.parquet") for name in ("one", "two")
    ]
    assert (maps[0] == maps[1]).to_numpy().mean() < 0.1
    assert told(two) == [
        "the recipe's seed was drawn for another table, so all draws, the order of the rows and "
        "the household numbers are new ones"
    ]


def test_one_changed_cell_of_another_column_is_another_table(wave):
    towns = ["Wesel", *wave["town"].to_pylist()[1:]]
    one = discreet.protect(wave, recipe())
    two = discreet.protect(wave.set_column(2, "town", pa.array(towns)), again(one))
    assert not np.any(pay(one) == pay(two))


@pytest.mark.parametrize("form", [pa.Table.to_pandas, pl.from_arrow, lambda table: table])
def test_a_rerun_gives_the_same_whatever_the_table_is_made_of(wave, form):
    one = discreet.protect(wave, recipe())
    two = discreet.protect(form(wave), again(one))
    assert np.array_equal(pay(one), np.asarray(two.table["pay"]))
    assert np.array_equal(one.table["household"], np.asarray(two.table["household"]))
    assert not told(two)


def test_a_rerun_finds_hierarchies_in_another_folder(tmp_path):
    rows = [{"age": 20 + i % 40, "pay": float(i)} for i in range(200)]
    folders = [tmp_path / name for name in ("here", "there")]
    found = []
    for folder in folders:
        folder.mkdir()
        lines = [f"{age};{age // 10 * 10}s;*\n" for age in range(20, 60)]
        (folder / "age.csv").write_text("".join(lines))
        (folder / "recipe.toml").write_text(
            f"seed = {2**127}\n[roles]\nquasi = ['age']\nconfidential = ['pay']\n"
            "[[steps]]\nmethod = 'noise'\ncolumns = ['pay']\nscale = 0.2\n"
            "[[steps]]\nmethod = 'generalize'\ncolumns = ['age']\n"
            "privacy = [{ model = 'k-anonymity', k = 5 }]\n"
            "[steps.hierarchies]\nage = 'age.csv'\n"
        )
        found.append(discreet.protect(pd.DataFrame(rows), folder / "recipe.toml").table)
    assert found[0].equals(found[1])


def by_file(folder, width):
    lines = [f"{age};{age // width * width}s;*\n" for age in range(20, 60)]
    (folder / "age.csv").write_text("".join(lines))
    return {"method": "generalize", "columns": ["age"], "hierarchies": {"age": "age.csv"},
            "privacy": [{"model": "k-anonymity", "k": 5}]}  # fmt: skip


def test_what_a_file_of_a_hierarchy_holds_is_part_of_the_recipe(tmp_path):
    draw = np.random.default_rng(3)
    table = pd.DataFrame({"age": draw.integers(20, 60, N), "pay": draw.lognormal(10, 1, N)})
    noise = {"method": "noise", "columns": ["pay"], "scale": 0.2}
    roles = {"quasi": ["age"], "confidential": ["pay"]}
    path = tmp_path / "recipe.toml"
    kept = {"seed": 2**127, "order_seed": 2**127 + 1, "roles": roles}
    path.write_text(tomli_w.dumps(kept | {"steps": [noise, by_file(tmp_path, 10)]}))
    one = discreet.protect(table, path)
    assert discreet.protect(table, one.recipe).table.equals(one.table)
    by_file(tmp_path, 20)
    two = discreet.protect(table, one.recipe)
    assert told(two)
    assert not np.any(pay(one) == pay(two))


@pytest.mark.parametrize("budget", [{"refine": 0.2}, {"refine_moves": 50}])
def test_a_search_that_goes_on_for_longer_shares_no_order_of_rows(wave, budget):
    step = {"method": "microaggregation", "k": 3, "promise": True}
    one = discreet.protect(wave, recipe(**step) | {"steps": [
        {"columns": ["pay"], **step, **budget},
    ]})  # fmt: skip
    same = discreet.protect(wave, again(one))
    assert same.table.equals(one.table)
    assert not told(same)
    kept = again(one).model_dump(exclude_none=True)
    moves = kept["steps"][0]["refine_moves"]
    two = discreet.protect(wave, again(one, refine_moves=moves + 1))
    assert told(two)
    numbers = [release.table["household"].to_numpy() for release in (one, two)]
    assert (numbers[0] == numbers[1]).mean() < 0.1


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_engines_find_the_same_input_and_draw_the_same(wave, suffix, tmp_path):
    from discreet.table.files import write_table

    path = tmp_path / f"wave.{suffix}"
    write_table(wave.set_column(1, "pay", pa.array(wave["pay"].to_numpy().round(2))), path)
    kept = Recipe.from_dict(recipe(precision="input") | {"seed": 2**126 + 1, "order_seed": 2**126})
    made = [discreet.protect(path, kept, engine=engine) for engine in ("memory", "duckdb")]
    assert made[0].log["input"]["hmac"] == made[1].log["input"]["hmac"]
    for name, release in zip("ab", made, strict=True):
        release.save(tmp_path / name, format="csv")
        release.close()
    tables = [tmp_path / name / "public" / "table.csv" for name in "ab"]
    assert tables[0].read_bytes() == tables[1].read_bytes()
    for engine in ("memory", "duckdb"):
        for one in tables:
            report = discreet.check_release(
                one, kept, one.parent.parent / "internal", path, engine=engine
            )
            assert report.ok
            assert any("the one that was protected" in f.promise for f in report.having("verified"))


@pytest.mark.parametrize("edit", [np.sort, lambda rows: np.roll(rows, 1)])
def test_rows_in_another_order_than_the_seeds_are_found(wave, edit, tmp_path):
    release = discreet.protect(wave, recipe())
    release.save(tmp_path / "release")
    internal, table = tmp_path / "release" / "internal", tmp_path / "release" / "public/table.csv"
    rows = pd.read_parquet(internal / "rows.parquet")["original_row"].to_numpy()
    place = {row: at for at, row in enumerate(rows)}
    new = edit(rows)
    header, *lines = table.read_text().splitlines(keepends=True)
    table.write_text("".join([header, *(lines[place[row]] for row in new)]))
    pd.DataFrame({"original_row": new}).to_parquet(internal / "rows.parquet")
    report = discreet.check_release(table, internal / "recipe.toml", internal)
    broken = [found.promise for found in report.having("broken")]
    assert "the rows are in the random order of the seed" in broken


def test_another_key_of_pseudonyms_is_another_order_of_rows(wave, tmp_path):
    people = wave.append_column("person", pa.array([f"p{i}" for i in range(N)]))
    rules = recipe()
    rules["roles"] |= {"unit": "person", "pseudonyms": ["person"]}
    del rules["roles"]["household"]
    rules["roles"]["identifiers"] = ["household"]
    one = discreet.protect(people, rules)
    kept = again(one)
    assert discreet.protect(people, kept).table.equals(one.table)
    two = discreet.protect(people, kept.model_copy(update={"pseudonym_key": None}))
    assert told(two)
    assert not np.any(pay(one) == pay(two))


def test_another_order_of_categories_is_another_table(wave):
    table = wave.to_pandas()
    orders = [["Bonn", "Kiel", "Ulm"], ["Ulm", "Bonn", "Kiel"]]
    one, two = (
        table.assign(town=pd.Categorical(table["town"], order, ordered=True)) for order in orders
    )
    first = discreet.protect(one, recipe())
    again_ = discreet.protect(one, again(first))
    second = discreet.protect(two, again(first))
    assert np.array_equal(pay(first), pay(again_))
    assert not np.any(pay(first) == pay(second))
