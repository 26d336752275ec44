"""A few ways to treat the keys of a table, tried on it, and the best of them.

All keep the same promise, so that what they lose can be compared: k records or more share each
combination of keys, with l values of a confidential category where that costs little.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.assessment.assessment import assess_frames
from discreet.errors import BadInput, BrokenPromise
from discreet.flow.protection import protect
from discreet.flow.release import Release
from discreet.generalization import Hierarchy
from discreet.inspection.encoded import Encoded
from discreet.inspection.guesses import K
from discreet.inspection.inspection import Inspection
from discreet.inspection.proposal import NODES, L, Proposal, secrets_of
from discreet.recipe.recipe import Recipe
from discreet.risk import informed_linkage
from discreet.utility import information_loss

# Records that candidates are tried on, and that the intruder looks for.
_ROWS, _QUERIES = 10_000, 2_000
# Labels that a column has at most before cells are blanked.
_MOST_LABELS = 20
# Moves that look for fewer blanks.
_MOVES = 1_000
# Diversity is demanded where the loss is at most this many times what it is without.
_BORNE = 1.2
# Labels that mean the same in all records are worth so much more loss.
_CLEARER = 1.2
# Of ways that lose little more than the least, the one with the fewest `*` is taken: few would
# give a column away for so little.
_NEAR = 1.05
# A key with so many cells `*` or blank tells next to nothing.
_GONE = 0.95
# Ties are broken by a seed, which must not change what is proposed.
_SEEDED = {"seed": 0, "allow_predictable_seed": True}


@dataclass(frozen=True)
class Asked:
    """What a release is to keep.

    Attributes
    ----------
    k : int
        Records, people or households that share each combination of keys.
    l : int, optional
        Values of each confidential category among them; 1 asks for none, and by default three are
        asked for where that costs little.
    blanked : float, optional
        Largest share of the records that may be suppressed.
    keep : sequence of str
        Keys that are released as they are.
    """

    k: int = K
    l: int | None = None  # noqa: E741
    blanked: float | None = None
    keep: Sequence[str] = ()


@dataclass(frozen=True)
class Tried:
    """What one way to treat the keys did to a table, or why it could not."""

    words: str
    steps: tuple[dict[str, Any], ...]
    clear: bool = True  # a label means the same wherever it stands
    risk: float = 1.0  # share of the records that an informed intruder finds
    average: float = 1.0  # chance to be found as a mean over the records, `attackers.marketer`
    loss: float = 1.0  # mean `information_loss` of the columns
    starred: float = 1.0  # share of the keys' cells that are `*` or blank
    gone: tuple[str, ...] = ()  # keys of which next to nothing is left
    problem: str | None = None
    evidence: str = ""  # what its check found, and what can be done about it

    @property
    def figures(self) -> str:
        """Say what it did in one line."""
        if self.problem is not None:
            return f"not possible ({self.problem})"
        said = f"risk {_percent(self.risk)}, loss {_percent(self.loss)}"
        said += f", {_percent(self.starred)} of cells *"
        return said + "".join(f", next to nothing left of {name}" for name in self.gone)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        names = ("words", "risk", "loss", "starred", "problem")
        return {name: getattr(self, name) for name in names} | {"gone": list(self.gone)}


@dataclass(frozen=True)
class Choice:
    """The ways that were tried, which was taken, and what is to be said about it."""

    tried: tuple[Tried, ...]
    taken: Tried
    said: tuple[str, ...]
    proposals: tuple[Proposal | None, ...]  # the recipe of each way, where it is possible
    records: int  # that they were tried on


def try_out(
    proposal: Proposal, seen: Inspection, asked: Asked | None = None
) -> tuple[Proposal, Choice | None]:
    """Try a few ways to treat the keys, and propose the best; as it is where there are no keys.

    Raises
    ------
    BadInput
        No way keeps what is asked. It says why.

    Examples
    --------
    >>> from discreet.datasets import make_households
    >>> from discreet.inspection import inspect
    >>> from discreet.inspection.proposal import propose
    >>> seen = inspect(make_households(100, seed=1))
    >>> proposal, choice = try_out(propose(seen), seen)
    >>> [step.method for step in proposal.recipe.steps], choice.taken.gone
    (['generalize', 'oma'], ())
    """
    if not proposal.hierarchies:
        return proposal, None
    trial = _Trial(proposal, seen, asked or Asked())
    privacy, told = trial.privacy()
    tried = [trial.of(one) for one in _ways(trial, privacy)]
    taken = best_of(tried)
    if taken is None:
        raise BadInput(_none_found(tried))
    said = tuple(_said(tried, taken, trial, told))

    def made(way: Tried) -> Proposal:
        steps = [*way.steps, *trial.others]
        return proposal.with_steps(Recipe.from_dict(trial.content | {"steps": steps}), said)

    proposals = tuple(None if way.problem is not None else made(way) for way in tried)
    found = proposals[tried.index(taken)]
    assert found is not None
    return found, Choice(tuple(tried), taken, said, proposals, len(trial.rows))


def best_of(tried: Sequence[Tried]) -> Tried | None:
    """Return the way with the least loss, of those that leave something of each key if any does.

    One whose labels mean the same everywhere goes before one that loses a little less, and of
    those that lose nearly the same, one that stars fewer cells.

    Examples
    --------
    >>> levels, ranges = Tried("levels", (), loss=0.23), Tried("ranges", (), clear=False, loss=0.2)
    >>> best_of([ranges, levels]).words
    'levels'
    """
    possible = [one for one in tried if one.problem is None]
    if not possible:
        return None
    fewest = min(len(one.gone) for one in possible)
    left = [one for one in possible if len(one.gone) == fewest]
    least = min(left, key=lambda one: one.loss / (_CLEARER if one.clear else 1.0))
    near = [one for one in left if one.clear == least.clear and one.loss <= _NEAR * least.loss]
    return min(near, key=lambda one: one.starred)


class _Trial:
    """The columns of a table, or of some of its records, and the recipe but for its keys."""

    def __init__(self, proposal: Proposal, seen: Inspection, asked: Asked) -> None:
        self.asked, self.k = asked, asked.k
        content = proposal.recipe.model_dump(exclude_none=True, exclude_defaults=True)
        steps = content.pop("steps")
        self.content = content
        self.others = [
            step | ({"k": self.k} if "k" in step else {})
            for step in steps
            if step["method"] != "generalize"
        ]
        self.keys = list(proposal.hierarchies)
        self.trees = {name: tree.spec for name, tree in proposal.hierarchies.items()}
        self.l = L if asked.l is None else asked.l
        secrets = secrets_of(seen, proposal.guesses)
        self.secrets = [name for name, n in secrets.items() if n >= self.l]
        self.categories = list(secrets)
        roles = proposal.recipe.roles
        self.judged = [*roles.quasi, *roles.confidential]
        counted = proposal.recipe.counted
        self.rows = _chosen(seen, counted)
        released = [*self.judged, *roles.insensitive, roles.household, roles.unit, roles.weight]
        names = [name for name in dict.fromkeys(released) if name is not None]
        self.columns = seen.encoded
        self.table = pa.table({name: _cells(seen.encoded[name], self.rows) for name in names})
        self.who, self.all_rows = proposal.who, seen.rows
        self.sampled = len(self.rows) < seen.rows
        self._known: dict[str, Tried] = {}

    def privacy(self) -> tuple[list[dict[str, Any]], list[str]]:
        """Return what is demanded, and what is to be said about it."""
        plain: list[dict[str, Any]] = [{"model": "k-anonymity", "k": self.k}]
        diverse = [{"model": "l-diversity", "l": self.l, "column": name} for name in self.secrets]
        named = " and ".join(self.secrets)
        demanded = f"All who share one have {self.l} or more values of {named} among them."
        if self.asked.l is not None and self.l > 1 and not diverse:
            none = f"category has {self.l} values" if self.categories else "column holds categories"
            return plain, [f"No confidential {none}, so l is not demanded."]
        if not diverse or self.l < 2:
            return plain, []
        if self.asked.l is not None:
            return [*plain, *diverse], [demanded]
        without, with_l = (
            self.of(next(_ways(self, demanded))) for demanded in (plain, [*plain, *diverse])
        )
        if with_l.problem is None and with_l.loss <= _BORNE * without.loss and not with_l.gone:
            return [*plain, *diverse], [demanded]
        cost = "that is not possible"
        if with_l.problem is None:
            cost = f"the loss would be {_percent(with_l.loss)} instead of {_percent(without.loss)}"
        said = f"That those who share one have {L} or more values of {named} is not demanded:"
        return plain, [said, f"{cost}."]

    def of(self, way: Tried) -> Tried:
        """Protect the table in some way, once, and measure what came of it."""
        key = repr(way.steps)
        if key not in self._known:
            self._known[key] = self._measured(way)
        return self._known[key]

    def _measured(self, way: Tried) -> Tried:
        roles = self.content["roles"] | {"identifiers": []}
        recipe = self.content | {"roles": roles, "steps": [*way.steps, *self.others]} | _SEEDED
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                release = protect(self.table, recipe, "memory")
                after = release.table
        except BrokenPromise as error:
            promise, _, evidence = str(error).splitlines()[1].strip().partition(" (")
            problem = f"its check says: {promise}"
            return replace(way, problem=problem, evidence=evidence.removesuffix(")"))
        except BadInput as error:
            return replace(way, problem=str(error).splitlines()[0])
        starred = {name: _starred(self.table[name], after[name]) for name in self.keys}
        risk = informed_linkage(
            self.table, after, known=self.keys, drawn=(), queries=min(_QUERIES, len(after))
        )
        known = release.recipe.hierarchies
        return replace(
            way,
            risk=risk,
            average=_average(release),
            loss=information_loss(self.table, after, self.judged, hierarchies=known),
            starred=float(np.mean(list(starred.values()))),
            gone=tuple(name for name, share in starred.items() if share >= _GONE),
        )

    def levels(self) -> dict[str, int]:
        """Return the first level of each key that has few labels."""
        found = {}
        for name, spec in self.trees.items():
            ladder = Hierarchy.from_spec(spec).bind(self.columns[name].levels(), name)
            few = [i for i, labels in enumerate(ladder.labels) if len(labels) <= _MOST_LABELS]
            found[name] = min(few[0], max(len(ladder.labels) - 2, 0))
        return found


def _ways(trial: _Trial, privacy: list[dict[str, Any]]) -> Iterator[Tried]:
    """Return what can be done to the keys; the first also tells what diversity costs."""
    levels = {"method": "generalize", "columns": trial.keys, "hierarchies": trial.trees}
    local = levels | {"privacy": privacy, "local": True, "evaluations": NODES}
    kept = [name for name in trial.keys if name in trial.asked.keep]
    as_is = dict.fromkeys(kept, 0)
    local |= {"levels": as_is} if kept else {}
    if trial.asked.blanked is not None:
        local |= {"suppression_limit": trial.asked.blanked}
    yield Tried("each record as fine as can be, by the width of labels",
                (local | {"aggregate": "sum"},))  # fmt: skip
    yield Tried("each record as fine as can be, by the information kept",
                (local | {"quality": "nnue"},))  # fmt: skip
    blanks = {"method": "local-suppression", "columns": trial.keys, "improve_moves": _MOVES}
    blanks |= {"privacy": privacy} if len(privacy) > 1 else {"k": trial.k, "null_policy": "value"}
    blanks |= {"fixed": kept} if kept else {}
    recoded = levels | {"levels": trial.levels() | as_is}
    yield Tried("one level for each column, then single cells blanked", (recoded, blanks))
    if kept:
        return  # Mondrian chooses the ranges of all columns.
    text = {name: spec for name, spec in trial.trees.items() if trial.columns[name].kind == "text"}
    ranges: dict[str, Any] = {"method": "mondrian", "columns": trial.keys, "privacy": privacy}
    ranges |= {"hierarchies": text} if text else {}
    yield Tried("ranges and groups that overlap (Mondrian)", (ranges,), clear=False)


def _said(
    tried: Sequence[Tried], taken: Tried, trial: _Trial, told: Sequence[str]
) -> Iterator[str]:
    where = f" on {len(trial.rows):,} of the {trial.all_rows:,} records" if trial.sampled else ""
    yield f"Ways to have {trial.k} or more {trial.who} share each combination, tried{where}:"
    for one in tried:
        yield f"- {one.words}: {one.figures}{' <- taken' if one is taken else ''}"
    yield "Risk: the share of the records that someone is expected to find who knows all the quasi"
    chance = f"{100 / trial.k:.3g} % or less."
    yield f"columns and this recipe; k = {trial.k} keeps the chance for each at {chance}"
    yield "Loss: the share of the information that is lost, as a mean over the columns."
    less = [one for one in tried if one.problem is None and one.loss < taken.loss]
    if any(one.clear and len(one.gone) <= len(taken.gone) for one in less):
        yield "What loses a little less leaves more cells *."
    if taken.clear and not all(one.clear for one in less):
        yield "What overlaps loses less, but its labels do not mean the same in all records."
    yield from told


def _none_found(tried: Sequence[Tried]) -> str:
    """Say why no way is possible: what is the matter with all of them is not what is asked."""
    first = tried[0]
    why = f"{first.problem}: {first.evidence}" if first.evidence else str(first.problem)
    if len({one.problem for one in tried}) == 1:
        return why
    return (
        "no way was found that keeps all that is asked; ask for less, let more be blanked, or keep "
        f"fewer columns as they are (the first that was tried: {why})"
    )


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _chosen(seen: Inspection, unit: str | None) -> np.ndarray:
    """Return the rows that are tried: all, or those of units spread evenly over the table."""
    if seen.rows <= _ROWS:
        return np.arange(seen.rows)
    if unit is None:
        return np.arange(_ROWS) * seen.rows // _ROWS
    codes = seen.encoded[unit].codes
    step = -(-seen.rows // _ROWS)
    return np.flatnonzero(codes % step == 0)


def _cells(column: Encoded, rows: np.ndarray) -> pa.ChunkedArray:
    return column.column() if len(rows) == len(column.codes) else column.column().take(rows)


def _average(release: Release) -> float:
    """Return the mean risk of a record, as an assessment has it."""
    found = assess_frames(
        release.original, release.released, release.recipe, measures=["attackers"]
    )
    return float(found.risk["attackers"]["after"]["marketer"])


def _starred(before: pa.ChunkedArray, after: pa.ChunkedArray) -> float:
    """Return the share of the cells that are `*` or blank now, and were not null before."""
    hidden = pc.or_kleene(pc.equal(after.cast(pa.string()), "*"), after.is_null())
    new = pc.and_(pc.fill_null(hidden, True), before.is_valid())
    present = len(before) - before.null_count
    return (pc.sum(new).as_py() or 0) / max(present, 1)
