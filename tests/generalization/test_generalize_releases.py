"""Generalization by recipe: releases pass their check, and forged ones do not."""

from collections import Counter

import numpy as np
import pandas as pd
import pytest

import discreet
from tests.generalization.test_generalize import recipe, with_nulls
from tests.generalization.test_search import ADULT


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"local": True},
        {"segregate": "pattern"},
        {"null_policy": "suppress"},
        {"null_policy": "value"},
        {"null_policy": "match", "privacy": [{"model": "k-anonymity", "k": 10}]},
        {"null_policy": "match"},
    ],
    ids=str,
)
def test_a_release_passes_its_check(options, tmp_path):
    # Rounds sort records: what is left to the last ones is unlike the rest, and salaries tell.
    allowed = {"allow_leaks": ADULT} if "local" in options else {}
    release = discreet.protect(with_nulls(100, rows=2000), recipe(**options) | allowed)
    assert release.check.verified
    released = release.table.dropna(subset=["salary-class"])
    counts = Counter(released[ADULT].fillna("?").itertuples(index=False, name=None))
    assert (min(counts.values()) >= 10) == (options.get("null_policy") != "match")
    release.save(tmp_path / "release")
    assert discreet.Recipe.load(tmp_path / "release" / "internal" / "recipe.toml").steps


@pytest.fixture(scope="module")
def small_release(tmp_path_factory):
    """Records of two towns, some without an age, and three that must be left out."""
    rng = np.random.default_rng(2)
    frame = pd.DataFrame(
        {
            "age": rng.integers(20, 60, 120).astype(object),
            "town": rng.choice(["Ulm", "Jena"], 120).astype(object),
            "pay": np.arange(120),
        }
    )
    frame.loc[:30, "age"] = None
    frame.loc[100:102, "town"] = ["Rust", "Rust", "Rust"]
    step = {
        "method": "generalize",
        "columns": ["age", "town"],
        "privacy": [{"model": "k-anonymity", "k": 5}],
        "hierarchies": {"age": {"kind": "intervals", "widths": [20]}, "town": {"kind": "flat"}},
        "levels": {"town": 0},
        "suppression_limit": 0.1,
    }
    # Each pay is that of one row, and tells which.
    roles = {"quasi": ["age", "town"], "confidential": ["pay"], "not_identifiers": ["pay"]}
    recipe = {"roles": roles, "steps": [step]}
    release = discreet.protect(frame, recipe)
    folder = tmp_path_factory.mktemp("small") / "release"
    release.save(folder)
    return frame, release, folder


def _one_record(table, frame):
    at = table.index[table["pay"] == 50]
    table.loc[at, "town"] = "Jena" if (table.loc[at, "town"] == "Ulm").all() else "Ulm"
    return table


def _small_class(table, frame):
    table.loc[table.index[table["age"].isna()][:4], "town"] = "Rust"
    return table


def _few_suppressed(table, frame):
    gone = pd.DataFrame({"age": "*", "town": "*", "pay": [100, 101, 102]})
    return pd.concat([table, gone], ignore_index=True)


def _raw_rows(table, frame):
    return pd.concat([table, frame.loc[100:102].astype({"age": str})], ignore_index=True)


@pytest.mark.parametrize(
    ("tamper", "promise"),
    [
        (_one_record, "every treated cell equals the plan applied"),
        (_small_class, "k-anonymity (k = 5) over age, town"),
        (_few_suppressed, "k-anonymity (k = 5) over age, town"),
        (_raw_rows, "k-anonymity (k = 5) over age, town"),
    ],
)
def test_a_release_that_was_tampered_with_is_rejected(small_release, tamper, promise):
    frame, release, folder = small_release
    assert release.log["suppressed"] == {"records": 3, "left_out": 3, "blanked_cells": {}}
    written, rest = folder / "public" / "table.csv", (folder / "internal", frame)
    assert discreet.check_release(written, release.recipe, *rest).verified
    table = tamper(pd.read_csv(written).astype({"age": object, "town": object}), frame)
    report = discreet.check_release(table, release.recipe, *rest)
    assert not report.ok
    assert any(f.status == "broken" and f.promise.startswith(promise) for f in report.findings)
