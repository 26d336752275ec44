"""Roles: what each column is, and so what happens to it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    model_validator,
)

from discreet.errors import BadInput, nearest
from discreet.recipe.wording import Misfit, Where, say

LISTS = ("identifiers", "quasi", "confidential", "insensitive", "pseudonyms")
SINGLE = ("household", "weight", "target", "unit", "row_key")
# These say what a column is used for; whether it is released is said by another role.
USES = ("weight", "target", "row_key")


class Roles(BaseModel):
    """What each column is. Every column needs a role, unless `rest` covers it.

    Attributes
    ----------
    identifiers : list of str
        Identify a person or company on their own; dropped.
    quasi : list of str
        Could identify someone together with other columns; each must be treated by a step or be
        `untouched`.
    confidential : list of str
        What nobody should learn about a person they know.
    insensitive : list of str
        Released as they are, unless a step treats them.
    pseudonyms : list of str
        Replaced by keyed pseudonyms: the same value gets the same one, in every table of a key.
        The household and the unit may be among them, and keep that role.
    household : str
        Replaced by random numbers, the same for all members of a household.
    household_level : list of str
        Columns that say the same for all members of a household; treated once a household.
        Columns that are constant within all households are detected by default.
    release_household : bool
        False: the household's number is not released.
    weight : str
        Sampling weight, used by frequency risk; released only if also listed elsewhere.
    target : str
        What supervised steps aim at; released only if also listed elsewhere.
    unit : str
        The person or company a row belongs to, if one can have several rows; dropped, unless it is
        among the pseudonyms.
    row_key : str
        A whole number or text that is different in every row; random draws go by it instead of the
        row's position; released only if also listed elsewhere.
    rest : {"drop", "insensitive"}
        What to do with columns that have no role.
    untouched : list of str
        Quasi columns that you knowingly release as they are.
    not_identifiers : list of str
        Released columns that look like identifiers and are none.

    Examples
    --------
    >>> roles = Roles(identifiers=["name"], quasi=["age"], rest="drop")
    >>> roles.released(["name", "age", "shoe_size"])
    ['age']
    """

    model_config = ConfigDict(extra="forbid", strict=True)

    identifiers: list[str] = Field(default_factory=list)
    quasi: list[str] = Field(default_factory=list)
    confidential: list[str] = Field(default_factory=list)
    insensitive: list[str] = Field(default_factory=list)
    pseudonyms: list[str] = Field(default_factory=list)
    household: str | None = None
    household_level: list[str] = Field(default_factory=list)
    release_household: bool = True
    weight: str | None = None
    target: str | None = None
    unit: str | None = None
    row_key: str | None = None
    rest: Literal["drop", "insensitive"] | None = None
    untouched: list[str] = Field(default_factory=list)
    not_identifiers: list[str] = Field(default_factory=list)

    @model_validator(mode="after")
    def _one_role_each(self, info: ValidationInfo) -> Roles:
        for path, said in self._broken():
            # Who wants to know of all of them gives a list.
            if info.context is None:
                raise Misfit(said, *path)
            info.context.append((("roles", *path), said))
        return self

    def _broken(self) -> Iterator[tuple[Where, str]]:
        seen: dict[str, str] = {}
        for role in (*LISTS, "household", "unit"):
            for position, column in enumerate(self._columns_of(role)):
                other = seen.setdefault(column, role)
                again = position > 0 and column in self._columns_of(role)[:position]
                if other == "pseudonyms" and role in ("household", "unit"):
                    continue
                if other != role or again:
                    yield (
                        (role, position),
                        f"column '{column}' is listed twice under {role}"
                        if other == role
                        else f"column '{column}' has two roles, {other} and {role}; keep one",
                    )
        for position, column in enumerate(self.untouched):
            if column not in self.quasi:
                said = f"untouched lists '{column}', which is not a quasi column"
                yield ("untouched", position), said
        if self.household in self.pseudonyms and not self.release_household:
            home = self.household
            said = f"'{home}' is among the pseudonyms, but release_household = false"
            yield ("release_household",), said
        if self.household_level and self.household is None:
            said = "household_level needs the column of households: the role household"
            yield ("household_level",), said

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Roles:
        """Make roles from a dict as in a recipe, or say in one sentence what is wrong."""
        if not isinstance(content, Mapping):
            raise BadInput(f"roles must be a table such as {{quasi = ['age']}}, not {content!r}")
        try:
            return cls.model_validate(dict(content))
        except ValidationError as error:
            raise BadInput(f"roles: {say(error, cls)}") from None

    def _columns_of(self, role: str) -> list[str]:
        value = getattr(self, role)
        return list(value) if role in LISTS else [value] if value is not None else []

    def named(self) -> dict[str, str]:
        """Return the role of each named column; a use counts only if there is no other role."""
        order = (*USES, "household", "unit", *LISTS)
        return {column: role for role in order for column in self._columns_of(role)}

    @property
    def renamed(self) -> set[str]:
        """The columns whose values are replaced by names that tell nothing of them."""
        return {*self.pseudonyms, *self._columns_of("household")}

    def assign(self, columns: Sequence[str]) -> dict[str, str]:
        """Return the role of each of a table's columns, or say what is missing.

        Parameters
        ----------
        columns : sequence of str
            The table's columns.

        Returns
        -------
        dict of str to str
            `"drop"` for columns covered by `rest = "drop"`.
        """
        named = self.named()
        for column, role in named.items():
            if column not in columns:
                raise BadInput(
                    f"the table has no column '{column}' (role {role}); {nearest(column, columns)}"
                )
        missing = [column for column in columns if column not in named]
        if missing and self.rest is None:
            raise BadInput(no_role(missing))
        rest = self.rest or "drop"
        return {column: named.get(column, rest) for column in columns}

    def released(self, columns: Sequence[str]) -> list[str]:
        """Return the columns of a table that are released, in the table's order."""
        kept = ["quasi", "confidential", "insensitive", "pseudonyms"]
        kept += ["household"] * self.release_household
        return [column for column, role in self.assign(columns).items() if role in kept]


def unreleased(column: str, role: str) -> str:
    """Say that a step treats or reads a column that is not released, and what to do."""
    if role == "drop":
        return f"'{column}', which has no role and is dropped (rest = \"drop\"); give it one"
    return f"'{column}', which is not released ({role})"


def no_role(columns: Sequence[str]) -> str:
    """Say that columns of a table have no role, and what to do."""
    listed = ", ".join(f"'{column}'" for column in columns)
    return (
        f"no role for column{'s' * (len(columns) > 1)} {listed}; give each a role, "
        'or set rest = "drop" or rest = "insensitive"'
    )
