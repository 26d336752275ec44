"""Policies: what a regulator or a house asks of a release, as rules in a TOML file."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from datetime import date as Day
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from discreet.errors import BadInput, nearest
from discreet.recipe.wording import not_toml, say, wanted

# The shipped ones, a file each.
FOLDER = Path(__file__).with_suffix("")
Share = Annotated[float, Field(ge=0, le=1)]
Whole = Annotated[int, Field(ge=1)]
Counted = Literal["records", "population"]
# A null or star is one more value, or may stand for any value, as sdcMicro counts.
Nulls = Literal["value", "match"]
Released = Literal[
    "identifiers", "quasi", "confidential", "insensitive", "pseudonyms", "household", "weight",
    "target", "unit", "row_key",
]  # fmt: skip
# What a column holds, as far as its name and its values tell; see `discreet.check.policy.kinds`.
Kind = Literal[
    "names", "addresses", "places", "dates", "telephone numbers", "fax numbers", "e-mail addresses",
    "social security numbers", "medical record numbers", "health plan numbers", "account numbers",
    "licence numbers", "vehicle numbers", "device numbers", "web addresses", "IP addresses",
    "biometric identifiers", "photographs", "unique codes", "free text", "sensitive",
]  # fmt: skip


def _written(day: Any) -> Any:
    """Write a day as recipes keep it; TOML has a type for it, and JSON has none."""
    if isinstance(day, Day):
        return day.isoformat()[:10]
    try:
        return day if day is None else Day.fromisoformat(day).isoformat()
    except (TypeError, ValueError):
        raise ValueError(f"collected must be a day such as 2024-12-31, not {day!r}") from None


class Rule(BaseModel):
    """One rule: what it asks for, where that is written, and the figures of its kind.

    Attributes
    ----------
    rule : str
        The kind of rule.
    says : str
        What it asks for, in a sentence of the one who made it or close to it.
    source : str
        Where that is written: section, page or article of the policy's text.
    date : date
        The date of that text; by default the policy's.
    remedy : str
        What to do where it is missed, in place of the usual advice.
    either : str
        Rules with the same word are readings of one: it is enough that one of them is kept.
    """

    model_config = ConfigDict(extra="forbid", strict=True)

    rule: str
    says: str
    source: str
    date: Day | None = None
    remedy: str | None = None
    either: str | None = None


class OfColumns(Rule):
    """A rule about some columns: listed, or in a group whose columns the user of a policy names.

    Without either, those that the kind of rule is about: as a rule, the quasi columns.
    """

    columns: list[str] | None = None
    group: str | None = None


class RolesRule(Rule):
    """Columns of some roles are not released."""

    rule: Literal["roles"]
    not_released: Annotated[list[Released], Field(min_length=1)]


class ColumnsRule(Rule):
    """Columns of some kinds, or with some words in their names, are not released.

    A column that the recipe's `not_identifiers` lists is none of the kinds, except dates and
    sensitive ones.
    """

    rule: Literal["columns"]
    kinds: list[Kind] = Field(default_factory=list)
    words: list[str] = Field(default_factory=list)

    @model_validator(mode="after")
    def _something(self) -> ColumnsRule:
        if not self.kinds and not self.words:
            raise ValueError("rule 'columns' needs kinds or words")
        return self


class DatesRule(OfColumns):
    """Dates are no finer than this; columns of dates are found where none are named."""

    rule: Literal["dates"]
    finest: Literal["year", "quarter", "month", "week", "day"]


class AgesRule(OfColumns):
    """All ages from this one on are released as one value; columns are found by their names."""

    rule: Literal["ages"]
    together_from: Whole


class AreasRule(OfColumns):
    """Areas have at least so many people; columns are found by their names.

    `digits` is how many characters of a postcode may be released; areas with too few people have
    the code `otherwise`. `few` are codes of areas that are known to have too few, where
    there is no population table.
    """

    rule: Literal["areas"]
    least: Whole
    digits: Whole | None = None
    otherwise: str | None = None
    few: list[str] = Field(default_factory=list)


class KRule(OfColumns):
    """Each combination of the quasi columns is shared by at least so many."""

    rule: Literal["k"]
    least: Whole
    nulls: Nulls = "value"


class LRule(OfColumns):
    """Each class holds at least so many values of each confidential column."""

    rule: Literal["l"]
    least: Whole


class RiskRule(OfColumns):
    """The largest or average risk of a record is at most this.

    Of one among the records of its class, or, with `counted = "population"`, among the people whom
    the class stands for: by a population table, or by the sampling weights.
    """

    rule: Literal["largest-risk", "average-risk"]
    most: Share
    counted: Counted = "records"
    nulls: Nulls = "value"


class AtRiskRule(OfColumns):
    """At most this share of the records has a risk above a bound."""

    rule: Literal["records-at-risk"]
    over: Share
    most: Share = 0.0
    counted: Counted = "records"
    nulls: Nulls = "value"


class CellsRule(OfColumns):
    """Every cell of every table of so many quasi columns is 0, or at least so large.

    With `groups`, only the tables with one column of each group, whose columns the user of the
    policy names.
    """

    rule: Literal["cells"]
    ways: Annotated[int, Field(ge=1, le=4)]
    least: Whole
    counted: Counted = "records"
    groups: list[str] | None = None


class SuppressedRule(OfColumns):
    """At most this share of the cells of the quasi columns is suppressed."""

    rule: Literal["suppressed"]
    most: Share


class Band(BaseModel):
    """Numbers up to one are rounded to multiples of another."""

    model_config = ConfigDict(extra="forbid", strict=True)

    up_to: float
    to: Annotated[float, Field(gt=0)]


class RoundingRule(OfColumns):
    """Numbers are multiples of the base of their band, and beyond have so many digits.

    Those under `hidden_below` are not shown: a cell is null, a star or the text `hidden_as`; with
    `zeros`, a 0 may be. The columns are those of the group "counts" where none are named.
    """

    rule: Literal["rounding"]
    bands: list[Band] = Field(default_factory=list)
    digits: Whole | None = None
    hidden_below: float | None = None
    hidden_as: str | None = None
    zeros: bool = True


class HiddenRule(OfColumns):
    """Counts from one number to another are not shown; columns as for "rounding"."""

    rule: Literal["hidden"]
    low: int = 1
    high: int


class DominanceRule(OfColumns):
    """In a cell of a table of sums, the largest contributors do not have too large a share.

    Cells are the combinations of the quasi columns, and `columns` (by default the group "amounts",
    or else the numeric confidential ones) are added up. `largest` contributors have at
    most the share `most`; with `within`, what is left of a cell without its two largest is at least
    this part of the largest, so that the second largest cannot come closer to it.
    """

    rule: Literal["dominance"]
    largest: Whole | None = None
    most: Share | None = None
    within: Share | None = None

    @model_validator(mode="after")
    def _one_of_both(self) -> DominanceRule:
        if ((self.largest is None) != (self.most is None)) or (
            (self.largest is None) == (self.within is None)
        ):
            raise ValueError("rule 'dominance' needs either largest and most, or within")
        return self


class IdentifyingRule(Rule):
    """At most so many quasi columns are released."""

    rule: Literal["identifying-columns"]
    most: Annotated[int, Field(ge=0)]


class HouseholdsRule(OfColumns):
    """Each combination of what is the same for a whole household is that of so many households."""

    rule: Literal["households"]
    least: Whole


class OrderRule(Rule):
    """The rows are in random order."""

    rule: Literal["order"]


class OldRule(Rule):
    """The data are at least so many years old, by the day that the user gives as `collected`."""

    rule: Literal["old"]
    years: Annotated[float, Field(gt=0)]


class AttackRule(Rule):
    """An attack's excess over its baseline is at most this: the estimate, or its upper end."""

    rule: Literal["attack"]
    attack: str
    most: Share
    figure: Literal["excess", "upper"] = "upper"


