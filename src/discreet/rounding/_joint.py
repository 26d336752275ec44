"""Rounding of several columns together: records are grouped, and not each column's values."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from discreet.draws import Draws
from discreet.errors import BadInput
from discreet.method import unit_codes
from discreet.microaggregation._centres import planned
from discreet.microaggregation._parts import parts
from discreet.microaggregation._space import Column, count_units, encode, units_of
from discreet.outcome import Given, Outcome
from discreet.parameters import is_whole
from discreet.plan import ColumnPlan, JointPlan
from discreet.rounding._base import PointRounding
from discreet.rounding._plans import represent

_REPRESENTATIVES = ("mean", "median", "midpoint")


class JointRounding(PointRounding):
    """Base of the methods that can group records over all columns; a subclass writes `clusters`."""

    # True where a method makes groups' points of something else than their records.
    makes_points: ClassVar[bool] = False
    joint: bool

    @property
    def by_column(self) -> bool:
        """Not where the columns are treated together."""
        return not self.joint

    @property
    def blanks(self) -> bool:
        """Records whose nulls are those of too few others lose their values."""
        return self.joint

    @property
    def promise(self) -> str | None:
        """At least `min_count` records per released value, or per tuple of the columns."""
        found = super().promise
        return "k-per-tuple" if found and self.joint else found

    @property
    def bound_to_memory(self) -> str | None:
        """Records are grouped as microaggregation does, by their rows."""
        return "joint = true looks at the rows themselves" if self.joint else None

    @property
    def done_in_words(self) -> str:
        """Say that a value comes from records that are alike in several columns."""
        if self.joint:
            return "replaced by the centre of a group of records that are alike in several columns"
        return super().done_in_words

    @property
    def caveat(self) -> str:
        """Groups of records distort how columns go together, too."""
        if self.joint:
            return (
                "values are centres of groups of similar records: means are kept or nearly so, "
                "variances come out too small, correlations among the columns treated together "
                "come out too strong, and those with other columns too weak"
            )
        return super().caveat

    def carried(self, plan: Mapping[str, Any]) -> dict[str, Any] | str:
        """Keep cuts and points, but no groups of records."""
        return "its groups are of the earlier records" if self.joint else super().carried(plan)

    def check_params(self) -> None:
        """Refuse what only sorted values have, where records are grouped."""
        super().check_params()
        if not self.joint:
            return
        if not is_whole(self.n_points, 1):
            raise BadInput("joint = true makes groups of all columns together; give n_points once")
        for name in ("encoding", "spikes"):
            if (given := getattr(self, name)) != "group":
                raise BadInput(
                    f"joint = true replaces a record by its own group's point; {name} = '{given}' "
                    "is for one column"
                )
        if self.representative not in _REPRESENTATIVES:
            raise BadInput(
                f"joint = true does not know representative = '{self.representative}'; use one of "
                + ", ".join(_REPRESENTATIVES)
            )

    def clusters(
        self, points: np.ndarray, c: int, units: np.ndarray | None, draws: Draws
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """Group points into c groups of `min_count` or more, or into fewer.

        Also gives the groups' points, where the method makes them of something else than members.
        """
        raise NotImplementedError

    def _run(self, given: Given) -> Outcome:
        if not self.joint:
            return super()._run(given)
        columns = encode(given.columns, None)
        scales = {name: Scale(column) for name, column in columns.items()}
        units = units_of(given.units, everyone := np.arange(len(next(iter(scales.values())).z)))
        if (n := count_units(units, everyone)) < self.min_count:
            what = "records" if units is None else "units"
            raise BadInput(f"{n} {what} are fewer than min_count = {self.min_count}; lower it")
        far = sum(np.nan_to_num(scale.z) ** 2 for scale in scales.values())
        among = parts(
            columns, None, self.min_count, "blank", np.asarray(far), units, called="min_count"
        )
        labels, points = self._grouped(among, scales, units, given.draws("joint"))
        return self._outcome(given, columns, labels, points, scales)

    def _grouped(
        self,
        among: list[np.ndarray],
        scales: Mapping[str, Scale],
        units: np.ndarray | None,
        draws: Draws,
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """Group the records of each pattern of nulls; -1 for those that are in none."""
        z = np.column_stack([scale.z for scale in scales.values()])
        # In the order of their values, so that sums and draws do not go by the order of rows.
        among = [rows[np.lexsort(z[rows].T)] for rows in among]
        among.sort(key=lambda rows: np.isnan(z[rows[0]]).tolist())
        labels, made = np.full(len(z), -1), []
        groups = 0
        asked: Any = self.n_points
        shares = share_out(asked, [len(rows) for rows in among])
        for number, (rows, c) in enumerate(zip(among, shares, strict=True)):
            there = ~np.isnan(z[rows[0]])
            own = units_of(units, rows)
            most = count_units(own, np.arange(len(rows))) // self.min_count
            found, points = self.clusters(
                np.ascontiguousarray(z[np.ix_(rows, there)]), min(c, most), own, draws.part(number)
            )
            labels[rows] = found + groups
            groups += int(found.max()) + 1
            if points is not None:
                made.append(np.full((len(points), z.shape[1]), np.nan))
                made[-1][:, there] = points
        if groups < asked:
            warnings.warn(
                f"there are {groups} groups, not {asked}: {self.fewer_because}, or there "
                f"are too few for groups of min_count = {self.min_count}",
                stacklevel=4,
            )
        return labels, np.vstack(made) if made else None

    def _outcome(
        self,
        given: Given,
        columns: Mapping[str, Column],
        labels: np.ndarray,
        points: np.ndarray | None,
        scales: Mapping[str, Scale],
    ) -> Outcome:
        """Replace the records by their groups' points."""
        groups = int(labels.max()) + 1
        new: dict[str, Any] = {}
        plans: dict[str, ColumnPlan] = {}
        lost = total = 0.0
        for i, (name, column) in enumerate(columns.items()):
            scale = scales[name]
            if points is None:
                centres = represented(column.values, labels, self.representative)
            else:
                centres = scale.back(points[:, i])
            plans[name] = {"kind": "microaggregation", "centres": planned(column, centres)}
            # The label -1 takes the last, which is null.
            new[name] = np.append(given.rounded(name, centres), np.nan)[labels]
            there = ~np.isnan(column.values)
            away = scale.z - np.nan_to_num(scale.of(np.append(centres, np.nan)))[labels]
            lost += float((away[there] ** 2).sum())
            total += float((scale.z[there] ** 2).sum())
        loss = 100 * lost / total if total > 0 else 0.0
        joint: JointPlan = {
            "kind": "microaggregation",
            "k": int(self.min_count),
            "algorithm": self.recipe_name,
            "representative": "resampled" if self.makes_points else self.representative,
            "strata": None,
            "groups": labels,
            "loss": loss,
            "moves": 0,
        }
        figures = {"loss": loss, "groups": groups, "moves": 0}
        figures["blanked_records"] = int((labels < 0).sum())
        return Outcome(new, plans, joint, figures=figures)

    def fit(self, X: Any, y: Any = None, units: Any = None) -> JointRounding:
        """Decide on the columns of a numeric table or array.

        Parameters
        ----------
        X : array or table of shape (n_samples, n_features)
            NaN is a null.
        y : ignored
        units : array of shape (n_samples,), optional
            The person or household of each row, where `min_count` counts these and not rows.
        """
        if self.joint:
            self.fit_transform(X, y, units)
        else:
            super().fit(X, y, units)
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Apply the plan to rows, new ones too, unless columns are treated together."""
        if self.joint:
            raise BadInput("joint = true groups the rows that it is given; use fit_transform")
        return super().transform(X)

    def fit_transform(self, X: Any, y: Any = None, units: Any = None) -> np.ndarray:
        """Decide on the columns and treat them."""
        if not self.joint:
            return super().fit_transform(X, y, units)
        columns = self._columns(X, reset=True)
        codes = unit_codes(units, len(next(iter(columns.values()))))
        outcome = self.run(columns, self._draws, units=codes)
        self.plan_ = outcome.joint | {"columns": outcome.plans}
        self.groups_, self.loss_ = outcome.joint["groups"], outcome.joint["loss"]
        sizes = np.bincount(self.groups_[self.groups_ >= 0])
        self.group_sizes_ = dict.fromkeys(columns, sizes)
        self.rounding_sets_ = {
            name: (held := np.unique(new))[~np.isnan(held)] for name, new in outcome.columns.items()
        }
        self.n_points_ = {name: len(held) for name, held in self.rounding_sets_.items()}
        return np.column_stack(list(outcome.columns.values()))


class Scale:
    """A column in standard deviations about its mean, and the way back; a constant one is 0."""

    def __init__(self, column: Column) -> None:
        present = np.sort(column.values[~np.isnan(column.values)])
        self._ends = present[0], present[-1]
        # About one of the values: near 1e9 a spread of 1e-3 is kept.
        self._origin = present[0]
        self._width = max(float(self._ends[1] - self._ends[0]), np.finfo(float).tiny)
        share = (present - self._origin) / self._width
        self._mean = float(share.mean())
        self._deviation = float(share.std(ddof=1)) if share.any() else 1.0
        self.z = self.of(column.values)

    def of(self, values: np.ndarray) -> np.ndarray:
        """Return values in standard deviations."""
        return ((values - self._origin) / self._width - self._mean) / self._deviation

    def back(self, z: np.ndarray) -> np.ndarray:
        """Return the values of what is in standard deviations, within those of the column."""
        share = z * self._deviation + self._mean
        return np.clip(self._origin + share * self._width, *self._ends)


def share_out(c: int, sizes: list[int]) -> np.ndarray:
    """Give each part its share of c groups by its size, and at least one (Jefferson's rule).

    Examples
    --------
    >>> share_out(10, [700, 290, 10])
    array([7, 2, 1])
    """
    shares = np.ones(len(sizes), dtype=np.int64)
    for _ in range(c - len(sizes) if sizes else 0):
        shares[np.argmax(np.array(sizes) / (shares + 1))] += 1
    return shares


def represented(values: np.ndarray, labels: np.ndarray, representative: str) -> np.ndarray:
    """Return what stands for each group; NaN where its records are null."""
    order = np.lexsort((values, labels))
    order = order[labels[order] >= 0]
    if not len(order):  # all are blanked
        return np.empty(0)
    ends = np.cumsum(np.bincount(labels[order]))
    return represent(values[order], np.ones(len(order), np.int64), ends, representative)
