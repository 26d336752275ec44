"""What gives a treated column away: the attack, and the check that refuses it."""

import re
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

import discreet
from discreet.check import leaks
from discreet.engines.memory import MemoryFrame
from discreet.errors import BrokenPromise
from discreet.recipe.given import as_recipe

N = 3000


def people(seed=1):
    """Persons in households of one to five, neighbours in the table."""
    draw = np.random.default_rng(seed)
    sizes = draw.integers(1, 6, N)
    home = np.repeat(np.arange(N), sizes)[:N]
    size = np.bincount(home)[home]
    region = draw.integers(0, 9, N)[home]
    income = np.round(draw.lognormal(9, 1, N), 2)
    return pa.table(
        {
            "home": home,
            "size": size,
            "region": [f"R{r}" for r in region],
            "weight": 100.5 + region * 8 + draw.integers(0, 8, N),
            "sex": draw.choice(["f", "m"], N),
            "age": draw.integers(0, 90, N),
            "income": income,
            "monthly": np.round(income / 12, 3),
        }
    )


REGIONS = {f"{a}{b}{c}": [f"R{a}", f"R{b}", f"R{c}"] for a, b, c in ("012", "345", "678")}
COARSE = {"kind": "groups", "tree": REGIONS}


def generalized(*names, **more):
    kinds = {
        "region": COARSE,
        "size": {"kind": "intervals", "widths": [3]},
        "age": {"kind": "intervals", "widths": [10, 30]},
        "weight": {"kind": "intervals", "widths": [24]},
    }
    return {
        "method": "generalize",
        "columns": list(names),
        "privacy": [{"model": "k-anonymity", "k": 5}],
        "hierarchies": {name: kinds[name] for name in names},
        "levels": {name: [len(kinds[name].get("widths", [1]))] * 2 for name in names},
        **more,
    }


def recipe(quasi, steps, *others, **more):
    roles = {"quasi": quasi, "insensitive": list(others), "rest": "drop"}
    return {"roles": roles | more.pop("roles", {}), "steps": steps, **more}


def of_leaks(report):
    return [f for f in report.findings if f.promise.startswith("nothing released gives")]


def refused(table, rules):
    """Return what the check says of a recipe, which protect refuses."""
    with pytest.raises(BrokenPromise) as error:
        discreet.protect(table, rules)
    return [line for line in str(error.value).splitlines() if "broken" in line]


def test_a_weight_gives_the_region_back():
    table = people()
    rules = recipe(["region"], [generalized("region")], "weight", "sex")
    release = discreet.protect(table, rules | {"allow_leaks": ["region"]})
    # The attack: whoever knows how weights were made inverts them.
    weights = dict(zip(table["weight"].to_pylist(), table["region"].to_pylist(), strict=True))
    guessed = [weights[w] for w in release.table["weight"].to_pylist()]
    assert guessed == table["region"].to_pylist()
    assert set(release.table["region"].to_pylist()) == set(REGIONS)
    said = (
        "'weight' tells the original value of 3,000 of 3,000 records; drop or round it, generalize "
        "it together with 'region', or accept it with allow_leaks = ['region']"
    )
    assert refused(table, rules) == [f"  broken: nothing released gives 'region' away ({said})"]
    # What is accepted is told all the same.
    found = of_leaks(release.check)
    assert [f.status for f in found] == ["verified", "verified"]
    assert found[0].detail.startswith("accepted by allow_leaks: 'weight' tells the original value")


def suppressed(names):
    """Keep regions as they are; who is in a small class has stars."""
    few = generalized(*names, suppression_limit=0.2, privacy=[{"model": "k-anonymity", "k": 30}])
    return few | {"levels": {name: [0, 0] if name == "region" else [1, 1] for name in names}}


def test_records_that_show_the_region_tell_it_of_those_that_hide_it():
    table = people()
    # Strata within regions: hardly two of those who hide their region are in the same.
    draw = np.random.default_rng(5)
    strata = [100 * int(r[1]) + s for r, s in zip(
        table["region"].to_pylist(), draw.integers(0, 60, N), strict=True)]  # fmt: skip
    table = table.set_column(3, "weight", pa.array(strata))
    rules = recipe(["region", "age"], [suppressed(["region", "age"])], "weight", "sex")
    release = discreet.protect(table, rules | {"allow_leaks": ["region"]})
    # The attack: whoever reads the table learns which region a weight belongs to.
    seen = list(zip(*(release.table[c].to_pylist() for c in ("weight", "region")), strict=True))
    region_of = {weight: region for weight, region in seen if region != "*"}
    hidden = [row for row, (_, region) in enumerate(seen) if region == "*"]
    assert 50 < len(hidden) < 600
    found = [row for row in hidden if region_of.get(seen[row][0]) == table["region"][row].as_py()]
    assert len(found) > 0.95 * len(hidden)
    # A stratum of which only one record shows the region is no evidence.
    (said,) = refused(table, rules)
    told = re.search(r"'weight' tells the original value of (\d+) of (\d+) records", said)
    assert 0.85 * len(found) < int(told[1]) <= len(found)
    assert int(told[2]) == len(hidden)


