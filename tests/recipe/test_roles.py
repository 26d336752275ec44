import pytest

from discreet import Roles
from discreet.errors import BadInput

COLUMNS = ["name", "age", "pay", "w", "hh", "shoe", "size"]


def test_released_columns_keep_the_tables_order():
    roles = Roles(identifiers=["name"], confidential=["pay"], quasi=["age"], household="hh", weight="w", rest="insensitive")  # fmt: skip
    assert roles.released(COLUMNS) == ["age", "pay", "hh", "shoe", "size"]


@pytest.mark.parametrize("use", ["weight", "target"])
def test_a_use_is_released_only_if_listed_elsewhere(use):
    assert Roles(**{use: "w"}, rest="drop").released(COLUMNS) == []
    assert Roles(**{use: "w"}, insensitive=["w"], rest="drop").released(COLUMNS) == ["w"]


@pytest.mark.parametrize(
    ("roles", "message"),
    [
        (Roles(quasi=["age"]), "no role for columns 'name', 'pay', 'w', 'hh', 'shoe', 'size'; give each a role, "),
        (Roles(insensitive=COLUMNS[:-1]), "no role for column 'size'; give each a role, or set rest"),
        (Roles(quasi=["agee"], rest="drop"), "the table has no column 'agee' (role quasi); did you mean 'age'?"),
    ],
)  # fmt: skip
def test_missing_roles_and_columns_are_named(roles, message):
    with pytest.raises(BadInput) as caught:
        roles.assign(COLUMNS)
    assert str(caught.value).startswith(message)
