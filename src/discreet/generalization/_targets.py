"""Models of the whole table at a node: which classes go, and how many records must go below it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from discreet.errors import BadInput
from discreet.generalization.ladder import TOP, Ladder
from discreet.generalization.targets import (
    ESTIMATORS,
    AverageRisk,
    PopulationUniqueness,
    of_whole_table,
    refuse_whole,
    size_for,
)
from discreet.kernels.lattice import Lattice, Table
from discreet.kernels.targets import least_out, taken_out

_NONE = np.empty(0, bool)


class Targets:
    """Models of the whole table, bound to one of n records.

    `quality`, `aggregate` and `weights` say what a class loses, by which those of one size go.
    """

    def __init__(
        self,
        models: Sequence[Any],
        n: int,
        ladders: Sequence[Ladder],
        quality: str,
        aggregate: str,
        weights: Sequence[float],
    ) -> None:
        self.quality, self.aggregate, self.weights = quality, aggregate, weights
        self.average, under, asked = 1.0, [], []
        for model in of_whole_table(models):
            if isinstance(model, PopulationUniqueness):
                kind = ESTIMATORS.index(model.estimator)
                asked.append((kind, model.share, model.people(n)))
            elif isinstance(model, AverageRisk):
                self.average = min(self.average, model.average)
                if model.highest is not None:
                    under.append((size_for(model.highest), model.records or 0.0))
            else:
                under.append((2, model.share))
        self.ks = np.array([k for k, _ in under], np.int64)
        self.shares = np.array([share for _, share in under], np.float64)
        kinds, mosts, people = zip(*asked, strict=True) if asked else ((), (), ())
        self.asked = np.array(kinds, np.int64), np.array(mosts, float), np.array(people, float)
        self._find_stars(ladders)

    @property
    def is_estimated(self) -> bool:
        """True where the population's uniques are bounded."""
        return len(self.asked[0]) > 0

    def judge(
        self, lattice: Lattice, table: Table, node: np.ndarray, out: np.ndarray, most: int
    ) -> np.ndarray:
        """Return the records that go by class, whereof other models make `out` go.

        Of classes as large as the last that go, those are taken that lose least, unless more than
        `most` records go anyway.
        """
        stars = self._stars(lattice, table, node)
        gone = (out > 0) | stars if len(stars) else out > 0
        size, many = taken_out(table.counts, gone, self.average, self.ks, self.shares, *self.asked)
        smaller = ~gone & (table.counts < size)
        out = np.where(smaller, table.counts, out)
        if many:
            same = np.flatnonzero(~gone & (table.counts == size))
            if many < len(same) and out.sum() + many * size <= most:
                same = same[np.argsort(self._losses(lattice, table, node, same), kind="stable")]
            out[same[:many]] = size
        return out

    def least(self, lattice: Lattice, table: Table, node: np.ndarray, sure: np.ndarray) -> int:
        """Return how many records go at every finer node, whereof `sure` go by class anyway."""
        if not self.nested:
            return int(sure.sum())
        stars = self._stars(lattice, table, node)
        return int(least_out(table.counts, sure, stars, self.average, self.ks, self.shares))

    def _losses(
        self, lattice: Lattice, table: Table, node: np.ndarray, classes: np.ndarray
    ) -> np.ndarray:
        """Return what some classes of one size lose, as far as that tells them apart."""
        if self.quality not in ("loss", "entropy-based"):
            return np.zeros(len(classes))
        size = table.counts[classes[0]]
        found = np.full(len(classes), 1.0 if self._multiplies else 0.0)
        for a, level in enumerate(node):
            words = table.keys[lattice.word[a], classes]
            code = ((words >> lattice.shift[a]) & lattice.mask[a]).astype(np.int64)
            share = lattice.leaves[lattice.first[a, level] + code] / lattice.domain[a]
            lost = share if self.quality != "loss" else self.weights[a] * size * share
            if self.quality != "loss":
                found *= lost
            elif self.aggregate == "geometric":
                found *= 1 + lost
            elif self.aggregate == "max":
                found = np.maximum(found, lost)
            else:
                found += lost
        return found

    @property
    def _multiplies(self) -> bool:
        return self.quality != "loss" or self.aggregate == "geometric"

    def _find_stars(self, ladders: Sequence[Ladder]) -> None:
        """Learn which labels are `*`: by column and level, in the order of a lattice's leaves."""
        self.is_star: list[list[np.ndarray]] = [
            [np.array([label == TOP for label in labels]) for labels in ladder.labels]
            for ladder in ladders
        ]
        # What is * at a level is so above, and a bound may rely on that.
        self.nested = True
        for ladder, levels in zip(ladders, self.is_star, strict=True):
            for below, above, low, high in zip(
                ladder.maps, ladder.maps[1:], levels, levels[1:], strict=False
            ):
                self.nested &= bool(high[above[low[below]]].all())

    def _stars(self, lattice: Lattice, table: Table, node: np.ndarray) -> np.ndarray:
        """Tell which classes show * in every column; empty where none does."""
        of_level = [levels[v] for levels, v in zip(self.is_star, node, strict=True)]
        if not all(stars.any() for stars in of_level):
            return _NONE
        found = np.full(len(table.counts), True)
        for a, stars in enumerate(of_level):
            code = (table.keys[lattice.word[a]] >> lattice.shift[a]) & lattice.mask[a]
            found &= stars[code.astype(np.int64)]
        return found if found.any() else _NONE


def bind_targets(treatment: Any) -> Targets | None:
    """Bind the models of the whole table that a treatment has, or say why it cannot have them."""
    models, method = treatment.models, treatment.method
    if not of_whole_table(models):
        return None
    if treatment.units is not None:
        refuse_whole(
            models,
            "counts records; use largest-risk or k-anonymity where units are counted",
        )
    if treatment.null_policy == "match":
        refuse_whole(
            models,
            "under null_policy = 'match' classes overlap; use 'value' or 'suppress'",
        )
    targets = Targets(
        models,
        treatment.n,
        treatment.ladders,
        method.quality,
        method.aggregate,
        [float((method.weights or {}).get(name, 1.0)) for name in treatment.names],
    )
    searched = sum(group.treatment == "search" for group in treatment.groups)
    if targets.is_estimated and (method.local or searched > 1):
        what = (
            "local = true decides on parts of it; use local = false"
            if method.local
            else "null_policy = 'segregate' decides on the records with nulls apart; use 'value' "
            "or 'suppress'"
        )
        raise BadInput(f"population-uniqueness is estimated for the whole table, and {what}")
    return targets
