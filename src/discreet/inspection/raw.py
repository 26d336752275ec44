"""The risk of a table as it is, before anything is done to it and without a release."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from itertools import combinations
from typing import Any

from discreet.assessment.assessment import taken
from discreet.assessment.facts import Facts
from discreet.assessment.figures import riskiest
from discreet.assessment.reasons import drivers
from discreet.assessment.targets import targets_of
from discreet.check.findings import counted
from discreet.engines.choice import choose, open_engine
from discreet.errors import BadInput, nearest
from discreet.inspection.encoded import encode_column
from discreet.inspection.keys import Key, find_keys
from discreet.recipe.given import Given, as_roles
from discreet.recipe.recipe import Recipe
from discreet.risk.suda import suda2
from discreet.table.labels import Labels

# Measures of one table; of two that are the same, the others tell nothing.
_MEASURES = [
    "class_sizes",
    "attackers",
    "individual_risk",
    "population_uniqueness",
    "composition",
    "diversity",
]
_ESTIMATORS = {"dankar": "Dankar", "pitman": "Pitman", "zayatz": "Zayatz", "snb": "SNB"}
# Records times sets of columns that are looked at for special uniques, in some seconds.
MOST_FOR_SUDA = 100_000_000
# Combinations that are kept, and those that are shown.
_KEPT, _COMBINATIONS = 10, 3
# Pairs that a third column is added to, where counting takes a query.
_EXTENDED = 3


@dataclass(frozen=True, repr=False)
class RawRisk:
    """What an intruder could do with a table if it were released as it is.

    Attributes
    ----------
    rows : int
    columns : list of str
        The quasi columns, which the intruder may know.
    counts : str
        What the sizes of classes are numbers of: records, households or units.
    risk : dict
        Measures by name: `class_sizes`, `attackers`, `individual_risk`, `suda2` and, where there
        are households or confidential columns, `composition` and `diversity`.
    drivers : list of dict
        What each column contributes to the risk, the most first.
    combinations : list of dict
        The combinations of a few columns that single out most records.
    riskiest : list of dict or None
        The records most at risk, by their row from 1; None where they are not all in memory.
    left_out : dict of str to str
        What was not measured, and why.
    """

    rows: int
    columns: list[str]
    counts: str
    risk: dict[str, Any]
    drivers: list[dict[str, Any]]
    combinations: list[dict[str, Any]]
    riskiest: list[dict[str, Any]] | None = field(repr=False)
    left_out: dict[str, str] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return asdict(self)

    def to_json(self) -> str:
        """Return it as JSON text."""
        return json.dumps(self.to_dict(), indent=1, ensure_ascii=False, allow_nan=False)

    def lines(self, records: bool = False) -> list[tuple[str, str]]:
        """Return what to print: what a line is about, and what it says.

        At most 18 lines, or 23 with the ten records that are most at risk.
        """
        few = 2 if records else _COMBINATIONS
        sizes, found = self.risk["class_sizes"], self.risk["attackers"]
        named = {"unique": "unique", "under_3": "in a class under 3", "under_5": "under 5"}
        named["under_k"] = f"under k = {sizes.get('k')}"
        told = [
            (said, f"{sizes[key]:,} {self.counts} ({_share(sizes[key] / sizes['records'])})")
            for key, said in named.items()
            if key in sizes
        ]
        told.append(("classes", f"{sizes['classes']:,}, the smallest of {sizes['smallest']:,}"))
        chances = ", ".join(f"{who} {_share(chance)}" for who, chance in found.items())
        told.append(("chance to be found", chances))
        told += self._of_records()
        told += _block("columns that drive it", self._drivers())
        told += _block(
            "riskiest combinations", [_singled_out(one) for one in self.combinations[:few]]
        )
        secrets = [_diverse(name, own) for name, own in self.risk.get("diversity", {}).items()]
        more = [f"{len(secrets) - few:,} more columns, with --json"] if len(secrets) > few else []
        told += _block("confidential values", secrets[:few] + more)
        if records:
            told += _block("riskiest records", map(_record, (self.riskiest or [])[:10]))
        return told

    def _of_records(self) -> Iterator[tuple[str, str]]:
        if "individual_risk" in self.risk:
            own = self.risk["individual_risk"]
            basis = f", by {own['basis']}" if own.get("basis") else ""
            yield (
                "individual risk",
                f"{_share(own['mean'])} on average, {_share(own['largest'])} at most, "
                f"{own['expected']:,.1f} expected to be found{basis}",
            )
        if "population_uniqueness" in self.risk:
            own = self.risk["population_uniqueness"]
            told = [
                f"{said} {_share(own[name])}" for name, said in _ESTIMATORS.items() if name in own
            ]
            yield "unique in the population", ", ".join(told)
        if "suda2" in self.risk:
            own = self.risk["suda2"]
            largest = _share(own["largest_dis"])
            yield "special uniques", f"{own['scored']:,} records, the largest DIS score {largest}"

    def _drivers(self) -> list[str]:
        known = [one for one in self.drivers if one["share"] is not None]
        if not known:
            return []
        told = [f"{one['column']} {_share(one['share'])}" for one in known]
        rest = f", {len(told) - 6} more" * (len(told) > 6)
        drawn = f" (in a sample of {known[0]['sample']:,})" if "sample" in known[0] else ""
        return [", ".join(told[:6]) + rest + drawn]

    def _repr_html_(self) -> str:
        """Show notebooks what is printed, without records."""
        from discreet.report.notebook import risk_html

        return risk_html(self.rows, self.columns, self.lines())

    def __repr__(self) -> str:
        name, said = self.lines()[0]
        return f"<RawRisk of {self.rows:,} rows by {', '.join(self.columns)}, {said} {name}>"

    def __str__(self) -> str:
        lines = self.lines()
        width = max(len(name) for name, _ in lines)
        head = f"{counted(self.rows, 'record')} by {', '.join(self.columns)}"
        return "\n".join([head, *(f"{name:<{width}}  {said}" for name, said in lines)])


def _block(title: str, lines: Iterable[str]) -> list[tuple[str, str]]:
    """Give the first of some lines a title."""
    return [(title * (place == 0), line) for place, line in enumerate(lines)]


def _singled_out(one: Mapping[str, Any]) -> str:
    about = " (estimated)" * one["estimated"]
    return f"{' + '.join(one['columns'])}: {_share(one['unique'])} of the records unique{about}"


def _diverse(name: str, own: Mapping[str, Any]) -> str:
    alpha = _share(own["alpha"])
    return f"{name}: l = {own['l']}, t = {own['t']:.3g}, one value in up to {alpha} of a class"


def _record(one: Mapping[str, Any]) -> str:
    values = (f"{name} {'null' if v is None else v}" for name, v in one.get("values", {}).items())
    return f"row {one['row']:,}: {_share(one['risk'])}, {', '.join(values)}"


def _share(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.3g} %"


def risk_of(
    table: Any,
    roles: Given,
    *,
    population: int | None = None,
    engine: str = "auto",
    memory: str | None = None,
    dialect: Mapping[str, str | None] | None = None,
) -> RawRisk:
    """Measure the risk of a table as it is.

    Parameters
    ----------
    table : pandas, polars or pyarrow table, or path
    roles : Roles, Recipe, dict or path of a TOML file
        The quasi columns are what an intruder may know; weight, unit, household and confidential
        columns count too. Of a recipe, nothing is done; its k is one of the sizes counted.
    population : int, optional
        The people of whom the table is a sample; the recipe's where not given.
    engine : {"auto", "memory", "duckdb"}
        Where to work on files: DuckDB takes those that do not fit in memory.
    memory : str, optional
        DuckDB's limit, such as "4GB"; `"auto"` takes DuckDB where a file needs more.
    dialect : mapping, optional
        How a CSV is written: separator, decimal, quote, encoding; the sheet of a workbook.

    Returns
    -------
    RawRisk

    Examples
    --------
    >>> import pyarrow as pa
    >>> people = pa.table({"age": [31, 31, 45, 46], "town": ["Ulm", "Ulm", "Ulm", "Bern"]})
    >>> print(risk_of(people, {"quasi": ["age", "town"]}))
    4 records by age, town
    unique                 2 records (50 %)
    in a class under 3     4 records (100 %)
    under 5                4 records (100 %)
    classes                3, the smallest of 1
    chance to be found     prosecutor 100 %, marketer 75 %
    individual risk        75 % on average, 100 % at most, 3.0 expected to be found, ...
    special uniques        2 records, the largest DIS score ...
    columns that drive it  age ...
    riskiest combinations  age: 50 % of the records unique
                           town: 25 % of the records unique
    """
    given, recipe = as_roles(roles)
    rules = recipe or Recipe.model_construct(roles=given)
    if population is not None:
        rules = rules.model_copy(update={"population": population})
    if not given.quasi:
        raise BadInput(
            "there is no quasi column; name what an intruder may know, with --keys, or under quasi"
        )
    chosen = choose(engine, table, memory)
    if chosen == "spark":
        raise BadInput("the risk of a table is measured in memory or on duckdb")
    with open_engine(chosen, memory=memory) as working:
        needed = partial(_needed, rules)
        frame = working.read(table, needed, rules.null_markers, rules.numeric, dialect)
        _needed(rules, frame.schema.names)  # In memory, all columns are read.
        facts = Facts(frame, frame, rules.model_copy(update={"steps": []}))
        return _measured(facts, rules)


def _needed(recipe: Recipe, names: Sequence[str]) -> list[str]:
    """Name the columns that are measured, or say which one the table lacks."""
    roles = recipe.roles
    single = [roles.weight, roles.unit, roles.household]
    wanted = [*roles.quasi, *roles.confidential, *(name for name in single if name is not None)]
    for column in wanted:
        if column not in names:
            raise BadInput(f"the table has no column '{column}'; {nearest(column, names)}")
    return list(dict.fromkeys(wanted))


def _measured(facts: Facts, recipe: Recipe) -> RawRisk:
    found = taken(facts, _MEASURES)
    for must in ("class_sizes", "attackers"):
        if must in found.left_out:
            raise BadInput(found.left_out[must])
    left_out = {
        name: why
        for name, why in found.left_out.items()
        # That there are none is no news to whoever named none.
        if not (name == "composition" and recipe.roles.household is None)
        and not (name == "population_uniqueness" and recipe.population is None)
        and not (name == "diversity" and not recipe.roles.confidential)
    }
    risk = {name: _before(entry) for name, entry in found.risk.items()}
    target = targets_of(recipe).get("class_sizes.smallest")
    if target is not None:
        sizes, times = facts.frequencies[0].smallest
        under = sizes < target.value
        few = int(under.sum() if times is None else times[under].sum())
        risk["class_sizes"] |= {"k": int(target.value), "under_k": few}
    sets = facts.num_rows * 2 ** len(facts.quasi)
    if not facts.whole:
        left_out["suda2"] = "it needs all records in memory; measure a part of the table"
    elif sets > MOST_FOR_SUDA:
        left_out["suda2"] = (
            f"it looks at {2 ** len(facts.quasi):,} sets of columns in {facts.num_rows:,} records; "
            "take fewer columns"
        )
    else:
        special = suda2(facts.rows().before, facts.quasi, detail=True)
        scored = int((special.scores > 0).sum())
        parts = {"largest_dis": special.value, "scored": scored, "columns": special.columns}
        risk["suda2"] = parts
    shares = [
        {key: one[key] for key in ("column", "by", "sample") if key in one}
        | {"share": one["before"]}
        for one in drivers(facts)
    ]
    records = riskiest(facts) if facts.whole else None
    columns, counts = facts.quasi, facts.recipe.counted_as
    keys = [_plain(key) for key in _combinations(facts)]
    return RawRisk(facts.num_rows, columns, counts, risk, shares, keys, records, left_out)


def _before(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return the figures of one table from those of two that are the same."""
    if "before" in entry:
        return {**({"basis": entry["basis"]} if "basis" in entry else {}), **entry["before"]}
    return {name: own["after"] for name, own in entry["columns"].items()}


