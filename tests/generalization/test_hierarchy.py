"""Hierarchies through their public face: labels, nesting, specs, files, messages."""

import datetime as dt
import math
import re
import tomllib
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import tomli_w
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict
from sklearn.base import clone

from discreet.datasets import adult_hierarchy_paths, load_adult
from discreet.errors import BadInput
from discreet.generalization import Hierarchy
from discreet.perturbation import TopBottom

TREE = {"Europe": {"West": ["DE", "FR"], "East": ["PL"]}, "Asia": ["JP", "CN"]}
SPECS = [
    {"kind": "flat"},
    {"kind": "auto"},
    {"kind": "prefix"},
    {"kind": "prefix", "stars": [2, 4], "side": "left"},
    {"kind": "dates", "levels": ["day", "week"]},
    {"kind": "dates", "levels": ["month", "quarter", "year", "decade"]},
    {"kind": "order", "sizes": [2, 4]},
    {"kind": "order", "sizes": [2], "values": ["low", "middle", "high"]},
    {"kind": "intervals", "widths": [5, 10, 20]},
    {"kind": "intervals", "widths": [0.5, 1.5], "lower": -1, "upper": 9.5, "origin": 0.25},
    {"kind": "intervals", "cuts": [[20, 40, 60], [40]], "whole": True},
    {"kind": "groups", "tree": TREE},
    {"kind": "table", "rows": [["a", "x"], ["b", "x"], ["c", "y"]]},
    {"kind": "csv", "path": "/somewhere/age.csv", "sep": ","},
]


def levels(hierarchy, values):
    """By level, the labels of some values."""
    values = values if isinstance(values, pa.Array) else pa.array(values)
    return [level.to_pylist() for level in hierarchy.labels(values)]


def assert_nests(hierarchy, column):
    """The promises of a hierarchy, by the definitions and value by value."""
    ladder = hierarchy.bind(column, "x")
    texts = levels(hierarchy, column)
    assert set(texts[-1]) <= {"*", None}
    assert len(texts) == ladder.height + 1 == len(ladder.labels)
    for below, above in pairwise(texts):
        parent = {}
        for a, b in zip(below, above, strict=True):
            assert parent.setdefault(a, b) == b
    # What is laid out for the column says the same as the labels of its rows.
    codes = ladder.encode(column, "x")
    again, same = hierarchy.bind_and_encode(column, "x")
    assert again.labels == ladder.labels
    assert np.array_equal(codes, same)
    for level, (labels, places) in enumerate(zip(ladder.labels, ladder.maps, strict=True)):
        assert len(set(labels)) == len(labels)
        expected = [None if code < 0 else labels[places[code]] for code in codes.tolist()]
        assert texts[level] == expected


# Rules ------------------------------------------------------------------------------------------


@given(
    st.lists(st.integers(-200, 200) | st.none(), min_size=1),
    st.integers(1, 7),
    st.lists(st.integers(2, 4), max_size=3),
    st.integers(-10, 10),
    st.none() | st.integers(-50, 0),
    st.none() | st.integers(1, 50),
)
def test_intervals_of_whole_numbers(values, width, factors, origin, lower, upper):
    widths = [width]
    for factor in factors:
        widths.append(widths[-1] * factor)
    hierarchy = Hierarchy.intervals(widths, origin=origin, lower=lower, upper=upper)
    column = pa.chunked_array([pa.array(values, pa.int64())])
    assert_nests(hierarchy, column)
    for size, labels in zip(
        widths, levels(hierarchy, pa.array(values, pa.int64()))[1:], strict=False
    ):
        for value, label in zip(values, labels, strict=True):
            if value is None:
                assert label is None
            elif lower is not None and value < lower:
                assert label == f"<{lower}"
            elif upper is not None and value >= upper:
                assert label == f">={upper}"
            else:
                low = origin + (value - origin) // size * size
                high = low + size - 1
                low = low if lower is None else max(low, lower)
                high = high if upper is None else min(high, upper - 1)
                wanted = f"{low} to {high}" if low < 0 else f"{low}-{high}"
                assert label == (str(low) if low == high else wanted)


