"""k-map and delta-presence: every node tried on small tables, messages, releases and their check."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet
from scipy import stats

import discreet
from discreet.errors import BadInput
from discreet.generalization import (
    DeltaPresence,
    Generalize,
    Hierarchy,
    KAnonymity,
    KMap,
    LDiversity,
    Mondrian,
)
from discreet.generalization.models import read_models
from discreet.generalization.population import Population
from tests.examples import examples
from tests.generalization.plain import Plain
from tests.generalization.test_search import QUALITIES, as_method, as_table, limits, tables


class Peopled(Plain):
    """A sample with its population, by the definitions of the models."""

    def __init__(self, records, trees, ill, people):
        null = [any(r[a] is None for r in people) for a in range(len(trees))]
        super().__init__(records, trees, ill, null_leaf=null)
        self.people = people

    def kept(self, node, models):
        there = {}
        for person in self.people:
            key = tuple(self.trees[a][v][node[a]] for a, v in enumerate(person))
            there[key] = there.get(key, 0) + 1
        classes = self.classes(node)
        held, out = {}, []
        for key, members in classes.items():
            if all(self._keeps_in(model, members, there[key]) for model in models):
                held[key] = members
            else:
                out += members
        lowest = max((m.minimum for m in models if isinstance(m, DeltaPresence)), default=0)
        if lowest and there.keys() - classes.keys():
            return {}, [None] * (self.n + 1)  # infeasible whatever is suppressed
        return held, out

    def _keeps_in(self, model, members, there):
        if isinstance(model, KMap):
            return there >= model.k
        if isinstance(model, DeltaPresence):
            share = len(members) / there
            return model.minimum - 1e-12 <= share <= model.maximum + 1e-12
        return self._keeps(model, members)


@st.composite
def peopled(draw):
    """A small sample, and a population that includes it."""
    columns, forest, records, ill = draw(tables(nulls=True))
    some = [[*tree, None] for tree in forest]
    more = draw(st.lists(st.tuples(*(st.sampled_from(leaves) for leaves in some)), max_size=30))
    twice = draw(st.booleans())
    return columns, forest, records, ill, [*records * (1 + twice), *more]


shares = st.integers(1, 10).map(lambda i: i / 10)
presences = st.tuples(st.sampled_from([0.0, 0.0, 0.1, 0.3]), shares).map(sorted)
asked = st.one_of(
    st.integers(1, 12).map(lambda k: lambda people: [KMap(k, population=people)]),
    presences.map(lambda given: lambda people: [DeltaPresence(*given, population=people)]),
    st.tuples(st.integers(1, 4), presences, st.integers(1, 3)).map(
        lambda given: (
            lambda people: [
                KAnonymity(given[0]),
                DeltaPresence(*given[1], population=people),
                LDiversity(given[2], column="ill"),
                KMap(4, population=people),
            ]
        )
    ),
)


@pytest.mark.parametrize("quality", QUALITIES)
@examples(40)
@given(example=peopled(), asked=asked, limit=limits)
def test_the_best_node_of_a_sample_with_its_population_is_found(quality, example, asked, limit):
    columns, forest, records, ill, people = example
    population = as_table(columns, people, [1] * len(people))
    privacy = asked(population)
    plain = Peopled(records, forest, ill, people)
    expected = plain.best(quality, privacy, limit)
    method = as_method(columns, forest, privacy, quality=quality, suppression_limit=limit)
    table = as_table(columns, records, ill)
    if expected is None:
        with pytest.raises(BadInput, match="cannot be met"):
            method.fit(table)
        return
    node, value, suppressed = expected
    whole = list(range(len(records)))
    if suppressed == len(records) and not all(
        plain._keeps_in(m, whole, len(people)) for m in privacy
    ):
        with pytest.raises(BadInput, match="nothing would remain"):
            method.fit(table)
        return
    method.fit(table)
    assert tuple(method.levels_[0]["levels"].values()) == node
    assert method.quality_ == pytest.approx(value, rel=1e-9, abs=1e-9)
    assert method.suppressed_ == suppressed
    assert method.certificate_.proven


@examples(60)
@given(example=peopled(), asked=asked, policy=st.sampled_from(["value", "segregate", "suppress"]))
def test_local_recoding_keeps_the_models_in_the_population(example, asked, policy):
    columns, forest, records, ill, people = example
    privacy = asked(as_table(columns, people, [1] * len(people)))
    if any(getattr(m, "minimum", 0) > 0 for m in privacy):
        return
    method = as_method(columns, forest, privacy, suppression_limit=1.0, local=True)
    method.null_policy = policy
    table = as_table(columns, records, ill)
    try:
        out = method.fit_transform(table)
    except BadInput:
        return  # Nothing can be kept.
    # Whoever could have a released label in the population is no less than its class.
    plain = Peopled(records, forest, ill, people)
    rows = list(zip(*(out[c].to_pylist() for c in columns), strict=True))
    kept = [row for row, gone in zip(rows, method.suppressed_mask_, strict=True) if not gone]
    k = max((m.k for m in privacy if isinstance(m, KMap)), default=1)
    for row in set(kept):
        matching = sum(
            all(
                label in plain.trees[a][v]
                for a, (v, label) in enumerate(zip(person, row, strict=True))
            )
            for person in people
        )
        assert matching >= k


@pytest.mark.parametrize("estimator", ["poisson", "zero-truncated"])
@pytest.mark.parametrize("significance", [0.01, 0.05, 0.2])
def test_an_estimated_k_is_the_least_that_is_enough(estimator, significance):
    for k, n, population in [(3, 10, 1000), (20, 500, 1000), (100, 900, 1000), (7, 40, 41)]:
        model = KMap(k, population=population, estimator=estimator, significance=significance)
        chance = stats.poisson(k * n / population)
        none = chance.pmf(0) if estimator == "zero-truncated" else 0.0

        def below(count, chance=chance, none=none):  # a class of k has no more in the sample
            return (chance.cdf(count) - none) / (1 - none)

        least = model.least(n)
        assert least == min(k, n) or below(least - 1) >= 1 - significance
        if least > (2 if none else 1):
            assert below(least - 2) < 1 - significance


def test_a_level_of_significance_beyond_floats_asks_for_k():
    assert KMap(5, population=1000, significance=1e-300).least(100) == 5


def test_an_estimated_k_map_is_k_anonymity_of_what_is_enough():
    table = pa.table({"age": [20, 20, 20, 30, 30, 40] * 5})
    ladder = {"age": Hierarchy.intervals(widths=[20])}
    estimated = KMap(20, population=100)
    enough = estimated.least(30)
    assert 1 < enough < 20
    for make in (lambda m: Generalize(ladder, m, suppression_limit=0.5), Mondrian):
        ours, plain = make(estimated), make(KAnonymity(enough))
        assert ours.fit_transform(table).equals(plain.fit_transform(table))
    assert KMap(20, population=100, arx=True).least(30) == enough + 1


TABLE = pa.table({"age": [31, 34, 38, 52, 57, 59, 59], "sex": list("ffmmfmm"), "pay": [1] * 7})
PEOPLE = pa.concat_tables([TABLE, TABLE])
AGES = {"age": Hierarchy.intervals(widths=[10, 20]), "sex": Hierarchy.flat()}


def _fit(model, table=TABLE, method=Generalize, units=None, **options):
    return method(AGES, model, **options).fit(table, units=units)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: KMap(5, population=0),
            "population must be the number of the population's records",
        ),
        (lambda: KMap(5, population=True), "population must be the number of the population's"),
        (
            lambda: KMap(5, population=PEOPLE, significance=0.1),
            "estimator and significance belong to a k-map whose population is a number",
        ),
        (
            lambda: KMap(5, population=100, estimator="zero-truncated", arx=True),
            "arx = true belongs to estimator = 'poisson'",
        ),
        (
            lambda: DeltaPresence(0.5, 0.2, population=PEOPLE),
            "minimum = 0.5 and maximum = 0.2 leave no share",
        ),
        (lambda: DeltaPresence(0, 0.2, population=7), "population must be the table"),
        (
            lambda: read_models([{"model": "k-map", "k": 2, "popluation": 7}]),
            "k-map has no parameter 'popluation'; did you mean 'population'",
        ),
        (
            lambda: _fit(KMap(5, population=6)),
            "the population of 6 records is smaller than the table, which has 7",
        ),
        (
            lambda: _fit(KMap(9, population=8)),
            "no class can have k = 9 records in a population of 8; take a smaller k",
        ),
        (
            lambda: Generalize(
                {"sex": Hierarchy.from_table([["f", "*"], ["m", "*"]])},
                KMap(2, population=pa.table({"sex": [*"ffffmmmmx"]})),
            ).fit(TABLE.select(["sex"])),
            "column 'sex': 1 value in the population has no place in the hierarchy: 'x'",
        ),
        (
            lambda: _fit(KMap(2, population=PEOPLE.rename_columns(["Age", "sex", "pay"]))),
            "the population has no column 'age'; did you mean 'Age'",
        ),
        (
            lambda: _fit(KMap(2, population=PEOPLE.set_column(0, "age", pa.array(["x"] * 14)))),
            "column 'age' holds int64 in the table and string in the population",
        ),
        (
            lambda: _fit([KMap(2, population=PEOPLE), KMap(2, population=TABLE)]),
            "name several populations",
        ),
        (
            lambda: _fit(DeltaPresence(0, 0.5, population=PEOPLE.slice(9))),
            "2 of 7 records are not in the population",
        ),
        (
            lambda: _fit(KMap(2, population=PEOPLE), null_policy="match"),
            "k-map counts classes in the table of a population, and null_policy = 'match'",
        ),
        (
            lambda: _fit(KMap(2, population=PEOPLE), units=[1, 1, 2, 3, 4, 5, 6]),
            "k-map counts classes in the table of a population, and here units have several records",
        ),
        (
            lambda: _fit(DeltaPresence(0.1, 0.5, population=PEOPLE), local=True),
            "which local recoding does not take; use local = false",
        ),
        (
            lambda: Mondrian(KMap(2, population=PEOPLE)).fit(TABLE),
            "k-map counts classes in the table of a population, and mondrian makes ranges",
        ),
        (
            lambda: _fit(
                DeltaPresence(0.1, 1, population=pa.concat_tables([PEOPLE, OLD])),
                levels={"age": [0, 1]},
            ),
            "at these levels some class of the population has no record in the table",
        ),
    ],
)
def test_what_is_refused(make, message):
    with pytest.raises(BadInput, match=message.replace("(", r"\(")):
        make()


def test_a_time_limit_changes_nothing_where_it_is_not_reached():
    model = KMap(4, population=PEOPLE)
    limited, free = _fit(model, time_limit=60.0), _fit(model)
    assert limited.levels_ == free.levels_


def test_nulls_that_only_the_population_has_are_a_class_without_records():
    people = pa.table({"age": [20, 20, None, None], "sex": ["f", None, None, "m"]})
    table = people.slice(0, 2)
    model = DeltaPresence(0.1, 1, population=people)
    method = Generalize({"age": Hierarchy.flat(), "sex": Hierarchy.flat()}, model)
    method.segregate = "pattern"
    with pytest.raises(BadInput, match="2 records of the population have nulls where no record"):
        method.fit(table)
    method.null_policy = "value"
    assert method.fit(table).levels_[0]["levels"] == {"age": 1, "sex": 1}


OLD = pa.table({"age": [88, 89], "sex": ["f", "f"], "pay": [1, 1]})


def test_a_population_that_lacks_records_is_told_of():
    with pytest.warns(UserWarning, match="2 of 7 records are not in the population"):
        _fit(KMap(2, population=PEOPLE.slice(9)))


def test_new_rows_are_not_judged_by_the_population():
    fitted = _fit(KMap(6, population=PEOPLE), suppression_limit=0.6, levels={"age": 1, "sex": 0})
    assert fitted.suppressed_
    new = fitted.transform(pa.table({"age": [90, 52], "sex": ["f", "m"], "pay": [1, 2]}))
    assert new["pay"].to_pylist() == [None, 2]


# Releases


def _people(n=400, seed=1):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": rng.integers(20, 70, n),
            "town": rng.choice(["Ulm", "Jena", "Rust"], n, p=[0.6, 0.37, 0.03]).astype(object),
            "ill": rng.choice(["flu", "acne", "gout", "cold"], n, p=[0.5, 0.3, 0.1, 0.1]),
        }
    )


def _recipe(model, **options):
    step = {
        "method": "generalize",
        "columns": ["age", "town"],
        "privacy": [model],
        "hierarchies": {"age": {"kind": "intervals", "widths": [5, 25]}, "town": {"kind": "flat"}},
        "suppression_limit": 0.2,
        **options,
    }
    roles = {"quasi": ["age", "town"], "confidential": ["ill"], "not_identifiers": ["ill"]}
    return {"roles": roles, "steps": [step], "allow_leaks": ["age", "town", "ill"]}


@pytest.fixture(scope="module")
def population(tmp_path_factory):
    """A file of all, of which the first 100 are the sample."""
    frame = _people()
    frame["age"] = frame["age"].astype("Int64")
    frame.loc[::7, "age"] = pd.NA
    path = tmp_path_factory.mktemp("people") / "all.parquet"
    parquet.write_table(pa.Table.from_pandas(frame, preserve_index=False), path)
    return frame, path


MODELS = [
    {"model": "k-map", "k": 8},
    {"model": "delta-presence", "minimum": 0, "maximum": 0.45},
    {"model": "k-map", "k": 12, "population": 400},
    {"model": "delta-disclosure", "delta": 2.5, "column": "ill"},
    {
        "model": "l-diversity",
        "l": 2,
        "column": "ill",
        "kind": "entropy",
        "estimator": "grassberger",
    },
]


@pytest.mark.parametrize("model", MODELS, ids=lambda m: f"{m['model']}-{m.get('population', '')}")
@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_a_release_passes_its_check_and_a_forged_one_does_not(model, engine, population, tmp_path):
    frame, path = population
    given = (
        {"population": str(path)} | model
        if model["model"] in ("k-map", "delta-presence")
        else model
    )
    sample = frame.iloc[:100]
    recipe = _recipe(given)
    sample.to_parquet(tmp_path / "in.parquet", index=False)
    release = discreet.protect(tmp_path / "in.parquet", recipe, engine=engine)
    assert release.check.verified
    release.save(tmp_path / "release")
    page = (tmp_path / "release" / "public" / "report.html").read_text(encoding="utf-8")
    assert "which means" in page
    assert ("in the table is not hidden" in page) == (given["model"] != "delta-presence")
    if "population" in given:
        (told,) = (step["population"] for step in release.log["steps"])
        assert told["records"] == 100
        assert told.get("population") == (None if "population" in model else 400)
    promise = next(f for f in release.check.findings if f.promise.startswith(given["model"]))
    assert promise.status == "verified"
    internal = tmp_path / "release" / "internal"
    table = pd.read_parquet(tmp_path / "release" / "public" / "table.parquet")
    assert discreet.check_release(table, release.recipe, internal).ok
    # A few records under labels that nobody has, and with one rare value.
    table["age"] = table["age"].astype(object)
    table.loc[:2, ["age", "town", "ill"]] = ["20-24", "Rust", "gout"]
    report = discreet.check_release(table, release.recipe, internal)
    forged = [f for f in report.findings if f.promise.startswith(given["model"])]
    assert any(f.status == "broken" for f in forged)


def test_without_the_population_a_promise_is_not_verifiable(population, tmp_path):
    frame, path = population
    moved = tmp_path / "moved.parquet"
    moved.write_bytes(path.read_bytes())
    recipe = _recipe({"model": "k-map", "k": 8, "population": str(moved)})
    release = discreet.protect(frame.iloc[:100], recipe)
    release.save(tmp_path / "release")
    moved.unlink()
    table = pd.read_csv(tmp_path / "release" / "public" / "table.csv")
    report = discreet.check_release(table, release.recipe, tmp_path / "release" / "internal")
    (found,) = [f for f in report.findings if f.promise.startswith("k-map")]
    assert found.status == "not verifiable"
    assert "moved.parquet is not there" in found.detail
    assert str(tmp_path) not in found.promise


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_a_population_larger_than_memory_is_counted_on_duckdb(
    kind, population, tmp_path, monkeypatch
):
    frame, path = population
    if kind == "csv":
        path = tmp_path / "all.csv"
        frame.to_csv(path, index=False)
    table = pa.Table.from_pandas(frame.iloc[:100], preserve_index=False)
    types = {name: table.schema.field(name).type for name in ("age", "town")}
    in_memory, counts = Population(path).counted(types)
    monkeypatch.setattr("discreet.generalization.population.choose", lambda *_: "duckdb")
    on_duckdb, again = Population(path).counted(types)
    assert on_duckdb.equals(in_memory)
    assert again.tolist() == counts.tolist()
    assert counts.sum() == len(frame)


def test_a_recipe_takes_no_frame():
    with pytest.raises(BadInput, match="a recipe names the file of its population; write the"):
        discreet.Recipe.from_dict(_recipe({"model": "k-map", "k": 8, "population": PEOPLE}))


def test_a_recipe_names_its_population_from_its_own_folder(population, tmp_path):
    frame, path = population
    (tmp_path / "all.parquet").write_bytes(path.read_bytes())
    (tmp_path / "recipe.toml").write_text(
        """
        allow_leaks = ["age", "town", "ill"]
        [roles]
        quasi = ["age", "town"]
        confidential = ["ill"]
        not_identifiers = ["ill"]
        [[steps]]
        method = "generalize"
        columns = ["age", "town"]
        privacy = [{ model = "k-map", k = 8, population = "all.parquet" }]
        suppression_limit = 0.2
        hierarchies.age = { kind = "intervals", widths = [5, 25] }
        hierarchies.town = { kind = "flat" }
        """
    )
    recipe = discreet.Recipe.load(tmp_path / "recipe.toml")
    release = discreet.protect(frame.iloc[:100], recipe)
    release.save(tmp_path / "release")
    for file in (tmp_path / "release" / "public").rglob("*"):
        # Where the population is, or that there is a file of it, is told to nobody.
        assert b"all.parquet" not in file.read_bytes(), file
    told = (tmp_path / "release" / "public" / "report.html").read_text()
    assert "k-map" in told
