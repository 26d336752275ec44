import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet
from typer.testing import CliRunner

from discreet import assess, compare, protect
from discreet.cli.main import app
from discreet.errors import BadInput
from discreet.generalization import KAnonymity, Mondrian
from discreet.report.page import share
from discreet.utility import null_rates

cell = st.sampled_from([1.0, float("nan"), None])
row = st.tuples(cell, cell, cell, cell, st.booleans())
text = st.sampled_from(["a", "*", "#", "-", "**", "", None])
# The eight patients of the third paper's Table 1; its Table 1B has a * in all 16 cells.
PATIENTS = pd.DataFrame(
    {
        "age": [14, 18, 25, 26, None, 37, None, 48],
        "zip": [632002, 632006, None, None, 632007, 632009, 632012, 632014],
    }
).astype("Int64")
QUASI = ["age", "zip"]


@given(st.lists(row, min_size=1))
def test_against_plain_counting(rows):
    before, after = (
        pa.table({c: pa.array([r[i + s] for r in rows], pa.float64()) for i, c in enumerate("ab")})
        for s in (0, 2)
    )
    gone = [r[4] for r in rows]
    found = null_rates(before, after, ["a", "b"], suppressed=gone, stars="value", detail=True)
    n = len(rows)
    was = sum(c != 1.0 for r in rows for c in r[:2])
    now = sum(c != 1.0 or r[4] for r in rows for c in r[2:4])
    assert found.value == null_rates(before, after, ["a", "b"], suppressed=gone)
    assert found.value == pytest.approx(now / (2 * n))
    assert found.before == pytest.approx(was / (2 * n))
    assert found.records == pytest.approx(sum(r[4] or r[2:4] != (1.0, 1.0) for r in rows) / n)
    assert found.suppressed == sum(gone)
    assert found.contaminated == (now > was)
    assert sum(found.columns.values()) == pytest.approx(2 * found.value)
    blanked = [sum(not r[4] and r[i] == 1.0 and r[i + 2] != 1.0 for i in range(2)) for r in rows]
    assert found.blanked == pytest.approx(sum(blanked) / (2 * n))
    assert found.blanked_records == pytest.approx(sum(b > 0 for b in blanked) / n)


@pytest.mark.parametrize("encoded", [False, True])
@given(st.lists(st.tuples(text, text, text, text, st.booleans()), min_size=1))
def test_both_readings_of_text(encoded, rows):
    cells = np.array([r[:4] for r in rows], dtype=object)
    gone = np.array([r[4] for r in rows])
    before, after = (
        pa.table({c: pa.array(cells[:, i + s], pa.string()) for i, c in enumerate("ab")})
        for s in (0, 2)
    )
    if encoded:
        before, after = (
            pa.table({c: table[c].dictionary_encode() for c in "ab"}) for table in (before, after)
        )
    found = null_rates(before, after, ["a", "b"], suppressed=gone, detail=True)
    assert found.stars == "count"
    assert vars(found.readings["count"]).items() <= vars(found).items()
    for stars, empty in (("count", (None, "*", "#", "-")), ("value", (None,))):
        hit = np.isin(cells.astype(str), [str(mark) for mark in empty])
        was, now = hit[:, :2], hit[:, 2:] | gone[:, None]
        own = found.readings[stars]
        assert own.value == pytest.approx(now.mean())
        assert own.value == null_rates(before, after, ["a", "b"], suppressed=gone, stars=stars)
        assert own.before == pytest.approx(was.mean())
        assert own.records == pytest.approx(now.any(axis=1).mean())
        assert own.columns == {c: pytest.approx(now[:, i].mean()) for i, c in enumerate("ab")}
        more = now.sum() >= was.sum() if stars == "count" else now.sum() > was.sum()
        assert own.contaminated == more