@given(st.lists(st.decimals(-50, 50, places=2), min_size=1), st.sampled_from([0.1, 0.2, 0.25, 0.7]))
def test_intervals_of_fractions_begin_where_their_label_says(values, width):
    # 0.3 / 0.1 is below 3 in floats; 0.3 lies in [0.3, 0.4) all the same.
    floats = [float(value) for value in values]
    hierarchy = Hierarchy.intervals([width], whole=False)
    for value, label in zip(values, levels(hierarchy, floats)[1], strict=True):
        step = Fraction(str(width))
        low = math.floor(Fraction(value) / step) * step
        a, b = re.fullmatch(r"\[(.*), (.*)\)", label).groups()
        assert (Fraction(a), Fraction(b)) == (low, low + step)
    column = pa.chunked_array([floats])
    assert_nests(Hierarchy.intervals([width, width * 4, width * 8], whole=False), column)
    assert levels(hierarchy, values)[1] == levels(hierarchy, floats)[1]


@given(
    st.lists(st.integers(-99, 99), min_size=1),
    st.lists(st.integers(-99, 99), min_size=1, unique=True).map(sorted),
)
def test_cuts_begin_intervals_and_the_ends_are_open(values, cuts):
    hierarchy = Hierarchy.intervals(cuts=[cuts, cuts[::2]])
    assert_nests(hierarchy, pa.chunked_array([values]))
    for value, label in zip(values, levels(hierarchy, values)[1], strict=True):
        low = max((cut for cut in cuts if cut <= value), default=None)
        high = min((cut for cut in cuts if cut > value), default=None)
        if low is None:
            assert label == f"<{high}"
        elif high is None:
            assert label == f">={low}"
        else:
            assert label in (f"{low}-{high - 1}", f"{low} to {high - 1}", f"{low}")


@pytest.mark.parametrize(
    ("hierarchy", "values", "labels"),
    [
        (Hierarchy.intervals([10]), [30, 39, 40, 0], ["30-39", "30-39", "40-49", "0-9"]),
        (Hierarchy.intervals([10]), [-1, -10, 5], ["-10 to -1", "-10 to -1", "0-9"]),
        (Hierarchy.intervals([1]), [3, -3], ["3", "-3"]),
        (Hierarchy.intervals([10]), [30.0, None, 41.0], ["30-39", None, "40-49"]),
        (Hierarchy.intervals([10]), [30.5, 41.0], ["[30, 40)", "[40, 50)"]),
        (Hierarchy.intervals([10], whole=True), [39.5], ["30-39"]),
        (Hierarchy.intervals([0.5]), [0.5, 0.99, -0.0], ["[0.5, 1.0)", "[0.5, 1.0)", "[0.0, 0.5)"]),
        # Just below 3.5 = 5 * 0.7, though the quotient is 5 in floats.
        (Hierarchy.intervals([0.7]), [3.4999999999999996, 3.5], ["[2.8, 3.5)", "[3.5, 4.2)"]),
        (Hierarchy.intervals([5], lower=18, upper=90), [17, 18, 19, 20, 89, 90],
         ["<18", "18-19", "18-19", "20-24", "85-89", ">=90"]),
        (Hierarchy.intervals([0.001], origin=10**9), [1e9 + 0.0015], ["[1000000000.001, 1000000000.002)"]),
        (Hierarchy.intervals(cuts=[[18, 65]]), [3, 18, 64, 65], ["<18", "18-64", "18-64", ">=65"]),
        (Hierarchy.intervals(cuts=[[1.5, 2]]), [1.5, 1.0], ["[1.5, 2.0)", "<1.5"]),
        (Hierarchy.intervals([10]), pa.array([Decimal("30.00"), Decimal("39.00")]), ["30-39", "30-39"]),
        (Hierarchy.prefix([2]), ["10115", "1"], ["101**", "*"]),
        (Hierarchy.prefix([3], side="left"), ["10115"], ["***15"]),
        (Hierarchy.prefix([1]), ["Köln", "東京都"], ["Köl*", "東京*"]),
        (Hierarchy.prefix([2]), [10115, 20095], ["101**", "200**"]),
        (Hierarchy.order([2]), [1, 2, 3], ["1 to 2", "1 to 2", "3"]),
        (Hierarchy.order([2]), [10, 9, 8, 10], ["10", "8 to 9", "8 to 9", "10"]),
        (Hierarchy.order([2], ["low", "middle", "high"]), ["high", "low"], ["high", "low to middle"]),
        (Hierarchy.flat(), [True, False], ["*", "*"]),
    ],
)  # fmt: skip
def test_labels(hierarchy, values, labels):
    assert levels(hierarchy, values)[1] == labels


