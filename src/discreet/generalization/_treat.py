"""One table generalized: from columns to groups of tuples, to rounds, and back to columns."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.draws import Draws
from discreet.errors import BadInput
from discreet.generalization._alike import Alike, may_break
from discreet.generalization._by_tuple import Recoded
from discreet.generalization._groups import (
    ALL,
    Group,
    make_groups,
    of_group,
    records,
    tell_free,
    too_few,
    warn_suppressed,
    with_null,
)
from discreet.generalization._holdings import how_many, with_several
from discreet.generalization._match import Matching, check_units
from discreet.generalization._plan import describe_column, describe_group
from discreet.generalization._recode import Budget, Infeasible, Round, Settings, recode
from discreet.generalization._targets import bind_targets
from discreet.generalization._tuples import Tuples, collapse, lay_out, with_population
from discreet.generalization._united import Piece, united_quality
from discreet.generalization.by_class import BY_CLASS, Asked
from discreet.generalization.hierarchy import Hierarchy
from discreet.generalization.ladder import TOP, Ladder
from discreet.generalization.models import confidential_columns
from discreet.generalization.population import Counted, table_of
from discreet.generalization.privacy import bind, distribution, trees
from discreet.generalization.search import Certificate
from discreet.kernels.lattice import together
from discreet.plan import ColumnPlan, JointPlan


class Treatment:
    """What `Generalize` does to one table, given by its records or by its distinct tuples.

    `others` are the columns that the privacy models read; `weights` are the records of each row,
    one each by default, and `units` the unit of each, where k counts these; with `draws`, nodes are
    drawn. The masks `suppressed` and `unsafe` are by row, and `hierarchies` have what depends on
    the column settled. Without `decide` nothing is searched for yet: see `with_levels`.
    """

    def __init__(
        self,
        method: Any,
        columns: Mapping[str, Any],
        others: Mapping[str, pa.ChunkedArray],
        weights: np.ndarray | None = None,
        units: np.ndarray | None = None,
        draws: Draws | None = None,
        decide: bool = True,
    ) -> None:
        # Distinct values are looked for several times, which is quick where they are listed.
        columns = {name: _listed(column) for name, column in columns.items()}
        for name, column in columns.items():
            if len(column) and column.null_count == len(column):
                raise BadInput(f"column '{name}' holds only nulls")
        if weights is not None:
            weights = np.ascontiguousarray(weights, np.int64)
        self.method, self.columns, self.others, self.draws = method, columns, others, draws
        self.weights, self.units = weights, with_several(units, weights)
        self.names = list(columns)
        self.rows = len(next(iter(columns.values())))
        self.n = records(weights, self.rows)
        self.models = method.models
        # Where columns are only recoded, nulls are values like any other.
        self.null_policy = method.null_policy if self.models else "value"
        counted = [name for name in method.counted if name in others]
        self.bound = bind(
            self.models, others, self.rows, weights, self.units, self._refused(), counted, True
        )
        population = table_of(self.models)
        self.population = None if population is None else Counted.beside(population, columns)
        if self.population is not None:
            # Hierarchies must have a place for what the population holds, too.
            columns = self.population.columns
            mine = np.ones(self.rows, np.int64) if weights is None else weights
            weights = np.append(mine, np.zeros(len(self.population.counts), np.int64))
        given = {name: Hierarchy.from_spec(method.hierarchies[name]) for name in self.names}
        self.hierarchies = {
            name: h.settle(columns[name], name, weights) for name, h in given.items()
        }
        bare: list[Ladder] = []
        codes: list[np.ndarray] = []
        for name, hierarchy in self.hierarchies.items():
            ladder, of_row = hierarchy.bind_and_encode(columns[name], name, weights)
            bare.append(ladder)
            codes.append(of_row)
        nulls = np.array([c < 0 for c in codes])
        self.ladders = [
            with_null(ladder) if null.any() else ladder
            for ladder, null in zip(bare, nulls, strict=True)
        ]
        self.described = {
            name: describe_column(columns[name], name, ladder)
            for name, ladder in zip(self.names, bare, strict=True)
        }
        # The code after the last leaf is the null's.
        codes = [
            np.where(null, len(ladder.leaves), c).astype(np.int32) if null.any() else c
            for c, ladder, null in zip(codes, bare, nulls, strict=True)
        ]
        self.codes = [of_row[: self.rows] for of_row in codes]
        self.codes_beyond = [of_row[self.rows :] for of_row in codes]
        self.nulls, self.nulls_beyond = nulls[:, : self.rows], nulls[:, self.rows :]
        self.lattice = lay_out(self.ladders)
        self._tuples: dict[str, tuple[Tuples, np.ndarray]] = {}
        if decide:
            self._decide()

    def with_levels(self, levels: Mapping[str, int | list[int]], limit: float) -> Treatment:
        """Decide anew with other levels, and another share of records that may be suppressed."""
        other = copy(self)
        other.method = copy(self.method)
        other.method.levels, other.method.suppression_limit = levels, limit
        other._decide()
        return other

    def _decide(self) -> None:
        method, nulls, k = self.method, self.nulls, self.bound.rules.k
        self.suppressed, self.unsafe = np.zeros(self.rows, bool), np.zeros(self.rows, bool)
        self.certificates: list[Certificate] = []
        units_of = None if (units := self.units) is None else lambda rows: how_many(units[rows])
        self.groups = make_groups(
            nulls, self.null_policy, method.segregate, k, self.weights, units_of
        )
        if self.bound.rules.lowest > 0:
            self._refuse_uncovered()
        searched = [g for g in self.groups if g.treatment == "search" and g.size >= k]
        if not searched:
            many = f"k = {k}" if units is None else f"of k = {k} units"
            raise BadInput(
                f"neither the records with nulls nor those without are {many} or more that could "
                "be generalized; use null_policy = 'value', or a smaller k"
            )
        self.settings = Settings(
            self._asked(),
            float(method.suppression_limit),
            *self._range(ALL),
            method.round_share if method.local else None,
            self._matching(nulls) if self.null_policy == "match" else None,
            self.draws,
            bind_targets(self),
        )
        if method.time_limit is not None:
            self._warm_up(searched[0])
        self.budget = Budget(method.time_limit, method.evaluations, len(searched))
        self.done: list[_Done] = []
        refused: list[Infeasible] = []
        for group in self.groups:
            try:
                self.done.append(self._group(group, k))
            except Infeasible as error:
                refused.append(error)
        if refused:  # The limit must work for all groups.
            worst, *others = sorted(refused, key=lambda error: -error.works)
            raise worst.beside(others)
        if may_break(self.bound):
            self._suppress_alike()
        if self.unsafe.all():
            raise BadInput(
                f"all {self.n:,} records would be suppressed, and nothing would remain since they "
                "do not keep the privacy models together; weaken the models, or take another "
                "null_policy"
            )
        self._tell_gap()

    def _asked(self) -> Asked:
        """Return the quality model that is asked for, or refuse what it cannot be asked of."""
        method, rules = self.method, self.bound.rules
        target = None
        if method.quality == "classification":
            target = self._target()
        squares = -1
        if method.quality == "kl-divergence-by-record":
            # After the population, if that is counted.
            squares = len(rules.q) + (rules.population >= 0)
        if self.units is not None and method.quality in BY_CLASS:
            raise BadInput(
                f"quality = '{method.quality}' is of classes of records, and units are counted "
                "here; use 'loss' or 'entropy-based'"
            )
        figures = method.payout_figures
        if getattr(figures, "journalist", False) and rules.population < 0:
            raise BadInput(
                "a journalist finds a record among those of the population, and no privacy model "
                "names its table; name it in one, or set journalist = false in payout"
            )
        return Asked(
            method.quality,
            method.aggregate,
            [float((method.weights or {}).get(name, 1.0)) for name in self.names],
            float(method.suppression_factor),
            target,
            figures,
            squares,
            rules.population if getattr(figures, "journalist", False) else -1,
        )

    def _target(self) -> int | tuple[int, int]:
        """Return the number of the target's column, or its places among the values counted."""
        name = self.method.target
        if name in self.names:
            return self.names.index(name)
        j = self.bound.columns.index(name)
        first, last = self.bound.rules.offsets[j : j + 2]
        return int(first), int(last)

    def _matching(self, nulls: np.ndarray) -> Matching:
        """Judge by what records match, or refuse what cannot be judged so."""
        rules = self.bound.rules
        check_units(self.bound)
        if len(rules.profit) or self.method.quality == "kl-divergence-by-record":
            what = "profitability" if len(rules.profit) else f"quality = '{self.method.quality}'"
            raise BadInput(
                f"{what} goes by the records of a class, and null_policy = 'match' by those that "
                "it matches; use 'segregate' or 'value'"
            )
        if self.method.local and len(rules.kinds):
            raise BadInput(
                "null_policy = 'match' with local = true is for k-anonymity and distinct "
                "l-diversity: what one round adds to the matches of another may break other "
                "models; use local = false"
            )
        return Matching([bool(null.any()) for null in nulls], rules)

    def _warm_up(self, group: Group) -> None:
        """Search a few records, so that compiling takes nothing from the time limit."""
        rows = (np.arange(self.rows) if group.rows is None else group.rows)[:8]
        bound = self.bound.part(rows)
        tuples, _ = collapse(self.lattice, [c[rows] for c in self.codes], bound)
        recode(tuples, bound.rules, replace(self.settings, limit=1.0), Budget(None, 8), "")
        together(bound.rules, tuples.table, np.full(len(tuples.table.counts), True))

    def _tell_gap(self) -> None:
        """Warn where a budget ended a search before it had its proof.

        Rounds of local recoding have no optimum of all of them, and so many evaluations each.
        """
        if self.method.local and self.method.time_limit is None:
            return
        open_ended = [one.gap for one in self.certificates if one.gap > 0]
        if open_ended and (self.method.time_limit or self.method.evaluations):
            which = f"the search ended with a gap of {max(open_ended):.2%}"
            if len(self.certificates) > 1:
                # Each round and group has its own; the widest gap says nothing of the whole.
                which = f"{len(open_ended):,} of {len(self.certificates):,} searches ended early"
            warnings.warn(
                f"{which}, so that better levels may exist; give a longer time_limit or more "
                "evaluations, or fewer levels",
                stacklevel=2,
            )

    def _collapsed(self, group: Group) -> tuple[Tuples, np.ndarray]:
        """Return the tuples of a group, and the place there of each row; the same at all levels."""
        if group.name not in self._tuples:
            bound = self.bound.part(group.rows)
            weights = None if self.weights is None else group.of(self.weights)
            tuples, ids = collapse(self.lattice, [group.of(c) for c in self.codes], bound, weights)
            if self.population is not None:
                tuples = self._beside(tuples, group)
            self._tuples[group.name] = tuples, ids
        return self._tuples[group.name]

    def _group(self, group: Group, k: int) -> _Done:
        tuples, ids = self._collapsed(group)
        treatment = group.treatment
        if treatment == "search" and group.name != ALL and group.size < k:
            treatment = self.method.small_group
            if treatment == "suppress":
                warn_suppressed(group, too_few(k, self.units is not None))
        rounds: list[Round] = []
        if treatment == "search":
            who = "" if group.name == ALL else f" for the records {group.name}"
            tell_free(self.method.levels or {}, group.name)
            lo, hi = self._range(group.name)
            settings = replace(self.settings, lo=lo, hi=hi)
            rounds = recode(tuples, self.bound.rules, settings, self.budget, who)
        self.certificates += [one.certificate for one in rounds]
        left = np.full(len(tuples.table.counts), treatment != "append")
        for one in rounds:
            left[one.kept] = False
        done = _Done(replace(group, treatment=treatment), tuples, ids, rounds, left)
        # Records with nulls would match suppressed ones too, and so may break their models.
        self._settle(done, self.settings.matching is not None and len(self.bound.rules.kinds) > 0)
        return done

    def _settle(self, done: _Done, unsafe: bool = False) -> None:
        """Mark the suppressed rows of a group, and whether they are no class of their own."""
        left = done.left
        some = bool(left[done.tuples.table.counts > 0].any())
        alone = some and not together(self.bound.rules, done.tuples.table, left)
        done.unsafe = alone or (unsafe and some)
        rows = slice(None) if done.group.rows is None else done.group.rows
        self.suppressed[rows] = left[done.ids]
        self.unsafe[rows] = left[done.ids] & done.unsafe

    def _refused(self) -> str:
        """Say why models that count in a population are refused, if they are."""
        if self.units is not None:
            return "here units have several records, which it does not tell; use k-anonymity"
        if self.method.null_policy == "match":
            return "null_policy = 'match' counts what a record matches; use 'value' or 'segregate'"
        if self.method.local and any(getattr(m, "minimum", 0) > 0 for m in self.models):
            return (
                "with a minimum above 0 every class of it must have records at one node for all, "
                "which local recoding does not take; use local = false, or minimum = 0"
            )
        return ""

    def _refuse_uncovered(self) -> None:
        """Refuse records of the population that are in no group: none of the table is like them."""
        inside = np.any([group.takes(self.nulls_beyond) for group in self.groups], axis=0)
        if not inside.all():
            assert self.population is not None
            raise BadInput(
                f"{int(self.population.counts[~inside].sum()):,} records of the population have "
                "nulls where no record of the table has them, and delta-presence with a minimum "
                "above 0 forbids that; use segregate = 'any' or null_policy = 'value'"
            )

    def _beside(self, tuples: Tuples, group: Group) -> Tuples:
        """Count the population's records of a group in its tuples, and add those without records.

        The sample is part of the population.
        """
        assert self.population is not None
        rows = group.takes(self.nulls_beyond)
        codes, counts = [c[rows] for c in self.codes_beyond], self.population.counts[rows]
        rules = self.bound.rules
        made = with_population(tuples, codes, counts, rules.population)
        held = made.own(rules.population)
        lacking = int(np.maximum(made.table.counts - held, 0).sum())
        if lacking:
            said = (
                f"{lacking:,} of {tuples.n:,} records are not in the population: it has fewer with "
                "the same values than the table, though the table is a sample of it"
            )
            if rules.lowest > 0 or rules.highest < 1:
                raise BadInput(f"{said}, so that shares of it mean nothing; give it all of them")
            warnings.warn(f"{said}; classes are counted as if they were smaller", stacklevel=2)
        return made

    def _suppress_alike(self) -> None:
        """Suppress classes of several groups or rounds whose labels are the same, if they must go.

        That is where they break a model together. The suppressed records of all groups are a class
        too.
        """
        if len(self.certificates) == 1 and len(self.done) == 1:
            return
        labels = {name: self._labels(a) for a, name in enumerate(self.names)}
        alike = Alike.by_labels(self.bound, labels, self.weights)
        apart, used = np.full(self.rows, -1), 0
        for done in self.done:
            apart[slice(None) if done.group.rows is None else done.group.rows] = done.classes(used)
            used += sum(len(one.classes.counts) for one in done.rounds)
        gone = alike.broken(apart)
        if gone.any():
            warnings.warn(
                f"{records(self.weights, gone):,} more records are suppressed, since they break "
                "the privacy models together with records of the same labels; use "
                "null_policy = 'value', and local = false, to keep them",
                stacklevel=2,
            )
            for done in self.done:
                done.suppress(gone if done.group.rows is None else gone[done.group.rows])
                self._settle(done)
        stars = self.suppressed & ~self.unsafe
        if stars.any() and not alike.stars_hold((apart >= 0) & ~gone, stars):
            for done in self.done:
                self._settle(done, unsafe=True)

    def _range(self, group: str) -> tuple[list[int], list[int]]:
        """Return the lowest and the highest level of each column, in a group of records."""
        lo, hi = [], []
        for name, ladder in zip(self.names, self.ladders, strict=True):
            given = of_group((self.method.levels or {}).get(name), group)
            given = [0, ladder.height] if given is None else given
            pair = list(given) if isinstance(given, list | tuple) else [given, given]
            whole = all(isinstance(x, int | np.integer) and not isinstance(x, bool) for x in pair)
            if len(pair) != 2 or not whole or not 0 <= pair[0] <= pair[1] <= ladder.height:
                raise BadInput(
                    f"levels of '{name}' must be a level of 0 to {ladder.height}, or the lowest "
                    f"and the highest of a range, not {given!r}"
                )
            lo.append(int(pair[0]))
            hi.append(int(pair[1]))
        return lo, hi

    def quality(self) -> float:
        """Return the quality of the whole table."""
        if len(self.certificates) == 1 and len(self.done) == 1 and not self.method.local:
            return self.certificates[0].taken
        pieces = [piece for done in self.done for piece in done.pieces()]
        return united_quality(self.settings.quality, pieces)

    def recoded(self) -> Recoded:
        """Return the rows' labels and fates, and the plan."""
        labels = {name: self._labels(a) for a, name in enumerate(self.names)}
        fates = self.suppressed, self.unsafe, self._disclosed()
        plans, joint, figures, fixed = self._plan()
        return Recoded(labels, *fates, plans, joint, figures, fixed)

    def _plan(
        self,
    ) -> tuple[dict[str, ColumnPlan], JointPlan, dict[str, Any], dict[str, Any]]:
        """Return the columns' plans and the joint one, figures, and parameters for a rerun."""
        method = self.method
        confidential = {
            name: distribution(self.others[name], name, self.weights, self.units)
            for name in confidential_columns(self.models)
        }
        groups = [done.describe(self.names, self.ladders) for done in self.done]
        joint: JointPlan = {
            "kind": "generalize",
            "null_policy": self.null_policy,
            "hierarchies": self.described,
            "groups": groups,
            "confidential": confidential,
            "trees": trees(self.models, self.others),
        }
        if any(getattr(model, "population", None) is not None for model in self.models):
            joint["population"] = self._of_population()
        if len(self.bound.rules.profit):
            joint["leaves"] = dict(zip(self.names, map(int, self.lattice.domain), strict=True))
        searches = [one["levels"] for group in groups for one in group["rounds"]]
        plans: dict[str, ColumnPlan] = {
            name: {"kind": "generalize", "levels": [levels[name] for levels in searches]}
            | self._proposed(name)
            for name in self.names
        }
        figures: dict[str, Any] = {
            "null_policy": self.null_policy,
            "quality": {"model": method.quality, "value": float(self.quality())},
            "suppressed": records(self.weights, self.suppressed),
            "searches": [
                {"group": g["group"], "round": i, "rows": r["rows"], **r["certificate"]}
                | _told(one.trace)
                for g, done in zip(groups, self.done, strict=True)
                for i, (r, one) in enumerate(zip(g["rounds"], done.rounds, strict=True), start=1)
            ],
        }
        if not self.models:
            # Nothing was searched for.
            figures |= {"searches": [], "recoded": searches[0] if searches else {}}
        if "population" in joint:
            figures["population"] = joint["population"]
        if confidential:
            figures["classes_without_values"] = self._empty_classes()
        limited = method.time_limit is not None
        fixed = {"time_limit": None, "evaluations": self.budget.spent} if limited else {}
        if self.null_policy == "match":
            figures["exposed"] = self._exposed()
        return plans, joint, figures, fixed

    def _proposed(self, name: str) -> ColumnPlan:
        """Return the hierarchy that the column's values made of a rule, where they did."""
        given = Hierarchy.from_spec(self.method.hierarchies[name])
        made = self.hierarchies[name].spec
        return {} if given.listed is not None or given.spec == made else {"hierarchy": made}

    def _of_population(self) -> dict[str, int]:
        """Tell what a class needs in a sample of so many, and how many the population has."""
        n = self.n if self.units is None else how_many(self.units)
        told = {"records": n, "least": self.bound.rules.k}
        if self.population is not None:
            told["population"] = int(self.population.counts.sum())
        return told

    def _empty_classes(self) -> dict[str, int]:
        """Count the kept classes in which a confidential column has nulls alone."""
        offsets, looked_at = self.bound.rules.offsets, confidential_columns(self.models)
        found = dict.fromkeys(looked_at, 0)
        tables = [one.classes for done in self.done for one in done.rounds]
        for j, name in enumerate(self.bound.columns):
            for table in tables if name in looked_at else []:
                valued = Tuples(self.lattice, table).holds(offsets[j], offsets[j + 1])
                found[name] += int((~valued).sum())
        return found

    def _exposed(self) -> int:
        """Count the records whose own class has fewer than k records or units."""
        tables = [one.classes for done in self.done for one in done.rounds]
        sizes = [Tuples(self.lattice, table).sizes(self.bound.rules.units) for table in tables]
        few = [
            table.counts[size < self.bound.rules.k]
            for table, size in zip(tables, sizes, strict=True)
        ]
        return sum(int(counts.sum()) for counts in few)

    def _disclosed(self) -> np.ndarray | None:
        """Tell which records are released as they are."""
        raw = [done.group for done in self.done if done.group.treatment == "append"]
        rows = np.zeros(self.rows, bool)
        for group in raw:
            rows[slice(None) if group.rows is None else group.rows] = True
        return rows if raw else None

    def _labels(self, a: int) -> tuple[np.ndarray, pa.Array]:
        """Return the place of each row's label on a list of a column's labels, and that list."""
        texts = [label for level in self.ladders[a].labels for label in level]
        place = np.empty(self.rows, np.int32)
        for done in self.done:
            labels = done.labels(a, len(texts) - 1)[done.ids]
            if done.group.rows is None:
                place = labels
            else:
                place[done.group.rows] = labels
        assert texts[-1] == TOP
        return place, pa.array(texts, pa.string())


