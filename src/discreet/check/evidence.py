"""What proves a release: its plan, log, row map and hashes, written and read back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any, NotRequired, TypedDict, get_args, get_origin, get_type_hints

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from discreet.errors import BadInput
from discreet.private import private_file, write_private
from discreet.recipe.recipe import Recipe
from discreet.recipe.seeds import draw_seeds
from discreet.table.files import parquet_files

LONGEST_JSON_ARRAY = 10_000
# Marks an internal folder whose table is not in its place yet.
UNFINISHED = "UNFINISHED"
_GROUPS = ("records", "units", "households")  # what a holdout is drawn from
# Stands in a plan's JSON for an array in a file of its own. No column can be called this there.
FILE_KEY = "$array in file"
# What makes a plan that cannot be applied: it was edited, or is not this table's.
UNREADABLE = (LookupError, TypeError, ValueError, OverflowError, AttributeError, StopIteration)


class ByRow(TypedDict, total=False):
    """What a step's plan lists by row, where it must."""

    results: dict[str, np.ndarray]  # by column, where a later step went on from them
    disclosed: np.ndarray  # rows that are outside the promise


class StepPlan(ByRow):
    """What one step decided: for each column and, under `joint`, for its columns together.

    Each part has a `kind`; `discreet.plan` says which keys the kinds have.
    """

    step: int
    method: str
    columns: dict[str, dict[str, Any]]
    joint: NotRequired[dict[str, Any]]
    # Columns that are treated once for each household or person, and the column of these; what is
    # listed by row is then by their first rows.
    levels: NotRequired[dict[str, str]]
    # Those that are treated by row with one draw for each household or person.
    drawn: NotRequired[dict[str, str]]


class Plan(TypedDict):
    """What all steps decided."""

    steps: list[StepPlan]
    suppressed: NotRequired[dict[str, Any]]  # `records`, `left_out`, and by column `blanked`
    households: NotRequired[dict[str, Any]]  # the `column` with new numbers, and how many `ids`
    # Rows that are left out before any step, in order; what steps list by row is by the others.
    excluded: NotRequired[np.ndarray]


class Log(TypedDict):
    """What was done, when and with which versions; a step's entry also has its method's figures."""

    release: str
    counts: NotRequired[str]  # what k counts: records, units or households
    levels: NotRequired[dict[str, str]]  # columns that are treated once a household or unit
    discreet: str
    commit: NotRequired[str]  # of discreet, where it is known
    python: str
    packages: dict[str, str]
    started: str
    input: dict[str, Any]  # rows, columns, hmac, whether rows are placed, source, dialect
    roles: dict[str, str]
    dropped: list[str]
    nulls: dict[str, Any]  # the policy, and the null cells of each released column
    seed: dict[str, bool]
    steps: list[dict[str, Any]]
    changed_cells: dict[str, int]
    warnings: list[str]
    attacks: NotRequired[list[dict[str, Any]]]  # what an intruder could try, and what is done
    seconds: dict[str, float]
    suppressed: NotRequired[dict[str, Any]]
    # Who was set aside: the share, records, groups and what these are, and their largest word.
    holdout: NotRequired[dict[str, Any]]
    engine: NotRequired[str]
    output: NotRequired[dict[str, Any]]
    usage: NotRequired[dict[str, Any]]
    # Of which release the plan was applied, what of it was kept and what was decided on anew.
    plan: NotRequired[dict[str, Any]]
    next: NotRequired[list[dict[str, Any]]]
    next_tried: NotRequired[dict[str, int]]
    next_not_tried: NotRequired[str]


@dataclass(frozen=True)
class Evidence:
    """What `internal/` holds of a release: the means to verify it."""

    plan: Plan
    log: Log
    recipe: Recipe  # as it was run, with its seeds
    # The position, from 0, of each released row's original: a file, or a folder of files.
    row_map: Path | None = None
    schema: pa.Schema | None = None  # types of the released columns
    folder: Path | None = None  # where it was read from
    # The input itself, a Frame, in the process that protects it: no need to hash it again.
    original: Any = None

    @property
    def seed(self) -> int:
        """What the draws went by."""
        return draw_seeds(self.recipe, self.log["input"]["hmac"])[0]

    @property
    def order_seed(self) -> int:
        """What the order of the rows, and the household numbers, went by."""
        return draw_seeds(self.recipe, self.log["input"]["hmac"])[1]

    @cached_property
    def rows(self) -> np.ndarray | None:
        """The position of each released row's original; read when it is first wanted."""
        if self.row_map is None:
            return None
        return parquet.read_table(self.row_map)["original_row"].to_numpy()

    @property
    def mapped(self) -> int:
        """How many rows the map has."""
        assert self.row_map is not None
        files = [self.row_map] if self.row_map.is_file() else parquet_files(self.row_map)
        return sum(parquet.read_metadata(path).num_rows for path in files)

    @property
    def suppressed(self) -> dict[str, Any]:
        """What the plan says of suppression: `records`, `left_out`, and by column `blanked`.

        Among the records that steps look at, which the excluded ones are not.
        """
        found: dict[str, Any] = {"records": 0, "left_out": 0, "blanked": {}}
        found |= self.plan.get("suppressed", {})
        gone = len(self.excluded)
        return found | {key: found[key] - gone for key in ("records", "left_out")}

    @property
    def excluded(self) -> np.ndarray:
        """The rows that all steps do without."""
        return np.asarray(self.plan.get("excluded", ()), dtype=np.int64)

    @classmethod
    def load(cls, folder: str | Path) -> Evidence:
        """Read a release's `internal/` folder."""
        folder = Path(folder)
        if (folder / UNFINISHED).exists():
            raise BadInput(f"{folder} is of a run that was stopped while it wrote; run it again")
        try:
            evidence = cls(
                plan=load_plan(folder),
                log=_read_json(folder / "log.json"),
                recipe=Recipe.load(folder / "recipe.toml"),
                row_map=folder / "rows.parquet",
                schema=pa.ipc.read_schema(pa.BufferReader((folder / "schema.arrow").read_bytes())),
                folder=folder,
            )
            evidence._check_shape()
        except (*UNREADABLE, OSError, pa.ArrowException) as error:
            said = f"{error} is missing" if isinstance(error, KeyError) else error
            raise BadInput(f"{folder} is not the internal folder of a release: {said}") from None
        return evidence

    def _check_shape(self) -> None:
        """Raise where the files do not have the parts that are looked at."""
        _check_log(self.log)
        _ = self.seed, self.mapped
        held = self.log.get("holdout")
        if (held is None) != (self.recipe.holdout is None):
            raise ValueError("its recipe and its log do not agree on a holdout")
        if held is not None and not (0 <= held["up_to"] < 1 << 64 and held["what"] in _GROUPS):
            raise ValueError("what it says of a holdout cannot be")
        if self.schema is not None and len(set(self.schema.names)) < len(self.schema):
            raise ValueError("its schema names a column twice")
        gone = self.suppressed
        if (np.diff(self.excluded) <= 0).any():
            raise ValueError("the rows that it leaves out are not in order")
        numbers = (gone["records"], gone["left_out"], *gone["blanked"].values())
        if not all(isinstance(number, int) for number in numbers):
            raise TypeError("what it says of suppressed records are no numbers")
        try:
            for step in self.plan["steps"]:
                for plan in step["columns"].values():
                    _ = step["step"], step["method"], plan["kind"]
        except (TypeError, AttributeError, IndexError):
            raise ValueError("plan.json does not hold steps and their columns") from None


