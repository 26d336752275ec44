"""Which tests take long: `make test` leaves these to `make test-long`, and the gate runs both.

`python -m tests.long` runs all of them, and writes the list anew.
"""

import sys
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

LIST = Path(__file__).with_name("long.txt")
# Seconds that all cases of a test take, and one of them on average: what a case is the first to need
# is its own, and many cases of a few milliseconds are worth theirs.
LEAST, EACH = 0.5, 0.02
# Journeys with processes and pages, whatever one of them takes.
FOLDERS = ("tests/app/", "tests/docs/")


def is_long(nodeid: str) -> bool:
    """Tell whether a test is one that `make test` leaves out."""
    return nodeid.startswith(FOLDERS) or nodeid.partition("[")[0] in listed()


@cache
def listed() -> frozenset[str]:
    """Return the tests that are listed, by file and name."""
    return frozenset(LIST.read_text("utf-8").split())


class Times:
    """Adds up what the cases of each test take."""

    def __init__(self) -> None:
        self.seconds: Counter[str] = Counter()
        self.cases: Counter[str] = Counter()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        name = report.nodeid.partition("[")[0]
        if not name.startswith(FOLDERS):
            self.seconds[name] += report.duration
            self.cases[name] += report.when == "call"

    def are_long(self, name: str) -> bool:
        return self.seconds[name] >= max(LEAST, EACH * self.cases[name])


def main() -> int:
    """Measure, and write the list."""
    times = Times()
    command = ["-n", "2", "--dist", "worksteal", "-m", "not (slow or browser or spark or dist)"]
    ended = pytest.main(command, plugins=[times])
    found = sorted(filter(times.are_long, times.seconds))
    LIST.write_text("".join(f"{one}\n" for one in found), "utf-8")
    left = times.seconds.total() - sum(times.seconds[one] for one in found)
    print(f"{LIST.name}: {len(found)} tests; all others take {left:.0f} s on one core")
    return int(ended)


if __name__ == "__main__":
    sys.exit(main())
