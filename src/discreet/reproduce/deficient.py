"""The experiments of "Enhanced ARX anonymization: (K, R_n^N)-anonymity": records with nulls."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from discreet import datasets, utility
from discreet.generalization import Generalize, Hierarchy, KAnonymity, Mondrian
from discreet.generalization.quality import QualityName
from discreet.reproduce import data
from discreet.reproduce.results import Chart, Figure, Piece, averaged, paper_figures
from discreet.tuning.lattice import Best, EveryNode

QUALITIES: dict[str, QualityName] = {
    "Loss": "loss",
    "Precision": "precision",
    "NUE": "nue",
    "NNUE": "nnue",
    "DM": "discernibility",
    "AEC": "average-class",
    "AM": "ambiguity",
    "EBM": "entropy-based",
}
PAPER = "Enhanced ARX anonymization: (K, R_n^N)-anonymity"
SEEDS = 3
SIZES = range(2, 21, 2)
# Matching takes seconds for each k; these have the mean of all.
MATCHED = (2, 8, 14, 20)
SUM_LOSS, GONE = "sum loss", "suppressed records"
MATCH = "match at k = 2 8 14 20"
NULL_RECORDS = range(100, 1001, 100)
QUASI = [
    "sex",
    "age",
    "race",
    "marital-status",
    "education",
    "native-country",
    "workclass",
    "occupation",
]
# By quantity the tables of the first, the second and the last four quality models.
_TABLES = {
    "SRC": dict.fromkeys(("Loss", "Precision"), "3")
    | dict.fromkeys(("NUE", "NNUE"), "6")
    | dict.fromkeys(("DM", "AEC", "AM", "EBM"), "9"),
}
_TABLES["NVIr"] = {quality: str(int(t) + 1) for quality, t in _TABLES["SRC"].items()}
_TABLES["NVRr"] = {quality: str(int(t) + 2) for quality, t in _TABLES["SRC"].items()}
_WHAT = {
    "SRC": "suppressed records (SRC)",
    "NVIr": "share of null cells (NVIr)",
    "NVRr": "share of records with a null (NVRr)",
}
TITLES = {
    "1": "Eight patients, K = 2: what is null or *",
    **{
        table: f"Adult, {_WHAT[quantity]}, mean over k = 2, 4, ... 20: "
        + ", ".join(q for q, t in _TABLES[quantity].items() if t == table)
        for table, quantity in sorted(
            {(t, quantity) for quantity, of in _TABLES.items() for t in of.values()},
            key=lambda pair: int(pair[0]),
        )
    },
    "Precept 2": "Adult with 1,000 nulls: suppressed records against information loss",
    "local": "Adult with 1,000 nulls, k = 10: sum loss",
    "search": "Adult: nodes of the whole lattice tried, against Generalize",
}
CHARTS = [
    Chart("3", ("SRC",), "Adult: suppressed records", "N", ("Loss", "Precision")),
    Chart("6", ("SRC",), "Adult: suppressed records", "N", ("NUE", "NNUE")),
    Chart("9", ("SRC",), "Adult: suppressed records", "N", ("DM", "AEC", "AM", "EBM")),
    Chart(
        "Precept 2",
        (SUM_LOSS,),
        "Precept 2: information loss against suppressed records",
        GONE,
        ("value", "segregate"),
        "points",
    ),
]
# What the paper calls these baselines, where it does not say that a null is a value.
NAMED = {"Loss": "suppress", "DM": "suppress", "Precision": MATCH, "NUE": MATCH}
ENHANCED = "enhanced Mondrian"
AS_IT_IS, CELLS = "the table as it is", "null or *"
FOUR = "NVIr, |Q| = 4"
PATIENTS = {
    "age": [14, 18, 25, 26, None, 37, None, 48],
    "zip": [632002, 632006, None, None, 632007, 632009, 632012, 632014],
}

Key = tuple[str, str]
Rates = dict[str, float]


def pieces(seeds: int = SEEDS) -> list[Piece]:
    """Return the parts of the experiment."""
    tables = tuple(t for t in TITLES if t.isdigit() and t != "1")
    return [
        Piece("eight patients", ("1",), patients),
        *(Piece(f"Adult, {n} nulls", (*tables, "search"), adult, (n, seeds)) for n in NULL_RECORDS),
        Piece("Adult, loss against SRC", ("Precept 2",), precept),
        Piece("Adult, local recoding", ("local",), local),
    ]


def patients() -> Iterator[Figure]:
    """Table 1's example, by four ways to cut."""
    table = pd.DataFrame(PATIENTS).astype("Int64")
    ways: dict[str, dict[str, Any]] = {
        "contaminated Mondrian": {"null_policy": "contaminate"},
        "enhanced Mondrian": {"null_policy": "value", "enhanced": True},
        "semi-partition": {"null_policy": "semi-partition", "strict": False},
        "segregated, enhanced Mondrian": {"null_policy": "segregate", "enhanced": True},
    }
    yield from _lost(AS_IT_IS, table.isna().to_numpy())
    for name, parameters in ways.items():
        released = Mondrian([KAnonymity(2)], **parameters).fit_transform(table)
        yield from _lost(name, (released.isna() | (released == "*")).to_numpy())


