"""What proves a release: its plan, log, row map and hashes, written and read back."""

from __future__ import annotations

import hashlib
import hmac
import io
import json
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import csv as arrow_csv
from pyarrow import parquet

from discreet.errors import BadInput
from discreet.table.files import for_csv

LONGEST_JSON_ARRAY = 10_000
# Marks an internal folder whose table is not in its place yet.
UNFINISHED = "UNFINISHED"
Plan = dict[str, Any]


@dataclass(frozen=True)
class Evidence:
    """What `internal/` holds of a release: the means to verify it.

    Attributes
    ----------
    plan, log : dict
    seed : int
        What the draws came from.
    rows : ndarray of int64 or None
        For each released row the position of its original, from 0; None: rows are in order.
    schema : pyarrow.Schema or None
        Types of the released columns.
    folder : Path or None
        Where it was read from.
    """

    plan: Plan
    log: dict[str, Any]
    seed: int
    rows: np.ndarray | None = None
    schema: pa.Schema | None = None
    folder: Path | None = None

    @classmethod
    def load(cls, folder: str | Path) -> Evidence:
        """Read a release's `internal/` folder."""
        folder = Path(folder)
        if (folder / UNFINISHED).exists():
            raise BadInput(f"{folder} is of a run that was stopped while it wrote; run it again")
        try:
            return cls(
                plan=load_plan(folder),
                log=json.loads((folder / "log.json").read_text(encoding="utf-8")),
                seed=tomllib.loads((folder / "recipe.toml").read_text(encoding="utf-8"))["seed"],
                rows=parquet.read_table(folder / "rows.parquet")["original_row"].to_numpy(),
                schema=pa.ipc.read_schema(pa.BufferReader((folder / "schema.arrow").read_bytes())),
                folder=folder,
            )
        except (OSError, ValueError, KeyError, pa.ArrowException) as error:
            raise BadInput(f"{folder} is not the internal folder of a release: {error}") from None


# Hashes


def content_hmac(table: pa.Table, key: bytes) -> str:
    """Hash a table's content with a key: the same however it is stored or chunked."""
    digest = hmac.new(key, digestmod=hashlib.sha256)
    for name in table.column_names:
        column = table.select([name])
        sink = io.BytesIO()
        try:
            arrow_csv.write_csv(pa.table({name: for_csv(name, column[name])}), sink)
        except BadInput:
            with pa.ipc.new_stream(sink, column.schema) as stream:
                stream.write_table(column.combine_chunks())
        digest.update(sink.getbuffer())
    return digest.hexdigest()


def file_hmac(paths: list[Path], key: bytes) -> str:
    """Hash files with a key, in the order given."""
    digest = hmac.new(key, digestmod=hashlib.sha256)
    for path in paths:
        with path.open("rb") as file:
            while piece := file.read(1 << 22):
                digest.update(piece)
    return digest.hexdigest()


# Plans


def save_plan(plan: Plan, folder: Path) -> None:
    """Write a plan as `plan.json`; arrays past 10,000 go to Parquet files that it names."""

    def plain(value: Any, name: str) -> Any:
        if isinstance(value, dict):
            return {key: plain(item, f"{name}-{i}") for i, (key, item) in enumerate(value.items())}
        if isinstance(value, list):
            return [plain(item, f"{name}-{i + 1}") for i, item in enumerate(value)]
        if isinstance(value, np.ndarray) and len(value) > LONGEST_JSON_ARRAY:
            parquet.write_table(pa.table({"value": value}), folder / f"{name}.parquet")
            return {"parquet": f"{name}.parquet"}
        if isinstance(value, np.ndarray):
            return value.tolist()
        return value

    text = json.dumps(plain(plan, "plan"), indent=1, ensure_ascii=False, allow_nan=False)
    (folder / "plan.json").write_text(text + "\n", encoding="utf-8")


def load_plan(folder: Path) -> Plan:
    """Read a plan that `save_plan` wrote."""

    def arrays(value: Any) -> Any:
        if isinstance(value, dict) and value.keys() == {"parquet"}:
            return parquet.read_table(folder / Path(value["parquet"]).name)["value"].to_numpy()
        if isinstance(value, dict):
            return {key: arrays(item) for key, item in value.items()}
        if isinstance(value, list) and all(isinstance(item, int | float) for item in value):
            return np.array(value, dtype=None if value else np.float64)
        return [arrays(item) for item in value] if isinstance(value, list) else value

    return arrays(json.loads((folder / "plan.json").read_text(encoding="utf-8")))


def plan_files(folder: Path) -> list[Path]:
    """Give the files of a plan, in a fixed order."""
    return [folder / "plan.json", *sorted(folder.glob("plan-*.parquet"))]
