"""Classes that break privacy models are mended one by one, each in the cheapest way that is found.

A class shows a pattern: codes by column, 0 where blank. Its members are in *lots*: some records of
one kind, which have the same original codes and confidential values. The lots of a class are a
list: `first` by class, `after` by lot. A class that breaks the models merges with another; or it
borrows a record that another can spare, and both show only what they have in common; or each of its
lots goes where it fits into a class that holds; or its records are left out.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from discreet.kernels.inner import inner
from discreet.kernels.privacy import holds

MERGE, BORROW, DISSOLVE, LEAVE = range(4)


class Classes(NamedTuple):
    """Patterns and lots; places that are unused have no members."""

    codes: np.ndarray  # by kind and column
    values: np.ndarray  # by kind and confidential column, places on the common axis; -1 null
    weights: np.ndarray  # by column
    price: float  # of leaving a record out
    pattern: np.ndarray  # by class and column
    size: np.ndarray  # by class
    first: np.ndarray
    kind: np.ndarray  # by lot
    members: np.ndarray
    of_lot: np.ndarray  # the class of each lot, -1 where left out
    after: np.ndarray
    lots: np.ndarray  # how many there are
    histogram: np.ndarray  # room to count in


@inner
def _count(s, c, sign):
    e = s.first[c]
    while e >= 0:
        _add(s, s.kind[e], sign * s.members[e])
        e = s.after[e]


@inner
def _add(s, kind, members):
    for j in range(s.values.shape[1]):
        if s.values[kind, j] >= 0:
            s.histogram[s.values[kind, j]] += members


@njit(cache=True, nogil=True)
def keeps(s, rules, k, c, other, kind, members):
    """Tell whether a class, with another if it is not -1 and with members of a kind, holds."""
    size = s.size[c] + members + (s.size[other] if other >= 0 else 0)
    if size < k:
        return False
    s.histogram[:] = 0
    _count(s, c, 1)
    if other >= 0:
        _count(s, other, 1)
    if members:
        _add(s, kind, members)
    return holds(rules, size, s.histogram)


@inner
def _blanks(s, kind, c):
    """Return what the blanks of a class cost a record of a kind, inf where it does not fit."""
    cost = 0.0
    for j in range(s.codes.shape[1]):
        if s.pattern[c, j] == 0:
            if s.codes[kind, j] != 0:
                cost += s.weights[j]
        elif s.pattern[c, j] != s.codes[kind, j]:
            return np.inf
    return cost


@inner
def _parted(s, b, shown):
    """Return what it costs a record of a class to show only what it has in common with codes."""
    cost = 0.0
    for j in range(shown.size):
        if s.pattern[b, j] != 0 and s.pattern[b, j] != shown[j]:
            cost += s.weights[j]
    return cost


@inner
def _link(s, e, c):
    s.of_lot[e], s.after[e], s.first[c] = c, s.first[c], e
    s.size[c] += s.members[e]


@inner
def _unlink(s, e):
    c = s.of_lot[e]
    s.size[c] -= s.members[e]
    if s.first[c] == e:
        s.first[c] = s.after[e]
        return
    at = s.first[c]
    while s.after[at] != e:
        at = s.after[at]
    s.after[at] = s.after[e]


@inner
def _join(s, c, other):
    """Put the lots of another class into a class."""
    while s.first[other] >= 0:
        e = s.first[other]
        _unlink(s, e)
        _link(s, e, c)


@inner
def _narrow(s, b, shown):
    """Let a class show what it has in common with codes, with all that show the same."""
    for j in range(shown.size):
        if s.pattern[b, j] != shown[j]:
            s.pattern[b, j] = 0
    for c in range(s.size.size):
        if c != b and s.size[c] > 0 and (s.pattern[c] == s.pattern[b]).all():
            _join(s, b, c)


@inner
def _home(s, rules, k, e, below, ok, low, high):
    """Return the class that holds where a lot is cheapest, -1 if none is below a cost."""
    best = -1
    for c in range(low, high):
        if c != s.of_lot[e] and s.size[c] > 0 and ok[c]:
            cost = _blanks(s, s.kind[e], c)
            if cost < below - 1e-9 and keeps(s, rules, k, c, -1, s.kind[e], s.members[e]):
                best, below = c, cost
    return best, below


@inner
def _to_merge(s, rules, k, b, below, any_, low, high):
    """Return the class that is cheapest to merge with; any, or one with which the class holds."""
    best = -1
    for c in range(low, high):
        if c != b and s.size[c] > 0:
            cost = s.size[b] * _parted(s, b, s.pattern[c])
            if cost < below:
                cost += s.size[c] * _parted(s, c, s.pattern[b])
            if cost < below and (any_ or keeps(s, rules, k, b, c, 0, 0)):
                best, below = c, cost
    return best, below


@inner
def _to_borrow(s, rules, k, b, below, ok, low, high):
    """Return the lot of which a record is cheapest to borrow."""
    best = -1
    for e in range(low, high):
        c, kind = s.of_lot[e], s.kind[e]
        if c < 0 or c == b or s.members[e] == 0 or not ok[c] or s.size[c] <= k:
            continue
        parted = _parted(s, b, s.codes[kind])
        cost = s.size[b] * parted
        if cost >= below:
            continue
        cost -= _blanks(s, kind, c)
        for j in range(s.codes.shape[1]):
            if s.codes[kind, j] != 0 and s.pattern[b, j] != s.codes[kind, j]:
                cost += s.weights[j]
        if (
            cost < below - 1e-9
            and keeps(s, rules, k, b, -1, kind, 1)
            and keeps(s, rules, k, c, -1, kind, -1)
        ):
            best, below = e, cost
    return best, below


@inner
def _to_dissolve(s, rules, k, b, below, ok, low, high):
    """Return what it costs to give each lot of a class to another that holds, if below a cost."""
    total = 0.0
    e = s.first[b]
    while e >= 0:
        now = _blanks(s, s.kind[e], b)
        home, cost = _home(s, rules, k, e, np.inf, ok, low, high)
        if home < 0:
            return np.inf
        total += (cost - now) * s.members[e]
        e = s.after[e]
    return total if total < below - 1e-9 else np.inf


@inner
def _leaving(s, b):
    total, e = 0.0, s.first[b]
    while e >= 0:
        total += (s.price - _blanks(s, s.kind[e], b)) * s.members[e]
        e = s.after[e]
    return total


@inner
def _mend_one(s, rules, k, b, ok, reach):
    """Mend a class; tell whether anything could be done."""
    n, lots = s.size.size, s.lots[0]
    low, high = max(0, b - reach), min(n, b + reach + 1)
    e = s.first[b]
    how, below = LEAVE, _leaving(s, b)
    other, cost = _to_merge(s, rules, k, b, below, False, low, high)
    if other >= 0:
        how, below = MERGE, cost
    lot, cost = _to_borrow(s, rules, k, b, below, ok, max(0, e - reach), min(lots, e + reach + 1))
    if lot >= 0:
        how, below = BORROW, cost
    # Where more than numbers are demanded, what comes in can break a class.
    if rules.kinds.shape[0] == 0:
        cost = _to_dissolve(s, rules, k, b, below, ok, low, high)
        if cost < below:
            how, below = DISSOLVE, cost
    if below == np.inf:
        other, below = _to_merge(s, rules, k, b, below, True, 0, n)
        how = MERGE
        if other < 0:
            return False
    if how == MERGE:
        shown = s.pattern[other].copy()
        _join(s, b, other)
        _narrow(s, b, shown)
    elif how == BORROW:
        lot = _one_of(s, lot)
        _unlink(s, lot)
        _narrow(s, b, s.codes[s.kind[lot]])
        _link(s, lot, b)
    else:
        while s.first[b] >= 0:
            e = s.first[b]
            home = -1
            if how == DISSOLVE:
                home, _ = _home(s, rules, k, e, np.inf, ok, low, high)
            _unlink(s, e)
            s.of_lot[e] = -1
            if home >= 0:
                _link(s, e, home)
    ok[b] = s.size[b] > 0 and keeps(s, rules, k, b, -1, 0, 0)
    return True


@inner
def _one_of(s, e):
    """Return a lot that has one record of another lot."""
    if s.members[e] == 1:
        return e
    new = s.lots[0]
    s.lots[0] += 1
    s.kind[new], s.members[new] = s.kind[e], 1
    s.members[e] -= 1
    c = s.of_lot[e]
    s.size[c] -= 1
    _link(s, new, c)
    return new


@njit(cache=True, nogil=True)
def mend(s, rules, k, order, reach):
    """Mend all classes that do not hold, in an order; tell whether that could be done.

    Classes and lots are looked at that are not further than `reach` from a class in number.
    """
    n = s.size.size
    ok = np.zeros(n, np.bool_)
    for c in range(n):
        ok[c] = s.size[c] > 0 and keeps(s, rules, k, c, -1, 0, 0)
    for b in order:
        while s.size[b] > 0 and not ok[b]:
            if not _mend_one(s, rules, k, b, ok, reach):
                return False
    return True


@njit(cache=True, nogil=True)
def relocate(s, rules, k, reach):
    """Move lots to where they need fewer blanks, where both classes hold; return what is saved."""
    n, saved = s.size.size, 0.0
    ok = s.size > 0
    for e in range(s.lots[0]):
        c = s.of_lot[e]
        if c < 0 or s.members[e] == 0:
            continue
        now = _blanks(s, s.kind[e], c)
        if now == 0 or not (
            s.size[c] == s.members[e] or keeps(s, rules, k, c, -1, s.kind[e], -s.members[e])
        ):
            continue
        home, cost = _home(s, rules, k, e, now, ok, max(0, c - reach), min(n, c + reach + 1))
        if home >= 0:
            saved += (now - cost) * s.members[e]
            _unlink(s, e)
            _link(s, e, home)
    return saved
