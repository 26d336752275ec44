"""What the methods share that put every record into a class that keeps privacy models."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Literal

import numpy as np
import pyarrow as pa

from discreet.draws import Draws
from discreet.errors import BadInput
from discreet.generalization._by_tuple import Recoded
from discreet.generalization._groups import IN_WORDS
from discreet.generalization.models import confidential_columns, read_models
from discreet.method import Method
from discreet.outcome import Counted, Decision, Given, Outcome, Rounder, as_computed
from discreet.table.classes import encode


class Recoding(Method):
    """Base of the methods that replace values by labels until privacy models hold."""

    needs: ClassVar[Literal["numeric", "mixed", "any"]] = "any"
    caveat: ClassVar[str] = (
        "labels stand for several values: compare and count by label, and do not take the middle "
        "of a range for a value; * means that any value is possible and is not a missing value"
    )
    published: ClassVar[tuple[str, ...]] = ("privacy",)
    suppresses: ClassVar[bool] = True
    alike: ClassVar[bool] = True
    privacy: Any
    null_policy: str
    small_group: str
    allow_disclosure: bool

    @property
    def minimal(self) -> bool:
        """Generalizing further than the models need is never done."""
        return True

    @property
    def promise(self) -> str | None:
        """Every class keeps the privacy models, or what every record matches does."""
        return "wildcard-k" if self.null_policy == "match" else "privacy-models"

    @property
    def nulls_in_words(self) -> str:
        """What becomes of nulls under the policy."""
        return IN_WORDS[self.null_policy]

    @property
    def reads(self) -> Sequence[str]:
        """The confidential columns that the models name."""
        return confidential_columns(self.models)

    @property
    def models(self) -> list[Any]:
        """The privacy models."""
        return read_models(self.privacy)

    def check_params(self) -> None:
        """Refuse raw records that nobody allowed."""
        super().check_params()
        if self.small_group == "append" and not self.allow_disclosure:
            raise BadInput(
                "small_group = 'append' releases records as they are; set allow_disclosure = true "
                "if that may be, or use small_group = 'suppress'"
            )

    def _run(self, given: Given) -> Outcome:
        """Treat the columns together."""
        if given.linked is not None:
            return self._recode_linked(given).outcome()
        recoded = self._recode(given.columns, given.others, None, given.units, given.draws)
        return recoded.outcome()

    def _recode_linked(self, given: Given) -> Recoded:
        """Decide on the columns of rows that can be seen to belong together."""
        raise BadInput(
            f"rows of a unit can be seen to belong together, and {self.recipe_name} does not "
            "protect that; use generalize with global recoding"
        )

    @property
    def bound_to_memory(self) -> str | None:
        """Distinct tuples with counts are enough."""
        return None

    def decide_from(
        self,
        columns: Sequence[str],
        counted: Counted,
        draws: Callable[[str], Draws],
        rounded: Rounder = as_computed,
    ) -> Decision:
        """Decide from the distinct tuples of the columns, and of those that the models read.

        Where units are counted, a tuple has a row for each of its units.
        """
        self.check_treated(columns)
        unit = [] if counted.unit is None else [counted.unit]
        table, counts = counted.tuples([*columns, *self.reads, *unit])
        treated = {name: table[name] for name in columns}
        others = {name: table[name] for name in self.reads}
        units = encode(table[unit[0]], unit[0])[0] if unit else None
        return self._recode(treated, others, counts, units, draws).decision(treated)

    def _recode(
        self,
        columns: Mapping[str, Any],
        others: Mapping[str, pa.ChunkedArray],
        weights: np.ndarray | None,
        units: np.ndarray | None,
        draws: Callable[[str], Draws],
    ) -> Recoded:
        """Decide on the columns.

        `weights` are the records that each row stands for, and `units` the unit of each, where k
        counts these.
        """
        raise NotImplementedError

    def check_treated(self, columns: Sequence[str]) -> None:
        """Refuse columns that do not fit the parameters, such as one that the models look at."""
        for name in columns:
            if name in self.reads:
                raise BadInput(
                    f"column '{name}' is confidential to the privacy models and cannot be "
                    "generalized as well; take it out of the columns, or out of privacy"
                )