def _listed(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column with its distinct values as a dictionary."""
    return column if pa.types.is_dictionary(column.type) else column.dictionary_encode()


def _told(trace: dict[str, list[float]]) -> dict[str, Any]:
    """Return a search's course, where it had one."""
    return {"trace": trace} if len(set(trace["quality"])) > 1 else {}


class _Done:
    """A group, and what was done with it."""

    def __init__(
        self,
        group: Group,
        tuples: Tuples,
        ids: np.ndarray,
        rounds: list[Round],
        left: np.ndarray,
    ) -> None:
        self.group, self.tuples, self.ids, self.rounds = group, tuples, ids, rounds
        self.left, self.unsafe = left, False

    def classes(self, first: int) -> np.ndarray:
        """Return the class of each row, numbered from `first` on; -1 where it is in none."""
        of_tuple = np.full(len(self.left), -1)
        for one in self.rounds:
            of_tuple[one.kept] = one.class_of[one.class_of >= 0] + first
            first += len(one.classes.counts)
        return of_tuple[self.ids]

    def suppress(self, rows: np.ndarray) -> None:
        """Suppress the classes of some rows."""
        gone = np.zeros(len(self.left), bool)
        gone[self.ids[rows]] = True
        self.rounds = [one.without(gone[one.members], self.tuples.lattice) for one in self.rounds]
        self.left |= gone

    def describe(self, names: list[str], ladders: list[Ladder]) -> dict[str, Any]:
        """Return the group's part of the plan."""
        return describe_group(
            self.group, names, ladders, self.rounds, self.tuples, self.left, self.unsafe
        )

    def labels(self, a: int, top: int) -> np.ndarray:
        """Return the label of each tuple, as its place on the list of all levels' labels."""
        lattice = self.tuples.lattice
        leaves = self.tuples.codes(a)
        labels = leaves.copy()
        for one in self.rounds:
            level = one.levels[a]
            start = lattice.first[a, level] - lattice.first[a, 0]
            above = lattice.up[lattice.step[a, 0, level] :]
            labels[one.kept] = start + above[leaves[one.kept]]
        labels[self.left] = top
        return labels

    def pieces(self) -> list[Piece]:
        """Cut the group where levels change, and suppressed from kept."""
        pieces = []
        bottom = (0,) * self.tuples.d
        for one in self.rounds:
            chosen = np.zeros(len(self.left), bool)
            chosen[one.kept] = True
            if chosen.any():
                pieces.append(Piece(self.tuples.part(chosen), one.levels, True, one.classes.counts))
        if self.left[self.tuples.table.counts > 0].any():
            levels = self.rounds[-1].levels if self.rounds else bottom
            pieces.append(Piece(self.tuples.part(self.left), levels, False, np.empty(0, np.int64)))
        if self.group.treatment == "append":
            counts = self.tuples.table.counts
            pieces.append(Piece(self.tuples, bottom, True, counts[counts > 0]))
        return pieces
