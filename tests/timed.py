"""Bounds on time that tell a wrong order of growth, and not a slow machine."""

import time
from collections.abc import Callable
from typing import TypeVar

Result = TypeVar("Result")


def within(seconds: float, work: Callable[[], Result]) -> Result:
    """Run something that takes so many processor seconds at most; return what it gives.

    The first call may compile, and something else may run on the machine: if it takes too long,
    a second one counts. Bounds are ten times what it takes, or more.
    """
    for last in (False, True):
        start = time.process_time()
        found = work()
        taken = time.process_time() - start
        if taken < seconds:
            break
        assert not last, f"it took {taken:.1f} s of processor time, not {seconds:g}"
    return found