def test_records_that_show_the_region_teach_two_columns_together():
    table = people()
    draw = np.random.default_rng(5)
    number = np.array([int(r[1]) for r in table["region"].to_pylist()])
    key = draw.integers(0, 150, N)
    table = table.append_column("one", pa.array(key)).append_column(
        "two", pa.array((number + key) % 9)
    )
    rules = recipe(["region", "age"], [suppressed(["region", "age"])], "one", "two", "sex")
    (said,) = refused(table, rules)
    assert "('one' and 'two' together tell the original value of" in said
    # One of them says nothing, and neither do values that are dealt anew.
    for name in ("one", "two"):
        rules = recipe(["region", "age"], [suppressed(["region", "age"])], name, "sex")
        assert of_leaks(discreet.protect(table, rules).check)[0].status == "verified"
    table = table.set_column(table.num_columns - 1, "two", pa.array(draw.permutation(key)))
    rules = recipe(["region", "age"], [suppressed(["region", "age"])], "one", "two", "sex")
    assert of_leaks(discreet.protect(table, rules).check)[0].status == "verified"


@pytest.mark.parametrize("kind", ["numbers", "dates"])
@pytest.mark.parametrize("hides", ["all", "some"])
def test_ranges_of_what_never_repeats_tell_the_region(kind, hides):
    table = people()
    number = np.array([int(r[1]) for r in table["region"].to_pylist()])
    draw = np.random.default_rng(5)
    # A latitude, or the time of an interview: each record has its own, and each region its range.
    place = number * N + draw.permutation(N)
    own = pa.array(place / 7 if kind == "numbers" else place.astype("M8[s]"))
    step = generalized("region") if hides == "all" else suppressed(["region", "age"])
    quasi = step["columns"]
    table = table.append_column("own", own)
    (said,) = refused(table, recipe(quasi, [step], "own", "sex"))
    told = re.search(r"'own' tells the original value of ([\d,]+) of ([\d,]+) records", said)
    shares = [int(one.replace(",", "")) for one in told.groups()]
    assert shares[0] > 0.9 * shares[1]
    # Dealt anew, it says nothing.
    table = table.set_column(table.num_columns - 1, "own", own.take(pa.array(draw.permutation(N))))
    release = discreet.protect(table, recipe(quasi, [step], "own", "sex"))
    assert of_leaks(release.check)[0].status == "verified"


def test_what_tells_the_group_of_blanked_cells_is_found():
    table = people()
    draw = np.random.default_rng(5)
    age = table["age"].to_numpy()
    # The original ages stay unknown; but the groups that were blanked are all told.
    table = table.append_column("school", pa.array([f"S{a // 10}" for a in age]))
    table = table.append_column("job", pa.array(draw.choice(40, N, p=np.arange(1, 41) / 820)))
    coarse = {"method": "generalize", "columns": ["age"], "levels": {"age": 1}}
    coarse |= {"hierarchies": {"age": {"kind": "intervals", "widths": [10]}}}
    blanks = {"method": "local-suppression", "columns": ["age", "job"], "k": 5}
    rules = recipe(["age", "job"], [coarse, blanks], "school", "sex")
    (said,) = refused(table, rules)
    told = re.search(r"'school' tells the group that was blanked of (\d+) of (\d+) records", said)
    assert 50 < int(told[1]) == int(told[2]) < 600
    # Groups that cut across say nothing.
    other = recipe(["age", "job"], [coarse, blanks], "size", "sex")
    assert of_leaks(discreet.protect(table, other).check)[0].status == "verified"


def test_a_weight_that_is_generalized_with_the_region_is_no_leak():
    table = people()
    rules = recipe(["region", "weight"], [generalized("region", "weight")], "sex")
    (found,) = of_leaks(discreet.protect(table, rules).check)
    assert found.status == "verified"
    assert "columns and pairs of columns searched for each of 2 treated columns" in found.detail


def test_rows_per_household_give_its_size_back():
    table = people()
    roles = {"household": "home"}
    rules = recipe(["size"], [generalized("size")], "sex", roles=roles, counts="rows")
    release = discreet.protect(table, rules | {"allow_leaks": ["size"]})
    # The attack: count the rows of each household.
    rows = Counter(release.table["home"].to_pylist())
    counted = [rows[home] for home in release.table["home"].to_pylist()]
    assert counted == table["size"].to_pylist()
    (said,) = refused(table, rules)
    assert "the number of rows per 'home' tells the original value of" in said
    assert "release_household = false" in said
    hidden = _without(rules, "sex")
    del hidden["roles"]["household"]
    assert discreet.protect(table, hidden).check.verified


