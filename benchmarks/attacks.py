"""Attacks with 2,000 targets on as many people as Adult has.

On Adult, anonymeter took 528 s for 2,000 queries of singling out by three columns.
"""

from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.rows import Case, row

KNOWN = ["age", "town", "job"]


def people(n: int) -> pa.Table:
    """People with an age, a town, a job and an illness."""
    draw = np.random.default_rng(1)
    return pa.table(
        {
            "age": draw.integers(17, 90, n),
            "town": [f"town {i}" for i in draw.geometric(0.1, n)],
            "job": [f"job {i}" for i in draw.geometric(0.2, n)],
            "ill": draw.choice(["yes", "no"], n),
        }
    )


def _case(name: str, **given: Any) -> Case:
    from discreet import attacks

    everybody = people(33_000)
    inside, outside = everybody[:30_000], everybody[30_000:]

    def ours() -> Any:
        return getattr(attacks, name)(inside, inside, holdout=outside, **given)

    return Case(ours=ours, check=lambda ours, peer: f"excess {ours.excess:.3f}")


@row("singling out, 2,000 queries, n=3e4", seconds=10)
def _() -> Case:
    return _case("singling_out", known=KNOWN)


@row("linkability, 2,000 targets, n=3e4", seconds=10)
def _() -> Case:
    return _case("linkability", known=KNOWN)


@row("inference, 2,000 targets, n=3e4", seconds=10)
def _() -> Case:
    return _case("inference", known=KNOWN, secret="ill")


@row("membership, 2,000 targets, n=3e4", seconds=10)
def _() -> Case:
    return _case("membership", known=KNOWN)


@row("all attacks on a DuckDB release, n=1e6", seconds=120, large=True)
def _() -> Case:
    import tempfile
    from pathlib import Path

    import pyarrow.parquet as pq

    from discreet.assessment.attacked import attack

    everybody = people(1_100_000)
    folder = tempfile.TemporaryDirectory()
    inside, outside = (Path(folder.name, f"{name}.parquet") for name in ("inside", "outside"))
    pq.write_table(everybody[:1_000_000], inside)
    pq.write_table(everybody[1_000_000:], outside)

    def ours() -> Any:
        # The table itself has the most to look at: no two records need be alike.
        assert folder
        return attack(inside, inside, holdout=outside, known=KNOWN, secret="ill", engine="duckdb")

    return Case(ours=ours, check=lambda ours, peer: f"{len(ours.attacks)} attacks")
