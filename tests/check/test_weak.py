"""Weak recipes do not pass in silence: the check says what keeps every promise and protects little."""

import json

import numpy as np
import pyarrow as pa
import pytest

from discreet import Recipe, check_release, protect, write_table
from discreet.errors import BadInput

N = 240
RNG = np.random.default_rng(7)
ENGINES = ["memory", "duckdb", pytest.param("spark", marks=pytest.mark.spark)]


def people(**more) -> pa.Table:
    """Two regions; in the south everybody has the flu."""
    place = np.arange(N)
    south = place % 4 == 0
    ill = np.where(south, "flu", np.array(["cold", "flu", "none"])[place % 3])
    return pa.table(
        {
            "region": np.where(south, "south", "north"),
            "sex": np.where(place % 8 < 4, "f", "m"),
            "pay": RNG.integers(1000, 9000, N) + 0.5,
            "ill": ill,
            **more,
        }
    )


ROLES = {"quasi": ["region", "sex"], "confidential": ["ill", "pay"]}
K5 = [{"model": "k-anonymity", "k": 5}]
FLAT = {name: {"kind": "flat"} for name in ("region", "sex")}
CLASSES = {"method": "generalize", "columns": ["region", "sex"], "privacy": K5, "hierarchies": FLAT}
NOISE = {"method": "noise", "columns": ["pay"], "scale": 0.2}


def weak(report) -> dict[str, str]:
    return {one.promise: one.detail for one in report.having("weak")}


def run(*steps, table=None, roles=ROLES, engine="memory", **more):
    recipe = {"roles": roles, "steps": list(steps), **more}
    return protect(people() if table is None else table, recipe, engine)


def found(*steps, **more) -> dict[str, str]:
    release = run(*steps, **more)
    release.close()
    return weak(release.check)


# What is refused

K = "k = 1 lets every record stand alone; set k = 2 or more"
MEANINGLESS = {
    "oma": ({"method": "oma", "columns": ["pay"], "k": 1}, K),
    "oma by column": ({"method": "oma", "columns": ["pay"], "k": {"pay": 1}}, K),
    "mdav": ({"method": "mdav", "columns": ["pay"], "k": 1}, K),
    "vmdav": ({"method": "vmdav", "columns": ["pay"], "k": 1}, K),
    "microaggregation": ({"method": "microaggregation", "columns": ["pay"], "k": 1}, K),
    "items": ({"method": "generalize-items", "columns": ["ill"], "k": 1}, K),
    "k-anonymity": ({**CLASSES, "privacy": [{"model": "k-anonymity", "k": 1}]}, K),
    "alpha-k": (
        {**CLASSES, "privacy": [{"model": "alpha-k-anonymity", "alpha": 0.5, "k": 1, "column": "ill"}]},
        K,
    ),
    "l-diversity": (
        {**CLASSES, "privacy": [{"model": "l-diversity", "l": 1, "column": "ill"}]},
        "l = 1 asks for one value of 'ill' in each class, which all have; set l = 2 or more",
    ),
    "entropy l-diversity": (
        {**CLASSES, "privacy": [{"model": "l-diversity", "l": 1, "column": "ill", "kind": "entropy"}]},
        "l = 1 asks for one value of 'ill'",
    ),
    "noise": ({**NOISE, "scale": 0}, "scale must be a number above 0"),
    "pram": ({"method": "pram", "columns": ["ill"], "retention": 1}, "a probability below 1"),
    "rank-swap": ({"method": "rank-swap", "columns": ["pay"], "p": 0}, "a percentage above 0"),
}  # fmt: skip


@pytest.mark.parametrize("what", MEANINGLESS)
def test_what_means_nothing_is_refused_with_the_recipe(what):
    step, why = MEANINGLESS[what]
    with pytest.raises(BadInput) as error:
        Recipe.from_dict({"roles": {"rest": "insensitive"}, "steps": [step]})
    assert str(error.value).startswith(f"the recipe: step 1 ({step['method']}): ")
    assert why in str(error.value)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("role", ["insensitive", "confidential", "untouched"])
