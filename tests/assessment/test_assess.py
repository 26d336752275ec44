import json

import numpy as np
import pyarrow as pa
import pytest

from discreet import Recipe, assess, protect, write_table
from discreet.assessment import catalogue
from discreet.errors import BadInput
from discreet.report.measures import cells
from discreet.report.summary import sentences
from discreet.risk import distance_linkage, informed_linkage

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
    parts = (result.utility["il_metrics"]["value"], 100 * result.utility["il1s"]["value"],
             100 * result.risk["interval_disclosure"]["value"],
             100 * distance_linkage(ORIGINAL.select(["age", "pay"]), PROTECTED.select(["age", "pay"]), known="all"))  # fmt: skip
    assert result.score == pytest.approx(sum(parts) / 4)
    assert max(parts) <= 100
    linked = result.risk["distance_linkage"]
    assert linked["metric"] == "gower"
    assert linked["before"] == 1
    assert linked["after"] < 1


def test_numeric_quasi_columns_are_linked_by_euclid_and_large_tables_on_request(monkeypatch):
    roles = {"quasi": ["age", "pay"], "rest": "insensitive"}
    result = assess(ORIGINAL, PROTECTED, roles)
    assert result.risk["distance_linkage"]["metric"] == "euclidean"
    monkeypatch.setattr("discreet.assessment.rows.Rows.too_many_to_link", lambda *a: True)
    result = assess(ORIGINAL, PROTECTED, roles)
    assert result.left_out["distance_linkage"] == (
        "it takes long on 4 records; ask for it by name: measures=['distance_linkage']"
    )
    assert result.score is None
    assert (
        "distance_linkage" in assess(ORIGINAL, PROTECTED, roles, measures=["distance_linkage"]).risk
    )


def test_as_data_and_as_json():
    result = assess(ORIGINAL, PROTECTED, ROLES)
    assert json.loads(result.to_json()) == json.loads(json.dumps(result.to_dict()))


def test_identical_tables_lose_nothing():
    result = assess(ORIGINAL, ORIGINAL, ROLES)
    assert "il1s" not in result.utility
    assert result.left_out["interval_disclosure"] == "no numeric column differs"
    assert result.left_out["il1s"] == "no numeric column differs"


def test_columns_that_only_have_new_blanks_do_not_water_down_the_change_of_numbers():
    # Codes are numbers in SPSS files: blanks in eight keys made incomes move eight times less.
    blanked = PROTECTED.set_column(0, "age", pa.array([31, None, 45, 46]))
    result = assess(ORIGINAL, blanked, ROLES)
    income = assess(ORIGINAL, ORIGINAL.set_column(2, "pay", PROTECTED["pay"]), ROLES)
    for measure in ("il1s", "sse_ratio"):
        assert result.utility[measure]["value"] == income.utility[measure]["value"]
    assert result.utility["il1s"]["columns"].keys() == {"pay"}
    only = assess(ORIGINAL, blanked.set_column(2, "pay", ORIGINAL["pay"]), ROLES)
    assert only.utility["il1s"]["value"] == 0
    moves = ["move by" in " ".join(sentences({"assessment": r.to_dict()})) for r in (result, only)]
    assert moves == [True, False]


def test_rows_that_do_not_match_are_refused():
    with pytest.raises(
        BadInput, match="the original has 4 rows, the protected table 3; give the release"
    ):
        assess(ORIGINAL, PROTECTED.slice(1), ROLES)


def test_wrong_roles_are_refused_in_one_sentence():
    with pytest.raises(BadInput, match=r"^roles: unknown key 'quasy'; did you mean 'quasi'\?$"):
        assess(ORIGINAL, PROTECTED, {"quasy": ["age"]})
    with pytest.raises(BadInput, match=r"^roles: 'quasi' should be a list in \[ \], not 'age'$"):
        assess(ORIGINAL, PROTECTED, {"quasi": "age"})