@given(st.lists(st.text(max_size=6) | st.none(), min_size=1), st.sampled_from(["right", "left"]))
def test_prefixes(values, side):
    hierarchy = Hierarchy.prefix(side=side)
    column = pa.array(values, pa.string())
    assert_nests(hierarchy, pa.chunked_array([column]))
    longest = max((len(value) for value in values if value is not None), default=1)
    found = levels(hierarchy, column)
    assert len(found) == max(longest, 1) + 1
    for hidden, labels in enumerate(found[1:-1], start=1):
        for value, label in zip(values, labels, strict=True):
            if value is not None:
                stars = "*" * min(hidden, len(value))
                kept = len(value) - len(stars)
                assert label == (
                    value[:kept] + stars if side == "right" else stars + value[len(stars) :]
                )


def period(day, level):
    """By the definitions, from Python's own calendar."""
    return {
        "day": day.isoformat(),
        "week": "{:04d}-W{:02d}".format(*day.isocalendar()[:2]),
        "month": day.isoformat()[:7],
        "quarter": f"{day.isoformat()[:4]}-Q{(day.month + 2) // 3}",
        "year": day.isoformat()[:4],
        "decade": day.isoformat()[:3] + "0s",
    }[level]


@given(
    st.lists(st.datetimes(dt.datetime(1600, 1, 1), dt.datetime(2400, 1, 1)), min_size=1),
    st.sampled_from([["day", "week"], ["day", "month", "quarter", "year", "decade"], ["year"]]),
    st.sampled_from(["datetime", "date", "text"]),
)
def test_dates_of_any_type(moments, names, form):
    hierarchy = Hierarchy.dates(names)
    days = [moment.date() for moment in moments]
    values = {"datetime": moments, "date": days, "text": [day.isoformat() for day in days]}[form]
    assert_nests(hierarchy, pa.chunked_array([values]))
    found = levels(hierarchy, values)
    for name, labels in zip(names, found[1:], strict=False):
        assert labels == [period(day, name) for day in days]


def test_datetimes_are_taken_in_their_own_zone():
    # Half past eleven at night in London is the next day, and the next year, in Berlin.
    moment = pa.array([dt.datetime(2019, 12, 31, 23, 30)]).cast(pa.timestamp("us", "Europe/Berlin"))
    assert levels(Hierarchy.dates(["day", "year"]), moment)[1:3] == [["2020-01-01"], ["2020"]]


def test_level_0_is_the_value_as_people_write_it():
    assert levels(Hierarchy.flat(), [39.0, 0.5])[0] == ["39", "0.5"]
    assert levels(Hierarchy.flat(), [dt.datetime(2019, 4, 5)])[0] == ["2019-04-05"]
    assert levels(Hierarchy.flat(), [dt.datetime(2019, 4, 5, 10, 30, 0, 500_000)])[0] == [
        "2019-04-05 10:30:00.5"
    ]
    assert levels(Hierarchy.flat(), [Decimal("1.50")])[0] == ["1.50"]
    assert levels(Hierarchy.flat(), [True])[0] == ["true"]


def test_an_ordered_column_keeps_its_order():
    codes = pa.array([2, 0, None, 1, 2])
    column = pa.DictionaryArray.from_arrays(
        codes, pa.array(["low", "middle", "high", "unused"]), ordered=True
    )
    ladder, rows = Hierarchy.order([2]).bind_and_encode(column, "x")
    assert ladder.leaves.to_pylist() == ["low", "middle", "high"]
    assert ladder.labels[1] == ["low to middle", "high"]
    assert rows.tolist() == [2, 0, -1, 1, 2]


def test_the_leaves_of_a_rule_are_the_values_of_the_column_from_the_smallest_on():
    ladder = Hierarchy.intervals([5, 10]).bind(pa.chunked_array([[100, 9], [None, 20]]), "age")
    assert ladder.leaves.to_pylist() == [9, 20, 100]
    assert ladder.labels[0] == ["9", "20", "100"]
    assert ladder.height == 3


