"""Attack a release in every way, by what its recipe says of the columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.assessment.opened import Dialect, Opened, OtherTable, opened
from discreet.assessment.samples import beside
from discreet.attacks import (
    Attack,
    Differencing,
    differencing,
    inference,
    linkability,
    membership,
    singling_out,
)
from discreet.attacks._excess import widened
from discreet.attacks._people import NobodyToAttack, one_of_each
from discreet.check.folders import find_release
from discreet.engines import Frame
from discreet.engines.choice import open_engine
from discreet.errors import BadInput, nearest
from discreet.progress import Teller
from discreet.recipe.roles import Roles
from discreet.table.fingerprint import cell_numbers
from discreet.table.labels import is_text

# Columns that are added to tables: of which household, or else person, a row is; of which person.
_ONE_OF, _PERSON = "discreet: one of", "discreet: person"
# Records that are attacked as they are; of more, a sample is.
_ROWS = 1_000_000

Tell = Callable[[str], None]


@dataclass(frozen=True, repr=False)
class Attacked:
    """What came of all attacks on a release.

    Attributes
    ----------
    attacks : list of Attack
    left_out : dict
        Attacks that could not be tried, and why.
    notes : list of str
        What else is to be known to read the figures.
    release : str
        The number of the release, as its log has it; empty of a file alone.
    """

    attacks: list[Attack] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    release: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data, for JSON."""
        return {
            "attacks": [one.to_dict() for one in self.attacks],
            "left_out": dict(self.left_out),
            "notes": list(self.notes),
            "release": self.release,
        }

    def _repr_html_(self) -> str:
        """Show notebooks whether an attack gains from the release, and each of them."""
        from discreet.report.notebook import attacked_html

        return attacked_html(self.to_dict())

    def __repr__(self) -> str:
        from discreet.report.attacked import worst_sentence

        tried = f"{len(self.attacks)} attacks"
        return f"<Attacked by {tried}: {worst_sentence(self.to_dict()).removesuffix('.')}>"

    def __str__(self) -> str:
        from discreet.report.attacked import attack_sentences

        left_out = [f"left out: {name}: {why}" for name, why in self.left_out.items()]
        notes = [f"note: {note}" for note in self.notes]
        return "\n".join([*attack_sentences(self.to_dict()), *left_out, *notes])