def test_what_all_members_share_shows_who_lives_together():
    table = people()
    home = table["home"].to_numpy()
    rent = np.round(np.random.default_rng(5).lognormal(7, 1, N), 2)[home]
    table = table.append_column("rent", pa.array(rent))
    steps = [generalized("region", "size"), {"method": "oma", "columns": ["rent"], "k": 5}]
    roles = {"household": "home", "release_household": False, "confidential": ["rent"]}
    release = discreet.protect(table, recipe(["region", "size"], steps, "sex", roles=roles))
    # The attack: rows with the same region, size and rent are a family.
    shown = zip(
        *(release.table[name].to_pylist() for name in ("region", "size", "rent")), strict=True
    )
    homes: dict[tuple, list] = {}
    for key, own in zip(shown, home.tolist(), strict=True):
        homes.setdefault(key, []).append(own)
    together = sum(len(own) for own in homes.values() if len(own) > 1 and len(set(own)) == 1)
    assert together > N / 4
    (weak,) = [one for one in release.check.findings if one.promise.endswith("who lives together")]
    assert (weak.promise, weak.status) == ("size, region, rent show who lives together", "weak")
    assert weak.detail.startswith(f"{together:,} of 3,000 records")
    # Without it, at least five households share what is left.
    without = recipe(["region", "size"], steps[:1], "sex", roles={**roles, "confidential": []})
    assert discreet.protect(table, without).check.verified


def test_whoever_has_no_household_may_be_one_of_any():
    """Three records share a rent; one of them is known to be of no household."""
    table = pa.table(
        {
            "home": [1, 1, None, 2, 2, 2, 3, 3],
            "rent": [5, 5, 5, 7, 7, 7, 9, 9],
            "income": [10.0, 20, 30, 40, 50, 60, 70, 80],
        }
    )
    roles = {"household": "home", "release_household": False, "confidential": ["income"]}
    noise = {"method": "noise", "columns": ["income"], "scale": 0.3}
    rules = recipe([], [noise], "rent", roles=roles, counts="rows", allow_leaks=["income"])
    found = discreet.protect(table, rules).check.findings
    (weak,) = [one for one in found if "who lives together" in one.promise]
    assert weak.detail.startswith("5 of 8 records share these values with their own household")


def test_one_household_that_shares_nothing_is_shown_by_nothing():
    drawn = np.random.default_rng(0).normal(1000, 200, 60).round()
    table = pa.table({"home": [1] * 60, "income": drawn})
    roles = {"household": "home", "release_household": False, "confidential": ["income"]}
    noise = {"method": "noise", "columns": ["income"], "scale": 0.3}
    release = discreet.protect(table, {"counts": "rows", "roles": roles, "steps": [noise]})
    assert not [one for one in release.check.findings if "lives together" in one.promise]


@pytest.mark.parametrize("step", [{"method": "oma", "k": 5}, {"method": "noise", "scale": 0.2}])
def test_a_column_that_sorts_amounts_gives_them_away(step):
    table = people()
    rules = recipe([], [step | {"columns": ["income"]}], "monthly", "age", "sex")
    rules["roles"]["confidential"] = ["income"]
    (said,) = refused(table, rules)
    assert "'monthly' sorts the original values of" in said
    assert discreet.protect(
        table.drop_columns("monthly"), _without(rules, "monthly")
    ).check.verified


def _without(rules, name):
    others = [n for n in rules["roles"]["insensitive"] if n != name]
    return rules | {"roles": rules["roles"] | {"insensitive": others}}


def test_two_columns_together_give_a_third_away():
    draw = np.random.default_rng(2)
    a, b, c = draw.integers(0, 6, (3, N))
    table = pa.table({"age": (a + b) % 6 * 10, "a": a, "b": b, "c": c})
    (said,) = refused(table, recipe(["age"], [generalized("age")], "a", "b", "c"))
    assert "'a' and 'b' together tell the original value of 3,000 of 3,000 records" in said
    assert discreet.protect(table, recipe(["age"], [generalized("age")], "a", "c")).check.verified


