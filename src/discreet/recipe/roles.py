"""Roles: what each column is, and so what becomes of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from discreet.errors import BadInput, nearest
from discreet.recipe.wording import say

LISTS = ("identifiers", "quasi", "confidential", "insensitive")
SINGLE = ("household", "weight", "target", "unit", "row_key")
# These say what a column is used for; whether it is released is said by another role.
USES = ("weight", "target", "row_key")


class Roles(BaseModel):
    """What each column is. Every column has a role, or `rest` settles those that have none.

    Attributes
    ----------
    identifiers : list of str
        Name a person or company by themselves; dropped.
    quasi : list of str
        Could identify together with others; each must be treated by a step or be `untouched`.
    confidential : list of str
        What nobody should learn about a known person.
    insensitive : list of str
        Released as they are, unless a step treats them.
    household : str
        Replaced by random numbers, the same for all members.
    weight : str
        Sampling weight, used by frequency risk; released only if also listed elsewhere.
    target : str
        What supervised steps aim at; released only if also listed elsewhere.
    unit : str
        The person or company a row belongs to, where one has several rows; dropped.
    row_key : str
        A whole number or text of its own in every row, which random draws go by instead of the
        row's position; released only if also listed elsewhere.
    rest : {"drop", "insensitive"}
        What the columns without a role are.
    untouched : list of str
        Quasi columns that are knowingly released as they are.

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
    household: str | None = None
    weight: str | None = None
    target: str | None = None
    unit: str | None = None
    row_key: str | None = None
    rest: Literal["drop", "insensitive"] | None = None
    untouched: list[str] = Field(default_factory=list)

    @model_validator(mode="after")
    def _one_role_each(self) -> Roles:
        seen: dict[str, str] = {}
        for role in (*LISTS, "household", "unit"):
            for column in self._columns_of(role):
                if column in seen:
                    other = seen[column]
                    raise ValueError(
                        f"column '{column}' is listed twice under {role}"
                        if other == role
                        else f"column '{column}' has two roles, {other} and {role}; keep one"
                    )
                seen[column] = role
        for column in self.untouched:
            if column not in self.quasi:
                raise ValueError(f"untouched lists '{column}', which is not a quasi column")
        return self

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Roles:
        """Make roles from a dict of the recipe's shape, or say in one sentence what is wrong."""
        try:
            return cls.model_validate(dict(content))
        except ValidationError as error:
            raise BadInput(f"roles: {say(error, cls)}") from None

    def _columns_of(self, role: str) -> list[str]:
        value = getattr(self, role)
        return list(value) if role in LISTS else [value] if value is not None else []

    def named(self) -> dict[str, str]:
        """Return the role of each column that is named; a use counts where no other role does."""
        order = (*USES, *LISTS, "household", "unit")
        return {column: role for role in order for column in self._columns_of(role)}

    def assign(self, columns: Sequence[str]) -> dict[str, str]:
        """Return each of a table's columns its role, or say what is missing.

        Parameters
        ----------
        columns : sequence of str
            The table's columns.

        Returns
        -------
        dict of str to str
            `"drop"` for columns that `rest = "drop"` settles.
        """
        named = self.named()
        for column, role in named.items():
            if column not in columns:
                raise BadInput(
                    f"the table has no column '{column}' (role {role}); {nearest(column, columns)}"
                )
        missing = [column for column in columns if column not in named]
        if missing and self.rest is None:
            listed = ", ".join(f"'{column}'" for column in missing)
            raise BadInput(
                f"no role for column{'s' * (len(missing) > 1)} {listed}; give each a role, "
                'or set rest = "drop" or rest = "insensitive"'
            )
        rest = self.rest or "drop"
        return {column: named.get(column, rest) for column in columns}

    def released(self, columns: Sequence[str]) -> list[str]:
        """Return those of a table's columns that a release holds, in the table's order."""
        kept = ("quasi", "confidential", "insensitive", "household")
        return [column for column, role in self.assign(columns).items() if role in kept]
