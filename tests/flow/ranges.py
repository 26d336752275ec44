"""Columns with too many values for one summary, though they have few."""

from discreet.engines.duckdb import DuckDBFrame
from discreet.flow import counting


def count_by_ranges(monkeypatch, most):
    """Count columns of more than so many values by ranges, each of a quarter of that.

    DuckDB returns a million values at a time, so that all values of a small table are one range.
    """
    monkeypatch.setattr(counting, "MOST_VALUES", most)
    at_once, some = DuckDBFrame.values, most // 4

    def values(frame, column):
        for found, counts in at_once(frame, column):
            for start in range(0, len(counts), some):
                yield found.slice(start, some), counts[start : start + some]

    monkeypatch.setattr(DuckDBFrame, "values", values)
