"""Minimality: what a class must hold, since all finer levels broke a privacy model.

Wong, Fu, Wang and Pei (2007). The intruder knows the quasi values of everybody in the table, and so

- *of the best levels*, the parts into which one finer level would have split each class. If all
  parts are of k or more, the finer level can only have broken a model of confidential values in one
  of them;
- *of rounds and suppressed records*, the classes of k or more that a round did not keep: their
  values broke a model, and are among those of the coarser class that they are released in;
- *of `mondrian`*, the cuts that were tried last: where both sides have enough records, the values
  of one of them broke a model.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

import numpy as np

from discreet.attacks._excess import percent
from discreet.attacks._planned import Group, Planned, Shown, numbered
from discreet.attacks._ranges import classes_of_rows
from discreet.attacks._worlds import believed
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
# Parts whose histograms are gone through, and such histograms.
_PARTS, _HISTOGRAMS = 10_000, 5_000_000


@dataclass(frozen=True)
class Minimality:
    """What an intruder who knows everybody's quasi values learns from the levels being the best.

    Attributes
    ----------
    records : int
        That are released, suppressed ones among them where they stay as stars.
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
        The columns one level finer of which, or a cut of which, broke a model of values, and not k.
    looked_at : float
        The share of what is known to have broken a model that could be computed.
    since : str
        What the intruder argues from.
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
    since: str = (
        "the best levels are released, so that finer ones and suppressed classes broke a model"
    )

    @property
    def said(self) -> str:
        """The result in a sentence."""
        learned = (
            "one who knows everybody's quasi values gains no belief of a tenth or more in any "
            "confidential value"
        )
        if self.certain:
            learned = (
                "one who knows everybody's quasi values is certain of a confidential value of "
                f"{self.certain:,} of {self.records:,} records that their class leaves open"
            )
        elif self.gained:
            learned = (
                "one who knows everybody's quasi values has a belief of "
                f"{percent(self.belief)} % in a confidential value that has a share of "
                f"{percent(self.share)} % in the class; the belief rises by a tenth or more for "
                f"{self.gained:,} of {self.records:,} records"
            )
        part = ""
        if self.looked_at < 1:
            looked = f"{percent(self.looked_at)} % of what broke a model"
            part = f" (computed for {looked}; more may be told)"
        gone = ""
        if self.suppressed:
            gone = (
                f"; {self.suppressed:,} records in {self.classes:,} "
                f"class{'es' * (self.classes != 1)} are suppressed for their values, which tells "
                "that these broke a model"
            )
        return f"Since {self.since}, {learned}{part}{gone}."

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
    trees: Collection[str] = (),
    random_state: int = 0,
) -> Minimality:
    """Measure what the best levels, rounds or cuts tell of confidential values.

    The intruder knows everybody's quasi values and who is in the table, has the release, and
    thinks all ways alike in which a class's confidential values can belong to its members. What is
    known to have broken a model is taken into account one by one: a finer level, a class that a
    round did not keep, a cut. That a finer level broke a model follows only of full-domain
    generalization with a proven optimum; why a round of local recoding has its levels is not used,
    and neither are levels that were drawn.

    Parameters
    ----------
    original : table
        Before the generalization, with the confidential columns.
    plan : dict
        What was decided, `plan_` of `Generalize` or of a strict `Mondrian`, or the `joint` part of
        a step's plan.
    privacy : privacy model or list of them
        Which all classes keep; k counts records.
    lowest : mapping of str to int, optional
        The lowest level that each column could have had; 0 by default.
    counts : array, optional
        The records of each row of the original, where rows are distinct tuples.
    trees : collection of str
        Columns that `mondrian` cut by a hierarchy, which are left out.
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
    bound = bind(models, {name: table[name] for name in secret}, len(table))
    if plan.get("kind") == "mondrian":
        return _OfCuts(table, plan, bound, trees).result()
    return _OfLevels(Planned(table, plan), bound, lowest or {}, random_state).result()


class _Told:
    """What is told of the rows of the original."""

    since = "the best levels are released, so that finer ones and suppressed classes broke a model"

    def __init__(self, rows: int, bound: Bound) -> None:
        self.bound = bound
        self.asked = self.done = self.looked = 0
        self.records = self.suppressed = self.classes = 0
        # Certain of some value, and a gain of belief in one.
        self.certain, self.gained = np.zeros(rows, bool), np.zeros(rows, bool)
        self.best, self.share = 0.0, 0.0
        self.columns: list[str] = []

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
            self.since,
        )

    def _believe(
        self, who: np.ndarray, belief: np.ndarray, share: np.ndarray, exact: bool = True
    ) -> None:
        """Note what is believed of the values of some rows."""
        self.certain[who] |= exact and bool(((belief > 1 - 1e-9) & (share < 1 - 1e-9)).any())
        risen = np.flatnonzero(belief - share >= GAIN)
        self.gained[who] |= len(risen) > 0
        for value in risen:
            if belief[value] > self.best:
                self.best, self.share = float(belief[value]), float(share[value])

    def _broke(self, members: np.ndarray, inside: np.ndarray, either: bool = False) -> None:
        """Learn from part of a class having broken a model; `either` the part or the rest."""
        self.asked += 1
        if self.asked > _PARTS or self.looked > _HISTOGRAMS:
            return
        found = believed(self.bound.codes[:, members], inside, self.bound.rules, either)
        if found is None:
            return
        self.done += 1
        self.looked += found.looked_at
        self._believe(members[inside], found.part, found.share)
        if not inside.all():
            self._believe(members[~inside], found.rest, found.share)


class _OfCuts(_Told):
    """What is told by classes of `mondrian`, which could not be cut any more."""

    since = "a class is left as it is only if every cut breaks a model"

    def __init__(
        self, table: Any, plan: Mapping[str, Any], bound: Bound, trees: Collection[str]
    ) -> None:
        super().__init__(len(table), bound)
        codes, of_row, alone = classes_of_rows(table, plan)
        rows = np.argsort(of_row, kind="stable")
        rows = rows[of_row[rows] >= 0]
        self.records = len(rows)
        fewest = max(bound.rules.k, *bound.rules.least.tolist())
        _, starts = np.unique(of_row[rows], return_index=True)
        for members in np.split(rows, starts[1:]):
            if len(members) < 2 * fewest or not alone[of_row[members[0]]]:
                continue
            for name in codes:
                left = None if name in trees else _left_half(codes[name][members])
                if left is not None and fewest <= left.sum() <= len(left) - fewest:
                    self.columns.append(name)
                    self._broke(members, left, either=True)


def _left_half(codes: np.ndarray) -> np.ndarray | None:
    """Return who is left of the cut nearest to the middle; None where there is none, or a null.

    Examples
    --------
    >>> _left_half(np.array([3, 1, 2, 1, 4])).tolist()
    [False, True, True, True, False]
    """
    n, (values, counts) = len(codes), np.unique(codes, return_counts=True)
    if values[0] < 0 or len(values) < 2:
        return None
    upto = np.cumsum(counts)
    median = int(np.argmax(2 * upto >= n))
    after, before = upto[median], upto[median] - counts[median]
    # On a tie the median goes left.
    goes_left = abs(2 * after - n) <= abs(2 * before - n)
    return np.asarray(codes <= values[median] if goes_left else codes < values[median])


class _OfLevels(_Told):
    """What is told by levels, rounds and suppressed records of `generalize`, group by group."""

    def __init__(
        self, table: Planned, bound: Bound, lowest: Mapping[str, int], random_state: int
    ) -> None:
        super().__init__(len(table.of_row), bound)
        self.table, self.lowest = table, lowest
        self.rng = np.random.default_rng(random_state)
        self.judged = 0
        self.since = self._since()
        for group in table.groups:
            self.records += int(sum(one.sizes.sum() for one in group.rounds))
            self.records += int(self.table.counts[group.left].sum()) if group.starred else 0
            for number in range(len(group.rounds)):
                self._not_kept(group, number)
            if len(group.rounds) == 1:
                self._best(group.rounds[0], group.proofs[0])

    def _since(self) -> str:
        """Say what is argued from."""
        rounds = [len(group.rounds) for group in self.table.groups]
        proofs = [proof for group in self.table.groups for proof in group.proofs]
        levels = [one.levels for group in self.table.groups for one in group.rounds]
        least = [self.lowest.get(column.name, 0) for column in self.table.columns]
        if max(rounds, default=0) > 1:
            return "a round passes over a class only if it breaks a model"
        if any(proof.get("drawn") is not None for proof in proofs):
            return "records are suppressed only if their class breaks a model at the levels drawn"
        if any(proof.get("gap", 1) != 0 for proof in proofs):
            return (
                "records are suppressed only if their class breaks a model (that the levels are "
                "the best is not proven, and tells nothing)"
            )
        if all(own <= low for one in levels for own, low in zip(one, least, strict=True)):
            return "no column could have had a finer level"
        return super().since

    def _best(self, shown: Shown, proof: Mapping[str, Any]) -> None:
        if proof.get("gap", 1) != 0 or proof.get("drawn") is not None:
            return
        for a, column in enumerate(self.table.columns):
            if shown.levels[a] > self.lowest.get(column.name, 0):
                self._finer(shown, a)

    def _not_kept(self, group: Group, number: int) -> None:
        """Find the classes of k or more that a round did not keep, and what they came in later."""
        later = group.rounds[number + 1 :]
        rest = np.concatenate([*(one.tuples for one in later), group.left])
        if not len(rest):
            return
        # What each tuple came in: a class of a later round, or the suppressed records at last.
        ends = np.cumsum([0, *(len(one.sizes) for one in later)])
        came_in = np.concatenate(
            [
                *(one.of_tuple + end for one, end in zip(later, ends[:-1], strict=True)),
                np.full(len(group.left), ends[-1]),
            ]
        )
        told = np.concatenate([*(one.known for one in later), [group.starred]]).astype(bool)
        at = [self.table.at(a, level, rest) for a, level in enumerate(group.rounds[number].levels)]
        first, node = numbered(at)
        sizes = np.bincount(node, self.table.counts[rest], len(first))
        in_one = np.full(len(first), True)
        in_one[node[came_in != came_in[first][node]]] = False
        large = np.flatnonzero(sizes >= self.bound.rules.k)
        if not len(large):
            return
        by_node, by_class = self._rows_by(rest, node), self._rows_by(rest, came_in)
        for one in large.tolist():
            who = by_node(one)
            if not self._breaks(who):
                continue  # Something else kept it back.
            last = int(came_in[first[one]])
            if number == len(group.rounds) - 1:
                self.suppressed += len(who)
                self.classes += 1
            if in_one[one] and told[last]:
                members = by_class(last)
                self._broke(members, np.isin(members, who))

    def _rows_by(self, tuples: np.ndarray, numbers: np.ndarray) -> Callable[[int], np.ndarray]:
        """Return a function that finds the rows of the tuples that have a number."""
        of_tuple = np.full(len(self.table.counts), -1)
        of_tuple[tuples] = numbers
        of_row = of_tuple[self.table.of_row]
        rows = np.argsort(of_row, kind="stable")
        ordered = of_row[rows]
        return lambda one: rows[
            np.searchsorted(ordered, one, "left") : np.searchsorted(ordered, one, "right")
        ]

    def _breaks(self, rows: np.ndarray) -> bool:
        """Tell whether some rows break a model as a class."""
        codes, rules = self.bound.codes[:, rows], self.bound.rules
        counted = np.bincount(codes[codes >= 0], minlength=int(rules.offsets[-1]))
        return not holds(rules, len(rows), counted)

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
            others = float(np.delete(chances, i).prod())
            belief = np.clip((one.share - one.joint * others) / broken, 0.0, 1.0)
            for g, number in enumerate(one.parts):
                self._believe(members[part_of == number], belief[g], one.share, one.exact)

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
