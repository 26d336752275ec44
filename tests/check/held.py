"""Tables held against one rule of a policy."""

import datetime

import pyarrow as pa
import tomli_w

from discreet import Recipe, write_table
from discreet.recipe.policies import Against

K2 = [{"model": "k-anonymity", "k": 2}]
ROLES = {
    "quasi": ["age", "sex"],
    "confidential": ["ill"],
    "rest": "insensitive",
    "untouched": ["age", "sex"],
}
WEIGHTED = ROLES | {"weight": "w", "insensitive": ["w"]}
DAY = datetime.date(2024, 5, 1)


def people(**more):
    """Five of each of four kinds; the last have one illness among them."""
    columns = {
        "age": [30] * 10 + [60] * 10,
        "sex": (["f"] * 5 + ["m"] * 5) * 2,
        "ill": ["a", "b", "c", "a", "b"] * 3 + ["a"] * 5,
    }
    return pa.table({**columns, **more})


def judging(checked, folder):
    """Return what holds a table against one rule, on every engine."""

    def judged(rule, table=None, roles=ROLES, steps=(), **given):
        policy = {"title": "House", "source": "Handbook", "date": DAY}
        policy["rules"] = [{"says": "As it is.", "source": "page 1", **rule}]
        (folder / "house.toml").write_text(tomli_w.dumps(policy))
        file = folder / "table.parquet"
        write_table(people() if table is None else table, file)
        recipe = Recipe.from_dict({"roles": roles, "steps": list(steps)})
        against = Against(name=str(folder / "house.toml"), **given)
        [found] = checked(file, recipe, policy=against).policy.verdicts
        return found

    return judged


def of(status, found, records=None, remedy=""):
    return status, found, records, remedy


def told(one):
    return one.status, one.found, one.records, one.remedy
