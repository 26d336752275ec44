"""Every method on numbers near both ends of float64: a release that holds, or one sentence."""

import numpy as np
import pyarrow as pa
import pytest

from discreet import protect
from discreet.errors import BadInput
from discreet.registry import methods

K3 = [{"model": "k-anonymity", "k": 3}]
AUTO = {name: {"kind": "auto"} for name in ("x", "y")}
# Of every method that takes numbers.
WAYS = {
    "anatomy": {"confidential": ["z"], "l": 2},
    "base": {"min_attraction": 3},
    "chimerge": {"min_count": 3},
    "equal-frequency": {"n_points": 4},
    "equal-width": {"n_points": 4, "min_count": 3},
    "generalize": {"privacy": K3, "hierarchies": AUTO},
    "given-cuts": {"cuts": [0.0], "points": [-1.0, 1.0]},
    "ipso": {"confidential": ["z"]},
    "kmeans": {"n_points": 4, "min_count": 3},
    "lirop": {"k": 5},
    "local-suppression": {"k": 3, "improve_moves": 10},
    "mdav": {"k": 3},
    "mdlp": {"min_count": 3},
    "microaggregation": {"k": 3, "refine_moves": 5},
    "mondrian": {"privacy": K3},
    "noise": {"scale": 0.1},
    "oma": {"k": 3},
    "porop": {"k": 5},
    "pram": {"retention": 0.8},
    "rank-swap": {"p": 15},
    "resampling": {"n_points": 4, "min_count": 3},
    "round-counts": {"rule": "census-drb-estimates"},
    "shuffle": {},
    "top-bottom": {"upper": 1e299},
    "vmdav": {"k": 3},
}
# Those of sets and dates, and those that are told all values that a column can hold.
OTHERS = {"date-shift", "dp-microaggregation", "generalize-items", "safepub"}
IN_MEMORY = {"anatomy", "ipso", "microaggregation", "rank-swap", "shuffle"}


def numbers(kind):
    rng = np.random.default_rng(1)
    n = 30
    sign = rng.choice([-1.0, 1.0], n)
    return {
        "too large": sign * 1.7e308 * rng.uniform(0.99, 1, n),
        "largest of all": np.tile([-1.0, 1.0], n // 2) * np.finfo(float).max,
        "large": sign * 1e300 * rng.uniform(0.9, 1, n),
        "large among small": np.where(rng.random(n) < 0.3, 1e300 * sign, rng.normal(size=n)),
        "denormal": rng.integers(-9, 9, n) * 5e-324,
        "small": rng.integers(1, 1000, n) * 1e-310,
        "both ends": np.where(rng.random(n) < 0.5, 1e300, 5e-324),
    }[kind]


def test_every_method_is_here():
    assert WAYS.keys() | OTHERS == methods().keys()


def content(method, **more):
    quasi = method in ("generalize", "local-suppression", "mondrian")
    return {
        "seed": 2**100 + 17,
        "order_seed": 2**99 + 1,
        "allow_leaks": ["x", "y"],
        "roles": {
            "quasi" if quasi else "confidential": ["x", "y"],
            "insensitive": ["z"],
            "target": "g",
        },
        "steps": [{"method": method, "columns": ["x", "y"], **WAYS[method], **more}],
    }


KINDS = ["large", "large among small", "denormal", "small", "both ends"]


def table(kind):
    rng = np.random.default_rng(2)
    x = numbers(kind)
    z, g = rng.normal(size=len(x)).round(3), np.arange(len(x)) % 3
    return pa.table({"x": x, "y": rng.permutation(x), "z": z, "g": g})


@pytest.mark.parametrize("kind", ["too large", "largest of all"])
@pytest.mark.parametrize(
    ("engine", "method"),
    [("memory", method) for method in WAYS]
    + [("duckdb", method) for method in sorted(WAYS.keys() - IN_MEMORY)],
)
def test_what_float64_cannot_subtract_is_refused(method, kind, engine):
    given = table(kind)
    said = (
        rf"^column 'x', row 1: {given['x'][0].as_py()!r} is too large to compute with; if it "
        "stands for a missing value, list it in null_markers, else divide the column by a power "
        "of ten$"
    )
    with pytest.raises(BadInput, match=said.replace("+", r"\+")):
        protect(given, content(method), engine)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("method", WAYS)
def test_what_is_accepted_is_written_measured_and_verified(method, kind, tmp_path):
    try:
        release = protect(table(kind), content(method), "memory")
    except BadInput as error:
        said = str(error)
    else:
        # To write takes longest: every fourth kind of a method, every fourth method of a kind.
        if (KINDS.index(kind) + list(WAYS).index(method)) % 4 == 0:
            # With measures, pictures and the check of the written file.
            release.save(tmp_path / "out")
        assert release.check.verified
        return
    assert "\n" not in said
    assert method in ("base", "porop", "lirop", "equal-frequency", "generalize"), said


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_columns_that_no_step_treats_count_too(engine):
    given = table("large").append_column("w", pa.array(numbers("too large")))
    recipe = content("oma")
    recipe["roles"] |= {"insensitive": ["z", "w"], "not_identifiers": ["w"]}
    with pytest.raises(BadInput, match=r"column 'w', row 1: .* is too large to compute with"):
        protect(given, recipe, engine)
    recipe["roles"] |= {"insensitive": ["z"], "not_identifiers": [], "identifiers": ["w"]}
    protect(given, recipe, engine).close()


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
@pytest.mark.parametrize("method", ["porop", "lirop"])
def test_a_floor_of_noise_that_a_constant_column_cannot_have(method, engine):
    given = table("small").set_column(0, "x", pa.array([3.5] * 30))
    said = rf"^step 1 \({method}\): noise_floor = 0.1 gives no noise to column 'x', whose values"
    with pytest.raises(BadInput, match=said):
        protect(given, content(method, noise_floor=0.1), engine)
