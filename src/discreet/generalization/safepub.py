"""SafePub: a full-domain generalization of a random sample that is differentially private."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, ClassVar, Literal

import numpy as np
import pyarrow as pa

from discreet.chance import Chance
from discreet.draws import Draws
from discreet.errors import BadInput, nearest
from discreet.generalization._budget import DOWN, WORDS, least_class, sampled_below
from discreet.generalization._by_tuple import labelled
from discreet.generalization._groups import with_null
from discreet.generalization._plan import describe_column
from discreet.generalization._private_search import Levels, Score, Scores, collapsed, draw_levels
from discreet.generalization._released import released
from discreet.generalization._tuples import number_tuples, places
from discreet.generalization.hierarchy import Hierarchy
from discreet.generalization.ladder import Ladder
from discreet.method import RowBound, as_arrow, private_in_words, unit_codes
from discreet.outcome import Given, Outcome
from discreet.parameters import Constraints, number, whole
from discreet.plan import ColumnPlan, JointPlan

# What chance decides, each by draws of its own.
_SAMPLE, _SCORED, _LEVELS = range(3)
# Less than this is nothing, and would sample nobody.
_LEAST = Decimal("1e-9")
# What must be told of a rule, so that its labels do not depend on the table.
_SETTLED = {
    "order": ("values",),
    "prefix": ("stars", "keep"),
    "intervals": ("whole",),
}


class SafePub(RowBound):
    """Release a random sample, generalized, without classes that are too small: (epsilon, delta).

    The result is differentially private: whether any one record is in the table or not, each set of
    possible releases is at most exp(epsilon) times as likely, but for delta. Its records are true
    ones, though coarser. The share that is sampled, and the number of records below which a class
    is suppressed, follow from epsilon and delta.

    Parameters
    ----------
    hierarchies : mapping of str to Hierarchy or dict
        Of every column: the promise is about whole records, so that none may be released beside.
    epsilon : float
        What is spent on the whole release.
    delta : float
        The chance that the promise may be missed by; well below 1 / the number of records.
    levels : mapping of str to int, optional
        The level of each column, chosen without looking at the table. Where it is left out, levels
        are drawn by the exponential mechanism.
    epsilon_search : float, optional
        The part of epsilon that is spent on drawing levels.
    quality : {"loss", "precision", "nue", "average-class"}
        The score of levels that are drawn.
    steps : int
        Of the search that draws levels, from the coarsest ones down; they share its budget.
    null_policy : {"value"}
        A null is one more value.
    random_state : int, RandomState instance or None
        None takes a fresh secret. Whoever knows the state knows the sample, and nothing is private.

    Attributes
    ----------
    k_ : int
        The least number of records of a released class.
    beta_ : float
        The probability with which a record is sampled.
    levels_ : dict of str to int
    ledger_ : dict
        What was spent: `epsilon`, `epsilon_anon`, `epsilon_search` and `delta`.
    suppressed_mask_ : ndarray of bool
        Records that are not released, since they were not sampled or are of too small a class.
    plan_ : dict

    See Also
    --------
    Generalize : the best levels for a number of records per class, and no random sample.

    Notes
    -----
    Two tables are neighbours where one has a record more than the other. Where a person has several
    records, the promise is about each of them, and not about the person. The columns of the table,
    their types and the hierarchies are taken as known to everybody.

    What is given back has a row for each row of the table, as all transformers do, and rows that
    are not released are empty. Their number and their places must not be published: leave them out,
    and put the others in random order, as `Release.save` does.

    R. Bild, K. Kuhn and F. Prasser, "SafePub: a truthful data anonymization algorithm with strong
    privacy guarantees", Proceedings on Privacy Enhancing Technologies 2018.

    Examples
    --------
    >>> import pandas as pd
    >>> from discreet.generalization import Hierarchy
    >>> people = pd.DataFrame({"age": [31, 34, 38, 52, 57, 59] * 40, "sex": ["f", "m", "m"] * 80})
    >>> method = SafePub(
    ...     {
    ...         "age": Hierarchy.intervals(widths=[10, 20], whole=True),
    ...         "sex": Hierarchy.groups({"any": ["f", "m"]}),
    ...     },
    ...     epsilon=1,
    ...     delta=1e-4,
    ...     levels={"age": 2, "sex": 2},
    ...     random_state=5,
    ... )
    >>> method.fit_transform(people).value_counts()
    age    sex
    40-59  *      77
    20-39  *      74
    Name: count, dtype: int64
    >>> method.k_, round(method.beta_, 4)
    (47, 0.6321)
    """

    recipe_name: ClassVar[str] = "safepub"
    anew: ClassVar[str] = "its records are sampled anew, and its budget is spent anew"
    needs: ClassVar[Literal["numeric", "mixed", "any"]] = "any"
    is_random: ClassVar[bool] = True
    private: ClassVar[bool] = True
    suppresses: ClassVar[bool] = True
    promise: ClassVar[str] = "safepub"
    in_words: ClassVar[str] = (
        "values are replaced by coarser ones, of a random sample of the records; those of rare "
        "combinations are left out"
    )
    caveat: ClassVar[str] = (
        "records are a random sample, without those of rare combinations of labels: shares are "
        "off by chance, rare combinations are missing, and totals cannot be had; labels stand for "
        "several values, and * for any"
    )
    published: ClassVar[tuple[str, ...]] = (
        "epsilon",
        "delta",
        "levels",
        "epsilon_search",
        "quality",
        "steps",
        "null_policy",
    )
    constraints: ClassVar[Constraints] = {
        "epsilon": number(least=1e-6, most=10),
        "delta": number(above=0, below=1),
        "epsilon_search": number(above=0, optional=True),
        "levels": whole(0, called="the level of '{column}'", optional=True, only_by_column=True),
        "steps": whole(1),
    }

    def __init__(
        self,
        hierarchies: dict[str, Hierarchy],
        epsilon: float,
        delta: float,
        levels: dict[str, int] | None = None,
        epsilon_search: float | None = None,
        quality: Score = "loss",
        steps: int = 100,
        null_policy: Literal["value"] = "value",
        random_state: Any = None,
    ) -> None:
        self.hierarchies = hierarchies
        self.epsilon = epsilon
        self.delta = delta
        self.levels = levels
        self.epsilon_search = epsilon_search
        self.quality = quality
        self.steps = steps
        self.null_policy = null_policy
        self.random_state = random_state

    @property
    def nulls_in_words(self) -> str:
        """A null is a value."""
        return "a null is one more value"

    @property
    def meaning(self) -> str:
        """What epsilon and delta mean for a person."""
        return private_in_words(self.epsilon, self.delta)

    @property
    def bound_to_memory(self) -> str | None:
        """Rows are sampled one by one before they are counted."""
        return "it samples the rows one by one before it counts them"

    @property
    def ledger(self) -> dict[str, Decimal]:
        """What is spent, as it was written: on the classes, on the levels, and in all."""
        search = _exactly(self.epsilon_search or 0)
        whole, delta = _exactly(self.epsilon), _exactly(self.delta)
        return {
            "epsilon": whole,
            "epsilon_anon": DOWN.subtract(whole, search),
            "epsilon_search": search,
            "delta": delta,
        }

    def check_params(self) -> None:
        """Refuse levels that are both given and drawn, and hierarchies that the table makes."""
        super().check_params()
        if not isinstance(self.hierarchies, Mapping) or not self.hierarchies:
            raise BadInput("hierarchies is empty; give one for each column")
        if (self.levels is None) == (self.epsilon_search is None):
            raise BadInput(
                "give levels, chosen without looking at the table, or epsilon_search, the part of "
                "epsilon that is spent on drawing them" + ", not both" * (self.levels is not None)
            )
        if self.epsilon_search is not None and self.ledger["epsilon_anon"] < _LEAST:
            raise BadInput(
                f"epsilon_search = {self.epsilon_search:g} leaves nothing of epsilon = "
                f"{self.epsilon:g} for the classes; spend less on drawing levels"
            )
        for name, one in self.hierarchies.items():
            _refuse_learned(name, Hierarchy.from_spec(one), self.levels is None)

    def fit_transform(self, X: Any, y: Any = None, units: Any = None) -> Any:
        """Sample and generalize a table; rows that are not released come back empty.

        Parameters
        ----------
        X : pandas, polars or pyarrow table, or array
        y : ignored
        units : array of shape (n_samples,), optional
            The person of each row, none of whom may have several.
        """
        table = as_arrow(self, X, reset=True)
        self.check_params()
        columns = {name: table[name] for name in table.column_names}
        codes = unit_codes(units, table.num_rows)
        outcome = self.run(columns, self._draws, units=codes)
        self._learned(outcome)
        assert outcome.suppressed is not None
        return released(X, table, outcome.columns, outcome.suppressed)

    def _learned(self, outcome: Outcome) -> None:
        super()._learned(outcome)
        self.k_, self.levels_ = outcome.joint["k"], outcome.joint["levels"]
        self.beta_ = int(outcome.joint["words"]) / WORDS
        self.ledger_ = outcome.joint["ledger"]
        self.suppressed_mask_ = outcome.suppressed

    def _run(self, given: Given) -> Outcome:
        """Sample the records, choose levels, and suppress the classes that are too small."""
        names = list(given.columns)
        self.check_treated(names)
        several = given.units is not None and np.bincount(given.units).max(initial=0) > 1
        if several or given.linked is not None:
            raise BadInput(
                "the promise of safepub is about single records, and units have several here; "
                "release one record of each"
            )
        listed = [_listed(given.columns[name]) for name in names]
        coded = [self._encoded(column, name) for name, column in zip(names, listed, strict=True)]
        ladders, codes = [one for one, _ in coded], [one for _, one in coded]
        done = self._treat(names, ladders, codes, given.draws(names[0]).apart())
        columns = {
            name: _labels(ladder, of_row, level, done.kept)
            for name, ladder, of_row, level in zip(names, ladders, codes, done.levels, strict=True)
        }
        levels = dict(zip(names, done.levels, strict=True))
        spent = {name: float(amount) for name, amount in self.ledger.items()}
        joint: JointPlan = {
            "kind": "safepub",
            "k": done.k,
            "words": str(done.words),
            "ledger": spent,
            "levels": levels,
            "null_policy": self.null_policy,
            "rows": len(done.kept),
            "sampled": int(done.sizes.sum()),
            "sizes": np.sort(done.sizes[done.sizes >= done.k])[::-1],
            "hierarchies": {
                name: describe_column(column, name, _without_null(ladder))
                for name, column, ladder in zip(names, listed, ladders, strict=True)
            },
        }
        plans: dict[str, ColumnPlan] = {
            name: {"kind": "safepub", "levels": [level]} for name, level in levels.items()
        }
        figures = {
            "ledger": spent,
            "meaning": self.meaning,
            "k": done.k,
            "beta": done.words / WORDS,
            "sampled": int(done.sizes.sum()),
            "suppressed": int((~done.kept).sum()),
        }
        figures |= {"levels_scored": done.scored} if done.scored else {}
        return Outcome(columns, plans, joint, ~done.kept, ~done.kept, figures)

    def _treat(
        self, names: list[str], ladders: list[Ladder], codes: list[np.ndarray], draws: Draws
    ) -> Treated:
        """Decide which rows of codes are released, at which levels."""
        ledger = self.ledger
        anonymous = ledger["epsilon_anon"]
        k, words = least_class(anonymous, ledger["delta"]), sampled_below(anonymous)
        levels, scored = self._levels(names, ladders, codes, k, words, draws)
        sampled = _sample(len(codes[0]), words, draws.part(_SAMPLE))
        rows = np.flatnonzero(sampled)
        classes, sizes = _classes(ladders, levels, [of_row[rows] for of_row in codes])
        kept = sampled.copy()
        kept[sampled] = (sizes >= k)[classes]
        return Treated(k, words, levels, kept, sizes, scored)

    def _levels(
        self,
        names: list[str],
        ladders: list[Ladder],
        codes: list[np.ndarray],
        k: int,
        words: int,
        draws: Draws,
    ) -> tuple[Levels, int]:
        """Return the levels, given or drawn, and how many combinations of them were scored."""
        heights = tuple(ladder.height for ladder in ladders)
        if self.levels is not None:
            for name, height in zip(names, heights, strict=True):
                if self.levels[name] > height:
                    raise BadInput(
                        f"the level of '{name}' is {self.levels[name]}, but its hierarchy ends at "
                        f"{height}"
                    )
            return tuple(int(self.levels[name]) for name in names), 0
        n = len(codes[0])
        sampled = _sample(n, words, draws.part(_SCORED))
        tuples, _ = collapsed(ladders, [of_row[sampled] for of_row in codes])
        scores = Scores(self.quality, tuples, ladders, n, k)
        budget, chance = Fraction(self.ledger["epsilon_search"]), Chance(draws.part(_LEVELS))
        return draw_levels(scores.of, heights, budget, self.steps, chance)

    def _encoded(self, column: pa.ChunkedArray, name: str) -> tuple[Ladder, np.ndarray]:
        """Return a column's ladder with a null as the last leaf, and the leaf of each row."""
        hierarchy = Hierarchy.from_spec(self.hierarchies[name])
        ladder, codes = hierarchy.bind_and_encode(column, name)
        null = np.int32(len(ladder.leaves))
        return with_null(ladder), np.where(codes < 0, null, codes).astype(np.int32)

    def check_treated(self, columns: Sequence[str]) -> None:
        """Refuse columns outside the scheme."""
        for name in columns:
            if name not in self.hierarchies:
                raise BadInput(
                    f"column '{name}' has no hierarchy, and the promise of safepub is about whole "
                    "records; give it one under hierarchies, or leave the column out"
                )
            if self.levels is not None and name not in self.levels:
                raise BadInput(f"levels has none for column '{name}'; give each column its level")
        for parameter in ("hierarchies", "levels"):
            for name in getattr(self, parameter) or ():
                if name not in columns:
                    raise BadInput(
                        f"{parameter} names '{name}', which is not treated; "
                        + nearest(name, columns)
                    )


