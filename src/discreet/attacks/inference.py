"""Inference: guessing a person's secret from what else is known of them, by means of the release.

Two intruders try. The one weighs every released record by how likely it is the person's (exp of
its score) and takes the secret for which the most weight speaks: where the person's own record
stands out, that is theirs, and otherwise what similar people have. The other trains gradient
boosted trees on the release. Both read the secrets of the release like all other cells: a broad
label speaks for each value that it covers, by how many people have that.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

from discreet.attacks import _trained
from discreet.attacks._excess import Attack, Rate, concluded, widened
from discreet.attacks._people import NobodyToAttack, some_people
from discreet.attacks._reading import Reading, Tables, check_known, reading_of, tables_of
from discreet.attacks._records import Records, records_of
from discreet.errors import BadInput
from discreet.generalization.hierarchy import Hierarchy
from discreet.parameters import number, whole
from discreet.risk.interval import WIDTH
from discreet.table.columns import kind_of

# Numbers of so few different values are categories: to be near one is no success.
_FEW = 20
# People by whom the better intruder is chosen.
_PILOTS = 500
# Values that are told apart in the detail, the most frequent first.
_SHOWN = 30
# Numbers that may be answered with, before those that are almost the same are one.
_MANY = 5000
# Values times labels of a secret; more are names of single people.
_LARGEST = 5 * 10**7
_SEED = 2**31
# Of so many deals of the released secrets and the release itself, each is the best once in 20.
_DEALS = 19

Intruder = Literal["nearest", "model"]


# Threads of matrix products wait for each other, and rounding depends on their number.
@threadpool_limits.wrap(limits=1, user_api="blas")
def inference(
    original: Any,
    protected: Any,
    *,
    secret: str,
    known: Sequence[str] | None = None,
    holdout: Any = None,
    hierarchies: Mapping[str, Hierarchy] | None = None,
    drawn: Sequence[str] = (),
    by: Intruder | None = None,
    width: float = WIDTH,
    queries: int = 2000,
    random_state: int = 0,
    unit: str | None = None,
) -> Attack:
    """Guess a person's secret from what else is known of them.

    Parameters
    ----------
    original, protected : table
        The same rows in the same order.
    secret : str
        The column to guess.
    known : list of str, optional
        The columns that are known of a person; left out, all others that the tables share.
    holdout : table, optional
        People who are not in the release: the control group.
    hierarchies : mapping, optional
        What labels cover, by column.
    drawn : sequence of str
        Columns whose numbers were moved at random, even where they look as if they were not.
    by : {"nearest", "model"}, optional
        Who guesses: from the nearest records, or by a model trained on the release. Left out,
        whoever is better with some people of the original, who are not among the targets.
    width : float
        A number is guessed right if it is within so many standard deviations of the original
        column; one of at most 20 different values, and all else, if it is the same.
    queries : int
        The most people to attack, drawn at random; fewer where more than a quarter of a million
        released records are distinct, and the interval is wider then.
    random_state : int
        The seed of all draws.
    unit : str, optional
        The column of the original that says whose record a row is. Of each person, or household,
        one record is attacked, drawn at random: the interval is of independent attempts, which
        records of one person are not. So it is in the holdout, if that has the column.

    Returns
    -------
    Attack
        People whose secret is null are left out. The guess from the margins is what the intruder's
        own answers would get if they were dealt to the targets at random: the chance agreement
        of Cohen's kappa. An intruder who always says the most frequent value has no excess, and
        neither has one who answers at random. The interval is that of other people attacked by
        the same release. Where the answers of many hang on the same few records, a release that
        tells nothing may be right about many of them, by luck: without a holdout, the interval
        holds 0 unless the excess is larger than all that came of dealing the released secrets to
        the records at random, 19 times. `detail` has both intruders' rates where both tried, and
        for each value the share of those who have it that were found out (recall) and the share
        of answers with it that are right (precision), of the attack, of a guess from the margins,
        and of the control group; numbers are told apart by quarters.

    Examples
    --------
    >>> import pandas as pd
    >>> draw = np.random.default_rng(1)
    >>> people = pd.DataFrame(draw.integers(0, 70, (900, 2)), columns=["age", "town"])
    >>> people["ill"] = draw.choice(["yes", "no"], 900, p=[0.2, 0.8])
    >>> inside, outside = people[:600], people[600:]
    >>> found = inference(inside, inside, secret="ill", holdout=outside, by="nearest")
    >>> found.attack.value > 0.9, found.interval[0] > 0.1
    (True, True)
    >>> found.detail["values"]["yes"]["recall"] > 0.8
    True
    """
    tables, rows = some_people(tables_of(original, protected, holdout), unit, random_state)
    columns = _columns(tables, secret, known, unit)
    whole(1).check("queries", queries)
    number(least=0).check("width", width)
    if by not in (None, "nearest", "model"):
        raise BadInput(f"by = {by!r} must be 'nearest' or 'model', or left out for the better one")
    records = records_of(tables, columns, hierarchies, drawn)
    reading = reading_of(tables, secret, (hierarchies or {}).get(secret), secret in drawn)
    answers = _answers_of(tables, reading, secret, width)
    draw = np.random.default_rng(random_state)
    queries = records.affordable(queries)
    rows = rows[reading.values[rows] < reading.n_values]
    # The first of the targets, which are in random order, choose and do not count.
    pilots = 0 if by else min(_PILOTS, len(rows) // 5)
    targets = draw.permutation(rows)[: pilots + queries]
    held = draw.permutation(np.flatnonzero(reading.held < reading.n_values))[:queries]
    if not len(targets):
        raise NobodyToAttack(f"column '{secret}' has no values to infer")
    if tables.holdout is not None and not len(held):
        raise NobodyToAttack(f"column '{secret}' has no values in the holdout")
    people = np.hstack([records.people(targets), records.people(held, held=True)])
    seed = int(draw.integers(_SEED))
    tried: list[Intruder] = [by] if by else ["nearest", "model"]
    given = {one: _ask(one, records, reading, answers, people, seed) for one in tried}
    truth = reading.values[targets]
    best = max(tried, key=lambda one: answers.gain(given[one][:pilots], truth[:pilots]))
    found = _told(
        {one: got[pilots:] for one, got in given.items()},
        best,
        truth[pilots:],
        reading.held[held],
        answers,
        {"secret": secret, "known": columns},
        tables.holdout is not None,
    )
    low, high = found.interval
    if tables.holdout is None and not low <= 0 <= high:
        asked = people[:, pilots:], truth[pilots:]
        by_luck = _by_luck(best, records, reading, answers, *asked, seed)
        return found if abs(found.excess) > by_luck else widened(found, 0.0)
    return found


def _columns(
    tables: Tables, secret: str, known: Sequence[str] | None, unit: str | None
) -> list[str]:
    """Return what is known, after a look at the names."""
    if not isinstance(secret, str):
        raise BadInput("secret must be the name of one column")
    check_known(tables, [secret], "secret")
    if known is None:
        known = [name for name in tables.shared if name not in (secret, unit)]
    check_known(tables, known)
    if secret in known:
        raise BadInput(f"'{secret}' is known and secret; it can be only one of them")
    return list(known)


@dataclass(frozen=True)
class _Classes:
    """Answers that are values: right if they are the value."""

    names: list[str]
    means: np.ndarray  # (labels, values): how likely who has a label has a value

    def spoken_for(self, labels: np.ndarray) -> tuple[np.ndarray, int]:
        """Return what records with some labels speak for, and of how many; -1 for nothing."""
        size = len(self.means)
        return np.where(labels < size, labels, -1), size

    def of(self, weights: np.ndarray) -> np.ndarray:
        """Answer by how much speaks for each label: the likeliest value."""
        return np.argmax(weights @ self.means, axis=1)

    def agree(self, answers: np.ndarray, truth: np.ndarray) -> np.ndarray:
        return answers == truth

    def margins(self, answers: np.ndarray, truth: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the share of people for whom an answer is right, and of answers for a person."""
        size = len(self.names)
        have, said = (np.bincount(one, minlength=size) / len(one) for one in (truth, answers))
        return have[answers], said[truth]

    def groups(self, values: np.ndarray, answers: bool) -> tuple[np.ndarray, list[str]]:
        """Return the group of each answer or value that is told apart, and what they are called."""
        return values, self.names

    def gain(self, answers: np.ndarray, truth: np.ndarray) -> float:
        """Return by how much answers agree more than by chance."""
        if not len(truth):
            return 0.0
        return float(np.mean(self.agree(answers, truth) - self.margins(answers, truth)[0]))


