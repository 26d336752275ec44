"""Anatomy: quasi and confidential columns in two tables, joined by groups (Xiao and Tao 2006)."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from typing import Any, ClassVar, Literal

import numpy as np
import pyarrow as pa

from discreet.draws import Draws
from discreet.errors import BadInput, nearest
from discreet.method import RowBound, as_arrow, as_given
from discreet.outcome import Given, Outcome
from discreet.parameters import Constraints, Rule, whole
from discreet.plan import JointPlan
from discreet.table.cells import blank
from discreet.table.classes import classes_of, encode

NullPolicy = Literal["segregate", "value"]
SmallGroup = Literal["suppress", "append"]
# What chance decides, each by draws of its own.
_WITHIN_BUCKETS, _WITHIN_GROUPS, _RESIDUE, _NUMBERS = range(4)
# Records of a bucket that are tried for a group, where several columns must differ.
_TRIED = 32


class Anatomy(RowBound):
    """Cut the link between quasi and confidential columns, but for groups of l different values.

    Records are put into groups in which no two have the same confidential value, and which have l
    such values at least. Quasi columns stay as they are. Within a group, confidential values are in
    random order: whoever finds a record sees its group, and l or more values, one as likely as the
    other.

    Parameters
    ----------
    l : int
        The least number of different confidential values in a group.
    confidential : list of str
        The columns that go into the second table, as one tuple a record; an array's columns are
        called x0, x1, ... Each of them is l-diverse in every group.
    group : str
        What the column of the groups' numbers is called in a release.
    null_policy : {"segregate", "value"}
        `"segregate"`: records with nulls in the same quasi columns form groups among themselves.
        `"value"`: nulls in quasi columns are not looked at.
    small_group : {"suppress", "append"}
        What becomes of the records with nulls in some quasi columns that cannot form groups among
        themselves: they are suppressed, or grouped with the records without nulls.
    random_state : int, RandomState instance or None
        None draws a secret. Draws go by it alone: two releases of one table, or two waves, with the
        same state may give the original back; give each its own, or use `protect`.

    Attributes
    ----------
    groups_ : ndarray of int
        The number of each record's group, from 1; 0 where it is suppressed.
    suppressed_mask_ : ndarray of bool
        Records that fit into no group; all their cells are null.
    plan_ : dict

    See Also
    --------
    Generalize : quasi columns become coarser, so that people are not found in the table either.

    Notes
    -----
    Quasi columns are released as they are: who is in the table can be seen, and this is no
    k-anonymity. Only what the confidential columns say of a person is protected, by l.

    The grouping is the paper's: as long as there are l values left, the next group takes one record
    of each of the l most frequent ones; each record that remains goes into a group without its
    value. This succeeds exactly where no value is in more than 1 of l records, and is refused
    elsewhere. With several confidential columns the records of a group must differ in each of
    them, for which there is no exact condition: records that then fit into no group are suppressed.

    A null in a confidential column is no value: it counts towards no l, and the record goes into
    any group. Equal numbers are one value; numbers that are close are several, so make amounts
    coarser first.

    X. Xiao and Y. Tao, "Anatomy: simple and effective privacy preservation", VLDB 2006.

    Examples
    --------
    >>> import pandas as pd
    >>> patients = pd.DataFrame({
    ...     "age": [23, 27, 35, 59, 61, 65],
    ...     "ill": ["flu", "gout", "flu", "acne", "gout", "acne"],
    ... })
    >>> anatomy = Anatomy(3, confidential=["ill"], random_state=1)
    >>> mixed = anatomy.fit_transform(patients)
    >>> mixed["age"].equals(patients["age"])
    True
    >>> mixed["ill"].groupby(anatomy.groups_).apply(sorted).tolist()
    [['acne', 'flu', 'gout'], ['acne', 'flu', 'gout']]
    """

    recipe_name: ClassVar[str] = "anatomy"
    anew: ClassVar[str] = "its groups are of the earlier records"
    needs: ClassVar[Literal["numeric", "mixed", "any"]] = "any"
    is_random: ClassVar[bool] = True
    draws_by: ClassVar[Literal["row", "person", "counted"]] = "counted"
    blanks: ClassVar[bool] = True
    promise: ClassVar[str] = "anatomy"
    in_words: ClassVar[str] = (
        "confidential columns are in a table of their own, which is joined by groups of records"
    )
    caveat: ClassVar[str] = (
        "which record of a group a confidential value belongs to is not released: each column by "
        "itself is exact, and relations between the two tables are known by group only"
    )
    published: ClassVar[tuple[str, ...]] = ("l", "confidential", "group", "null_policy")
    constraints: ClassVar[Constraints] = {
        "l": whole(2),
        "confidential": Rule(
            wanted="a list of column names",
            good=lambda x: bool(x) and not isinstance(x, str) and len(set(x)) == len(list(x)),
        ),
        "group": Rule(wanted="a name", good=lambda x: isinstance(x, str) and bool(x.strip())),
    }

    def __init__(
        self,
        l: int,  # noqa: E741
        confidential: list[str],
        *,
        group: str = "group",
        null_policy: NullPolicy = "segregate",
        small_group: SmallGroup = "suppress",
        random_state: Any = None,
    ) -> None:
        self.l = l
        self.confidential = confidential
        self.group = group
        self.null_policy = null_policy
        self.small_group = small_group
        self.random_state = random_state

    @property
    def takes_along(self) -> Sequence[str]:
        """The confidential columns; a recipe's step names the quasi columns."""
        return self.confidential

    @property
    def apart(self) -> Sequence[str]:
        """The confidential columns."""
        return self.confidential

    @property
    def adds(self) -> Sequence[str]:
        """The groups' numbers."""
        return [self.group]

    @property
    def suppresses(self) -> bool:
        """True where records may fit into no group."""
        apart = self.null_policy == "segregate" and self.small_group == "suppress"
        return apart or len(self.confidential) > 1

    @property
    def nulls_in_words(self) -> str:
        """What becomes of nulls."""
        if self.null_policy == "value":
            return ""
        others = "suppressed" if self.small_group == "suppress" else "put with those without nulls"
        return (
            "records with nulls in the same quasi columns are grouped among themselves; those that "
            f"cannot be are {others}"
        )

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Put confidential values in random order within groups; the same kind comes back.

        Parameters
        ----------
        X : array or table of shape (n_samples, n_features)
            NaN is a null.
        y : ignored
        """
        self.check_params()
        table = as_arrow(self, X, reset=True)
        outcome = self.run({c: table[c] for c in table.column_names}, self._draws)
        self._learned(outcome)
        self.groups_ = outcome.joint["groups"]
        self.suppressed_mask_ = self.groups_ == 0
        new = {c: blank(outcome.columns[c], self.suppressed_mask_) for c in table.column_names}
        return as_given(X, pa.table(new), set(new))

    def _run(self, given: Given) -> Outcome:
        """Form groups, and put confidential values in random order within each."""
        for name in self.confidential:
            if name not in given.columns:
                raise BadInput(
                    f"confidential names '{name}', which is not there; "
                    + nearest(name, given.columns)
                )
        quasi = [name for name in given.columns if name not in self.confidential]
        if not quasi:
            raise BadInput("all columns are confidential; name quasi columns in the first table")
        _refuse_several(given)
        draws = given.draws(self.confidential[0])
        values = {name: given.columns[name] for name in self.confidential}
        nulls = np.array([np.asarray(given.columns[name].is_null()) for name in quasi])
        groups = _Grouping(self, values, draws).groups(nulls)
        order = _within(groups, draws)
        kept = groups > 0
        new = dict(given.columns)
        for name, column in values.items():
            new[name] = column.take(pa.array(order))
        new[self.group] = pa.chunked_array([pa.array(groups, mask=~kept)])
        joint: JointPlan = {
            "kind": "anatomy",
            "l": self.l,
            "confidential": list(self.confidential),
            "group": self.group,
            "null_policy": self.null_policy,
            "small_group": self.small_group,
            "groups": groups,
        }
        gone = int((~kept).sum())
        figures = {"groups": int(groups.max(initial=0)), "suppressed": gone}
        mask = ~kept if gone else None
        plans = {name: {"kind": "anatomy"} for name in given.columns}
        return Outcome(new, plans, joint, mask, mask, figures)


def _refuse_several(given: Given) -> None:
    """Refuse people with several records: their groups together tell more than one does."""
    if given.units is not None and np.bincount(given.units).max(initial=0) > 1:
        raise BadInput(
            'anatomy counts records, and units have several here; set counts = "rows" if that is '
            "meant"
        )
    if given.linked is not None:
        raise BadInput(
            "anatomy does not protect records that can be seen to belong together: the groups of "
            "all of them tell more than one does"
        )


def _within(groups: np.ndarray, draws: Draws) -> np.ndarray:
    """Return the row that each row's confidential values come from: those of a group at random."""
    words = draws.words(np.arange(len(groups)), _WITHIN_GROUPS)
    rows = np.arange(len(groups))
    rows[np.argsort(groups, kind="stable")] = np.lexsort((words, groups))
    rows[groups == 0] = np.flatnonzero(groups == 0)
    return rows