def test_a_table_of_stars_is_contaminated_and_worse_than_segregation():
    ways = {"contaminated": {"null_policy": "contaminate"}, "apart": {"enhanced": True}}
    found = {}
    for name, parameters in ways.items():
        released = Mondrian([KAnonymity(2)], **parameters).fit_transform(PATIENTS)
        found[name] = null_rates(PATIENTS, released, QUASI, detail=True)
    starred, apart = found["contaminated"], found["apart"]
    assert (starred.value, starred.before, starred.records) == (1.0, 0.25, 1.0)
    assert starred.contaminated
    assert (apart.value, apart.before, apart.records) == (0.25, 0.25, 0.5)
    assert apart.contaminated  # As printed: as many nulls as before are enough.
    # What the tables fit reads the other way round.
    assert starred.readings["value"].value == 0.0
    assert not starred.readings["value"].contaminated
    assert apart.readings["value"].value == 0.25
    assert not apart.readings["value"].contaminated


def patients_released(**parameters):
    model = {"model": "k-anonymity", "k": 2}
    step = {"method": "mondrian", "columns": QUASI, "privacy": [model], **parameters}
    return protect(PATIENTS, {"roles": {"quasi": QUASI}, "steps": [step]})


def test_assess_and_compare_count_stars():
    starred = patients_released(null_policy="contaminate")
    apart = patients_released(enhanced=True)
    entry = starred.assess().utility["null_rates"]
    assert (entry["before"], entry["after"], entry["records"]) == (0.25, 1.0, 1.0)
    assert (entry["contaminated"], entry["more_nulls"], entry["suppressed"]) == (True, False, 0)
    assert entry["nulls"] == [0.25, 0.0]
    assert entry["readings"]["value"]["value"] == 0.0
    found = compare(
        PATIENTS, {"1B": starred, "apart": apart}, risk="class_sizes.smallest", loss="null_rates"
    )
    assert [one.loss for one in found.releases] == [1.0, 0.25]
    rows = dict(found.rows())
    assert rows["null_rates"] == ["1", "0.25"]
    assert rows["null_rates.records"] == ["1", "0.5"]
    assert rows["null_rates.suppressed"] == ["0", "0"]
    assert rows["null_rates.contaminated"] == ["yes", "yes"]
    assert rows["null_rates.more_nulls"] == ["no", "no"]
    assert rows["null_rates.nulls"] == ["0", "-"]
    told = str(starred.assess()).split("\n")
    assert [line.split() for line in told if line.startswith("null_rates")] == [
        ["null_rates", "0.25", "1"],
        ["null_rates.records", "-", "1"],
        ["null_rates.suppressed", "0", "0"],
        ["null_rates.contaminated", "-", "yes"],
        ["null_rates.more_nulls", "-", "no"],
        ["null_rates.nulls", "0.25", "0"],
        ["null_rates.null_records", "-", "0"],
    ]


def test_contamination_is_no_matter_where_nothing_is_empty():
    table = pa.table({"sex": ["f", "m"]})
    entry = assess(table, table, {"quasi": ["sex"]}).utility["null_rates"]
    assert (entry["after"], entry["contaminated"], entry["more_nulls"]) == (0.0, None, False)
    assert entry["readings"]["count"]["contaminated"]  # As printed, 0 >= 0.
    assert "nulls" not in entry


