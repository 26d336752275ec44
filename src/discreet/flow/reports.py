"""The two reports of a release that was written, from its `internal/` and the released table."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from discreet.assessment.assessment import assess
from discreet.check.evidence import Evidence, content_hmac
from discreet.check.folders import find_release
from discreet.check.rows import suppressed_rows
from discreet.errors import BadInput
from discreet.flow.publication import internal_facts, public_facts
from discreet.recipe.reading import read_original
from discreet.report import external_report, internal_report
from discreet.table import read_table


def saved_facts(
    release: str | Path, original: str | Path | None = None, **dialect: str | None
) -> dict[str, Any]:
    """Read what the internal report tells of a release that was written.

    Parameters
    ----------
    release : path
        Of the folder, or of the released file.
    original : path, optional
        The input, to measure risk and utility anew.
    **dialect : str, optional
        Of the input, as `read_table` takes it; as it was read, where not given.
    """
    table, evidence = _saved(release)
    folder = evidence.folder
    assert folder is not None
    check = _read(folder / "check.json")
    if original is None:
        return internal_facts(
            evidence.recipe, evidence.plan, evidence.log, check, _read(folder / "assessment.json")
        )
    if "engine" in evidence.log:
        raise BadInput(
            f"{release} was made on {evidence.log['engine']}, with all figures of its report; "
            "leave the original out, or measure it anew with discreet assess"
        )
    given = {name: value for name, value in dialect.items() if value is not None}
    read_as = evidence.log["input"].get("dialect", {}) | given
    before = read_original(original, evidence.recipe, **read_as)
    if content_hmac(before, evidence.key) != evidence.log["input"]["hmac"]:
        raise BadInput(f"{original} is not the table that {release} was made from")
    found = assess(
        before,
        read_table(table, schema=evidence.schema),
        evidence.recipe.roles,
        recipe=evidence.recipe,
        rows=evidence.rows,
        suppressed=suppressed_rows(evidence, before),
    )
    return internal_facts(evidence.recipe, evidence.plan, evidence.log, check, found.to_dict())


def saved_report(
    release: str | Path,
    *,
    original: str | Path | None = None,
    external: bool = False,
    comparison: Mapping[str, Any] | None = None,
    **dialect: str | None,
) -> str:
    """Write a report of a release that was written; parameters as for `saved_facts`."""
    if external:
        table, evidence = _saved(release)
        if "engine" in evidence.log:
            return _written(table)
        released = read_table(table, schema=evidence.schema)
        return external_report(public_facts(evidence.recipe, evidence.log, released))
    facts = saved_facts(release, original, **dialect)
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
    """Return the page that an engine wrote beside its table, which may not fit in memory."""
    page = table.parent / "report.html"
    if not page.is_file():
        raise BadInput(f"{page} is not there; an engine writes it with a release folder")
    return page.read_text(encoding="utf-8")


def _saved(release: str | Path) -> tuple[Path, Evidence]:
    table, internal = find_release(release)
    if not internal.is_dir():
        raise BadInput(
            f"{internal} is not there, and a report is made from it; run `discreet report` where "
            "the release was made"
        )
    return table, Evidence.load(internal)


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BadInput(f"{path} cannot be read: {error}") from None
