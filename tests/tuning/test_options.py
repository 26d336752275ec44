"""The ways to treat one column."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from discreet.flow.protection import prepare
from discreet.generalization import Hierarchy
from discreet.recipe import Recipe
from discreet.tuning.options import KEPT, REMOVED, column_options
from discreet.tuning.space import Option, Part, Space

N = 400
DRAWS = np.random.default_rng(1)
DAYS = [datetime.date(1950, 1, 1) + datetime.timedelta(int(d)) for d in DRAWS.integers(0, 9000, N)]
PAY = [None if i % 20 == 0 else float(x) for i, x in enumerate(DRAWS.lognormal(10, 1, N).round())]
COLUMNS: dict[str, Any] = {
    "born": pa.array(DAYS),
    "seen": pa.array(DAYS).cast(pa.timestamp("us", "UTC")),
    "stay": pa.array(DRAWS.integers(0, 90_000, N), pa.duration("s")),
    "flag": pa.array([None, True, False, True] * (N // 4)),
    "code": pa.array(DRAWS.integers(1, 7, N)),
    "age": pa.array(DRAWS.integers(17, 91, N)),
    "pay": pa.array(PAY),
    "gain": pa.array(DRAWS.integers(0, 2, N) * DRAWS.integers(1, 90_000, N)),
    "town": pa.array([f"town {i}" for i in DRAWS.integers(0, 40, N)]),
    "grade": pa.DictionaryArray.from_arrays(
        pa.array(DRAWS.integers(0, 8, N), pa.int8()), [f"g{i}" for i in range(8)], ordered=True
    ),
}


def options_of(name: str, **more: Any) -> tuple[Option, ...]:
    return column_options(pa.chunked_array([COLUMNS[name]]), name, **more)


def methods_of(options: tuple[Option, ...]) -> set[tuple[str, ...]]:
    return {tuple(step["method"] for step in option.steps) for option in options}


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.filterwarnings("ignore")
def test_the_flow_takes_every_option_of_every_kind(name: str) -> None:
    options = options_of(name)
    assert (options[0], options[-1]) == (KEPT, REMOVED)
    table = pa.table({name: COLUMNS[name], "other": COLUMNS["town"]})
    base = {"roles": {"quasi": [name], "insensitive": ["other"], "rest": "drop"}}
    space = Space((Part((name,), options),), base)
    # The weakest, the strongest, and some between: all methods that there are.
    for place in sorted({*range(0, len(options), 5), len(options) - 2}):
        release = prepare(table, Recipe.from_dict(space.recipe((place,))), "memory")
        assert release.finished.num_rows == N


def test_options_are_told_apart_by_their_words() -> None:
    for name in COLUMNS:
        words = [option.words for option in options_of(name)]
        assert len(set(words)) == len(words)


def test_strengths_of_a_method_come_from_weak_to_strong() -> None:
    options = options_of("pay", scored=True)
    steps = [option.steps[0] for option in options if len(option.steps) == 1]
    for method, key in (("oma", "k"), ("rank-swap", "p")):
        fixed = [s[key] for s in steps if s["method"] == method and "window" not in s]
        assert fixed == sorted(fixed)
        assert len(fixed) >= 5


def test_numbers_are_averaged_and_swapped_and_categories_drawn_anew() -> None:
    numbers = methods_of(options_of("pay"))
    chains = {("oma", "rank-swap"), ("noise", "rank-swap")}
    assert {("oma",), ("noise",), ("rank-swap",), *chains} <= numbers
    assert ("pram",) not in numbers
    assert methods_of(options_of("town")) == {(), ("pram",)}


def test_numbers_of_few_values_and_those_with_a_list_of_groups_are_categories() -> None:
    assert methods_of(options_of("code")) == {(), ("pram",), ("generalize",)}
    groups = Hierarchy.order([10, 20])
    assert methods_of(options_of("age", hierarchy=groups, coded=True)) == methods_of(
        options_of("code")
    )


def test_levels_are_said_as_a_person_would() -> None:
    def said(name: str) -> list[str]:
        return [o.words for o in options_of(name) if o.steps and "levels" in o.steps[0]]

    assert said("age") == [f"in {width}-year groups" for width in (5, 10, 20, 40)]
    assert said("born") == ["by month", "by quarter", "by year", "by decade"]
    assert said("grade") == ["in 4 broader groups", "in 2 broader groups"]


def test_a_value_that_many_share_is_not_averaged() -> None:
    [five] = [o.steps[0] for o in options_of("gain") if o.steps and o.steps[0].get("k") == 5]
    assert five["spikes"] == "keep"


@pytest.mark.parametrize("cells", [["x"] * 9, [None] * 9])
def test_a_column_of_one_value_has_one_option(cells: list[Any]) -> None:
    assert column_options(pa.chunked_array([pa.array(cells, pa.string())]), "one") == (KEPT,)


def test_where_rows_are_linked_averages_promise_nothing() -> None:
    steps = [s for o in options_of("pay", promise=False) for s in o.steps if s["method"] == "oma"]
    assert steps
    assert not any(step["promise"] for step in steps)