def test_a_column_that_is_not_there_is_named():
    with pytest.raises(BadInput, match=r"the original has no column 'agee'; did you mean 'age'\?"):
        assess(ORIGINAL, PROTECTED, {"quasi": ["agee", "sex"]})
    result = assess(ORIGINAL, PROTECTED.drop_columns(["sex"]), ROLES)
    assert result.left_out["quasi column 'sex'"] == "it is not in the protected table"
    with pytest.raises(BadInput, match="the two tables share no column"):
        assess(ORIGINAL, pa.table({"z": [1, 2, 3, 4]}), ROLES)


def test_dates_are_compared_in_one_unit():
    import datetime as dt

    start = dt.datetime(2020, 1, 1)
    minutes = [start + dt.timedelta(minutes=977 * i) for i in range(60)]
    days = [t.replace(hour=0, minute=0) for t in minutes]
    before, after = pa.table({"t": minutes}), pa.table({"t": days})
    result = assess(before, after, {"quasi": ["t"]})
    assert result.utility["il1s"]["value"] < 0.05
    assert result.risk["distance_linkage"]["after"] > 0.3


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_files_are_assessed_where_they_are(tmp_path, engine):
    paths = tmp_path / "before.parquet", tmp_path / "after.csv"
    for table, path in zip((ORIGINAL, PROTECTED), paths, strict=True):
        write_table(table, path)
    found = assess(*paths, ROLES, engine=engine)
    in_memory = assess(ORIGINAL, PROTECTED, ROLES)
    assert found.risk == in_memory.risk
    assert found.score == pytest.approx(in_memory.score)
    with pytest.raises(BadInput, match="the original has 3 rows, the protected table 4; give the"):
        assess(ORIGINAL.slice(1), paths[1], ROLES, engine=engine)


def test_suppressed_records_count_as_nulls_whether_they_are_there_or_not():
    starred = PROTECTED.set_column(1, "sex", pa.array(["*", "*", "m", None]))
    for rows in (np.arange(4), np.arange(1, 4)):
        after = starred.take(pa.array(rows))
        found = assess(ORIGINAL, after, ROLES, rows=rows, suppressed=np.array([0, 1]))
        rates = found.utility["null_rates"]
        assert (rates["before"], rates["after"], rates["suppressed"]) == (1 / 8, 5 / 8, 2)
        assert rates["records"] == 3 / 4


def test_recoded_labels_are_not_linked_by_distance():
    before = pa.table({"zip": ["1234", "1299", "2345", "2399"]})
    after = pa.table({"zip": ["12**", "12**", "23**", "23**"]})
    result = assess(before, after, {"quasi": ["zip"]})
    assert result.left_out["distance_linkage"].startswith(
        "'zip' was recoded: labels that the original"
    )


def test_columns_of_nulls_and_infinite_figures_do_no_harm():
    original = ORIGINAL.append_column("none", pa.nulls(4)).append_column(
        "big", pa.array([1e200, -1e200, 1.0, 2.0])
    )
    protected = PROTECTED.append_column("none", pa.nulls(4)).append_column(
        "big", pa.array([1e200, 1e200, 1.0, 1.0])
    )
    result = assess(original, protected, ROLES | {"rest": "insensitive"})
    assert str(result)
    json.loads(result.to_json())
    assert all(why for why in result.left_out.values())


def test_household_numbers_are_not_measured(households, recipe_text):
    result = protect(households, Recipe.from_toml(recipe_text)).assess()
    assert result.utility["il1s"]["columns"].keys() == {"age", "income", "assets"}
    assert "household_id" not in result.utility["columns"]["columns"]


def test_a_recipe_is_taken_as_protect_takes_it(tmp_path):
    recipe = noisy(["age"])
    given = recipe.model_dump(exclude_none=True)
    recipe.dump(tmp_path / "recipe.toml")
    wanted = assess(ORIGINAL, PROTECTED, ROLES, recipe=recipe).to_dict()
    for same in (given, tmp_path / "recipe.toml", str(tmp_path / "recipe.toml")):
        assert assess(ORIGINAL, PROTECTED, ROLES, recipe=same).to_dict() == wanted
    write_table(PROTECTED, tmp_path / "out.csv")
    found = assess(ORIGINAL, tmp_path / "out.csv", ROLES, recipe=given)
    assert "step 1 (oma) perturbs" in found.left_out["class_sizes"]


