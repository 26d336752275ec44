"""A case: a table, a recipe, an engine and a way to hand over and to write, all from one seed."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from tests.fuzz.cells import frame
from tests.fuzz.recipes import make_recipe
from tests.fuzz.tables import make_table

FORMATS = {"memory": ("csv", "csv.gz", "parquet", "feather", "xlsx"), "duckdb": ("csv", "parquet")}


@dataclass
class Case:
    """What one seed stands for."""

    seed: int
    table: pa.Table = field(repr=False)
    recipe: dict[str, Any]
    engine: str
    given: str  # pandas, arrow, polars, csv or parquet
    format: str | None  # in which the release is written, if it is

    @property
    def kinds(self) -> dict[str, str]:
        """The columns whose type is not told by their cells."""
        fields = self.table.schema
        found = {f.name: "single" for f in fields if pa.types.is_float32(f.type)}
        return found | {f.name: "decimal" for f in fields if pa.types.is_decimal(f.type)}

    def original(self) -> pd.DataFrame:
        """The table with plain cells."""
        return frame(self.table)

    def handed_over(self, folder: Path) -> Any:
        """The table as the run gets it."""
        if self.given == "arrow":
            return self.table
        if self.given == "polars":
            import polars as pl

            return pl.from_arrow(self.table)
        if self.given == "pandas":
            return self.table.to_pandas()
        path = folder / f"in.{self.given}"
        if self.given == "csv":
            # Booleans as other programs than Python write them.
            texts = self.table.to_pandas().replace({True: "true", False: "false"})
            texts.to_csv(path, index=False)
        else:
            pq.write_table(self.table, path)
        return path


def make_case(seed: int, engine: str | None = None, most: int | None = None) -> Case:
    """Make the case of a seed; with at most so many rows, if given."""
    rng = np.random.default_rng(seed)
    chosen = "duckdb" if rng.random() < 0.12 else "memory"
    made = make_table(rng, most)
    recipe = make_recipe(rng, made, engine or chosen)
    given = str(rng.choice(["pandas", "arrow", "polars", "csv", "parquet"]))
    if given == "csv" and any(map(_lost_in_text, made.table.schema.types)):
        given = "arrow"
    format = (
        str(rng.choice(FORMATS.get(engine or chosen, ("parquet",)))) if rng.random() < 0.1 else None
    )
    return Case(seed, made.table, recipe, engine or chosen, given, format)


def _lost_in_text(kind: pa.DataType) -> bool:
    """Tell whether a column's type cannot be told from a CSV, and so its labels are others."""
    narrow = pa.types.is_float32(kind) or pa.types.is_decimal(kind)
    return narrow or (pa.types.is_timestamp(kind) and kind.tz is not None)