class LeaksRule(Rule):
    """No released column gives away what was done to another."""

    rule: Literal["leaks"]


class PromisesRule(Rule):
    """What the recipe promises is verified."""

    rule: Literal["promises"]


class ByHandRule(Rule):
    """What no program can count; it stays open, and says what a person must do."""

    rule: Literal["by-hand"]
    needs: str


AnyRule = Annotated[
    RolesRule | ColumnsRule | DatesRule | AgesRule | AreasRule | KRule | LRule | RiskRule
    | AtRiskRule | CellsRule | SuppressedRule | RoundingRule | HiddenRule | DominanceRule
    | IdentifyingRule | HouseholdsRule | OrderRule | OldRule | AttackRule | LeaksRule
    | PromisesRule | ByHandRule,
    Field(discriminator="rule"),
]  # fmt: skip


class Against(BaseModel):
    """What a recipe names as its policy, with what the rules need to know beside the release.

    Attributes
    ----------
    name : str
        A shipped policy, or a TOML file.
    population : str
        A file with the number of people, in its column `population`, for each combination of its
        other columns, which are called as in the release and hold the released values.
    collected : date
        The last day that the data are about.
    attacks : str
        What `discreet attack --json` printed, in a file.
    groups : dict
        The columns of the groups that rules name: `{counts = ["patients"]}`.
    """

    model_config = ConfigDict(extra="forbid", strict=True)

    name: str
    population: str | None = None
    collected: Annotated[str | None, BeforeValidator(_written)] = None
    attacks: str | None = None
    groups: dict[str, list[str]] = Field(default_factory=dict)

    def load(self) -> Policy:
        """Read the policy, and refuse it where there is no population table that it names.

        The attacks may be missing: they can only be measured once there is a release.
        """
        if self.population is not None and self.population in self.gone:
            raise BadInput(f"{self.population}, which the policy's rules need, does not exist")
        return Policy.load(self.name)

    @property
    def gone(self) -> tuple[str, ...]:
        """The files that are named and are not there."""
        own = None if self.name in shipped() else self.name
        named = (own, self.population, self.attacks)
        return tuple(one for one in named if one is not None and not Path(one).is_file())

    @property
    def last_day(self) -> Day | None:
        """The last day that the data are about."""
        return None if self.collected is None else Day.fromisoformat(self.collected)


