"""The external report: what users need, and none of what would help an intruder."""

import json
import re

import numpy as np
import pyarrow as pa
import pytest

from discreet import Recipe, protect, read_table
from discreet.check.evidence import Evidence
from discreet.flow.publication import public_facts
from discreet.flow.reports import saved_report
from discreet.registry import methods, parameters
from discreet.report import external_report
from discreet.rounding import OMA
from tests.report.conftest import SECRETS, everything_recipe
from tests.report.pages import Page, is_self_contained


@pytest.fixture(scope="module")
def html(everything_folder):
    return (everything_folder / "public" / "report.html").read_text("utf-8")


def numbers_in(html):
    """Every number that the page tells, in its tables, texts and descriptions of pictures."""
    return set(re.findall(r"(?<![\w.])-?\d[\d,]*\.?\d*", Page(html).text))


def test_sections_and_words(html):
    page = is_self_contained(html)
    wanted = [
        "summary",
        "methods",
        "protection",
        "caveats",
        "columns",
        "suppressed",
        "distributions",
    ]
    assert [i for i in page.ids if i in wanted] == wanted
    steps = everything_recipe()["steps"]
    for number, step in enumerate(steps, start=1):
        assert f"Step {number}: {step['method']}" in page.headings
        said = f"what was done {methods()[step['method']].in_words}"
        assert f"{', '.join(step['columns'])} {said}" in page.text
    assert "strength medium (of low, medium, high)" in page.text
    assert "random noise was added to each value" in page.text
    assert "Values differ from the original in" in page.text
    # The recipe names households, so that k counts them.
    assert "k 5 which counts households" in page.text
    assert page.text.count("which counts") == sum("k" in s or "privacy" in s for s in steps) - 1


def test_each_secret_is_searched_for(html, everything, everything_folder):
    log = json.loads((everything_folder / "internal" / "log.json").read_text())
    seeds = (everything.recipe.seed, everything.recipe.order_seed)
    secrets = [text for seed in seeds for text in (str(seed), f"{seed:x}", f"{seed:,}")]
    manifest = json.loads((everything_folder / "internal" / "manifest.json").read_text())
    secrets += [one["sha256"] for one in manifest["files"].values()] + [manifest["mac"]]
    secrets += [log["input"]["hmac"], manifest["key"]]
    secrets += [f"{value:g}" for value in SECRETS.values() if isinstance(value, float)]
    secrets += ["hmac", "seed", "riskiest", "row of the original", "before and after"]
    assert len(secrets) > 20
    assert [s for s in secrets if s in html] == []
    # Percent too: 31.7 % of a standard deviation is as exact as 0.31717. Coordinates may be that.
    percents = [f"{100 * SECRETS[name]:.{d}f}" for name in ("scale", "retention") for d in (2, 3)]
    assert [s for s in percents if s in Page(html).text] == []


def test_no_figure_of_the_plan_is_told(html, everything):
    """Cuts, matrices, polynomials: none of them, by the figures that are not round."""
    told = numbers_in(html)
    secret = set()

    def collect(value):
        if isinstance(value, dict):
            for item in value.values():
                collect(item)
        elif isinstance(value, list):
            for item in value:
                collect(item)
        elif isinstance(value, np.ndarray) and value.dtype.kind == "f":
            collect(value.tolist())
        elif isinstance(value, float) and len(f"{value:.6g}".replace(".", "").lstrip("-0")) >= 6:
            secret.update({f"{value!r}", f"{value:.6g}", f"{value:,.6g}"})

    collect(everything.plan)
    released = {
        text
        for name in everything.finished.table.column_names
        if pa.types.is_floating(everything.finished.table[name].type)
        for x in everything.finished.table[name].drop_null().to_pylist()
        for text in (f"{x!r}", f"{x:.6g}", f"{x:,.6g}")
    }
    assert len(secret) > 200
    assert told & (secret - released) == set()