def test_a_unique_number_of_nine_digits_is_not_released(role, engine):
    secret = people(folder=pa.array(RNG.integers(10**8, 10**9, N)))
    roles = {"rest": "drop", "insensitive": ["ill"]}
    quasi = {"quasi": ["folder"], "untouched": ["folder"]}
    more = quasi if role == "untouched" else {role: [*roles.get(role, []), "folder"]}
    why = "column 'folder' .* it holds numbers of 9 digits, and 100% of its values are different"
    with pytest.raises(BadInput, match=why):
        run(table=secret, roles=roles | more, engine=engine)
    run(table=secret, roles=roles | more | {"not_identifiers": ["folder"]}, engine=engine).close()


@pytest.mark.parametrize(
    "values",
    [
        RNG.lognormal(17, 1.5, N).astype(int),  # An amount has any number of digits.
        20_000_101 + RNG.permutation(10_000)[:N],  # Days.
        RNG.integers(10**8, 10**8 + 50, N),  # Few values.
        RNG.random(N) * 1e8 + 1e8,  # Not whole.
    ],
)
def test_amounts_days_and_codes_are_no_identifiers(values):
    run(table=people(extra=pa.array(values)), roles={"insensitive": ["extra"], "rest": "drop"})


# What is weak


@pytest.mark.parametrize("engine", ENGINES)
def test_classes_of_one_confidential_value_are_counted(engine):
    step = {**CLASSES, "levels": {"region": 0, "sex": 0}}
    said = found(step, NOISE, engine=engine)
    assert said == {
        "classes of region, sex give 'ill' away": "2 classes (60 records) hold one value each, so "
        "whoever finds the class knows it; l-diversity prevents that"
    }
    diverse = {**step, "levels": {"region": 1, "sex": 0}}
    diverse["privacy"] = [*K5, {"model": "l-diversity", "l": 2, "column": "ill"}]
    assert found(diverse, NOISE, engine=engine) == {}


def test_a_null_is_no_value_of_a_class():
    ill = people()["ill"].to_pylist()
    ill[0], ill[4] = None, None
    table = people().set_column(3, "ill", pa.array(ill))
    step = {**CLASSES, "levels": {"region": 0, "sex": 0}}
    said = found(step, NOISE, table=table)["classes of region, sex give 'ill' away"]
    assert "2 classes (58 records) hold" in said
    table = table.set_column(3, "ill", pa.array([None] * N, pa.string()))
    assert found(step, NOISE, table=table) == {}


def test_values_that_are_perturbed_are_not_known():
    pram = {"method": "pram", "columns": ["ill"], "retention": 0.7}
    steps = [{**CLASSES, "levels": {"region": 0, "sex": 0}}, NOISE, pram]
    assert found(*steps, allow_leaks=["ill"]) == {}


def test_no_steps():
    roles = {"insensitive": ["ill"], "rest": "drop"}
    assert found(roles=roles) == {
        "no step treats anything": "all columns are released as they are; add steps"
    }


def test_quasi_columns_that_are_all_untouched():
    said = found(NOISE, roles=ROLES | {"untouched": ["region", "sex"]})
    assert said["no quasi column is treated"] == "region, sex are untouched"


def test_columns_that_nobody_named():
    table = people(**{f"c{i}": np.arange(N) % 3 for i in range(10)})
    roles = {"confidential": ["pay"], "rest": "insensitive"}
    assert found(NOISE, roles=roles) == {}
    said = found(NOISE, table=table, roles=roles)["columns that nobody named are released"]
    assert said == "13 by rest = \"insensitive\", such as 'region'; name them, or drop them"


def test_a_column_that_is_called_like_an_identifier():
    table = people(surname=np.array(["Smith", "Jones"])[np.arange(N) % 2])
    roles = {"confidential": ["pay"], "insensitive": ["surname"], "rest": "drop"}
    said = found(NOISE, table=table, roles=roles)["'surname' is called like an identifier"]
    assert said.startswith("no column is listed as one; list it under identifiers, or")
    assert found(NOISE, table=table, roles=roles | {"not_identifiers": ["surname"]}) == {}


def keeping(**model):
    return {**CLASSES, "privacy": [*K5, {"column": "ill", **model}]}


def staying(stay):
    return {"ill": {one: {one: stay, to: 1 - stay} for one, to in
                    [("flu", "cold"), ("cold", "none"), ("none", "flu")]}}  # fmt: skip


