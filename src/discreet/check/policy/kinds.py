"""What a released column holds, told from its name and its values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

import numpy as np
import pyarrow as pa

from discreet.check.findings import counted
from discreet.check.policy.case import Case, Found, listed, quoted
from discreet.check.policy.periods import fineness, of_numbers
from discreet.check.policy.sizes import no_keys
from discreet.check.policy.vocabulary import DATED, EVENTS, FLAGS, FORMS, OPAQUE, VAGUE, WORDS
from discreet.recipe.policies import ColumnsRule, IdentifyingRule, Kind, RolesRule
from discreet.table import words
from discreet.table.identifiers import Marks, looks_like, why_identifier
from discreet.table.labels import STAR, labels_of
from discreet.table.patterns import PATTERNS

_LONG_TEXT = 40


def called(case: Case, name: str) -> list[str]:
    """Return the words of a column's name, and of its label."""
    label = labels_of(case.shown.frame.schema.field(name)).label or ""
    return words.parts_of(name) + words.parts_of(label)


def opaque(case: Case, settled: Sequence[str] = ()) -> list[str]:
    """Return the columns whose names say nothing, such as `v12`.

    A weight is no more than that, and so is a yes or no.
    """
    schema, settled = case.shown.frame.schema, [*settled, case.recipe.roles.weight or ""]
    return [
        name
        for name in case.names
        if OPAQUE.fullmatch(name)
        and name not in settled
        and not labels_of(schema.field(name)).label
        and (name not in case.looks or case.looks[name].distinct > 2)
    ]


# Rules


def roles(rule: RolesRule, case: Case) -> Found:
    """Find released columns whose role is not to be released."""
    named, bad = case.recipe.roles.named(), []
    if case.unknown:
        return Found("open", "no column has a role", None, "give them roles, in a recipe")
    uses = {getattr(case.recipe.roles, one): one for one in ("weight", "target", "row_key", "unit")}
    for name in case.names:
        role = named.get(name, "insensitive")
        wrong = [one for one in {role, uses.get(name, role)} if one in rule.not_released]
        bad += [f"'{name}' ({wrong[0]})"] if wrong else []
    if not bad:
        kept = f"no column of the role {' or '.join(rule.not_released)} is released"
        return _unlisted(case, kept) if "identifiers" in rule.not_released else Found("kept", kept)
    are = "is" if len(bad) == 1 else "are"
    found = f"{listed(bad)} {are} released, in {counted(case.shown.num_rows, 'record')}"
    remedy = "give it the role identifiers, or none with rest = 'drop'"
    if (
        "household" in rule.not_released
        and named.get(case.recipe.roles.household or "")
        and (case.recipe.roles.household in case.names)
    ):
        remedy = "set release_household = false"
    return Found("missed", found, case.shown.num_rows, remedy)


def _unlisted(case: Case, kept: str) -> Found:
    """Look for what tells people apart, and has no role that says so."""
    seen = {name: why for name, why, sure in _codes(case) if sure}
    settled = case.recipe.roles.renamed | set(case.recipe.roles.not_identifiers)
    if strange := {name: why for name, why in seen.items() if name not in settled}:
        said = "; ".join(f"'{name}' {why}" for name, why in list(strange.items())[:3])
        needs = "give them the role identifiers, or list under not_identifiers what is none"
        return Found("open", f"{kept}, but {said}", None, needs)
    return _on_its_word(kept, {n: seen[n] for n in case.recipe.roles.not_identifiers if n in seen})


def _on_its_word(kept: str, excused: Mapping[str, str]) -> Found:
    """Say that a rule is kept, and which columns only the recipe says are none."""
    if not excused:
        return Found("kept", kept)
    so = listed([f"'{name}' ({why})" for name, why in excused.items()])
    found = f"{kept}: kept because the recipe's not_identifiers says so of {so}"
    return Found("kept", found, excused=tuple(excused))


def identifying(rule: IdentifyingRule, case: Case) -> Found:
    """Count the released quasi columns."""
    quasi = case.quasi
    if not quasi:
        return no_keys(case)
    are = "column is" if len(quasi) == 1 else "columns are"
    found = f"{len(quasi)} quasi {are} released; the rule allows {rule.most}"
    if len(quasi) <= rule.most:
        return Found("kept", found)
    remedy = f"drop {len(quasi) - rule.most} of {listed(quasi)}"
    return Found("missed", found, case.shown.num_rows, remedy)


