"""What became of the rules of a policy: for the verdict, and the report's section about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from discreet.report.page import Table, counted, named

Facts = Mapping[str, Any]
_MET = {"kept": True, "missed": False, "open": None}


def rules_of(facts: Facts) -> list[dict[str, Any]]:
    """Return the rules of the policy as targets of the verdict.

    Of several readings of one rule, those are left out that do not matter because another is kept.
    """
    policy = (facts.get("check") or {}).get("policy") or {"verdicts": []}
    return [
        {
            "what": one["says"].rstrip("."),
            "source": "policy",
            "met": _MET[one["status"]],
            "said": one["found"],
            "remedy": one["remedy"],
            "excused": list(one.get("excused", ())),
        }
        for one in policy["verdicts"]
        if not _is_spare(one, policy)
    ]


def _is_spare(verdict: Facts, policy: Facts) -> bool:
    """Tell whether a reading is not kept, and need not be because another is."""
    kept = {one["either"] for one in policy["verdicts"] if one["status"] == "kept"} - {None}
    return verdict["status"] != "kept" and verdict["either"] in kept


def remedies(rules: Sequence[Facts]) -> list[str]:
    """Say what to do about the rules that are missed.

    Examples
    --------
    >>> remedies([{"what": "At least 5 share all keys", "met": False, "remedy": "set k = 5"}])
    ['set k = 5 (At least 5 share all keys)']
    """
    return [f"{one['remedy']} ({one['what']})" for one in rules if one["met"] is False]


def in_short(title: str, rules: Sequence[Facts]) -> str:
    """Say how many rules are kept where none is missed, to follow the verdict.

    Examples
    --------
    >>> in_short("House", [{"met": True}, {"met": True}])
    ' Both rules of House are kept.'
    >>> in_short("House", [{"met": True}])
    ' The one rule of House is kept.'
    >>> in_short("House", [{"met": True, "excused": ["fax"]}])
    " The one rule of House is kept, on the recipe's word that fax is no identifier."
    >>> in_short("House", [{"met": True}, {"met": None, "what": "Old", "remedy": "say when"}])
    ' Of 2 rules of House, 1 is kept and 1 open: Old (say when).'
    """
    if not rules:
        return ""
    excused = list(dict.fromkeys(name for one in rules for name in one.get("excused", ())))
    are = "is no identifier" if len(excused) == 1 else "are no identifiers"
    word = f", on the recipe's word that {named(excused, 3)} {are}" if excused else ""
    undecided = [one for one in rules if one["met"] is None]
    if len(rules) == 1 and not undecided:
        return f" The one rule of {title} is kept{word}."
    if not undecided and len(rules) == 2:
        return f" Both rules of {title} are kept{word}."
    if not undecided:
        return f" All {counted(len(rules), 'rule')} of {title} are kept{word}."
    kept = len(rules) - len(undecided)
    are = "is" if kept == 1 else "are"
    return (
        f" Of {counted(len(rules), 'rule')} of {title}, {kept} {are} kept{word}{',' * bool(word)} "
        f"and {len(undecided)} open: {undecided[0]['what']} ({undecided[0]['remedy']})."
    )


def _verdict(one: Facts, policy: Facts) -> str:
    status = "not met" if one["status"] == "missed" else str(one["status"])
    return f"{status}, but another reading is kept" if _is_spare(one, policy) else status


def policy_table(facts: Facts) -> Table | None:
    """Lay out each rule with its verdict, the figure, what to do, and the source."""
    policy = (facts.get("check") or {}).get("policy")
    if not policy:
        return None
    rows = [
        (
            one["says"],
            _verdict(one, policy),
            one["found"],
            "–" if _is_spare(one, policy) else one["remedy"] or "–",
            f"{one['source']}, {one['date']}",
        )
        for one in policy["verdicts"]
    ]
    where = f", {policy['url']}" if policy.get("url") else ""
    reading = (
        f"{policy['title']}: {policy['summary']}. From {policy['source']}, {policy['date']}{where}."
        " Each figure was counted anew by the check, in the released table. A rule that is open "
        "cannot be decided from what is there, and says what it takes."
    )
    return Table(("rule", "verdict", "found", "what to do", "source"), rows, 0, reading)
