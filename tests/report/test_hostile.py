"""Names that would break a page, a picture or mathtext are shown as text."""

import warnings

import numpy as np
import pyarrow as pa
import pytest

from discreet import protect
from tests.report.pages import Page, is_self_contained

NAMES = [
    "a name with  spaces",
    "\"double\" and 'single'",
    "<script>alert(1)</script>",
    "</title></style><img src=x onerror=alert(1)>",
    "&amp; & &lt;",
    "$x_1$ costs $5",
    "\\frac{a}{b} {{ 7 * 7 }} {% raw %}",
    "line\nbreak\tand tab",
    "emoji \U0001f600\U0001f468\u200d\U0001f469\u200d\U0001f467",
    "\u05e9\u05dc\u05d5\u05dd \u0645\u0631\u062d\u0628\u0627 \u4f60\u597d",
    "long " + "x" * 200,
    "[link](javascript:alert(1))",
    "\x07bell",
]


def hostile_table(n: int = 120) -> pa.Table:
    rng = np.random.default_rng(0)
    columns = {}
    for i, name in enumerate(NAMES):
        if i % 2:
            columns[name] = pa.array(rng.choice(NAMES, n))
        else:
            columns[name] = pa.array(rng.gamma(2.0, 900.0, n).round(1))
    return pa.table(columns)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    numeric, texts = NAMES[::2], NAMES[1::2]
    recipe = {
        "roles": {"quasi": [numeric[0]], "confidential": [*numeric[1:], *texts]},
        "steps": [
            {"method": "oma", "columns": numeric, "k": 5},
            {"method": "pram", "columns": texts, "retention": 0.8},
        ],
    }
    target = tmp_path_factory.mktemp("hostile") / "out"
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # A glyph that a font lacks is no reason to warn.
        warnings.filterwarnings("ignore", category=UserWarning, message="column ")
        protect(hostile_table(), recipe).save(target)
    return target


def plain(text):
    return " ".join("".join(c if c.isprintable() and c != "\ufffd" else " " for c in text).split())


@pytest.mark.parametrize("which", ["internal", "public"])
def test_shown_as_text(folder, which):
    html = (folder / which / "report.html").read_text("utf-8")
    assert not [c for c in html if c < " " and c not in "\n\t"]
    page = is_self_contained(html)
    for name in NAMES:
        assert plain(name) in plain(page.text), name
    assert page.count("img") == 0
    assert "{{ 7 * 7 }}" in page.text


def test_a_page_with_a_script_would_be_noticed():
    with pytest.raises(AssertionError):
        is_self_contained("<html><script>1</script></html>")
    with pytest.raises(AssertionError):
        is_self_contained('<html><a href="https://example.org">x</a></html>')
    assert Page("<p>a &lt;b&gt;</p>").text == "a <b>"


def test_hostile_values_do_not_cost_the_release(tmp_path):
    n = 60
    days = np.array(["2001-01-01", "9999-12-31", "0001-01-01"] * (n // 3), "datetime64[D]")
    table = pa.table({
        "since": pa.array(days),
        "until": pa.array(np.array(["2001-01-01", "9999-12-31"] * (n // 2), "datetime64[D]")),
        "code": 12345678901234560 + np.arange(n) % 30,
        "pay": 1e8 + np.random.default_rng(0).random(n) * 1e-7,
        "seen": pa.array(1_700_000_000 + 5 * np.arange(n), pa.int64()).cast(pa.timestamp("s")),
    })  # fmt: skip
    names = ["since", "until", "pay", "seen"]
    recipe = {
        "roles": {"confidential": [*names, "code"]},
        "steps": [{"method": "oma", "columns": names, "k": 5}],
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        protect(table, recipe).save(tmp_path / "out")
    text = is_self_contained((tmp_path / "out/internal/report.html").read_text("utf-8")).text
    assert "9999-12-31" in text
    assert "of records per 0 days" not in text
    assert "2023-11-14 22:1" in text