def _lost(name: str, empty: np.ndarray) -> Iterator[Figure]:
    """Count the cells that are null or *, and give their shares in percent."""
    given = paper_figures("deficient", "table", "policy", "quantity")
    cells = int(empty.sum())
    measured = {
        CELLS: float(cells),
        "% of the 16 cells": 100 * cells / empty.size,
        "% of the 8 records": 100 * float(empty.any(axis=1).mean()),
        # The disease is no quasi-identifier, and always there.
        "% of all 24 cells": 100 * cells / (empty.size + len(empty)),
    }
    for quantity, value in measured.items():
        yield Figure("1", name, "", quantity, given.get(("1", name, quantity)), value)


@dataclass(frozen=True)
class Nulled:
    """Adult with one quasi-identifier cell nulled in some records."""

    table: pa.Table
    codes: np.ndarray
    maps: list[np.ndarray]
    nulls: np.ndarray


@cache
def _adult() -> tuple[pa.Table, dict[str, Hierarchy]]:
    frame = data.reference("Adult")[QUASI]
    paths = datasets.adult_hierarchy_paths()
    hierarchies = {name: Hierarchy.from_csv(paths[name]) for name in QUASI}
    return pa.Table.from_pandas(frame, preserve_index=False), hierarchies


def nulled(records: int, seed: int) -> Nulled:
    """Null one random quasi-identifier cell in some random records of Adult."""
    table, hierarchies = _adult()
    rng = np.random.default_rng([records, seed])
    rows = rng.choice(table.num_rows, records, replace=False)
    nulls = np.zeros((table.num_rows, len(QUASI)), bool)
    nulls[rows, rng.integers(0, len(QUASI), records)] = True
    columns, codes, maps = [], [], []
    for a, name in enumerate(QUASI):
        value = table[name].combine_chunks()
        column = pa.array(value.to_numpy(zero_copy_only=False), value.type, mask=nulls[:, a])
        ladder, code = hierarchies[name].bind_and_encode(column, name)
        levels = np.asarray(ladder.maps)
        if nulls[:, a].any():
            # A null stays itself below the top.
            itself = [*(row.max() + 1 for row in levels[:-1]), 0]
            levels = np.column_stack([levels, itself])
            code = np.where(nulls[:, a], levels.shape[1] - 1, code)
        columns.append(column)
        codes.append(code)
        maps.append(levels)
    return Nulled(pa.table(columns, names=QUASI), np.column_stack(codes), maps, nulls)


