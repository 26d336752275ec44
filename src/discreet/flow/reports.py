"""The two reports of a release that was written, from its `internal/` and the released table."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from discreet.assessment.opened import opened
from discreet.check.evidence import Evidence
from discreet.check.folders import find_release
from discreet.check.kept import refuse_changed
from discreet.check.manifest import Manifest
from discreet.check.two_tables import read_released
from discreet.engines.choice import free_memory, memory_needed
from discreet.engines.memory import Memory
from discreet.errors import BadInput
from discreet.flow.publication import internal_facts, public_facts
from discreet.report import external_report, internal_report


def saved_facts(
    release: str | Path,
    original: str | Path | None = None,
    engine: str = "auto",
    memory: str | None = None,
    **dialect: str | None,
) -> dict[str, Any]:
    """Read what the internal report tells of a release that was written.

    With the original, risk and utility are measured anew, where `engine` and `memory` say, as for
    `assess`. Its dialect is as it was read, where not given.
    """
    _, evidence, note = _saved(release)
    folder = evidence.folder
    assert folder is not None
    if original is None:
        found = _read(folder / "assessment.json")
    else:
        with opened(original, [release], engine=engine, memory=memory, dialect=dialect) as [both]:
            found = both.assess().to_dict()
    check = _read(folder / "check.json")
    check["notes"] += [note] if note else []
    files = Manifest.read(folder).files
    return internal_facts(evidence.recipe, evidence.plan, evidence.log, check, found, files)


def saved_report(
    release: str | Path,
    *,
    original: str | Path | None = None,
    engine: str = "auto",
    memory: str | None = None,
    external: bool = False,
    comparison: Mapping[str, Any] | None = None,
    **dialect: str | None,
) -> str:
    """Write a report of a release that was written; parameters as for `saved_facts`."""
    if external:
        table, evidence, note = _saved(release)
        if note:
            warnings.warn(note, stacklevel=2)
        if memory_needed(table) > free_memory():
            return _written(table)
        assert evidence.schema is not None  # What was written has one.
        released = read_released(Memory(), table, None, evidence.schema, evidence.recipe)
        released = released.native().select(evidence.schema.names)
        return external_report(public_facts(evidence.recipe, evidence.log, released))
    facts = saved_facts(release, original, engine, memory, **dialect)
    if comparison is not None:
        number = facts["log"]["release"]
        if number not in [one.get("release") for one in comparison["releases"]]:
            others = ", ".join(one["name"] for one in comparison["releases"])
            raise BadInput(
                f"{release} is not among the releases of the comparison ({others}); compare it "
                "with them by `discreet compare`, or leave --compared out"
            )
        comparison = {**comparison, "reported": number}
    return internal_report(facts | {"comparison": comparison})


def _written(table: Path) -> str:
    """Return the page that was written beside a table that does not fit in memory."""
    page = table.parent / "report.html"
    if not page.is_file():
        raise BadInput(f"{page} is not there; an engine writes it with a release folder")
    return page.read_text(encoding="utf-8")


def _saved(release: str | Path) -> tuple[Path, Evidence, str | None]:
    """Find a release that is as it was written, or as far as can be told; a note says that."""
    table, internal = find_release(release)
    if not internal.is_dir():
        raise BadInput(
            f"{internal} is not there, and a report is made from it; run `discreet report` where "
            "the release was made"
        )
    evidence = Evidence.load(internal)
    return table, evidence, refuse_changed(release, table, evidence)


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BadInput(f"{path} cannot be read: {error}") from None
