"""The attacks that apply to a recipe; docs/explanation/threats.md tells of all of them.

Each is declared once, by properties of methods and roles. What is said goes into the log and the
internal report: it tells an intruder nothing new, but where to begin.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from discreet.method import Method
from discreet.recipe.recipe import Recipe

# Methods with these promises make classes of records that look the same.
_CLASSES = ("privacy-models", "wildcard-k", "k-per-tuple", "local-suppression")


@dataclass(frozen=True)
class Attack:
    """What an intruder could try, and what stands against it."""

    name: str
    why: str
    done: str
    remains: str
    measured: tuple[str, ...] = ()  # names of measures that `assess` takes
    on_step: Callable[[Method, Recipe], bool] = lambda method, recipe: False
    on_table: Callable[[Recipe], bool] = lambda recipe: False


def attacks_on(recipe: Recipe) -> list[dict[str, Any]]:
    """List the attacks that apply to a recipe, each with the steps that it is on.

    Examples
    --------
    >>> recipe = Recipe.from_dict({
    ...     "roles": {"confidential": ["income"]},
    ...     "steps": [{"method": "noise", "columns": ["income"], "scale": 0.2}],
    ... })
    >>> [one["attack"] for one in attacks_on(recipe)][:2]
    ['regression on released values', 'linkage by an informed intruder']
    """
    methods = [step.build() for step in recipe.steps]
    found = []
    for one in ATTACKS:
        steps = [n for n, method in enumerate(methods, 1) if one.on_step(method, recipe)]
        if steps or one.on_table(recipe):
            said = {"attack": one.name, "steps": steps, "why": one.why, "done": one.done}
            found.append(said | {"measured": list(one.measured), "remains": one.remains})
    return found


def _is_minimal(method: Method, recipe: Recipe) -> bool:
    return method.minimal


def _is_drawn(method: Method, recipe: Recipe) -> bool:
    return method.alike and method.is_random


def _blanks_cells(method: Method, recipe: Recipe) -> bool:
    return method.promise == "local-suppression"


def _matches_blanks(method: Method, recipe: Recipe) -> bool:
    return _blanks_cells(method, recipe) and method.get_params()["null_policy"] != "value"


def _is_anatomy(method: Method, recipe: Recipe) -> bool:
    return method.promise == "anatomy"


def _perturbs(method: Method, recipe: Recipe) -> bool:
    return method.effect == "perturbs" and not method.private


def _redraws(method: Method, recipe: Recipe) -> bool:
    return _perturbs(method, recipe) and method.is_random


def _is_random(method: Method, recipe: Recipe) -> bool:
    return method.is_random


def _changes_numbers(method: Method, recipe: Recipe) -> bool:
    return method.needs != "any" or method.recipe_name == "shuffle"


def _leaves_alike(method: Method, recipe: Recipe) -> bool:
    """Tell whether a class may have one value of a confidential column."""
    unread = set(recipe.roles.confidential) - set(method.judges)
    return method.promise in _CLASSES and bool(unread)


def _shows_households(recipe: Recipe) -> bool:
    roles = recipe.roles
    return roles.household is not None and roles.release_household


ATTACKS = (
    Attack(
        "minimality",
        "the best levels or classes are released, so that all better ones broke a privacy model",
        "nothing; generalize with publish_minimal = false draws its levels",
        "who knows everybody's quasi values may infer what a class must hold",
        on_step=_is_minimal,
    ),
    Attack(
        "downcoding",
        "finer values would have been released had k allowed it",
        "nothing; generalize with publish_minimal = false draws its levels",
        "some released values can be narrowed down again",
        on_step=_is_minimal,
    ),
    Attack(
        "minimality and downcoding",
        "good levels are released more often than bad ones",
        "levels were drawn by the secret seed among all that keep the models and the limit; the "
        "log tells the price",
        "what explains the levels best stays more likely, and suppressed classes broke a model",
        on_step=_is_drawn,
    ),
    Attack(
        "minimal blanks",
        "no more cells are blanked than k needs, so that a blank was a rare value, or rare "
        "together with what its record shows",
        "which of equal records are blanked is drawn by the secret seed",
        "values that many records show in the same place can be ruled out for a blank, and what is "
        "left may be one value; recode first, so that few blanks are needed",
        ("found_for_certain",),
        on_step=_blanks_cells,
    ),
    Attack(
        "compatible records",
        "this reading of blanks counts records that cannot be the person's: of a person's original "
        "values, an intruder looks for the records that are compatible",
        'the log tells how many are found for certain; null_policy = "value" leaves nobody',
        "people with whose values one record alone is compatible are found",
        ("found_for_certain",),
        on_step=_matches_blanks,
    ),
    Attack(
        "homogeneity",
        "no model asks that the people of a class differ in every confidential column",
        "classes have k members; the check warns of classes with one value",
        "who finds a class learns what its members have in common",
        ("diversity",),
        on_step=_leaves_alike,
    ),
    Attack(
        "presence",
        "quasi columns are released as they are, and only the confidential ones are apart",
        "nothing; generalize and mondrian hide who is in the table",
        "who knows somebody's quasi values sees that they are in the table, and their group",
        ("class_sizes",),
        on_step=_is_anatomy,
    ),
    Attack(
        "learning across groups",
        "what all groups have in common tells which quasi values go with which confidential ones "
        "(Kifer 2009, by de Finetti's theorem)",
        "groups are drawn by the secret seed, whatever the quasi values are",
        "where quasi columns predict a confidential one well, values of a group are not equally "
        "likely",
        ("diversity",),
        on_step=_is_anatomy,
    ),
    Attack(
        "known members",
        "a released value is the centre of a group's values",
        "a group has k members, or units where these are counted",
        "who knows all other members' values, or their sum, gets the last one",
        ("informed_values",),
        on_step=lambda method, recipe: method.averages,
    ),
    Attack(
        "regression on released values",
        "numbers are changed in ways that can be learned: a line through the values of some known "
        "people guesses those of the others, with the help of the other released columns",
        "nothing; the change must be large enough",
        "values that a line comes near, though the released value does not",
        ("informed_values",),
        on_step=_changes_numbers,
    ),
    Attack(
        "linkage by an informed intruder",
        "values are changed one by one, and an intruder may know values and the method",
        "parameters are not published, unless publish_noise says so",
        "records that stand out can be found again: see the share found",
        ("informed_linkage", "informed_values", "distance_linkage", "probabilistic_linkage"),
        on_step=_perturbs,
    ),
    Attack(
        "rank-swap windows",
        "no value goes farther than a fixed window, so that windows of several columns intersect",
        'nothing; window = "drawn" excludes no pair of records for certain',
        "who knows p and many columns finds most records; drawn windows only make it less certain",
        ("informed_linkage",),
        on_step=lambda method, recipe: method.promise == "rank-window",
    ),
    Attack(
        "averaging over releases",
        "noise that is drawn anew averages out over several releases of one table",
        "draws are the same for the same table and recipe, and for the same cell under one "
        "project_key; household_level columns get one draw",
        "release a table once, or under one project_key with the same parameters: Discreet does "
        "not know what was released before",
        on_step=_redraws,
    ),
    Attack(
        "reused seeds",
        "two releases with the same draws and other parameters give the original back",
        "draws are keyed by the input and the recipe too, and a reused seed is told",
        "none known",
        on_step=_is_random,
    ),
    Attack(
        "brute force of seeds",
        "whoever finds the seed can repeat the draws",
        "128 secret bits; fewer than 64 are refused unless allow_predictable_seed says otherwise",
        "internal/ must stay secret",
        on_step=_is_random,
    ),
    Attack(
        "differencing",
        "a release of nearly the same people with other groups or levels can be subtracted",
        "one release of one table is consistent in itself",
        "compare with earlier releases, which Discreet does not know: discreet attack ORIGINAL "
        "EARLIER THIS",
        on_step=lambda method, recipe: method.effect == "coarsens" and not method.private,
    ),
    Attack(
        "the same people in two years",
        "whoever is in both tables is in a class of each: what both classes have in common is "
        "known of them, and a record that is only in one of them can be told by what is missing",
        "levels, cuts and points that are kept are the same in both, so that no range of one year "
        "is narrowed down by that of the other; draws and the order of rows are new",
        "nothing hides what changed between the years: who joined or left a small class shows; "
        "Discreet does not know who is in both tables",
        on_table=lambda recipe: recipe.follows is not None,
    ),
    Attack(
        "a budget spent twice",
        "the epsilons and deltas of several releases of one table add up",
        "the log has the ledger of this one",
        "Discreet does not know what was spent before: keep one ledger for each table",
        on_step=lambda method, recipe: method.private,
    ),
    Attack(
        "household composition",
        "the released household number shows who lives together",
        "k counts households by default; what leads a suppressed record back is blanked",
        "unusual households are found by their members: see composition",
        ("composition", "linked_rows"),
        on_table=_shows_households,
    ),
    Attack(
        "linking releases by pseudonyms",
        "tables with the same pseudonym_key can be joined, and more columns tell more",
        "pseudonyms are keyed, and rows of one unit are protected together",
        "the joined table was never checked as one",
        ("linked_rows",),
        on_table=lambda recipe: bool(recipe.roles.pseudonyms),
    ),
    Attack(
        "reconstruction from many tables",
        "exact tables made from the original narrow the protected values down",
        "nothing: Discreet sees this release alone",
        "publish tables from the protected file, or protect them too",
        on_table=lambda recipe: bool(recipe.steps),
    ),
)