def attack(
    original: Any,
    release: Any,
    *,
    holdout: Any = None,
    known: Sequence[str] | None = None,
    secret: str | None = None,
    queries: int = 2000,
    random_state: int = 0,
    engine: str = "auto",
    memory: str | None = None,
    dialect: Dialect | None = None,
    progress: Tell | Literal[False] | None = None,
) -> Attacked:
    """Attack a release by singling out, linkability, inference and membership.

    Parameters
    ----------
    original : table or path
        What the release was made from.
    release : Release or path
        What `protect` gave, a release folder, or a released file.
    holdout : table or path, optional
        People like those of the original who are not in the release: the control group. By default
        those whom `protect` set aside for it, if it did.
    known : list of str, optional
        The columns that an intruder knows of people; by default the quasi ones of the recipe, and
        without one all columns but the secret.
    secret : str, optional
        The column to infer; by default every confidential one.
    queries : int
        Predicates, and people to attack, of each attack.
    random_state : int
        The seed of all draws.
    engine, memory, dialect
        As for `assess`.
    progress : callable or False, optional
        Is told what is under way. By default a notebook shows a line, and with False nothing does.

    Examples
    --------
    >>> import discreet
    >>> from discreet.datasets import make_households
    >>> people = make_households(1200, seed=1).select(["sex", "income"])
    >>> recipe = {
    ...     "roles": {"quasi": ["sex"], "confidential": ["income"], "untouched": ["sex"]},
    ...     "steps": [{"method": "oma", "columns": ["income"], "k": 5}],
    ... }
    >>> inside, outside = people[:1000], people[1000:]
    >>> found = attack(inside, discreet.protect(inside, recipe), holdout=outside, queries=200)
    >>> [one.name for one in found.attacks]
    ['singling out', 'singling out', 'inference', 'membership']
    >>> found.left_out
    {'linkability': 'needs two known columns, one for each party'}
    """
    how: dict[str, Any] = {
        "engine": engine,
        "memory": memory,
        "dialect": dialect,
        "roles": _no_roles([release]),
    }
    with Teller(progress) as tell, opened(original, [release], **how) as (one,):
        if one.note:
            tell(one.note)
        names = _shared(one)
        whose = _whose(one.recipe.roles, one.before)
        before, after = beside(one.before, one.after, [*names, *whose], _ROWS)
        people, before, after = before, before.select(names), after.select(names)
        notes = _notes(one, before, paired=how["roles"] is None)
        held = None
        if holdout is not None:
            others = held = _held(holdout, names, one, dialect, whose)
            wide = _also_there(one, held, names)
            _like_inside(held.select(wide), one.beside(wide)[0])
            held = held.select(names)
            notes += _like_inside(held, before)
        elif one.holdout is not None:
            others = _held(one.holdout, names, one, None, whose)
            held = others.select(names)
            notes.append(
                f"the holdout is the {held.num_rows:,} records that were set aside before any step"
            )
        roles = one.recipe.roles
        secrets = _secrets(one, names, secret)
        keys = [] if roles is None else [name for name in roles.quasi if name in names]
        asked = _named(known, names, "known") or keys or [n for n in names if n not in secrets]
        unit = None if roles is None else roles.unit
        before = _with_people(before, people, whose, unit)
        if held is not None:
            held = _with_people(held, others, whose, unit)
        if whose:
            notes += _of_several(before, held, whose)
        given: dict[str, Any] = {
            "holdout": held,
            "hierarchies": one.recipe.hierarchies,
            "drawn": _drawn(one),
            "queries": queries,
            "random_state": random_state,
        }
        found = Attacked(notes=notes, release=one.release)
        everybody = one.before if before.num_rows < one.before.num_rows else None
        return _tried(found, before, after, asked, secrets, given, everybody, tell)


def _tried(
    found: Attacked,
    before: pa.Table,
    after: pa.Table,
    known: Sequence[str],
    secrets: Sequence[str],
    given: Mapping[str, Any],
    everybody: Frame | None,
    tell: Tell,
) -> Attacked:
    """Try all attacks; the tables are a sample of everybody, if that is given."""

    def add(one: Attack) -> None:
        # Among fewer records one's own stands out more: in all of them it may not at all.
        found.attacks.append(one if everybody is None else widened(one, 0.0))

    def attempt(name: str, one: Callable[..., Attack], **how: Any) -> None:
        tell(name)
        try:
            add(one(before, after, unit=unit, **how, **given))
        except NobodyToAttack as error:
            found.left_out[name] = str(error).removeprefix(f"{name} ")

    unit, person = (name if name in before.column_names else None for name in (_ONE_OF, _PERSON))
    # Secrets are released, too, and isolate as well as keys do.
    everything = list(dict.fromkeys([*known, *secrets]))
    tell("singling out")
    for mode in ("several", "one"):
        asked = {"mode": mode, "known": everything, "unit": person, **given}
        one = singling_out(before, after, everybody=everybody, **asked)
        if everybody is not None:
            # Who has the whole release knows what is rare in it, as we know it of the sample.
            one = widened(one, *singling_out(before, after, **asked).interval)
        found.attacks.append(one)
    if len(known) > 1:
        attempt("linkability", linkability, known=known)
    else:
        found.left_out["linkability"] = "needs two known columns, one for each party"
    if not secrets:
        found.left_out["inference"] = "needs a secret; name one with --secret"
    for name in secrets:
        columns = [one for one in known if one != name]
        if columns:
            attempt(f"inference of {name}", inference, secret=name, known=columns)
        else:
            found.left_out[f"inference of {name}"] = "needs a known column besides"
    if given["holdout"] is None:
        found.left_out["membership"] = (
            "needs a holdout, people who are not in the release; protect --holdout 0.1 sets some "
            "aside"
        )
    else:
        attempt("membership", membership, known=everything)
    return found