@pytest.mark.parametrize(
    "spec", [{"kind": k} for k in ("flat", "auto", "prefix", "dates")] + SPECS[6:7] + SPECS[8:11]
)
def test_a_column_of_nulls_has_no_leaves(spec):
    for column in (pa.array([None, None]), pa.array([], pa.float64()), pa.array([math.nan])):
        if spec["kind"] == "dates" and pa.types.is_floating(column.type):
            continue
        ladder, codes = Hierarchy.from_spec(spec).bind_and_encode(column, "x")
        assert len(ladder.leaves) == 0
        assert ladder.labels[-1] == ["*"]
        assert (codes == -1).all()


# Settling ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "column", "settled"),
    [
        ({"kind": "prefix"}, ["101", "20"], {"kind": "prefix", "stars": [1, 2]}),
        ({"kind": "intervals", "widths": [5]}, [1.0], {"kind": "intervals", "widths": [5], "whole": True}),
        ({"kind": "intervals", "widths": [5]}, [1.5], {"kind": "intervals", "widths": [5], "whole": False}),
        ({"kind": "order", "sizes": [2]}, [3, 1, 2], {"kind": "order", "sizes": [2], "values": ["1", "2", "3"]}),
        ({"kind": "auto"}, [17 + i for i in range(74)], {"kind": "intervals", "widths": [5, 10, 20, 40], "upper": 90, "whole": True}),
        ({"kind": "auto"}, [0.01 * i for i in range(100)], {"kind": "intervals", "widths": [0.05, 0.1, 0.2, 0.4], "whole": False}),
        ({"kind": "auto"}, [1e9 + 1e-3 * i for i in range(9)], {"kind": "intervals", "widths": [0.0005, 0.001, 0.002, 0.004], "upper": 1000000000.008, "whole": False}),
        ({"kind": "auto"}, [10**7 * i for i in range(50)], {"kind": "intervals", "widths": [2 * 10**7, 10**8, 2 * 10**8, 4 * 10**8], "whole": True}),
        ({"kind": "auto"}, [f"{i:05d}" for i in range(50)], {"kind": "prefix", "stars": [1, 2, 3, 4]}),
        ({"kind": "auto"}, [f"A{i:09d}" for i in range(50)], {"kind": "prefix", "stars": [2, 4, 6, 8]}),
        ({"kind": "auto"}, [dt.date(2010 + i, 1 + i, 3) for i in range(12)], {"kind": "dates", "levels": ["decade"]}),
        ({"kind": "auto"}, [f"2019-{1 + i % 12:02d}-{i + 1:02d}" for i in range(28)], {"kind": "dates", "levels": ["month", "quarter"]}),
        ({"kind": "auto"}, ["24.12.1999", "1.1.2000", "31.1.2000", "2.3.2011", "1.5.2011"], {"kind": "dates", "levels": ["month", "year"], "format": "%d.%m.%Y"}),
        ({"kind": "auto"}, [19991224, 20000101, 20000131, 20110302, 20110501], {"kind": "dates", "levels": ["month", "year"], "format": "%Y%m%d"}),
        ({"kind": "auto"}, ["3/14/2019", "5/6/2020", "1/2/2020", "7/8/2020", "7/9/2020"], {"kind": "dates", "levels": ["month", "year"], "format": "%m/%d/%Y"}),
        ({"kind": "auto"}, ["3/4/2019", "5/6/2020", "1/2/2020", "7/8/2020", "7/9/2020"], {"kind": "dates", "levels": ["year"], "format": "%d/%m/%Y"}),
        ({"kind": "auto"}, ["E11", "E11.9", "I10", "I25.1", "J45"], {"kind": "prefix", "keep": [3, 2, 1]}),
        ({"kind": "auto"}, [1, 10, 100, 1000, 10**4, 10**5, 10**6], {"kind": "intervals", "cuts": [[100, 200, 500, 1000, 2000, 5000, 10**4, 20000, 50000, 10**5, 200000, 500000, 10**6], [100, 1000, 10**4, 10**5, 10**6]], "whole": True}),
        ({"kind": "auto"}, ["cook"] * 50 + ["clerk"] * 35 + ["nurse"] * 10 + ["smith"] * 3 + ["baker", "judge"], {"kind": "groups", "tree": {"cook": ["cook"], "other": {"clerk": ["clerk"], "less common": {"nurse": ["nurse"], "smith": ["smith"], "rare": ["baker", "judge"]}}}}),
        ({"kind": "auto"}, ["", "clerk", "nurse", "smith", "baker", "judge"], {"kind": "flat"}),
        ({"kind": "auto"}, [2, 4, 4, 4, 5, 5, 6, 9], {"kind": "groups", "tree": {"4": ["4"], "other": {"5": ["5"], "less common": {"2": ["2"], "rare": ["6", "9"]}}}}),
        ({"kind": "auto"}, [0, 1, 1, 0], {"kind": "flat"}),
        ({"kind": "auto"}, [2**60 + i for i in range(9)], {"kind": "flat"}),
        ({"kind": "auto"}, [True, False], {"kind": "flat"}),
    ],
)  # fmt: skip
def test_what_depends_on_the_column_is_fixed(spec, column, settled):
    hierarchy = Hierarchy.from_spec(spec)
    found = hierarchy.settle(pa.array(column), "x")
    assert found.spec == settled
    assert found.labels(pa.array(column), "x") == hierarchy.labels(pa.array(column), "x")


