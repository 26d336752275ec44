"""One recipe for each way that a method works on engines, and the table they treat."""

from typing import Any

import numpy as np
import pyarrow as pa

from discreet.datasets import make_households
from discreet.recipe import Recipe

ROWS = 200_000
HIERARCHIES = {
    "age": {"kind": "intervals", "widths": [5, 10, 20]},
    "postcode": {"kind": "prefix"},
    "sex": {"kind": "auto"},
    "education": {"kind": "auto"},
}
# From one end to the other, with one that nobody has.
SCHOOLS = [
    "none", "primary", "lower secondary", "upper secondary", "vocational", "associate",
    "bachelor", "master", "doctorate",
]  # fmt: skip
K5 = [{"model": "k-anonymity", "k": 5}]


def people(rows: int = ROWS) -> pa.Table:
    """Give a table with nulls, ties, dates, decimals and a key."""
    table = make_households(rows, seed=3, null_rate=0.03)
    key = np.random.default_rng(1).permutation(rows) + 10**9
    hours = table["age"].cast(pa.decimal128(19, 0)).cast(pa.decimal128(10, 2))
    return table.append_column("key", pa.array(key)).append_column("hours", hours)


def recipe(*steps: dict[str, Any], quasi: Any = (), confidential: Any = (), **roles: Any) -> Recipe:
    return Recipe.from_dict(
        {
            "seed": 2**100 + 17,
            "order_seed": 2**100 + 7,
            # Columns come several times, and children have no income; engines are the matter here.
            "allow_leaks": list(dict.fromkeys(name for step in steps for name in step["columns"])),
            "roles": {
                "identifiers": ["name"],
                "quasi": list(quasi),
                "confidential": list(confidential),
                "rest": "drop",
                **roles,
            },
            "steps": list(steps),
        }
    )


def rounding(method: str, *columns: str, **parameters: Any) -> Recipe:
    columns = columns or ("income",)
    step = {"method": method, "columns": list(columns), **parameters}
    return recipe(step, confidential=columns)


def generalizing(columns: Any, privacy: Any = K5, **parameters: Any) -> dict[str, Any]:
    named = {name: HIERARCHIES[name] for name in columns}
    step = {"method": "generalize", "columns": list(columns), "privacy": privacy}
    return step | {"hierarchies": named, **parameters}


def generalize(columns: Any, privacy: Any = K5, *more: Any, **parameters: Any) -> Recipe:
    step = generalizing(columns, privacy, **parameters)
    confidential = {model.get("column") for model in privacy} - {None} or {"income"}
    confidential |= {column for one in more for column in one["columns"]}
    return recipe(step, *more, quasi=columns, confidential=sorted(confidential))


def blanking(
    columns: Any, null_policy: str = "value", importance: Any = None, **roles: Any
) -> Recipe:
    """Recode a little, then blank the few cells that still give somebody away."""
    few = {"method": "top-bottom", "columns": ["age"], "upper": 80, "promise": False}
    blanks = {"method": "local-suppression", "columns": list(columns), "k": 5}
    blanks |= {"null_policy": null_policy, "importance": importance, "improve_moves": 500}
    return recipe(few, blanks, quasi=columns, confidential=["income"], **roles)


