"""The ways to treat columns together: keys until k records share them, numbers in groups."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.generalization import Hierarchy
from discreet.generalization.models import (
    KAnonymity,
    LDiversity,
    confidential_columns,
    read_models,
    smallest_class,
)
from discreet.generalization.population import table_of
from discreet.generalization.profit import attacks_of
from discreet.generalization.targets import of_whole_table
from discreet.recipe.roles import Roles
from discreet.table.columns import kind_of
from discreet.tuning.space import Choice, Option, Part, Space

# Sizes of classes that are tried, above what is demanded.
_SIZES = (3, 5, 10, 30, 100, 300, 1000)
_GROUPS = (3, 5, 10, 20, 50, 100)
# A class is at most this share of the records.
_LARGEST = 0.1
# Numbers of fewer values are codes, whose averages mean nothing.
_FEW = 10
# Sizes of noise, as shares of each value.
_FACTORS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.85, 1.0)
# Columns are related if the correlation of their ranks is at least this.
_RELATED = 0.3
# Larger tables are cut into blocks, so that a group costs the same whatever their size.
_BLOCK = 5_000
# A key whose values fewer records share is continuous, and would be blanked nearly whole.
_SHARED = 3
# The share of the records that levels may leave out.
_LIMITS = (0.05, 0.01, 0.0)
# Smallest share of a round of local recoding: smaller ones gain little and take longer.
_ROUND = 0.05
# Nodes that are looked at: enough for a proof with few keys, and about a second with many.
_NODES = 1_000
# Moves that look for fewer blanks: more would find 3 % less, in several times the seconds.
_MOVES = 1_000
# What a blank costs in a column that is to be kept.
_DEAR = 10.0
_NOTHING = Option(words="not treated together")
# What a blank is taken for, from weak to strong, and how that is said.
_READINGS = {
    "match": ", if blanks match any value",
    "own": " of the original",
    "value": "",
}


def joint_parts(
    table: pa.Table,
    roles: Roles,
    hierarchies: Mapping[str, Hierarchy] | None = None,
    privacy: Sequence[dict[str, Any]] = (),
    keep: Collection[str] = (),
    scored: bool = False,
    counted: str = "records",
) -> list[Part]:
    """Return what can be done to columns together: to the keys, and to numeric columns.

    Parameters
    ----------
    table : pyarrow.Table
    roles : Roles
        Quasi columns are the keys.
    hierarchies : mapping of str to Hierarchy, optional
        Of keys; one is proposed for each that has none.
    privacy : list of dict, optional
        Models that the keys must keep, as in a recipe. Every option then does; without any, the
        first does nothing, and others make the keys k-anonymous for some k.
    keep : collection of str, optional
        Columns whose values stay; cells may be blanked where nothing else helps.
    scored : bool
        The search goes by a score. Then related columns may also be moved alike; elsewhere not,
        since the search adds up what each column tells, and would take that for safer than it is.
    counted : str
        What k counts: records, households or units.

    Examples
    --------
    >>> people = pa.table({"age": [30, 30, 30, 30, 70, 71], "job": ["nurse"] * 4 + ["judge"] * 2})
    >>> demanded = [{"model": "k-anonymity", "k": 2}]
    >>> [keys] = joint_parts(people, Roles(quasi=["age", "job"]), privacy=demanded)
    >>> for option in keys.options[:3]:
    ...     print("age and job", option.words)
    age and job in ranges and sets that 2 or more records share
    age and job at levels that differ by record, each shared by 2 or more records
    age and job with cells blanked until 2 or more records share each combination
    """
    keys = [name for name in roles.quasi if name in table.column_names]
    amounts = [name for name in table.column_names if _is_amount(table[name])]
    averaged = list(_groups(table.num_rows))
    found = []
    if keys and (privacy or len(keys) > 1):
        kept = [name for name in keys if name in keep]
        of_keys = _OfKeys(table, keys, hierarchies or {}, kept, counted)
        if privacy:
            options = of_keys.demanded(list(privacy))
        else:
            options = [_NOTHING, *of_keys.tried()]
            if set(keys) <= set(amounts) and not of_keys.kept:
                options += averaged
        found.append(Part(tuple(keys), tuple(options), joint=True))
    read = confidential_columns(read_models(list(privacy))) if privacy else []
    group = [name for name in roles.confidential if name in amounts]
    group = [name for name in group if name not in read and name not in keep]
    if len(group) > 1:
        found.append(Part(tuple(group), (_NOTHING, *averaged), joint=True))
    free = [name for name in amounts if name in (*keys, *group) and name not in keep]
    related = _related(table, free) if scored and not privacy else []
    if len(related) > 1:
        found.append(Part(tuple(related), (_NOTHING, *_moved()), joint=True))
    return found


def joint_seeds(space: Space) -> list[Choice]:
    """Return points to start from: each joint option by itself.

    The first of those that come after what is done to single columns is also taken with all columns
    at their first, second, ... level.
    """
    found: list[Choice] = []
    recoded: list[Choice] = []
    for number, part in enumerate(space.parts):
        for option, one in enumerate(part.options if part.joint else ()):
            found.append(_with(space.first(), number, option))
            if one.steps and not one.alone and not recoded:
                levels = _recoded(space, part.columns)
                recoded = [_with(level, number, option) for level in levels]
    return list(dict.fromkeys([*found, *recoded]))


def _with(choice: Choice, number: int, option: int) -> Choice:
    return (*choice[:number], option, *choice[number + 1 :])


class _OfKeys:
    """What can be done to the keys of a table until they keep models of privacy."""

    def __init__(
        self,
        table: pa.Table,
        keys: Sequence[str],
        given: Mapping[str, Hierarchy],
        kept: Sequence[str],
        counted: str,
    ) -> None:
        self.kept, self.counted, self.rows = kept, counted, table.num_rows
        self.continuous = 2 * sum(_is_continuous(table[name]) for name in keys) >= len(keys)
        settled = {
            name: given.get(name, Hierarchy.auto()).settle(table[name], name) for name in keys
        }
        self.levels = {name: one.spec for name, one in settled.items()}
        # Numbers are cut in their own order; for labels a tree that is given may know a better one.
        text = [name for name in keys if kind_of(table[name].type) != "numeric"]
        self.trees = {name: self.levels[name] for name in text if name in given}

    def demanded(self, privacy: list[dict[str, Any]]) -> list[Option]:
        """Return the ways to keep the models, and then the same for larger classes."""
        options = list(self._ways(privacy, ["value"]))
        others = [model for model in privacy if model["model"] != "k-anonymity"]
        for k in self._sizes(above=smallest_class(read_models(privacy))):
            options += self._ways([_shared_by(k), *others], ["value"])
        return options

    def tried(self) -> list[Option]:
        """Return the ways to make the keys k-anonymous, from small to large k."""
        options: list[Option] = []
        for k in self._sizes():
            # Blanks that match anything protect little, whatever k is, and those that are a value
            # of their own lose more: once is enough.
            readings = ["own"] if options else ["match", "own", "value"]
            options += self._ways([_shared_by(k)], readings)
        return options

    def _ways(self, privacy: list[dict[str, Any]], readings: Sequence[str]) -> Iterator[Option]:
        """Return the ways to keep the models, those that usually lose least first."""
        models = read_models(privacy)
        if whole := of_whole_table(models):
            yield from self._of_whole(privacy, whole)
            return
        blanked = [self._blanked(privacy, reading) for reading in readings]
        words = "at levels that differ by record, each shared by {}"
        local = self._coarser(privacy, {"local": True, "round_share": _ROUND}, words)
        by_labels = attacks_of(models) is not None
        told = any(getattr(model, "population", None) is not None for model in models)
        if told or by_labels or any(_may_fall(model) for model in models):
            blanked = []  # Refused: see `discreet.suppression.local_suppression`.
        cut = [] if table_of(models) or by_labels else list(self._cut(privacy))
        if self.kept:
            # Blanks can always keep a column's values, and levels not.
            yield from [*blanked, local]
        elif self.continuous:
            yield from cut
        else:
            yield from [*cut, local, *blanked]
        for limit in _LIMITS:
            words = "at levels that {} share"
            words += f", but for {100 * limit:g} % of records" if limit else ""
            yield self._coarser(privacy, {"suppression_limit": limit}, words)

    def _of_whole(self, privacy: list[dict[str, Any]], whole: Sequence[Any]) -> Iterator[Option]:
        """Return the ways to keep models of the whole table, which only levels can."""
        words = f"at levels that keep {' and '.join(model.model for model in whole)} over all"
        how: dict[str, Any] = {}
        if any(hasattr(model, "estimator") for model in whole):
            # An estimate is for all records together.
            how = {"null_policy": "value"}
        else:
            by_record = {"local": True, "round_share": _ROUND}
            yield self._coarser(privacy, by_record, words + ", and that differ by record")
        for limit in _LIMITS:
            more = f", but for {100 * limit:g} % of records" if limit else ""
            yield self._coarser(privacy, {"suppression_limit": limit, **how}, words + more)

    def _sizes(self, above: int = 0) -> list[int]:
        return [k for k in _SIZES if k > above and k <= _LARGEST * self.rows]

    def _cut(self, privacy: list[dict[str, Any]]) -> Iterator[Option]:
        step = {"method": "mondrian", "privacy": privacy}
        sharing = _sharing(read_models(privacy), self.counted)
        yield Option((step,), f"in ranges and sets that {sharing} share", alone=True)
        if self.trees:
            words = f"in ranges and groups of the hierarchies that {sharing} share"
            yield Option((step | {"hierarchies": self.trees},), words, alone=True)

    def _coarser(
        self, privacy: list[dict[str, Any]], more: Mapping[str, Any], words: str
    ) -> Option:
        # Of all qualities this one is nearest to `information_loss`.
        step: dict[str, Any] = {"method": "generalize", "privacy": privacy, "quality": "nnue"}
        step |= {"hierarchies": self.levels, "evaluations": _NODES, **more}
        if self.kept:
            step |= {"levels": dict.fromkeys(self.kept, 0)}
        sharing = _sharing(read_models(privacy), self.counted)
        return Option((step,), words.format(sharing), alone=True)

    def _blanked(self, privacy: list[dict[str, Any]], reading: str) -> Option:
        models = read_models(privacy)
        step: dict[str, Any] = {"method": "local-suppression", "improve_moves": _MOVES}
        if all(type(model) is KAnonymity for model in models):
            step |= {"k": smallest_class(models), "null_policy": reading}
        else:
            step |= {"privacy": privacy}
        if self.kept:
            step |= {"importance": dict.fromkeys(self.kept, _DEAR)}
        sharing = _sharing(models, self.counted)
        words = f"with cells blanked until {sharing} share each combination"
        return Option((step,), words + _READINGS[reading])


def _shared_by(k: int) -> dict[str, Any]:
    return {"model": "k-anonymity", "k": k}


def _may_fall(model: Any) -> bool:
    """Tell whether two classes that keep a model may break it together."""
    estimated = getattr(model, "estimator", None) == "grassberger"
    return model.model == "delta-disclosure" or estimated


def _sharing(models: Sequence[Any], counted: str = "records") -> str:
    """Say who must share a class.

    Examples
    --------
    >>> _sharing([KAnonymity(5), LDiversity(3, column="illness")])
    '5 or more records with 3 or more values of illness'
    """
    sizes = [model.k for model in models if hasattr(model, "k") and model.model != "k-map"]
    said = [f"{max(sizes)} or more {counted}" if sizes else counted]
    for model in models:
        if isinstance(model, LDiversity):
            said.append(f"with {model.l:g} or more values of {model.column}")
        elif type(model) is not KAnonymity:
            said.append(f"that keep {model.model}")
    return " ".join(said)


def _groups(rows: int) -> Iterator[Option]:
    """Average the records of groups of k."""
    for k in _GROUPS:
        if 2 * k <= rows:
            step: dict[str, Any] = {"method": "microaggregation", "k": k}
            if rows > _BLOCK:
                step |= {"block_size": _BLOCK}
            yield Option((step,), f"averaged together over {k} similar records", rest=True)


def _moved() -> Iterator[Option]:
    """Move related values alike, and give each column its own values out again."""
    for scale in _FACTORS:
        step: dict[str, Any] = {"method": "noise", "kind": "correlated-logarithmic"}
        step |= {"scale": scale, "match_ranks": True}
        words = f"with noise of about {100 * scale:g} % of each value, alike in related columns, "
        yield Option((step,), words + "among their own values", alone=True)


def _related(table: pa.Table, names: Sequence[str]) -> list[str]:
    """Name the columns of numbers that go up or down with another, by their ranks."""
    plain = [name for name in names if not pa.types.is_temporal(table[name].type)]
    if len(plain) < 2:
        return []
    ranks = [pc.rank(table[name].combine_chunks(), tiebreaker="min").to_numpy() for name in plain]
    related = np.abs(np.corrcoef(ranks)) - np.eye(len(plain))
    return [name for name, row in zip(plain, related, strict=True) if row.max() >= _RELATED]


def _is_amount(column: pa.ChunkedArray) -> bool:
    return kind_of(column.type) == "numeric" and pc.count_distinct(column).as_py() >= _FEW


def _is_continuous(column: pa.ChunkedArray) -> bool:
    """Tell whether most records have a value that hardly any other has."""
    counts = pc.value_counts(column).field("counts")
    rare = pc.filter(counts, pc.less(counts, _SHARED))
    return 2 * (pc.sum(rare).as_py() or 0) > len(column)


def _recoded(space: Space, columns: Collection[str]) -> list[Choice]:
    """Return the choices that have all of the columns at their first, second, ... level."""
    levels = {}
    for number, part in enumerate(space.parts):
        if not part.joint and set(part.columns) <= set(columns):
            recoding = [
                i for i, option in enumerate(part.options)
                if [step["method"] for step in option.steps] == ["generalize"]
            ]  # fmt: skip
            levels[number] = recoding or [0]
    found = []
    for level in range(max(map(len, levels.values()), default=0)):
        choice = list(space.first())
        for number, recoding in levels.items():
            choice[number] = recoding[min(level, len(recoding) - 1)]
        found.append(tuple(choice))
    return found
