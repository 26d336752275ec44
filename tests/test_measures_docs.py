"""Every public measure has its section in docs/measures.md, and what it declares is told there."""

import inspect
from pathlib import Path

import pytest

import discreet.risk
import discreet.utility
from discreet.assessment.catalogue import measures

TEXT = (Path(__file__).parent.parent / "docs" / "measures.md").read_text("utf-8")
HEADS = {
    name.strip()
    for line in TEXT.splitlines()
    if line.startswith("## ")
    for name in line[3:].split(",")
}


@pytest.mark.parametrize("package", [discreet.risk, discreet.utility], ids=lambda p: p.__name__)
def test_every_measure_is_documented(package):
    public = {
        name
        for name, member in vars(package).items()
        if inspect.isfunction(member) and member.__module__.startswith(package.__name__)
    }
    assert len(public) > 10
    assert public | {measure.name for measure in package.MEASURES} <= HEADS


def table(family):
    """The lines that docs/measures.md has of a family, from what its measures declare."""
    yield "| figure | in words | how to read it | unit | better | guide | needs | taken |"
    yield "|---|---|---|---|---|---|---|---|"
    for measure in measures(family).values():
        asked = measure.on_request
        needs = ", ".join(measure.needs)
        taken = "always" if not asked else "by name" if isinstance(asked, str) else "if it pays"
        for figure in measure.figures:
            name = f"{measure.name}.{figure.key}" if figure.key else measure.name
            name = f"`{name}`" + " of each column" * figure.each
            reading = figure.reading or measure.reading * (not figure.each)
            guide = "" if figure.guide is None else f"{figure.guide.value:g}"
            shown = (name, figure.title, reading, figure.unit, figure.better or "", guide)
            yield f"| {' | '.join((*shown, needs, taken))} |"


@pytest.mark.parametrize("family", ["risk", "utility"])
def test_what_is_declared_is_told(family):
    expected = "\n".join(table(family))
    assert expected in TEXT, f"put this into docs/measures.md:\n{expected}"
    for measure in measures(family).values():
        for figure in measure.figures:
            if figure.guide is not None:
                assert figure.guide.source in TEXT
