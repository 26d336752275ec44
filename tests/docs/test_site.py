"""Every public name has a page of the site, and the order of the pages has every page."""

import re
import sys
from pathlib import Path
from typing import Any

import pytest

import discreet
from discreet import registry
from discreet.assessment.catalogue import measures
from discreet.check.promises import PROMISES
from discreet.check.replay import JOINT, KINDS
from discreet.generalization.models import MODELS
from discreet.plan import ColumnPlan, JointPlan
from discreet.recipe import Recipe, Roles
from discreet.recipe.recipe import Step
from docs.build import reference
from docs.build.nav import listed, nav
from docs.build.pictures import browser
from tests.docs.session import ROOT

DOCS = ROOT / "docs"
SOURCE = ROOT / "src" / "discreet"
# Inside: what is imported by others of ours, and by nobody else.
INSIDE = {"app", "cli", "kernels", "tuning"}


def text(path: str) -> str:
    return (DOCS / path).read_text("utf-8")


def heads(path: str) -> set[str]:
    return set(re.findall(r"^## (.+)$", text(path), re.MULTILINE))


def pages(entry: Any) -> list[str]:
    """The pages of the order, in their order."""
    if isinstance(entry, str):
        return [entry]
    parts = entry.values() if isinstance(entry, dict) else entry
    return [page for part in parts for page in pages(part)]


ORDER = pages(nav({}))


def test_every_package_is_in_the_api():
    packages = {one.parent.name for one in SOURCE.glob("*/__init__.py")} - INSIDE
    assert packages <= {name.split(".")[1] for name in reference.PACKAGES if "." in name}


def test_every_public_name_has_a_page():
    homes = reference.homes()
    for package in reference.PACKAGES:
        for name in reference.public(package):
            assert homes[f"{package}.{name}"] in ORDER
    assert {
        f"discreet.{name}" for name in discreet.__all__ if name != "__version__"
    } <= homes.keys()
    for name in ("linkability", "singling_out", "membership", "Rate"):
        assert homes[f"discreet.attacks.{name}"] == "reference/api/discreet.attacks.md"


def test_a_page_of_the_api_shows_what_it_is_the_home_of():
    made = reference.api_pages()
    for dotted, page in reference.homes().items():
        if page in made and dotted != "discreet.reproduce.PAPERS":
            same = [d for d, p in reference.homes().items() if p == page]
            assert any(f"::: {one}\n" in made[page] for one in same), dotted


def test_a_name_is_shown_and_not_the_module_of_the_same_name():
    found = reference.measure_pages().items()
    made = [*reference.api_pages().values(), *(reference.measure_page(n, "") for _, n in found)]
    shown = re.findall(r"^::: (\S+)$", "\n".join(made), re.MULTILINE)
    assert "discreet.attacks.averaging.averaging" in shown
    assert not [dotted for dotted in shown if dotted in sys.modules]


@pytest.mark.parametrize("name", registry.methods())
def test_a_method_has_its_page_with_all_that_it_declares(name):
    method = registry.methods()[name]
    path = f"reference/methods/{name}.md"
    assert path in ORDER
    prose = text(path)
    assert len(prose.split()) > 20, "what it does, when to use it, what it promises"
    page = reference.method_page(method, prose)
    for parameter, _, _ in registry.parameters(method):
        assert f"| `{parameter}` |" in page
    assert f"::: discreet.{method.__module__.split('.')[1]}.{method.__name__}\n" in page
    # The example that the page shows is run with the docstrings.
    assert ">>> " in (method.__doc__ or "")


def test_every_measure_has_its_page_with_all_that_it_declares():
    told = {name: path for path, names in reference.measure_pages().items() for name in names}
    for family in ("risk", "utility"):
        for name in reference.public(f"discreet.{family}"):
            assert told[name] in ORDER
    for measure in measures().values():
        path = told[measure.name]
        page = reference.measure_page(reference.measure_pages()[path], text(path))
        for figure in measure.figures:
            assert figure.title in page
            if figure.guide is not None:
                assert figure.guide.source in page
    assert set(told) >= {"drivers", "riskiest", "attackers", "unique_households"}


def test_every_command_has_its_page_with_all_its_options():
    made = reference.command_pages()
    assert set(made) <= set(ORDER)
    for words in ("protect", "check", "attack", "reproduce"):
        assert f"reference/commands/{words}.md" in made
    for words, command in reference.commands().items():
        page = made[f"reference/commands/{words.replace(' ', '_')}.md"]
        for parameter in command.params:
            options = [*parameter.opts, *parameter.secondary_opts]
            assert parameter.hidden or any(option in page for option in options), options


def test_formulas_are_written_in_plain_text():
    # The site needs no network, and so has no program that would set them.
    formula = re.compile(r"\$\$|\\(frac|sum|text|cdot|le)\b|\$[A-Za-z|\\][^$`\n]*\$")
    found = [path.name for path in DOCS.rglob("*.md") if formula.search(path.read_text("utf-8"))]
    assert not found


def test_every_key_of_a_recipe_is_explained():
    page = text("reference/recipe.md")
    for model in (Recipe, Roles, Step):
        for key in model.model_fields:
            assert f"`{key}`" in page, key


def test_every_kind_of_plan_and_each_of_its_keys_is_explained():
    assert heads("reference/plans.md") == KINDS.keys() | JOINT.keys()
    page = text("reference/plans.md")
    for key in ColumnPlan.__annotations__.keys() | JointPlan.__annotations__.keys():
        assert f"`{key}`" in page, key


def test_every_promise_and_every_privacy_model_is_explained():
    assert heads("explanation/promises.md") >= PROMISES.keys()
    for model in MODELS:
        assert f'model = "{model}"' in text("reference/privacy_models.md")


def test_every_page_is_in_the_order_once():
    written = {str(page.relative_to(DOCS).as_posix()) for page in DOCS.rglob("*.md")}
    assert len(ORDER) == len(set(ORDER))
    assert written <= set(ORDER)


def test_a_page_that_is_added_lists_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("docs.build.nav.DOCS", tmp_path)
    (tmp_path / "howto").mkdir()
    for name in ("zebra", "search", "aardvark", "inspect"):
        (tmp_path / "howto" / f"{name}.md").touch()
    names = ("inspect", "search", "aardvark", "zebra")
    assert listed("howto") == [f"howto/{name}.md" for name in names]


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md"])
def test_links_outside_the_site_lead_somewhere(name):
    links = re.findall(r"\]\((?!\w+:)([^)#\s]+)", (ROOT / name).read_text("utf-8"))
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_without_chromium_the_pictures_say_how_to_get_it(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("tests.browser.chromium.find", lambda: None)
    with pytest.raises(SystemExit, match="apt-get install chromium"), browser():
        pass