def adult(records: int, seeds: int) -> Iterator[Figure]:
    """Tables 3 to 11, one number of records with nulls: means over k, then over seeds."""
    given = paper_figures("deficient", "table", "null_records", "policy", "quality", "quantity")
    runs: dict[Key, list[Rates]] = {}
    compared: list[Rates] = []
    for seed in range(seeds):
        table = nulled(records, seed)
        grid = Grid(table)
        rates = grid.rates()
        if seed == 0:
            rates |= _named(table)
        for key, by_size in rates.items():
            mean = {name: float(np.mean([r[name] for r in by_size])) for name in by_size[0]}
            runs.setdefault(key, []).append(mean)
        compared.append(_compare(table, grid, records // 100 + 3 * seed))
    for (quality, policy), found in runs.items():
        proposed = policy in ("segregate", ENHANCED)
        for quantity, tables in _TABLES.items():
            number = tables[quality]
            column = "segregate" if proposed else "baseline"
            value = given[number, str(records), column, quality, quantity]
            paper = {quantity: value} | ({FOUR: value} if quantity == "NVIr" else {})
            chosen = [{name: rates[name] for name in paper} for rates in found]
            series = f"{quality}, {policy}"
            yield from averaged(number, series, f"N = {records}", chosen, paper, records)
    total = {name: sum(one[name] for one in compared) for name in compared[0]}
    yield from averaged("search", "Adult", f"N = {records}", [total], {})


class Grid:
    """The best nodes of a table for every k and quality model, under `value` and `segregate`."""

    def __init__(self, given: Nulled) -> None:
        self.given = given
        self.with_null = np.asarray(given.nulls.any(axis=1))
        self.whole = EveryNode(given.codes, given.maps, SIZES)
        self.complete = EveryNode(given.codes[~self.with_null], given.maps, SIZES)
        self.deficient = EveryNode(given.codes[self.with_null], given.maps, SIZES)
        # By quality model, then by k.
        self.cells = [(quality, k) for quality in QUALITIES for k in SIZES]
        self.value, complete, deficient = (
            [_best(tried, *cell) for cell in self.cells]
            for tried in (self.whole, self.complete, self.deficient)
        )
        self.segregated = list(zip(complete, deficient, strict=True))

    def rates(self) -> dict[Key, list[Rates]]:
        """Return the null rates by quality model and policy, one entry for each k."""
        found: dict[Key, list[Rates]] = {}
        for (quality, k), best in zip(self.cells, self.value, strict=True):
            gone = self.whole.suppressed_rows(best.levels, k)
            rates = _rates(self.given, gone, best.levels)
            found.setdefault((quality, "value"), []).append(rates)
        for (quality, k), (one, other) in zip(self.cells, self.segregated, strict=True):
            gone = np.zeros(len(self.with_null), bool)
            gone[~self.with_null] = self.complete.suppressed_rows(one.levels, k)
            if NAMED.get(quality) == "suppress":
                rates = _rates(self.given, gone | self.with_null, one.levels)
                found.setdefault((quality, "suppress"), []).append(rates)
            gone[self.with_null] = self.deficient.suppressed_rows(other.levels, k)
            rates = _rates(self.given, gone, other.levels)
            found.setdefault((quality, "segregate"), []).append(rates)
        return found


def _best(tried: EveryNode, quality: str, k: int) -> Best:
    best = tried.best(k, QUALITIES[quality], aggregate="sum")
    assert best is not None, "no limit on suppression"
    return best


def _generalized(given: Nulled, quality: str, k: int, policy: Any) -> Generalize:
    return Generalize(
        _adult()[1],
        [KAnonymity(k)],
        QUALITIES[quality],
        aggregate="sum",
        suppression_limit=1.0,
        null_policy=policy,
    ).fit(given.table)


def _named(given: Nulled) -> dict[Key, list[Rates]]:
    """Run what the paper's column names say: extended match, and enhanced Mondrian."""
    found: dict[Key, list[Rates]] = {}
    for quality in (quality for quality, policy in NAMED.items() if policy == MATCH):
        for k in MATCHED:
            method = _generalized(given, quality, k, "match")
            levels = list(method.levels_[0]["levels"].values())
            rates = _rates(given, method.suppressed_mask_, levels)
            found.setdefault((quality, MATCH), []).append(rates)
    for k in SIZES:
        mondrian = Mondrian([KAnonymity(k)], enhanced=True, null_policy="value")
        released = mondrian.fit_transform(given.table)
        rates = _null_rates(given, released, mondrian.suppressed_mask_)
        found.setdefault(("AEC", ENHANCED), []).append(rates)
    return found


def _compare(given: Nulled, grid: Grid, number: int) -> Rates:
    """Compare `Generalize`'s search with trying all nodes; a different cell each time."""
    i = (13 * number) % len(grid.value)
    (quality, k), best, pair = grid.cells[i], grid.value[i], grid.segregated[i]
    equal = 0
    for policy, nodes in (("value", [best]), ("segregate", pair)):
        method = _generalized(given, quality, k, policy)
        levels = [tuple(one["levels"].values()) for one in method.levels_]
        gone = sum(node.suppressed for node in nodes)
        equal += levels == [node.levels for node in nodes] and method.suppressed_ == gone
    return {"cells searched": 2.0, "equal": float(equal)}


def precept() -> Iterator[Figure]:
    """Precept 2: SRC and the sum loss of the releases that are best for each model and k."""
    given = nulled(NULL_RECORDS[-1], 0)
    grid = Grid(given)
    together, apart = np.zeros(len(given.nulls), np.int64), grid.with_null.astype(np.int64)
    cells = [(quality, k) for quality in QUALITIES for k in SIZES]
    for (quality, k), best, (one, other) in zip(cells, grid.value, grid.segregated, strict=True):
        for policy, group, levels in (
            ("value", together, [best.levels]),
            ("segregate", apart, [one.levels, other.levels]),
        ):
            gone = _small(given, levels, group, k)
            loss = _sum_loss(given, gone, levels, group)
            yield from _release(f"{quality}, {policy}", k, gone, loss)


def _small(given: Nulled, levels: Sequence[Sequence[int]], group: np.ndarray, k: int) -> np.ndarray:
    """Mark the records whose class, within its group, has fewer than k."""
    words = group.copy()
    for a, ladder in enumerate(given.maps):
        labels = np.array([ladder[of[a]] for of in levels])[group, given.codes[:, a]]
        words = words * ladder.shape[1] + labels
    _, classes, counts = np.unique(words, return_inverse=True, return_counts=True)
    small: np.ndarray = counts[classes] < k
    return small


def _release(series: str, k: int, gone: np.ndarray, loss: float) -> Iterator[Figure]:
    run = {GONE: float(gone.sum()), SUM_LOSS: loss}
    yield from averaged("Precept 2", series, f"k = {k}", [run], {}, k)


def _sum_loss(
    given: Nulled, gone: np.ndarray, levels: Sequence[Sequence[int]], group: np.ndarray
) -> float:
    """Sum the loss of the columns, where each group of records has its own levels."""
    n, total = len(gone), 0.0
    for a, ladder in enumerate(given.maps):
        leaves = ladder.shape[1]
        # By group and leaf: the share of the leaves that its label stands for.
        shares = np.array([np.bincount(row)[row] for row in (ladder[x[a]] for x in levels)])
        share = np.where(gone, 1.0, shares[group, given.codes[:, a]] / leaves)
        total += max(0.0, (share.sum() - n / leaves) / (n - n / leaves))
    return float(total)


def local() -> Iterator[Figure]:
    """Recode locally, which the paper does not: what is suppressed is generalized again."""
    given = nulled(1000, 0)
    for name, policy, recode in (
        ("a null is a value", "value", False),
        ("segregated", "segregate", False),
        ("segregated by pattern", "pattern", False),
        ("segregated, local recoding", "segregate", True),
        ("segregated by pattern, local recoding", "pattern", True),
    ):
        method = Generalize(
            _adult()[1],
            [KAnonymity(10)],
            aggregate="sum",
            suppression_limit=1.0,
            null_policy="value" if policy == "value" else "segregate",
            segregate="pattern" if policy == "pattern" else "any",
            local=recode,
        ).fit(given.table)
        run = {SUM_LOSS: method.quality_, GONE: float(method.suppressed_)}
        yield from averaged("local", name, "", [run], {})


def _rates(given: Nulled, suppressed: np.ndarray, levels: Sequence[int]) -> Rates:
    """SRC, NVIr and NVRr of a release: a null that went to the top of its hierarchy is a `*`."""
    top = np.array(levels) == [len(m) - 1 for m in given.maps]
    nothing = np.zeros(len(suppressed), np.int8)
    released = {q: pa.array(nothing, mask=given.nulls[:, a] & ~top[a]) for a, q in enumerate(QUASI)}
    return _null_rates(given, pa.table(released), suppressed)


def _null_rates(given: Nulled, released: pa.Table, suppressed: np.ndarray) -> Rates:
    # By the paper's definition a * counts too, but its tables fit this.
    rates = utility.null_rates(
        given.table, released, QUASI, suppressed=suppressed, stars="value", detail=True
    )
    return {
        "SRC": float(rates.suppressed),
        "NVIr": rates.value,
        # The same cells, divided by half as many: what fits the paper's figures.
        FOUR: rates.value * len(QUASI) / 4,
        "NVRr": rates.records,
    }