def compared(
    original: Any,
    one: Any,
    other: Any,
    *,
    known: Sequence[str] | None = None,
    secret: str | None = None,
    engine: str = "auto",
    memory: str | None = None,
    dialect: Dialect | None = None,
) -> Differencing:
    """Find what two releases of one table tell together; see `attacks.differencing`."""
    pair = [one, other]
    how: dict[str, Any] = {
        "engine": engine,
        "memory": memory,
        "dialect": dialect,
        "roles": _no_roles(pair),
    }
    try:
        with opened(original, pair, **how) as both:
            shared = [_shared(release) for release in both]
            names = [name for name in shared[0] if name in shared[1]]
            (before, first), (other_before, second) = (release.beside(names) for release in both)
    except OtherTable as error:
        only = "two releases are put together only if they are of the same table"
        raise BadInput(f"{error}; {only}") from None
    if not before.equals(other_before):
        raise BadInput(
            "the two releases are of other records, since a holdout of its own was set aside for "
            "each; protect both with the same seed and holdout to put them together"
        )
    roles = both[0].recipe.roles
    keys = [] if roles is None else [name for name in roles.quasi if name in names]
    secrets = _secrets(both[0], names, secret)
    asked = _named(known, names, "known") or keys
    if not asked:
        raise BadInput("name the columns that an intruder knows, with --known age,sex,town")
    hierarchies = {**both[1].recipe.hierarchies, **both[0].recipe.hierarchies}
    return differencing(
        before,
        first,
        second,
        quasi=asked,
        secret=secrets,
        hierarchies=hierarchies,
    )


def _no_roles(releases: Sequence[Any]) -> Roles | None:
    """Return roles of nothing where no internal folder says what columns are."""
    known = [hasattr(one, "released") or find_release(one)[1].is_dir() for one in releases]
    return None if all(known) else Roles(rest="insensitive")


def _shared(one: Opened) -> list[str]:
    """Name the columns that are in both; those that stand for people are not what they were."""
    roles = one.recipe.roles
    apart = set() if roles is None else {*roles.pseudonyms, roles.household, roles.unit}
    there = [name for name in one.before.schema.names if name in one.after.schema.names]
    found = [name for name in there if name not in apart]
    if not found:
        raise BadInput("the original and the release share no column that could be attacked")
    return found


def _whose(roles: Roles | None, before: Frame) -> list[str]:
    """Name the columns that say whose record a row is, the larger group first."""
    given = [] if roles is None else [roles.household, roles.unit]
    return [name for name in given if name is not None and name in before.schema.names]


def _with_people(
    table: pa.Table, people: pa.Table, whose: Sequence[str], unit: str | None
) -> pa.Table:
    """Add of which household, or else of which person, each row is, and of which person."""
    said = {
        name: pc.binary_join_element_wise(name, people[name].cast(pa.string()), ":")
        for name in whose
        if name in people.column_names
    }
    if said:
        table = table.append_column(_ONE_OF, pc.coalesce(*said.values()))
    if unit in said:
        table = table.append_column(_PERSON, said[unit])
    return table


def _of_several(before: pa.Table, held: pa.Table | None, whose: Sequence[str]) -> list[str]:
    """Say that one of those who belong together is attacked, and of whom it cannot be told."""
    many = len(one_of_each(before[_ONE_OF], np.random.default_rng(0)))
    called = " or ".join(f"'{name}'" for name in whose)
    notes = []
    if many < before.num_rows:
        notes.append(
            f"one record of each {called} is attacked, {many:,} of {before.num_rows:,}, because "
            "what belongs together is found together; singling out goes by all"
        )
    if held is not None and _ONE_OF not in held.column_names:
        notes.append(
            f"the holdout has no column {called}: if several of its records belong together, the "
            "intervals are too narrow"
        )
    return notes


def _secrets(one: Opened, names: Sequence[str], secret: str | None) -> list[str]:
    if secret is not None:
        return _named([secret], names, "secret")
    roles = one.recipe.roles
    return [] if roles is None else [name for name in roles.confidential if name in names]


