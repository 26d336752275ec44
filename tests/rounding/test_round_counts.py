"""Counts and estimates rounded by published rules: known answers, a brute force, the release."""

import datetime as dt
from decimal import ROUND_HALF_EVEN, Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet
from discreet.check.check import check_release
from discreet.check.evidence import Evidence
from discreet.errors import BadInput
from discreet.rounding import RoundCounts

COUNT_RULES = ["census-drb", "acro", "cms", "uk-llc"]
HIDES = {
    "census-drb": set(range(15)),
    "acro": set(range(10)),
    "cms": set(range(1, 11)),
    "uk-llc": set(range(10)),
}


def rounded(rule, values):
    return RoundCounts(rule).fit_transform(np.reshape(values, (-1, 1)).astype(float)).ravel()


def multiples_near(n, base):
    """The nearest multiples of a base, one or two of them, by looking at both sides."""
    below = n - n % base
    far = {m: abs(n - m) for m in (below, below + base)}
    return [m for m in far if far[m] == min(far.values())]


def by_hand(n):
    """The Disclosure Review Board's rule, digit by digit."""
    if n < 15:
        return None
    digits = len(str(n))
    base = {2: 10, 3: 50, 4: 100, 5: 500, 6: 1000}.get(digits, 10 ** (digits - 4))
    near = multiples_near(n, base)
    return near[0] if len(near) == 1 else next(m for m in near if m // base % 2 == 0)


# From the text of the rule, band by band: its ends, and halves on both sides of an even multiple.
@pytest.mark.parametrize(
    ("count", "released"),
    [
        (0, None), (14, None), (15, 20), (24, 20), (25, 20), (26, 30), (35, 40), (95, 100), (99, 100),
        (100, 100), (124, 100), (125, 100), (126, 150), (175, 200), (974, 950), (975, 1000), (999, 1000),
        (1_000, 1_000), (1_050, 1_000), (1_150, 1_200), (9_949, 9_900), (9_950, 10_000), (9_999, 10_000),
        (10_250, 10_000), (10_251, 10_500), (10_750, 11_000), (99_749, 99_500), (99_750, 100_000),
        (100_500, 100_000), (101_500, 102_000), (999_499, 999_000), (999_500, 1_000_000),
        (1_000_500, 1_000_000), (1_001_500, 1_002_000), (1_234_567, 1_235_000), (9_999_500, 10_000_000),
        (1_234_500_000_000_000, 1_234_000_000_000_000), (1_234_500_000_000_001, 1_235_000_000_000_000),
        (9_007_199_254_740_991, 9_007_000_000_000_000),
    ],
)  # fmt: skip
def test_counts_of_the_disclosure_review_board(count, released):
    (found,) = rounded("census-drb", [count])
    assert np.isnan(found) if released is None else found == released


@pytest.mark.parametrize(
    ("estimate", "released"),
    [
        ("0", "0"), ("1.234", "1.234"), ("1.2345", "1.234"), ("1.2355", "1.236"), ("1.0005", "1"),
        ("1.0015", "1.002"), ("-1.2345", "-1.234"), ("0.00012345", "0.0001234"), ("99995", "100000"),
        ("0.99995", "1"), ("123456.789", "123500"), ("2.71828182846", "2.718"), ("1e-320", "1e-320"),
        ("1.23456e300", "1.235e300"), ("1.0005000000000002", "1.001"), ("1.0004999999999997", "1"),
    ],
)  # fmt: skip
def test_estimates_have_four_significant_digits(estimate, released):
    (found,) = rounded("census-drb-estimates", [float(estimate)])
    assert found == float(released)


@given(st.lists(st.integers(0, 2_000_000) | st.integers(0, 2**53), min_size=1, max_size=50))
def test_counts_are_those_of_a_rounding_by_hand(counts):
    found = [None if np.isnan(x) else int(x) for x in rounded("census-drb", counts)]
    assert found == [by_hand(n) for n in counts]


def test_every_count_below_a_hundred_thousand():
    counts = np.arange(100_000)
    found = rounded("census-drb", counts)
    assert np.isnan(found[:15]).all()
    assert found[15:].tolist() == [by_hand(n) for n in range(15, 100_000)]


@given(
    st.lists(
        st.floats(allow_nan=False, allow_infinity=False)
        | st.decimals(-10_000, 10_000, places=5, allow_nan=False).map(float),
        min_size=1,
        max_size=30,
    )
)
def test_estimates_are_those_of_decimal_arithmetic(estimates):
    for x, found in zip(estimates, rounded("census-drb-estimates", estimates), strict=True):
        written = Decimal(repr(x))
        if x == 0:
            assert found == 0
            continue
        last = Decimal(1).scaleb(written.adjusted() - 3)
        assert found == float(written.quantize(last, ROUND_HALF_EVEN))
        far = abs(Fraction(written) - Fraction(Decimal(repr(float(found)))))
        assert far <= Fraction(last) / 2


@pytest.mark.parametrize("rule", COUNT_RULES)
def test_a_rule_hides_what_it_says_and_nothing_else(rule):
    found = rounded(rule, np.arange(200))
    assert set(np.flatnonzero(np.isnan(found)).tolist()) == HIDES[rule]
    if rule != "census-drb":
        shown = ~np.isnan(found)
        np.testing.assert_array_equal(found[shown], np.arange(200)[shown])


@given(
    st.sampled_from(COUNT_RULES), st.lists(st.integers(0, 10**7) | st.none(), min_size=1, max_size=50)
)  # fmt: skip
@pytest.mark.filterwarnings("ignore:.*nulls of its own:UserWarning")
def test_what_was_rounded_stays_and_nulls_stay(rule, counts):
    x = np.array([np.nan if n is None else n for n in counts])
    if np.isnan(x).all():
        return
    once = rounded(rule, x)
    assert np.isnan(once[np.isnan(x)]).all()
    shown = once[~np.isnan(once)]
    if len(shown):
        np.testing.assert_array_equal(rounded(rule, shown), shown)


def test_order_is_kept():
    counts = np.sort(np.random.default_rng(0).integers(15, 10**8, 10_000))
    assert (np.diff(rounded("census-drb", counts)) >= 0).all()


def test_a_rule_for_each_column_and_new_rows():
    table = pa.table({"n": [5, 25, 400], "mean": [1.23456, 2.0, 98.7654]})
    method = RoundCounts({"n": "cms", "mean": "census-drb-estimates"}).fit(table)
    assert method.plan_["n"] == {"kind": "counts", "rule": "cms", "hidden": 1}
    new = method.transform(pa.table({"n": [0, 11, 10], "mean": [0.0, 1.0, 12345.6]}))
    np.testing.assert_array_equal(new, [[0, 0], [11, 1], [np.nan, 12350]])


# The release


def recipe(rule="census-drb", columns=("n",), **step):
    return {
        "roles": {"rest": "insensitive"},
        "steps": [{"method": "round-counts", "columns": [*columns], "rule": rule, **step}],
    }


@pytest.mark.parametrize(
    "kind", [pa.int16(), pa.int64(), pa.float32(), pa.float64(), pa.decimal128(9, 2)]
)
def test_a_released_table_keeps_its_type_and_is_verified(kind):  # fmt: skip
    counts = pa.array([0, 14, 15, 25, 975, 12_345, None], pa.int64()).cast(pa.float64())
    table = pa.table({"n": counts.cast(kind)})
    release = discreet.protect(table, recipe())
    assert release.table["n"].type == kind
    assert release.table["n"].cast(pa.float64()).to_pylist() == [
        None,
        None,
        20,
        20,
        1000,
        12_500,
        None,
    ]
    assert release.check.verified
    assert "column 'n' has nulls of its own (1), which the release does not tell apart from small counts (2)" in str(release.log["warnings"])  # fmt: skip


@pytest.mark.parametrize("kind", [pa.float32(), pa.float64()])
def test_released_estimates_are_verified_in_their_own_type(kind):
    values = np.random.default_rng(2).lognormal(3, 4, 500)
    table = pa.table({"n": pa.array(values).cast(kind)})
    assert discreet.protect(table, recipe("census-drb-estimates")).check.verified


def test_the_check_finds_what_the_rule_would_not_let_out():
    table = pa.table({"n": [3, 20, 150, 2_000, 31_499]})
    release = discreet.protect(table, recipe())
    for cell, said in [(7, "7 is shown, which the rule hides"), (23, "23 is shown, which the rule rounds to 20")]:  # fmt: skip
        wrong = release.table.set_column(0, "n", pa.array([None, cell, 150, 2_000, 31_500]))
        report = check_release(wrong, release.recipe)
        assert not report.ok
        assert said in str(report)


def test_a_plan_by_another_rule_is_not_what_was_asked():
    release = discreet.protect(pa.table({"n": [3, 20, 150]}), recipe("cms"))
    release.plan["steps"][0]["columns"]["n"]["rule"] = "acro"
    evidence = Evidence(release.plan, release.log, release.recipe)
    report = check_release(release.table, release.recipe, evidence)
    assert "the plan's rule in column 'n' is acro, the recipe's cms" in str(report)


@pytest.mark.parametrize(
    ("cells", "step", "message"),
    [
        ([1.5, 2], {}, "step 1 (round-counts): column 'n' holds 1.5, which is not a count; leave the column out, or round it with rule = \"census-drb-estimates\""),
        ([-3, 20], {}, "step 1 (round-counts): column 'n' holds -3, which is not a count"),
        ([1e17, 20.0], {}, "step 1 (round-counts): column 'n' holds 1e+17, which is not a count"),
        ([dt.date(2020, 1, 1)], {}, "step 1 (round-counts) takes plain numbers, but column 'n' holds date32"),
        ([1, 2], {"rule": {}}, "rule is given by column, but not for column 'n'"),
        ([1, 2], {"rule": "drb"}, "rule"),
    ],
)  # fmt: skip
def test_errors(cells, step, message):
    with pytest.raises(BadInput) as caught:
        discreet.protect(pa.table({"n": cells}), recipe(**step))
    assert message in str(caught.value)


def test_errors_of_the_estimator():
    with pytest.raises(BadInput, match=r"rule must be one of 'census-drb', .* not 'drb'"):
        RoundCounts("drb").fit([[1.0]])
    with pytest.raises(BadInput, match=r"^2\.5, which is not a count"):
        RoundCounts("cms").fit([[1.0]]).transform([[2.5]])


def test_a_column_of_which_nothing_is_shown_goes_on_through_other_steps():
    blank = {"method": "local-suppression", "columns": ["n"], "k": 2, "promise": False}
    again = {"method": "round-counts", "columns": ["n"], "rule": "acro"}
    rules = recipe("acro", promise=False)
    rules["roles"] = {"quasi": ["n"], "rest": "insensitive"}
    rules["steps"] += [blank, again]
    release = discreet.protect(pa.table({"n": [1, 2, 3, 4], "x": [5, 6, 7, 8]}), rules)
    assert release.table["n"].to_pylist() == [None] * 4
    assert release.check.ok


def test_users_are_told_what_a_blank_is(tmp_path):
    table = pa.table({"n": [3, 27, 1260, 14], "mean": [41.23456, 38.5, 44.98765, 39.0]})
    rules = {"n": "census-drb", "mean": "census-drb-estimates"}
    release = discreet.protect(table, recipe(rules, ("n", "mean")))
    assert release.log["steps"][0]["hidden"] == {"n": 2}
    assert "small counts become nulls" in release.log["nulls"]["policy"]
    release.save(tmp_path / "out")
    codebook = (tmp_path / "out" / "public" / "codebook.md").read_text()
    assert "n: counts below 15 are left blank" in codebook
    assert "mean: numbers are rounded to four significant digits" in codebook
    assert "or a count that its column says is left blank" in codebook
    page = (tmp_path / "out" / "public" / "report.html").read_text()
    assert "No record was suppressed. 2 counts in n left blank" in page
    assert "An empty cell is a missing value, or a count that is left blank" in page
