"""What generalization refuses, and in which words."""

import pandas as pd
import pyarrow as pa
import pytest

import discreet
from discreet.datasets import load_adult
from discreet.errors import BadInput
from discreet.generalization import (
    AlphaKAnonymity,
    Generalize,
    Hierarchy,
    KAnonymity,
    LDiversity,
)
from tests.generalization.test_generalize import HIERARCHIES, PEOPLE, recipe


def say(message, table=PEOPLE, **options):
    privacy = options.pop("privacy", KAnonymity(2))
    with pytest.raises(BadInput) as raised:
        Generalize(options.pop("hierarchies", HIERARCHIES), privacy, **options).fit(table)
    assert str(raised.value) == message


def test_bad_input():
    say(
        "column 'zip' is confidential to the privacy models and cannot be generalized as well; "
        "take it out of the columns, or out of privacy",
        privacy=LDiversity(2, column="zip"),
    )
    say(
        "the table has no column 'city'; known: name, age, zip, ill",
        hierarchies={"city": Hierarchy.flat()},
    )
    say("hierarchies is empty; give one for each column to treat", hierarchies={})
    say("k = 9 is above the number of records, 8; use a smaller k", privacy=KAnonymity(9))
    say(
        "l = 4 is above the number of values of 'ill', 3; use a smaller l",
        privacy=LDiversity(4, column="ill"),
    )
    say("suppression_limit must be a share of 0 to 1, not 5", suppression_limit=5)
    say(
        "levels of 'age' must be a level of 0 to 3, or the lowest and the highest of a range, not 4",
        levels={"age": 4},
    )
    say(
        "levels of 'age' must be the lowest and then the highest of a range, not [2, 1]",
        levels={"age": [2, 1]},
    )
    say("levels names 'agee', which is not treated; did you mean 'age'?", levels={"agee": 1})
    say("weights belong to quality = 'loss'; 'nue' has none", quality="nue", weights={"age": 2.0})
    say("the weight of 'age' must be a number of at least 0, not -1", weights={"age": -1})
    say("evaluations must be a whole number of at least 1, not 0", evaluations=0)
    say("evaluations is an empty list; give a whole number, or one each search", evaluations=[])
    say("time_limit must be a number of seconds, not 0", time_limit=0)
    say(
        "quality must be one of 'loss', 'precision', 'nue', 'nnue', 'discernibility', 'ambiguity', "
        "'average-class', 'entropy-based', 'precision-of-levels', 'nue-of-levels', 'height', "
        "'kl-divergence', 'kl-divergence-by-record', 'classification', 'payout', not 'lost'",
        quality="lost",
    )
    say(
        "null_policy = 'match' with local = true is for k-anonymity and distinct l-diversity: what "
        "one round adds to the matches of another may break other models; use local = false",
        null_policy="match",
        privacy=LDiversity(2, column="ill", kind="entropy"),
        local=True,
    )
    say(
        "column 'age': 1 value in 1 row has no place in the hierarchy: '71'; add it to the "
        "hierarchy, or correct the data",
        hierarchies={"age": Hierarchy.from_table([[str(a), "*"] for a in range(60)])},
    )
    say(
        "suppression_limit = 0 cannot be met: at least 1 of 8 records must be suppressed to keep "
        "the privacy models; set suppression_limit = 0.125 or more, or weaken the models",
        suppression_limit=0,
        levels={"age": [0, 1], "zip": [0, 1]},
    )


def test_the_limit_that_works_for_all_groups_is_told():
    # Of those without nulls 1 of 4 must go, of those with nulls 2 of 6.
    table = pd.DataFrame({"a": [*"xxxy", *"uuuuvw"], "b": ["p"] * 4 + [None] * 6})
    options = {
        "hierarchies": {"a": Hierarchy.flat(), "b": Hierarchy.flat()},
        "levels": {"a": 0, "b": 0},
        "privacy": KAnonymity(2),
    }
    say(
        "suppression_limit = 0.05 cannot be met for the records with nulls: at least 2 of 6 records "
        "must be suppressed to keep the privacy models, nor for the records without nulls: at least "
        "1 of 4; set suppression_limit = 0.3334 or more, or weaken the models",
        table,
        **options,
    )
    options |= {"suppression_limit": 0.3334}
    assert Generalize(**options).fit(table).suppressed_ == 3


def test_a_table_of_which_nothing_would_remain_is_refused():
    say(
        "all 8 records would be suppressed, and nothing would remain since they do not keep the "
        "privacy models together; weaken the models, or take another null_policy",
        privacy=AlphaKAnonymity(0.3, 2, column="ill"),
        suppression_limit=1.0,
    )


def test_no_group_large_enough_is_refused():
    table = pd.DataFrame({"a": ["x", "y", None, None], "pay": range(4)})
    for rows, policy in ((table, "segregate"), (table[1:], "suppress")):
        say(
            "neither the records with nulls nor those without are k = 3 or more that could be "
            "generalized; use null_policy = 'value', or a smaller k"
            if policy == "segregate"
            else "neither the records with nulls nor those without are k = 2 or more that could be "
            "generalized; use null_policy = 'value', or a smaller k",
            rows,
            hierarchies={"a": Hierarchy.flat()},
            privacy=KAnonymity(3 if policy == "segregate" else 2),
            null_policy=policy,
        )


def test_a_treated_column_without_a_hierarchy_is_refused():
    bad = recipe()
    del bad["steps"][0]["hierarchies"]["age"]
    with pytest.raises(BadInput) as raised:
        discreet.protect(load_adult(), bad)
    assert str(raised.value) == (
        "the recipe: step 1 (generalize): column 'age' has no hierarchy; give it one under "
        'hierarchies, such as age = { kind = "auto" }'
    )


@pytest.mark.parametrize("null_policy", ["segregate", "value", "match", "suppress"])
def test_a_column_of_nulls_is_told(null_policy):
    table = pa.table({"a": ["x", "y"] * 10, "b": pa.nulls(20, pa.string())})
    step = {
        "method": "generalize", "columns": ["a", "b"], "null_policy": null_policy,
        "privacy": [{"model": "k-anonymity", "k": 3}],
        "hierarchies": {"a": {"kind": "prefix"}, "b": {"kind": "auto"}},
    }  # fmt: skip
    for engine in ("memory", "duckdb"):
        with pytest.raises(BadInput, match="column 'b' holds only nulls"):
            discreet.protect(table, {"roles": {"quasi": ["a", "b"]}, "steps": [step]}, engine)