def test_auto_merges_neighbours_of_an_ordered_column():
    column = pa.DictionaryArray.from_arrays(
        pa.array(range(6)), pa.array(list("fedcba")), ordered=True
    )
    assert Hierarchy.auto().bind(column, "x").labels[1:] == [
        ["f to e", "d to c", "b to a"], ["f to c", "b to a"], ["*"]
    ]  # fmt: skip


auto_columns = st.one_of(
    st.lists(st.integers(-(2**40), 2**40), min_size=1),
    st.lists(st.floats(-1e12, 1e12), min_size=1),
    st.lists(st.decimals(-1000, 1000, places=3), min_size=1),
    st.lists(st.dates(), min_size=1),
    st.lists(st.datetimes(), min_size=1),
    st.lists(st.text(), min_size=1),
    st.lists(st.from_regex(r"[A-Z][0-9]{4}", fullmatch=True), min_size=5),
    st.lists(st.booleans(), min_size=1),
)


@given(auto_columns)
def test_auto_has_a_nested_place_for_every_value(values):
    assert_nests(Hierarchy.auto(), pa.chunked_array([pa.array(values)]))


@given(st.lists(st.integers(0, 200), min_size=1), st.lists(st.integers(0, 200), min_size=1))
def test_new_rows_get_the_labels_of_the_old(old, new):
    for spec in ({"kind": "prefix"}, {"kind": "intervals", "widths": [5, 10]}):
        settled = Hierarchy.from_spec(spec).settle(pa.array(old), "x")
        together = levels(settled, old + new)
        assert [level[: len(old)] for level in together] == levels(settled, old)
        assert [level[len(old) :] for level in together] == levels(settled, new)


# Tables -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def adult():
    try:
        return load_adult()
    except FileNotFoundError as error:
        pytest.skip(str(error))


# Rows of each file and levels above the values, counted in the files themselves.
ADULT = {
    "sex": (2, 1), "age": (100, 4), "race": (5, 1), "marital-status": (7, 2), "education": (16, 3),
    "native-country": (41, 2), "workclass": (8, 2), "occupation": (14, 2), "salary-class": (2, 1),
}  # fmt: skip


@pytest.mark.parametrize("name", ADULT)
def test_the_hierarchies_of_adult(adult, name):
    path = adult_hierarchy_paths()[name]
    ladder = Hierarchy.from_csv(path).bind(adult[name], name)
    assert (len(ladder.leaves), ladder.height) == ADULT[name]
    by_value = {row[0]: row for row in (line.split(";") for line in path.read_text().splitlines())}
    codes = ladder.encode(adult[name], name)
    for level in range(ladder.height + 1):
        labels = np.array(ladder.labels[level])[ladder.maps[level][codes]]
        assert labels.tolist() == [by_value[str(value)][level] for value in adult[name].to_pylist()]


def test_the_lattice_of_adult_has_6480_nodes(adult):
    heights = [Hierarchy.from_csv(p).bind(pa.array([], pa.string()), n).height + 1
               for n, p in adult_hierarchy_paths().items() if n != "salary-class"]  # fmt: skip
    assert math.prod(heights) == 6480