class Policy(BaseModel):
    """What is asked of a release: rules, each with its source.

    Attributes
    ----------
    title : str
    source : str
        The text that the rules are from.
    date : date
        Of that text.
    url : str
        Where it can be read.
    about : str
        What it is for, in a sentence or two, and what it leaves to judgement.
    groups : dict
        The columns of groups that rules name, such as `counts`.
    rules : list of rules

    Examples
    --------
    >>> policy = Policy.from_toml('''
    ... title = "House rule"
    ... source = "Handbook of the house"
    ... date = 2024-05-01
    ... [[rules]]
    ... rule = "k"
    ... least = 5
    ... says = "Each combination is shared by five records."
    ... source = "section 2"
    ... ''')
    >>> policy.rules[0].least, policy.rules[0].date.year
    (5, 2024)
    """

    model_config = ConfigDict(extra="forbid", strict=True)

    name: str = "policy"
    title: str
    source: str
    date: Day
    url: str | None = None
    about: str = ""
    groups: dict[str, list[str]] = Field(default_factory=dict)
    rules: list[AnyRule]

    @model_validator(mode="after")
    def _dated(self) -> Policy:
        if not self.rules:
            raise ValueError("there are no rules; add one under [[rules]]")
        for rule in self.rules:
            rule.date = rule.date or self.date
        return self

    @property
    def k(self) -> int:
        """The smallest k that keeps the rules about how many share all keys; 1 where none asks.

        Examples
        --------
        >>> Policy.load("ema-0070").k, Policy.load("cihi").k, Policy.load("acro").k
        (11, 20, 1)
        """
        needed: dict[str, int] = {}
        for number, rule in enumerate(self.rules):
            if isinstance(rule, KRule):
                k = rule.least
            elif isinstance(rule, RiskRule) and rule.rule == "largest-risk" and rule.most:
                k = math.ceil(1 / rule.most - 1e-9)
            else:
                continue
            if rule.columns is None and rule.group is None:
                own = rule.either or str(number)
                needed[own] = min(k, needed.get(own, k))
        return max(needed.values(), default=1)

    @classmethod
    def load(cls, given: str | Path) -> Policy:
        """Read a policy: a shipped one by its name, or a TOML file."""
        known = shipped()
        path = known.get(str(given)) or Path(given)
        try:
            text = path.read_text(encoding="utf-8-sig")
        except UnicodeDecodeError:
            raise BadInput(f"the policy {path} is not valid UTF-8") from None
        except OSError as error:
            if not path.suffix and not path.exists():
                hint = nearest(str(given), known)
                raise BadInput(f"there is no policy '{given}', nor such a file; {hint}") from None
            raise BadInput(f"the policy {path} cannot be read: {error.strerror}") from None
        return cls.from_toml(text, source=str(given), name=path.stem)

    @classmethod
    def from_toml(cls, text: str, source: str = "the policy", name: str = "policy") -> Policy:
        """Read a policy from TOML text."""
        try:
            content = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise BadInput(f"{source} is not TOML: {not_toml(str(error))}") from None
        return cls.from_dict({"name": name} | content, source)

    @classmethod
    def from_dict(cls, content: Mapping[str, Any], source: str = "the policy") -> Policy:
        """Make a policy from a dict with the structure of the TOML file."""
        try:
            return cls.model_validate(dict(content))
        except ValidationError as error:
            raise BadInput(f"{source}: {_say(error)}") from None