def test_without_quasi_columns_it_says_so():
    result = assess(ORIGINAL, PROTECTED, {"rest": "insensitive"})
    assert result.left_out["class_sizes"] == "there is no quasi column in both tables"


def noisy(columns):
    """A recipe whose only step perturbs: stochastic rounding points."""
    return Recipe.from_dict({
        "roles": ROLES | {"untouched": [c for c in ROLES["quasi"] if c not in columns]},
        "steps": [{"method": "oma", "columns": columns, "k": 2, "encoding": "stochastic"}],
    })  # fmt: skip


def test_frequency_risk_on_perturbed_quasi_columns_is_refused():
    result = assess(ORIGINAL, PROTECTED, ROLES, recipe=noisy(["age"]))
    for name in ("class_sizes", "individual_risk", "attackers", "diversity", "suda2"):
        assert name not in result.risk
        assert result.left_out[name] == (
            "step 1 (oma) perturbs the quasi column 'age', so that classes of equal values mean "
            "nothing; use informed_linkage and informed_values, or ask for it by name: "
            f"measures=['{name}']"
        )
    # What does not apply anyway is not to be asked for.
    assert result.left_out["composition"] == "the roles name no household"
    assert result.left_out["linked_rows"].startswith("no unit is among the pseudonyms")
    asked = assess(ORIGINAL, PROTECTED, ROLES, recipe=noisy(["age"]), measures=["class_sizes"])
    assert asked.risk["class_sizes"]["after"]["unique"] == 2


def test_a_perturbed_confidential_column_does_not_matter():
    assert "class_sizes" in assess(ORIGINAL, PROTECTED, ROLES, recipe=noisy(["pay"])).risk


