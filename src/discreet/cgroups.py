"""Limits of the control groups that this process is in, which is how containers are limited.

Of both versions: in the second, one tree of folders has all limits; in the first, each controller
has its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

ROOT = Path("/sys/fs/cgroup")
OWN = Path("/proc/self/cgroup")


def memory_limit() -> int | None:
    """Return the least limit in bytes; None if there is none."""
    return min((limit for limit, _ in _memory()), default=None)


def memory_left() -> int | None:
    """Return the bytes that this process may still use; None if there is no limit."""
    return min((max(0, limit - used) for limit, used in _memory()), default=None)


def processors() -> float | None:
    """Return how many processors' time this process may use; None if there is no limit."""
    shares = []
    for group in _groups("cpu"):
        said = _read(group / "cpu.max").split()
        if not said:
            said = [_read(group / f"cpu.cfs_{name}_us") for name in ("quota", "period")]
        quota, period = (_number(one) for one in (*said, "", "")[:2])
        if quota and period:
            shares.append(quota / period)
    return min(shares, default=None)


def _memory() -> Iterator[tuple[int, int]]:
    """Return the limits of groups, and what is used of each."""
    for group in _groups("memory"):
        names = ("memory.max", "memory.high", "memory.limit_in_bytes")
        limits = [found for name in names if (found := _number(_read(group / name))) is not None]
        if not limits:
            continue
        used = [_number(_read(group / f"memory.{name}")) for name in ("current", "usage_in_bytes")]
        # What was read from files stays in memory as long as nobody else needs it.
        facts = dict(line.split()[:2] for line in _read(group / "memory.stat").splitlines())
        files = facts.get("total_inactive_file", facts.get("inactive_file", "0"))
        yield min(limits), max(0, (used[0] or used[1] or 0) - int(files))


def _groups(controller: str) -> Iterator[Path]:
    """List the folders of this process's group and of those above it."""
    for line in _read(OWN).splitlines():
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if controllers and controller not in controllers.split(","):
            continue
        # Within a container, what it is told of the groups above may not be there.
        parts = [part for part in path.split("/") if part]
        if number == "0":
            roots = [ROOT, ROOT / "unified"]
        else:
            roots = [ROOT / controllers, ROOT / controller]
        for root in dict.fromkeys(roots):
            for depth in range(len(parts), -1, -1):
                yield root.joinpath(*parts[:depth])


def _read(path: Path) -> str:
    try:
        return path.read_text("ascii").strip()
    except (OSError, ValueError):
        return ""


def _number(said: str) -> int | None:
    """Return a number; the word max and -1 are no limit."""
    return int(said) if said.isdigit() else None
