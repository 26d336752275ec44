"""Tampered releases: found with the evidence it takes, and not verifiable without."""

import json
import shutil

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from discreet import Recipe, check_release, protect, read_table, write_table
from discreet.errors import BadInput

MANIFEST = "the manifest of all files is authentic"
FILE = "the released file is the one that was written"
PROOF = "plan, recipe, row map and whatever else is kept are those that were written"
ROWS = "no row was added or lost"
FIGURES = "released values and their counts are the plan's"
INPUT = "the original is the one that was protected"
CELLS = "every treated cell equals the plan applied, nulls in place"
OTHERS = "every other cell equals the original"
ORDER = "the rows are in the random order of the seed"
LEAKS = "nothing released gives a treated column away"
IDENTIFIERS = "no identifier is released"
ROLES = "every released column has a role"
K = "k = 5 households per value in column 'income'"
TOP = "column 'age' stays within upper 85"
HOUSEHOLDS = "household numbers in 'household_id' are one to one"


@pytest.fixture(scope="module")
def pristine(tmp_path_factory, households, recipe_text):
    """A saved release and its original, as files."""
    folder = tmp_path_factory.mktemp("pristine")
    write_table(households, folder / "original.csv")
    protect(folder / "original.csv", Recipe.from_toml(recipe_text)).save(folder / "release")
    return folder


@pytest.fixture
def place(pristine, tmp_path):
    """A copy to tamper with."""
    return shutil.copytree(pristine, tmp_path / "copy")


@pytest.fixture
def check(checked):
    """Return the status of each promise."""

    def check(place, internal=True, original=True):
        folder = place / "release"
        report = checked(
            folder / "public" / "table.csv",
            folder / "internal" / "recipe.toml",
            folder / "internal" if internal else None,
            place / "original.csv" if original else None,
        )
        return {finding.promise: finding.status for finding in report.findings}

    return check


@pytest.fixture
def broken(check):
    def broken(*args, **kwargs):
        return {promise for promise, status in check(*args, **kwargs).items() if status == "broken"}

    return broken


def rewrite(place, edit):
    """Write the released table again after an edit, as an intruder with an editor would."""
    path = place / "release" / "public" / "table.csv"
    schema = pa.ipc.read_schema(
        pa.BufferReader((place / "release" / "internal" / "schema.arrow").read_bytes())
    )
    write_table(edit(read_table(path, schema=schema)), path)


def with_cells(name, change):
    def edit(table):
        cells = table[name].to_pylist()
        change(cells)
        column = pa.array(cells, table.schema.field(name).type)
        return table.set_column(table.column_names.index(name), name, column)

    return edit


def test_an_untouched_release_is_verified_throughout(place, check):
    found = check(place)
    assert set(found.values()) == {"verified", "weak"}
    weak = {f"classes of region, age, sex give '{name}' away" for name in ("income", "assets")}
    weak |= {"records are unique on region, age, sex together"}
    assert {promise for promise, status in found.items() if status == "weak"} == weak
    assert set(found) - weak == {
        IDENTIFIERS, ROLES, TOP, K, K.replace("income", "assets"), MANIFEST, FILE, PROOF, ROWS,
        FIGURES, INPUT, CELLS, OTHERS, HOUSEHOLDS, LEAKS, ORDER,
    }  # fmt: skip


def test_without_evidence_what_needs_it_is_not_verifiable(place, check):
    alone = check(place, internal=False, original=False)
    assert {promise for promise, status in alone.items() if status == "verified"} == {
        IDENTIFIERS, ROLES, TOP, K, K.replace("income", "assets"),
    }  # fmt: skip
    assert {p for p, s in alone.items() if s == "not verifiable"} == {
        MANIFEST, FILE, PROOF, FIGURES, INPUT, CELLS, OTHERS, LEAKS,
    }  # fmt: skip
    some = check(place, original=False)
    assert {p for p, s in some.items() if s == "not verifiable"} == {INPUT, CELLS, OTHERS, LEAKS}


def swap_two_incomes(cells):
    """Exchange two different released values: every count stays as it was."""
    first = next(i for i, c in enumerate(cells) if c is not None)
    other = next(i for i, c in enumerate(cells) if c not in (None, cells[first]))
    cells[first], cells[other] = cells[other], cells[first]


def test_a_value_changed(place, broken):
    rewrite(place, with_cells("income", swap_two_incomes))
    assert broken(place, internal=False, original=False) == set()
    assert broken(place, original=False) == {FILE}
    assert broken(place) == {FILE, CELLS}


def test_an_untouched_column_changed(place, broken):
    rewrite(place, with_cells("sex", lambda cells: cells.__setitem__(3, "other")))
    assert broken(place, original=False) == {FILE}
    assert broken(place) == {FILE, OTHERS}