def places(excluded: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return the places of rows among those that are not excluded.

    Examples
    --------
    >>> places(np.array([1, 3]), np.array([0, 2, 4, 5])).tolist()
    [0, 1, 2, 3]
    """
    return rows - np.searchsorted(excluded, rows)


def _read_json(path: Path) -> Any:
    """Read a JSON file that holds a table of names."""
    try:
        found = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path.name} is not JSON ({error})") from None
    if not isinstance(found, dict):
        raise ValueError(f"{path.name} does not hold a table of names")
    return found


def _check_log(log: Mapping[str, Any]) -> None:
    """Raise where a log does not have its parts, each of its kind."""
    for name, hint in _parts_of_log().items():
        optional = get_origin(hint) is NotRequired
        kind = get_args(hint)[0] if optional else hint
        if not optional or name in log:
            _check_kind(f"'{name}' of log.json", log[name], get_origin(kind) or kind)
    for part in ("input", "output"):
        _check_kind(f"'rows' of '{part}' of log.json", log[part]["rows"], int)
    _check_kind("'columns' of 'input' of log.json", log["input"]["columns"], list)
    for step in log["steps"]:
        _check_kind("a step of log.json", step, dict)
        _check_kind("'changed_cells' of a step of log.json", step["changed_cells"], dict)
    for name in ("records", "of", "groups", "of_groups", "up_to") if "holdout" in log else ():
        _check_kind(f"'{name}' of 'holdout' of log.json", log["holdout"][name], int)
    _check_kind("'hmac' of 'input' of log.json", log["input"]["hmac"], str)
    _check_kind("'placed' of 'input' of log.json", log["input"]["placed"], bool)


@cache
def _parts_of_log() -> dict[str, Any]:
    return get_type_hints(Log, include_extras=True)


def _check_kind(what: str, value: Any, kind: type) -> None:
    if not isinstance(value, kind):
        raise TypeError(f"{what} is not a {kind.__name__}")


# Plans


def save_plan(plan: Plan, folder: Path) -> None:
    """Write a plan as `plan.json`; arrays past 10,000 go to Parquet files that it names.

    So do arrays with nulls among numbers.
    """

    def plain(value: Any, name: str) -> Any:
        if isinstance(value, dict):
            return {key: plain(item, f"{name}-{i}") for i, (key, item) in enumerate(value.items())}
        if isinstance(value, list):
            return [plain(item, f"{name}-{i + 1}") for i, item in enumerate(value)]
        if isinstance(value, np.ndarray) and (len(value) > LONGEST_JSON_ARRAY or _has_nan(value)):
            with private_file(folder / f"{name}.parquet") as file:
                parquet.write_table(pa.table({"value": value}), file)
            return {FILE_KEY: f"{name}.parquet"}
        if isinstance(value, np.ndarray):
            return value.tolist()
        return value

    text = json.dumps(plain(plan, "plan"), indent=1, ensure_ascii=False, allow_nan=False)
    write_private(folder / "plan.json", text + "\n")


def _has_nan(array: np.ndarray) -> bool:
    """Tell whether an array holds what JSON cannot."""
    return array.dtype.kind == "f" and not np.isfinite(array).all()


def load_plan(folder: Path) -> Plan:
    """Read a plan that `save_plan` wrote."""

    def arrays(value: Any) -> Any:
        if isinstance(value, dict) and value.keys() == {FILE_KEY}:
            return parquet.read_table(folder / Path(value[FILE_KEY]).name)["value"].to_numpy()
        if isinstance(value, dict):
            return {key: arrays(item) for key, item in value.items()}
        if isinstance(value, list) and all(isinstance(item, int | float) for item in value):
            # Words of 64 bits, small and large ones together, would become floats.
            words = max(value, default=0) >= 1 << 63 and all(isinstance(x, int) for x in value)
            return np.array(value, np.uint64 if words else None if value else np.float64)
        return [arrays(item) for item in value] if isinstance(value, list) else value

    return arrays(_read_json(folder / "plan.json"))
