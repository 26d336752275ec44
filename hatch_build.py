"""Writes the commit into what is built, so that `discreet --version` can tell it."""

import runpy
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CommitHook(BuildHookInterface):
    """Adds `commit.txt` to the wheel and the sdist; a wheel made from an sdist has its file."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the file, but not to an editable install, which would never change it again."""
        package = Path("src", "discreet")
        known = runpy.run_path(str(Path(self.root, package, "version.py")))
        made = known["commit"]()
        if version == "editable" or made is None or known["COMMIT_FILE"].exists():
            return
        self.folder = tempfile.TemporaryDirectory()  # Gone with the hook, after the build.
        file = Path(self.folder.name, "commit.txt")
        file.write_text(f"{made}\n", encoding="utf-8")
        inside = package if self.target_name == "sdist" else Path(package.name)
        build_data["force_include"][str(file)] = (inside / file.name).as_posix()