RECIPES: dict[str, Recipe] = {
    "oma": rounding("oma", "income", "assets", "birth_date", "hours", k=5),
    "mdav": rounding("mdav", k=5),
    "vmdav": rounding("vmdav", k=4),
    "equal-width": rounding("equal-width", n_points=8, min_count=5),
    "equal-frequency": rounding("equal-frequency", "income", "birth_date", n_points=8),
    "kmeans": rounding("kmeans", n_points=8, min_count=3),
    "stochastic": rounding("kmeans", n_points=8, min_count=3, encoding="stochastic"),
    "nearest": rounding("oma", k=5, encoding="nearest"),
    "resampling": rounding("resampling", n_points=4, min_count=3, n_quantiles=4, max_draws=20),
    "base": rounding("base", base=1000.0),
    "given-cuts": rounding(
        "given-cuts", cuts=[10_000.0, 30_000.0], points=[5e3, 2e4, 5e4], kept=[0.0], min_count=5
    ),
    "mdlp": recipe(
        {"method": "mdlp", "columns": ["age"], "min_count": 3},
        confidential=["age"],
        target="household_size",
    ),
    "chimerge": recipe(
        {"method": "chimerge", "columns": ["age"], "min_count": 3},
        confidential=["age"],
        target="household_size",
    ),
    "round-counts": rounding("round-counts", "age", rule="census-drb"),
    "round-counts of estimates": rounding("round-counts", rule="census-drb-estimates"),
    "top-bottom": rounding("top-bottom", upper=80_000),
    "noise": rounding("noise", "income", "assets", "hours", scale=0.1),
    "correlated noise": rounding("noise", "income", "assets", kind="correlated"),
    "noise of dates": rounding("noise", "birth_date", scale=0.01),
    "pram": rounding("pram", "disease", "education", retention=0.8),
    "porop": rounding("porop", "income", "assets", k=100),
    "porop with chosen degrees": rounding(
        "porop", "income", "assets", k=100, degree="auto", normalise="column"
    ),
    "lirop": rounding("lirop", "income", k=50, noise="perturbative"),
    "segregate": generalize(["age", "postcode", "sex"]),
    "pattern": generalize(["age", "sex", "education"], segregate="pattern"),
    "value": generalize(["age", "postcode", "sex"], null_policy="value"),
    "suppress": generalize(["age", "postcode", "sex"], null_policy="suppress"),
    "match": generalize(["age", "sex"], null_policy="match"),
    "local": generalize(["age", "sex", "education"], local=True, quality="discernibility"),
    "closeness": generalize(
        ["age", "sex"],
        [*K5, {"model": "t-closeness", "t": 0.4, "column": "disease"}],
        {"method": "oma", "columns": ["income"], "k": 20},
    ),
    "ordered closeness": generalize(
        ["age", "sex"],
        [
            *K5,
            {
                "model": "t-closeness",
                "t": 0.4,
                "column": "education",
                "distance": "ordered",
                "order": SCHOOLS,
            },
        ],
    ),
    "mondrian": recipe(
        {"method": "mondrian", "columns": ["age", "postcode", "sex"], "privacy": K5},
        quasi=["age", "postcode", "sex"],
        confidential=["income"],
    ),
    "local suppression": blanking(["age", "sex", "education"], importance={"sex": 3.0}),
    "local suppression of households": blanking(
        ["age", "postcode", "sex"], null_policy="match", household="household_id"
    ),
    "local suppression by key": blanking(
        ["age", "sex", "education"], null_policy="own", row_key="key"
    ),
    "several steps": recipe(
        {"method": "noise", "columns": ["income"], "scale": 0.05},
        {"method": "top-bottom", "columns": ["income"], "lower": 0, "promise": False},
        {"method": "oma", "columns": ["income"], "k": 10},
        confidential=["income"],
    ),
    "resampling by key": recipe(
        {"method": "resampling", "columns": ["income"], "n_points": 4, "n_quantiles": 4},
        confidential=["income"],
        row_key="key",
    ),
    "key": recipe(
        {"method": "noise", "columns": ["income"], "scale": 0.1},
        {"method": "pram", "columns": ["disease"], "retention": 0.8},
        confidential=["income", "disease"],
        row_key="key",
    ),
}


def wide(rows: int = ROWS) -> pa.Table:
    """Give the table with more columns of numbers, so that each method has its own."""
    table = people(rows)
    extra = {f"income {i}": table["income"] for i in range(8)}
    for name, column in extra.items():
        table = table.append_column(name, column)
    return table


