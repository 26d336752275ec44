"""A first look at large tables and files. No peers: none of the others proposes roles and keys."""

import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import csv

from benchmarks.rows import Case, row

GIGABYTE = 10**9


def people(n: int) -> pa.Table:
    """Households with five more columns of categories: twenty in all, most of them quasi."""
    from discreet.datasets import make_households

    table = make_households(n, seed=3, null_rate=0.02)
    rng = np.random.default_rng(0)
    for size in (3, 12, 50, 400, 5000):
        labels = pa.array([f"label {i}" for i in range(size)])
        table = table.append_column(f"c{size}", labels.take(pa.array(rng.integers(0, size, n))))
    return table


def riskiest(ours: Any, peer: Any) -> str:
    key = ours.keys.riskiest[0]
    assert key.columns == ("postcode", "birth_date", "sex")
    return f"{' x '.join(key.columns)}: {key.singled_out:.1%}; {ours.keys.tried} keys"


@row("inspect n=1e6 x 20", seconds=30, memory=True)
def _() -> Case:
    table = people(1_000_000)

    def ours() -> Any:
        from discreet import inspect

        return inspect(table)

    return Case(ours=ours, check=riskiest)


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory()


def large_csv() -> Path:
    """Write households until the file has a gigabyte."""
    from discreet.datasets import make_households

    path = Path(_folder().name, "people.csv")
    with path.open("wb") as file:
        seed = 0
        while file.tell() < GIGABYTE:
            options = csv.WriteOptions(include_header=seed == 0)
            csv.write_csv(make_households(500_000, seed=seed, null_rate=0.02), file, options)
            seed += 1
    return path


@row("inspect CSV of 1 GB", seconds=60, large=True, memory=True)
def _() -> Case:
    path = large_csv()

    def ours() -> Any:
        from discreet import inspect

        return inspect(path)

    return Case(ours=ours, check=riskiest)