def columns(rule: ColumnsRule, case: Case) -> Found:
    """Find columns of some kinds by their names and by what they hold."""
    bad: dict[str, str] = {}
    unclear: dict[str, str] = {}
    excused: dict[str, str] = {}
    doubted: set[str] = set()  # The recipe may say that they are none.
    for kind in rule.kinds:
        for name, why, sure in _of_kind(case, kind):
            doubt = _may_be_none(kind, sure)
            excuse = doubt and name in case.recipe.roles.not_identifiers
            (excused if excuse else bad if sure else unclear).setdefault(name, why)
            doubted |= {name} if doubt else set()
    wanted = {part for word in rule.words for part in words.parts_of(word)}
    for name in case.names:
        if hit := wanted & set(called(case, name)):
            doubted.discard(name)
            bad.setdefault(name, f"is called {listed(sorted(hit))}")
    what = listed([*rule.kinds, *(f"'{word}'" for word in rule.words)])
    if bad:
        said = "; ".join(f"'{name}' {why}" for name, why in list(bad.items())[:3])
        more = f" and {len(bad) - 3} more" if len(bad) > 3 else ""
        records = max(present(case, name) for name in bad)
        remedy = f"drop {quoted(list(bad))}"
        remedy += ", or list under not_identifiers what is none" * bool(doubted & bad.keys())
        return Found("missed", f"{what}: {said}{more}, in {records:,} records", records, remedy)
    if unclear:
        said = "; ".join(f"'{name}' {why}" for name, why in list(unclear.items())[:3])
        needs = "somebody must look at it, or drop it"
        if "places" in rule.kinds:
            needs = "list it under not_identifiers if its areas are large enough, or drop it"
        return Found("open", f"{what}: {said}", None, needs)
    settled = case.recipe.roles.not_identifiers
    if hidden := opaque(case, settled):
        holds, it = ("holds", "it") if len(hidden) == 1 else ("hold", "them")
        needs = (
            f"say what {quoted(hidden)} {holds}: rename {it}, or list {it} under not_identifiers"
        )
        return Found("open", f"{what}: names such as these tell nothing", None, needs)
    excused = dict.fromkeys(opaque(case), "has a name that tells nothing") | excused
    if excused:
        return _on_its_word(what, excused)
    return Found(
        "kept", f"{what}: none of {len(case.names)} released columns, by names and contents"
    )


def _may_be_none(kind: Kind, sure: bool) -> bool:
    """Tell whether a recipe that lists a column under not_identifiers is to be believed.

    A date is one even if it identifies nobody; texts and codes are looked at all the same.
    """
    return kind not in ("sensitive", "dates", "free text") and (sure or kind != "unique codes")


def present(case: Case, name: str) -> int:
    """Count the records in which a column is not null."""
    return case.shown.frame.num_rows - case.shown.frame.nulls(name)


def _of_kind(case: Case, kind: Kind) -> Iterator[tuple[str, str, bool]]:
    """Return the columns of a kind, why, and whether that is certain."""
    tests: dict[Kind, Callable[[Case], Iterator[tuple[str, str, bool]]]] = {
        "unique codes": _codes,
        "free text": _texts,
        "dates": _dates,
    }
    settled = case.recipe.roles.renamed
    if kind in tests:
        # What is only to be looked at stays so.
        yield from (one for one in tests[kind](case) if one[0] not in settled or not one[2])
    forms = {form: PATTERNS[form] for form in FORMS.get(kind, ())}
    for name in case.names:
        if name in settled:
            continue
        marks = case.looks.get(name)
        said, none = set(called(case, name)), frozenset[str]()
        hit = WORDS.get(kind, none) & said
        # A yes or a no to having one is none.
        if hit and (kind in ("sensitive", "places") or marks is None or marks.distinct > 2):
            yield name, f"is called {listed(sorted(hit))}", True
        elif forms and marks is not None and (form := looks_like(marks.texts, forms)):
            yield name, f"looks like {form[0]}", True
        elif hit and marks is not None and marks.text and not FLAGS.issuperset(_lower(marks)):
            yield name, f"is called {listed(sorted(hit))}, and has few values", False
        elif (marks is None or marks.text) and (vague := VAGUE.get(kind, none) & said):
            yield name, f"is called {listed(sorted(vague))}, which may be large or small", False


def _lower(marks: Marks) -> set[str]:
    return {text.strip().lower() for text in marks.texts}


def _codes(case: Case) -> Iterator[tuple[str, str, bool]]:
    for name in case.recipe.roles.renamed:
        if name in case.names:
            yield name, "holds codes in place of identifiers", False
    treated = set(case.recipe.treated)
    for name, marks in case.looks.items():
        if name in treated:
            continue
        why = why_identifier(name, marks, partial(_distinct, case, name))
        if why is not None:
            yield name, f"tells people apart: {why}", True


def _distinct(case: Case, name: str) -> int:
    return case.shown.frame.counts([name])[0].num_rows


def _texts(case: Case) -> Iterator[tuple[str, str, bool]]:
    """Find long texts, which may name anybody."""
    treated = set(case.recipe.treated)
    for name, marks in case.looks.items():
        long = [text for text in marks.texts if len(text) >= _LONG_TEXT and text.count(" ") > 3]
        if name not in treated and marks.text and len(long) > len(marks.texts) / 5 and long:
            yield name, "holds free text", False


def _dates(case: Case) -> Iterator[tuple[str, str, bool]]:
    for name in case.names:
        if is_date(case, name):
            yield name, "holds dates", True


def is_date(case: Case, name: str) -> bool:
    """Tell whether a column holds dates: by its type, its values, or its name.

    What is called like an event, such as a birth or a discharge, may be a date or else.
    """
    kind = case.shown.frame.schema.field(name).type
    plain = kind.value_type if pa.types.is_dictionary(kind) else kind
    if pa.types.is_date(plain) or pa.types.is_timestamp(plain):
        return True
    marks = case.looks.get(name)
    if marks is not None and marks.texts:
        tests: dict[str, Callable[[str], object]] = {
            said: pattern.fullmatch for pattern, said in words.DATES.items()
        }
        if looks_like(marks.texts, tests):
            return True
    said = set(called(case, name))
    if marks is None or (marks.distinct <= 2 and not EVENTS & said):
        return False
    return bool(DATED & said) or bool(EVENTS & said and _dated(marks))


def _dated(marks: Marks) -> bool:
    """Tell whether a column that is called like an event holds when it was."""
    if marks.text:
        named = [text for text in marks.texts if text != STAR]
        return bool(named) and all(fineness(text) for text in named)
    return marks.whole and of_numbers(np.array([marks.low, marks.high])) is not None