# By what a file calls them.
KINDS: dict[str, type[Rule]] = {
    name: kind
    for kind in get_args(get_args(AnyRule)[0])
    for name in get_args(kind.model_fields["rule"].annotation)
}


def shipped() -> dict[str, Path]:
    """Return the files of the shipped policies by name."""
    return {path.stem: path for path in sorted(FOLDER.glob("*.toml"))}


def policy_in(folder: Path, given: str) -> str:
    """Return the file that a recipe in a folder names as its policy, or the name of a shipped one.

    A word alone that is no file is left as it is: a shipped name, misspelt.

    Examples
    --------
    >>> policy_in(Path("/house"), "example"), policy_in(Path("/house"), "rules/own.toml")
    ('example', '/house/rules/own.toml')
    """
    path = folder.absolute() / given
    word = Path(given).name == given and not path.suffix and not path.exists()
    return given if given in shipped() or word else str(path)


def _say(error: ValidationError) -> str:
    """Describe the first problem in one sentence; that of a rule by the rule's number."""
    problems = error.errors()
    first = min(problems, key=lambda one: one["type"] != "extra_forbidden")
    where = first["loc"]
    if len(where) < 2 or where[0] != "rules":
        return say(error, Policy)
    number = f"rule {int(where[1]) + 1}"
    if len(where) == 2:
        found = first["input"].get("rule") if isinstance(first["input"], Mapping) else None
        if not isinstance(found, str):
            return f"{number} has no rule, such as rule = 'k'"
        return f"{number}: there is no kind of rule '{found}'; {nearest(found, KINDS)}"
    kind = str(where[2])
    keys = ".".join(str(key) for key in where[3:] if isinstance(key, str))
    if first["type"] == "extra_forbidden":
        hint = nearest(keys, KINDS[kind].model_fields)
        return f"{number} ({kind}): unknown key '{keys}'; {hint}"
    if first["type"] == "missing":
        return f"{number} ({kind}): '{keys}' is missing"
    if first["type"] == "value_error":
        return f"{number}: {first['ctx']['error']}"
    return f"{number} ({kind}): '{keys}' should be {wanted(first)}, not {first['input']!r}"
