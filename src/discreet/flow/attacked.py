"""Figures of the attacks on methods themselves, or why there is none.

Each attack of `threats` that is on a method has a sentence: what it comes to for this table, or
that it was not measured and why.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.check.evidence import Evidence, Log, Plan, StepPlan
from discreet.check.replay import replay
from discreet.engines import Frame
from discreet.engines.memory import MemoryFrame
from discreet.flow.attacked_numbers import Numbers, averaged
from discreet.method import Method
from discreet.recipe.recipe import Recipe, Step

# More distinct tuples, and records where these are looked at one by one, are left out.
_MOST_TUPLES, _MOST_RECORDS = 300_000, 1_000_000
# What guesses must gain for the method to have given something away.
_GAIN = 0.005
_BOTH = "minimality and downcoding"  # where levels are drawn
Figure = Mapping[str, Any]


def measure_attacks(log: Log, plan: Plan, recipe: Recipe, original: Frame, released: Frame) -> None:
    """Add `figures` to the attacks that the log lists, each with the step that it is of.

    `released` has the original's rows, as they are released.
    """
    numbers = Numbers(recipe, original, released)
    minimal = _Minimal(Evidence(plan, log, recipe), original)
    for one in log.get("attacks", ()):
        for number in one["steps"]:
            step = recipe.steps[number - 1]
            figure = _measured(one["attack"], number, step, recipe, numbers, minimal)
            if figure:
                one.setdefault("figures", []).append({"step": number, **figure})
        if one["attack"] == "differencing" and log["seed"].get("same_table"):
            one["figures"] = [{"step": one["steps"][0], "said": _EARLIER}]


_EARLIER = (
    "The recipe comes from an earlier run on this table with other roles or parameters. If that "
    "was released, measure both together: discreet attack ORIGINAL EARLIER THIS."
)


_OF_SIZES = {
    "said": "The models are of class sizes alone, so that what was not released tells nothing of "
    "confidential values."
}


def _measured(
    attack: str, number: int, step: Step, recipe: Recipe, numbers: Numbers, minimal: _Minimal
) -> Figure | None:
    if attack == "regression on released values":
        return numbers.regressed(step)
    if attack == "known members":
        return numbers.members(step, minimal.plan["steps"][number - 1].get("levels", {}))
    if attack == "averaging over releases":
        return averaged(step, recipe)
    if attack in ("downcoding", "minimality"):
        return minimal.of(number)[attack]
    if attack == _BOTH:
        found = minimal.of(number)
        return {**found, "said": " ".join(one["said"] for one in found.values())}
    return None


class _Minimal:
    """What a step tells that takes the best levels or classes, or draws its levels."""

    def __init__(self, evidence: Evidence, original: Frame) -> None:
        self.evidence, self.original = evidence, original
        self.plan, self.recipe = evidence.plan, evidence.recipe
        self.excluded = np.asarray(self.plan.get("excluded", ()), dtype=np.int64)
        self.found: dict[int, dict[str, Figure]] = {}

    def of(self, number: int) -> dict[str, Figure]:
        """Measure downcoding and minimality of a step, once."""
        if number not in self.found:
            step, decided = self.recipe.steps[number - 1], self.plan["steps"][number - 1]
            self.found[number] = self._measure(number, step, step.build(), decided)
        return self.found[number]

    def _measure(
        self, number: int, step: Step, method: Method, decided: StepPlan
    ) -> dict[str, Figure]:
        why = self._why_not(number, step, method, decided)
        if why is None:
            tuples, counts = self._met(number, step.columns)
            if len(counts) > _MOST_TUPLES:
                why = f"the table has {len(counts):,} distinct tuples, too many to compare them"
        if why is not None:
            said = {"said": f"Not measured: {why}."}
            return {"downcoding": said, "minimality": said if method.judges else _OF_SIZES}
        from discreet.attacks.downcoding import downcoding

        joint = decided["joint"]
        models = list(getattr(method, "models", ()))
        plainly = self.recipe.counted is None and joint["null_policy"] != "match"
        only_k = len(models) == 1 and models[0].model == "k-anonymity"
        given: dict[str, Any] = {
            "lowest": _lowest(step.parameters().get("levels")),
            "trees": list(step.parameters().get("hierarchies") or ()),
        }
        k = models[0].k if plainly and only_k else None
        found = downcoding(tuples, joint, k=k, counts=counts, **given)
        told = found.to_dict()
        told["said"] += self._advice(step, found)
        return {"downcoding": told, "minimality": self._of_values(number, method, joint, given)}

    def _met(self, number: int, columns: Sequence[str]) -> tuple[pa.Table, np.ndarray]:
        """Return some columns as a step met them: distinct tuples or rows, and their records."""
        if not self._changed(number, columns):
            return self.original.counts_without(columns, self.excluded)
        assert isinstance(self.original, MemoryFrame)
        rows = np.delete(np.arange(self.original.num_rows), self.excluded)
        earlier: Plan = {**self.plan, "steps": self.plan["steps"][: number - 1]}
        table, key = self.original.table.take(rows), self.recipe.roles.row_key
        _, met = replay(earlier, self.evidence.seed, table, key)
        return pa.table({name: met.arrow(name) for name in columns}), np.ones(len(rows), np.int64)

    def _changed(self, number: int, columns: Sequence[str]) -> list[str]:
        """Name those of some columns that an earlier step has treated."""
        earlier = {name for one in self.recipe.steps[: number - 1] for name in one.columns}
        return [name for name in columns if name in earlier]

    def _advice(self, step: Step, found: Any) -> str:
        """Say what to do about cells that can be made finer."""
        linked = ""
        if self.recipe.linked is not None:
            linked = " Suppressed rows are left out, since they may have been like others shown."
        if not found.cells or not (found.certain or found.made_up or found.excess >= _GAIN):
            return linked + " So the method gives nothing away here." * bool(found.cells)
        if step.method == "mondrian":
            return (
                f"{linked} A larger k lessens that; generalize has no ranges that fit so tightly."
            )
        if step.parameters().get("local"):
            return f"{linked} It is the price of rounds: local = false, or a larger k, lessens it."
        return (
            f"{linked} A larger k, or suppression_limit = 0 where stars give it away, lessens "
            "that; publish_minimal = false hides that the levels are the best."
        )

    def _of_values(
        self, number: int, method: Method, joint: Figure, given: dict[str, Any]
    ) -> Figure:
        """Measure what levels, rounds or cuts tell of confidential values."""
        step = self.recipe.steps[number - 1]
        if not method.judges:
            return _OF_SIZES
        why = None
        if self.recipe.counted is not None:
            why = (
                f"k counts {self.recipe.counted_as}, whose rows may be in several classes, and the "
                "ways in which these can share values are not gone through"
            )
        elif joint["null_policy"] == "match":
            why = "with null_policy = 'match' a record with nulls is in several classes"
        elif "population" in joint:
            why = "classes are judged by a population, whose records an intruder may not know"
        elif "leaves" in joint:
            why = "classes are judged by what they pay, which is not gone through for other values"
        elif self.original.num_rows > _MOST_RECORDS:
            why = f"the table has more than {_MOST_RECORDS:,} records, which takes too long"
        if why is not None:
            return {"said": f"Not measured: {why}."}
        from discreet.attacks.minimality import minimality

        columns = list(dict.fromkeys([*step.columns, *method.judges]))
        tuples, counts = self._met(number, columns)
        models = list(getattr(method, "models", ()))
        found = minimality(tuples, joint, models, counts=counts, **given)
        told = found.to_dict()
        if found.certain or found.gained:
            told["said"] += f" If that is too much, {_lessens(step)}."
        return told

    def _why_not(self, number: int, step: Step, method: Method, decided: StepPlan) -> str | None:
        """Say why nothing can be measured of a step from the table as it was; None if it can."""
        joint, given = decided.get("joint", {}), step.parameters()
        if joint.get("kind") not in ("generalize", "mondrian"):
            return f"of {step.method} no such attack is known"
        if joint["kind"] == "mondrian" and "tuples" not in joint:
            return (
                "with strict = false equal values are on both sides of a cut, so that classes do "
                "not follow from values"
            )
        policies = ("segregate", "value", "suppress")
        if joint["kind"] == "mondrian" and joint["null_policy"] not in policies:
            return (
                f"with null_policy = '{given['null_policy']}' records with nulls are in classes "
                "whose ranges do not hold them"
            )
        changed = self._changed(number, [*step.columns, *method.judges])
        if changed and not self.original.whole:
            return (
                f"an earlier step has changed '{changed[0]}', and on this engine its values as "
                "they were in between are not kept; --engine memory has them"
            )
        return None


def _lessens(step: Step) -> str:
    """Say what makes what was not released tell less of values."""
    if step.method == "mondrian":
        return "use generalize, or a stronger model, such as a larger l"
    if step.parameters().get("local"):
        return "set local = false, or use a stronger model, such as a larger l"
    if not step.build().minimal:
        return "set suppression_limit = 0, or use a stronger model, such as a larger l"
    return (
        "set publish_minimal = false, which hides that the levels are the best, and "
        "suppression_limit = 0 where records are suppressed for their values"
    )


def _lowest(levels: Any) -> dict[str, int]:
    """Return the lowest level that each column may have, by what the recipe says of levels."""
    given = levels or {}
    # Of each group of records, or the lowest and the highest of a range.
    several = {name: x.values() if isinstance(x, Mapping) else x for name, x in given.items()}
    return {name: x if isinstance(x, int) else int(min(x)) for name, x in several.items()}