@dataclass(frozen=True)
class _Unfit:
    """Why some records cannot be grouped."""

    column: str
    value: Any
    count: int
    n: int


class _Grouping:
    """The groups of records: `codes` has a row a confidential column, -1 where null."""

    def __init__(
        self, method: Anatomy, values: Mapping[str, pa.ChunkedArray], draws: Draws
    ) -> None:
        self.method, self.values, self.l = method, values, method.l
        encoded = [encode(column, name) for name, column in values.items()]
        self.codes = np.array([codes for codes, _ in encoded])
        self.n = self.codes.shape[1]
        rows = np.arange(self.n)
        self.words = draws.words(rows, _WITHIN_BUCKETS)
        self.residue = draws.words(rows, _RESIDUE)
        self.draws = draws.apart()

    def groups(self, nulls: np.ndarray) -> np.ndarray:
        """Return the number of each record's group, from 1 in drawn order; 0 where it has none."""
        found, last = np.zeros(self.n, np.int64), 0
        for rows in self._pools(nulls):
            own, count = self._grouped(rows)
            found[rows] = np.where(own >= 0, own + last + 1, 0)
            last += count
        lost = int((found == 0).sum())
        if lost == self.n:
            raise BadInput(
                "no group of records has "
                f"{self.l} different values of each of {', '.join(self.values)}; take a smaller l, "
                "or fewer confidential columns"
            )
        if lost:
            warnings.warn(
                f"{lost:,} record{'s' * (lost > 1)} fit{'s' * (lost == 1)} into no group of "
                f"{self.l} different confidential values among those with the same nulls, and "
                f"{'are' if lost > 1 else 'is'} suppressed",
                stacklevel=5,
            )
        drawn = np.argsort(self.draws.words(np.arange(last), _NUMBERS), kind="stable")
        number = np.empty(last + 1, np.int64)
        number[0], number[drawn + 1] = 0, np.arange(1, last + 1)
        return number[found]

    def _pools(self, nulls: np.ndarray) -> list[np.ndarray]:
        """Return the records that are grouped among themselves; those of none are suppressed."""
        everyone = np.arange(self.n)
        if self.method.null_policy == "value" or not nulls.any():
            self._refuse(self._unfit(everyone), "")
            return [everyone]
        ids, count = classes_of(nulls.astype(np.int64), np.full(len(nulls), 2))
        patterns = [np.flatnonzero(ids == i) for i in range(count)]
        whole = [rows for rows in patterns if not nulls[:, rows[0]].any()]
        others = [rows for rows in patterns if nulls[:, rows[0]].any()]
        fit = [rows for rows in others if self._unfit(rows) is None]
        unfit = [rows for rows in others if self._unfit(rows) is not None]
        if self.method.small_group == "append" and unfit:
            together = np.sort(np.concatenate([*whole, *unfit]))
            self._refuse(self._unfit(together), " beside no nulls, or nulls that too few share")
            return [together, *fit]
        if whole:
            self._refuse(self._unfit(whole[0]), " beside no nulls")
        elif not fit:
            self._refuse(self._unfit(unfit[0]), " beside the same nulls")
        return [*whole, *fit]

    def _unfit(self, rows: np.ndarray) -> _Unfit | None:
        """Say which value is too frequent for groups of l different ones, if one is."""
        for (name, column), codes in zip(self.values.items(), self.codes[:, rows], strict=True):
            present = codes[codes >= 0]
            counts = np.bincount(present)
            if not len(present):
                return _Unfit(name, None, 0, 0)
            if counts.max() * self.l > len(present):
                most = int(np.argmax(counts))
                row = int(rows[np.argmax(codes == most)])
                return _Unfit(name, column[row].as_py(), int(counts[most]), len(present))
        return None

    def _refuse(self, unfit: _Unfit | None, who: str) -> None:
        if unfit is None:
            return
        if not unfit.n:
            raise BadInput(f"column '{unfit.column}' has no values{who}")
        most, verb = unfit.n // unfit.count, "is" if unfit.count == 1 else "are"
        hint = f"take l = {most}" if most > 1 else "treat the column by another method"
        raise BadInput(
            f"column '{unfit.column}' cannot have {self.l} different values in every group: of "
            f"{unfit.n:,} values{who}, {unfit.count:,} {verb} '{unfit.value}', and "
            f"{unfit.n // self.l:,} at most can be; {hint}"
        )

    def _grouped(self, rows: np.ndarray) -> tuple[np.ndarray, int]:
        """Return the groups of some records as 0, 1, ..., -1 where they fit into none; how many."""
        codes = self.codes[:, rows]
        shares = [np.bincount(one[one >= 0]).max() / (one >= 0).sum() for one in codes]
        leading = int(np.argmax(shares))
        complete = (codes >= 0).all(axis=0)
        order = np.flatnonzero(complete)
        order = order[np.argsort(self.words[rows][order], kind="stable")]
        buckets: dict[int, list[int]] = {}
        for place, code in zip(order.tolist(), codes[leading][order].tolist(), strict=True):
            buckets.setdefault(code, []).append(place)
        others = [one.tolist() for i, one in enumerate(codes) if i != leading]
        members = list(_formed(buckets, self.l, others))
        group = np.full(len(rows), -1)
        for number, places in enumerate(members):
            group[places] = number
        if members:
            self._place(group, codes, len(members), self.residue[rows])
        return group, len(members)

    def _place(self, group: np.ndarray, codes: np.ndarray, count: int, words: np.ndarray) -> None:
        """Put each record that is left into a drawn group that has none of its values."""
        held: list[dict[int, set[int]]] = [{} for _ in codes]
        lists = codes.tolist()
        left = np.flatnonzero(group < 0)
        wanted = [set(codes[i][left].tolist()) - {-1} for i in range(len(codes))]
        for i, own in enumerate(lists):
            among = np.flatnonzero((group >= 0) & np.isin(codes[i], list(wanted[i])))
            for place in among.tolist():
                held[i].setdefault(own[place], set()).add(int(group[place]))
        # Those with the fewest groups to go to come first.
        taken = [sum(len(held[i].get(own[p], ())) for i, own in enumerate(lists)) for p in left]
        for place in left[np.lexsort((words[left], -np.array(taken, np.int64)))].tolist():
            full = set().union(*(held[i].get(own[place], ()) for i, own in enumerate(lists)))
            if len(full) == count:
                continue
            at = int(words[place] % np.uint64(count))
            while at in full:
                at = (at + 1) % count
            group[place] = at
            for i, own in enumerate(lists):
                if own[place] >= 0:
                    held[i].setdefault(own[place], set()).add(at)