def _combinations(facts: Facts) -> list[Key]:
    """Find the combinations of a few columns that single out most records.

    Of up to three columns; elsewhere than in memory each takes a count of its own, so that a third
    is added to the riskiest pairs only.
    """
    if facts.whole:
        table = facts.rows().before
        encoded = [encode_column(name, table[name], Labels()) for name in facts.quasi]
        found = find_keys(encoded, dict.fromkeys(facts.quasi, 1.0)).riskiest
        return [key for key in found if key.singled_out][:_KEPT]
    sets: list[tuple[str, ...]] = [(name,) for name in facts.quasi]
    sets += combinations(facts.quasi, 2)
    numbers = {columns: _counted(facts, columns) for columns in sets}
    pairs = sorted((c for c in sets if len(c) == 2), key=numbers.__getitem__, reverse=True)
    for pair in pairs[:_EXTENDED]:
        for third in facts.quasi:
            columns = tuple(name for name in facts.quasi if name in (*pair, third))
            if columns not in numbers:
                numbers[columns] = _counted(facts, columns)
    ordered = sorted(numbers, key=lambda columns: (-numbers[columns][0], len(columns)))
    shares = [(columns, numbers[columns][0] / facts.num_rows) for columns in ordered[:_KEPT]]
    return [Key(columns, share, share) for columns, share in shares if share]


def _counted(facts: Facts, columns: tuple[str, ...]) -> tuple[int, int]:
    """Count the records that some columns single out, and the classes by them."""
    sizes, repeats = facts.sizes(0, list(columns))
    return int(repeats[sizes == 1].sum()), int(repeats.sum())


def _plain(key: Key) -> dict[str, Any]:
    own = {"unique": key.singled_out, "estimated": key.estimated}
    return {"columns": list(key.columns), **own}
