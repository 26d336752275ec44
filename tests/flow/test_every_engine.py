"""One command gives one result: protect, check, assess, compare and report on every engine."""

import json

import pytest

from discreet.datasets import make_households
from discreet.table import write_table

ENGINES = ["duckdb", pytest.param("spark", marks=pytest.mark.spark)]
RECIPE = f"""\
null_markers = ["none"]
seed = {2**100 + 5}
order_seed = {2**100 + 7}
# Members of a household with and without nulls are generalized apart.
allow_leaks = ["region"]

[roles]
identifiers = ["name"]
quasi = ["region", "age", "sex"]
confidential = ["income", "assets", "disease"]
insensitive = ["education", "household_size"]
household = "household_id"
weight = "weight"
rest = "drop"

[[steps]]
method = "generalize"
columns = ["region", "age", "sex"]
privacy = [{{ model = "k-anonymity", k = 12 }}, {{ model = "l-diversity", l = 2, column = "disease" }}]
suppression_limit = 1.0
levels = {{ age = 1, region = 0, sex = 0 }}
[steps.hierarchies]
age = {{ kind = "intervals", widths = [10, 20] }}
region = {{ kind = "auto" }}
sex = {{ kind = "auto" }}

[[steps]]
method = "oma"
columns = ["income"]
k = 5

[[steps]]
method = "noise"
columns = ["assets"]
scale = 0.1

[[steps]]
method = "pram"
columns = ["education"]
"""


