"""Rules that other evidence decides: the check's own findings, attacks, days, and people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from discreet.check.findings import NEEDS_INTERNAL, NEEDS_ORIGINAL, counted
from discreet.check.leaks import NOTHING
from discreet.check.order import ORDERED
from discreet.check.policy.case import Case, Found, quoted
from discreet.errors import nearest
from discreet.recipe.policies import (
    AttackRule,
    ByHandRule,
    LeaksRule,
    OldRule,
    OrderRule,
    PromisesRule,
)

_DAYS = 365.25
_HOLDOUT = (
    "needs a holdout: repeat it with `discreet attack ... --holdout FILE --json`, where FILE has "
    "people who are not in the release"
)
_GIVES = NOTHING.partition("gives")[0] + "gives"


def order(rule: OrderRule, case: Case) -> Found:
    """Find out whether the rows are in random order."""
    for one in case.findings:
        if one.promise == ORDERED:
            kept = one.status == "verified"
            remedy = "" if kept else "protect the table again, and do not sort what is written"
            return Found("kept" if kept else "missed", one.detail, None, remedy)
    return Found("open", "the order of the rows", None, NEEDS_INTERNAL)


def leaks(rule: LeaksRule, case: Case) -> Found:
    """Find out whether a released column gives a treated one away."""
    if not case.recipe.treated and not case.unknown:
        return Found("kept", "no column was treated")
    found = [one for one in case.findings if one.promise.startswith(_GIVES)]
    if told := [one for one in found if one.status == "broken"]:
        remedy = "treat the columns together, drop one, or accept it under allow_leaks"
        return Found("missed", f"{told[0].promise}: {told[0].detail}", None, remedy)
    if accepted := [one for one in found if one.detail.startswith("accepted")]:
        return Found(
            "missed", accepted[0].detail, None, "take it out of allow_leaks, and treat both columns"
        )
    searched = [one.detail for one in found if one.promise == NOTHING and one.status == "verified"]
    if searched:
        return Found("kept", searched[0])
    return Found("open", "what columns tell about each other", None, NEEDS_ORIGINAL)


def promises(rule: PromisesRule, case: Case) -> Found:
    """Find out whether all that the recipe promises is verified."""
    broken = [one for one in case.findings if one.status == "broken"]
    unknown = [one for one in case.findings if one.status == "not verifiable"]
    verified = [one for one in case.findings if one.status == "verified"]
    if broken:
        said = f"{counted(len(broken), 'promise')} broken: {broken[0].promise} ({broken[0].detail})"
        return Found("missed", said, None, "protect the table again")
    if unknown:
        said = f"{len(unknown)} of {counted(len(case.findings), 'promise')} not verifiable"
        return Found("open", said, None, unknown[0].detail)
    return Found("kept", f"{counted(len(verified), 'promise')} verified")


def old(rule: OldRule, case: Case) -> Found:
    """Find out how old the data are when they are released."""
    day = case.against.last_day
    if day is None:
        needs = "say which day the data are about: --collected 2024-12-31"
        return Found("open", "the age of the data", None, needs)
    started = None if case.evidence is None else case.evidence.log["started"]
    released = datetime.fromisoformat(started) if started else datetime.now(UTC)
    years = (released.date() - day).days / _DAYS
    if years < 0:
        said = f"the data are about days up to {day}, after their release on {released.date()}"
        remedy = "correct the day (--collected, or collected in the recipe)"
        return Found("missed", said, None, remedy)
    found = f"the data of {day} are {years:.1f} years old; the rule asks for {rule.years:g}"
    if (released.date() - day).days >= int(rule.years * _DAYS):
        return Found("kept", found)
    return Found("missed", found, None, "release them later")


def attack(rule: AttackRule, case: Case) -> Found:
    """Find out what an attack gains over its baseline."""
    path = case.against.attacks
    if path is not None and path in case.against.gone:
        how = f"`discreet attack ORIGINAL RELEASE --holdout FILE --json > {path}`"
        said = f"{rule.attack} was not measured: {path} is not there"
        return Found("open", said, None, f"write it with {how}, then `discreet check RELEASE`")
    if case.attacks is None:
        needs = "measure it with `discreet attack ... --json`, and give the file with --attacks"
        return Found("open", f"{rule.attack} was not measured", None, needs)
    known = [one for one in case.attacks if _plain(one["name"]) == _plain(rule.attack)]
    if not known:
        names = dict.fromkeys(one["name"] for one in case.attacks)
        needs = f"measure it, too; the file has none of this name; {nearest(rule.attack, names)}"
        return Found("open", f"{rule.attack} was not measured", None, needs)
    known = [one for one in known if _attempts(one) != 0]
    if not known:
        needs = "name other columns with --known, or see that the release tells nothing"
        return Found("open", f"{rule.attack} had nothing to try", None, needs)
    if any(case.of_another(one) for one in known):
        needs = "measure it on this one with `discreet attack ... --json`"
        return Found("open", f"{rule.attack} was measured on another release", None, needs)
    # Of one on several columns, the worst counts.
    one = max(known, key=lambda one: _figure(rule, one))
    excess, upper, figure = float(one["excess"]), float(one["interval"][1]), _figure(rule, one)
    controlled = one.get("against") == "holdout"
    baseline = "the holdout" if controlled else "a guess"
    of = _attempts(one)
    attempts = "" if of is None else f" in {of:,} attempts"
    found = (
        f"{rule.attack} gains {_points(excess)} percentage points over {baseline}{attempts}, with "
        f"95 % certainty at most {_points(upper)}; the rule allows {_points(rule.most)}"
    )
    if figure <= rule.most:
        if not controlled:
            return Found("open", found, None, _HOLDOUT)
        missing = _not_tried(known, case)
        return Found("kept", found) if missing is None else Found("open", found, None, missing)
    if not controlled:
        return Found("missed", found, None, f"treat the columns more strongly, or it {_HOLDOUT}")
    if excess <= rule.most:
        remedy = "repeat it with more --queries or a larger holdout: the estimate is below"
        return Found("missed", found, None, remedy)
    return Found("missed", found, None, "treat the columns that the attack uses more strongly")


def _not_tried(known: Sequence[Mapping[str, Any]], case: Case) -> str | None:
    """Say what an attack left out that an intruder would not: keys, secrets, the release itself."""
    if case.evidence is not None and not all(one.get("release") for one in known):
        return (
            "the file does not say on which release it was measured: give `discreet attack` the "
            "folder of the release, not a table alone"
        )
    details = [one["detail"] for one in known if isinstance(one.get("detail"), dict)]
    for detail in details:
        told = detail.get("known", detail.get("columns"))
        if isinstance(told, list):
            flat = [n for one in told for n in (one if isinstance(one, list) else [one])]
            if few := [name for name in case.quasi if name not in (*flat, detail.get("secret"))]:
                return f"repeat it with all quasi columns known: {quoted(few)} not tried"
    secrets = [detail["secret"] for detail in details if "secret" in detail]
    if secrets and (rest := [name for name in case.confidential if name not in secrets]):
        return f"repeat it without --secret: {quoted(rest)} not tried"
    return None


def _figure(rule: AttackRule, one: Mapping[str, Any]) -> float:
    return float(one["excess"] if rule.figure == "excess" else one["interval"][1])


def _attempts(one: Mapping[str, Any]) -> int | None:
    rate = one.get("attack")
    of = rate.get("of") if isinstance(rate, dict) else None
    return of if isinstance(of, int) else None


def _points(share: float) -> str:
    return f"{round(100 * share, 2) + 0.0:g}"


def _plain(name: str) -> str:
    return name.lower().replace("_", "-").replace(" ", "-")


def by_hand(rule: ByHandRule, case: Case) -> Found:
    """Leave it to a person."""
    return Found("open", "no program can tell", None, rule.needs)
