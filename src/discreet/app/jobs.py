"""Runs of recipes, one after the other, each in a process of its own.

A run that is cancelled is a process that is stopped, so that nothing of it is left and the app does
not wait for it. The process sees when the server is gone, and ends too; the next server waits for
that before it tells what became of the run.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import shutil
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from discreet.app.workspace import Workspace
from discreet.errors import BadInput
from discreet.private import make_private_folder, write_private

# Seconds that a worker has to stop its run, which it kills after half a second.
_PATIENCE = 5.0
ENDED = ("done", "failed", "cancelled", "interrupted")


class Queue:
    """The runs of a workspace: those that are waiting, the one that is running, and all others."""

    def __init__(self, space: Workspace, engine: str = "auto") -> None:
        self.space, self.engine = space, engine
        self.folder = space.folder / "runs"
        self.changes = 0
        self._lock = threading.RLock()
        self._wake = threading.Event()
        self._process: subprocess.Popen[bytes] | None = None
        self._running: int | None = None
        self._closed = False
        for run in self.all():
            if run["status"] == "running":
                self._settle(run["number"])
        threading.Thread(target=self._work, daemon=True).start()

    def _settle(self, number: int) -> None:
        """Tell what became of a run whose server was killed: what it had written whole stands."""
        with contextlib.suppress(FileNotFoundError), (self.path(number) / "held").open() as held:
            fcntl.flock(held, fcntl.LOCK_SH)
        done = (self.path(number) / "result.json").exists()
        self._note(number, status="done" if done else "interrupted")
        if not done:
            self._clear(number)

    def path(self, number: int) -> Path:
        """Return the folder of a run."""
        return self.folder / f"{number:04d}"

    def all(self) -> list[dict[str, Any]]:
        """Return all runs, the last one first."""
        with self._lock:
            found = []
            for path in sorted(self.folder.iterdir(), reverse=True):
                with contextlib.suppress(FileNotFoundError, NotADirectoryError):
                    found.append(json.loads((path / "run.json").read_text(encoding="utf-8")))
            return found

    def get(self, number: int) -> dict[str, Any]:
        """Return a run."""
        for run in self.all():
            if run["number"] == number:
                return run
        raise BadInput(f"there is no run {number}")

    def add(
        self,
        recipe: str,
        said: str,
        version: int,
        out: Path | None = None,
        kind: str = "protect",
        again: dict[str, Any] | None = None,
        **options: Any,
    ) -> int:
        """Put a run of a recipe's text into the queue; it is written to `out`, or kept here.

        Its kind is `protect`, or `search`, which looks for recipes. It reads the table that is
        open, or that of an earlier run, `again`.
        """
        with self._lock:
            # By folders: a server that was killed may have left one without a run.
            names = [path.name for path in self.folder.iterdir()]
            number = max([int(name) for name in names if name.isdecimal()], default=0) + 1
            folder = self.path(number)
            make_private_folder(folder)
            write_private(folder / "recipe.toml", recipe)
            table = again or self.space.state
            if kind == "protect":
                options = {"engine": self.engine, **options}
            run = {
                "number": number,
                "kind": kind,
                "version": version,
                "said": said,
                "status": "waiting",
                "added": _now(),
                "input": table["input"],
                "dialect": table["dialect"],
                "out": str(out or folder / ("release" if kind == "protect" else "front")),
                "options": options,
                "error": None,
            }
            self._save(run)
        self._wake.set()
        return number

    def cancel(self, number: int) -> None:
        """Stop a run, or take it out of the queue."""
        with self._lock:
            if self.get(number)["status"] in ENDED:
                return
            self._note(number, status="cancelled", ended=_now())
            process = self._process if self._running == number else None
        if process is not None:
            _stop(process)
        self._clear(number)

    def close(self) -> None:
        """Stop what is running; what waits goes on when the workspace is opened again."""
        with self._lock:
            self._closed = True
            number, process = self._running, self._process
            if number is not None:
                self._note(number, status="interrupted", ended=_now())
        self._wake.set()
        if number is not None and process is not None:
            _stop(process)
            self._clear(number)

    def progress(self, number: int) -> list[str]:
        """Return what a run said it was doing, one line a stage."""
        path = self.path(number) / "progress"
        return path.read_text(encoding="utf-8").splitlines() if path.exists() else []

    def result(self, number: int) -> dict[str, Any] | None:
        """Return what a run came to, once it is done."""
        path = self.path(number) / "result.json"
        if not path.exists():
            return None
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return found

    def _work(self) -> None:
        while not self._closed:
            waiting = [run for run in self.all() if run["status"] == "waiting"]
            if not waiting:
                self._wake.wait(1)
                self._wake.clear()
                continue
            self._run(waiting[-1]["number"])

    def _run(self, number: int) -> None:
        with self._lock:
            if self._closed or self.get(number)["status"] != "waiting":
                return
            # -P: files beside somebody's data are no modules.
            command = [sys.executable, "-P", "-m", "discreet.app.worker", str(self.path(number))]
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
            self._running = number
            self._note(number, status="running", started=_now())
        seen = -1
        while self._process.poll() is None:
            # Pages ask again where something changed: a stage is a change.
            if (now := len(self.progress(number))) != seen:
                seen = now
                self.changes += 1
            time.sleep(0.05)
        with self._lock:
            code, self._process, self._running = self._process.returncode, None, None
            if self.get(number)["status"] != "running":
                return
            if code == 0:
                self._note(number, status="done", ended=_now())
                return
            path = self.path(number) / "error"
            said = path.read_text(encoding="utf-8") if path.exists() else "the run ended early"
            self._note(number, status="failed", ended=_now(), error=said)
        self._clear(number)

    def _note(self, number: int, **news: Any) -> None:
        with self._lock:
            self._save(self.get(number) | news)

    def _save(self, run: dict[str, Any]) -> None:
        path = self.path(run["number"]) / "run.json"
        write_private(path, json.dumps(run, indent=1, ensure_ascii=False))
        self.changes += 1

    def _clear(self, number: int) -> None:
        """Remove what a run that did not end well has left."""
        from discreet.check.folders import clear_leftovers

        run = self.get(number)
        out = Path(run["out"])
        with contextlib.suppress(OSError):
            clear_leftovers(out)
        for path in self.path(number).iterdir():
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(_PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