def test_a_null_filled_in(place, broken):
    def fill(cells):
        cells[cells.index(None)] = next(c for c in cells if c is not None)

    rewrite(place, with_cells("income", fill))
    assert broken(place, original=False) == {FILE, FIGURES}
    assert broken(place) == {FILE, FIGURES, CELLS}


def test_a_row_added(place, broken):
    rewrite(place, lambda table: pa.concat_tables([table, table.slice(0, 1)]))
    assert broken(place, internal=False, original=False) == set()
    assert broken(place, original=False) >= {FILE, ROWS}
    assert broken(place) >= {FILE, ROWS, CELLS, OTHERS}


def test_a_row_removed(place, broken):
    rewrite(place, lambda table: table.slice(1))
    assert broken(place, original=False) >= {FILE, ROWS}


def test_a_point_with_fewer_than_k_records(place, broken):
    def thin_out(cells):
        counts = {c: cells.count(c) for c in cells if c is not None}
        rare = min(counts, key=counts.get)
        other = next(c for c in counts if c != rare)
        for _ in range(counts[rare] - 4):
            cells[cells.index(rare)] = other

    rewrite(place, with_cells("income", thin_out))
    assert broken(place, internal=False, original=False) == {K}
    assert broken(place, original=False) == {K, FILE, FIGURES}


def test_a_value_beyond_the_bound(place, broken):
    rewrite(place, with_cells("age", lambda cells: cells.__setitem__(0, 104)))
    assert broken(place, internal=False, original=False) == {TOP}


def test_an_identifier_left_in(place, broken):
    rewrite(place, lambda table: table.append_column("name", pa.array(["x"] * len(table))))
    assert broken(place, internal=False, original=False) == {IDENTIFIERS}


def test_a_column_without_a_role_and_a_column_lost(place, broken):
    rewrite(place, lambda table: table.append_column("shoe", pa.array([1] * len(table))))
    assert broken(place, internal=False, original=False) == {ROLES}
    rewrite(place, lambda table: table.drop_columns(["shoe", "sex"]))
    assert broken(place, internal=False, original=False) == {ROLES}


@pytest.mark.parametrize("figure", ["cuts", "points", "counts"])
def test_a_plan_edited(place, figure, broken):
    path = place / "release" / "internal" / "plan.json"
    plan = json.loads(path.read_text())
    plan["steps"][1]["columns"]["income"][figure][0] += 1
    path.write_text(json.dumps(plan))
    assert broken(place, internal=False, original=False) == set()
    assert PROOF in broken(place, original=False)
    assert (FIGURES in broken(place, original=False)) == (figure != "cuts")


def test_a_plan_edited_together_with_its_hash(place, broken):
    """Whoever has the key can forge a manifest, but not the original."""
    from discreet.check.manifest import Seal

    internal = place / "release" / "internal"
    plan = json.loads((internal / "plan.json").read_text())
    points = plan["steps"][1]["columns"]["income"]["points"]
    points[1], points[2] = points[2], points[1]
    counts = plan["steps"][1]["columns"]["income"]["counts"]
    counts[1], counts[2] = counts[2], counts[1]
    (internal / "plan.json").write_text(json.dumps(plan))
    log = json.loads((internal / "log.json").read_text())
    Seal.of().put(place / "release", log["release"])
    assert broken(place, original=False) == set()
    assert broken(place) == {CELLS}


def test_a_row_map_edited(place, broken):
    path = place / "release" / "internal" / "rows.parquet"
    rows = parquet.read_table(path)["original_row"].to_numpy()
    parquet.write_table(pa.table({"original_row": np.roll(rows, 1)}), path)
    assert broken(place, original=False) == {PROOF, ORDER}
    assert broken(place) >= {PROOF, CELLS, OTHERS, HOUSEHOLDS}


def test_a_recipe_edited(place, broken):
    path = place / "release" / "internal" / "recipe.toml"
    path.write_text(path.read_text().replace("k = 5", "k = 4"))
    assert broken(place, original=False) == {PROOF, FIGURES}


def test_another_recipe_is_not_taken_for_the_one_that_was_used(place, recipe_text, checked):
    folder = place / "release"
    weak = Recipe.from_toml(recipe_text.replace("k = 5", "k = 2"))
    report = checked(folder / "public" / "table.csv", weak, folder / "internal")
    assert [f.detail for f in report.having("broken")] == [
        "the recipe that it is checked by is another",
        "the plan's k in column 'income' is 5, the recipe's 2",
    ]


@pytest.mark.parametrize("name", ["schema.arrow", "check.json", "assessment.json", "README.txt"])
def test_any_kept_file_edited(place, name, broken):
    path = place / "release" / "internal" / name
    if name == "schema.arrow":
        schema = pa.ipc.read_schema(pa.BufferReader(path.read_bytes()))
        position = schema.names.index("age")
        path.write_bytes(
            schema.set(position, pa.field("age", pa.float64())).serialize().to_pybytes()
        )
    else:
        path.write_bytes(path.read_bytes() + b"\n")
    assert broken(place, original=False) == {PROOF}