def test_secrets_do_not_move_a_byte(everything):
    """The same table with other seeds, keys and exact parameters gives the same page."""
    given = everything_recipe()
    given["steps"][2]["scale"] = 0.14999
    given["steps"][3]["scale"] = 0.25
    given["steps"][4]["p"] = 4.5
    given["steps"][6] |= {"noise_scale": 0.99, "k": 50}
    given["steps"][8]["retention"] = 0.77
    other = Recipe.from_dict(given | {"seed": 2**100 + 17, "order_seed": 2**90 + 3})
    log = everything.log | {
        "input": everything.log["input"] | {"hmac": "1" * 64, "source": "secret-source.csv"},
        "warnings": ["a warning that names row 77"],
    }
    one = external_report(
        public_facts(everything.recipe, everything.log, everything.finished.table)
    )
    assert external_report(public_facts(other, log, everything.finished.table)) == one


def test_the_order_of_rows_does_not_move_a_byte(everything):
    rows = np.random.default_rng(5).permutation(len(everything.finished.table))
    mixed = everything.finished.table.take(pa.array(rows))
    one = external_report(
        public_facts(everything.recipe, everything.log, everything.finished.table)
    )
    assert external_report(public_facts(everything.recipe, everything.log, mixed)) == one


def test_pictures_come_from_the_released_table_alone(everything):
    facts = public_facts(everything.recipe, everything.log, everything.finished.table)
    for column in facts["columns"]:
        figures = column["figures"] or {}
        assert not set(figures) - {"kind", "unit", "released", "released_categories"}
        for counts in ("released", "released_categories"):
            if figures.get(counts):
                assert min(figures[counts]["counts"]) >= 10


def test_made_again_from_the_folder(everything_folder, html):
    assert saved_report(everything_folder, external=True) == html
    evidence = Evidence.load(everything_folder / "internal")
    released = read_table(everything_folder / "public" / "table.csv", schema=evidence.schema)
    facts = public_facts(evidence.recipe, evidence.log, released)
    assert external_report(facts) == html


def test_publish_noise_tells_the_parameters(everything):
    given = Recipe.from_dict(everything_recipe() | {"publish_noise": True})
    page = is_self_contained(
        external_report(public_facts(given, everything.log, everything.finished.table))
    ).text.replace(everything.log["release"], "")
    for told in ("scale 0.3172", "p 7.538", "retention 0.8384", "noise_scale 0.7718"):
        assert told in page, told
    assert str(everything.recipe.seed) not in page
    assert "307" not in page  # The moves of a search are of no use to anybody.


@pytest.mark.parametrize(
    ("step", "said"),
    [
        ({"method": "noise", "scale": 0.1}, "low"),
        ({"method": "noise", "scale": 0.11}, "medium"),
        ({"method": "noise", "scale": {"x": 0.6}}, "high"),
        ({"method": "rank-swap", "p": 2}, "low"),
        ({"method": "rank-swap", "p": 10}, "medium"),
        ({"method": "rank-swap", "p": 10.5}, "high"),
        ({"method": "pram", "retention": 0.9}, "low"),
        ({"method": "pram", "retention": 0.5}, "medium"),
        ({"method": "pram", "matrix": {"x": {"a": {"a": 0.3, "b": 0.7}, "b": {"b": 1.0}}}}, "high"),
        ({"method": "pram", "matrix": {"x": {"a": {"a": 0.9, "b": 0.1}, "b": {"b": 1.0}}}}, "low"),
        ({"method": "shuffle"}, "high"),
        ({"method": "ipso", "confidential": ["y"]}, "high"),
        ({"method": "top-bottom", "upper": 9}, None),
        ({"method": "porop", "k": 20, "noise": "none"}, "low"),
        ({"method": "porop", "k": 20, "noise_scale": 1.0}, "medium"),
        ({"method": "oma", "k": 5}, None),
        ({"method": "oma", "k": 5, "encoding": "stochastic"}, "medium"),
    ],
)
def test_strength_in_words(step, said):
    given = {"roles": {"confidential": ["x"]}, "steps": [step | {"columns": ["x"]}]}
    assert Recipe.from_dict(given).steps[0].build().strength == said


