"""Every public measure has its section in docs/measures.md."""

import inspect
from pathlib import Path

import pytest

import discreet.risk
import discreet.utility

TEXT = (Path(__file__).parent.parent / "docs" / "measures.md").read_text("utf-8")
HEADS = {
    name.strip()
    for line in TEXT.splitlines()
    if line.startswith("## ")
    for name in line[3:].split(",")
}


@pytest.mark.parametrize("package", [discreet.risk, discreet.utility], ids=lambda p: p.__name__)
def test_every_measure_is_documented(package):
    measures = {name for name, member in vars(package).items() if inspect.isfunction(member)}
    assert measures <= HEADS