@pytest.mark.parametrize("name", ["names.csv", "codebook.md"])
def test_a_file_added_or_edited_in_public(place, name, broken):
    (place / "release" / "public" / name).write_text("Ann, Bob")
    assert broken(place, original=False) == {FILE}


@pytest.mark.parametrize(
    ("name", "content"),
    [("log.json", "{}"), ("log.json", "[]"), ("plan.json", "{}"), ("plan.json", "[]"),
     ("plan.json", '{"steps": [{}]}'), ("rows.parquet", ""), ("recipe.toml", "x = 1")],
)  # fmt: skip
def test_internal_files_that_make_no_sense(place, name, content, check):
    (place / "release" / "internal" / name).write_text(content)
    with pytest.raises(BadInput, match=r"is not the internal folder of a release|unknown key"):
        check(place)


@pytest.mark.parametrize(
    "edit",
    [lambda plan: plan.pop("points"), lambda plan: plan["points"].pop(), lambda plan: plan.update(points=["a"])],
)  # fmt: skip
def test_a_plan_that_cannot_be_applied(place, edit, broken):
    path = place / "release" / "internal" / "plan.json"
    plan = json.loads(path.read_text())
    edit(plan["steps"][1]["columns"]["income"])
    path.write_text(json.dumps(plan))
    assert broken(place) >= {PROOF, FIGURES, CELLS}


def test_a_plan_without_its_steps(households, recipe_text):
    from discreet.check.evidence import Evidence

    release = protect(households, Recipe.from_toml(recipe_text))
    evidence = Evidence({"steps": []}, release.log, release.recipe)
    report = check_release(release.table, release.recipe, evidence, households)
    assert {f.promise for f in report.having("broken")} >= {FIGURES, OTHERS}


def test_a_row_map_that_loses_a_row(place, broken):
    path = place / "release" / "internal" / "rows.parquet"
    rows = parquet.read_table(path)["original_row"].to_numpy().copy()
    rows[0] = rows[1]
    parquet.write_table(pa.table({"original_row": rows}), path)
    assert broken(place) >= {PROOF, CELLS, OTHERS}


def test_another_original(place, broken):
    rows = (place / "original.csv").read_text().splitlines()
    (place / "original.csv").write_text("\n".join([rows[0], *rows[:0:-1]]) + "\n")
    assert INPUT in broken(place)


def test_households_joined(place, broken):
    rewrite(place, with_cells("household_id", lambda cells: cells.__setitem__(0, cells[-1])))
    assert broken(place) >= {HOUSEHOLDS}


def test_the_note_counts_unique_records(place):
    folder = place / "release"
    table = read_table(folder / "public" / "table.csv")
    rows = list(zip(*(table[c].to_pylist() for c in ("region", "age", "sex")), strict=True))
    unique = sum(rows.count(row) == 1 for row in rows)
    report = check_release(table, folder / "internal" / "recipe.toml")
    assert report.notes[0].startswith(f"{unique} of 500 records are still unique")


def test_tables_in_memory_shuffled_or_not(pristine, households, recipe_text):
    """Without the seed in the recipe at hand: the internal folder has it."""
    folder = pristine / "release"
    recipe = Recipe.from_toml(recipe_text)
    shuffled = read_table(folder / "public" / "table.csv")
    rows = parquet.read_table(folder / "internal" / "rows.parquet")["original_row"].to_numpy()
    in_order = shuffled.take(pa.array(np.argsort(rows)))
    for table in (shuffled, in_order, in_order.to_pandas()):
        report = check_release(table, recipe, folder / "internal", pristine / "original.csv")
        assert report.ok
        assert [f.promise for f in report.having("not verifiable")] == [FILE]


def test_random_draws_are_replayed_from_the_seed_in_internal(tmp_path):
    table = pa.table({"x": np.arange(50)})
    step = {"method": "oma", "columns": ["x"], "k": 5, "encoding": "stochastic"}
    recipe = {"roles": {"confidential": ["x"]}, "steps": [step]}
    release = protect(table, recipe)
    release.save(tmp_path / "out")
    assert check_release(release.table, recipe, tmp_path / "out" / "internal", table).ok


@pytest.mark.parametrize("encoding", ["group", "nearest", "stochastic"])
@pytest.mark.parametrize("keep_ties", [True, False])
def test_every_encoding_can_be_replayed(encoding, keep_ties):
    cells = [*np.random.default_rng(0).integers(0, 40, 300).tolist(), None, None]
    step = {"method": "oma", "columns": ["x"], "k": 7, "encoding": encoding, "keep_ties": keep_ties}
    recipe = {"roles": {"confidential": ["x"]}, "steps": [step]}
    report = protect(pa.table({"x": cells}), recipe).check
    assert report.ok
    assert not report.having("not verifiable")
