"""Ten tables like those that new users brought, each with the recipe that they wrote for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyreadstat

from discreet import write_table
from discreet.datasets import make_episodes, make_households

# Anybody can run the recipes again and get the same page.
SEED = {"seed": 2**100 + 24, "order_seed": 2**100 + 24}
REGIONS = {
    "coast": ["Vessmark", "Ostara"],
    "plain": ["Lindholm", "Carrow", "Tamsin"],
    "hills": ["Pellmoor", "Durness", "Skerry"],
}
SEX = {1: "male", 2: "female"}
SCHOOL = {1: "none", 2: "primary", 3: "secondary", 4: "university"}


@dataclass(frozen=True)
class Case:
    """A table, its recipe, and what the page must say."""

    write: Callable[[Path], Path]
    recipe: Mapping[str, Any]
    says: tuple[str, ...]
    options: tuple[str, ...] = field(default=())


def _csv(make: Callable[[], Any]) -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        write_table(make(), folder / "in.csv")
        return folder / "in.csv"

    return write


def _people(n: int, seed: int) -> pd.DataFrame:
    """Make the columns that a small survey has, with codes where such files have them."""
    draw = np.random.RandomState(seed)
    age = draw.randint(16, 91, n)
    return pd.DataFrame(
        {
            "sex": draw.choice([1, 2], n),
            "age": age,
            "region": draw.choice([*chain(*REGIONS.values())], n, p=_falling(8)),
            "school": np.clip(draw.poisson(1.5, n) + 1, 1, 4),
            "income": np.round(draw.lognormal(7.5, 0.6, n), 2),
            "weight": np.round(draw.uniform(20, 90, n), 1),
        }
    )


def _falling(n: int) -> np.ndarray:
    """Give shares that fall, since a table has common and rare values."""
    share = 1 / np.arange(1, n + 1)
    return share / share.sum()


def _wages() -> pd.DataFrame:
    draw = np.random.RandomState(3)
    people = _people(900, 3)
    jobs = ["clerk", "cook", "driver", "nurse", "teacher", "welder", "judge", "pilot"]
    people["job"] = draw.choice(jobs, 900, p=_falling(8))
    people["wage"] = np.round(people.income * (1 + 0.3 * (people.job == "pilot")), 0)
    return people[["sex", "age", "job", "wage"]]


def _breaches() -> pd.DataFrame:
    draw = np.random.RandomState(4)
    states = [a + b for a in "ACIMNTW" for b in "AILNVXY"]
    kinds = ["hacking", "theft", "loss", "unauthorised access", "improper disposal"]
    places = ["server", "laptop", "paper", "email", "desktop", "portable", "network", "other"]
    return pd.DataFrame(
        {
            "state": draw.choice(states, 1100, p=_falling(len(states))),
            "type": draw.choice(kinds, 1100, p=_falling(5)),
            "location": draw.choice(places, 1100, p=_falling(8)),
            "affected": np.round(draw.lognormal(8, 2, 1100)),
            "submitted": pd.Timestamp("2015-01-01")
            + pd.to_timedelta(draw.randint(0, 3000, 1100), unit="D"),
        }
    )


def _spss(folder: Path) -> Path:
    people = _people(600, 5)[["sex", "age", "school", "income"]].astype(float)
    labels = {
        "sex": {float(k): v for k, v in SEX.items()},
        "school": {float(k): v for k, v in SCHOOL.items()},
    }
    pyreadstat.write_sav(people, folder / "in.sav", variable_value_labels=labels)
    return folder / "in.sav"


def _stata(folder: Path) -> Path:
    people = _people(600, 6)[["sex", "region", "school", "income"]]
    labels = {"sex": SEX, "school": SCHOOL}
    pyreadstat.write_dta(people, folder / "in.dta", variable_value_labels=labels)
    return folder / "in.dta"


def _companies() -> pd.DataFrame:
    draw = np.random.RandomState(7)
    size = draw.lognormal(3, 1.2, 800)
    return pd.DataFrame(
        {
            "employees": np.ceil(size),
            "turnover": np.round(size * draw.lognormal(4.5, 0.4, 800), 1),
            "exports": np.round(size * draw.lognormal(3, 0.9, 800), 1),
            "investment": np.round(size * draw.lognormal(2, 0.7, 800), 1),
        }
    )


def _wide() -> pd.DataFrame:
    draw = np.random.RandomState(8)
    people = _people(1000, 8)
    answers = {f"question {i + 1}": draw.randint(1, 6, 1000) for i in range(22)}
    return pd.concat([people, pd.DataFrame(answers)], axis=1)


def _illnesses() -> pd.DataFrame:
    """Make wards of a hospital, where one ward treats one illness."""
    draw = np.random.RandomState(9)
    people = _people(500, 9)
    ward = draw.choice(["A", "B", "C"], 500)
    other = draw.choice(["asthma", "ulcer", "gout", "flu"], 500)
    people["ward"] = ward
    people["illness"] = np.where(ward == "C", "cancer", other)
    return people[["sex", "ward", "illness"]]


def _generalize(privacy: list[dict[str, Any]], hierarchies: Mapping[str, Any], **more: Any) -> Any:
    step = {"method": "generalize", "columns": list(hierarchies), "privacy": privacy}
    return step | {"hierarchies": dict(hierarchies)} | more


_K5 = {"model": "k-anonymity", "k": 5}
_AGE = {"kind": "intervals", "widths": [5, 10, 20]}
_REGION = {"kind": "groups", "tree": REGIONS}
_AUTO = {"kind": "auto"}

CASES: dict[str, Case] = {
    # Region was * for all adults, and the terminal said "loss 0.179, the optimum".
    "household survey": Case(
        _csv(lambda: make_households(1500, seed=2)),
        {
            "roles": {
                "identifiers": ["name"],
                "quasi": ["region", "age", "sex", "education"],
                "confidential": ["income", "disease"],
                "household": "household_id",
                "release_household": False,
                "weight": "weight",
                "rest": "drop",
            },
            "counts": "households",
            "steps": [
                _generalize(
                    [_K5],
                    {"region": _REGION, "age": _AGE, "sex": _AUTO, "education": _AUTO},
                    local=True,
                ),
                {"method": "oma", "columns": ["income"], "k": 5},
            ],
        },
        ("PASS",),
    ),
    "clinical episodes": Case(
        _csv(lambda: make_episodes(600, seed=1)),
        {
            "roles": {
                "unit": "patient_id",
                "identifiers": ["clinic_name"],
                "quasi": ["sex", "birth_year", "visit_date"],
                "confidential": ["diagnosis", "cost"],
                "insensitive": ["days"],
            },
            "counts": "units",
            "steps": [
                _generalize(
                    [_K5, {"model": "l-diversity", "l": 2, "column": "diagnosis"}],
                    {
                        "sex": _AUTO,
                        "birth_year": {"kind": "intervals", "widths": [5, 10, 20]},
                        "visit_date": {"kind": "dates", "levels": ["month", "year"]},
                    },
                ),
                {"method": "oma", "columns": ["cost"], "k": 5},
            ],
        },
        ("PASS",),
    ),
    "wages": Case(
        _csv(_wages),
        {
            "roles": {"quasi": ["sex", "age", "job"], "confidential": ["wage"]},
            "steps": [
                _generalize([_K5], {"sex": _AUTO, "age": _AGE, "job": _AUTO}),
                {"method": "microaggregation", "columns": ["wage"], "k": 5},
            ],
        },
        ("PASS",),
    ),
    "breaches": Case(
        _csv(_breaches),
        {
            "roles": {
                "quasi": ["state", "type", "location"],
                "confidential": ["affected"],
                "rest": "drop",
            },
            "steps": [
                _generalize(
                    [_K5],
                    {"state": {"kind": "prefix"}, "type": _AUTO, "location": _AUTO},
                    suppression_limit=0.0,
                ),
                {"method": "oma", "columns": ["affected"], "k": 3},
            ],
        },
        ("PASS",),
    ),
    "an SPSS file": Case(
        _spss,
        {
            "roles": {"quasi": ["sex", "age", "school"], "confidential": ["income"]},
            "steps": [
                _generalize([_K5], {"sex": _AUTO, "age": _AGE, "school": _AUTO}),
                {"method": "oma", "columns": ["income"], "k": 5},
            ],
        },
        ("PASS",),
        ("--format", "sav,csv"),
    ),
    "a Stata file": Case(
        _stata,
        {
            "roles": {"quasi": ["sex", "region", "school"], "confidential": ["income"]},
            "steps": [
                {"method": "local-suppression", "columns": ["sex", "region", "school"], "k": 10},
                {"method": "oma", "columns": ["income"], "k": 5},
            ],
        },
        ("PASS",),
        ("--format", "dta"),
    ),
    # Noise and swapping: classes of equal values mean nothing, and the page has to say what does.
    "companies": Case(
        _csv(_companies),
        {
            "roles": {
                "quasi": ["employees", "turnover", "exports"],
                "confidential": ["investment"],
            },
            "steps": [
                {"method": "rank-swap", "columns": ["employees", "turnover", "exports"], "p": 8},
                {"method": "noise", "columns": ["investment"], "scale": 0.2},
            ],
        },
        ("FAIL",),
    ),
    "28 columns": Case(
        _csv(_wide),
        {
            "roles": {
                "quasi": ["sex", "age", "region", "school"],
                "confidential": ["income"],
                "insensitive": [f"question {i + 1}" for i in range(22)],
                "weight": "weight",
            },
            "steps": [
                _generalize([_K5], {"sex": _AUTO, "age": _AGE, "region": _REGION, "school": _AUTO}),
                {"method": "oma", "columns": ["income"], "k": 5},
            ],
        },
        ("PASS",),
    ),
    # Every class has five members, and all of ward C have the same illness.
    "a shared secret": Case(
        _csv(_illnesses),
        {
            "roles": {"quasi": ["sex", "ward"], "confidential": ["illness"]},
            "steps": [_generalize([_K5], {"sex": _AUTO, "ward": _AUTO})],
        },
        ("PASS", "illness: in some class all have the same value"),
    ),
    # Rounding alone, where people are still alone with their keys.
    "rounded only": Case(
        _csv(lambda: _people(700, 10)),
        {
            "roles": {
                "quasi": ["sex", "age", "region", "school"],
                "confidential": ["income"],
                "weight": "weight",
                "untouched": ["sex", "region", "school"],
            },
            "steps": [
                {"method": "equal-width", "columns": ["age"], "n_points": 10},
                {"method": "oma", "columns": ["income"], "k": 5},
            ],
        },
        ("FAIL",),
    ),
}
