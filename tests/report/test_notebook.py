"""What notebooks show: the decision, in the words of the pages, and nothing that must not be kept."""

import re

import pyarrow as pa
import pytest

import discreet
from discreet.assessment.attacked import attack
from discreet.datasets import make_households
from discreet.report.decision import decision
from discreet.report.notebook import KEEP, front_html, sweep_html
from tests.report.fronts import made
from tests.report.pages import Page
from tests.report.test_hostile import NAMES as HOSTILE

# A value that no other figure can be taken for, and a name that would break the page.
RARE = "Ultima Thule"
KEY, TOWN, PAY, NAME = HOSTILE[0], HOSTILE[2], HOSTILE[3], HOSTILE[6]


def people(n=300) -> pa.Table:
    given = make_households(n, seed=1)
    town = given["region"].to_pylist()
    town[7] = RARE
    pay = pa.array([70_001_300.0 + 17 * i for i in range(n)])
    columns = {KEY: given["age"], TOWN: pa.array(town), PAY: pay, NAME: given["name"]}
    return pa.table(columns)


ROLES = {"identifiers": [NAME], "quasi": [KEY, TOWN], "confidential": [PAY]}


def recipe(k=3, **more):
    hierarchies = {KEY: {"kind": "intervals", "widths": [10, 20, 40]}, TOWN: {"kind": "flat"}}
    privacy = [{"model": "k-anonymity", "k": k}]
    coarser = {"method": "generalize", "columns": [KEY, TOWN], "privacy": privacy}
    coarser |= {"hierarchies": hierarchies, "suppression_limit": 0.1}
    noise = {"method": "noise", "columns": [PAY], "scale": 0.5}
    return {"roles": ROLES, "steps": [coarser, noise]} | more


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    table = people()
    seeded = {"seed": 4321, "allow_predictable_seed": True}
    release = discreet.protect(table, recipe(**seeded))
    found = {"release": release._repr_html_()}
    release.save(tmp_path_factory.mktemp("notebook") / "out")
    found["text"] = f"{release}\n{release!r}"
    shown = {
        "saved": release,
        "assessment": release.assess(),
        "comparison": discreet.compare(
            table, {"<b>k = 3</b>": release, "k = 9": discreet.protect(table, recipe(9))}
        ),
        "sweep": discreet.sweep(table, recipe(), vary={"k": [3, 9, 500]}, best="loss"),
        "attacked": attack(table, release, queries=50),
        "inspection": discreet.inspect(table),
        "risk": discreet.risk_of(table, ROLES),
    }
    found |= {name: one._repr_html_() for name, one in shown.items()}
    found["front"] = front_html(made(words=[f"{TOWN} in 3 groups"], columns=(KEY, TOWN)))
    found["reprs"] = "\n".join(map(repr, shown.values()))
    return release, found


PAGES = (
    "release",
    "saved",
    "assessment",
    "comparison",
    "sweep",
    "attacked",
    "inspection",
    "risk",
    "front",
)


@pytest.mark.parametrize("name", PAGES)
def test_names_are_text_and_nothing_is_run_or_loaded(results, name):
    html = results[1][name]
    page = Page(html)
    assert page.unclosed == []
    assert page.count("script") == page.count("link") == page.count("iframe") == 0
    # Several outputs are on one page: no id meets another, and no heading is in its contents.
    assert page.ids == page.headings == []
    for tag, given in page.tags:
        assert not [key for key in given if key.startswith("on")]
        assert tag != "img" or given["src"].startswith("data:image/svg+xml;base64,")
        assert "href" not in given
    [style] = re.findall(r"<style>(.*?)</style>", html, re.DOTALL)
    assert "url(" not in style
    assert "@import" not in style
    rules = re.findall(r"([^{}]+)\{[^{}]*\}", style.replace("@media (max-width:34rem){", ""))
    assert all(
        one.strip().startswith(".discreet-shown") for rule in rules for one in rule.split(",")
    )
    assert KEEP in page.text
    assert {"attacked": PAY, "comparison": "<b>k = 3</b>"}.get(name, TOWN) in page.text


