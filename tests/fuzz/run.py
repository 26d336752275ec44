"""Runs cases and says how each ends."""

from __future__ import annotations

import json
import re
import tempfile
import tomllib
import traceback
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd

from discreet import protect
from tests.fuzz.cases import Case, make_case
from tests.fuzz.cells import frame, plain
from tests.fuzz.verifier import verify

VERIFIED, LEAK = "verified", "refused for a leak"
EARLY, LATE = "refused before any work", "refused after looking at the data"
SILENT, CRASHED, BROKEN = "silent violation", "traceback", "BrokenPromise"
FAILURES = (SILENT, CRASHED, BROKEN)
_GIVEN_AWAY = re.compile(r"broken: nothing released gives '(.*)' away")
_PUBLIC = re.compile(r"((table|confidential)\..*|codebook\.md|report\.html)")


@dataclass(frozen=True)
class Ended:
    """How a case ended."""

    seed: int
    outcome: str
    said: str = ""
    methods: tuple[str, ...] = ()

    @property
    def failed(self) -> bool:
        """True if the case must not have ended so."""
        return self.outcome in FAILURES


def run_seed(seed: int, engine: str | None = None, most: int | None = None) -> Ended:
    """Run the case of a seed; one in eight is run twice, and of one in eight the plan is applied."""
    return run_case(make_case(seed, engine, most), again=seed % 8 == 0, later=seed % 8 == 4)


def run_case(case: Case, again: bool = False, later: bool = False) -> Ended:
    """Protect a case's table and verify what came out.

    `again`, see that a rerun gives the same; `later`, see what its plan keeps on other rows.
    """
    methods = tuple(step["method"] for step in case.recipe["steps"])
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            problems = list(_problems(case, Path(folder), again, later))
        except Exception as error:
            return Ended(case.seed, _outcome(error, case.recipe), _said(error), methods)
    return Ended(case.seed, SILENT if problems else VERIFIED, "; ".join(problems[:3]), methods)


def _outcome(error: Exception, recipe: dict[str, Any]) -> str:
    if _is(error, "BadInput"):
        return LATE if _looked(error) else EARLY
    if not _is(error, "BrokenPromise"):
        return CRASHED
    broken = [line.strip() for line in str(error).splitlines() if "broken: " in line]
    leaks = [found[1] for line in broken if (found := _GIVEN_AWAY.match(line))]
    # Nothing but leaks, and those only where the recipe does not allow them.
    told = broken and len(leaks) == len(broken)
    return LEAK if told and not set(leaks) & set(recipe.get("allow_leaks", ())) else BROKEN


def _is(error: Exception, name: str) -> bool:
    """Tell the kind of an error by its name: nothing else of the package is known here."""
    return name in {kind.__name__ for kind in type(error).__mro__}


def _looked(error: Exception) -> bool:
    """Tell whether the rows had been looked at, by what was under way."""
    under_way = {frame.name for frame in traceback.extract_tb(error.__traceback__)}
    return "_treat" in under_way and "refuse_columns" not in under_way


def _said(error: Exception) -> str:
    if _is(error, "BadInput"):
        return str(error)
    if _is(error, "BrokenPromise"):
        lines = [line.strip() for line in str(error).splitlines()]
        return "; ".join(line for line in lines if "verified" not in line)
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({Path(last.filename).name}:{last.lineno})"


def _problems(case: Case, folder: Path, again: bool, later: bool) -> Iterator[str]:
    release = protect(case.handed_over(folder), case.recipe, engine=case.engine)
    try:
        released = frame(release.table)
        yield from _verified(case, release, released)
        if case.format is not None:
            yield from _written(case, release, released, folder)
        if again:
            yield from _differences(case, release, released, folder)
        if later:
            yield from _next_year(case, release, folder)
    finally:
        release.close()


def _verified(case: Case, release: Any, released: pd.DataFrame) -> Iterator[str]:
    # Promises are over the records that are not left out before any step.
    gone = [int(row) for row in release.plan.get("excluded", ())]
    if released.iloc[gone].notna().any(axis=None):
        yield "a record that is left out is released"
    there = [part.drop(index=gone).reset_index(drop=True) for part in (case.original(), released)]
    left_out = release.plan.get("suppressed", {}).get("left_out", 0) - len(gone)
    yield from verify(there[0], case.recipe, there[1], case.kinds, len(gone), left_out)