# Steps by column, so that one run shows many methods: on Spark a run costs more than a step.
TOGETHER = {
    "rounding, segregate": recipe(
        generalizing(
            ["postcode", "sex", "education"],
            [*K5, {"model": "t-closeness", "t": 0.5, "column": "disease"}],
        ),
        {"method": "oma", "columns": ["income", "assets"], "k": 5},
        {"method": "mdav", "columns": ["income 0"], "k": 5},
        {"method": "vmdav", "columns": ["income 1"], "k": 4},
        {"method": "equal-width", "columns": ["income 2"], "n_points": 8, "min_count": 5},
        {"method": "equal-frequency", "columns": ["birth_date"], "n_points": 8},
        {
            "method": "kmeans",
            "columns": ["income 3"],
            "n_points": 8,
            "min_count": 3,
            "encoding": "stochastic",
        },
        {
            "method": "resampling",
            "columns": ["income 4"],
            "n_points": 4,
            "min_count": 3,
            "n_quantiles": 4,
            "max_draws": 20,
        },
        {"method": "base", "columns": ["income 5"], "base": 1000.0},
        {"method": "oma", "columns": ["income 6"], "k": 20, "encoding": "nearest"},
        {"method": "mdlp", "columns": ["age"], "min_count": 3},
        {"method": "chimerge", "columns": ["hours"], "min_count": 3},
        quasi=["postcode", "sex", "education"],
        confidential=[
            "income", "assets", "birth_date", "age", "hours", "disease",
            *(f"income {i}" for i in range(7)),
        ],
        target="household_size",
    ),
    "noise, mondrian": recipe(
        {"method": "mondrian", "columns": ["age", "postcode", "sex"], "privacy": K5},
        {"method": "top-bottom", "columns": ["income"], "upper": 80_000},
        {"method": "noise", "columns": ["income 2"], "scale": 0.1},
        {"method": "noise", "columns": ["income 0", "income 1"], "kind": "correlated"},
        {"method": "pram", "columns": ["disease", "education"], "retention": 0.8},
        {"method": "porop", "columns": ["assets"], "k": 100},
        {"method": "lirop", "columns": ["income 3"], "k": 50, "noise": "perturbative"},
        quasi=["age", "postcode", "sex"],
        confidential=["income", "assets", "disease", "education",
                      *(f"income {i}" for i in range(4))],
        row_key="key",
    ),
    "match": generalize(["age", "sex"], null_policy="match"),
    "value": generalize(["age", "postcode", "sex"], null_policy="value"),
    "suppress": generalize(["age", "sex"], null_policy="suppress", local=True),
    "blanks": blanking(["age", "sex", "education"]),
}  # fmt: skip


def same_plan(one: Any, other: Any, where: str = "plan") -> None:
    """Compare two plans; moments that were summed in another order differ in the last digits."""
    if isinstance(one, dict):
        assert list(one) == list(other), where
        for key in one:
            same_plan(one[key], other[key], f"{where}/{key}")
    elif isinstance(one, list | tuple):
        assert len(one) == len(other), where
        for number, (a, b) in enumerate(zip(one, other, strict=True)):
            same_plan(a, b, f"{where}/{number}")
    elif isinstance(one, np.ndarray) and one.dtype.kind == "f":
        np.testing.assert_allclose(one, other, rtol=1e-11, atol=0, err_msg=where)
    elif isinstance(one, np.ndarray):
        np.testing.assert_array_equal(one, other, err_msg=where)
    elif isinstance(one, float):
        assert other == one or abs(other - one) <= 1e-11 * abs(one), where
    else:
        assert one == other, where


def same_table(one: pa.Table, other: pa.Table) -> None:
    """Compare two tables of rows in the same order, numbers up to 1e-9 of their size."""
    assert one.column_names == other.column_names
    for name in one.column_names:
        a, b = one[name].combine_chunks(), other[name].combine_chunks()
        if pa.types.is_dictionary(a.type):
            a = a.dictionary_decode()
        if pa.types.is_floating(a.type):
            a, b = (c.to_numpy(zero_copy_only=False) for c in (a, b))
            np.testing.assert_allclose(a, b, rtol=1e-9, err_msg=name)
        else:
            assert a.equals(b.cast(a.type)), name
