"""One run in a process of its own: `python -m discreet.app.worker FOLDER`.

Compiled code hears no signal and lets no other thread speak, so a run cannot watch itself: it is
the child of a process that does nothing but watch, and stops it when it is asked to, or when the
server is gone. Both inherit a lock of the server's, which is free when both have ended.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import time
import tomllib
import warnings
from pathlib import Path
from typing import Any

from discreet.private import write_private

# A run that is asked to stop removes its temporary files first, if it can in so many seconds.
_PATIENCE = 0.5


def main(folder: Path) -> int:
    """Carry out the run of a folder; what it says goes to files there."""
    asked: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, frame: asked.append(number))
    child = os.fork()
    if child == 0:
        return _work(folder)
    while (code := _ended(child)) is None:
        ready, _, _ = select.select([0], [], [], 0.02)
        # Nobody writes to this process; its input ends with the server.
        if asked or (ready and not os.read(0, 1)):
            return _stop(child)
    return code


def _ended(child: int) -> int | None:
    """Return the exit code of a process that has ended."""
    found, status = os.waitpid(child, os.WNOHANG)
    return os.waitstatus_to_exitcode(status) if found else None


def _stop(child: int) -> int:
    os.kill(child, signal.SIGTERM)
    end = time.monotonic() + _PATIENCE
    while _ended(child) is None:
        if time.monotonic() > end:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            break
        time.sleep(0.01)
    return 128 + signal.SIGTERM


def _work(folder: Path) -> int:
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    warnings.simplefilter("ignore")  # A release's log has them.
    return carry_out(folder)


def carry_out(folder: Path) -> int:
    """Do what a run's folder asks for, and write there what came of it."""
    run = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    with (folder / "progress").open("a", encoding="utf-8", buffering=1) as said:
        os.chmod(said.name, 0o600)

        def tell(what: str) -> None:
            said.write(f"{what}\n")

        tell("starting")
        try:
            result = (_search if run["kind"] == "search" else _protect)(folder, run, tell)
        except Exception as error:
            write_private(folder / "error", _in_a_sentence(error))
            return 1
    write_private(folder / "result.json", json.dumps(result, ensure_ascii=False))
    return 0


def _protect(folder: Path, run: dict[str, Any], tell: Any) -> dict[str, Any]:
    """Do what `discreet protect` does."""
    from discreet.flow.protection import protect_to
    from discreet.recipe import Recipe

    protect_to(
        Path(run["input"]),
        Recipe.load(folder / "recipe.toml"),
        Path(run["out"]),
        dialect=run["dialect"],
        tell=tell,
        **run["options"],
    )
    return result_of(Path(run["out"]))


def result_of(release: Path) -> dict[str, Any]:
    """Read what a release came to from its own folder, so that a run may end right after it."""
    from discreet.check.folders import find_release
    from discreet.flow.reports import saved_facts
    from discreet.report.decision import decision

    facts = saved_facts(release)
    return {
        "table": str(find_release(release)[0]),
        "decision": decision(facts),
        "check": facts["check"],
        "assessment": facts["assessment"],
    }


def _search(folder: Path, run: dict[str, Any], tell: Any) -> dict[str, Any]:
    """Do what `discreet search` does, with the recipe's roles and hierarchies."""
    from discreet.tuning.search import search

    last = [""]

    def progress(now: Any) -> None:
        said = f"{now.doing}: {now.evaluations:,} recipes tried, {now.points:,} on the front"
        if said != last[0]:
            last[0] = said
            tell(said)

    front = search(
        Path(run["input"]),
        tomllib.loads((folder / "recipe.toml").read_text(encoding="utf-8")),
        out=Path(run["out"]),
        dialect=run["dialect"],
        progress=progress,
        **run["options"],
    )
    return {"front": front.to_dict()}


def _in_a_sentence(error: Exception) -> str:
    from discreet.errors import BadInput, BrokenPromise

    if isinstance(error, BadInput | BrokenPromise | OSError):
        return " ".join(str(error).splitlines())
    if isinstance(error, MemoryError):
        return "there is too little memory for this"
    # Its text may hold values of the table.
    return f"an unexpected {type(error).__name__}; run the command that is shown to see more"


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
