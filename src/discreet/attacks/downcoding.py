"""Downcoding: finer values than were released, from the knowledge that nothing finer was possible.

Cohen (2022) shows that a minimal hierarchical generalization tells more than its labels. Here it
tells two things, and no more is used:

- *What was shown elsewhere is excluded.* A round of local recoding releases a class with all
  records that are left and have its labels, and so does the only round of a full-domain
  generalization. A record that comes in a later round, or is suppressed, has none of the finer
  labels that were shown before.
- *The next finer levels broke k.* Of a proven optimum, each column one level finer leaves some
  record in a class of fewer than k that was in none before; with a suppression limit more is true,
  which is not used.

Of `mondrian`, whose classes are what could not be cut any more, it is only used that ranges and
sets are tight: somebody has the lower end, and somebody the upper one.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from discreet.attacks._excess import Rate, percent
from discreet.attacks._planned import Column, Planned, Shown, combined
from discreet.attacks._ranges import told_by_ranges
from discreet.table.pairs import as_table

# So many pairs of rounds are compared, and finer labels of classes looked at; what is beyond is not
# claimed.
_PAIRS, _LABELS = 1_200, 20_000_000
# Where it is so likely that the finer levels broke k anyhow, that they did tells nothing.
_NOTHING = 1e-6
# Splits of classes are computed up to so many products; a part that is so unlikely to be too small
# is never so.
_PRODUCTS, _NEVER = 3e8, 1e-12


@dataclass(frozen=True)
class Downcoding:
    """What can be made finer of the cells that a generalization has made coarser.

    Attributes
    ----------
    cells, records : int
        Released cells that stand for several values of the table, and the records with such cells.
    certain, certain_records : int
        Cells of which a finer value is certain, and the records that have one.
    made_up : int
        Records of classes whose finer labels are known for certain with how many records have
        each, though not who of the class has which.
    attack, guess : Rate
        Cells whose next finer value is guessed right by one who knows the columns' distributions
        and that the levels are minimal, and by one who knows the distributions alone.
    looked_at : float
        The share of all comparisons that were made; below 1 more may be found.
    """

    cells: int
    records: int
    certain: int
    certain_records: int
    made_up: int
    attack: Rate
    guess: Rate
    looked_at: float = 1.0

    @property
    def excess(self) -> float:
        """What knowing that the levels are minimal adds to the guesses that are right."""
        return self.attack.value - self.guess.value

    @property
    def said(self) -> str:
        """The result in a sentence."""
        if not self.cells:
            return "No released cell stands for several values."
        part = ""
        if self.looked_at < 1:
            part = f" ({percent(self.looked_at)} % of all comparisons made)"
        certain = "of none is a finer value certain"
        if self.certain:
            certain = (
                f"of {self.certain:,} in {self.certain_records:,} "
                f"record{'s' * (self.certain_records != 1)} a finer value is certain"
            )
        made_up = ""
        if self.made_up:
            made_up = (
                f", for {self.made_up:,} records it is certain how many of their class have which "
                "finer value"
            )
        return (
            f"Of {self.cells:,} released cells that stand for several values, {certain}{part}"
            f"{made_up}; the next finer value is guessed right for {percent(self.attack.value)} % "
            "by one who knows the method and the columns' distributions, and for "
            f"{percent(self.guess.value)} % by the distributions alone."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        rates = {"attack": self.attack.to_dict(), "guess": self.guess.to_dict()}
        return asdict(self) | rates | {"excess": self.excess, "said": self.said}


def downcoding(
    original: Any,
    plan: Mapping[str, Any],
    *,
    k: int | None = None,
    lowest: Mapping[str, int] | None = None,
    counts: Any = None,
    trees: Collection[str] = (),
) -> Downcoding:
    """Count the cells of a generalization that an intruder can make finer.

    The intruder has the release, the hierarchies and the order of the rounds, knows which values
    occur in each column and how often (the public distribution, for which the table's own stands
    here), and knows that `generalize` was used. Nobody's record is known. Columns are taken as
    independent in a class, which only guesses rest on, and not what is certain.

    Parameters
    ----------
    original : table
        Before the generalization.
    plan : dict
        What was decided: `plan_` of `Generalize` or of a strict `Mondrian`, or the `joint` part of
        a step's plan.
    k : int, optional
        Where k-anonymity of records is the only model: what it asks for. Without it only what was
        shown elsewhere is used.
    lowest : mapping of str to int, optional
        The lowest level that each column could have had; 0 by default.
    counts : array, optional
        The records of each row of the original, where rows are distinct tuples.
    trees : collection of str
        Columns that `mondrian` cut by a hierarchy, the labels of which need not be tight.

    Returns
    -------
    Downcoding

    Notes
    -----
    Classes that look like those of another round or group are left out, and so are classes with
    a star where records with nulls were treated apart, since the star may be a null.

    Examples
    --------
    Two people of 31 and 34 are released as 30-39, and three of 50 as such, with k = 2. Had the two
    been of one age, ages would have been released, so that it is certain that they differ:

    >>> import pandas as pd
    >>> from discreet.generalization import Generalize, Hierarchy, KAnonymity
    >>> rows = [["31", "30-39", "*"], ["34", "30-39", "*"], ["50", "50", "*"]]
    >>> people = pd.DataFrame({"age": ["31", "34", "50", "50", "50"]})
    >>> method = Generalize({"age": Hierarchy.from_table(rows)}, KAnonymity(2)).fit(people)
    >>> downcoding(people, method.plan_, k=2).made_up
    2
    """
    given = as_table(original)
    if plan.get("kind") == "mondrian":
        n = np.ones(len(given), np.int64) if counts is None else np.asarray(counts, np.int64)
        told = told_by_ranges(given, plan, n, trees)
        rates = Rate(told.right, told.cells), Rate(told.guessed, told.cells)
        return Downcoding(told.cells, told.records, 0, 0, told.made_up, *rates)
    table = Planned(given, plan, counts)
    found = _Found(table, k, lowest or {})
    return found.result()


class _Found:
    """What is found, group by group and round by round."""

    def __init__(self, table: Planned, k: int | None, lowest: Mapping[str, int]) -> None:
        self.table, self.k, self.lowest = table, k, lowest
        self.cells = self.certain = self.records = self.made_up = self.certain_records = 0
        self.right = self.guessed = 0
        self.done = self.asked = self.looked = 0
        for group in table.groups:
            rounds = list(group.rounds)
            if group.starred:
                rounds.append(_stars(table, group.left))
            plain = len(group.rounds) == 1 and bool(_is_best(group.proofs[0]))
            for number, shown in enumerate(rounds):
                best = [_Best(self.table, a, shown) for a in range(len(table.columns))]
                whole = np.zeros(len(shown.sizes), bool)
                for earlier in reversed(rounds[:number]):
                    self.asked += 1
                    if self.done < _PAIRS and self.looked < _LABELS:
                        self.done += 1
                        whole |= self._exclude(shown, earlier, best)
                if number == 0 and plain and k is not None:
                    whole |= self._break(shown, best)
                self._count(shown, best, whole)

    def result(self) -> Downcoding:
        """Put the figures together."""
        return Downcoding(
            self.cells,
            self.records,
            self.certain,
            self.certain_records,
            self.made_up,
            Rate(self.right, self.cells),
            Rate(self.guessed, self.cells),
            self.done / self.asked if self.asked else 1.0,
        )

    def _count(self, shown: Shown, best: list[_Best], whole: np.ndarray) -> None:
        open_ = np.array([one.level >= 0 for one in best])
        sure = np.array([one.certain for one in best]) & open_
        self.cells += int((open_ * shown.sizes).sum())
        self.records += int(shown.sizes[open_.any(axis=0)].sum())
        self.certain += int((sure * shown.sizes).sum())
        self.certain_records += int(shown.sizes[sure.any(axis=0)].sum())
        self.made_up += int(shown.sizes[whole].sum())
        for one in best:
            self.right += one.right(one.child)
            self.guessed += one.right(one.guess)

    def _exclude(self, shown: Shown, earlier: Shown, best: list[_Best]) -> np.ndarray:
        """Rule out what an earlier round has shown; tell which classes' make-up is then known."""
        pairs = list(zip(self.table.columns, shown.levels, earlier.levels, strict=True))
        finer = [a for a, (_, high, low) in enumerate(pairs) if low < high]
        whole = np.zeros(len(shown.sizes), bool)
        if not finer:
            return whole
        held = len(shown.sizes)
        labels = earlier.labels[:, earlier.known]
        # Both at the finest node that is above both.
        joined = [
            np.concatenate(
                [
                    column.up(high, max(high, low))[shown.labels[a]],
                    column.up(low, max(high, low))[labels[a]],
                ]
            )
            for a, (column, high, low) in enumerate(pairs)
        ]
        key = combined(joined)
        own, ours = np.unique(key[:held], return_inverse=True)
        theirs = np.minimum(np.searchsorted(own, key[held:]), len(own) - 1)
        # Most of what an earlier round has shown has nothing to do with this one.
        met = own[theirs] == key[held:]
        theirs, labels, keys = theirs[met], labels[:, met], len(own)
        gone = np.bincount(theirs, minlength=keys)
        # Of each column, what the finer labels of a class are: their shares, and their number.
        shares, number = {}, {}
        pairs_of, weight = np.ones(held), np.ones(len(theirs))
        for a in finer:
            column, high, low = pairs[a]
            shares[a], counted = column.within(low, high)
            number[a] = counted[shown.labels[a]]
            pairs_of *= number[a]
            weight *= shares[a][labels[a]]
        lost = np.bincount(theirs, weight, keys)
        if self.k is not None:
            # Whoever is left was in a class of fewer than k there.
            whole = shown.known & (shown.sizes == (pairs_of - gone[ours]) * (self.k - 1))
        touched = np.flatnonzero(shown.known & (gone[ours] > 0))
        if not len(touched):
            return whole
        self.looked += int(sum(number[a][touched].sum() for a in finer))
        for a in finer:
            column, high, low = pairs[a]
            width = len(column.texts[low])
            place = theirs * width + labels[a]
            pair, at = np.unique(place, return_inverse=True)
            counted, weighed = np.bincount(at), np.bincount(at, weight)
            classes, children = _children(column, low, high, shown.labels[a], touched)
            asked = ours[classes] * width + children
            found = np.searchsorted(pair, asked)
            found = np.where(found < len(pair), found, 0)
            match = pair[found] == asked
            out = np.where(match, counted[found], 0)
            likely = shares[a][children] - np.where(match, weighed[found], 0.0)
            rest = pairs_of[classes] / number[a][classes] - out
            likely = np.where(rest > 0.5, np.maximum(likely, 0.0), 0.0)
            likely /= np.maximum(1 - lost[ours[classes]], 1e-300)
            open_ = np.bincount(classes[rest > 0.5], minlength=held)
            best[a].learn(low, classes, children, likely, shares[a][children], open_ == 1)
        return whole

    def _break(self, shown: Shown, best: list[_Best]) -> np.ndarray:
        """Take each column one level finer: some class is split into a part of fewer than k."""
        assert self.k is not None
        whole = np.zeros(len(shown.sizes), bool)
        for a, column in enumerate(self.table.columns):
            high = shown.levels[a]
            low = high - 1
            if high <= self.lowest.get(column.name, 0):
                continue
            share, number = column.within(low, high)
            split = np.flatnonzero(number[shown.labels[a]] > 1)
            if not len(split) or not shown.known[split].all():
                continue
            classes, children = _children(column, low, high, shown.labels[a], split)
            self.asked += 1
            ends = np.cumsum(number[shown.labels[a][split]])
            told = _given_broken(shown.sizes[split], share[children], ends, self.k)
            self.done += told is not None
            if not told:
                continue
            likely = np.concatenate(told)
            never = np.zeros(len(shown.sizes), bool)
            best[a].learn(low, classes, children, likely, share[children], never)
            if len(split) == 1 and self.k == 2:
                # Two records of two values that are not alike: one of each.
                only = int(split[0])
                whole[only] = shown.sizes[only] == 2 == number[shown.labels[a][only]]
        return whole


