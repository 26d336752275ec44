"""What measures ask of two tables, wherever their rows are."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.assessment.passes import (
    Beside,
    Changes,
    Look,
    Scales,
    Wanted,
    by_column,
    changes_of,
    compare,
    counted_beside,
    look,
    share_below,
    sums_by_value,
    touching,
    with_smallest,
)
from discreet.assessment.rows import Rows
from discreet.assessment.samples import beside
from discreet.draws import Draws
from discreet.engines import Frame
from discreet.errors import BadInput
from discreet.measure import LeftOut
from discreet.recipe.recipe import Recipe
from discreet.risk.composition import alike
from discreet.risk.diversity import Diversity, diversity_of
from discreet.risk.frequency import Frequencies, frequencies, say_bad_weight, unit_ids
from discreet.risk.individual import household_risk_of
from discreet.risk.interval import WIDTH, Disclosure, disclosure_of, say_no_values
from discreet.risk.values import refuse_infinite
from discreet.table import kind_of
from discreet.table.classes import classes_of, encode, encode_columns
from discreet.table.pairs import numeric_names
from discreet.utility.compared import as_text, leave_out
from discreet.utility.loss import Loss, il1s_of, sse_ratio_of
from discreet.utility.moments import (
    CellChange,
    MomentLoss,
    correlations_of,
    il_metrics_of,
    second_moments_of,
)
from discreet.utility.nulls import Empty, NullRates, Stars, null_rates_of
from discreet.utility.structure import (
    BeforeAfter,
    bits_of,
    entropy_of,
    mean_absolute_correlation_of,
)

# Records to link, and to draw distributions from, where they are not in memory.
LINKED = 5_000
# Records in memory among which each is looked for one by one; of more, a sample is linked.
MOST_LINKED = 50_000
DRAWN = 100_000
# Distinct tuples that come to memory for one measure.
MOST_TUPLES = 1 << 21


class Facts:
    """What is known of a table and its protected one.

    The rows of the second have their numbers in the first, where there may be more. Suppressed
    records count whether they are there after or not. `perturbed` has the columns that a step
    perturbed, and which; `whole` says that all records are in memory: each is listed, and what
    needs them all is taken.
    """

    # Of a release in two tables, the group of each of its rows, as 0, 1, ...
    groups: np.ndarray | None = None

    def __init__(self, before: Frame, after: Frame, recipe: Recipe, suppressed: int = 0) -> None:
        self.before, self.after, self.recipe = before, after, recipe
        self.roles, self.perturbed = recipe.roles, perturbed_by(recipe)
        self.suppressed = suppressed
        self.whole = before.whole and after.whole
        self._labels: dict[str, bool] = {}
        self._sizes: dict[tuple[int, tuple[str, ...]], tuple[np.ndarray, np.ndarray]] = {}

    @cached_property
    def drawn_columns(self) -> set[str]:
        """Columns in which a seed decided about each row."""
        drawing = [step for step in self.recipe.steps if step.build().draws_by_row]
        return {column for step in drawing for column in step.columns}

    # What is known from the schemas

    @property
    def num_rows(self) -> int:
        """Records of the protected table."""
        return self.after.num_rows

    @cached_property
    def shared(self) -> list[str]:
        """Columns of both tables; household numbers and pseudonyms are names, not data."""
        known = set(self.before.schema.names) - self.roles.renamed
        return [c for c in self.after.schema.names if c in known]

    @cached_property
    def numeric(self) -> list[str]:
        """Those that are numbers in both."""
        after = pa.schema([self.after.schema.field(name) for name in self.shared])
        return numeric_names(self.before.schema, after)

    @property
    def weighted(self) -> bool:
        """Whether there are sampling weights."""
        return self.roles.weight is not None

    @property
    def counts(self) -> dict[str, str]:
        """What entries say of classes whose size is a number of units; nothing of records."""
        return {} if self.recipe.counted is None else {"counts": self.recipe.counted_as}

    @cached_property
    def quasi(self) -> list[str]:
        """Quasi columns of both tables."""
        return [c for c in self.roles.quasi if c in self.shared]

    def need_quasi(self) -> None:
        """Leave a measure out where there is no quasi column."""
        if not self.quasi:
            raise LeftOut("there is no quasi column in both tables")

    def need_changed(self) -> None:
        """Leave a measure out where no number differs."""
        if not self.changed_numeric:
            raise LeftOut("no numeric column differs")

    # What the two passes find

    @cached_property
    def seen(self) -> Look:
        """The first pass."""
        household = self.roles.household if self.whole else None
        linked = self.recipe.linked if self.whole else None
        also = {self.roles.weight, self.recipe.counted, household, linked} - {None}
        wanted = Wanted(
            shared=tuple(self.shared),
            numeric=tuple(self.numeric),
            quasi=tuple(self.quasi),
            also=tuple(name for name in self.before.schema.names if name in also),
            also_after=tuple(name for name in self.after.schema.names if name == household),
            weight=self.roles.weight,
            draws=None if self.whole else self._draws,
            below=share_below(DRAWN, self.num_rows),
        )
        found = look(self.before, self.after, wanted)
        if found.patterns[1].total() != self.num_rows:
            raise BadInput("rows names rows that the original does not have")
        return found

    @cached_property
    def compared(self) -> Changes:
        """The second pass."""
        at = [self.numeric.index(name) for name in self.changed_numeric]
        x, y = self.seen.paired
        alone = self.seen.alone
        spread = x.sd[at]
        scales = Scales(
            numeric=tuple(self.numeric),
            changed=tuple(at),
            centres=(alone[0].mean, alone[1].mean),
            paired=(x.mean[at], y.mean[at]),
            spread=np.where(spread > 0, spread, 1.0),
            width=WIDTH * y.sd[at],
            masked=bool((alone[0].n != x.n)[at].any() or (alone[1].n != x.n)[at].any()),
        )
        if self.whole:
            return changes_of(scales, list(self.drawn.pairs.values()))
        return compare(self.before, self.after, scales)

    @cached_property
    def changed_numeric(self) -> list[str]:
        """Numbers with a cell that differs."""
        return [c for c in self.numeric if c in self.seen.changed]

    @cached_property
    def changed_categories(self) -> list[str]:
        """Other columns with a cell that differs."""
        return [c for c in self.shared if c in self.seen.changed and c not in self.numeric]

    @cached_property
    def gone(self) -> np.ndarray:
        """Numbers of the rows that are not there after."""
        return np.concatenate([np.empty(0, np.int64), *self.seen.gone])

    def nulls(self, side: int) -> dict[str, int]:
        """Null cells of each column before (0) or after (1), among the rows of both."""
        return by_column(self.seen.patterns[side], self.shared)

    # Classes

    @cached_property
    def frequencies(self) -> tuple[Frequencies, Frequencies]:
        """Of the quasi columns: of each record, or of each size of classes."""
        self.need_quasi()
        if self.seen.bad_weight is not None:
            row, weight = self.seen.bad_weight
            raise BadInput(say_bad_weight(f"column '{self.roles.weight}'", row, weight))
        if self.whole:
            return self.drawn.frequencies
        if self.weighted or self.recipe.counted is not None:
            return self._beside(0), self._beside(1)
        (f, repeats), (f_after, repeats_after) = (self.sizes(i, self.quasi) for i in (0, 1))
        before = Frequencies(f, None, None, repeats)
        return before, Frequencies(f_after, None, None, repeats_after)

    def sizes(self, side: int, columns: list[str]) -> tuple[np.ndarray, np.ndarray]:
        """Count tuples by their size, before (0) or after (1), among the rows of both."""
        key = side, tuple(columns)
        if key not in self._sizes:
            without = self.gone if side == 0 else None
            self._sizes[key] = (self.before, self.after)[side].sizes(columns, without)
        return self._sizes[key]

    def tuples(
        self, side: int, parts: Sequence[list[str]], doing: str
    ) -> tuple[pa.Table, np.ndarray | None]:
        """Return the tuples of some columns, with their counts; those of all records in memory.

        Before (0) or after (1), among the rows of both. Of the columns of a part the tuples may be
        counted beforehand; `doing` says what they are for, where they are too many.
        """
        columns = [name for part in parts for name in part]
        if self.whole:
            return (self.drawn.before, self.drawn.after)[side].select(columns), None
        self._refuse_many(side, parts, doing)
        gone = self.gone if side == 0 else self.gone[:0]
        return (self.before, self.after)[side].counts_without(columns, gone)

    def _beside(self, side: int) -> Frequencies:
        """Count classes with what only the original has: weights, units."""
        unit, weight = self.recipe.counted, self.roles.weight
        tuples, f, sums = self._pairs(side, self.quasi, weight)
        if unit is None:
            return Frequencies(f, sums, None, np.ones_like(f))
        means = None if weight is None else sums / f
        return frequencies(tuples, self.quasi, weight=means, units=unit)

    def _pairs(
        self, side: int, columns: list[str], weight: str | None = None
    ) -> tuple[pa.Table, np.ndarray, np.ndarray]:
        """Return distinct tuples, with the units that have them where units are counted.

        Beside them the rows of each, and the sum of their weights.
        """
        unit = self.recipe.counted
        if unit is None:
            self._refuse_many(side, [columns], "to sum weights over")
        else:
            # Units are the original's, and a release has no more tuples as a rule.
            self._refuse_many(0, [columns, [unit]], f"to count {self.recipe.counted_as} in")
        sides = ([], columns) if side else (columns, [])
        wanted = Beside(*sides, unit, weight)
        return counted_beside(self.before, self.after, wanted)

    def _refuse_many(self, side: int, parts: Sequence[list[str]], doing: str) -> None:
        """Leave a measure out that would take too many tuples to memory."""
        if math.prod(int(self.sizes(side, part)[1].sum()) for part in parts) <= MOST_TUPLES:
            return
        columns = [name for part in parts for name in part]
        found = (self.before, self.after)[side].about_how_many(columns)
        if found > MOST_TUPLES:
            raise LeftOut(
                f"{doing} classes of {', '.join(columns)} it needs them in memory, and there are "
                f"some {found:,}"
            )

    def sums_by_value(
        self, values: dict[str, np.ndarray]
    ) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        """Return how many rows some released numbers have, and the sums of their originals."""
        return sums_by_value(self.before, self.after, values) if values else {}

    def household_risk(self, risk: np.ndarray) -> float | None:
        """Mean risk that some member of a record's household is found; None where not taken."""
        if self.roles.household is None:
            return None
        if not self.whole:
            warnings.warn(
                "the risk of households needs all records in memory and is left out", stacklevel=2
            )
            return None
        ids = unit_ids(self.drawn.before, self.roles.household)
        return float(household_risk_of(risk, ids).mean()) if len(risk) else 0.0

    def alike_households(self, side: int) -> np.ndarray:
        """Count for each household those with the same members, before (0) or after (1).

        Records without a household are left out; who lives together is what the numbers of that
        side say, and a release without them does not tell.
        """
        name = self.roles.household
        assert name is not None
        if name not in self.after.schema.names:
            raise LeftOut("the release does not say who lives together")
        if self.whole:
            own = (self.drawn.before, self.drawn.after)[side]
            classes = self.drawn.frequencies[side].classes
            assert classes is not None
            there = own[name].is_valid()
            return alike(classes[there.to_numpy()], unit_ids(own.filter(there), name))
        tuples, counts = self.tuples(side, [self.quasi, [name]], "to compare the members by")
        there = tuples[name].is_valid()
        assert counts is not None
        tuples, counts = tuples.filter(there), counts[there.to_numpy()]
        classes, _ = classes_of(*encode_columns(tuples, self.quasi))
        return alike(classes, unit_ids(tuples, name), counts)

    def known_and_released(self) -> tuple[list[pa.Table], np.ndarray, np.ndarray]:
        """Return the quasi values before and after, and the first and the last who has them.

        Who has them is a number: of the record, or of the unit where units are counted.
        """
        unit, q = self.recipe.counted, len(self.quasi)
        if self.whole:
            sides = [side.select(self.quasi) for side in (self.drawn.before, self.drawn.after)]
            ids = unit_ids(self.drawn.before, unit or np.arange(self.num_rows))
            return sides, ids, ids
        self._refuse_many(0, [self.quasi, [unit]] if unit else [self.quasi], "to find people in")
        tuples, n, _ = counted_beside(self.before, self.after, Beside(self.quasi, self.quasi, unit))
        sides = [tuples.select(range(start, start + q)) for start in (0, q)]
        ids = unit_ids(tuples, tuples.column(2 * q) if unit else np.arange(len(n)))
        return sides, ids, ids if unit else ids + len(n) * (n > 1)

    def diversity(self, side: int, column: str, order: Sequence[str] | None = None) -> Diversity:
        """Tell what the classes before (0) or after (1) reach: of a second table, the groups."""
        if side and self.groups is not None and column in self.recipe.apart:
            units = self.frequencies[1].units
            values = self.drawn.after[column]
            return diversity_of(values, column, self.groups, None, units, order)
        units = None
        if self.whole or self.recipe.counted is None:
            tuples, counts = self.tuples(side, [self.quasi, [column]], "to look at the values of")
            units = self.frequencies[side].units
        else:
            tuples, counts = self._pairs(side, [*self.quasi, column])[0], None
            units = unit_ids(tuples, self.recipe.counted)
        groups = self.frequencies[side].classes if self.whole else None
        if groups is None:
            groups, _ = classes_of(*encode_columns(tuples, self.quasi))
        return diversity_of(tuples[column], column, groups, counts, units, order)

    def same_labels(self, column: str) -> bool:
        """Tell whether every released label of a column is one of the original's."""
        if column not in self._labels:
            frames = self.before, self.after
            kinds = {kind_of(frame.schema.field(column).type) for frame in frames}
            self._labels[column] = len(kinds) == 1 and _within(
                *(as_text(frame.counts([column])[0][column], column) for frame in frames)
            )
        return self._labels[column]

    # Records in memory: all, or a sample

    @cached_property
    def drawn(self) -> Rows:
        """The records that distributions are drawn from."""
        return self._sample(DRAWN)

    @cached_property
    def to_link(self) -> Rows:
        """The records among which linkage is tried."""
        return self.drawn if self.whole else self._sample(LINKED)

    @cached_property
    def few_to_link(self) -> Rows:
        """The same, or a sample also where too many are in memory."""
        return self.to_link if self.to_link.num_rows <= MOST_LINKED else self._smallest(LINKED)

    def _sample(self, m: int) -> Rows:
        if not self.whole:
            return self._smallest(m)
        found = self.seen.sample[0]
        found.of = self
        return found

    def _smallest(self, m: int) -> Rows:
        found = with_smallest(self.seen.sample, m, self._draws)
        found.of = self
        return found

    @property
    def _draws(self) -> Draws:
        return Draws(self.recipe.order_seed or 0, "sample")

    def sampled(self, share: float, n: int | None = None) -> dict[str, Any]:
        """Tell of a sample in which a share was found, with Wilson's 95 % interval."""
        from discreet.attacks import Rate

        n = self.to_link.num_rows if n is None else n
        drawn = self.estimated(n)
        return drawn and drawn | {"interval": list(Rate(share * n, n).interval)}

    def estimated(self, n: int) -> dict[str, Any]:
        """Tell of a sample that a figure was estimated on; nothing where it is of all records."""
        return {} if n >= self.num_rows else {"sample": n, "of": self.num_rows}

    def beside(self, columns: Sequence[str]) -> tuple[pa.Table, pa.Table]:
        """Return all the original's rows and the released ones, or a sample; null: left out."""
        return beside(self.before, self.after, columns, DRAWN)

    def rows(self) -> Rows:
        """Return all records, or leave a measure out that needs them."""
        if not self.whole:
            raise LeftOut("it needs all records in memory; measure a part of the table")
        return self.drawn

    # Measures of the numbers that differ

    def _cells(self, measure: str) -> dict[str, dict[str, Any]]:
        """Return what is known of the cells with values on both sides, by column that differs."""
        self._refuse_infinite(self.changed_numeric)
        x, y = self.seen.paired
        found = {}
        for place, name in enumerate(self.changed_numeric):
            i = self.numeric.index(name)
            if x.n[i]:
                found[name] = {
                    "place": place,
                    "n": int(x.n[i]),
                    "mean": float(x.mean[i]),
                    "sd": float(x.sd[i]),
                    "largest": float(max(abs(x.low[i]), abs(x.high[i]))),
                    "constant": bool(x.low[i] == x.high[i]),
                    "flat": bool(y.low[i] == y.high[i]),
                    **{key: part[place].item() for key, part in self.compared.cells.items()},
                }
            elif measure == "interval_disclosure":
                say_no_values(name)
            else:
                leave_out(measure, name, "which has no values to compare")
        return found

    def _refuse_infinite(self, names: list[str]) -> None:
        for name in names:
            i = self.numeric.index(name)
            for side in self.seen.alone:
                if side.n[i]:
                    refuse_infinite(name, np.array([side.low[i], side.high[i]]))

    def interval_disclosure(self) -> Disclosure:
        """Interval disclosure of the numbers that differ."""
        cells = self._cells("interval_disclosure")
        shares = {name: own["close"] / own["n"] for name, own in cells.items()}
        return disclosure_of(shares, _each(cells, "n"))

    def il1s(self) -> Loss:
        """Mean absolute change of the numbers that differ."""
        cells = _moved(self._cells("il1s"))
        changes, spreads, counts = (_each(cells, key) for key in ("absolute", "sd", "n"))
        return il1s_of(changes, spreads, counts, normalize=True)

    def sse_ratio(self) -> Loss:
        """Squares lost in the numbers that differ, columns weighing alike."""
        cells = _moved(self._cells("sse_ratio"))
        total = {name: own["n"] - 1 if own["sd"] > 0 else 0.0 for name, own in cells.items()}
        return sse_ratio_of(_each(cells, "squares"), total)

    def il_metrics(self) -> MomentLoss:
        """Change of cells and moments of the numbers that differ."""
        cells = self._cells("il_metrics")
        same = ("relative", "used", "mean", "largest", "constant", "flat")
        changes = {
            name: CellChange(
                difference=own["difference"] / own["n"], **{key: own[key] for key in same}
            )
            for name, own in cells.items()
        }
        varied = [own["place"] for own in cells.values() if not own["constant"]]
        at = np.ix_(varied, varied)
        before, after = (
            second_moments_of(*(matrix[at] for matrix in side)) for side in self.compared.paired
        )
        return il_metrics_of(changes, (before, after) if varied else None)

    # Measures of all columns

    def correlations(self) -> tuple[list[str], np.ndarray, np.ndarray]:
        """Return the numbers that vary on both sides, and their correlations before and after."""
        varies = np.ones(len(self.numeric), dtype=bool)
        for side in self.seen.alone:
            varies &= (side.low < side.high) & np.isfinite(side.low) & np.isfinite(side.high)
        if not varies.any():
            return [], np.empty((0, 0)), np.empty((0, 0))
        at = np.ix_(varies, varies)
        before, after = (
            correlations_of(*second_moments_of(*(matrix[at] for matrix in side)))
            for side in self.compared.alone
        )
        return [c for c, known in zip(self.numeric, varies, strict=True) if known], before, after

    def mean_absolute_correlation(self) -> BeforeAfter:
        """Of all numbers."""
        self._refuse_infinite(self.numeric)
        names, before, after = self.correlations()
        for name in self.numeric:
            if name not in names:
                leave_out("mean_absolute_correlation", name, "which is constant")
        return mean_absolute_correlation_of(names, before, after)

    def entropy(self, columns: list[str]) -> BeforeAfter:
        """Bits of some columns."""
        return entropy_of({c: (self._bits(0, c), self._bits(1, c)) for c in columns})

    def _bits(self, side: int, column: str) -> float:
        """Entropy without the nulls."""
        if self.whole:
            codes, size = encode((self.drawn.before, self.drawn.after)[side][column], column)
            return bits_of(np.bincount(codes[codes >= 0], minlength=size))
        sizes, repeats = self.sizes(side, [column])
        # They are one of the classes.
        return bits_of(sizes, repeats - (sizes == self.nulls(side)[column]))

    def shown(self, measure: str, columns: list[str]) -> tuple[pa.Table, pa.Table]:
        """Return some columns of the records that are in memory, and say if these are a sample."""
        if (n := self.drawn.num_rows) < self.num_rows:
            warnings.warn(f"{measure} is of a sample of {n:,} of {self.num_rows:,}", stacklevel=2)
        return self.drawn.before.select(columns), self.drawn.after.select(columns)

    def null_rates(self) -> NullRates:
        """Count nulls, and the records that were suppressed or are not there.

        A suppressed record that is there has stars, which are no nulls, in the columns of the step
        that suppressed it, and nulls in the other quasi columns, which count as blanked: frames do
        not tell which records were suppressed.
        """
        seen, n = self.seen, self.before.num_rows
        left_out = n - self.num_rows
        kept = max(0, self.suppressed - left_out)
        steps = [step for step in self.recipe.steps if step.build().suppresses]
        # A step that is not known of has them in every quasi column.
        starred = {c for step in steps for c in step.columns} & set(self.quasi) or set(self.quasi)
        nulls, empty = (by_column(side, self.shared) for side in (seen.patterns[1], seen.empty))
        hidden = {c: kept * (c in starred) for c in self.quasi}
        now = {c: nulls[c] + left_out + hidden[c] for c in self.quasi}
        # Stars are counted as they are; who hands over a table may have left some out.
        with_stars = {c: max(empty[c], nulls[c] + hidden[c]) + left_out for c in self.quasi}
        of_nulls, of_any = (touching(side, self.quasi) for side in (seen.patterns[1], seen.empty))
        everywhere = kept * (len(starred) == len(self.quasi))
        records = of_nulls + everywhere
        counts: dict[Stars, Empty] = {
            "count": Empty(seen.quasi_empty, with_stars, max(of_any, records) + left_out),
            "value": Empty(seen.quasi_nulls, now, records + left_out),
        }
        cells = sum(len(columns) * count for columns, count in seen.blanked.items())
        lost = cells, touching(seen.blanked, self.quasi)
        return null_rates_of(n, counts, self.suppressed, lost)

    def moments(self, column: str) -> tuple[dict[str, Any], dict[str, Any]]:
        """Of the cells that are there."""
        i, found = self.numeric.index(column), []
        for side, (weights, sums) in zip(self.seen.alone, self.seen.weighted, strict=True):
            own = {
                "mean": float(side.mean[i]) if side.n[i] else None,
                "sd": float(side.sd[i]) if side.n[i] > 1 else None,
                "nulls": int(self.num_rows - side.n[i]),
            }
            if self.weighted and column != self.roles.weight:
                own["weighted_mean"] = float(sums[i] / weights[i]) if side.n[i] else None
            found.append(own)
        return found[0], found[1]


def perturbed_by(recipe: Recipe) -> dict[str, str]:
    """Return the columns that a step perturbs, and which."""
    return {
        column: f"step {number} ({step.method})"
        for number, step in enumerate(recipe.steps, start=1)
        if step.build().effect == "perturbs"
        for column in step.columns
    }


def _within(before: pa.ChunkedArray, after: pa.ChunkedArray) -> bool:
    known = pc.is_in(after.drop_null(), value_set=before.combine_chunks())
    return pc.all(known, min_count=0).as_py()


def _moved(cells: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Leave out columns that only have new blanks, which lessen the mean loss of the others."""
    return {name: own for name, own in cells.items() if own["absolute"] > 0} or cells


def _each(columns: dict[str, dict[str, Any]], key: str) -> dict[str, Any]:
    return {name: own[key] for name, own in columns.items()}
