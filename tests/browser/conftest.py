"""Pages as the library writes them, of a table whose names are meant to break them."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from discreet import compare, protect
from discreet.datasets import make_households
from tests.browser import chromium

# What a name may hold, and what must come out as text.
NAMES = {
    "age": "age in years",
    "sex": "<script>document.title = 'broken'</script>",
    "region": "région \"north\" & 'south' 🏠",
    "income": "income $ per month $ & <b>more</b>",
    "assets": "assets " + "x" * 193,
    "education": "edu\ncation\t</title></svg><img src=http://example.com/a.png>",
    "birth_date": "{{ birth }} {% date %}",
    "household_size": "]]> --> &lt;size&gt; javascript:alert(1)",
}


def pytest_collection_modifyitems(items):
    here = Path(__file__).parent
    for item in items:
        if here in Path(item.path).parents:
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    path = chromium.find()
    if path is None:
        pytest.fail("there is no Chromium; install it: apt-get install chromium")
    found = chromium.Browser(path, tmp_path_factory.mktemp("profile"))
    yield found
    found.close()


@pytest.fixture(scope="session")
def windows():
    """The same browser driven by Playwright, for what takes many clicks; it reaches only this host."""
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=120_000)
    with sync_playwright() as driver:
        found = driver.chromium.launch(
            executable_path=chromium.find(),
            args=["--no-sandbox", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"],
        )
        yield found
        found.close()


@pytest.fixture(scope="session")
def hostile() -> pa.Table:
    people = make_households(1500, seed=5, null_rate=0.03).select(list(NAMES))
    return people.rename_columns(list(NAMES.values()))


def recipe(**more):
    name = NAMES
    steps = [
        {"method": "oma", "columns": [name["age"], name["household_size"]], "k": 10},
        {"method": "porop", "columns": [name["income"]], "k": 50},
        {
            "method": "microaggregation",
            "columns": [name["assets"], name["birth_date"]],
            "k": 5,
            "refine_moves": 200,
        },
        {
            "method": "generalize",
            "columns": [name["sex"], name["region"], name["education"]],
            "privacy": [{"model": "k-anonymity", "k": 5}],
            "hierarchies": {name[c]: {"kind": "flat"} for c in ("sex", "region", "education")},
        },
    ]
    quasi = [name[c] for c in ("age", "sex", "region", "education", "household_size")]
    roles = {"quasi": quasi, "confidential": [name["income"], name["assets"], name["birth_date"]]}
    return {"roles": roles, "steps": steps} | more


@pytest.fixture(scope="session")
def pages(hostile, tmp_path_factory) -> dict[str, Path]:
    """Give the pages by name."""
    folder = tmp_path_factory.mktemp("pages")
    release = protect(hostile, recipe())
    release.save(folder / "release")
    rounded = recipe()
    rounded["steps"] = [step | ({"k": 40} if "k" in step else {}) for step in rounded["steps"]]
    found = compare(
        hostile, {"k as asked": release, "<i>k = 40</i> & more": protect(hostile, rounded)}
    )
    found.to_html(folder / "compare.html")
    return {
        "internal": folder / "release/internal/report.html",
        "external": folder / "release/public/report.html",
        "compare": folder / "compare.html",
    }


@pytest.fixture(params=["internal", "external", "compare"])
def name(request) -> str:
    return request.param


@pytest.fixture
def page(browser, pages, name):
    found = browser.load(pages[name].as_uri())
    # All but the decision is folded; what is in it has no size until someone opens it.
    found.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    yield found
    found.close()


def ink(pixels: np.ndarray) -> float:
    """Give the share of pixels that are not nearly white."""
    return float((pixels < 225).any(axis=-1).mean())
