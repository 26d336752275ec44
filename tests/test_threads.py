"""Threads are started for work that is worth them, and results come in order."""

import threading

import pytest

from discreet import threads
from discreet.threads import over_ranges, spread


@pytest.fixture(autouse=True)
def two_cores(monkeypatch):
    monkeypatch.setattr(threads, "cores", lambda: 2)


def here(*_):
    return threading.current_thread() is threading.main_thread()


@pytest.mark.parametrize("items", [0, 1, 2, 7])
def test_one_item_is_worked_on_where_it_is_asked_for(items):
    assert list(spread(here, ((i,) for i in range(items)))) == [items == 1] * items


def test_items_are_taken_as_they_are_worked_on():
    taken = []
    results = spread(pow, ((taken.append(i) or i, 2) for i in range(100)))
    assert next(results) == 0
    assert len(taken) <= 3
    assert list(results) == [i**2 for i in range(1, 100)]


@pytest.mark.parametrize(("rows", "alone"), [(None, False), (10, True), (10**6, False)])
def test_columns_of_few_rows_are_worked_on_where_they_are_asked_for(rows, alone):
    assert over_ranges(here, 3, 1, rows) == [alone] * 3