LOOSE = "step 1 (generalize): {} bounds next to nothing"
FAINT = "step 1 ({}) perturbs next to nothing"
STEPS = {
    "all suppressed": ({**CLASSES, "suppression_limit": 1.0}, "step 1 (generalize) may suppress all records"),
    "t": (keeping(model="t-closeness", t=1.0), LOOSE.format("t-closeness")),
    "nearly any t": (keeping(model="t-closeness", t=0.9), LOOSE.format("t-closeness")),
    "alpha": (keeping(model="alpha-k-anonymity", alpha=0.99, k=5), LOOSE.format("alpha-k-anonymity")),
    "beta": (keeping(model="beta-likeness", beta=99.0), LOOSE.format("beta-likeness")),
    "enhanced beta": (keeping(model="beta-likeness", beta=99.0, enhanced=True), LOOSE.format("beta-likeness")),
    "c": (keeping(model="l-diversity", l=2, kind="recursive", c=1000.0), LOOSE.format("l-diversity")),
    "faint noise": ({**NOISE, "scale": 0.01}, FAINT.format("noise")),
    "faint swap": ({"method": "rank-swap", "columns": ["pay"], "p": 0.19}, FAINT.format("rank-swap")),
    "faint pram": ({"method": "pram", "columns": ["ill"], "retention": 0.95}, FAINT.format("pram")),
    "faint matrix": ({"method": "pram", "columns": ["ill"], "matrix": staying(0.95)}, FAINT.format("pram")),
    "few days": ({"method": "date-shift", "columns": ["day"], "days": 6}, FAINT.format("date-shift")),
    "bounds beyond all": ({"method": "top-bottom", "columns": ["pay"], "upper": 1e6},
                          "step 1 (top-bottom) changed no cell of 'pay'"),
    "bounds beyond most": ({"method": "top-bottom", "columns": ["bulk"], "upper": 237.5},
                           "step 1 (top-bottom) changed next to nothing of 'bulk'"),
    "no promise": ({"method": "oma", "columns": ["pay"], "k": 5, "promise": False},
                   "step 1 (oma) promises nothing"),
    "rare points": ({"method": "base", "columns": ["pay"], "base": 10},
                    "step 1 (base) leaves values of 'pay' that one record holds alone"),
}  # fmt: skip
ENOUGH = {
    "t": keeping(model="t-closeness", t=0.85),
    "alpha": keeping(model="alpha-k-anonymity", alpha=0.9, k=5),
    "enhanced beta": keeping(model="beta-likeness", beta=0.5, enhanced=True),
    "c": keeping(model="l-diversity", l=2, kind="recursive", c=10.0),
    "noise": {**NOISE, "scale": 0.02},
    "pram": {"method": "pram", "columns": ["ill"], "retention": 0.9},
    "matrix": {"method": "pram", "columns": ["ill"], "matrix": staying(0.9)},
    "days": {"method": "date-shift", "columns": ["day"], "days": 7},
    "bounds": {"method": "top-bottom", "columns": ["bulk"], "upper": 200.5},
}


def of_step(step) -> dict[str, str]:
    """What is weak of one step."""
    days = pa.array(RNG.integers(19_000, 19_090, N), pa.int32()).cast(pa.date32())
    table = people(day=days, bulk=RNG.permutation(N) + 0.5)
    roles = {**ROLES, "untouched": [] if step["method"] == "generalize" else ["region", "sex"]}
    table = pa.concat_tables([table] * (5 if step["method"] == "rank-swap" else 1))
    said = found(
        step,
        roles=roles | {"rest": "insensitive"},
        table=table,
        allow_leaks=["ill", "pay"] if step["columns"] == ["pay"] else ["ill"],
    )
    return {wrong: detail for wrong, detail in said.items() if wrong.startswith("step 1")}


@pytest.mark.parametrize("what", STEPS)
def test_steps_that_do_next_to_nothing(what):
    step, wrong = STEPS[what]
    assert wrong in of_step(step)


@pytest.mark.parametrize("what", ENOUGH)
def test_steps_that_do_enough_are_not_told(what):
    assert of_step(ENOUGH[what]) == {}