def test_every_measure_can_be_asked_for_by_name():
    names = set(catalogue.measures())

    rng = np.random.default_rng(0)
    sex = np.where(rng.random(60) < 0.5, "f", "m")
    before = pa.table({
        "age": rng.integers(20, 60, 60), "sex": sex, "pay": rng.lognormal(8, 1, 60),
        "ill": np.where(rng.random(60) < 0.3, "flu", "none"), "weight": np.full(60, 9.0),
        "home": np.arange(60) // 2,
    })  # fmt: skip
    after = before.drop_columns(["weight"])
    after = after.set_column(0, "age", pa.array(before["age"].to_numpy() // 10 * 10))
    after = after.set_column(2, "pay", pa.array(before["pay"].to_numpy().round(-2)))
    after = after.set_column(3, "ill", pa.array(np.where(sex == "f", "flu", "none")))
    roles = {
        "quasi": ["age", "sex"], "confidential": ["pay", "ill"], "weight": "weight",
        "household": "home", "target": "ill",
    }  # fmt: skip
    result = assess(before, after, roles, measures=list(names), population=600)
    # No number is predicted, no released column shows which rows belong together, and no recipe
    # is known: neither a step whose values could be guessed, nor indicators.
    needing = {"regression_utility", "linked_rows", "informed_values", "indicators"}
    assert set(result.left_out) == needing
    assert set(result.risk) | set(result.utility) == names - set(result.left_out)
    assert result.risk["individual_risk"]["basis"] == "sampling weights"
    assert result.risk["individual_risk"]["after"]["household"] > 0
    assert result.risk["attackers"]["after"]["journalist"] < 1
    text = str(result)
    for name in (*catalogue.measures("risk"), "il1s", "entropy", "propensity_mse"):
        assert name in text or name == "diversity"
    assert "t of pay" in text
    assert "NaN" not in result.to_json()


def test_diversity_before_and_after_where_no_record_is_alone():
    roles = {"quasi": ["zip"], "confidential": ["pay"]}
    before = pa.table({"zip": [1, 1, 2, 2], "pay": [1.0, 2.0, 3.0, 4.0]})
    after = pa.table({"zip": [1, 1, 2, 2], "pay": [1.5, 1.5, 3.0, 4.0]})
    found = assess(before, after, roles).risk["diversity"]["columns"]["pay"]
    assert (found["before"]["l"], found["after"]["l"]) == (2, 1)
    assert found["before"]["t"] == pytest.approx(1 / 3)


def test_measures_are_chosen_and_unknown_ones_named():
    only = assess(ORIGINAL, PROTECTED, ROLES, measures=["il1s"])
    assert (list(only.risk), list(only.utility), only.left_out) == ([], ["il1s"], {})
    with pytest.raises(BadInput, match=r"there is no measure 'il1'; did you mean 'il1s'\?"):
        assess(ORIGINAL, PROTECTED, ROLES, measures=["il1"])


def test_what_is_left_out_says_why():
    result = assess(ORIGINAL, PROTECTED, ROLES)
    assert "it trains a model" in result.left_out["propensity_mse"]
    assert result.left_out["contingency_loss"] == "no column of categories differs"
    assert "records are alone in their class" in result.left_out["diversity"]
    whole = assess(ORIGINAL, PROTECTED, ROLES, measures=["regression_utility"])
    assert whole.left_out == {"regression_utility": "the roles name no target"}


def test_warnings_become_notes_that_name_the_column():
    flat = ORIGINAL.set_column(2, "pay", pa.array([1.0, 1.0, 1.0, 1.0]))
    result = assess(flat, PROTECTED, ROLES)
    assert result.utility["il1s"]["notes"] == ["il1s leaves out column 'pay', which is constant"]


@pytest.mark.parametrize("rows", [1, 2])
def test_tiny_tables_give_no_nan(rows):
    for measures in (None, ["propensity_mse", "suda2", "diversity", "eigen"]):
        result = assess(ORIGINAL.slice(0, rows), PROTECTED.slice(0, rows), ROLES, measures=measures)
        json.loads(result.to_json())


def swapped(rows=400, **more):
    """A recipe that swaps two quasi columns and changes a third, and what it gave."""
    rng = np.random.default_rng(3)
    table = pa.table(
        {
            "age": rng.normal(50, 10, rows).round(1),
            "pay": rng.lognormal(10, 1, rows).round(),
            "job": rng.choice(list("abcd"), rows),
        }
    )
    steps = [
        {"method": "rank-swap", "columns": ["age", "pay"], "p": 10},
        {"method": "pram", "columns": ["job"], "retention": 0.8},
    ]
    recipe = Recipe.from_dict({"roles": {"quasi": table.column_names}, "steps": steps} | more)
    return protect(table, recipe)


def test_the_informed_intruder_is_faced_whenever_a_step_perturbs():
    result = swapped().assess()
    entry = result.risk["informed_linkage"]
    assert entry["before"] == 1
    assert entry["after"] > 1.2 * result.risk["distance_linkage"]["after"]
    assert entry["largest"] == 1
    assert entry["bits"].keys() == {"age", "pay", "job"}
    [row] = [row for row in result.shown() if row["name"] == "informed_linkage"]
    assert row["headline"]
    assert row["guide"]["value"] == 0.05
    assert "knows the methods and their settings, but not the seed" in row["reading"]
    assert "linkage by an informed intruder" in result._repr_html_()
    coarse = assess(ORIGINAL, PROTECTED, ROLES)
    assert coarse.left_out["informed_linkage"] == (
        "no step perturbs, so that classes of equal values tell as much; ask for it by name: "
        "measures=['informed_linkage']"
    )
    asked = assess(ORIGINAL, PROTECTED, ROLES, measures=["informed_linkage"])
    assert 0 < asked.risk["informed_linkage"]["after"] <= 1


def test_many_records_in_memory_are_linked_in_a_sample(monkeypatch):
    release = swapped(order_seed=2**80)
    whole = release.assess().risk["informed_linkage"]
    assert "sample" not in whole
    assert "queries" not in whole
    monkeypatch.setattr("discreet.risk.informed.QUERIES", 100)
    some = release.assess().risk["informed_linkage"]
    assert some["queries"] == 100
    assert some["after"] == pytest.approx(whole["after"], abs=0.15)
    monkeypatch.setattr("discreet.assessment.facts.MOST_LINKED", 300)
    monkeypatch.setattr("discreet.assessment.facts.LINKED", 80)
    few = release.assess().risk["informed_linkage"]
    assert (few["sample"], few["of"]) == (80, 400)
    assert "(an upper estimate), looked for among a sample of 80 of 400" in few["means"]
    assert few["after"] > whole["after"] > 0.05
    assert few["learned_from"] == whole["learned_from"]
    assert whole["learned_from"].startswith("the release itself")


def test_a_sample_above_the_guide_value_does_not_say_that_the_table_is(monkeypatch):
    release = swapped(order_seed=2**80)

    def verdicts():
        rows = {row["name"]: row for row in release.assess().shown()}
        linked = [rows[name] for name in ("informed_linkage", "informed_linkage.largest")]
        return [cells(row)[3] for row in linked], [row["reading"] for row in linked]

    assert verdicts()[0] == ["not met", ""]
    monkeypatch.setattr("discreet.assessment.facts.MOST_LINKED", 300)
    monkeypatch.setattr("discreet.assessment.facts.LINKED", 80)
    found, readings = verdicts()
    assert found == ["above it in a sample", ""]
    assert all("upper estimate" in reading for reading in readings)
    assert "above it in a sample" in release.assess().to_html()


def test_levels_and_groups_that_were_drawn_are_the_same_for_all_rows():
    """Chance chose them, but equal values still go together: nobody is beyond their class."""
    rng = np.random.default_rng(4)
    table = pa.table({"age": rng.integers(20, 80, 400), "pay": rng.lognormal(10, 1, 400).round()})
    privacy = [{"model": "k-anonymity", "k": 20}]
    widths = {"age": {"kind": "intervals", "widths": [5, 10, 20]}}
    for step in (
        {"method": "generalize", "privacy": privacy, "hierarchies": widths,
         "publish_minimal": False},
        {"method": "microaggregation", "k": 20, "refine_moves": 50},
        {"method": "kmeans", "n_points": 8, "solver": "lloyd", "encoding": "nearest"},
    ):  # fmt: skip
        steps = [step | {"columns": ["age"]}]
        noise = {"method": "noise", "columns": ["pay"], "scale": 1.0}
        recipe = {"roles": {"quasi": ["age", "pay"]}, "steps": [*steps, noise]}
        release = protect(table, Recipe.from_dict(recipe))
        assert release.recipe.steps[0].build().is_random
        entry = release.assess().risk["informed_linkage"]
        own = informed_linkage(table, release.table, drawn=["pay"], detail=True)
        assert (entry["after"], entry["bits"]) == (own.value, own.columns), step["method"]


def test_columns_without_a_seed_are_known_exactly():
    table = pa.table({"age": np.arange(60.0), "pay": np.arange(60.0)[::-1]})
    recipe = {
        "roles": {"quasi": ["age", "pay"]},
        "steps": [
            {"method": "oma", "columns": ["age"], "k": 6},
            {"method": "noise", "columns": ["pay"], "scale": 1.0},
        ],
    }
    entry = protect(table, Recipe.from_dict(recipe)).assess().risk["informed_linkage"]
    assert entry["bits"]["age"] == pytest.approx(np.log2(10), abs=0.3)
    assert entry["after"] >= 1 / 6 - 0.05


def test_weighted_means_stand_beside_the_plain_ones():
    before = pa.table({"pay": [10.0, 20.0, None], "w": [1.0, 3.0, 1.0]})
    after = before.set_column(0, "pay", pa.array([20.0, 20.0, None]))
    found = assess(before, after, {"confidential": ["pay"], "weight": "w"}, measures=["columns"])
    own = found.utility["columns"]["columns"]["pay"]
    assert (own["mean"], own["weighted_mean"]) == ([15.0, 20.0], [17.5, 20.0])
    assert "weighted mean" in found.to_html()