def _formed(
    buckets: dict[int, list[int]],
    size: int,
    others: Sequence[Sequence[int]],
) -> Iterator[list[int]]:
    """Form groups of some size, with one record of each of as many of the largest buckets.

    Buckets are lists of records of one value, which are taken from the end. No two records of a
    group have the same value in other columns.
    """
    heap = [(-len(places), code) for code, places in buckets.items()]
    heapify(heap)
    while len(heap) >= size:
        taken: list[int] = []
        passed: list[tuple[int, int]] = []
        used: list[int] = []
        while heap and len(taken) < size:
            left, code = heappop(heap)
            place = _fitting(buckets[code], taken, others)
            if place is None:
                passed.append((left, code))
            else:
                taken.append(place)
                used.append(code)
        if len(taken) < size:
            return
        yield taken
        for code in used:
            if buckets[code]:
                heappush(heap, (-len(buckets[code]), code))
        for one in passed:
            heappush(heap, one)


def _fitting(
    bucket: list[int], taken: Sequence[int], others: Sequence[Sequence[int]]
) -> int | None:
    """Take a record out of a bucket that shares no value of other columns with some; or None."""
    for back in range(1, min(len(bucket), _TRIED if others else 1) + 1):
        place = bucket[-back]
        if all(column[place] != column[one] for column in others for one in taken):
            return bucket.pop(-back)
    return None