def test_what_is_wrong_is_said():
    assert of_step(STEPS["faint matrix"][0]) == {
        FAINT.format("pram"): "each value of 'ill' stays with a probability of 0.95 or more"
    }
    assert of_step(STEPS["bounds beyond most"][0]) == {
        STEPS["bounds beyond most"][1]: "2 of 240 cells, and no other step treats it"
    }
    enhanced = of_step(STEPS["enhanced beta"][0])[LOOSE.format("beta-likeness")]
    assert enhanced.startswith("beta = 99 adds nothing to what enhanced = true asks for: ")


# Columns and records that stand out


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", ["whole", "text", "nulls"])
def test_a_column_that_differs_in_every_record(kind, engine):
    values = (RNG.permutation(900_000)[:N] + 100_000).tolist()
    if kind == "text":
        values = [f"{'abc'[i % 3]}{value}" for i, value in enumerate(values)]
    if kind == "nulls":
        values[::2] = [None] * (N // 2)
    table = people(ref=pa.array(values))
    roles = {"insensitive": ["ref"], "rest": "drop", "confidential": ["pay"]}
    wrong = "'ref' differs in every record and is released as it is"
    remedy = "treat it, drop it or give it the role identifiers"
    if kind != "text":  # Text of its own in every record is refused.
        assert found(NOISE, table=table, roles=roles, engine=engine) == {wrong: remedy}
    roles["not_identifiers"] = ["ref"]
    assert found(NOISE, table=table, roles=roles, engine=engine) == {
        wrong: f"not_identifiers lists it, and it tells them apart all the same; {remedy}"
    }


def test_columns_that_repeat_or_are_measured_are_not_told():
    codes = pa.array(np.arange(N) // 2 * 37 % 1000 + 100_000)
    table = people(code=codes, size=RNG.random(N), few=[*range(100, 119), *[None] * (N - 19)])
    roles = {"insensitive": ["code", "size", "few"], "rest": "drop", "confidential": ["pay"]}
    assert found(NOISE, table=table, roles=roles) == {}
    nearly = (RNG.permutation(900_000)[:N] + 100_000).tolist()
    nearly[1] = nearly[0]
    table = people(code=nearly)
    roles = {"insensitive": ["code"], "rest": "drop", "confidential": ["pay"]}
    assert list(found(NOISE, table=table, roles=roles)) == [
        "'code' differs in nearly every record and is released as it is"
    ]
    nearly[3] = nearly[2]
    assert found(NOISE, table=people(code=nearly), roles=roles) == {}


# In pairs of records, each of which shares its age with ten, and its zip code with ten.
CROSS = {"age": np.arange(N) % 24 + 20, "zip": np.array([f"z{i // 24}" for i in range(N)])}
GENERAL = {"method": "generalize", "privacy": K5}


@pytest.mark.parametrize("engine", ENGINES)
def test_records_that_are_unique_on_all_quasi_columns_together(engine):
    flat = {"kind": "flat"}
    steps = [{**GENERAL, "columns": [c], "hierarchies": {c: flat}, "levels": {c: 0}} for c in CROSS]
    roles = {"quasi": ["age", "zip"], "rest": "drop"}
    wrong = "records are unique on age, zip together"
    table = people(**CROSS)
    assert found(*steps, table=table, roles=roles, engine=engine) == {
        wrong: "240 of 240, which whoever knows them can find; put them into one step"
    }
    roles["untouched"] = ["age"]
    assert found(steps[1], table=table, roles=roles, engine=engine) == {
        wrong: "240 of 240, which whoever knows them can find; age should be treated, in one step "
        "with the others"
    }
    one = {**GENERAL, "columns": ["age", "zip"], "hierarchies": dict.fromkeys(CROSS, flat)}
    roles["untouched"] = []
    assert found(one, table=table, roles=roles, engine=engine) == {}


@pytest.mark.parametrize("engine", ENGINES)
def test_records_that_are_alone_are_no_class_of_one_value(engine):
    roles = {"quasi": ["age", "zip"], "untouched": ["age", "zip"], "confidential": ["ill", "pay"]}
    said = found(NOISE, table=people(**CROSS), roles=roles | {"rest": "drop"}, engine=engine)
    assert said == {
        "no quasi column is treated": "age, zip are untouched",
        "records are unique on age, zip together": "240 of 240, which whoever knows them can "
        "find; treat them, in one step",
    }


@pytest.mark.parametrize("engine", ENGINES)
def test_classes_with_two_values_of_which_one_is_rare(engine):
    ill = ["flu"] * N
    ill[0] = ill[1] = "cold"
    table = people(region=["n", "s"] * (N // 2), sex=["f"] * N, ill=ill)
    model = {"model": "l-diversity", "l": 2, "column": "ill"}
    step = {"method": "local-suppression", "columns": ["region", "sex"], "privacy": [model]}
    roles = {"quasi": ["region", "sex"], "confidential": ["ill"], "rest": "drop"}
    assert found(step, table=table, roles=roles, engine=engine) == {
        "classes of region, sex nearly give 'ill' away": "in 2 of 2 (240 records) one value has "
        'more than 95%; l-diversity with kind = "entropy" prevents that'
    }
    ill[: N // 4] = ["cold"] * (N // 4)
    table = table.set_column(table.column_names.index("ill"), "ill", pa.array(ill))
    assert found(step, table=table, roles=roles, engine=engine) == {}


def test_columns_that_are_shuffled_in_one_order():
    roles = {"quasi": ["region", "sex"], "confidential": ["ill"], "insensitive": ["pay"]}
    columns = ["region", "sex", "ill", "pay"]
    step = {"method": "shuffle", "columns": columns, "together": True}
    assert list(found(step, roles=roles)) == [
        "step 1 (shuffle) only puts the rows in another order"
    ]
    assert found({**step, "columns": columns[:3]}, roles=roles, allow_leaks=columns) == {
        "step 1 (shuffle) keeps all quasi columns together": "whoever knows region, sex looks a "
        "record up, and 'ill' with it; set together = false"
    }
    said = found({**step, "columns": columns[:2]}, roles=roles, allow_leaks=columns)
    assert list(said) == ["step 1 (shuffle) keeps all quasi columns together"]
    assert found({**step, "together": False}, roles=roles, allow_leaks=columns) == {}


def test_rows_that_are_counted_for_people():
    table = people(who=np.arange(N) // 3)
    roles = {"confidential": ["pay"], "unit": "who", "rest": "drop"}
    step = {"method": "oma", "columns": ["pay"], "k": 5}
    assert found(step, table=table, roles=roles) == {}
    said = found(step, table=table, roles=roles, counts="rows")["k counts rows, not people"]
    assert said == "one 'who' may have k of them; leave counts out"


# Where it is told


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("weak")
    write_table(people(), folder / "in.csv")
    Recipe.from_dict({"roles": ROLES, "steps": [{**CLASSES, "levels": {"region": 0, "sex": 0}}, NOISE]}).dump(folder / "r.toml")  # fmt: skip
    return folder


def test_it_is_told_and_does_not_fail(saved):
    release = protect(saved / "in.csv", saved / "r.toml")
    assert release.check.verified
    assert release.check.ok
    assert release.check.summary.endswith(", 1 weak")
    release.save(saved / "out")
    (warning,) = release.log["warnings"]
    assert warning.startswith(
        "weak: classes of region, sex give 'ill' away: 2 classes (60 records) hold one value"
    )
    internal, public = saved / "out" / "internal", saved / "out" / "public"
    assert json.loads((internal / "log.json").read_text())["warnings"] == [warning]
    assert "classes of region, sex give" in (internal / "report.html").read_text("utf-8")
    assert "and 1 point is weak" in (internal / "report.html").read_text("utf-8")
    for path in public.iterdir():
        for told in ("weak:", "is weak", "1 weak", "one value each"):
            assert told not in path.read_text("utf-8"), path
    report = check_release(saved / "out" / "public" / "table.csv", saved / "r.toml", internal)
    assert [one.promise for one in report.having("weak")] == [
        "classes of region, sex give 'ill' away"
    ]


def test_the_commands_tell_it(saved, run):
    code, out, _ = run(
        "protect", saved / "in.csv", "--recipe", saved / "r.toml", "--out", saved / "b"
    )
    assert (code, "weak: classes of region, sex give" in " ".join(out.split())) == (
        0,
        True,
    )
    code, out, _ = run("check", saved / "b", "--original", saved / "in.csv")
    assert (code, "1 weak" in out) == (0, True)
    code, out, _ = run("check", saved / "b", "--json")
    assert code == 0
    assert [one["status"] for one in json.loads(out)["findings"]].count("weak") == 1
