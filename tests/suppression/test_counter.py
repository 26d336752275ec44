"""Local suppression keeps what it promises, as an independent counter finds it: random tables."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pytest

import discreet
from discreet.errors import BadInput
from discreet.suppression import LocalSuppression
from tests.suppression.counter import Suppressed, cost, demands, found_for_certain, violations

FEW, ALL = 24, 2000


@dataclass
class Case:
    """A table and what is asked of it."""

    table: pd.DataFrame  # keys, and besides "ill" (a confidential column), "weight" and "unit"
    keys: list[str]
    asked: dict[str, Any]
    units: bool
    engine: str | None = None  # None: the estimator


def drawn(seed: int) -> Case:
    """Draw a case."""
    rng = np.random.default_rng(seed)
    n, q = int(rng.integers(5, 70)), int(rng.integers(2, 6))
    keys = [f"key{i}" for i in range(q)]
    table = pd.DataFrame({name: _cells(rng, n, number) for number, name in enumerate(keys)})
    table["ill"] = rng.choice(["flu", "gout", "none"], n)
    table["weight"] = rng.choice([1.0, 2.5, 40.0], n)
    units = bool(rng.random() < 0.3)
    # Units have some rows each; rows come in any order.
    table["unit"] = rng.permutation(np.sort(rng.integers(0, max(2, n // 2), n))) + 100
    if not units:
        table["unit"] = rng.permutation(n) + 100
    asked = _asked(rng, keys, int(table["unit"].nunique()), units)
    table.loc[table["unit"] == -1, "unit"] = 0
    simple = not {"privacy", "weight"} & asked.keys()
    engine = None if simple and rng.random() < 0.6 else "memory"
    return Case(table, keys, asked, units, engine)


def _cells(rng: np.random.Generator, n: int, number: int) -> pd.Series:
    """Draw cells of one of several kinds, few of which are common."""
    size = int(rng.integers(1, 8))
    shares = rng.dirichlet(np.full(size, rng.choice([0.3, 1.0])))
    codes = rng.choice(size, n, p=shares)
    nulls = rng.random(n) < rng.choice([0.0, 0.0, 0.1, 0.4])
    kinds = [
        lambda: pd.array(codes * 10, dtype="Int64"),
        lambda: codes / 4 - 0.25,
        lambda: np.array([f"v{code}" for code in codes], dtype=object),
        lambda: pd.array(codes % 2 == 0, dtype="boolean"),
        lambda: pd.Timestamp("2020-02-28") + pd.to_timedelta(codes, unit="D"),
    ]
    cells = pd.Series(kinds[number % len(kinds)]())
    return cells.mask(nulls)


def _asked(rng: np.random.Generator, keys: list[str], counted: int, units: bool) -> dict[str, Any]:
    k = int(rng.integers(2, max(3, min(7, counted))))
    reading = str(rng.choice(["value", "value", "own", "match"]))
    asked: dict[str, Any] = {"null_policy": reading}
    kinds = ["k", "k", "combinations", "both", "subsets", "sizes", "risk"]
    kinds += ["privacy", "individual", "suda"] if reading == "value" else []
    kind = str(rng.choice(kinds))
    if kind in ("k", "both", "subsets", "privacy"):
        asked["k"] = k
    if kind in ("combinations", "both"):
        asked["combinations"] = [
            {
                "columns": [
                    str(c) for c in rng.choice(keys, rng.integers(1, len(keys) + 1), False)
                ],
                "k": int(rng.integers(2, k + 2)),
            }
            for _ in range(rng.integers(1, 4))
        ]
    if kind == "subsets":
        asked["subsets"] = int(rng.integers(1, len(keys) + 1))
    if kind == "sizes":
        sizes = rng.choice(len(keys), rng.integers(1, min(3, len(keys)) + 1), False) + 1
        asked["subsets"] = {int(size): int(rng.integers(2, k + 2)) for size in sizes}
    if kind == "risk":
        asked["max_risk"] = float(rng.choice([0.5, 0.34, 0.25]))
    if kind == "privacy":
        asked["privacy"] = [{"model": "l-diversity", "l": 2, "column": "ill"}]
    if kind == "individual":
        asked |= {"max_risk": float(rng.choice([0.9, 0.3, 0.1])), "risk": "individual"}
        asked["weight"] = "weight"
    if kind == "suda":
        asked |= {"max_risk": float(rng.choice([0.5, 0.1, 0.02])), "risk": "suda"}
    return asked | _prices(rng, keys)


def _prices(rng: np.random.Generator, keys: list[str]) -> dict[str, Any]:
    """Draw what blanks cost, and where they may not be."""
    asked: dict[str, Any] = {}
    if rng.random() < 0.5:
        some = [str(c) for c in rng.permutation(keys)[: rng.integers(1, len(keys) + 1)]]
        weights = {name: float(rng.choice([0.5, 1.0, 3.0])) for name in some}
        asked["importance"] = weights if rng.random() < 0.5 else some
    if rng.random() < 0.3:
        asked["fixed"] = [str(rng.choice(keys))]
    if rng.random() < 0.3:
        asked["limit"] = {str(rng.choice(keys)): float(rng.choice([0.05, 0.2, 0.6]))}
    if rng.random() < 0.4:
        asked["record_cost"] = float(rng.choice([0.5, 1.5, 4.0]))
    # Without it there are as many moves as it takes, which is most of the time of these tests.
    if rng.random() < 0.9:
        asked["improve_moves"] = int(rng.choice([0, 50, 300]))
    return asked


def treated(case: Case) -> tuple[Suppressed, dict[str, Any]]:
    """Treat a table; also return what the method says of it."""
    if case.engine is None:
        method = LocalSuppression(**case.asked, columns=case.keys, random_state=7)
        units = case.table["unit"].to_numpy() if case.units else None
        after, gone = method.fit_transform(case.table, units=units), method.suppressed_mask_
        told = {"blanked": method.blanks_, "cost": method.cost_, "bound": method.bound_}
    else:
        roles = {"quasi": case.keys, "confidential": ["ill"], "rest": "drop"}
        roles |= {"unit": "unit"} if case.units else {"identifiers": ["unit"]}
        roles |= {"weight": "weight"} if "weight" in case.asked else {}
        asked = dict(case.asked)
        if isinstance(asked.get("subsets"), dict):
            asked["subsets"] = {str(size): k for size, k in asked["subsets"].items()}
        step = {"method": "local-suppression", "columns": case.keys, **asked}
        recipe = {"roles": roles, "steps": [step], "allow_leaks": case.keys, "seed": 2**70}
        release = discreet.protect(case.table, recipe)
        after, told = release.table, release.log["steps"][0]
        gone = after["ill"].isna().to_numpy()
    return (
        Suppressed(
            case.keys,
            _rows(case.table, case.keys),
            _rows(after, case.keys),
            case.asked,
            [bool(one) for one in gone],
            case.table["unit"].tolist() if case.units else None,
            {name: case.table[name].tolist() for name in ("ill", "weight")},
        ),
        told,
    )


def treated_or_refused(case: Case) -> tuple[Suppressed, dict[str, Any]] | str:
    """Treat a table, or return why it is refused."""
    try:
        return treated(case)
    except BadInput as error:
        return str(error)


def _rows(table: pd.DataFrame, keys: list[str]) -> list[list[Any]]:
    columns = [[None if pd.isna(cell) else cell for cell in table[name]] for name in keys]
    return [list(row) for row in zip(*columns, strict=True)]


def possible(case: Case) -> bool:
    """Tell whether it is plain that what is asked can be done."""
    held = case.table["unit"].nunique() if case.units else len(case.table)
    most = max((k for _, k in demands(case.keys, case.asked)), default=1)
    # Where leaving records out is cheap, all may be, which is refused.
    more = {"fixed", "limit", "privacy", "weight", "risk", "record_cost"}
    return most <= held and not more & case.asked.keys()


def verify(seeds: range) -> Counter[str]:
    """Treat the tables of some seeds, and count what became of them."""
    seen: Counter[str] = Counter()
    for seed in seeds:
        case = drawn(seed)
        made = treated_or_refused(case)
        if isinstance(made, str):
            assert not possible(case), (seed, made)
            seen["refused"] += 1
            continue
        found, told = made
        assert violations(found) == [], seed
        assert told["cost"] == pytest.approx(cost(found)), seed
        assert (told["bound"] or 0.0) <= told["cost"] + 1e-9, seed
        blanks = {
            name: sum(
                old[place] is not None and new[place] is None and not gone
                for old, new, gone in zip(found.before, found.after, found.gone, strict=True)
            )
            for place, name in enumerate(found.columns)
        }
        assert dict(told["blanked"]) == blanks, seed
        if "found_for_certain" in told:
            assert told["found_for_certain"] == found_for_certain(found), seed
        whole = dict(demands(found.columns, found.asked)).get(tuple(found.columns), 1) > 1
        if whole and found.asked["null_policy"] == "value":
            assert found_for_certain(found) == 0, seed
        seen[found.asked["null_policy"]] += 1
    return seen


def test_some_random_tables():
    seen = verify(range(FEW))
    assert seen["value"] > seen["own"] > 0
    assert seen["match"] > 0


@pytest.mark.slow
@pytest.mark.parametrize("part", range(10))
def test_2000_random_tables(part):
    size = ALL // 10
    seen = verify(range(part * size, (part + 1) * size))
    assert seen["refused"] < size / 2
