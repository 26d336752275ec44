"""The risk-utility map."""

import itertools
import re

import numpy as np

from discreet.report import pictures
from discreet.report.pictures.drawing import TEXT, width


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


def test_names_of_near_points_do_not_overlap():
    rng = np.random.default_rng(2)
    releases = [
        {"name": f"release {i}", "risk": r, "loss": c, "dominated": True}
        for i, (r, c) in enumerate(0.2 + 0.02 * rng.random((8, 2)))
    ] + [{"name": "far", "risk": 0.9, "loss": 0.9, "dominated": False}]
    svg = pictures.risk_utility(releases).svg
    boxes = []
    for anchor, x, y, name in re.findall(
        r'text-anchor: (\w+)" x="([\d.]+)" y="([\d.]+)">(release \d+|far)<', svg
    ):
        wide = TEXT * width(name)
        left = float(x) - (wide if anchor == "end" else 0)
        boxes.append((left, left + wide, float(y) - TEXT, float(y)))
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
    names = re.findall(r'text-anchor: (\w+)" x="([\d.]+)" y="([\d.]+)">(release number \d)<', svg)
    assert len(names) == 4
    dashed = next(path for path in re.findall(r"<path [^>]*>", svg) if "stroke-dasharray" in path)
    numbers = [float(part) for part in re.findall(r"[\d.]+", re.search(r' d="([^"]*)"', dashed)[1])]
    line = np.array(numbers).reshape(-1, 2)
    assert len(line) == 4
    along = np.linspace(0, 1, 500)[:, None]
    for anchor, x, y, name in names:
        wide = TEXT * width(name)
        left = float(x) - (wide if anchor == "end" else 0)
        for start, end in itertools.pairwise(line):
            on = start + along * (end - start)
            inside = (on[:, 0] > left) & (on[:, 0] < left + wide)
            inside &= (on[:, 1] > float(y) - TEXT + 1) & (on[:, 1] < float(y))
            assert not inside.any(), name
