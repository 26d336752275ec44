"""Each engine against the number of rows: OMA on two columns, generalize on four, checked.

A run is a process of its own, as a user's is, so that memory is told for it alone. Files of 1e7
rows and more are behind `--large`; Spark's rows are left out where pyspark is not installed.
"""

import json
import os
import subprocess
import sys
import tempfile
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benchmarks.rows import Case, row

COLUMNS = ["postcode", "age", "sex", "education", "income", "assets"]
RECIPE = """\
[roles]
quasi = ["postcode", "age", "sex", "education"]
confidential = ["income", "assets"]
[[steps]]
method = "oma"
columns = ["income", "assets"]
k = 10
[[steps]]
method = "generalize"
columns = ["postcode", "age", "sex", "education"]
privacy = [{ model = "k-anonymity", k = 10 }]
[steps.hierarchies]
age = { kind = "intervals", widths = [5, 10, 20] }
postcode = { kind = "prefix" }
sex = { kind = "auto" }
education = { kind = "auto" }
"""
# Of a DuckDB run with 4 GB, whatever the number of rows.
MOST_GB = 6.0
WORK = Path(tempfile.gettempdir()) / "discreet-engines"


def people(n: int) -> Path:
    """Make the file once for all engines."""
    from discreet.datasets import write_households

    WORK.mkdir(exist_ok=True)
    (WORK / "recipe.toml").write_text(RECIPE, "utf-8")
    path = WORK / f"people-{n}.parquet"
    if not path.exists():
        part = path.with_suffix(".part")
        write_households(part, n, seed=1, null_rate=0.02, columns=COLUMNS)
        part.rename(path)
    return path


def many_files(n: int) -> Path:
    """Make a folder of files of a hundred rows each."""
    from pyarrow import parquet

    folder = WORK / f"people-{n}-files"
    if not folder.exists():
        rows = parquet.read_table(people(n))
        part = folder.with_suffix(".part")
        part.mkdir(exist_ok=True)
        for i in range(n // 100):
            parquet.write_table(rows.slice(i * 100, 100), part / f"{i:06}.parquet")
        part.rename(folder)
    return folder


def protect(path: Path, engine: str, memory: str) -> dict[str, Any]:
    """Run the command; give its log, and the peak memory of its process and those under it."""
    command = [
        sys.executable, "-m", "discreet", "protect", str(path), "--recipe",
        str(WORK / "recipe.toml"), "--out", str(WORK / f"release-{engine}"), "--engine", engine,
        "--memory", memory, "--format", "parquet", "--force", "--json",
    ]  # fmt: skip
    with tempfile.TemporaryFile() as out:
        running = subprocess.Popen(command, stdout=out)
        _, status, used = os.wait4(running.pid, 0)
        running.returncode = os.waitstatus_to_exitcode(status)
        assert running.returncode == 0, f"exit code {running.returncode}"
        out.seek(0)
        return json.load(out) | {"peak_gb": used.ru_maxrss / 1e6}


def case(n: int, engine: str, memory: str = "4GB", many: bool = False) -> Case:
    path = many_files(n) if many else people(n)

    def check(found: dict[str, Any], peer: Any) -> str:
        statuses = {finding["status"] for finding in found["check"]["findings"]}
        # Without l-diversity some classes share a value, which the check calls weak.
        assert statuses <= {"verified", "weak"}, statuses
        assert engine != "duckdb" or found["peak_gb"] < MOST_GB, found["peak_gb"]
        used = found["log"].get("usage", {})
        shuffled = f", {used['bytes_shuffled'] / 1e9:.2f} GB shuffled" if used else ""
        return f"{found['peak_gb']:.2f} GB{shuffled}"

    return Case(ours=lambda: protect(path, engine, memory), check=check)


ENGINES = ["memory", "duckdb", *(["spark"] if find_spec("pyspark") else [])]
SIZES = {"1e5": 100_000, "1e6": 1_000_000, "1e7": 10_000_000}
for engine in ENGINES:
    for said, n in SIZES.items():
        named = f"{engine} oma+generalize n={said}"
        row(named, large=n >= 10_000_000)(partial(case, n, engine))
row("duckdb oma+generalize n=1e8", large=True, seconds=600)(partial(case, 100_000_000, "duckdb"))
for engine in ENGINES[:2]:
    row(f"{engine} oma+generalize n=6e5 in 6000 files")(partial(case, 600_000, engine, many=True))
