"""Utility, and the whole assessment of a large release."""

from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.rows import Case, row

ROLES = {
    "quasi": ["age", "c0", "c1", "c2"],
    "confidential": ["x0", "x1", "c3"],
    "insensitive": ["x2", "x3", "x4", "x5", "c4"],
    "household": "home",
    "weight": "weight",
}


def release(n: int) -> tuple[pa.Table, pa.Table]:
    """14 columns before, and after rounding the numbers and joining two categories."""
    rng = np.random.default_rng(0)
    before: dict[str, Any] = {"age": rng.integers(18, 95, n)}
    for i in range(6):
        before[f"x{i}"] = rng.lognormal(3, 1, n).round(2)
    for i in range(5):
        labels = np.array([f"label {j}" for j in range(4 + 6 * i)])
        before[f"c{i}"] = labels[rng.integers(0, len(labels), n)]
    before |= {"home": rng.integers(0, n // 3 + 1, n), "weight": rng.uniform(1, 100, n)}
    after = {name: column for name, column in before.items() if name != "weight"}
    after["age"] = before["age"] // 5 * 5
    for i in range(6):
        after[f"x{i}"] = (before[f"x{i}"] / 5).round() * 5
    after["c2"] = np.where(before["c2"] == "label 3", "label 4", before["c2"])
    return pa.table(before), pa.table(after)


@row("assess n=1e6 x 14, without linkage", seconds=3.0, memory=True)
def _() -> Case:
    before, after = release(1_000_000)

    def ours() -> Any:
        from discreet import assess

        return assess(before, after, ROLES)

    return Case(ours=ours)


@row("il_metrics n=1e6 x 6", memory=True)
def _() -> Case:
    before, after = release(1_000_000)
    columns = [f"x{i}" for i in range(6)]

    def ours() -> Any:
        from discreet.utility import il_metrics

        return il_metrics(before.select(columns), after.select(columns))

    return Case(ours=ours)