def _named(given: Sequence[str] | None, names: Sequence[str], what: str) -> list[str]:
    """Return named columns; refuse those that original and release do not share."""
    for name in given or ():
        if name not in names:
            raise BadInput(
                f"{what} names '{name}', which the original and the release do not share; "
                f"{nearest(name, names)}"
            )
    return list(given or ())


def _drawn(one: Opened) -> list[str]:
    """Name the columns whose values were moved at random."""
    moved = []
    for step in one.recipe.steps or ():
        method = step.build()
        if method.is_random and method.effect == "perturbs":
            moved += step.columns
    return moved


def _held(
    holdout: Any,
    names: Sequence[str],
    one: Opened,
    dialect: Dialect | None,
    besides: Sequence[str] = (),
) -> pa.Table:
    """Read the holdout as the original was read."""
    how = {key: value for key, value in (dialect or {}).items() if value is not None}
    with open_engine("memory") as working:
        rules = one.recipe
        frame = working.read(
            holdout, lambda there: [n for n in there if n in (*names, *besides)],
            rules.null_markers,
            rules.numeric, how,
        )  # fmt: skip
        table: pa.Table = frame.native()
    if missing := [name for name in names if name not in table.column_names]:
        called = holdout if isinstance(holdout, str | Path) else "the holdout"
        raise BadInput(f"{called} has no column '{missing[0]}', which original and release have")
    return table


def _also_there(one: Opened, held: pa.Table, names: Sequence[str]) -> list[str]:
    """Name the columns that original and holdout share, released or not: names tell who is who.

    Of an original that is not in memory only those that are released, since of others the types
    are not known.
    """
    known = (
        [n for n in one.before.schema.names if n in held.column_names] if one.before.whole else []
    )
    sides = (one.before.schema, held.schema)
    telling = [n for n in known if all(_tells(side.field(n).type) for side in sides)]
    return list(dict.fromkeys([*names, *telling]))


def _tells(kind: pa.DataType) -> bool:
    return is_text(kind) or pa.types.is_integer(kind)


def _like_inside(table: pa.Table, before: pa.Table) -> list[str]:
    """Refuse a holdout with people of the original; say how many are like one of them by chance.

    A newcomer is like a record that is alone in the original with a chance of about 2 m / n, where
    m tuples of values are held by two records each (Good and Turing). One more pair than there is
    keeps the bound above 0.
    """
    if table.equals(before):
        raise BadInput("the holdout is the original; give people who are not in the release")
    held, size = _row_words(table), len(table)
    words, counts = np.unique(_row_words(before), return_counts=True)
    like, alone = (int(np.isin(held, some).sum()) for some in (words, words[counts == 1]))
    by_chance = 2 * size * (int((counts == 2).sum()) + 1) / len(before)
    if alone > by_chance + 4 * np.sqrt(by_chance * (1 + 2 * size / len(before))):
        raise BadInput(
            f"{like:,} of {size:,} records of the holdout are in the original, too, and more of "
            "them than chance explains; give people who are not in the release"
        )
    if not like:
        return []
    several = "are" if like > 1 else "is"
    said = f"{like:,} of {size:,} records of the holdout {several} like one of the original in "
    return [said + "every shared column, which chance explains"]


def _row_words(table: pa.Table) -> np.ndarray:
    """Return a number of each row, the same where all cells are."""
    words = np.zeros(len(table), np.uint64)
    for column in table.columns:
        words = cell_numbers(0, column, words)
    return words


def _notes(one: Opened, before: pa.Table, paired: bool) -> list[str]:
    notes = []
    if before.num_rows != one.before.num_rows:
        notes.append(
            f"the attacks are by a sample of {before.num_rows:,} of {one.before.num_rows:,} "
            "released records; people are isolated among all, and the intervals are widened: of "
            "singling out to what it would be in the sample, which has its own rare records, and "
            "of the others to 0, since a record stands out less among all than in the sample"
        )
    if not paired:
        notes.append(
            "without its internal folder, the release is taken to have the original's rows in "
            "their order; where it has not, labels are misread and the attacks find too little"
        )
    return notes