@dataclass(frozen=True)
class _Numbers(_Classes):
    """Answers that are numbers: right if they are no farther than `half` from the person's."""

    known: np.ndarray
    half: float
    cuts: np.ndarray  # quarters of the people
    at: np.ndarray  # possible answers, in order
    place: np.ndarray  # of each label among them; -1 for none

    def spoken_for(self, labels: np.ndarray) -> tuple[np.ndarray, int]:
        """Return the answer that records with some labels speak for."""
        return np.append(self.place, -1)[labels], len(self.at)

    def of(self, weights: np.ndarray) -> np.ndarray:
        """Answer by how much speaks for each number: the one that most is near."""
        at = self.at
        if not len(at):
            return np.full(len(weights), np.nan)
        first = np.searchsorted(at, at - self.half, side="left")
        last = np.searchsorted(at, at + self.half, side="right")
        upto = np.zeros((len(weights), len(at) + 1))
        np.cumsum(weights, axis=1, out=upto[:, 1:])
        return at[np.argmax(upto[:, last] - upto[:, first], axis=1)]

    def agree(self, answers: np.ndarray, truth: np.ndarray) -> np.ndarray:
        return np.abs(answers - self.known[truth]) <= self.half

    def margins(self, answers: np.ndarray, truth: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the share of people near an answer, and of answers near a person."""
        have = self.known[truth]
        return _near(answers, have, self.half), _near(have, answers, self.half)

    def groups(self, values: np.ndarray, answers: bool) -> tuple[np.ndarray, list[str]]:
        """Return the quarter of each answer or value."""
        numbers = values if answers else self.known[values]
        place = np.searchsorted(self.cuts, numbers, side="left")
        return np.where(np.isnan(numbers), len(self.names), place), self.names


def _near(one: np.ndarray, others: np.ndarray, half: float) -> np.ndarray:
    """Return the share of others that are near each number."""
    ordered = np.sort(others[~np.isnan(others)])
    near = np.searchsorted(ordered, one + half, "right") - np.searchsorted(ordered, one - half)
    return np.where(np.isnan(one), 0, near) / max(1, len(others))


def _answers_of(tables: Tables, reading: Reading, secret: str, width: float) -> _Classes:
    """Say what an answer is: a value, or a number near it."""
    people = np.bincount(reading.values, minlength=reading.n_values + 1)[:-1]
    numeric = kind_of(tables.original[secret].type) == "numeric"
    if numeric and reading.middles is not None and np.count_nonzero(people) > _FEW:
        known = np.asarray(reading.known, np.float64)
        everybody = np.repeat(known, people)
        cuts = np.unique(np.quantile(everybody, [0.25, 0.5, 0.75], method="inverted_cdf"))
        names = [f"up to {cut:.6g}" for cut in cuts] + [f"above {cuts[-1]:.6g}"]
        half = width * float(everybody.std())
        return _Numbers(names, np.empty((0, 0)), known, half, cuts, *_points(reading.middles, half))
    if reading.n_values * (reading.n_labels + 1) > _LARGEST:
        raise BadInput(
            f"column '{secret}' has {reading.n_values:,} different values; a secret to infer is "
            "one that people share"
        )
    return _Classes(_named(reading), _means(reading, people))


def _points(middles: np.ndarray, half: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the numbers to answer with, and the place of each label among them; -1 for none.

    Where there are very many, those that are much nearer than what counts as near are one.
    """
    told = np.flatnonzero(np.isfinite(middles))
    numbers = middles[told]
    if len(told) > _MANY and half > 0:
        step = half / 8
        numbers = np.round((numbers - numbers.min()) / step) * step + numbers.min()
    at, inverse = np.unique(numbers, return_inverse=True)
    place = np.full(len(middles), -1)
    place[told] = inverse
    return at, place


def _named(reading: Reading) -> list[str]:
    known = reading.known.to_pylist() if hasattr(reading.known, "to_pylist") else reading.known
    return [f"{one:.15g}" if isinstance(one, float) else str(one) for one in known]


def _means(reading: Reading, people: np.ndarray) -> np.ndarray:
    """Return how likely who was released with a label has each value: (labels, values)."""
    if not reading.n_labels:
        return np.zeros((0, reading.n_values))
    scores = reading.scores(np.arange(reading.n_values))[:, :-1].astype(np.float64)
    found = np.exp(scores).T * people
    return np.asarray(found / np.maximum(found.sum(axis=1, keepdims=True), 1e-300))


def _ask(
    who: Intruder,
    records: Records,
    secret: Reading,
    answers: _Classes,
    people: np.ndarray,
    seed: int,
) -> np.ndarray:
    """Return the answers of an intruder for people."""
    if who == "nearest":
        spoken = answers.spoken_for(secret.labels)
        return np.concatenate([answers.of(one) for one in _weights(records, *spoken, people)])
    if isinstance(answers, _Numbers):
        return _trained.asked_of_numbers(records, secret, people, seed)
    return answers.of(_trained.asked_of_classes(records, secret, people, seed))


def _weights(
    records: Records, spoken_for: np.ndarray, size: int, people: np.ndarray
) -> Iterator[np.ndarray]:
    """Yield how much speaks for each of what records speak for, some people at a time."""
    count = _spoken(records, spoken_for, size)
    for likely in _likely(records, people):
        yield (count.T @ likely.T).T


def _likely(records: Records, people: np.ndarray) -> Iterator[np.ndarray]:
    """Yield how likely each distinct record is of people, up to a factor, some at a time."""
    for _, scores in records.scores(people):
        scores -= scores.max(axis=1, keepdims=True)
        yield np.exp(scores, out=scores)


def _spoken(records: Records, spoken_for: np.ndarray, size: int) -> sparse.csr_array:
    """Count the records of each distinct one that speak for each."""
    told = np.flatnonzero(spoken_for >= 0)
    pairs = records.of[told], spoken_for[told]
    shape = records.tuples.shape[1], size
    return sparse.csr_array((np.ones(len(told), np.float32), pairs), shape=shape)


def _by_luck(
    who: Intruder,
    records: Records,
    secret: Reading,
    answers: _Classes,
    people: np.ndarray,
    truth: np.ndarray,
    seed: int,
) -> float:
    """Return the largest excess, either way, where released secrets are dealt at random."""
    draw = np.random.default_rng(seed)
    dealt = [replace(secret, labels=draw.permutation(secret.labels)) for _ in range(_DEALS)]
    if who == "model":
        given = [_ask(who, records, one, answers, people, seed) for one in dealt]
    else:
        counts = [_spoken(records, *answers.spoken_for(one.labels)) for one in dealt]
        parts: list[list[np.ndarray]] = [[] for _ in dealt]
        for likely in _likely(records, people):
            for part, count in zip(parts, counts, strict=True):
                part.append(answers.of((count.T @ likely.T).T))
        given = [np.concatenate(part) for part in parts]
    return max(abs(answers.gain(one, truth)) for one in given)


def _told(
    given: Mapping[Intruder, np.ndarray],
    best: Intruder,
    truth: np.ndarray,
    held: np.ndarray,
    answers: _Classes,
    detail: dict[str, Any],
    has_holdout: bool,
) -> Attack:
    """Put the results together; answers are first those for targets, then for the holdout."""
    n = len(truth)
    mine, others = given[best][:n], given[best][n:]
    for_answers, for_people = answers.margins(mine, truth)
    right = answers.agree(mine, truth)
    controlled = answers.agree(others, held) if has_holdout else None
    rates = {
        one: Rate(float(answers.agree(got[:n], truth).sum()), n).to_dict()
        for one, got in given.items()
    }
    return concluded(
        "inference",
        right,
        # Both margins are those of the targets: each person counts in both.
        for_answers + for_people - for_answers.mean(),
        controlled,
        did=f"infers '{detail['secret']}'",
        detail={
            **detail,
            "by": best,
            "intruders": rates,
            "values": _by_value(answers, mine, truth, others, held),
        },
    )


def _by_value(
    answers: _Classes,
    mine: np.ndarray,
    truth: np.ndarray,
    others: np.ndarray,
    held: np.ndarray,
) -> dict[str, dict[str, float | int | None]]:
    """Return recall and precision of each value: of the attack, by the margins, of the control."""
    have, names = answers.groups(truth, answers=False)
    said, _ = answers.groups(mine, answers=True)
    right = answers.agree(mine, truth)
    for_answers, for_people = answers.margins(mine, truth)
    found: dict[str, dict[str, float | int | None]] = {}
    counts = np.bincount(have, minlength=len(names))
    for value in np.argsort(-counts, kind="stable")[:_SHOWN].tolist():
        if counts[value]:
            one: dict[str, float | int | None] = {
                "people": int(counts[value]),
                "answers": int(np.count_nonzero(said == value)),
                "recall": _share(right, have == value),
                "precision": _share(right, said == value),
                "guess_recall": _share(for_people, have == value),
                "guess_precision": _share(for_answers, said == value),
            }
            if len(held):
                hit = answers.agree(others, held)
                one["control_recall"] = _share(hit, answers.groups(held, False)[0] == value)
                one["control_precision"] = _share(hit, answers.groups(others, True)[0] == value)
            found[names[value]] = one
    return found


def _share(values: np.ndarray, of: np.ndarray) -> float | None:
    """Return the mean of some values; None if there are none."""
    return float(values[of].mean()) if of.any() else None