def test_a_member_shows_what_another_hides():
    table = people()
    rules = recipe(["region"], [generalized("region")], "sex", roles={"household": "home"})
    region = np.array(table["region"].to_pylist(), object)
    region[::7] = "*"
    release = table.set_column(2, "region", pa.array(region)).select(["home", "region", "sex"])
    frames = MemoryFrame(release), MemoryFrame(table)
    # The attack: look for somebody of the same household.
    shown = {h: r for h, r in zip(table["home"].to_pylist(), region, strict=True) if r != "*"}
    hidden = [h for h, r in zip(table["home"].to_pylist(), region, strict=True) if r == "*"]
    given_away = sum(home in shown for home in hidden)
    (found,), _ = leaks.leaks(*frames, as_recipe(rules), np.empty(0, np.int64))
    assert found.status == "broken"
    assert f"show the original value of {given_away:,} of 3,000 records" in found.detail
    # Who has lost the number of the household is not given away.
    unlinked = pa.array(table["home"].to_pylist(), mask=region == "*")
    release = release.set_column(0, "home", unlinked)
    (found,), _ = leaks.leaks(
        MemoryFrame(release), frames[1], as_recipe(rules), np.empty(0, np.int64)
    )
    assert found.status == "verified"


def test_that_children_earn_nothing_is_a_note():
    draw = np.random.default_rng(4)
    ages = draw.integers(0, 80, N)
    income = np.where(ages < 16, 0, draw.lognormal(8, 1, N).round())
    table = pa.table({"income": income, "age": ages // 8 * 8})
    steps = [{"method": "noise", "columns": ["income"], "scale": 0.5}]
    rules = recipe([], steps, "age", roles={"confidential": ["income"]})
    found = discreet.protect(table, rules).check
    assert found.verified
    assert any(note.startswith("'age' tells that 'income' was 0 for ") for note in found.notes)


def test_what_narrows_values_down_is_a_note():
    table = people()
    fives = pa.array(table["age"].to_numpy() // 5)
    rules = recipe(["age"], [generalized("age")], "fives", "sex")
    report = discreet.protect(table.append_column("fives", fives), rules).check
    assert report.verified
    assert (
        "'fives' narrows the original values of 'age' down for 3,000 of 3,000 records"
        in report.notes
    )


def test_independent_columns_give_nothing_away():
    draw = np.random.default_rng(3)
    names = [f"c{i}" for i in range(12)]
    table = pa.table(
        {"age": draw.integers(0, 90, N), "income": draw.lognormal(9, 1, N)}
        | {name: (draw.random(N) ** i * 3**i).astype(int) for i, name in enumerate(names)}
    )
    steps = [generalized("age"), {"method": "oma", "columns": ["income"], "k": 3}]
    rules = recipe(["age"], steps, *names)
    rules["roles"]["confidential"] = ["income"]
    (found,) = of_leaks(discreet.protect(table, rules).check)
    assert found.detail == (
        "105 columns and pairs of columns searched for each of 2 treated columns"
    )


@pytest.mark.parametrize("most", [1_000_000, 1500])
def test_every_engine_finds_the_same(most, tmp_path, checked, monkeypatch):
    monkeypatch.setattr(leaks, "MOST_ROWS", most)
    table = people()
    rules = recipe(
        ["region", "age"],
        [generalized("age"), generalized("region")],
        "weight",
        "sex",
        roles={"household": "home"},
        allow_leaks=["region"],
    )
    discreet.write_table(table, tmp_path / "in.parquet")
    release = discreet.protect(table, rules)
    release.save(tmp_path / "out")
    internal = tmp_path / "out" / "internal"
    public = next((tmp_path / "out" / "public").glob("*.csv"))
    given = public, internal / "recipe.toml", internal, tmp_path / "in.parquet"
    if most > N:
        found = of_leaks(checked(*given))
        assert "3,000 of 3,000 records" in found[0].detail
    else:
        # On an engine some of the rows stand for all; households stay whole.
        found = of_leaks(discreet.check_release(*given, engine="duckdb"))
        assert "'weight' tells the original value of 1," in found[0].detail
        assert found[-1].detail.endswith(" of the rows")
    assert [f.status for f in found] == ["verified"] * len(found)


@pytest.mark.parametrize("role", ["quasi", "insensitive"])
def test_what_tells_a_column_that_is_apart_is_found(role):
    """Over all groups of anatomy, each code goes with one disease alone."""
    rng = np.random.default_rng(3)
    code = rng.permutation(np.arange(90) % 5)
    table = pa.table({"age": rng.integers(18, 90, 90), "code": code, "ill": code.astype(str)})
    quasi = ["age", "code"] if role == "quasi" else ["age"]
    recipe = {
        "roles": {"quasi": quasi, "confidential": ["ill"], "rest": "insensitive"},
        "steps": [{"method": "anatomy", "columns": quasi, "confidential": ["ill"], "l": 3}],
    }
    with pytest.raises(BrokenPromise, match="'code' tells the original value of 90 of 90 records"):
        discreet.protect(table, recipe)
    assert discreet.protect(table, recipe | {"allow_leaks": ["ill"]}).check.verified
    # Codes of other records tell nothing.
    table = table.set_column(1, "code", pa.array(rng.permutation(code)))
    assert discreet.protect(table, recipe).check.verified