class _Best:
    """The finer value of a column that is told best, by class of a round."""

    def __init__(self, table: Planned, a: int, shown: Shown) -> None:
        self.table, self.a, self.shown = table, a, shown
        column, level = table.columns[a], shown.levels[a]
        self.level = column.below(level)[shown.labels[a]]
        self.certain = np.zeros(len(shown.sizes), bool)
        self.gain = np.zeros(len(shown.sizes))
        self.child = np.zeros(len(shown.sizes), np.int64)
        for low in np.unique(self.level[self.level >= 0]):
            share = column.shares(low)
            there = np.flatnonzero(share > 0)
            order = there[np.lexsort((share[there], column.up(low, level)[there]))]
            likeliest = np.zeros(len(column.texts[level]), np.int64)
            likeliest[column.up(low, level)[order]] = order
            here = self.level == low
            self.child[here] = likeliest[shown.labels[a][here]]
        self.guess = self.child.copy()

    def learn(
        self,
        low: int,
        classes: np.ndarray,
        children: np.ndarray,
        likely: np.ndarray,
        share: np.ndarray,
        certain: np.ndarray,
    ) -> None:
        """Take what is told of finer labels of some classes, where that is more than before."""
        child, most = _largest(classes, children, likely)
        guess, before = _largest(classes, children, share)
        told = np.unique(classes)
        gain = np.zeros(len(self.gain))
        gain[told] = most - before
        sure = np.zeros(len(self.gain), bool)
        sure[told] = certain[told]
        better = (self.level >= 0) & ~self.certain & ((gain > self.gain + 1e-12) | sure)
        new = better[told]
        self.child[told[new]], self.guess[told[new]] = child[new], guess[new]
        self.level[better], self.gain[better] = low, gain[better]
        self.certain |= sure & (self.level >= 0)

    def right(self, guess: np.ndarray) -> int:
        """Count the records of the original whose finer value is what is guessed of their class."""
        shown, right = self.shown, 0
        for low in np.unique(self.level[self.level >= 0]):
            some = self.level[shown.of_tuple] == low
            tuples, classes = shown.tuples[some], shown.of_tuple[some]
            hit = self.table.at(self.a, low, tuples) == guess[classes]
            right += int(self.table.counts[tuples[hit]].sum())
        return right


