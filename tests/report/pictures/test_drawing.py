"""Every picture is small, valid, safe to put into a page, and tells itself in words."""

import re
import warnings
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.report import pictures
from discreet.report.pictures.drawing import TEXT, path
from discreet.report.pictures.words import clipped, width
from tests.report.pages import marks, walked

HOSTILE = [
    "<script>alert(1)</script>",
    'quote " and \' and &amp; id="axes_1" href="#x" url(#y)',
    "$\\frac{1}{2$ and $x^2$",
    "emoji 🏠👩‍👧 中文 العربية",
    "x" * 200,
    "a\nb\tc\x00\x07\ud800d",
    "-->]]><!--",
    "_",
    "",
]


def every(name: str) -> list[pictures.Picture]:
    """Draw one picture of each family with a name."""
    histogram = {"edges": [10.0, 20.0, 40.0], "before": [10, 20, 30, 40], "after": [40, 30, 20, 10]}
    released = {"edges": histogram["edges"], "counts": histogram["after"]}
    related = {
        "columns": [name, "b"],
        "before": [[1, 0.5], [0.5, 1]],
        "after": [[1, -0.2], [-0.2, 1]],
    }
    nulls = {"columns": [name, "b"], "rows": 100, "before": [0.1, 0], "after": [0.2, 0]}
    patterns = [{"columns": [name], "before": 10, "after": 20}]
    porop = {"second_k": 5, "degrees": [2], "coefficients": [1.0, 0.3, 0.1], "deviations": [0.1]}
    trace = {"seconds": [0.0, 1.0], "moves": [0, 5], "loss": [3.0, 2.0]}
    one = {"name": name, "risk": 0.1, "loss": 0.2, "dominated": False}
    labels = {"labels": [name, "other"], "before": [30, 10], "after": [20, 20]}
    return [
        pictures.histogram(name, histogram),
        pictures.released_histogram(name, released),
        pictures.ecdf(name, {"before": list(range(100)), "after": list(range(5, 105))}),
        pictures.categories(name, labels),
        pictures.released_categories(name, {"labels": [name, "other"], "counts": [30, 10]}),
        pictures.correlations(related),
        pictures.class_sizes({"sizes": ["1", "2"], "before": [5, 6], "after": [0, 11]}),
        pictures.nulls(nulls | {"patterns": patterns}),
        pictures.rounding_sets(
            name, {"points": [5, 30], "cuts": [15], "counts": [4, 5]}, histogram
        ),
        pictures.polynomials([name], porop),
        pictures.refinement(trace),
        pictures.risk_utility([one, one | {"name": "b", "risk": 0.3, "dominated": True}]),
    ]


@pytest.mark.parametrize("name", HOSTILE)
def test_names_are_text_and_no_picture_is_broken_by_them(name):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        drawn = every(name)
    for picture in drawn:
        root = ElementTree.fromstring(picture.svg)
        tags = {element.tag.rpartition("}")[2] for element in root.iter()}
        assert tags <= {"svg", "title", "desc", "defs", "pattern", "path", "circle", "text"}
        assert [element.text for element in root][:2] == [picture.title, picture.alt]
        for element in root.iter():
            for key, value in element.attrib.items():
                assert not key.lower().startswith("on")
                assert "javascript" not in value
                assert key != "href" or value.startswith("#")
    ids = [i for picture in drawn for i in re.findall(r'<[^>]* id="([^"]+)"', picture.svg)]
    assert len(ids) == len(set(ids))


def test_what_a_picture_refers_to_is_in_it():
    hatched = 0
    for picture in every("age"):
        root = ElementTree.fromstring(picture.svg)
        ids = {e.attrib["id"] for e in root.iter() if "id" in e.attrib}
        used = set(re.findall(r"url\(#([^)]+)\)", picture.svg))
        hatched += len(used)
        # Nothing is kept that nothing refers to.
        assert used | set(root.attrib["aria-labelledby"].split()) == ids
    assert hatched


@pytest.mark.parametrize("name", ["age", "x" * 200, "中文" * 40])
def test_text_stays_inside_and_off_other_text(name):
    for picture in every(name):
        root = ElementTree.fromstring(picture.svg)
        wide, high = map(float, root.attrib["viewBox"].split()[2:])
        boxes = []
        for mark in marks(picture.svg, "text"):
            x, y = float(mark["x"]), float(mark["y"])
            size = float(mark.get("font-size", TEXT))
            long = size * width(mark["text"])
            start = {"start": 0.0, "middle": long / 2, "end": long}[
                mark.get("text-anchor", "start")
            ]
            box = (x - start, y - 0.75 * size, x - start + long, y)
            if "transform" in mark:
                box = (x - 0.75 * size, y + start - long, x, y + start)
            assert box[0] >= -1, mark
            assert box[1] >= -1, mark
            assert box[2] <= wide + 1, mark
            assert box[3] <= high + 1, mark
            for other in boxes:
                apart = box[2] <= other[0] or other[2] <= box[0]
                assert apart or box[3] <= other[1] or other[3] <= box[1], (picture.title, mark)
            boxes.append(box)


def test_pictures_of_a_column_are_small_and_the_same_again():
    for picture, again in zip(every("age"), every("age"), strict=True):
        assert picture == again
        assert len(picture.svg) < 15_000
        assert not re.search(
            r"20\d\d-\d\d-\d\d|matplotlib|http(?!://www.w3.org/2000/svg)", picture.svg
        )
        assert re.search(r"\d", picture.alt)
        assert picture.caption.endswith(".")


def test_a_picture_reads_without_colour():
    """Both sides of a pair differ by hatch, line or fill, not by colour alone."""
    svg = pictures.categories("c", {"labels": ["a"], "before": [10], "after": [20]}).svg
    assert svg.count("<pattern") == 1
    svg = pictures.ecdf("c", {"before": [1, 2, 3], "after": [2, 3, 4]}).svg
    assert svg.count("stroke-dasharray") == 2  # the line and its legend


@given(
    st.lists(
        st.tuples(st.sampled_from("ML"), st.integers(-9999, 9999), st.integers(-9999, 9999)),
        min_size=1,
        max_size=30,
    )
)
def test_shortened_paths_go_the_same_way(steps):
    given_, parts = [], []
    for command, x, y in [("M", *steps[0][1:]), *steps[1:]]:
        if command == "M":
            given_.append((np.nan, np.nan))
            parts.append([])
        given_.append((x / 100, y / 100))
        parts[-1].append((pytest.approx(x / 100), pytest.approx(y / 100)))
    assert walked(path(*zip(*given_, strict=True))) == parts


@given(st.text(max_size=60), st.floats(3, 50))
def test_clipped_names_fit_and_short_ones_stay(name, room):
    found = clipped(name, room)
    assert width(found) <= room + 1e-9
    assert found.isprintable()
    plain = " ".join(name.split())
    if plain.isprintable() and width(plain) <= room:
        assert found == plain
    else:
        assert found.endswith("…") or not name.isprintable()


def test_values_near_1e9_with_spreads_near_1e_3():
    edges = [1e9 + i * 1e-3 for i in range(1, 5)]
    picture = pictures.histogram("x", {"edges": edges, "before": [10] * 5, "after": [12] * 5})
    labels = {mark["text"] for mark in marks(picture.svg, "text")}
    assert {"1,000,000,000.002", "1,000,000,000.004"} <= labels
    numbers = [float(v) for d in re.findall(r' d="([^"]+)"', picture.svg)
               for v in re.findall(r"-?[\d.]+", d)]  # fmt: skip
    assert np.isfinite(numbers).all()
    assert max(map(abs, numbers)) < 1000
