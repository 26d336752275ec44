"""One run in a process of its own: `python -m discreet.app.worker FOLDER`."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import tomllib
import warnings
from pathlib import Path
from typing import Any

from discreet.private import write_private


def main(folder: Path) -> int:
    """Carry out the run of a folder; what it says goes to files there."""
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    threading.Thread(target=_end_with_server, daemon=True).start()
    warnings.simplefilter("ignore")  # A release's log has them.
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


def _end_with_server() -> None:
    """Ask this process to stop when nobody holds the other end of its input any more."""
    # Not by a file object, whose lock this thread would hold when the process ends.
    while os.read(0, 1):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


def _protect(folder: Path, run: dict[str, Any], tell: Any) -> dict[str, Any]:
    """Do what `discreet protect` does."""
    from discreet.flow.protection import protect_to
    from discreet.recipe import Recipe
    from discreet.report.decision import decision

    release, assessment, written = protect_to(
        Path(run["input"]),
        Recipe.load(folder / "recipe.toml"),
        Path(run["out"]),
        dialect=run["dialect"],
        tell=tell,
        **run["options"],
    )
    return {
        "table": str(written),
        "decision": decision(release.facts(assessment=assessment)),
        "check": None if release.check is None else release.check.to_dict(),
        "assessment": assessment.to_dict(),
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
