"""A release held against a policy: each rule decided by counting, or left open with what it needs.

Nothing here is taken from methods or measures: figures are counted anew in the released table, and
where a rule is about what was before, or about whose records they are, in the evidence.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from discreet.check.evidence import Evidence
from discreet.check.findings import Finding
from discreet.check.policy import kinds, numbers, others, sizes, spans
from discreet.check.policy.case import Case, Found, naming
from discreet.check.shown import Shown
from discreet.check.verdicts import PolicyReport, Verdict
from discreet.engines import Frame
from discreet.errors import BadInput
from discreet.recipe.policies import Against, Policy, Rule
from discreet.recipe.recipe import Recipe

_JUDGES: dict[str, Callable[[Any, Case], Found]] = {
    "roles": kinds.roles,
    "columns": kinds.columns,
    "identifying-columns": kinds.identifying,
    "dates": spans.dates,
    "ages": spans.ages,
    "areas": spans.areas,
    "k": sizes.k,
    "l": sizes.l_diversity,
    "largest-risk": sizes.risk,
    "average-risk": sizes.risk,
    "records-at-risk": sizes.at_risk,
    "cells": sizes.cells,
    "suppressed": sizes.suppressed,
    "households": sizes.households,
    "rounding": numbers.rounding,
    "hidden": numbers.hidden,
    "dominance": numbers.dominance,
    "order": others.order,
    "old": others.old,
    "attack": others.attack,
    "leaks": others.leaks,
    "promises": others.promises,
    "by-hand": others.by_hand,
}

__all__ = ["against_policy"]


def against_policy(
    shown: Shown,
    recipe: Recipe,
    against: Against | None,
    findings: Sequence[Finding],
    evidence: Evidence | None,
    original: Frame | None,
) -> PolicyReport | None:
    """Decide each rule of a policy, by default of the recipe's own.

    Of the recipe's own, files may be gone, because a release may have come here without them: what
    they would decide is open.
    """
    asked = recipe.against if against is None else against
    if asked is None:
        return None
    try:
        # Of what others name, nothing may be missing.
        own = recipe.against is not None and asked.population == recipe.against.population
        policy = Policy.load(asked.name) if own else asked.load()
        case = Case.of(shown, recipe, policy, asked, findings, evidence, original)
        return _judged(case, policy)
    except BadInput as error:
        if against is not None:
            raise
        return _undecided(asked, str(error))


def _undecided(asked: Against, why: str) -> PolicyReport:
    """Say that a release was not held against the policy of its recipe."""
    remedy = "put the file back, or name it with --policy FILE"
    verdict = Verdict(
        "policy", "The release keeps the policy of its recipe.", "the recipe", "", "open",
        f"it was not held against it: {why}", None, remedy,
    )  # fmt: skip
    return PolicyReport(
        asked.name, asked.name, "the recipe", "", None, (verdict,), asked.gone or (asked.name,)
    )


def _judged(case: Case, policy: Policy) -> PolicyReport:
    try:
        verdicts = tuple(_verdict(rule, case) for rule in policy.rules)
    finally:
        case.shown.remove()
    return PolicyReport(
        policy.name,
        policy.title,
        policy.source,
        str(policy.date),
        policy.url,
        verdicts,
        _gone(case.against, policy),
    )


def _gone(asked: Against, policy: Policy) -> tuple[str, ...]:
    """Return the files that are not there; attacks only where a rule is about one."""
    wanted = any(rule.rule == "attack" for rule in policy.rules)
    return tuple(one for one in asked.gone if wanted or one != asked.attacks)


def _unnamed(rule: Rule, case: Case) -> Found | None:
    """Leave a rule open whose group of columns nobody has named."""
    group = getattr(rule, "group", None)
    # Of counts and estimates, steps may tell; `numbers` looks.
    if group is None or rule.rule in ("rounding", "hidden") or case.group(group) is not None:
        return None
    if getattr(rule, "columns", None) is not None:
        return None
    said = f"nobody has said which columns are in the group '{group}'"
    return Found("open", said, None, naming(group))


def _verdict(rule: Rule, case: Case) -> Verdict:
    found = _unnamed(rule, case) or _JUDGES[rule.rule](rule, case)
    # What was not looked at because its name is misspelt has kept nothing.
    if found.status == "kept" and (strange := case.strange(getattr(rule, "columns", None) or ())):
        needs = "correct the name in the policy, or take it out of the rule"
        names = " or ".join(f"'{name}'" for name in strange)
        found = Found("open", f"no column is called {names}", None, needs)
    remedy = rule.remedy if rule.remedy and found.status == "missed" else found.remedy
    return Verdict(
        rule.rule,
        rule.says,
        rule.source,
        str(rule.date),
        found.status,
        found.found,
        found.records,
        remedy,
        rule.either,
        found.excused,
    )
