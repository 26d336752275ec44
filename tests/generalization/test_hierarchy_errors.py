"""What cannot be a hierarchy, or does not fit a column, and in which words."""

import datetime as dt
import math

import pyarrow as pa
import pytest
from pydantic import ValidationError

from discreet.errors import BadInput
from discreet.generalization import Hierarchy
from tests.generalization.test_hierarchy import SPECS, Step


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Hierarchy.intervals(), "intervals need either widths, such as [5, 10, 20], or cuts"),
        (lambda: Hierarchy.intervals([5], [[1]]), "intervals need either widths, such as [5, 10, 20], or cuts"),
        (lambda: Hierarchy.intervals([5, 12]), "widths: 12 is not a multiple of 5, so the levels would not nest"),
        (lambda: Hierarchy.intervals([10, 5]), "widths must rise, but 5 follows 10"),
        (lambda: Hierarchy.intervals([0, 5]), "widths must be above 0, but one is 0"),
        (lambda: Hierarchy.intervals(5), "widths must be a list of numbers, not 5"),
        (lambda: Hierarchy.intervals(["5"]), "widths must be a number, not '5'"),
        (lambda: Hierarchy.intervals([10**400]), f"widths must be a number below 2^53, not {10**400}"),
        (lambda: Hierarchy.from_spec({"kind": "groups", "tree": {"a": [10**30]}}), f"a value of a hierarchy must be text or a number, not {10**30}"),
        (lambda: Hierarchy.intervals([math.inf]), "widths must be a number below 2^53, not inf"),
        (lambda: Hierarchy.intervals([1 / 3]), "widths has more than 12 decimals: 0.3333333333333333"),
        (lambda: Hierarchy.intervals([5], lower=9, upper=3), "lower = 9 is not below upper = 3"),
        (lambda: Hierarchy.intervals(cuts=[[5]], lower=3), "origin, lower and upper go with widths; with cuts the ends are open"),
        (lambda: Hierarchy.intervals(cuts=[[5, 9], [7]]), "cuts: level 2 cuts at 7 and level 1 does not, so the levels would not nest"),
        (lambda: Hierarchy.intervals(cuts=[5, 9]), "cuts of level 1 must be a list of numbers, not 5"),
        (lambda: Hierarchy.intervals([0.5], whole=True), "whole = true needs widths, cuts and ends that are whole numbers"),
        (lambda: Hierarchy.prefix([0]), "stars must be at least 1, but one is 0"),
        (lambda: Hierarchy.prefix([2, 1]), "stars must rise from level to level, but 1 follows 2"),
        (lambda: Hierarchy.prefix([1.5]), "stars must be whole numbers, but one is 1.5"),
        (lambda: Hierarchy.prefix([10**26]), "stars must be at most 2,147,483,647, but one is 100,000,000,000,000,000,000,000,000"),
        (lambda: Hierarchy.prefix(keep=["a", 1]), "keep must be whole numbers, but one is 'a'"),
        (lambda: Hierarchy.order([10**26]), "sizes must be at most 2,147,483,647, but one is 100,000,000,000,000,000,000,000,000"),
        (lambda: Hierarchy.prefix(side="top"), "side must be 'right' or 'left', not 'top'"),
        (lambda: Hierarchy.order([2, 3]), "sizes: 3 is not a multiple of 2, so the levels would not nest"),
        (lambda: Hierarchy.order([2], ["a", "a"]), "values lists 'a' 2 times"),
        (lambda: Hierarchy.dates(["week", "month"]), "levels 'week' and 'month' do not nest: a week can lie in two months; leave one of them out"),
        (lambda: Hierarchy.dates(["week", "year"]), "levels 'week' and 'year' do not nest: a week can lie in two years; leave one of them out"),
        (lambda: Hierarchy.dates(["year", "month"]), "levels must grow coarser, but 'month' follows 'year'; their order is day, week, month, quarter, year, decade"),
        (lambda: Hierarchy.dates(["moth"]), "there is no level 'moth'; did you mean 'month'?"),
        (lambda: Hierarchy.dates("month"), "levels must be a list such as ['month', 'year'], not 'month'"),
        (lambda: Hierarchy.groups({}), "tree is empty; give groups and their values"),
        (lambda: Hierarchy.groups({"A": {"B": []}}), "tree: 'A.B' is empty; give it values or leave it out"),
        (lambda: Hierarchy.groups({"A": {"B": "x"}}), "tree: 'A.B' must be a list of values or a table of groups"),
        (lambda: Hierarchy.groups({"A": ["x"], "B": {"C": ["x"]}}), "tree: 'x' is in 'A' and again in 'B.C'"),
        (lambda: Hierarchy.groups({"A": {"other": ["x"]}, "B": {"other": ["y"]}}),
         "tree: 'other' of level 1 is under 'A' (as 'x') and under 'B' (as 'y') at level 2; levels must nest, so give it one parent, or two names"),
        (lambda: Hierarchy.from_table([]), "the hierarchy has no rows; a hierarchy has one row for each value"),
        (lambda: Hierarchy.from_table(["ab"]), "row 1 of the hierarchy must be a list, not 'ab'"),
        (lambda: Hierarchy.from_table([["a", "x"], ["b"]]), "the hierarchy: row 2 has 1 cells, but row 1 has 2"),
        (lambda: Hierarchy.from_table([["a", "x"], ["b", ""]]), "the hierarchy: cell 2 of row 2 is empty; nulls have no row, and every other value has a label at each level"),
        (lambda: Hierarchy.from_table([["a", "x"], ["b", "x"], ["a", "y"]]), "the hierarchy: rows 1 and 3 differ, but both are of 'a'"),
        (lambda: Hierarchy.from_table([["age", "level 1"], ["3", "*"]]), "the hierarchy: the last level is 'level 1' in row 1 and '*' in row 2, but it must be one value; is it a header? a hierarchy has none"),
        (lambda: Hierarchy.from_table([["3", "*"], ["4", "x"]]), "the hierarchy: the last level is 'x' in row 2 and '*' in row 1, but it must be one value"),
        (lambda: Hierarchy.from_spec({"widths": [5]}), "the hierarchy has no kind; known: csv, table, groups, intervals, prefix, dates, order, flat, auto"),
        (lambda: Hierarchy.from_spec({"kind": "interval"}), "there is no hierarchy of kind 'interval'; did you mean 'intervals'?"),
        (lambda: Hierarchy.from_spec({"kind": "intervals", "width": [5]}), "a hierarchy of kind 'intervals' has no 'width'; did you mean 'widths'?"),
        (lambda: Hierarchy.from_spec({"kind": "auto", "k": 5}), "a hierarchy of kind 'auto' has no 'k'; it takes no parameters"),
        (lambda: Hierarchy.from_spec({"kind": "order"}), "a hierarchy of kind 'order' needs 'sizes'"),
        (lambda: Hierarchy.from_spec({"kind": "csv", "path": 5}), "path must be the name of a file, not 5"),
        (lambda: Hierarchy.from_spec({"kind": "csv", "path": "x", "sep": ";;"}), "sep must be one character, such as ';', not ';;'"),
        (lambda: Hierarchy.from_spec(5), "a hierarchy must be a Hierarchy, a table with a kind, or the path of a CSV file, not 5"),
        (lambda: Hierarchy.prefix().show(), "Hierarchy.prefix() lists no values; give the column for which it is to be drawn"),
        (lambda: Hierarchy.prefix().to_csv("x"), "Hierarchy.prefix() lists no values; give the column for which it is to be written"),
    ],
)  # fmt: skip
def test_what_cannot_be_a_hierarchy(make, message):
    with pytest.raises(BadInput) as caught:
        make()
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("spec", "column", "message"),
    [
        (SPECS[8], ["clerk"], "column 'x' holds text, such as 'clerk', but intervals need numbers; convert it to numbers, or use another kind of hierarchy"),
        (SPECS[8], [dt.date(2019, 4, 5)], "column 'x' holds date32[day], such as '2019-04-05', but intervals need numbers; use kind = \"dates\""),
        (SPECS[8], [1.0, math.inf], "column 'x' holds infinity; make it null or code it first"),
        (SPECS[8], [2**60], "column 'x' holds numbers above 2^53, which have no exact intervals; use kind = \"prefix\" or \"order\""),
        (SPECS[8], [1e300], "column 'x': width 5 is too small for values as large as 1e+300"),
        (SPECS[4], [5], "column 'x' holds int64, not dates; convert it to dates first"),
        (SPECS[4], ["2019-04-05", "2019-13-01"], "column 'x': '2019-13-01' is not a date; write it as 2019-04-05, or list it in null_markers if it marks a missing value"),
        (SPECS[0], [[1]], "column 'x' holds list<item: int64>, whose values cannot be generalized"),
        (SPECS[12], ["a", "d", "a"], "column 'x': 1 value in 1 row has no place in the hierarchy: 'd'; add it to the hierarchy, or correct the data"),
        (SPECS[12], [*"defghij", "d", "a", None], "column 'x': 7 values in 8 rows have no place in the hierarchy: 'd', 'e', 'f', 'g', 'h' and 2 more; add them to the hierarchy, or correct the data"),
        (SPECS[7], ["low", "lower"], "column 'x': 1 value in 1 row has no place in the hierarchy: 'lower'; add it to the hierarchy, or correct the data"),
    ],
)  # fmt: skip
def test_columns_that_a_hierarchy_does_not_fit(spec, column, message):
    hierarchy = Hierarchy.from_spec(spec)
    for use in (hierarchy.bind, hierarchy.labels):
        with pytest.raises(BadInput) as caught:
            use(pa.array(column), "x")
        assert str(caught.value) == message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "{path} is empty; a hierarchy has one row for each value"),
        ("\n \n", "{path} is empty; a hierarchy has one row for each value"),
        ("a;x;*\nb;*\n", "{path}: row 2 has 2 cells, but row 1 has 3"),
        ("a;x;p\nb;x;q\n", "{path}: 'x' of level 1 is under 'p' (as 'a') and under 'q' (as 'b') at level 2; levels must nest, so give it one parent, or two names"),
    ],
)  # fmt: skip
def test_files_that_are_no_hierarchy(tmp_path, text, message):
    path = tmp_path / "h.csv"
    path.write_text(text)
    with pytest.raises(BadInput) as caught:
        Hierarchy.from_csv(path)
    assert str(caught.value) == message.format(path=path)


def test_a_recipe_model_says_it_in_one_sentence():
    with pytest.raises(ValidationError) as caught:
        Step.model_validate({"hierarchies": {"age": {"kind": "intervals", "widths": [5, 12]}}})
    (problem,) = caught.value.errors()
    assert problem["loc"] == ("hierarchies", "age")
    assert (
        str(problem["ctx"]["error"])
        == "widths: 12 is not a multiple of 5, so the levels would not nest"
    )