def _next_year(case: Case, release: Any, folder: Path) -> Iterator[str]:
    """Apply the plan to some of the rows: it is refused, or keeps its promises there."""
    _saved(release, folder / "plan", case)
    rows = np.random.default_rng(case.seed).permutation(case.table.num_rows)
    other = replace(case, table=case.table.take(rows[: (len(rows) + 1) // 2]))
    try:
        with patch.dict("os.environ", DISCREET_KEY_FILE=str(folder / "key")):
            given = other.handed_over(folder)
            made = protect(given, plan=folder / "plan", suppress=True, engine=case.engine)
    except Exception as error:
        if _is(error, "BrokenPromise") and not str(error).startswith("the plan of release"):
            yield f"what a plan does not keep was not told: {_said(error)}"
        elif not _is(error, "BadInput") and not _is(error, "BrokenPromise"):
            raise
        return
    try:
        # As a plain dict, which says what the plan has settled.
        settled = json.loads(made.recipe.model_dump_json(exclude_none=True))
        found = _verified(replace(other, recipe=settled), made, frame(made.table))
        yield from (f"by its plan: {one}" for one in found)
    finally:
        made.close()


def _differences(case: Case, release: Any, released: pd.DataFrame, folder: Path) -> Iterator[str]:
    """Run the recipe, with the seeds that it has by now, once more."""
    other = protect(case.handed_over(folder), release.recipe, engine=case.engine)
    try:
        if not frame(other.table).equals(released):
            yield "the same recipe on the same table gave another table"
        if case.format in ("csv", "parquet"):
            first, second = (
                _saved(one, folder / name, case) for one, name in ((release, "one"), (other, "two"))
            )
            if first.read_bytes() != second.read_bytes():
                yield "the same recipe on the same table gave another file"
    finally:
        other.close()


# Files


def _saved(release: Any, target: Path, case: Case) -> Path:
    """Write a release, with a key of its own."""
    with patch.dict("os.environ", DISCREET_KEY_FILE=str(target.parent / "key")):
        return release.save(target, format=case.format)


def _written(case: Case, release: Any, released: pd.DataFrame, folder: Path) -> Iterator[str]:
    """What is written is what is released, in another order, and tells no secret."""
    path = _saved(release, folder / "out", case)
    internal = folder / "out" / "internal"
    rows = pd.read_parquet(internal / "rows.parquet").iloc[:, 0].to_numpy()
    shown = np.flatnonzero(~released.isna().all(axis=1).to_numpy())
    if len(set(rows)) < len(rows) or set(shown) - set(rows):
        yield f"{len(rows)} rows are written, not {len(shown)}"
        return
    written = _joined(path, case.recipe["steps"])
    if path.suffix == ".xlsx":
        # A workbook does not tell of empty rows at its end.
        written = written.reindex(range(len(rows)))
    if sorted(written.columns) != sorted(released.columns) or len(written) != len(rows):
        yield f"the file has {written.shape}, not {(len(rows), released.shape[1])}"
        return
    for name in released.columns:
        for cell, row in zip(written[name], rows, strict=True):
            if not _is_written(released[name].iat[row], cell, case.kinds.get(name) == "single"):
                yield f"{name}, row {row}: the file has {cell!r}, not {released[name].iat[row]!r}"
                break
    yield from _secrets(folder / "out" / "public", internal)


def _joined(path: Path, steps: list[dict[str, Any]]) -> pd.DataFrame:
    """Read a table; beside its records, those of the second one in their groups' order."""
    first = _read(path)
    step = next((step for step in steps if step["method"] == "anatomy"), None)
    if step is None:
        return first
    by = step.get("group", "group")
    second = _read(path.with_name(path.name.replace("table", "confidential", 1)))
    both = [table.assign(place=table.groupby(by).cumcount()) for table in (first, second)]
    found = both[0].merge(both[1], "left", [by, "place"], validate="one_to_one")
    return found.drop(columns="place")


def _read(path: Path) -> pd.DataFrame:
    if ".csv" in path.name:
        return pd.read_csv(path, dtype=str, keep_default_na=False)
    if path.suffix == ".xlsx":
        return pd.read_excel(path, dtype=object, keep_default_na=False, na_values=[""])
    return pd.read_feather(path) if path.suffix == ".feather" else pd.read_parquet(path)


def _is_written(cell: Any, found: Any, single: bool) -> bool:
    """Compare a cell with what a file holds, as text where the format has nothing else."""
    if cell is None:
        return found == "" or plain(found) is None
    if isinstance(found, str) and not isinstance(cell, str):
        if isinstance(cell, bool):
            return found.lower() == str(cell).lower()
        found = float(found) if isinstance(cell, float) else plain(pd.Timestamp(found))
    if isinstance(cell, str):
        return str(found) == cell
    if single:
        return bool(np.float32(found) == np.float32(cell))
    return bool(plain(found) == cell)


def _secrets(public: Path, internal: Path) -> Iterator[str]:
    """No file to share holds a seed, and there is none but those that should be."""
    recipe = tomllib.loads((internal / "recipe.toml").read_text())
    for path in public.rglob("*"):
        if not _PUBLIC.fullmatch(path.name):
            yield f"public/{path.name} should not be there"
        content = path.read_bytes() if path.is_file() else b""
        for name in ("seed", "order_seed"):
            if str(recipe[name]).encode() in content:
                yield f"public/{path.name} tells the {name}"
    if internal.stat().st_mode & 0o077:
        yield "internal/ can be read by others"


# Failures


def shrunk(ended: Ended, engine: str | None) -> tuple[int | None, Ended]:
    """Return the smallest number of rows tried at which a case still ends so."""
    best: tuple[int | None, Ended] = (None, ended)
    for most in (200, 80, 30, 12, 6, 3):
        found = run_seed(ended.seed, engine, most)
        if found.outcome == ended.outcome:
            best = (most, found)
    return best


def snippet(seed: int, engine: str | None, most: int | None) -> str:
    """Return what to type to see a case again."""
    options = f"--seed {seed} --cases 1" + (f" --engine {engine}" if engine else "")
    return f"python -m tests.fuzz {options}" + (f" --rows {most}" if most else "")


def message_class(said: str) -> str:
    """Return a message without what is different from case to case."""
    said = re.sub(r"'[^']*'", "'..'", said.splitlines()[0] if said else "")
    return re.sub(r"-?\d[\d.,e+-]*", "#", said)[:150]