ROWS = [["a", "x", "*"], ["b", "x", "*"], ["c", "y", "*"]]


@pytest.mark.parametrize(
    "rows",
    [
        ROWS,
        [row[:2] for row in ROWS],
        [*ROWS, ROWS[0]],
        pd.DataFrame(ROWS),
        pl.DataFrame(ROWS, schema=["value", "group", "all"], orient="row"),
        pa.table({"v": ["a", "b", "c"], "g": pa.array(["x", "x", "y"]).dictionary_encode()}),
        np.array(ROWS),
    ],
)
def test_tables_of_any_kind(rows):
    ladder = Hierarchy.from_table(rows).bind(pa.array(["c", "a"]), "letter")
    assert ladder.leaves.to_pylist() == ["a", "b", "c"]
    assert ladder.labels == [["a", "b", "c"], ["x", "y"], ["*"]]
    assert ladder.maps.tolist() == [[0, 1, 2], [0, 0, 1], [0, 0, 0]]


def test_a_star_is_put_on_top_where_no_row_ends_with_one():
    def height(rows):
        return Hierarchy.from_table(rows).bind(pa.array([], pa.string()), "x").height

    assert height([["a"]]) == 1
    assert height([["a", "*"]]) == 1
    assert height([["a", "*", "*"]]) == 2
    # One label, but it tells something that `*` does not.
    assert height([["a", "Europe"], ["b", "Europe"]]) == 2


def test_a_branch_that_is_less_deep_repeats_its_lowest_group():
    hierarchy = Hierarchy.groups(TREE)
    assert levels(hierarchy, ["FR", "PL", "CN"])[1:] == [
        ["West", "East", "Asia"], ["Europe", "Europe", "Asia"], ["*", "*", "*"]
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "sep"),
    [
        ("a;x;*\nb;x;*\nc;y;*", ";"),
        ("a;x;*\nb;x;*\nc;y;*", None),
        ("a,x,*\nb,x,*\nc,y,*\n", ";"),
        ("a,x,*\nb,x,*\nc,y,*\n", None),
        ("a\tx\nb\tx\nc\ty\n", "\t"),
        ('"a";"x"\r\n\r\nb;x\r\nc;y\r\n', ";"),
        ("\ufeffa;x\nb;x\nc;y", ";"),
    ],
)
def test_files_of_either_separator(tmp_path, text, sep):
    path = tmp_path / "letters.csv"
    path.write_bytes(text.encode())
    ladder = Hierarchy.from_csv(path, sep).bind(pa.array(["c"]), "letter")
    assert ladder.labels == [["a", "b", "c"], ["x", "y"], ["*"]]


def test_a_comma_in_a_value_is_not_a_separator(tmp_path):
    (tmp_path / "x.csv").write_text("0,5;low\n1,5;low\n2,5;high\n")
    assert Hierarchy.from_csv(tmp_path / "x.csv", None).bind(pa.array(["0,5"]), "x").labels[1] == [
        "low",
        "high",
    ]


def test_letters_of_another_encoding(tmp_path):
    (tmp_path / "x.csv").write_bytes("Köln;West\nBerlin;Ost\n".encode("cp1252"))
    with pytest.warns(UserWarning, match="cp1252"):
        ladder = Hierarchy.from_csv(tmp_path / "x.csv").bind(pa.array(["Köln"]), "x")
    assert ladder.labels[0] == ["Köln", "Berlin"]


@given(
    st.lists(
        st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cf", "Cs"]), min_size=1),
        min_size=1,
        unique=True,
    ),
    st.lists(st.integers(1, 3), min_size=1, max_size=3),
)
def test_a_written_table_is_read_back(tmp_path_factory, values, factors):
    path = tmp_path_factory.mktemp("written") / "h.csv"
    sizes = list(np.cumprod([2, *factors[1:]]))
    sizes = [int(size) for i, size in enumerate(sizes) if i == 0 or size > sizes[i - 1]]
    hierarchy = Hierarchy.order(sizes, values)
    hierarchy.to_csv(path)
    again = Hierarchy.from_csv(path)
    ladder, other = (h.bind(pa.array(values), "x") for h in (hierarchy, again))
    assert ladder.labels == other.labels
    assert np.array_equal(ladder.maps, other.maps)


