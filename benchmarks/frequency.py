"""Risk by frequencies: classes, wildcards, individual risk, SUDA2.

No peers: sdcMicro is R. Its figures on the same tasks, by its own clock, are in the goals' reasons.
"""

from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.rows import Case, row


def categories(n: int, columns: int, null_rate: float = 0.0) -> pa.Table:
    """Columns of 5, 8, 11, ... labels; at 8 columns nearly all tuples differ."""
    rng = np.random.default_rng(0)
    data = {}
    for i in range(columns):
        labels = np.array([f"label {j}" for j in range(5 + 3 * i)])
        cells = labels[rng.integers(0, len(labels), n)]
        data[f"c{i}"] = pa.array(cells, mask=rng.random(n) < null_rate)
    return pa.table(data)


@row("class sizes n=1e6 x 8", seconds=0.5, memory=True)
def _() -> Case:
    table = categories(1_000_000, 8)

    def ours() -> Any:
        from discreet.risk import class_sizes

        return class_sizes(table, table.column_names)

    def check(ours: Any, peer: Any) -> str:
        counts = table.group_by(table.column_names).aggregate([([], "count_all")])["count_all"]
        assert ours.classes == len(counts)
        assert ours.unique == int((counts.to_numpy() == 1).sum())
        return "equal to a group-by"

    return Case(ours=ours, check=check)


# sdcMicro's freqCalc takes 7.6 s for this.
@row("wildcard class sizes n=1e5 x 5, 2 % nulls", seconds=1.0, memory=True)
def _() -> Case:
    table = categories(100_000, 5, 0.02)

    def ours() -> Any:
        from discreet.risk import frequencies

        return frequencies(table, table.column_names, nulls="match").sample

    def check(ours: Any, peer: Any) -> str:
        from discreet.table.classes import encode_columns

        codes, _ = encode_columns(table, table.column_names)
        for i in np.random.default_rng(1).integers(0, 100_000, 50):
            mine = codes[:, i : i + 1]
            matches = ((codes == mine) | (codes < 0) | (mine < 0)).all(axis=0)
            assert ours[i] == matches.sum()
        return "50 records by hand"

    return Case(ours=ours, check=check)


# sdcMicro: 0.15 s.
@row("suda2 Adult, 6 keys", seconds=0.5)
def _() -> Case:
    from discreet.datasets import load_adult

    table = load_adult()
    keys = ["sex", "age", "race", "marital-status", "education", "workclass"]

    def ours() -> Any:
        from discreet.risk import suda2

        return suda2(table, keys, detail=True)

    def check(ours: Any, peer: Any) -> str:
        return f"{int((ours.scores > 0).sum())} scored, largest DIS {ours.value:.4f}"

    return Case(ours=ours, check=check)


@row("individual risk n=1e6 x 4, weights", seconds=1.0, memory=True)
def _() -> Case:
    table = categories(1_000_000, 4)
    weights = np.random.default_rng(0).uniform(1, 200, 1_000_000)

    def ours() -> Any:
        from discreet.risk import individual_risk

        return individual_risk(table, table.column_names, weight=weights)

    def check(ours: Any, peer: Any) -> str:
        assert ((ours > 0) & (ours <= 1)).all()
        return f"mean {ours.mean():.6f}"

    return Case(ours=ours, check=check)


@row("individual risk n=1e6 x 8, weights", seconds=1.0)
def _() -> Case:
    table = categories(1_000_000, 8)
    weights = np.random.default_rng(0).uniform(1, 200, 1_000_000)

    def ours() -> Any:
        from discreet.risk import individual_risk

        return individual_risk(table, table.column_names, weight=weights)

    return Case(ours=ours)
