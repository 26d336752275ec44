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
            "pay": RNG.integers(1000, 9000, N) * 1.0,
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
        "classes differ in 'ill'": "2 classes of region, sex, with 60 records, hold one value alone, "
        "which whoever finds a person's class then knows; l-diversity would keep them from it"
    }
    diverse = {**step, "levels": {"region": 1, "sex": 0}}
    diverse["privacy"] = [*K5, {"model": "l-diversity", "l": 2, "column": "ill"}]
    assert found(diverse, NOISE, engine=engine) == {}


def test_a_null_is_no_value_of_a_class():
    ill = people()["ill"].to_pylist()
    ill[0], ill[4] = None, None
    table = people().set_column(3, "ill", pa.array(ill))
    step = {**CLASSES, "levels": {"region": 0, "sex": 0}}
    assert "with 58 records" in found(step, NOISE, table=table)["classes differ in 'ill'"]
    table = table.set_column(3, "ill", pa.array([None] * N, pa.string()))
    assert found(step, NOISE, table=table) == {}


def test_values_that_are_perturbed_are_not_known():
    pram = {"method": "pram", "columns": ["ill"], "retention": 0.7}
    steps = [{**CLASSES, "levels": {"region": 0, "sex": 0}}, NOISE, pram]
    assert found(*steps, allow_leaks=["ill"]) == {}


def test_no_steps():
    roles = {"insensitive": ["ill"], "rest": "drop"}
    assert found(roles=roles) == {
        "columns are treated": "the recipe has no steps, so that all are released as they are"
    }


def test_quasi_columns_that_are_all_untouched():
    said = found(NOISE, roles=ROLES | {"untouched": ["region", "sex"]})
    assert said["quasi columns are treated"] == "all of them (region, sex) are listed as untouched"


def test_columns_that_nobody_named():
    table = people(**{f"c{i}": np.arange(N) % 3 for i in range(10)})
    roles = {"confidential": ["pay"], "rest": "insensitive"}
    assert found(NOISE, roles=roles) == {}
    said = found(NOISE, table=table, roles=roles)["released columns are named"]
    assert said.startswith(
        "13 are released as they are by rest = \"insensitive\", such as 'region'"
    )


def test_a_column_that_is_called_like_an_identifier():
    table = people(surname=np.array(["Smith", "Jones"])[np.arange(N) % 2])
    roles = {"confidential": ["pay"], "insensitive": ["surname"], "rest": "drop"}
    said = found(NOISE, table=table, roles=roles)["identifiers are named"]
    assert said.startswith("no column is, and 'surname' is called like one; list it under ident")
    assert found(NOISE, table=table, roles=roles | {"not_identifiers": ["surname"]}) == {}


STEPS = {
    "all suppressed": ({**CLASSES, "suppression_limit": 1.0}, "step 1 (generalize) keeps most records"),
    "t": ({**CLASSES, "privacy": [*K5, {"model": "t-closeness", "t": 1.0, "column": "ill"}]},
          "step 1 (generalize) keeps t-closeness"),
    "alpha": ({**CLASSES, "privacy": [{"model": "alpha-k-anonymity", "alpha": 1.0, "k": 5, "column": "ill"}]},
              "step 1 (generalize) keeps alpha-k-anonymity"),
    "beta": ({**CLASSES, "privacy": [*K5, {"model": "beta-likeness", "beta": 99.0, "column": "ill"}]},
             "step 1 (generalize) keeps beta-likeness"),
    "faint noise": ({**NOISE, "scale": 1e-6}, "step 1 (noise) perturbs"),
    "faint swap": ({"method": "rank-swap", "columns": ["pay"], "p": 0.19}, "step 1 (rank-swap) perturbs"),
    "faint pram": ({"method": "pram", "columns": ["ill"], "retention": 0.999}, "step 1 (pram) perturbs"),
    "bounds beyond all": ({"method": "top-bottom", "columns": ["pay"], "upper": 1e6},
                          "step 1 (top-bottom) changes values"),
    "no promise": ({"method": "oma", "columns": ["pay"], "k": 5, "promise": False},
                   "step 1 (oma) keeps a promise"),
    "rare points": ({"method": "base", "columns": ["pay"], "base": 10},
                    "step 1 (base): values of 'pay' are shared"),
}  # fmt: skip


@pytest.mark.parametrize("what", STEPS)
def test_steps_that_do_next_to_nothing(what):
    step, wanted = STEPS[what]
    roles = {**ROLES, "untouched": [] if step["method"] == "generalize" else ["region", "sex"]}
    table = pa.concat_tables([people()] * (5 if step["method"] == "rank-swap" else 1))
    assert wanted in found(step, roles=roles, table=table, allow_leaks=["ill"])


def test_rows_that_are_counted_for_people():
    table = people(who=np.arange(N) // 3)
    roles = {"confidential": ["pay"], "unit": "who", "rest": "drop"}
    step = {"method": "oma", "columns": ["pay"], "k": 5}
    assert found(step, table=table, roles=roles) == {}
    said = found(step, table=table, roles=roles, counts="rows")["k counts people"]
    assert said == "it counts rows, of which one 'who' may have k; leave counts out"


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
        "weak: classes differ in 'ill': 2 classes of region, sex, with 60 rec"
    )
    internal, public = saved / "out" / "internal", saved / "out" / "public"
    assert json.loads((internal / "log.json").read_text())["warnings"] == [warning]
    assert "classes differ in" in (internal / "report.html").read_text("utf-8")
    assert "and 1 point is weak" in (internal / "report.html").read_text("utf-8")
    for path in public.iterdir():
        for told in ("weak:", "is weak", "1 weak", "one value alone"):
            assert told not in path.read_text("utf-8"), path
    report = check_release(saved / "out" / "public" / "table.csv", saved / "r.toml", internal)
    assert [one.promise for one in report.having("weak")] == ["classes differ in 'ill'"]


def test_the_commands_tell_it(saved, run):
    code, out, _ = run(
        "protect", saved / "in.csv", "--recipe", saved / "r.toml", "--out", saved / "b"
    )
    assert (code, "warning: weak: classes differ" in " ".join(out.split())) == (0, True)
    code, out, _ = run("check", saved / "b", "--original", saved / "in.csv")
    assert (code, "1 weak" in out) == (0, True)
    code, out, _ = run("check", saved / "b", "--json")
    assert code == 0
    assert [one["status"] for one in json.loads(out)["findings"]].count("weak") == 1
