"""The reports of large releases: figures counted and both pages written. No peers."""

import json
from dataclasses import replace
from typing import Any

from benchmarks.inspection import people
from benchmarks.rows import Case, row

MEGABYTE = 10**6
RECIPE = {
    "roles": {
        "identifiers": ["name"],
        "quasi": ["region", "age", "sex"],
        "confidential": ["income", "assets", "disease"],
        "untouched": ["region", "sex"],
        "household": "household_id",
        "weight": "weight",
        "rest": "insensitive",
    },
    # What the reports take is the matter here.
    "allow_leaks": ["age", "household_size", "education", "occupation"],
    "steps": [
        {"method": "top-bottom", "columns": ["age"], "upper": 85},
        {"method": "oma", "columns": ["income", "assets"], "k": 10},
        {"method": "noise", "columns": ["household_size"], "scale": 0.2},
        {"method": "pram", "columns": ["education", "occupation", "c3", "c12", "c50"]},
    ],
}


def reported(n: int) -> Case:
    """What the reports add to a release whose risk and utility are measured already."""
    from discreet import protect
    from discreet.assessment.facts import Facts
    from discreet.engines.memory import MemoryFrame

    release = protect(people(n), RECIPE)
    assessment = release.assess()
    tables = release.original, release.finished
    finished = tables[1]
    assert isinstance(finished, MemoryFrame)

    def ours() -> Any:
        from discreet.assessment.figures import figures_of
        from discreet.flow.publication import public_facts
        from discreet.report import external_report, internal_report

        figures = figures_of(Facts(*tables, release.recipe))
        internal = internal_report(release.facts(assessment=replace(assessment, figures=figures)))
        facts = public_facts(release.recipe, release.log, finished.table)
        external = external_report(facts)
        return internal, external, figures

    def check(ours: Any, peer: Any) -> str:
        sizes = [len(page.encode()) / MEGABYTE for page in ours[:2]]
        assert max(sizes) < 5
        figures = len(json.dumps(ours[2])) / MEGABYTE
        return f"{sizes[0]:.2f} and {sizes[1]:.2f} MB, figures {figures:.2f} MB"

    return Case(ours=ours, check=check)


@row("report n=1e5 x 20", seconds=20)
def _() -> Case:
    return reported(100_000)


@row("report n=1e6 x 20", seconds=60, memory=True)
def _() -> Case:
    return reported(1_000_000)
