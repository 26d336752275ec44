"""The risk-utility map."""

import itertools

import numpy as np

from discreet.report import pictures
from discreet.report.pictures.drawing import TEXT
from discreet.report.pictures.words import width
from tests.report.pages import marks, walked


def named(svg: str, begins: tuple[str, ...]) -> dict[str, tuple[float, float, float, float]]:
    """Return the boxes of texts: left, right, top, bottom."""
    found = {}
    for mark in marks(svg, "text"):
        if mark["text"].startswith(begins):
            wide = TEXT * width(mark["text"])
            left = float(mark["x"]) - (wide if mark.get("text-anchor") == "end" else 0)
            found[mark["text"]] = left, left + wide, float(mark["y"]) - TEXT, float(mark["y"])
    return found


def test_names_stand_where_there_is_room_and_the_front_is_a_line():
    releases = [
        {"name": f"r{i}", "risk": 0.5 - i / 10, "loss": i / 10, "dominated": False}
        for i in range(4)
    ]
    beaten = {"name": "beaten <b>", "risk": 0.5, "loss": 0.3, "dominated": True}
    picture = pictures.risk_utility([*releases, beaten], "risk: share found", "loss: share lost")
    assert "beaten &lt;b&gt;" in picture.svg
    assert "r3: 0.3 and 0.2, not dominated; beaten <b>: 0.3 and 0.5, dominated." in picture.alt
    assert ">dominated<" in picture.svg
    alone = pictures.risk_utility(releases[:1])
    assert ">dominated<" not in alone.svg


def test_a_point_off_the_line_that_is_not_beaten_is_explained():
    line = [
        {"name": name, "risk": risk, "loss": loss, "dominated": False}
        for name, risk, loss in (("a", 0.1, 0.3), ("b", 0.3, 0.1))
    ]
    behind = {"name": "better in the other risk", "risk": 0.3, "loss": 0.3, "dominated": False}
    said = "A filled point off the line is better in what this map does not show."
    assert said in pictures.risk_utility([*line, behind]).caption
    assert said not in pictures.risk_utility(line).caption


def test_names_of_near_points_do_not_overlap():
    rng = np.random.default_rng(2)
    releases = [
        {"name": f"release {i}", "risk": r, "loss": c, "dominated": True}
        for i, (r, c) in enumerate(0.2 + 0.02 * rng.random((8, 2)))
    ] + [{"name": "far", "risk": 0.9, "loss": 0.9, "dominated": False}]
    svg = pictures.risk_utility(releases).svg
    boxes = list(named(svg, ("release", "far")).values())
    assert len(boxes) == 9
    for i, a in enumerate(boxes):
        for b in boxes[:i]:
            apart = a[1] <= b[0] or b[1] <= a[0] or a[3] <= b[2] + 1 or b[3] <= a[2] + 1
            assert apart


def test_names_stand_off_the_line():
    # Right of the last point there is no room, and the line comes from the left.
    releases = [
        {"name": f"release number {i}", "risk": r, "loss": c, "dominated": False}
        for i, (r, c) in enumerate([(0.9, 0.1), (0.52, 0.3), (0.45, 0.6), (0.38, 0.9)])
    ]
    svg = pictures.risk_utility(releases).svg
    names = named(svg, ("release",))
    assert len(names) == 4
    dashed = next(mark for mark in marks(svg, "path") if "stroke-dasharray" in mark)
    line = np.array(walked(dashed["d"])[0])
    assert len(line) == 4
    along = np.linspace(0, 1, 500)[:, None]
    for name, (left, right, top, bottom) in names.items():
        for start, end in itertools.pairwise(line):
            on = start + along * (end - start)
            inside = (on[:, 0] > left) & (on[:, 0] < right)
            inside &= (on[:, 1] > top + 1) & (on[:, 1] < bottom)
            assert not inside.any(), name


def test_an_axis_where_more_is_better_runs_the_other_way():
    releases = [
        {"name": name, "risk": at, "loss": at, "dominated": False}
        for name, at in (("low", 0.1), ("high", 0.9))
    ]

    def middles(turned):
        found = marks(pictures.risk_utility(releases, turned=turned).svg, "circle")
        return [(float(mark["cx"]), float(mark["cy"])) for mark in found[:2]]

    (x0, y0), (x1, y1) = middles([])
    assert x0 < x1
    assert y0 > y1
    (x0, y0), (x1, y1) = middles(["risk", "loss"])
    assert x0 > x1
    assert y0 < y1
