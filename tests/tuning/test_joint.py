"""The ways to treat columns together: each option keeps what is demanded, by a count of our own."""

from collections import Counter, defaultdict

import numpy as np
import pyarrow as pa
import pytest

from discreet import protect
from discreet.datasets import make_households
from discreet.generalization import Hierarchy
from discreet.recipe import Roles
from discreet.tuning.joint import joint_parts, joint_seeds
from discreet.tuning.options import KEPT, column_options
from discreet.tuning.space import Option, Part, Space

KEYS = ["age", "sex", "education"]
AMOUNTS = ["income", "assets"]
ROLES = {"quasi": KEYS, "confidential": ["disease", *AMOUNTS], "rest": "drop"}
# Those of at most a tenth of the records.
SIZES = (3, 5, 10, 20, 50)
AGES = {"age": Hierarchy.intervals(widths=[10, 20, 40])}
K = [{"model": "k-anonymity", "k": 4}]
L = [*K, {"model": "l-diversity", "l": 2, "column": "disease"}]


@pytest.fixture(scope="module")
def people():
    return make_households(500, seed=5).select([*KEYS, "disease", *AMOUNTS])


def parts_of(people, privacy=(), keep=()):
    return joint_parts(people, Roles.from_dict(ROLES), AGES, privacy, keep)


def released(people, option, columns=KEYS):
    steps = [{**step, "columns": list(columns)} for step in option.steps]
    roles = {**ROLES, "untouched": [name for name in KEYS if name not in columns]}
    recipe = {"roles": roles, "steps": steps, "seed": 1, "allow_predictable_seed": True}
    return protect(people, {**recipe, "allow_leaks": [*KEYS, *AMOUNTS]}).table


def classes(table, confidential="disease"):
    """Released tuples that are not stars or blanks throughout, each with its confidential values."""
    found = defaultdict(list)
    cells = [table[name].to_pylist() for name in [*KEYS, confidential]]
    for *shown, told in zip(*cells, strict=True):
        if set(shown) - {"*", None}:
            found[tuple(shown)].append(told)
    return found.values()


@pytest.mark.parametrize("privacy", [K, L], ids=["k", "k and l"])
def test_every_option_keeps_what_is_demanded(people, privacy):
    keys = parts_of(people, privacy)[0]
    assert (keys.joint, keys.columns) == (True, tuple(KEYS))
    for option in keys.options[:7]:
        found = classes(released(people, option))
        assert min(map(len, found)) >= 4, option.words
        if privacy is L:
            assert min(len(set(told) - {None}) for told in found) >= 2, option.words


def test_without_models_the_first_option_does_nothing_and_k_grows(people):
    keys = parts_of(people)[0]
    assert keys.options[0].steps == ()
    first = [option.steps[0] for option in keys.options[1:]]
    blanked = [(s["k"], s["null_policy"]) for s in first if s["method"] == "local-suppression"]
    assert blanked == [(3, "match"), (3, "own"), (3, "value"), *((k, "own") for k in SIZES[1:])]
    sizes = [step["privacy"][0]["k"] for step in first if "privacy" in step]
    assert sizes == sorted(sizes)
    assert set(sizes) == set(SIZES)


def test_blanks_are_counted_strictly_where_k_is_demanded(people):
    steps = [option.steps[0] for option in parts_of(people, K)[0].options if not option.alone]
    assert [(step["k"], step["null_policy"]) for step in steps] == [
        (k, "value") for k in (4, 5, 10, 20, 50)
    ]


def test_a_kept_column_is_shown_as_it_is_or_not_at_all(people):
    keys = parts_of(people, K, keep=["education"])[0]
    assert "mondrian" not in {step["method"] for o in keys.options for step in o.steps}
    before = people["education"].to_pylist()
    for option in keys.options[:4]:
        after = released(people, option)["education"].to_pylist()
        assert all(y in (x, "*", None) for x, y in zip(before, after, strict=True)), option.words