BLANKS = (
    RECIPE[: RECIPE.index("[[steps]]")]
    + """\
[[steps]]
method = "top-bottom"
columns = ["age"]
upper = 85
promise = false

[[steps]]
method = "local-suppression"
columns = ["region", "age", "sex"]
k = 3
null_policy = "match"
importance = ["region", "sex"]
# As many as are needed to compare engines; fewer blanks are looked for elsewhere.
improve_moves = 2000
"""
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("engines")
    (place / "recipe.toml").write_text(RECIPE, "utf-8")
    table = make_households(1500, seed=3, null_rate=0.03)
    for name in ("people.csv", "people.parquet"):
        write_table(table, place / name)
    return place


def protect(run, folder, file, engine, out):
    return run(
        "protect", folder / file, "--recipe", folder / "recipe.toml", "--out", out,
        "--engine", engine, "--json",
    )  # fmt: skip


@pytest.fixture
def both(run, folder, engine):
    """The same table protected in memory and on an engine, with what was printed."""
    printed = []
    for where in ("memory", engine):
        out = folder / f"{engine}-{where}"
        if not out.exists():
            code, text, errors = protect(run, folder, "people.csv", where, out)
            assert code == 0, errors
            (folder / f"{out.name}.json").write_text(text, "utf-8")
        printed.append(json.loads((folder / f"{out.name}.json").read_text("utf-8")))
    return [folder / f"{engine}-{where}" for where in ("memory", engine)], printed


def same_assessment(one, other):
    """Risk and utility alike; what is summed in another order, nearly.

    Of households the risk needs all records in memory.
    """
    for assessment in (one, other):
        for part in ("before", "after"):
            assessment["risk"]["individual_risk"][part].pop("household", None)
        assessment["risk"]["individual_risk"].pop("notes", None)
    for family in ("risk", "utility"):
        assert list(one[family]) == list(other[family])
        for name in one[family]:
            same_figures(one[family][name], other[family][name], name)


def same_figures(one, other, where):
    if isinstance(one, dict):
        assert one.keys() == other.keys(), where
        for key in one:
            same_figures(one[key], other[key], f"{where} {key}")
    elif isinstance(one, list):
        for a, b in zip(one, other, strict=True):
            same_figures(a, b, where)
    elif isinstance(one, float):
        assert other == pytest.approx(one, rel=1e-9, abs=1e-9), where
    else:
        assert one == other, where


def files_of(release):
    return sorted(str(p.relative_to(release)) for p in release.rglob("*") if p.is_file())


@pytest.mark.parametrize("engine", ENGINES)
def test_the_same_files_with_the_same_bytes(both):
    releases, _ = both
    one, other = releases
    assert files_of(one) == files_of(other)
    for name in ("public/table.csv", "public/codebook.md", "internal/recipe.toml"):
        assert (one / name).read_bytes() == (other / name).read_bytes(), name


@pytest.mark.parametrize("engine", ENGINES)
def test_the_same_plan_and_counts(both):
    releases, printed = both
    plans = [json.loads((one / "internal/plan.json").read_text("utf-8")) for one in releases]
    assert plans[0]["suppressed"] == plans[1]["suppressed"]
    assert plans[0]["households"] == plans[1]["households"]
    for one, other in zip(*(plan["steps"] for plan in plans), strict=True):
        if one["method"] == "noise":
            # Moments are summed in another order.
            sd = one["columns"]["assets"].pop("sd")
            assert other["columns"]["assets"].pop("sd") == pytest.approx(sd, rel=1e-12)
        assert one == other
    for part in ("changed_cells", "suppressed", "dropped", "nulls", "roles"):
        assert printed[0]["log"][part] == printed[1]["log"][part], part


@pytest.mark.parametrize("engine", ENGINES)
def test_the_same_check(run, folder, both):
    releases, printed = both
    assert printed[0]["check"] == printed[1]["check"]
    assert {f["status"] for f in printed[1]["check"]["findings"]} == {"verified", "weak"}
    found = []
    for release in releases:
        code, text, errors = run("check", release, "--original", folder / "people.csv", "--json")
        assert code == 0, errors
        found.append(json.loads(text))
    assert [f["promise"] for f in found[0]["findings"]] == [
        f["promise"] for f in found[1]["findings"]
    ]


@pytest.mark.parametrize("engine", ENGINES)
def test_the_same_assessment(run, folder, both):
    releases, printed = both
    same_assessment(printed[0]["assessment"], printed[1]["assessment"])
    for release in releases:
        code, text, errors = run(
            "assess", folder / "people.csv", release, "--recipe", folder / "recipe.toml", "--json"
        )
        assert code == 0, errors
        same_assessment(printed[0]["assessment"], json.loads(text))


@pytest.mark.parametrize("engine", ENGINES)
def test_releases_of_any_engine_are_compared_and_reported(run, folder, both):
    releases, _ = both
    code, text, errors = run("compare", folder / "people.csv", *releases, "--json")
    assert code == 0, errors
    one, other = json.loads(text)["releases"]
    assert one["risk"] == pytest.approx(other["risk"])
    assert one["loss"] == pytest.approx(other["loss"])
    for release in releases:
        out = folder / f"{release.name}.html"
        for more in ([], ["--original", folder / "people.csv"]):
            code, _, errors = run("report", release, "--out", out, "--force", *more)
            assert code == 0, errors
            assert "k-anonymity" in out.read_text("utf-8")


@pytest.mark.parametrize(
    ("engine", "counts"),
    [
        ("duckdb", "rows"),
        ("duckdb", "households"),
        # tests/spark blanks cells of rows, if asked for slow tests.
        pytest.param("spark", "households", marks=pytest.mark.spark),
    ],
)
def test_the_same_cells_are_blanked(run, folder, engine, counts, tmp_path):
    recipe = tmp_path / "recipe.toml"
    recipe.write_text(f'counts = "{counts}"\n{BLANKS}', "utf-8")
    releases, plans = [], []
    for where in ("memory", engine):
        releases.append(tmp_path / where)
        code, _, errors = run(
            "protect", folder / "people.csv", "--recipe", recipe, "--out", releases[-1],
            "--engine", where,
        )  # fmt: skip
        assert code == 0, errors
        plans.append(json.loads((releases[-1] / "internal/plan.json").read_text("utf-8")))
    one, other = releases
    for name in ("public/table.csv", "public/codebook.md", "internal/recipe.toml"):
        assert (one / name).read_bytes() == (other / name).read_bytes(), name
    assert plans[0]["steps"] == plans[1]["steps"]
    blanked = plans[0]["steps"][1]["columns"]["age"]["blanked"]
    assert blanked > 0


# From Parquet to Parquet is what all of tests/spark/test_protection.py does.
@pytest.mark.parametrize(
    "engine", ["duckdb", pytest.param("spark", marks=[pytest.mark.spark, pytest.mark.slow])]
)
def test_parquet_comes_out_of_parquet(run, folder, engine):
    found = []
    for where in ("memory", engine):
        out = folder / f"parquet-{engine}-{where}"
        code, _, errors = protect(run, folder, "people.parquet", where, out)
        assert code == 0, errors
        found += [p.name for p in (out / "public").glob("table.*")]
    assert found == ["table.parquet", "table.parquet"]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_step_that_needs_all_rows_is_refused_by_name(run, folder, engine, tmp_path):
    rows = '\n[[steps]]\nmethod = "rank-swap"\ncolumns = ["household_size"]\np = 5\n'
    (tmp_path / "recipe.toml").write_text(RECIPE + rows, "utf-8")
    code, _, errors = run(
        "protect", folder / "people.csv", "--recipe", tmp_path / "recipe.toml",
        "--out", tmp_path / "out", "--engine", engine,
    )  # fmt: skip
    assert code == 2
    assert errors == (
        f"discreet: step 5 (rank-swap) cannot run on {engine}: it looks at the rows themselves; "
        "use --engine memory\n"
    )
