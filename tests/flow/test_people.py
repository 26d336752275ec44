"""k counts people: random tables of persons and households, and an independent count of each release.

The count is in plain Python over dicts, from the unit of each row of the original and the released
table beside it; it shares no code with methods, flow or check.
"""

from collections import defaultdict

import numpy as np
import pyarrow as pa
from hypothesis import Phase, event, given, reject
from hypothesis import strategies as st

import discreet
from discreet.errors import BadInput
from discreet.generalization.models import read_model
from discreet.registry import methods
from tests.examples import examples
from tests.generalization.plain import plainly

# Columns by what a method may do with them; `year` is in every release and never null, so that
# the rows that are left out can be told.
NUMBERS = ["rent", "age", "cost", "days"]
CATEGORIES = ["region", "sex", "ill"]
ORDER = ["gout", "flu", "acne"]
KEYS = ["region", "sex", "age", "days"]
OWN = {"pram": CATEGORIES, "date-shift": ["visited"]}
HIERARCHIES = {
    "region": {"kind": "auto"},
    "sex": {"kind": "auto"},
    "age": {"kind": "intervals", "widths": [10, 20, 40]},
    "days": {"kind": "intervals", "widths": [2, 4]},
}


def people(seed: int, homes: int, most_members: int, most_rows: int, nulls: float) -> pa.Table:
    """Return rows of persons in households, in any order.

    Rent and region are of households, age and sex of persons, the others of rows.
    """
    rng = np.random.default_rng(seed)
    home = np.repeat(np.arange(homes), rng.integers(1, most_members + 1, homes))
    person = np.repeat(np.arange(len(home)), rng.integers(1, most_rows + 1, len(home)))
    person = rng.permutation(person)
    home = home[person]
    n = len(person)

    def holed(values: np.ndarray) -> pa.Array:
        return pa.array(values, mask=rng.random(n) < nulls)

    def of(units: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Draw one of some values for each unit, and return each row the one of its unit."""
        return rng.choice(values, units.max() + 1)[units]

    return pa.table(
        {
            "person": [f"p{7 * code}" for code in person],
            "home": home + 100,
            "year": [2024] * n,
            "rent": of(home, np.round(rng.gamma(2.0, 300.0, homes), rng.integers(-2, 2))),
            "region": of(home, np.array(["north", "south", "east"])),
            "age": of(person, np.arange(1, 90)),
            "sex": of(person, np.array(["f", "m"])),
            "cost": holed(np.round(rng.normal(100, 30, n), rng.integers(-1, 2))),
            "days": holed(rng.integers(0, 8, n)),
            "ill": holed(rng.choice(["flu", "gout", "acne"], n)),
            "visited": holed(np.datetime64("2024-01-01") + rng.integers(0, 300, n)),
            "outcome": rng.choice(["well", "dead"], n),
        }
    )


def _choices(**parameters):
    """Draw each parameter from its strategy, or one of its list of values."""
    drawn = {
        name: st.sampled_from(choice) if isinstance(choice, list) else choice
        for name, choice in parameters.items()
    }
    return st.fixed_dictionaries(drawn)


K = st.integers(2, 4)
SHOWN = {
    "representative": ["mean", "median", "midpoint", "resampled-mean"],
    # Only the first promises k.
    "encoding": ["group", "group", "group", "nearest", "stochastic"],
}
SPIKES = {"spikes": ["group", "keep"], **SHOWN}
GROUPS = {"k": K, "keep_ties": [True, False], **SPIKES}
PARTS = {"min_count": st.integers(1, 4), **SPIKES}
POINTS = {"n_points": st.integers(2, 6), **PARTS}
TOGETHER = {
    "n_points": st.integers(2, 6),
    "min_count": K,
    "joint": [True],
    "representative": ["mean", "median", "midpoint"],
}
LINES = {"k": st.integers(4, 8), "noise": ["synthetic", "perturbative"]}


@st.composite
def models(draw):
    """k-anonymity, and sometimes a model of a confidential column beside it."""
    k = draw(K)
    beside = [
        {"model": "l-diversity", "l": 2, "column": "ill"},
        {"model": "l-diversity", "l": 1.5, "column": "ill", "kind": "entropy"},
        {"model": "l-diversity", "l": 2, "c": 3.0, "column": "ill", "kind": "recursive"},
        {"model": "t-closeness", "t": 0.5, "column": "ill"},
        {"model": "t-closeness", "t": 0.5, "column": "ill", "distance": "ordered", "order": ORDER},
        {"model": "beta-likeness", "beta": 2.0, "column": "ill"},
        {"model": "alpha-k-anonymity", "alpha": 0.8, "k": k, "column": "ill"},
    ]
    more = draw(st.sampled_from([None, None, None, *beside]))
    return [{"model": "k-anonymity", "k": k}] + ([] if more is None else [more])


PARAMETERS = {
    "base": st.one_of(
        _choices(base=[10.0, 100.0], encoding=SHOWN["encoding"]),
        _choices(
            min_attraction=K,
            encoding=SHOWN["encoding"],
            ends=["closed", "open"],
            bases=["smallest", "nice"],
        ),
        _choices(min_attraction=K, rounding=["floor"]),
    ),
    "equal-width": _choices(**POINTS),
    "equal-frequency": _choices(ties=["merge", "raise_c", "lower_c"], **POINTS),
    "kmeans": st.one_of(
        _choices(solver=["optimal"], objective=["l2", "l1"], **POINTS), _choices(**TOGETHER)
    ),
    "resampling": st.one_of(
        _choices(n_quantiles=st.integers(3, 5), max_draws=st.just(20), **POINTS),
        _choices(max_draws=st.just(20), **TOGETHER),
    ),
    "mdav": _choices(**GROUPS),
    "vmdav": _choices(**GROUPS),
    "oma": _choices(objective=["l2", "l1"], **GROUPS),
    "mdlp": _choices(**PARTS),
    "chimerge": _choices(**PARTS),
    "microaggregation": _choices(
        k=K, algorithm=["mdav", "vmdav", "cbfs"], refine_moves=st.integers(0, 20)
    ),
    "noise": _choices(
        kind=["additive", "correlated", "multiplicative", "logarithmic", "correlated-logarithmic"],
        scale=[0.1],
        match_ranks=[False, True],
    ),
    "pram": _choices(retention=[0.8], invariant=[True, False]),
    "round-counts": _choices(rule=["cms", "census-drb-estimates"]),
    "rank-swap": _choices(p=[10.0, 30.0]),
    "shuffle": _choices(together=[True, False]),
    "top-bottom": _choices(lower=[5], upper=[80, 500]),
    "date-shift": _choices(days=[10, 100], keep_weekday=[True, False]),
    # Merges nothing, so that its promise may not hold; its tests are in `tests/rounding`.
    "given-cuts": None,
    "anatomy": None,  # counts records, and refuses units that have several
    "safepub": None,  # promise something of records, and refuse units
    "dp-microaggregation": None,
    "generalize-items": None,  # of sets, which count records; its tests are in `tests/generalization`
    "ipso": _choices(variant=["A", "B", "C"]),
    "lirop": _choices(**LINES),
    "porop": _choices(degree=[1, 2, "auto"], normalise=["none", "column"], **LINES),
    "generalize": _choices(
        privacy=models(),
        null_policy=["segregate", "value", "suppress", "match"],
        segregate=["any", "pattern"],
        local=[False, False, True],
        quality=["loss", "discernibility"],
        suppression_limit=[0.0, 0.1, 0.3],
    ),
    "mondrian": _choices(
        privacy=models(),
        null_policy=["segregate", "value", "suppress", "match", "contaminate"],
        segregate=["any", "pattern"],
        strict=[True, False],
    ),
    "local-suppression": _choices(
        k=K,
        null_policy=["value", "own", "match"],
        record_cost=[None, 1.5],
        improve_moves=[20],
    ),
}
CLASSES = ("generalize", "mondrian", "local-suppression")
# These have the most to keep.
DRAWN = [name for name in methods() if PARAMETERS.get(name) is not None] + [
    *CLASSES,
    "microaggregation",
    "oma",
] * 2


@st.composite
def steps(draw):
    """One to three steps, on columns that none before has promised something about."""
    found, held = [], set()
    for name in draw(st.lists(st.sampled_from(DRAWN), min_size=1, max_size=3)):
        step = {"method": name, **draw(PARAMETERS[name])}
        by_class = name in CLASSES
        if by_class and any(one["method"] in CLASSES for one in found):
            continue
        takes = methods()[name].needs
        known = KEYS if by_class else NUMBERS + (CATEGORIES if takes != "numeric" else [])
        if name in OWN:
            known = OWN[name]
        free = [column for column in known if column not in held]
        if not free:
            continue
        columns = draw(st.lists(st.sampled_from(free), min_size=1, max_size=3, unique=True))
        if by_class:
            # What models compare with is the original, so that no step before may alter it.
            models = step.get("privacy", [])
            if step["null_policy"] == "match" or any("ill" in one["columns"] for one in found):
                models = step["privacy"] = models[:1]
            if name == "local-suppression":
                step.pop("privacy", None)
            if name == "generalize":
                step["hierarchies"] = {column: HIERARCHIES[column] for column in columns}
            held |= {m["column"] for m in models if "column" in m}
        if name == "ipso":
            step["confidential"] = [column for column in NUMBERS if column not in columns]
        held |= set(columns)
        found.append(step | {"columns": columns})
    return found


def recipe_of(steps, counts, release_household, whole):
    treated = {column for step in steps for column in step["columns"]}
    read = {m["column"] for step in steps for m in step.get("privacy", ()) if "column" in m}
    read |= {column for step in steps for column in step.get("confidential", ())}
    quasi = {c for step in steps if step["method"] in CLASSES for c in step["columns"]}
    return {
        "seed": 2**100 + 1,
        "order_seed": 2**100 + 3,
        "counts": counts,
        "household_suppression": "whole" if whole else "unlink",
        # By chance a column of so few rows may give another away.
        "allow_leaks": sorted(treated),
        "roles": {
            "unit": "person",
            "household": "home",
            "release_household": release_household,
            "target": "outcome",
            "quasi": sorted(quasi),
            "confidential": sorted((treated | read) - quasi),
            "insensitive": ["year"],
            "not_identifiers": sorted(treated | read),
            "rest": "drop",
        },
        "steps": steps,
    }


# The independent count


def units_by(keys, units):
    """Return the distinct units behind each key."""
    found = defaultdict(set)
    for key, unit in zip(keys, units, strict=True):
        found[key].add(unit)
    return found


def promised(step):
    """Return how many units a step promises behind each value or tuple; 1 is no promise."""
    if step.get("encoding", "group") != "group":
        return 1
    if step["method"] in ("lirop", "porop"):
        return 1
    return next((step[name] for name in ("k", "min_count", "min_attraction") if name in step), 1)


def assert_classes(step, rows, held, units):
    """Find k units in each class, and the other models kept, a unit counted once per value."""
    asked = step.get("privacy", [step])
    k = max(model["k"] for model in asked if "k" in model)
    tuples = [tuple(row[column] for column in step["columns"]) for row in held]
    shown = [place for place, row in enumerate(held) if row["there"]]
    if step["null_policy"] == "match":
        for place in shown:
            alike = {units[other] for other in shown if matches(tuples[place], tuples[other])}
            assert len(alike) >= k, (step, tuples[place])
        return
    if step["null_policy"] == "own":
        for place in shown:
            told = [c for c in step["columns"] if held[place][c] is not None]
            alike = {
                unit
                for row, unit in zip(rows, units, strict=True)
                if all(row[c] == held[place][c] for c in told)
            }
            assert len(alike) >= k, (step, tuples[place])
        return
    groups = [None] * len(rows)
    if step["null_policy"] == "segregate" and step["segregate"] == "any":
        groups = [any(row[column] is None for column in step["columns"]) for row in rows]
    classes = defaultdict(list)
    for place in shown:
        classes[groups[place], tuples[place]].append(place)
    for key, places in classes.items():
        assert len({units[place] for place in places}) >= k, (step, key)
        for model in asked[1:]:
            values, everything = (
                [value for _, value in {(units[p], rows[p][model["column"]]) for p in part}]
                for part in (places, [p for p in range(len(rows)) if not held[p]["excluded"]])
            )
            assert plainly(read_model(model), values, everything), (step, key, model)


def matches(one, other):
    return all(a is None or b is None or a == b for a, b in zip(one, other, strict=True))


def assert_counted(step, rows, held, units, suppressed):
    if step["method"] in CLASSES:
        assert_classes(step, rows, held, units)
        return
    k = promised(step)
    there = [place for place, row in enumerate(held) if row["there"]]
    by_tuple = step["method"] == "microaggregation" or step.get("joint", False)
    for columns in [step["columns"]] if by_tuple else [[c] for c in step["columns"]]:
        tuples = [tuple(held[place][column] for column in columns) for place in there]
        for values, behind in units_by(tuples, [units[place] for place in there]).items():
            # Nulls stay in rounding; suppression may leave few records of nulls elsewhere.
            if values != (None,) * len(values) or (by_tuple and not suppressed):
                assert len(behind) >= k, (step, values, behind)


def test_every_method_is_drawn():
    assert set(methods()) <= set(PARAMETERS)


# Explaining a failure takes minutes, and shrinking says as much.
@examples(400, phases=[phase for phase in Phase if phase != Phase.explain])
@given(
    table=st.builds(
        people,
        seed=st.integers(0, 2**32 - 1),
        homes=st.integers(8, 30),
        most_members=st.integers(1, 5),
        most_rows=st.integers(1, 4),
        nulls=st.sampled_from([0.0, 0.05, 0.3]),
    ),
    steps=steps(),
    counts=st.sampled_from(["rows", "units", "households"]),
    release_household=st.booleans(),
    whole=st.booleans(),
)
def test_k_units_are_behind_all_that_is_released(table, steps, counts, release_household, whole):
    try:
        release = discreet.protect(table, recipe_of(steps, counts, release_household, whole))
    except BadInput as error:
        event(f"refused: {str(error)[:60]}")  # seen with --hypothesis-show-statistics
        reject()
    rows, held = table.to_pylist(), release.table.to_pylist()
    column = {"units": "person", "households": "home"}.get(counts)
    units = [place if column is None else row[column] for place, row in enumerate(rows)]
    suppressed = release.plan.get("suppressed", {}).get("records", 0)
    # Models compare with the records that are not left out before any step.
    gone = set(release.left_out.tolist())
    excluded = set(release.plan.get("excluded", ()))
    for place, row in enumerate(held):
        row |= {"there": place not in gone, "excluded": place in excluded}
    for step in steps:
        assert_counted(step, rows, held, units, suppressed)