def _largest(
    classes: np.ndarray, children: np.ndarray, likely: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the likeliest finer label of each class, in the order of classes, and how likely."""
    order = np.lexsort((likely, classes))
    last = np.flatnonzero(np.append(np.diff(classes[order]) > 0, True))
    return children[order][last], likely[order][last]


def _children(
    column: Column, low: int, high: int, labels: np.ndarray, some: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the finer labels of some classes, each with its class; only values that occur."""
    there = np.flatnonzero(column.shares(low) > 0)
    above = column.up(low, high)[there]
    order = np.argsort(above, kind="stable")
    there, above = there[order], above[order]
    start, end = (np.searchsorted(above, labels[some], side) for side in ("left", "right"))
    each = end - start
    places = np.arange(int(each.sum())) - np.repeat(np.cumsum(each) - each, each)
    return np.repeat(some, each), there[np.repeat(start, each) + places]


def _stars(table: Planned, left: np.ndarray) -> Shown:
    """Return the suppressed records as one more class, of which nothing is shown."""
    levels = tuple(column.top for column in table.columns)
    sizes = np.array([table.counts[left].sum()])
    labels = np.zeros((len(levels), 1), np.int64)
    return Shown(levels, labels, sizes, left, np.zeros(len(left), np.int64), np.ones(1, bool))


def _is_best(proof: Mapping[str, Any]) -> bool:
    """Tell whether a search has proven its levels, and they were not drawn."""
    return proof.get("gap", 1) == 0 and proof.get("drawn") is None


def _given_broken(
    sizes: np.ndarray, shares: np.ndarray, ends: np.ndarray, k: int
) -> list[np.ndarray] | None:
    """Return how likely each part's value is, given that some class has a part of fewer than k.

    The shares of the parts are class after class; `ends` says where each class's end.

    Nothing where that was to be expected anyhow, None where it is too much to compute. Records are
    drawn from the parts' shares, each class by itself.
    """
    bound, parts = 0.0, []
    for n, start, end in zip(sizes, np.append(0, ends), ends, strict=False):
        parts.append(shares[start:end])
        bound += np.log1p(-_likeliest_broken(n, parts[-1], k))
        if bound < np.log(_NOTHING):
            return []
    if sum(_products(int(n), p, k) for n, p in zip(sizes, parts, strict=True)) > _PRODUCTS:
        return None
    kept = [_kept(int(n), p, k) for n, p in zip(sizes, parts, strict=True)]
    chances = np.array([chance for chance, _ in kept])
    broken = 1 - chances.prod()
    if broken <= 0:
        return []
    told = []
    for i, (p, (_, joint)) in enumerate(zip(parts, kept, strict=True)):
        others = np.delete(chances, i).prod()
        told.append(np.clip((p - joint * others) / broken, 0.0, 1.0))
    return told


def _likeliest_broken(n: int, p: np.ndarray, k: int) -> float:
    """Return the chance that the part of the likeliest to be too small is, from 1 to k - 1."""
    from scipy.special import bdtr

    low = np.asarray(bdtr(min(k - 1, n - 1), n, p)) - np.asarray((1 - p) ** n)
    return float(np.clip(low, 0.0, 1 - 1e-15).max(initial=0.0))


def _light(n: int, p: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return which parts may be too small, and how many records each of them has at most."""
    from scipy.special import bdtr

    mean = n * p
    most = np.minimum(n, np.ceil(mean + 12 * np.sqrt(mean) + 40)).astype(np.int64)
    light = (np.asarray(bdtr(min(k - 1, n), n, p)) >= _NEVER) | (n < k)
    return light, most[light]


def _products(n: int, p: np.ndarray, k: int) -> float:
    """Return how much work `_kept` takes."""
    _, most = _light(n, p, k)
    return 3.0 * len(most) * min(float(most.sum()), n) * float(most.max(initial=0)) + len(p)


def _kept(n: int, p: np.ndarray, k: int) -> tuple[float, np.ndarray]:
    """Return the chance that n records leave no part of 1 to k - 1, and with each record's part.

    The second is by part: that no part is too small and a given record is of this one. Numbers of
    independent Poisson parts, given their sum, are those of a multinomial; so parts are convolved,
    but for those that are never too small, which are taken together.
    """
    light, most = _light(n, p, k)
    pmf = []
    for x, top in zip(p[light], most, strict=True):
        j = np.arange(top + 1)
        pmf.append(np.where((j == 0) | (j >= k), _poisson(j, n * x), 0.0))

    def together(one: np.ndarray, other: np.ndarray) -> np.ndarray:
        return np.convolve(one, other)[: n + 1]

    # Of so many records in light parts, the chance that the others have the rest.
    heavy = float(p[~light].sum())
    counted = np.arange(min(n, int(most.sum())) + 1)
    rest = _poisson(n - counted, n * heavy) / _poisson(np.array([n]), float(n))[0]
    before, after = [np.ones(1)], [np.ones(1)]
    for one, other in zip(pmf[:-1], pmf[:0:-1], strict=True):
        before.append(together(before[-1], one))
        after.append(together(after[-1], other))
    joint = np.zeros(len(p))
    joint[light] = [
        _dot(together(together(low, own * np.arange(len(own)) / n), high), rest)
        for low, own, high in zip(before, pmf, after[::-1], strict=False)
    ]
    whole = together(before[-1], pmf[-1]) if pmf else np.ones(1)
    if heavy > 0:
        others = _dot(whole * (n - np.arange(len(whole))) / n, rest)
        joint[~light] = p[~light] / heavy * others
    return float(min(1.0, _dot(whole, rest))), joint


def _dot(chances: np.ndarray, rest: np.ndarray) -> float:
    return float(chances[: len(rest)] @ rest[: len(chances)])


def _poisson(j: np.ndarray, mean: float) -> np.ndarray:
    """Return the chances of numbers by Poisson's distribution."""
    from scipy.special import gammaln, xlogy

    return np.exp(xlogy(j, mean) - mean - gammaln(j + 1.0))
