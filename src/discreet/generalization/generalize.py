"""Full-domain generalization with a proven optimum."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from discreet.draws import Draws
from discreet.errors import BadInput, nearest
from discreet.generalization._base import Recoding
from discreet.generalization._by_tuple import Recoded
from discreet.generalization._groups import ALL, WITHOUT, NullPolicy, Segregate, SmallGroup
from discreet.generalization._plan import apply, levels_of
from discreet.generalization._released import Judge, released
from discreet.generalization._treat import Treatment
from discreet.generalization.hierarchy import Hierarchy
from discreet.generalization.linked import LinkedTreatment
from discreet.generalization.models import PrivacyModel
from discreet.generalization.profit import PayoutFigures, attacks_of, read_payout
from discreet.generalization.quality import WEIGHABLE, Aggregate, QualityName
from discreet.method import as_arrow, unit_codes
from discreet.outcome import Given, Outcome
from discreet.parameters import Constraints, Rule, as_float, number, whole
from discreet.table.classes import check_columns


class Generalize(Recoding):
    """Replace values by coarser ones, every value of a column at the same level of its hierarchy.

    Of all combinations of levels (the nodes of a lattice) it takes the one that loses least by a
    quality model while the records whose class breaks a privacy model, and which are suppressed,
    are within a limit. The result is the optimum, with a certificate.

    Where `fit` is given units, the models count these and not records; suppression and quality
    are of records in any case.

    Parameters
    ----------
    hierarchies : mapping of str to Hierarchy or dict
        Of each column that is to be treated.
    privacy : privacy model or list of them, optional
        Such as `KAnonymity(5)`; every class keeps all of them. Without any, columns are recoded to
        the one level that `levels` names for each of them: nothing is promised, no record is
        suppressed, and nulls stay nulls below the top.
    quality : str
        What is minimised: `"loss"`, `"precision"`, `"nue"`, `"nnue"`, `"discernibility"`,
        `"ambiguity"`, `"average-class"`, `"entropy-based"`, `"kl-divergence"` (or
        `"kl-divergence-by-record"`), `"classification"`, with a `target`, or `"payout"`; or what
        the levels cost, whatever is suppressed: `"precision-of-levels"`, `"nue-of-levels"`,
        `"height"`.
    aggregate : {"geometric", "sum", "max", "mean", "rank"}
        How loss is put together from the losses of the columns; `"rank"` is the largest, and where
        these tie the next largest, and so on.
    suppression_limit : float
        Largest share of records that may be suppressed, in each group.
    null_policy : {"segregate", "value", "suppress", "match"}
        Records with a null in a treated column are generalized apart from the others; a null is one
        more value; such records are suppressed; or a null matches any value (no more than a
        wildcard: what a record matches keeps the models, though its own class may be smaller than
        k or less diverse).
    segregate : {"any", "pattern"}
        Under `"segregate"`: one group of records with nulls, or one for each set of columns that
        are null, sets with too few records together.
    weights : mapping of str to float, optional
        What a column's loss is multiplied by; 1 where it is not named.
    suppression_factor : float
        Of 0 to 1: below 0.5 suppression costs less, down to nothing, and above it generalization
        does. For loss, precision, average-class, entropy-based and classification.
    target : str, optional
        The column whose prediction is to survive, for `quality = "classification"`. Where it is
        treated itself, its label is predicted from those of the other columns.
    payout : Payout or dict, optional
        What an attack costs and gains, and what a record is worth, for `quality = "payout"`; those
        of the profitability model where it is among the privacy models.
    levels : mapping of str to int or [int, int], optional
        The level of a column, or the lowest and the highest that it may have. Or, as a mapping,
        its level in each group of records: `{"without nulls": 1, "with nulls": 2}`.
    local : bool
        By default each column has one level for all records. If True, records are recoded in
        rounds, and each round has levels of its own: most records stay finer, and the same column
        has labels of several levels. A round takes the levels at which a record that it keeps
        costs least on average by the quality model; what it does not keep is left to the next
        round. (`"nue"` and `"nnue"`: by label, what all of its records lose on average.
        `"discernibility"` and `"average-class"` know no cost of a single record: each round
        minimises them with suppression at its price.) The limit is for what is left in the end:
        the last rounds are taken back and done by one node where it would be exceeded.
    round_share : float
        Smallest share of all records that a round of local recoding keeps, or a tenth of those
        that are left where that is fewer, and k at least; half of it, and so on, where no node
        keeps so many. Smaller shares lose less and take longer.
    time_limit : float, optional
        Seconds after which the search for levels stops and takes the best so far; the certificate
        tells how far it may be from the optimum.
    evaluations : int or list of int, optional
        Combinations of levels to try before the search stops and takes the best so far: as
        `time_limit`, but the same on every machine. A list has one for each search, such as each
        round of local recoding; by default the search goes on until the best is proven.
    small_group : {"suppress", "append"}
        What becomes of a group that has fewer records than k: suppressed, or released as it is.
    allow_disclosure : bool
        Must be True for `"append"`.
    publish_minimal : bool
        False: the node is drawn among all that keep the models and the limit, with a chance that
        falls as exp(-quality / scale). Who knows that the best node is published also knows that
        all better ones break a model, and may learn from that; the certificate tells what the
        draw costs. The scale is a third of what one level costs on average. Levels that group a
        column's values alike count as one, and share its chance.
    random_state : int, RandomState instance or None
        Of the draw; None takes a fresh secret.

    Attributes
    ----------
    levels_ : list of dict
        Of each search: `group`, `round`, `levels` by column, and `rows` that took part.
    quality_ : float
        Of the whole table; lower is better.
    suppressed_ : int
    suppressed_mask_ : ndarray of bool
    unsafe_mask_ : ndarray of bool
        Suppressed records that are too few, or too alike, to stay as a class of their own.
    certificate_ : Certificate or list of Certificate
        What each search proved; a list where there were several.
    plan_ : dict

    See Also
    --------
    Mondrian : ranges that differ from class to class.

    Examples
    --------
    >>> import pandas as pd
    >>> from discreet.generalization import Hierarchy, KAnonymity
    >>> people = pd.DataFrame({
    ...     "age": [31, 34, 38, 52, 57, 59],
    ...     "zip": ["10115", "10117", "10119", "10115", "10115", "10119"],
    ... })
    >>> method = Generalize(
    ...     {"age": Hierarchy.intervals(widths=[10, 20]), "zip": Hierarchy.prefix(stars=[1, 3])},
    ...     KAnonymity(3),
    ... )
    >>> method.fit_transform(people)
         age    zip
    0  30-39  1011*
    1  30-39  1011*
    2  30-39  1011*
    3  50-59  1011*
    4  50-59  1011*
    5  50-59  1011*
    >>> print(method.certificate_)
    0.67332 is the optimum, proven with 14 of 16 nodes evaluated
    """

    recipe_name: ClassVar[str] = "generalize"
    budgets: ClassVar[tuple[str, ...]] = ("time_limit", "evaluations")
    in_words: ClassVar[str] = (
        "values are replaced by coarser ones; * stands for any value, and for suppressed records"
    )
    constraints: ClassVar[Constraints] = {
        "suppression_limit": number(least=0, most=1, wanted="a share of 0 to 1"),
        "suppression_factor": number(least=0, most=1, wanted="a number of 0 to 1"),
        "round_share": number(least=0, most=1, wanted="a share of 0 to 1"),
        "weights": number(
            least=0, called="the weight of '{column}'", optional=True, only_by_column=True
        ),
        "time_limit": Rule(
            wanted="a number of seconds", good=lambda x: as_float(x) > 0, optional=True
        ),
        "evaluations": whole(1, or_list="a whole number, or one each search", optional=True),
    }

    def __init__(
        self,
        hierarchies: dict[str, Hierarchy],
        privacy: list[PrivacyModel] | None = None,
        quality: QualityName = "loss",
        aggregate: Aggregate = "geometric",
        suppression_limit: float = 0.05,
        null_policy: NullPolicy = "segregate",
        segregate: Segregate = "any",
        weights: dict[str, float] | None = None,
        levels: dict[str, int | list[int] | dict[str, int]] | None = None,
        local: bool = False,
        round_share: float = 0.01,
        time_limit: float | None = None,
        evaluations: int | list[int] | None = None,
        small_group: SmallGroup = "suppress",
        allow_disclosure: bool = False,
        publish_minimal: bool = True,
        random_state: Any = None,
        suppression_factor: float = 0.5,
        target: str | None = None,
        payout: PayoutFigures | None = None,
    ) -> None:
        self.hierarchies = hierarchies
        self.privacy = privacy
        self.quality = quality
        self.aggregate = aggregate
        self.suppression_limit = suppression_limit
        self.null_policy = null_policy
        self.segregate = segregate
        self.weights = weights
        self.levels = levels
        self.local = local
        self.round_share = round_share
        self.time_limit = time_limit
        self.evaluations = evaluations
        self.small_group = small_group
        self.allow_disclosure = allow_disclosure
        self.publish_minimal = publish_minimal
        self.random_state = random_state
        self.suppression_factor = suppression_factor
        self.target = target
        self.payout = payout

    @property
    def models(self) -> list[Any]:
        """The privacy models; none where columns are only recoded."""
        return super().models if self.privacy else []

    @property
    def counted(self) -> list[str]:
        """The target, where it is not treated itself."""
        return [] if self.target is None or self.target in self.hierarchies else [self.target]

    @property
    def reads(self) -> Sequence[str]:
        """The confidential columns that the models name, and the target."""
        return list(dict.fromkeys([*super().reads, *self.counted]))

    @property
    def judges(self) -> Sequence[str]:
        """The confidential columns that the models name; a target is only counted."""
        return super().reads

    @property
    def payout_figures(self) -> Any:
        """The figures of an attack, for the quality or as a privacy model has them."""
        if self.quality != "payout":
            return None
        return read_payout(self.payout) or attacks_of(self.models)

    @property
    def promise(self) -> str | None:
        """Nothing is promised of columns that are only recoded."""
        return super().promise if self.privacy else None

    @property
    def nulls_in_words(self) -> str:
        """What becomes of nulls."""
        return super().nulls_in_words if self.privacy else "nulls stay nulls"

    @property
    def minimal(self) -> bool:
        """True where the best levels are taken."""
        return self.publish_minimal and bool(self.privacy)

    @property
    def is_random(self) -> bool:
        """True where levels are drawn."""
        return not self.publish_minimal

    def carried(self, plan: Mapping[str, Any]) -> dict[str, Any] | str:
        """Keep the levels, of each group of records, and what the values made of hierarchies."""
        if self.local:
            return "local recoding takes other levels for each part of the records"
        searched = {
            WITHOUT if one["group"] == ALL else one["group"]: one["rounds"][0]["levels"]
            for one in plan["joint"]["groups"]
            if one["rounds"]
        }
        if not searched:
            return "no group of the earlier records was generalized"
        levels: dict[str, Any] = {}
        for name in plan["columns"]:
            own = {group: int(found[name]) for group, found in searched.items()}
            # What an earlier plan gave groups that had no records, or too few, stays too.
            given = (self.levels or {}).get(name)
            own |= given if isinstance(given, Mapping) else {}
            levels[name] = own if len({*own.values()}) > 1 else next(iter(own.values()))
        proposed = {n: one["hierarchy"] for n, one in plan["columns"].items() if "hierarchy" in one}
        hierarchies = {**self.hierarchies, **proposed}
        # A budget was for the search, which is over.
        budget = dict.fromkeys(self.budgets)
        return {"levels": levels, "hierarchies": hierarchies, **budget}

    def check_params(self) -> None:
        """Refuse weights where no loss is minimised, and levels left open without a model."""
        super().check_params()
        given = self.levels if isinstance(self.levels, Mapping) else {}
        if not self.privacy and any(not isinstance(given.get(x), int) for x in self.hierarchies):
            raise BadInput(
                "privacy is empty; name a model, such as KAnonymity(5), or one level for each "
                "column under levels, to recode them and promise nothing"
            )
        for name, levels in given.items():
            for pair in levels.values() if isinstance(levels, Mapping) else [levels]:
                ends = _ends(pair)
                if ends != sorted(ends):
                    raise BadInput(
                        f"levels of '{name}' must be the lowest and then the highest of a range, "
                        f"not {ends}"
                    )
        if self.weights is not None and self.quality != "loss":
            raise BadInput(f"weights belong to quality = 'loss'; '{self.quality}' has none")
        if self.suppression_factor != 0.5 and self.quality not in WEIGHABLE:
            raise BadInput(
                f"quality = '{self.quality}' has no suppression_factor; it belongs to "
                f"{', '.join(WEIGHABLE)}"
            )
        if self.suppression_factor == 0 and self.quality == "average-class":
            raise BadInput("average-class needs a suppression_factor above 0")
        if (self.target is None) == (self.quality == "classification"):
            raise BadInput(
                "target names the column to predict: quality = 'classification' needs it, and no "
                "other quality takes it"
            )
        if self.payout is not None and self.quality != "payout":
            raise BadInput(f"payout belongs to quality = 'payout', not '{self.quality}'")
        if self.quality == "payout" and self.payout_figures is None:
            raise BadInput(
                "quality = 'payout' needs payout = { cost = ..., gain = ..., loss = ..., benefit = "
                "... }, what an attack costs and gains, and what a record is worth"
            )

    def fit(self, X: Any, y: Any = None, units: Any = None) -> Generalize:
        """Find the best levels of a table.

        Parameters
        ----------
        X : pandas, polars or pyarrow table, or array
        y : ignored
        units : array of shape (n_samples,), optional
            The person or household of each row, where the models count these and not rows.
        """
        self._fit(as_arrow(self, X, reset=True), units)
        return self

    def fit_transform(self, X: Any, y: Any = None, units: Any = None) -> Any:
        """Find the best levels of a table, and treat it.

        Parameters
        ----------
        X : pandas, polars or pyarrow table, or array
            Columns that are not treated are given back as they are.
        y : ignored
        units : array of shape (n_samples,), optional
            The person or household of each row, where the models count these and not rows.

        Returns
        -------
        what X is
            The treated columns as text. Suppressed records have `*` there. They are empty in all
            columns where they are too few, or too alike, to be a class of their own.
        """
        table = as_arrow(self, X, reset=True)
        outcome = self._fit(table, units)
        return released(X, table, outcome.columns, self.unsafe_mask_)

    @available_if(lambda self: not self.local)
    def transform(self, X: Any, units: Any = None) -> Any:
        """Apply the plan to rows, new ones too.

        A row whose class was not kept, or did not exist, is suppressed; such rows are empty in all
        columns where those of X are too few, or too alike, to be a class of their own. The privacy
        models held for the rows that the plan was made from: check new ones again.

        Parameters
        ----------
        X : pandas, polars or pyarrow table, or array
        units : array of shape (n_samples,), optional
            The person or household of each row. Where the models count these and they are not
            given, all suppressed rows are empty.
        """
        check_is_fitted(self)
        table = as_arrow(self, X, reset=False)
        columns = {name: table[name] for name in self._settled}
        new, suppressed, groups = apply(self.plan_, self._settled, columns, not self.privacy)
        others = {name: table[name] for name in self.reads}
        codes = unit_codes(units, table.num_rows)
        if codes is None and self._by_unit:
            return released(X, table, new, suppressed)
        return released(X, table, new, self._judge.unsafe(others, suppressed, groups, codes))

    def _fit(self, table: pa.Table, units: Any) -> Outcome:
        self.check_params()
        if not isinstance(self.hierarchies, Mapping) or not self.hierarchies:
            raise BadInput("hierarchies is empty; give one for each column to treat")
        check_columns(table, [*self.hierarchies, *self.reads])
        names = [name for name in table.column_names if name in self.hierarchies]
        others = {name: table[name] for name in self.reads}
        self.check_treated(names)
        codes = unit_codes(units, table.num_rows)
        columns = {name: table[name] for name in names}
        draws = self._levels_drawn_by(self._draws)
        treatment = Treatment(self, columns, others, None, codes, draws)
        outcome = treatment.recoded().outcome()
        self.plan_ = outcome.joint
        self._settled, self._by_unit = treatment.hierarchies, codes is not None
        self._judge = Judge.learn(treatment.bound, others)
        self.levels_ = levels_of(self.plan_)
        self.quality_ = float(treatment.quality())
        self.suppressed_mask_, self.unsafe_mask_ = treatment.suppressed, treatment.unsafe
        self.suppressed_ = int(treatment.suppressed.sum())
        proofs = treatment.certificates
        self.certificate_ = proofs[0] if len(proofs) == 1 else proofs
        return outcome

    def _recode(
        self,
        columns: Mapping[str, Any],
        others: Mapping[str, pa.ChunkedArray],
        weights: np.ndarray | None,
        units: np.ndarray | None,
        draws: Callable[[str], Draws],
    ) -> Recoded:
        self.check_treated(list(columns))
        by = self._levels_drawn_by(draws)
        return Treatment(self, columns, others, weights, units, by).recoded()

    def _recode_linked(self, given: Given) -> Recoded:
        if not self.privacy:
            return self._recode(given.columns, {}, None, None, given.draws)
        self.check_treated(list(given.columns))
        return LinkedTreatment(self, given).recoded()

    def _levels_drawn_by(self, draws: Callable[[str], Draws]) -> Draws | None:
        """Return what levels are drawn by; None where the best are taken."""
        return draws("levels") if self.is_random else None

    def check_treated(self, columns: Sequence[str]) -> None:
        """Refuse columns that do not fit the parameters."""
        super().check_treated(columns)
        for name in columns:
            if name not in self.hierarchies:
                raise BadInput(
                    f"column '{name}' has no hierarchy; give it one under hierarchies, such as "
                    f'{name} = {{ kind = "auto" }}'
                )
        for name, parameter in (
            ("hierarchies", self.hierarchies),
            ("weights", self.weights),
            ("levels", self.levels),
        ):
            for column in parameter or ():
                if column not in columns:
                    raise BadInput(
                        f"{name} names '{column}', which is not treated; {nearest(column, columns)}"
                    )


def _ends(levels: Any) -> list[int]:
    """Return the lowest and the highest level, if a range is given."""
    pair = levels if isinstance(levels, list | tuple) else []
    return [one for one in pair if isinstance(one, int)]
