"""The fuzzer: `python -m tests.fuzz --cases 1000 --seed 1 --jobs 2`."""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor

from tests.fuzz.cases import make_case
from tests.fuzz.run import (
    EARLY,
    LATE,
    LEAK,
    VERIFIED,
    Ended,
    message_class,
    run_seed,
    shrunk,
    snippet,
)

_TOLD = 25


def main() -> int:
    """Run cases, print how they ended, and what is wrong."""
    given = _arguments()
    seeds = range(given.seed, given.seed + given.cases)
    started = time.monotonic()
    # Not forked: that stops where Arrow and DuckDB have threads.
    with ProcessPoolExecutor(given.jobs, multiprocessing.get_context("spawn")) as pool:
        width = len(seeds)
        results = pool.map(
            run_seed, seeds, [given.engine] * width, [given.rows] * width, chunksize=20
        )
        ended = list(_followed(results, width))
    seconds = time.monotonic() - started
    _print_counts(ended, seconds)
    failures = [case for case in ended if case.failed]
    for case in failures[:_TOLD]:
        most, smallest = shrunk(case, given.engine)
        print(f"\n{case.outcome}, seed {case.seed}, {' + '.join(case.methods)}\n  {smallest.said}")
        print(f"  {snippet(case.seed, given.engine, most or given.rows)}")
    if given.cases == 1:
        case = make_case(given.seed, given.engine, given.rows)
        print(case, case.table.to_pandas().head(20).to_string(), sep="\n")
    return 1 if failures else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1, help="of the first case; the others follow")
    parser.add_argument("--engine", choices=["memory", "duckdb", "spark"], help="for all cases")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--rows", type=int, help="at most so many")
    return parser.parse_args()


def _followed(results, width):
    for number, result in enumerate(results, start=1):
        if number % 500 == 0 and sys.stderr.isatty():
            print(f"{number:,} of {width:,}", file=sys.stderr)
        yield result


def _print_counts(ended: list[Ended], seconds: float) -> None:
    total = max(1, len(ended))
    print(f"{len(ended):,} cases in {seconds:.0f} s, {len(ended) / seconds:.1f} a second")
    outcomes = Counter(case.outcome for case in ended)
    for outcome, count in outcomes.most_common():
        print(f"  {count:7,}  {count / total:6.1%}  {outcome}")
    print("Methods in verified releases:")
    used = Counter(m for case in ended if case.outcome == VERIFIED for m in case.methods)
    print("  " + ", ".join(f"{name} {count:,}" for name, count in sorted(used.items())))
    for outcome in (EARLY, LATE, LEAK):
        print(f"{outcome[0].upper()}{outcome[1:]}:")
        said = Counter(message_class(case.said) for case in ended if case.outcome == outcome)
        for message, count in said.most_common(30):
            print(f"  {count:7,}  {message}")


if __name__ == "__main__":
    sys.exit(main())
