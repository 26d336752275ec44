"""The recipe: one TOML file that says everything that is done to a table."""

from __future__ import annotations

import inspect
import tomllib
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, Union

import tomli_w
from pydantic import (
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    SerializeAsAny,
    ValidationError,
    ValidationInfo,
    create_model,
    field_validator,
    model_serializer,
    model_validator,
)

from discreet.draws import PREDICTABLE_BELOW, SEED_BITS
from discreet.errors import BadInput, nearest
from discreet.method import Method
from discreet.private import write_private
from discreet.recipe.lines import line_of, lines_of
from discreet.recipe.policies import Against, policy_in
from discreet.recipe.roles import Roles
from discreet.recipe.rules import broken_rules, broken_step, no_frames
from discreet.recipe.schema import described
from discreet.recipe.wording import Misfit, Where, not_toml, say, told
from discreet.registry import find_method, methods, parameters


class Step(BaseModel):
    """One step: a method, its columns and its parameters (fields of the method's own model).

    Attributes
    ----------
    method : str
        What is done.
    columns : list of str
        The columns to treat.
    promise : bool
        False: what the method would promise is not promised, and a later step may alter the
        columns.
    precision : {"input", "full"}
        The type and decimals of the input, or values as they were computed.
    """

    model_config = ConfigDict(extra="forbid", strict=True)

    method: str
    columns: list[str]
    promise: bool = True
    precision: Literal["input", "full"] = "input"

    def parameters(self) -> dict[str, Any]:
        """Return what the recipe sets for the method itself."""
        return {name: getattr(self, name) for name in _own_fields(type(self))}

    def build(self) -> Method:
        """Make the method that the step describes."""
        return find_method(self.method)(**self.parameters())

    def least_records(self, name: str, plan: Mapping[str, Any] | None = None) -> Any:
        """Return the least number of records per value, or a rule's name if there is no plan."""
        given = self.parameters()
        k = next(given[key] for key in ("k", "min_count", "min_attraction") if key in given)
        k = k[name] if isinstance(k, Mapping) else k
        return plan["k"] if isinstance(k, str) and plan is not None else k

    @model_validator(mode="after")
    def _usable(self, info: ValidationInfo) -> Step:
        for path, said in broken_step(self):
            if info.context is None:
                raise Misfit(said, *path)
            info.context.append((path, said))
        along = [column for column in self.build().takes_along if column not in self.columns]
        if along:
            self.columns = [*self.columns, *along]
        return self

    @model_serializer(mode="wrap")
    def _without_consent(self, write: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
        """Leave out a `min_count` that nobody gave: spelt out, it allows points of one record."""
        written = write(self)
        if "min_count" not in self.model_fields_set:
            written.pop("min_count", None)
        return written

    def __reduce__(self) -> tuple[Any, ...]:
        # The model of a method is made at run time, so that no module has it.
        return _step_again, (self.method, dict(self.__dict__), set(self.model_fields_set))


@cache
def _own_fields(model: type[Step]) -> tuple[str, ...]:
    """Return the fields that a method's model adds; the steps of a recipe are asked often."""
    return tuple(name for name in model.model_fields if name not in Step.model_fields)


def _step_again(method: str, values: dict[str, Any], given: set[str]) -> Step:
    """Make a step of what was pickled."""
    return _step_model(method).model_construct(given, **values)


@cache
def _step_model(name: str) -> type[Step]:
    """Return the model of a method's steps, made from the signature of its class."""
    method = methods()[name]
    fields: dict[str, Any] = {"method": (Literal[name], ...)}
    for parameter, kind, default in parameters(method):
        fields[parameter] = (kind, ... if default is inspect.Parameter.empty else default)
    return create_model(f"{method.__name__}Step", __base__=Step, **fields)


# What a project_key can be besides a file: a new one is drawn.
NEW_KEY = "new"
_SECRETS = ("seed", "order_seed", "pseudonym_key", "project_key")


class Recipe(BaseModel):
    """Everything that is done to a table, validated.

    Attributes
    ----------
    roles : Roles
        What each column is.
    steps : list of steps
        In order. Each has `method`, `columns`, the method's parameters, `promise` (default true)
        and `precision` ("input": the input's type and decimals; "full": as computed).
    counts : {"rows", "units", "households"}
        What k, and every other number of records that a step promises, counts. By default
        households where there is that role, else units where there is that one, else rows.
    known_rows : int
        How many rows of a unit an intruder may know, where its rows can be seen to belong
        together; by default all of them.
    household_suppression : {"unlink", "whole"}
        What becomes of the household of a suppressed record: the record loses its household's
        number, or its household is suppressed along with it.
    allow_leaks : list of str
        Treated columns that other released columns may give away.
    indicators : list of str
        What is computed from the table before and after, such as "mean(income) by region".
    population : int
        The people of whom the table is a sample, for estimates of how many of them are unique.
    policy : str or Against
        The policy that the release is held against: a shipped one by its name, or a TOML file;
        with what its rules need to know beside the release, as a table with `name`,
        `population`, `collected`, `attacks` and `groups`.
    holdout : float
        The share of the records that is set aside before any step, as the control group of
        attacks: whole households or units where there is such a role. By default none is.
    null_markers : list of str
        Cells of the input that stand for a missing value, besides the empty cell.
    seed : int
        For a rerun that gives the same bytes. By default, a secret one is drawn and kept.
    allow_predictable_seed : bool
        Accept a seed below 2^64 with a random step.
    order_seed : int
        For the order of the written rows and the household numbers; drawn in secret and kept
        for a rerun. Never small, because a small one would give the original order away.
    seed_for : dict
        What the seeds were drawn for, as a release's own recipe says: keyed hashes of the `input`,
        of the `recipe`, and of that as it is `kept`. With another table or other parameters all
        draws are new ones, and the log says so.
    pseudonym_key : str
        The file of a key that pseudonyms are made with, as a release keeps one in `internal/`:
        tables of one key stay linked. By default, a secret one is drawn and kept.
    project_key : str
        The file of a key that the draws of single cells are made with, as a release keeps one in
        `internal/`, or "new": releases of one key have the same noise in the same cell, as long as
        the noise has the same parameters. By default, each release draws anew.
    follows : dict
        The release whose plan the steps are settled by: its number (`release`) and the SHA-256 of
        its plan.json (`plan`), as `protect` with a plan writes them.
    publish_noise : bool
        Give the exact parameters of perturbing steps in the external report, which otherwise
        says low, medium or high.

    Examples
    --------
    >>> recipe = Recipe.from_dict({
    ...     "roles": {"identifiers": ["name"], "confidential": ["salary"]},
    ...     "steps": [{"method": "oma", "columns": ["salary"], "k": 5}],
    ... })
    >>> print(recipe.dump())
    null_markers = []
    allow_predictable_seed = false
    publish_noise = false
    household_suppression = "unlink"
    allow_leaks = []
    <BLANKLINE>
    [roles]
    ...
    >>> Recipe.from_toml(recipe.dump()) == recipe
    True
    """

    model_config = ConfigDict(extra="forbid", strict=True, validate_default=True)

    null_markers: list[str] = Field(default_factory=list)
    seed: Annotated[int, Field(ge=0, lt=2**SEED_BITS)] | None = Field(default=None, repr=False)
    allow_predictable_seed: bool = False
    order_seed: Annotated[int, Field(ge=PREDICTABLE_BELOW, lt=2**SEED_BITS)] | None = Field(
        default=None, repr=False
    )
    seed_for: dict[Literal["input", "recipe", "kept"], str] | None = None
    pseudonym_key: str | None = Field(default=None, repr=False)
    project_key: str | None = Field(default=None, repr=False)
    follows: dict[Literal["release", "plan"], str] | None = None
    publish_noise: bool = False
    counts: Literal["rows", "units", "households"] | None = None
    known_rows: Annotated[int, Field(ge=1)] | None = None
    household_suppression: Literal["unlink", "whole"] = "unlink"
    allow_leaks: list[str] = Field(default_factory=list)
    indicators: list[str] | None = None
    population: Annotated[int, Field(ge=1)] | None = None
    policy: str | Against | None = None
    holdout: Annotated[float, Field(gt=0, le=0.5)] | None = None
    roles: Roles
    steps: list[SerializeAsAny[Step]] = Field(default_factory=list)

    @field_validator("holdout", mode="before")
    @classmethod
    def _some_of_all(cls, share: Any) -> Any:
        number = isinstance(share, int | float) and not isinstance(share, bool)
        if share is not None and not (number and 0 < share <= 0.5):
            raise ValueError(f"holdout must be above 0 and at most 0.5, not {share!r}")
        return share

    @field_validator("steps", mode="before")
    @classmethod
    def _by_method(cls, steps: Any) -> Any:
        """Validate each step by the model of its method."""
        if isinstance(steps, Mapping):
            raise ValueError("each step begins with [[steps]], in two pairs of brackets")
        if not isinstance(steps, list):
            return steps
        return [read_step(step, number) for number, step in enumerate(steps, start=1)]

    @model_validator(mode="after")
    def _rules(self, info: ValidationInfo) -> Recipe:
        for path, said in broken_rules(self):
            # Who wants to know of all of them gives a list.
            if info.context is None:
                raise Misfit(said, *path)
            info.context.append((path, said))
        return self

    @property
    def counted(self) -> str | None:
        """The column whose distinct values are counted; None where rows are."""
        roles = self.roles
        by_default = roles.household or roles.unit
        return {None: by_default, "rows": None, "units": roles.unit}.get(
            self.counts, roles.household
        )

    @property
    def linking(self) -> list[str]:
        """The columns by which users could see whom a suppressed record belongs to."""
        roles = self.roles
        household = roles.household if self.household_suppression == "unlink" else None
        unit = roles.unit if roles.unit in roles.pseudonyms else None
        return [name for name in (household, unit) if name is not None]

    @property
    def counted_as(self) -> str:
        """What is counted, in a word."""
        if self.counted is None:
            return "records"
        return "households" if self.counted == self.roles.household else "units"

    @property
    def linked(self) -> str | None:
        """The released column that shows which rows belong together, where that is protected.

        A unit's pseudonym, or else the number of a household if `known_rows` is given.
        """
        roles = self.roles
        if roles.unit is not None and roles.unit in roles.pseudonyms:
            return roles.unit
        shown = roles.household is not None and roles.release_household
        return roles.household if shown and self.known_rows is not None else None

    @property
    def treated(self) -> list[str]:
        """The columns that steps treat, in order."""
        return list(dict.fromkeys(column for step in self.steps for column in step.columns))

    @property
    def added(self) -> list[str]:
        """The columns that a release has beside those of the table."""
        return [column for step in self.steps for column in step.build().adds]

    @property
    def apart(self) -> list[str]:
        """The columns that are written to a second table; what is added joins it with the first."""
        return [column for step in self.steps for column in step.build().apart]

    @property
    def private(self) -> bool:
        """True where the release is differentially private, and nothing else may be told."""
        return any(step.build().private for step in self.steps)

    @property
    def hierarchies(self) -> dict[str, Any]:
        """What the labels of columns cover, where a step says so: a Hierarchy each."""
        given = (step.parameters().get("hierarchies") or {} for step in self.steps)
        return {column: hierarchy for one in given for column, hierarchy in one.items()}

    @property
    def numeric(self) -> list[str]:
        """The columns that some step needs as numbers."""
        return [
            column
            for step in self.steps
            if find_method(step.method).needs == "numeric"
            for column in step.columns
        ]

    @property
    def against(self) -> Against | None:
        """The policy that the release is held against."""
        return Against(name=self.policy) if isinstance(self.policy, str) else self.policy

    def without_seeds(self) -> Recipe:
        """Return what is done to the table, without what chance and the clock decided."""
        steps = [
            step.model_copy(update=dict.fromkeys(find_method(step.method).budgets))
            for step in self.steps
        ]
        secrets = dict.fromkeys((*_SECRETS, "seed_for", "policy"))
        return self.model_copy(update=secrets | {"steps": steps})

    def with_holdout(self, share: float | None) -> Recipe:
        """Return the recipe with another share to set aside; with its own where none is given."""
        if share is None:
            return self
        try:
            return self.model_copy(update={"holdout": self._some_of_all(share)})
        except ValueError as error:
            raise BadInput(str(error)) from None

    @property
    def has_predictable_seed(self) -> bool:
        """True if there is a seed that could be found by trying them all."""
        return self.seed is not None and self.seed < PREDICTABLE_BELOW

    @classmethod
    def load(cls, path: str | Path) -> Recipe:
        """Read a recipe from a TOML file; a message about it names the line."""
        path = Path(path)
        text = text_of(path)
        return cls._of_text(text, in_folder(_parse(text, str(path)), path.parent), str(path))

    @classmethod
    def from_toml(cls, text: str, source: str = "the recipe") -> Recipe:
        """Read a recipe from TOML text; a message about it names the line."""
        return cls._of_text(text, _parse(text, source), source)

    @classmethod
    def _of_text(cls, text: str, content: dict[str, Any], source: str) -> Recipe:
        try:
            return cls.model_validate(content)
        except ValidationError as error:
            path, said = told(error, cls)[0]
            line = line_of(lines_of(text), path, said)
            where = source if line is None else f"{source}, line {line}"
            raise BadInput(f"{where}: {said}") from None

    @classmethod
    def from_dict(cls, content: Mapping[str, Any], source: str = "the recipe") -> Recipe:
        """Make a recipe from a dict with the structure of the TOML file."""
        try:
            return cls.model_validate(dict(content))
        except ValidationError as error:
            raise BadInput(f"{source}: {say(error, cls)}") from None

    def dump(self, path: str | Path | None = None) -> str:
        """Return the recipe as TOML text, every parameter spelt out; write it if given a path.

        Only a `min_count` that nobody gave stays open, so that points of one record are refused on
        other rows too. A file with a seed or a key can be read by its owner only.
        """
        text = tomli_w.dumps(self.model_dump(exclude_none=True))
        if path is not None:
            if any(getattr(self, name) is not None for name in _SECRETS):
                write_private(path, text)
            else:
                Path(path).write_text(text, encoding="utf-8")
        return text

    @classmethod
    def json_schema(cls) -> dict[str, Any]:
        """Return the JSON schema of a recipe, for editors that complete and check as one types."""
        one: Any = Union[tuple(map(_step_model, methods()))]  # noqa: UP007
        steps: Any = list[Annotated[one, Discriminator("method")]]
        whole = create_model("Recipe", __base__=cls, __doc__=cls.__doc__, steps=(steps, []))
        return described(whole, Step)


def content_of(path: str | Path, folder: Path | None = None) -> dict[str, Any]:
    """Read what a TOML file holds, with paths relative to its folder, or another one.

    Nothing is validated.
    """
    path = Path(path)
    found: dict[str, Any] = in_folder(_parse(text_of(path), str(path)), folder or path.parent)
    return found


def text_of(path: Path) -> str:
    """Read the text of a recipe."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise BadInput(f"the recipe {path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise BadInput(f"the recipe {path} is not valid UTF-8") from None


def needed_columns(recipe: Recipe, names: Sequence[str]) -> list[str]:
    """Name the columns of a table that are released or used."""
    roles = recipe.roles
    used = {roles.weight, roles.target, roles.row_key, roles.household, roles.unit}
    return list(dict.fromkeys([*roles.released(names), *(name for name in names if name in used)]))


def _parse(text: str, source: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadInput(f"{source} is not TOML: {not_toml(str(error))}") from None


def in_folder(content: Any, folder: Path) -> Any:
    """Resolve paths of hierarchies, populations, a policy and a key from the recipe's folder."""
    if isinstance(content, dict):
        content = {key: in_folder(value, folder) for key, value in content.items()}
        for key in ("pseudonym_key", "project_key"):
            if isinstance(content.get(key), str) and content[key] != NEW_KEY:
                content[key] = str(folder.absolute() / content[key])
        policy = content.get("policy")
        if isinstance(policy, str):
            content["policy"] = policy_in(folder, policy)
        for key in ("name", "population", "attacks") if isinstance(policy, dict) else ():
            path = policy.get(key)
            if isinstance(path, str):
                policy[key] = (
                    policy_in(folder, path) if key == "name" else str(folder.absolute() / path)
                )
        if content.get("kind") == "csv" and isinstance(content.get("path"), str):
            content["path"] = str(folder.absolute() / content["path"])
        if "model" in content and isinstance(content.get("population"), str):
            content["population"] = str(folder.absolute() / content["population"])
        named = content.get("hierarchies")
        for column, path in named.items() if isinstance(named, dict) else ():
            if isinstance(path, str):
                named[column] = str(folder.absolute() / path)
    return [in_folder(item, folder) for item in content] if isinstance(content, list) else content


def read_step(step: Any, number: int) -> Any:
    """Validate a step by the model of its method; raise the first of what is wrong."""
    made, wrong = tried_step(step, number)
    for path, said in wrong:
        raise Misfit(said, *path)
    return made


def tried_step(step: Any, number: int) -> tuple[Any, list[tuple[Where, str]]]:
    """Validate a step by the model of its method; return it, and all that is wrong, with where."""
    at = number - 1
    if isinstance(step, Step) or not isinstance(step, Mapping):
        return step, []
    if "method" not in step:
        return step, [((at,), f"step {number} has no method")]
    name = step["method"]
    if not isinstance(name, str) or name not in methods():
        said = f"step {number}: there is no method '{name}'; {nearest(name, methods())}"
        return step, [((at, "method"), said)]
    model = _step_model(name)
    made: Any = step
    wrong: list[tuple[Where, str]] = []
    try:
        made = model.model_validate(dict(step), context=wrong)
    except ValidationError as error:
        wrong = told(error, model)
    else:
        wrong += [] if wrong else no_frames(made)
    return made, [((at, *path), f"step {number} ({name}): {said}") for path, said in wrong]
