"""Mondrian on Adult and on a million records.

Peer, for development only: anonypy, pure Python over pandas.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.rows import Case, growth, row

SIZES = {
    "sex": 2, "age": 74, "race": 5, "marital-status": 7, "education": 16, "native-country": 41,
    "workclass": 7, "occupation": 14,
}  # fmt: skip


def adult(n: int | None = None) -> pa.Table:
    from discreet.datasets import load_adult

    return load_adult().slice(0, n)


def skewed(n: int) -> pa.Table:
    """Integers, as many values as Adult's columns have, low ones more often; no column helps."""
    rng = np.random.default_rng(0)
    return pa.table({c: (rng.random(n) ** 3 * size).astype(np.int32) for c, size in SIZES.items()})


def treated(table: pa.Table, privacy: Any, **parameters: Any) -> Any:
    from discreet.generalization.mondrian import Mondrian

    return Mondrian(privacy, **parameters).fit(table)


def width(values: Mapping[str, Any], classes: Any) -> float:
    """Mean over records and columns of the share of the column's range or values in the class."""
    total = 0.0
    for column in values.values():
        distinct, codes = np.unique(column, return_inverse=True)
        number = distinct.dtype.kind in "if"
        for rows in classes:
            held = np.unique(codes[rows])
            wide = (
                np.ptp(distinct[held]) / np.ptp(distinct)
                if number
                else (held.size - 1) / (distinct.size - 1)
            )
            total += wide * len(rows)
    return total / sum(map(len, classes)) / len(values)


@row("Adult, the first 2,000, k=5", peer="anonypy", goal=100.0)
def _() -> Case:
    from discreet.generalization.models import KAnonymity

    table = adult(2_000)
    names = list(SIZES)
    frame = table.to_pandas()
    for name in names:
        if name != "age":
            frame[name] = frame[name].astype("category")

    def peer() -> Any:
        from anonypy.anonypy import Preserver

        preserver = Preserver(frame, names, "salary-class")
        preserver.anonymize_k_anonymity(5)
        return preserver

    def check(ours: Any, theirs: Any) -> str:
        values = {name: table[name].to_numpy() for name in names}
        own = [np.flatnonzero(ours.classes_ == c) for c in range(len(ours.plan_["sizes"]))]
        assert min(map(len, own)) >= 5
        wide, other = width(values, own), width(values, theirs.modrian.partition(5))
        assert wide <= other, f"{wide:.3f} wide, the peer {other:.3f}"
        return f"width {wide:.3f}, peer {other:.3f}"

    return Case(ours=lambda: treated(table, KAnonymity(5), columns=names), peer=peer, check=check)


def hierarchies() -> dict[str, Any]:
    from discreet.datasets import adult_hierarchy_paths
    from discreet.generalization import Hierarchy

    paths = adult_hierarchy_paths()
    return {name: Hierarchy.from_csv(paths[name]) for name in SIZES}


def models(name: str) -> list[Any]:
    from discreet.generalization.models import KAnonymity, LDiversity, TCloseness

    more: dict[str, list[Any]] = {
        "k": [],
        "k, entropy l=1.5": [LDiversity(1.5, column="salary-class", kind="entropy")],
        "k, t=0.2": [TCloseness(0.2, column="salary-class")],
    }
    return [KAnonymity(5), *more[name]]


for strict in (True, False):
    for name in ("k", "k, entropy l=1.5", "k, t=0.2"):

        @row(
            f"Adult with hierarchies, k=5, {'strict' if strict else 'relaxed'}, {name}", seconds=0.3
        )
        def _(name: str = name, strict: bool = strict) -> Case:
            table, trees, privacy = adult(), hierarchies(), models(name)
            return Case(
                ours=lambda: treated(table, privacy, hierarchies=trees, strict=strict),
                check=lambda ours, _: f"{len(ours.plan_['sizes']):,} classes",
            )


def from_codes(n: int, k: int, strict: bool = True) -> Case:
    """Count tuples and cut, without reading values and without writing labels."""
    from discreet.generalization._axes import in_order
    from discreet.generalization._groups import Group
    from discreet.generalization._partition import Partition
    from discreet.generalization.models import KAnonymity
    from discreet.generalization.privacy import bind

    table = skewed(n)
    axes = {name: in_order(table[name], name) for name in table.column_names}
    bound = bind([KAnonymity(k)], {}, n)

    def ours() -> Partition:
        parts = Partition(axes, bound, strict=strict)
        parts.cut(Group("all", None, n, n))
        return parts

    def check(parts: Partition, _: Any) -> str:
        sizes = np.bincount(parts.by_row(parts.classes))
        assert sizes.min() >= k
        return f"{len(sizes):,} classes"

    return Case(ours=ours, check=check)


for k in (5, 50):
    for strict in (True, False):

        @row(f"n=1e6 from codes, k={k}, {'strict' if strict else 'relaxed'}", seconds=1.0)
        def _(k: int = k, strict: bool = strict) -> Case:
            return from_codes(1_000_000, k, strict)


@row("n=1e6 from a table to a table, k=5", memory=True)
def _() -> Case:
    from discreet.generalization.models import KAnonymity

    table = skewed(1_000_000)
    return Case(ours=lambda: treated(table, KAnonymity(5)))


@growth("k=5 from codes, cost against n", sizes=(10_000, 100_000, 1_000_000))
def _(n: int) -> Case:
    return from_codes(n, 5)
