"""Minimality: what a class must hold, since all finer levels broke a privacy model.

Wong, Fu, Wang and Pei (2007). The intruder knows the quasi values of everybody in the table, and so
the parts into which one finer level would have split each class. If all parts are of k or more, the
finer level can only have broken a model of confidential values in one of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

import numpy as np

from discreet.attacks._planned import Group, Planned, Shown, numbered
from discreet.errors import BadInput
from discreet.generalization.models import confidential_columns, read_models
from discreet.generalization.privacy import Bound, bind
from discreet.kernels.privacy import holds
from discreet.table.pairs import as_table

# A gain of belief that counts.
GAIN = 0.1
# Ways to seat the records of a class are counted one by one up to here, and else drawn so often.
_EXACT, _DRAWN = 5_000, 400
# Parts that are judged in all, and a chance from which on a broken model was to be expected.
_MOST, _NOTHING = 300_000, 1e-6


@dataclass(frozen=True)
class Minimality:
    """What an intruder who knows everybody's quasi values learns from the levels being the best.

    Attributes
    ----------
    records : int
        That are released.
    certain : int
        Of which a confidential value is certain, though it is not in all of their class.
    gained : int
        Of whose value, some value at least, the intruder's belief rises by a tenth or more above
        its share in their class.
    belief, share : float
        The largest belief in a value that so rose, and that value's share in the class; 0 where
        none did.
    suppressed, classes : int
        Records that are suppressed in classes of k or more, and these classes: whoever knows who is
        in them knows that their values broke a model.
    columns : tuple of str
        The columns one level finer of which broke a model of values, and not k.
    looked_at : float
        The share of these, of all of the same kind, that could be computed.
    """

    records: int
    certain: int = 0
    gained: int = 0
    belief: float = 0.0
    share: float = 0.0
    suppressed: int = 0
    classes: int = 0
    columns: tuple[str, ...] = ()
    looked_at: float = 1.0

    @property
    def said(self) -> str:
        """The result in a sentence."""
        if self.certain:
            learned = (
                f"one who knows everybody's quasi values is certain of a confidential value of "
                f"{self.certain:,} of {self.records:,} records that their class leaves open"
            )
        elif self.gained:
            learned = (
                f"one who knows everybody's quasi values has a belief of {self.belief:.0%} in a "
                f"confidential value that has a share of {self.share:.0%} in the class; the belief "
                f"rises by a tenth or more for {self.gained:,} of {self.records:,} records"
            )
        else:
            learned = "what the levels tell raises no belief in a confidential value by a tenth"
        part = "" if self.looked_at == 1 else f" ({self.looked_at:.0%} of the columns computed)"
        gone = ""
        if self.suppressed:
            gone = (
                f"; {self.suppressed:,} records in {self.classes:,} classes are suppressed for "
                "their values, which tells that these broke a model"
            )
        return f"Since the best levels are released, {learned}{part}{gone}."

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return asdict(self) | {"columns": list(self.columns), "said": self.said}


def minimality(
    original: Any,
    plan: Mapping[str, Any],
    privacy: Any,
    *,
    lowest: Mapping[str, int] | None = None,
    counts: Any = None,
    random_state: int = 0,
) -> Minimality:
    """Measure what the best levels tell of confidential values.

    The intruder knows everybody's quasi values and who is in the table, has the release, and
    thinks all ways alike in which a class's confidential values can belong to its members. One
    finer level at a time is taken into account: of each it is known that it broke a model. Only
    full-domain generalization with a proven optimum tells that; of local recoding, and of levels
    that were drawn, nothing is claimed.

    Parameters
    ----------
    original : table
        Before the generalization, with the confidential columns.
    plan : dict
        What was decided, `Generalize.plan_` or the `joint` part of a step's plan.
    privacy : privacy model or list of them
        Which all classes keep; k counts records.
    lowest : mapping of str to int, optional
        The lowest level that each column could have had; 0 by default.
    counts : array, optional
        The records of each row of the original, where rows are distinct tuples.
    random_state : int
        Of the ways that are drawn where there are too many; nothing is called certain then.

    Returns
    -------
    Minimality

    Examples
    --------
    Two people live in a small town and four in a large one; at most half of a class may share a
    disease, and the towns are not released. That tells that both of the small town have HIV:

    >>> import pandas as pd
    >>> from discreet.generalization import AlphaKAnonymity, Generalize, Hierarchy
    >>> people = pd.DataFrame({
    ...     "town": ["small"] * 2 + ["large"] * 4,
    ...     "disease": ["HIV", "HIV", "flu", "gout", "acne", "cold"],
    ... })
    >>> half = AlphaKAnonymity(0.5, 2, column="disease")
    >>> method = Generalize({"town": Hierarchy.flat()}, half).fit(people)
    >>> minimality(people, method.plan_, half).certain
    2
    """
    models = read_models(privacy)
    table = as_table(original)
    secret = confidential_columns(models)
    if not secret:
        raise BadInput("minimality is about models of confidential values, and there is none")
    if counts is not None:
        repeated = np.repeat(np.arange(len(table)), np.asarray(counts, np.int64))
        table = table.take(repeated)
    planned = Planned(table, plan)
    bound = bind(models, {name: table[name] for name in secret}, len(table))
    return _Told(planned, bound, lowest or {}, random_state).result()


class _Told:
    """What is told, group by group."""

    def __init__(
        self, table: Planned, bound: Bound, lowest: Mapping[str, int], random_state: int
    ) -> None:
        self.table, self.bound, self.lowest = table, bound, lowest
        self.rng = np.random.default_rng(random_state)
        self.judged = self.asked = self.done = 0
        self.records = self.suppressed = self.classes = 0
        # By row of the original: certain of some value, and the largest gain of belief.
        self.certain = np.zeros(len(table.of_row), bool)
        self.gained = np.zeros(len(table.of_row), bool)
        self.best, self.share = 0.0, 0.0
        self.columns: list[str] = []
        for group in table.groups:
            self.records += int(sum(one.sizes.sum() for one in group.rounds))
            if len(group.rounds) == 1:
                self._group(group)

    def result(self) -> Minimality:
        """Put the figures together."""
        return Minimality(
            self.records,
            int(self.certain.sum()),
            int(self.gained.sum()),
            self.best,
            self.share,
            self.suppressed,
            self.classes,
            tuple(dict.fromkeys(self.columns)),
            self.done / self.asked if self.asked else 1.0,
        )

    def _group(self, group: Group) -> None:
        shown, proof = group.rounds[0], group.proofs[0]
        left = self._node(shown.levels, group.left)
        sizes = np.bincount(left, self.table.counts[group.left])
        large = sizes >= self.bound.rules.k
        self.suppressed += int(sizes[large].sum())
        self.classes += int(large.sum())
        if proof.get("gap", 1) != 0 or proof.get("drawn") is not None:
            return
        for a, column in enumerate(self.table.columns):
            if shown.levels[a] > self.lowest.get(column.name, 0):
                self._finer(shown, a)

    def _node(self, levels: Sequence[int], tuples: np.ndarray) -> np.ndarray:
        return numbered([self.table.at(a, level, tuples) for a, level in enumerate(levels)])[1]

    def _finer(self, shown: Shown, a: int) -> None:
        """Take a column one level finer, and learn from its having broken a model."""
        finer = self.table.at(a, shown.levels[a] - 1, shown.tuples)
        _, part = numbered([shown.of_tuple, finer])
        sizes = np.bincount(part, self.table.counts[shown.tuples])
        if (sizes < self.bound.rules.k).any():
            return  # k alone explains it.
        of_part = np.zeros(len(sizes), np.int64)
        of_part[part] = shown.of_tuple
        several = np.flatnonzero(np.bincount(of_part) > 1)
        if not len(several):
            return
        self.columns.append(self.table.columns[a].name)
        self.asked += 1
        parts_of_tuple = np.full(len(self.table.counts), -1)
        parts_of_tuple[shown.tuples] = part
        of_row = parts_of_tuple[self.table.of_row]
        rows = np.flatnonzero(of_row >= 0)
        rows = rows[np.argsort(of_part[of_row[rows]], kind="stable")]
        ends = np.searchsorted(of_part[of_row[rows]], several, "right")
        starts = np.searchsorted(of_part[of_row[rows]], several, "left")
        seated, log = [], 0.0
        for start, end in zip(starts, ends, strict=True):
            members = rows[start:end]
            one = self._seats(members, of_row[members])
            if one is None:
                return
            seated.append((members, of_row[members], one))
            log += math.log(one.held) if one.held > 0 else -math.inf
            if log < math.log(_NOTHING):
                break
        self.done += 1
        chances = np.array([one.held for _, _, one in seated])
        broken = 1 - chances.prod()
        if log < math.log(_NOTHING) and len(seated) > 1:
            return  # It was to be expected that some class would break a model.
        if broken <= 0:
            self.done -= 1
            return  # Too rare for what was drawn.
        for i, (members, part_of, one) in enumerate(seated):
            self._believe(members, part_of, one, float(np.delete(chances, i).prod()), broken)

    def _believe(
        self, members: np.ndarray, part_of: np.ndarray, one: _Seats, others: float, broken: float
    ) -> None:
        belief = np.clip((one.share - one.joint * others) / broken, 0.0, 1.0)
        rise = belief - one.share
        sure = one.exact & (belief > 1 - 1e-9) & (one.share < 1 - 1e-9)
        for g, number in enumerate(one.parts):
            who = members[part_of == number]
            self.certain[who] |= sure[g].any()
            risen = rise[g] >= GAIN
            self.gained[who] |= risen.any()
            for value in np.flatnonzero(risen):
                if belief[g, value] > self.best:
                    self.best, self.share = float(belief[g, value]), float(one.share[value])

    def _seats(self, members: np.ndarray, part_of: np.ndarray) -> _Seats | None:
        """Look at the ways in which a class's values can belong to its members."""
        codes, rules = self.bound.codes[:, members], self.bound.rules
        m = int(rules.offsets[-1])
        parts, of = np.unique(part_of, return_inverse=True)
        sizes = np.bincount(of)
        each = np.zeros((len(members), m), np.int64)
        for row in codes:
            there = np.flatnonzero(row >= 0)
            each[there, row[there]] += 1
        ways = _ways(sizes)
        exact = ways <= _EXACT
        worlds = ways if exact else _DRAWN
        if self.judged + worlds * len(parts) > _MOST or len(members) * worlds > 5_000_000:
            return None
        self.judged += worlds * len(parts)
        held, joint = 0, np.zeros((len(parts), m))
        for seats in _seatings(sizes) if exact else self._drawn(sizes):
            counted = np.array([each[list(seat)].sum(axis=0) for seat in seats])
            pairs = zip(sizes, counted, strict=True)
            if all(holds(rules, int(size), histogram) for size, histogram in pairs):
                held += 1
                joint += counted
        share = each.sum(axis=0) / len(members)
        return _Seats(parts, share, held / worlds, joint / sizes[:, None] / worlds, exact)

    def _drawn(self, sizes: np.ndarray) -> Iterator[list[np.ndarray]]:
        ends = np.cumsum(sizes)
        for _ in range(_DRAWN):
            yield np.split(self.rng.permutation(ends[-1]), ends[:-1])


@dataclass(frozen=True)
class _Seats:
    """How likely all parts of a class hold, and with each value in a seat of each part."""

    parts: np.ndarray
    share: np.ndarray
    held: float
    joint: np.ndarray
    exact: bool


def _ways(sizes: np.ndarray) -> int:
    """Count the ways to divide members into parts; what is beyond counting is many."""
    ways, left = 1, int(sizes.sum())
    for size in sizes.tolist():
        ways *= math.comb(left, size)
        left -= size
        if ways > _EXACT:
            break
    return ways


def _seatings(sizes: np.ndarray, free: tuple[int, ...] | None = None) -> Iterator[list[Any]]:
    """Return all ways to divide members into parts.

    Examples
    --------
    >>> len(list(_seatings(np.array([2, 1, 1]))))
    12
    """
    free = tuple(range(int(sizes.sum()))) if free is None else free
    if len(sizes) == 1:
        yield [free]
        return
    for chosen in combinations(free, int(sizes[0])):
        taken = set(chosen)
        rest = tuple(x for x in free if x not in taken)
        for others in _seatings(sizes[1:], rest):
            yield [chosen, *others]
