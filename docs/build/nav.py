"""The order of the pages: folders list themselves, in the order given here where it matters."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from docs.build import reference

DOCS = Path(__file__).parents[1]
# Pages that are not named here come after these, by name.
ORDER = {
    "tutorials": ["survey", "patients", "businesses", "hundred_million"],
    "howto": [
        "inspect",
        "choose_k",
        "search",
        "compare",
        "suppress_cells",
        "next_year",
        "spss_labels",
        "explain_to_a_board",
        "check_a_recipe",
        "notebooks",
        "from_sdcmicro",
        "from_arx",
    ],
    "explanation": [
        "count_decide_apply",
        "promises",
        "people",
        "nulls",
        "seeds",
        "threats",
        "attacks",
        "optimum",
        "generalization",
        "suppression",
        "microaggregation",
        "differential_privacy",
        "scale",
    ],
}
# Written by `discreet reproduce`, all with the same heading.
PAPERS = {
    "papers/rounding_reproduced.md": "Rounding, reproduced",
    "papers/porop_reproduced.md": "PoROP-k, reproduced",
    "papers/deficient_reproduced.md": "(K, R)-anonymity, reproduced",
}
REFERENCE = ["recipe", "files", "hierarchies", "privacy_models", "quality_models"]
RELEASE = ["release", "report", "policies", "plans", "app"]


def listed(folder: str) -> list[str]:
    """Return the pages of a folder in their order."""
    first = {name: place for place, name in enumerate(ORDER.get(folder, []))}
    found = [path.stem for path in (DOCS / folder).glob("*.md")]
    return [
        f"{folder}/{name}.md"
        for name in sorted(found, key=lambda name: (first.get(name, len(first)), name))
    ]


def tutorials() -> str:
    """List the tutorials by their titles."""
    titles = {
        page: (DOCS / page).read_text("utf-8").split("\n", 1)[0] for page in listed("tutorials")
    }
    return "\n".join(f"- [{title.removeprefix('# ')}]({page})" for page, title in titles.items())


def nav(gallery: Iterable[str]) -> list[Any]:
    """Return the order of all pages, as MkDocs takes it; those of the gallery are given."""
    families: dict[str, list[str]] = {}
    for path, method in reference.methods().items():
        families.setdefault(method.__module__.split(".")[1].capitalize(), []).append(path)
    commands = [{words: reference.command_path(words)} for words in reference.commands()]
    measures: dict[str, list[str]] = {}
    for path, names in reference.measure_pages().items():
        measures.setdefault(reference.family(names), []).append(path)
    return [
        {"Home": "index.md"},
        {"Tutorials": listed("tutorials")},
        {"How-to": listed("howto")},
        {"Explanation": listed("explanation")},
        {
            "Reference": [
                *(f"reference/{name}.md" for name in REFERENCE),
                *(f"reference/{name}.md" for name in RELEASE),
                {"Methods": [{"Overview": "reference/methods.md"}, *_sections(families)]},
                {"Measures": [{"Overview": "reference/measures.md"}, *_sections(measures)]},
                {"Commands": [{"Overview": "reference/commands.md"}, *commands]},
                {"API": [{"Overview": "reference/api.md"}, *reference.api_pages()]},
            ]
        },
        {"Gallery": list(gallery)},
        {"Papers": ["papers/index.md", *({title: path} for path, title in PAPERS.items())]},
    ]


def _sections(found: dict[str, list[str]]) -> list[dict[str, list[str]]]:
    return [{title: pages} for title, pages in found.items()]
