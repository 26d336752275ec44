"""Formulas of indicators: what is read, and what is refused and how."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import BadInput
from discreet.recipe import Recipe
from discreet.utility.formulas import FUNCTIONS, Column, Number, Operation, read_formula
from discreet.utility.indicators import indicators


def test_products_bind_before_sums_and_from_the_left():
    term = read_formula("sum(a - b - 2 * -c)").term
    a, b, c = map(Column, "abc")
    product = Operation("*", Number(2.0), Operation("-", Number(0.0), c))
    assert term == Operation("-", Operation("-", a, b), product)


def test_groups_quantiles_and_odd_names():
    found = read_formula(" quantile(`net pay (€)`/1.5e3, 0.9) by region, `by` ")
    assert found.columns == ["net pay (€)", "region", "by"]
    assert (found.function, found.level, found.by) == ("quantile", 0.9, ("region", "by"))
    assert read_formula("count()").columns == []
    assert read_formula("share(sex == 'f') by region").used == ["sex"]


REFUSED = {
    "average(age)": "begins with 'average', which is no function; known: count, sum, mean, median, "
    "quantile, gini, share",
    "men(age)": "begins with 'men', which is no function; did you mean 'mean'?",
    "mean": "has its end where '(' belongs",
    "mean()": "has nothing to compute: write mean(column)",
    "mean(age": "has its end where ')' belongs",
    "mean(age +)": "has ')' where a number or a column belongs",
    "mean(age) region": "goes on after its end, with 'region'; write odd names as `odd name`",
    "count() by marital-status": "goes on after its end, with '-'; write odd names as `odd name`",
    "mean(age) by": "ends too early",
    "mean(age) by region, region": "groups by 'region' twice",
    "mean(age) by 3": "has '3' where a column belongs, after by",
    "count(age)": "has 'age' where ')' belongs",
    "quantile(age)": "lacks the share of the quantile: quantile(income, 0.9)",
    "quantile(age, 2)": "asks for the quantile 2, which is not between 0 and 1",
    "share(age)": "has ')' where a comparison belongs: share(income > 1000)",
    "share(sex > 'f')": "compares text with something else than == or != and a column",
    "mean('age')": "computes with the text 'age'",
    "sum(a * 'b')": "computes with the text 'b'",
    "sum(exp(age))": "calls 'exp' within another function",
    "sum(age ** 2)": "has '*' where a number or a column belongs",
    "mean(age; drop)": "cannot be read from '; drop)' on",
    "sum(" + "(" * 60 + "age" + ")" * 61: "is nested more than 50 deep",
}


@pytest.mark.parametrize("text", REFUSED, ids=lambda text: text[:20])
def test_what_is_no_indicator_is_refused_in_a_sentence(text):
    with pytest.raises(BadInput) as error:
        read_formula(text)
    assert str(error.value) == f"'{text}' {REFUSED[text]}"


@given(st.text(alphabet="ab(),+-*/<>=.'\"`1 \n_é"))
def test_any_text_is_read_or_refused(text):
    try:
        found = read_formula(text)
    except BadInput:
        return
    assert found.function in FUNCTIONS


@pytest.mark.parametrize(
    "text",
    [
        "sum(" + "+".join(["income"] * 5000) + ")",
        "sum(" + "-" * 3000 + "income)",
        "sum(income)\nmean(income)",
        "sum(income) $\n" + "x" * 5000,
        "sum(income) " + "x" * 5000,
    ],
    ids=["many terms", "many signs", "lines", "long rest", "long word"],
)
def test_long_text_is_refused_in_a_short_sentence(text):
    with pytest.raises(BadInput) as error:
        read_formula(text)
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 400


def test_the_longest_formula_is_computed():
    most = "sum(" + " + ".join(["pay"] * 98) + ")"
    table = pa.table({"pay": [1.0, 2.0]})
    [found] = indicators(table, table, [most])
    assert found["before"] == found["after"] == 98 * 3


def loaded(text, **roles):
    return Recipe.from_dict({"roles": roles, "indicators": [text]})


def test_a_recipe_refuses_indicators_when_it_is_loaded():
    roles = {"insensitive": ["income", "region"], "identifiers": ["name"], "household": "home"}
    assert loaded("mean(income) by region", **roles).indicators == ["mean(income) by region"]
    # A weight need not be released.
    assert loaded("sum(income*w)", weight="w", **roles).indicators
    told = {
        "mean(incom)": "indicators: 'mean(incom)' names 'incom', which has no role; did you mean "
        "'income'?",
        "count() by name": "indicators: 'count() by name' names 'name', which is dropped "
        "(identifiers)",
        "count() by home": "indicators: 'count() by home' names 'home', which is replaced "
        "(household)",
        "sums(income)": "indicators: 'sums(income)' begins with 'sums', which is no function; did "
        "you mean 'sum'?",
    }
    for text, why in told.items():
        with pytest.raises(BadInput) as error:
            loaded(text, **roles)
        assert str(error.value) == f"the recipe: {why}"
    with pytest.raises(BadInput) as error:
        loaded("mean(incme)", rest="drop", **roles)
    assert str(error.value) == (
        "the recipe: indicators: 'mean(incme)' names 'incme', which has no role and is dropped by "
        "rest = 'drop'; did you mean 'income'?"
    )
    assert loaded("mean(shoes)", rest="insensitive", **roles).indicators