def test_amounts_are_averaged_in_groups(people):
    amounts = parts_of(people, K)[1]
    assert (amounts.columns, amounts.options[0].steps) == (tuple(AMOUNTS), ())
    for option in amounts.options[1:]:
        table = released(people, option, AMOUNTS)
        counts = Counter(zip(*(table[name].to_pylist() for name in AMOUNTS), strict=True))
        assert min(counts.values()) >= option.steps[0]["k"]


def test_amounts_that_are_looked_at_or_kept_are_left_alone(people):
    models = [*K, {"model": "t-closeness", "t": 0.3, "column": "income", "distance": "ordered"}]
    assert len(parts_of(people, models)) == 1
    assert len(parts_of(people, K, keep=["assets"])) == 1


def test_one_key_needs_no_joint_part_unless_something_is_demanded():
    table = pa.table({"age": [1, 2, 3] * 4})
    roles = Roles(quasi=["age"])
    assert joint_parts(table, roles) == []
    assert joint_parts(table, roles, privacy=K)[0].columns == ("age",)


def test_keys_that_are_all_amounts_may_be_averaged():
    table = pa.table({name: list(range(40)) for name in "ab"})
    [keys] = joint_parts(table, Roles(quasi=["a", "b"]))
    steps = [step for option in keys.options for step in option.steps]
    assert [s["k"] for s in steps if s["method"] == "microaggregation"] == [3, 5, 10, 20]
    # Nothing would be left of them if they were blanked.
    assert {s["method"] for s in steps} == {"microaggregation", "mondrian", "generalize"}


def test_words_say_what_is_kept(people):
    said = [option.words for option in parts_of(people, L)[0].options[:6]]
    share = "4 or more records with 2 or more values of disease"
    assert said == [
        f"in ranges and sets that {share} share",
        f"at levels that differ by record, each shared by {share}",
        f"with cells blanked until {share} share each combination",
        f"at levels that {share} share, but for 5 % of records",
        f"at levels that {share} share, but for 1 % of records",
        f"at levels that {share} share",
    ]


def test_seeds_take_each_joint_option_and_each_level_before_blanks(people):
    own = [Part((name,), column_options(people[name], name, AGES.get(name))) for name in KEYS]
    [keys, _] = parts_of(people, K)
    space = Space((*own, keys), {"roles": ROLES})
    seeds = joint_seeds(space)
    assert len(set(seeds)) == len(seeds)
    assert {seed[-1] for seed in seeds} == set(range(len(keys.options)))
    blanked = [number for number, option in enumerate(keys.options) if not option.alone]
    recoded = [seed for seed in seeds if seed[-1] == blanked[0]]
    levels = [
        [step["levels"]["age"] for step in space.steps(seed) if "age" in step.get("levels", ())]
        for seed in recoded
    ]
    assert levels == [[], [1], [2], [3]]


def test_seeds_of_a_space_without_joint_parts_are_none():
    space = Space((Part(("a",), (KEPT, Option(released=False))),), {"roles": {"quasi": ["a"]}})
    assert joint_seeds(space) == []


def test_related_columns_are_moved_alike_only_where_a_score_counts():
    rng = np.random.default_rng(3)
    size = rng.lognormal(8, 1, 200)
    table = pa.table({"weight": rng.lognormal(5, 1, 200), "sales": size, "wages": size**0.7 + 3})
    roles = Roles(confidential=["weight", "sales", "wages"])
    assert [part.columns for part in joint_parts(table, roles)] == [("weight", "sales", "wages")]
    *_, moved = joint_parts(table, roles, scored=True)
    assert moved.columns == ("sales", "wages")
    assert [len(option.steps) for option in moved.options[:2]] == [0, 1]
    assert all(option.alone and option.steps[0]["match_ranks"] for option in moved.options[1:])
    assert len(joint_parts(table, roles, keep=["wages"], scored=True)) == 1
