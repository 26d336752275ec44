"""Runs of recipes, one after the other, each in a process of its own.

A run that is cancelled is a process that is stopped, so that nothing of it is left and the app does
not wait for it. The process sees when the server is gone, and ends too; the next server waits for
that before it tells what became of the run.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from discreet.app.workspace import Workspace, read_json
from discreet.errors import BadInput
from discreet.private import make_private_folder, write_private

# Seconds that a worker has to stop its run, which it kills after half a second.
_PATIENCE = 5.0
# What is asked of every run.
_NEEDED = {"number", "kind", "status", "input", "out"}
ENDED = ("done", "failed", "cancelled", "interrupted")


class Queue:
    """The runs of a workspace: those that are waiting, the one that is running, and all others."""

    def __init__(self, space: Workspace, engine: str = "auto", memory: str | None = None) -> None:
        self.space, self.engine = space, engine
        self.limits = {} if memory is None else {"memory": memory}
        self.folder = space.folder / "runs"
        self.changes = 0
        self._lock = threading.RLock()
        self._wake = threading.Event()
        self._process: subprocess.Popen[bytes] | None = None
        self._running: int | None = None
        self._cancelled: set[int] = set()
        self._closed = False
        for run in self.all():
            if run["status"] == "running":
                self._wait_for(run["number"])
                self._settle(run["number"], "interrupted")
        threading.Thread(target=self._work, daemon=True).start()

    def _wait_for(self, number: int) -> None:
        """Wait for the worker of a server that was killed: it ends too."""
        with contextlib.suppress(FileNotFoundError), (self.path(number) / "held").open() as held:
            fcntl.flock(held, fcntl.LOCK_SH)

    def _settle(self, number: int, otherwise: str, error: str | None = None) -> None:
        """Tell what became of a run that has ended: what it had written whole stands."""
        with self._lock:
            if self.get(number)["status"] in ENDED:
                return
            if self._is_whole(number):
                self._note(number, status="done", ended=_now())
                return
            self._note(number, status=otherwise, ended=_now(), error=error)
        self._clear(number)

    def _is_whole(self, number: int) -> bool:
        """Tell whether a run came to its end.

        One that was stopped between its release and its result has written a release that is whole,
        maybe outside the workspace: the result is read from there.
        """
        run, result = self.get(number), self.path(number) / "result.json"
        if result.exists() or run["kind"] != "protect":
            return result.exists()
        from discreet.app.worker import result_of

        # Whatever is wrong with its files: runs that wait would not go on, nor the app start.
        with contextlib.suppress(Exception):
            if _has_released(run):
                found = result_of(Path(run["out"]))
                write_private(result, json.dumps(found, ensure_ascii=False))
        return result.exists()

    def path(self, number: int) -> Path:
        """Return the folder of a run."""
        return self.folder / f"{number:04d}"

    def all(self) -> list[dict[str, Any]]:
        """Return all runs, the last one first."""
        with self._lock:
            found = []
            for path in sorted(self.folder.iterdir(), reverse=True):
                run = read_json(path / "run.json")
                # One that is damaged, or says that it is another one, is left out.
                if run is not None and run.keys() >= _NEEDED and _is_of(run, path):
                    found.append(run)
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
                options = {"engine": self.engine, **self.limits, **options}
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
                "again": again and again["number"],
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
            process = self._process if self._running == number else None
            self._cancelled.add(number)
        if process is not None:
            _stop(process)
        self._settle(number, "cancelled")

    def close(self) -> None:
        """Stop what is running; what waits goes on when the workspace is opened again."""
        with self._lock:
            self._closed = True
            number, process = self._running, self._process
        self._wake.set()
        if number is not None and process is not None:
            _stop(process)
            self._settle(number, "interrupted")

    def progress(self, number: int) -> list[str]:
        """Return what a run said it was doing, one line a stage."""
        path = self.path(number) / "progress"
        return path.read_text("utf-8", errors="replace").splitlines() if path.exists() else []

    def result(self, number: int) -> dict[str, Any] | None:
        """Return what a run came to, once it is done; None where that is damaged."""
        found = read_json(self.path(number) / "result.json") or {}
        needed = ("front",) if "front" in found else ("decision", "check", "assessment")
        return found if all(isinstance(found.get(name), dict) for name in needed) else None

    def _work(self) -> None:
        while not self._closed:
            try:
                runs = self.all()
                for run in runs:
                    if run["status"] == "running":  # Its end could not be written down.
                        self._settle(run["number"], "failed", "the run ended early")
                waiting = [run for run in runs if run["status"] == "waiting"]
                if waiting:
                    self._run(waiting[-1]["number"])
                    continue
            except Exception as error:
                # Such as a disk that is full. What waits goes on once it can, and what an
                # exception says may hold values of the table.
                # The terminal may be gone, or be a file on that disk.
                with contextlib.suppress(OSError, ValueError, AttributeError):
                    print(f"discreet app: {type(error).__name__} in the queue", file=sys.stderr)
            self._wake.wait(1)
            self._wake.clear()

    def _run(self, number: int) -> None:
        process = self._start(number)
        if process is None:
            return
        seen, said = -1, self.path(number) / "progress"
        try:
            while process.poll() is None:
                # Pages ask again where something changed: a stage is a change. By its size, as a
                # search of a day says a lot.
                if (now := said.stat().st_size if said.exists() else 0) != seen:
                    seen = now
                    self.changes += 1
                time.sleep(0.05)
        finally:
            if process.poll() is None:
                _stop(process)
            if process.returncode is not None and process.returncode < 0:
                _end_all_of(process)
                self._wait_for(number)
            with self._lock:
                self._process = self._running = None
        path = self.path(number) / "error"
        why = path.read_text(encoding="utf-8") if path.exists() else "the run ended early"
        if number in self._cancelled:
            self._settle(number, "cancelled")
        elif self._closed:
            self._settle(number, "interrupted")
        else:
            self._settle(number, "failed", why)

    def _start(self, number: int) -> subprocess.Popen[bytes] | None:
        """Start the process of a run that waits; it fails where its files are not to be used."""
        with self._lock:
            run = self.get(number)
            if self._closed or run["status"] != "waiting" or number in self._cancelled:
                return None
            try:
                self._check_files(run)
                # Before the process: one that nobody knows of would run unseen.
                self._note(number, status="running", started=_now(), began=time.time())
                # -P: files beside somebody's data are no modules.
                command = [sys.executable, "-P", "-m", "discreet.app.worker"]
                # Locked before there is a process, which inherits the lock: else nobody would wait
                # for one that had hardly begun when the server was killed.
                held = os.open(self.path(number) / "held", os.O_RDWR | os.O_CREAT, 0o600)
                with os.fdopen(held):
                    fcntl.flock(held, fcntl.LOCK_EX)
                    self._process = subprocess.Popen(
                        [*command, str(self.path(number))],
                        # Ctrl+C is for the server, which then stops this.
                        process_group=0,
                        pass_fds=[held],
                        stdin=subprocess.PIPE,
                        stdout=subprocess.DEVNULL,
                        stderr=subprocess.DEVNULL,
                        env=os.environ | {"TMPDIR": str(self.space.temporary)},
                    )
            except BadInput as error:
                self._note(number, status="failed", ended=_now(), error=str(error))
                return None
            except Exception as error:
                why = error.strerror if isinstance(error, OSError) else type(error).__name__
                said = f"the run could not be started: {why}"
                self._note(number, status="failed", ended=_now(), error=said)
                return None
            self._running = number
            return self._process

    def _check_files(self, run: dict[str, Any]) -> None:
        """Refuse files that were exchanged for links while the run waited."""
        if self.space.folders is None:
            return
        self.space.folders.find_file(run["input"])
        self.space.folders.find(run["out"])
        text = (self.path(run["number"]) / "recipe.toml").read_text(encoding="utf-8")
        self.space.check_files(text, self.path(run["number"]))

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


def _has_released(run: dict[str, Any]) -> bool:
    """Tell whether a run's folder holds its release: one that was there before is another's."""
    from discreet.check.folders import is_release

    out = Path(run["out"])
    if "began" not in run or not is_release(out):
        return False
    return (out / "internal" / "log.json").stat().st_mtime > run["began"]


def _is_of(run: dict[str, Any], folder: Path) -> bool:
    """Tell whether a run is that of a folder, where it is tidied up."""
    return isinstance(run["number"], int) and folder.name == f"{run['number']:04d}"


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(_PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if process.returncode < 0:
        _end_all_of(process)


def _end_all_of(process: subprocess.Popen[bytes]) -> None:
    """End what a worker that was killed itself has left running: nobody watches that any more."""
    # Its group is its own, and is there as long as one of it is.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