def test_every_method_has_a_caveat():
    for recipe_name, method in methods().items():
        for encoding in ("group", "nearest", "stochastic"):
            one = method.__new__(method)
            vars(one).update(encoding=encoding, spikes="group")
            assert one.caveat[0].islower(), recipe_name
            assert one.caveat[-1] != "."


def test_every_method_publishes_parameters_that_it_has():
    """What is told of a step is named once, on its class, and each name is a parameter."""
    for recipe_name, method in methods().items():
        told = {*method.published, *method.published_with_noise}
        if recipe_name == "lirop":
            told.discard("degree")
        assert told, recipe_name
        assert told <= {name for name, *_ in parameters(method)}, recipe_name
    assert OMA(5).caveat == OMA(5, encoding="group").caveat
    assert "variances and standard errors come out too small" in OMA(5).caveat


def rounded_page(step):
    values = np.random.default_rng(2).gamma(2.0, 900.0, 400)
    recipe = {"roles": {"confidential": ["pay"]}, "steps": [step | {"columns": ["pay"]}]}
    release = protect(pa.table({"pay": values}), recipe)
    after = release.finished.table["pay"].to_numpy()
    facts = public_facts(release.recipe, release.log, release.finished.table)
    return external_report(facts), after.var() / values.var()


@pytest.mark.parametrize(
    "method", [{"method": "oma", "k": 20}, {"method": "kmeans", "n_points": 9}]
)
def test_caveats_of_encodings_are_true(method):
    page, ratio = rounded_page(method | {"encoding": "nearest"})
    assert ratio < 1
    assert "the nearest of some typical values" in page
    assert "variances and standard errors come out somewhat too small" in page
    assert "at random:" not in page
    # The draws add variance, and the cut at the ends takes some.
    page, _ = rounded_page(method | {"encoding": "stochastic"})
    assert "one of the two neighbouring points, at random" in page
    assert "values beyond the outermost points, which are cut off" in page
    assert "variances may come out too large or too small" in page


def test_caveats_of_multiples_are_true():
    page, ratio = rounded_page({"method": "base", "base": 2000.0, "encoding": "stochastic"})
    assert ratio > 1
    assert "one of the two neighbouring points, at random" in page
    assert "variances come out too large" in page
    assert "cut off" not in page
    page, _ = rounded_page({"method": "base", "base": 2000.0, "encoding": "nearest"})
    assert "values are multiples of a base" in page


def test_strengths_are_told_in_their_order(html):
    assert "; the strength of perturbation is medium and high." in Page(html).text


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (None, "No record was suppressed and no cell was blanked."),
        ((18, 0, {}), "18 records suppressed: 18 with * in age and sex."),
        ((18, 18, {}), "18 records suppressed: 18 left out of the file."),
        ((18, 5, {"pay": 3}), "18 records suppressed: 5 left out of the file, 13 with * in age and "
                              "sex. In all, 3 cells blanked in pay."),
        ((1, 0, {"age": 1, "sex": 1}), "1 record suppressed: 1 with empty quasi columns. In all, "
                                       "2 cells blanked in age and sex."),
    ],
)  # fmt: skip
def test_it_is_said_what_became_of_suppressed_records(everything, found, said):
    facts = public_facts(everything.recipe, everything.log, everything.finished.table.slice(0, 1))
    steps = [s | {"columns": ["age", "sex"]} for s in facts["steps"] if s["method"] == "generalize"]
    counts = found and dict(zip(("records", "left_out", "blanked_cells"), found, strict=True))
    page = external_report(facts | {"steps": steps, "suppressed": counts})
    assert said in Page(page).text


def test_a_release_without_steps():
    table = pa.table({"age": [1, 2, 3]})
    release = protect(table, {"roles": {"insensitive": ["age"]}})
    page = is_self_contained(
        external_report(public_facts(release.recipe, release.log, release.finished.table))
    )
    assert "No value differs from the original." in page.text
    assert "No picture: all values are equal or missing" in page.text