def test_a_rule_is_written_for_a_column(tmp_path):
    Hierarchy.intervals([10]).to_csv(tmp_path / "age.csv", pa.array([31, 5, 38]), sep=",")
    assert (tmp_path / "age.csv").read_text() == "5,0-9,*\n31,30-39,*\n38,30-39,*\n"


# Specs and recipes ------------------------------------------------------------------------------


class Step(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    hierarchies: Mapping[str, Hierarchy]


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec["kind"])
def test_specs_go_through_toml_and_recipes(spec):
    hierarchy = Hierarchy.from_spec(spec)
    assert hierarchy.spec == spec
    step = Step.model_validate({"hierarchies": {"a": spec, "b": hierarchy}})
    dumped = tomllib.loads(tomli_w.dumps(step.model_dump()))
    assert dumped == {"hierarchies": {"a": spec, "b": spec}} == step.model_dump(mode="json")
    assert Step.model_validate(dumped) == step
    assert hash(Hierarchy.from_spec(spec)) == hash(hierarchy)
    assert hierarchy != Hierarchy.intervals([3])


def test_a_path_is_a_file_that_is_read_when_needed(tmp_path):
    path = tmp_path / "letters.csv"
    hierarchy = Step.model_validate({"hierarchies": {"a": str(path)}}).hierarchies["a"]
    with pytest.raises(BadInput) as caught:
        hierarchy.bind(pa.array(["a"]), "letter")
    assert str(caught.value) == f"the hierarchy {path} cannot be read: No such file or directory"
    path.write_text("a;x\nb;y\n")
    assert hierarchy.bind(pa.array(["a"]), "letter").height == 2
    assert hierarchy == Hierarchy.from_csv(path)
    settled = hierarchy.settle(pa.array(["a"]), "letter")
    path.unlink()
    assert settled.spec == {"kind": "table", "rows": [["a", "x", "*"], ["b", "y", "*"]]}
    assert Hierarchy.from_spec(settled.spec).bind(pa.array(["a"]), "letter").labels[1] == ["x", "y"]


def test_a_spec_cannot_be_changed_from_outside():
    hierarchy = Hierarchy.groups(TREE)
    hierarchy.spec["tree"]["Europe"]["West"].append("XX")
    assert hierarchy.spec["tree"] == TREE


def test_the_json_schema_names_every_kind():
    schema = Step.model_json_schema()
    kinds = [one["properties"]["kind"]["const"] for one in
             schema["properties"]["hierarchies"]["additionalProperties"]["anyOf"][1:]]  # fmt: skip
    assert kinds == [
        "csv",
        "table",
        "groups",
        "intervals",
        "prefix",
        "dates",
        "order",
        "flat",
        "auto",
    ]


def test_hierarchies_are_copied_by_clone():
    hierarchy = Hierarchy.groups(TREE)
    assert clone(TopBottom(upper={"a": hierarchy})).upper == {"a": hierarchy}


# Showing ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("hierarchy", "text"),
    [
        (Hierarchy.intervals([5, 10], upper=90), "Hierarchy.intervals(widths=[5, 10], upper=90)"),
        (Hierarchy.prefix(), "Hierarchy.prefix()"),
        (Hierarchy.groups(TREE), "Hierarchy.groups(5 values, 3 levels)"),
        (Hierarchy.order([2], ["a", "b"]), "Hierarchy.order(2 values, 2 levels)"),
        (Hierarchy.from_spec("x.csv"), "Hierarchy.from_csv(path='x.csv', sep=';')"),
    ],
)
def test_repr(hierarchy, text):
    assert repr(hierarchy) == text


def test_a_tree_of_many_values_is_drawn_down_to_the_level_that_fits():
    ages = pa.array([i % 100 for i in range(1000)])
    lines = Hierarchy.intervals([10, 50]).show(ages, most=20).splitlines()
    assert lines[:4] == [
        "*  (1000 rows)",
        "  0-49  (500 rows)",
        "    0-9  (10 values, 100 rows)",
        "    10-19  (10 values, 100 rows)",
    ]
    assert len(lines) == 13
    assert Hierarchy.flat().show(ages, most=4).splitlines() == [
        "*  (1000 rows)", "  0  (10 rows)", "  1  (10 rows)", "  2  (10 rows)", "  ... 97 more"
    ]  # fmt: skip