@dataclass(frozen=True)
class Treated:
    """What was decided: the least class, the words that sample, levels, and the rows released."""

    k: int
    words: int
    levels: Levels
    kept: np.ndarray
    sizes: np.ndarray  # of all classes of the sample
    scored: int


def _listed(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column with its distinct values as a dictionary, which are then found quickly."""
    return column if pa.types.is_dictionary(column.type) else column.dictionary_encode()


def _exactly(amount: float) -> Decimal:
    """Return a number as it was written."""
    return Decimal(repr(float(amount)))


def _sample(n: int, words: int, draws: Draws) -> np.ndarray:
    """Sample each of n rows with a probability of words / 2^64, exactly."""
    return draws.words(np.arange(n)) < np.uint64(words)


def _classes(
    ladders: list[Ladder], levels: Levels, codes: list[np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """Return the class of each row at some levels, and the sizes of all classes."""
    at = [ladder.maps[level] for ladder, level in zip(ladders, levels, strict=True)]
    word, shift, _ = places([len(ladder.leaves) for ladder in ladders])
    labels = [of_leaf[of_row] for of_leaf, of_row in zip(at, codes, strict=True)]
    _, ids, first = number_tuples(labels, word, shift)
    return ids, np.bincount(ids, minlength=len(first))


def _labels(ladder: Ladder, codes: np.ndarray, level: int, kept: np.ndarray) -> pa.ChunkedArray:
    """Return the labels of the records that are kept, and nulls for the others."""
    texts = pa.array([*ladder.labels[level], None], pa.string())
    return labelled(np.where(kept, ladder.maps[level][codes], len(texts) - 1), texts)


def _without_null(ladder: Ladder) -> Ladder:
    below = [level[:-1] for level in ladder.labels[:-1]]
    return Ladder(ladder.leaves[:-1], [*below, ladder.labels[-1]], ladder.maps[:, :-1])


def _refuse_learned(name: str, hierarchy: Hierarchy, searched: bool) -> None:
    """Refuse a hierarchy that depends on the table, or whose shares do where levels are drawn."""
    spec = hierarchy.spec
    kind = spec["kind"]
    open_ = _SETTLED.get(kind, ())
    if kind == "auto" or (open_ and all(spec.get(key) is None for key in open_)):
        what = f"give its {' or '.join(open_)}" if open_ else "write it down"
        raise BadInput(
            f"the hierarchy of '{name}' (kind {kind}) would be made from the table, which tells of "
            f"its records; {what}"
        )
    if searched and hierarchy.listed is None:
        raise BadInput(
            f"the hierarchy of '{name}' (kind {kind}) does not list its values, and levels are "
            "scored by their shares among these; list them, as kinds csv, table and groups do, or "
            "give levels"
        )