@pytest.mark.parametrize("name", [*PAGES, "text", "reprs"])
def test_a_saved_notebook_holds_no_value_of_the_original(results, name):
    release, found = results
    text = found[name] if name in ("text", "reprs") else Page(found[name]).text
    assert RARE not in text
    # Neither ends nor quartiles nor any other pay, however it is written.
    assert not re.search(r"70,?00\d|7\.00", text)
    assert not set(people()[NAME].to_pylist()) & set(re.split(r"\s{2,}|, ", text))
    assert "4321" not in text
    assert str(release.recipe.order_seed) not in text


def test_what_is_left_out_was_there_to_be_shown(results):
    release, found = results
    decided = decision(release.facts(assessment=release.assessed))
    assert decided["riskiest"]
    assert any("seed = 4321" in one for one in decided["warnings"])
    assert "the seed can be found by trying" in Page(found["saved"]).text
    assert "The riskiest records are in the report that save() writes" in Page(found["saved"]).text
    assert "rows " not in found["text"].partition("Riskiest")[2]


def test_the_ends_of_a_column_are_not_shown_beside_a_doubtful_null_marker():
    pay = pa.array([70_001_300.0 + 17 * i for i in range(99)] + [None])
    asked = {"roles": {"confidential": ["pay"]}, "null_markers": ["70001700"]}
    asked["steps"] = [{"method": "oma", "columns": ["pay"], "k": 5}]
    release = discreet.protect(pa.table({"pay": pay}), asked)
    assert any("go from 7.00013e+07 to 7.0003e+07" in one for one in release.log["warnings"])
    for text in (Page(release._repr_html_()).text, str(release)):
        assert "the null marker '70001700' may be a value in 'pay': it is among its numbers" in text
        assert "7.000" not in text


def test_a_value_that_no_hierarchy_knows_is_not_shown_as_why_there_is_no_release():
    table = people()
    known = sorted({*table[TOWN].to_pylist()} - {RARE})
    step = recipe()["steps"][0] | {"columns": [TOWN]}
    step["hierarchies"] = {TOWN: {"kind": "groups", "tree": {"anywhere": known}}}
    asked = {"roles": {"quasi": [TOWN], "rest": "drop"}, "steps": [step]}
    tried = discreet.sweep(table, asked, vary={"k": [3, 5]})
    assert all(f"'{RARE}'" in row.why for row in tried.rows)
    text = Page(tried._repr_html_()).text
    assert RARE not in text
    assert f"column '{TOWN}': 1 value in 1 row has no place in the hierarchy: ...;" in text


def test_the_decision_comes_first_in_the_words_of_the_terminal(results):
    release, found = results
    decided = decision(release.facts(assessment=release.assessed))
    text = Page(found["saved"]).text.replace("\N{NO-BREAK SPACE}", " ")
    places = [text.index(decided["verdict"]["said"])]
    places += [text.index(one["said"]) for one in decided["cost"]]
    places.append(text.index("Next"))
    assert places == sorted(places)
    assert "3-anonymity" in decided["verdict"]["said"]
    assert decided["verdict"]["said"][:20] in found["text"]


def test_a_release_is_shown_without_measuring_it(everything_folder, everything):
    # Of one that was saved all is known; what is not known is not told.
    text = Page(everything._repr_html_()).text
    assert "800 records with 18 of" in text
    fresh = discreet.protect(people(), recipe())
    assert "release.save(folder) also tries changes" in Page(fresh._repr_html_()).text
    assert fresh.assessed is None


def test_short_reprs_say_what_it_is_and_what_came_of_it(results):
    lines = results[1]["reprs"].splitlines()
    starts = ("Release of 300 rows", "Assessment by ", "Comparison of 2 releases, not dominated: ",
              "Sweep of 3 combinations of k, 2 passed", "Attacked by ", "Inspection of 300 rows",
              "RawRisk of 300 rows")  # fmt: skip
    joined = "\n".join(lines)
    assert [one for one in starts if f"<{one}" not in joined] == []


def test_of_a_long_sweep_the_rows_that_matter_are_shown():
    table = make_households(200, seed=1).select(["age", "income"])
    roles = {"quasi": ["age"], "confidential": ["income"]}
    step = {"method": "oma", "columns": ["age"], "k": 3}
    tried = discreet.sweep(
        table, {"roles": roles, "steps": [step]}, vary={"k": "2..31"}, best="loss"
    )
    content = tried.to_dict()
    page = Page(sweep_html(content))
    assert page.count("tr") == 1 + len({*content["front"], *content["best"]["rows"]})
    assert "of 30 rows are shown" in page.text