def test_both_reports_show_the_rates(tmp_path):
    patients_released(null_policy="contaminate").save(tmp_path / "out")
    inside, outside = (
        (tmp_path / "out" / side / "report.html").read_text("utf-8")
        for side in ("internal", "public")
    )
    for title in (
        "cells null or * in quasi columns",
        "records with a cell null or *",
        "suppressed (records)",
        "contaminated",
    ):
        assert title in inside
    assert (
        "0 records were suppressed (SRC). Of the cells by which people might be recognized, 100 % "
        "are empty or * (NVIr), in 100 % of the records (NVRr). They are no fewer than were empty "
        "in the original: the release counts as contaminated, as every release does that fills in "
        "no missing value."
    ) in outside


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
@pytest.mark.parametrize(("n", "k", "left_out"), [(90, 3, 0), (150, 6, 1), (60, 6, 6)])
def test_what_data_users_are_told_is_what_they_can_count(tmp_path, engine, n, k, left_out):
    """From the released file and the number of records left out, in plain pandas."""
    rng = np.random.default_rng(n)
    table = pa.table(
        {
            "age": pa.array(rng.integers(18, 60, n), mask=rng.random(n) < 0.1),
            "zip": pa.array(rng.choice(["11", "12", "21"], n), mask=rng.random(n) < 0.1),
            "sex": rng.choice(["f", "m"], n),
        }
    )
    parquet.write_table(table, tmp_path / "people.parquet")
    step = {
        "method": "generalize", "columns": ["age", "zip"], "suppression_limit": 0.3,
        "privacy": [{"model": "k-anonymity", "k": k}],
        "hierarchies": {"age": {"kind": "intervals", "widths": [20]}, "zip": {"kind": "flat"}},
    }  # fmt: skip
    roles = {"quasi": ["age", "zip", "sex"], "untouched": ["sex"]}
    release = protect(tmp_path / "people.parquet", {"roles": roles, "steps": [step]}, engine=engine)
    release.save(tmp_path / "out", format="csv")
    counts = release.log["suppressed"]
    # All stay as stars, all but one, or none.
    assert left_out == counts["left_out"] <= counts["records"]
    file = pd.read_csv(tmp_path / "out" / "public" / "table.csv", keep_default_na=False, dtype=str)
    empty = file.isin(["", "*", "#", "-"]).to_numpy()
    assert len(file) + left_out == n
    cells = (empty.sum() + 3 * left_out) / (3 * n)
    records = (empty.any(axis=1).sum() + left_out) / n
    page = (tmp_path / "out" / "public" / "report.html").read_text("utf-8")
    assert (
        f"{counts['records']} records were suppressed (SRC). Of the cells by which people might be "
        f"recognized, {share(cells)} are empty or * (NVIr), in {share(records)} of the records "
        "(NVRr)."
    ) in page
    entry = release.assess().utility["null_rates"]
    assert (entry["after"], entry["records"]) == (pytest.approx(cells), pytest.approx(records))
    assert (entry["suppressed"], entry["contaminated"]) == (counts["records"], True)
    release.close()


def test_the_terminal_shows_them(tmp_path):
    PATIENTS.to_parquet(tmp_path / "patients.parquet")
    (tmp_path / "r.toml").write_text(
        '[roles]\nquasi = ["age", "zip"]\n[[steps]]\nmethod = "mondrian"\n'
        'columns = ["age", "zip"]\nnull_policy = "contaminate"\n'
        'privacy = [{ model = "k-anonymity", k = 2 }]\n',
        "utf-8",
    )
    given = [str(tmp_path / name) for name in ("patients.parquet", "r.toml", "out")]
    result = CliRunner().invoke(
        app, ["protect", given[0], "--recipe", given[1], "--out", given[2], "--verbose"]
    )
    assert result.exit_code == 0, result.output
    said = " ".join(result.output.split())
    for name in ("null_rates", "null_rates.records", "null_rates.suppressed"):
        assert name in said
    assert "null_rates.contaminated" in said


def test_bad_input():
    table = pa.table({"zip": ["*", "*"]})
    with pytest.raises(BadInput, match=r"suppressed has shape \(1,\), the table 2 rows"):
        null_rates(table, table, ["zip"], suppressed=[True])
    with pytest.raises(BadInput, match="the original has 2 rows, the protected table 1"):
        null_rates(table, table.slice(1), ["zip"])
    with pytest.raises(BadInput, match="stars must be 'count' or 'value', not 'null'"):
        null_rates(table, table, ["zip"], stars="null")
