"""A wide table and its recipe, as a survey has them: 28 columns, of which many are treated alike."""

import numpy as np
import pyarrow as pa

from discreet.datasets import make_households

QUASI = ["region", "age", "sex", "education", "marital_status"]
_TREE = {"coast": ["Vessmark", "Ostara"], "plain": ["Lindholm", "Carrow", "Tamsin"],
         "hills": ["Pellmoor", "Durness", "Skerry"]}  # fmt: skip


def wide_table(n: int = 1000) -> pa.Table:
    table = make_households(n, seed=3, null_rate=0.01)
    rng = np.random.default_rng(1)
    for i in range(28 - table.num_columns):
        table = table.append_column(f"answer_{i}", pa.array(rng.gamma(2.0, 500.0, n).round(1)))
    return table


def wide_recipe(**more) -> dict:
    answers = [f"answer_{i}" for i in range(13)]
    step = {
        "method": "generalize",
        "columns": QUASI,
        "privacy": [{"model": "k-anonymity", "k": 5}],
        "suppression_limit": 0.05,
        "hierarchies": {
            "age": {"kind": "intervals", "widths": [5, 10, 20, 40]},
            "region": {"kind": "groups", "tree": _TREE},
        } | {name: {"kind": "flat"} for name in ("sex", "education", "marital_status")},
    }  # fmt: skip
    return {
        "roles": {
            "identifiers": ["name"],
            "quasi": QUASI,
            "confidential": ["income", "assets", "disease", *answers[:8]],
            "insensitive": answers[8:],
            "weight": "weight",
            "rest": "drop",
        },
        "steps": [
            step,
            {"method": "oma", "columns": ["income", *answers[:4]], "k": 5},
            {"method": "noise", "columns": ["assets", *answers[4:8]], "scale": 0.2},
        ],
    } | more


def reasoned(facts: dict) -> dict:
    """Facts with what is told of drivers, single records and next steps."""
    figures = facts["assessment"]["figures"]
    figures["drivers"] = [
        {"column": name, "before": 0.3, "after": after, "unique_without": 2, "by": "classes"}
        for name, after in zip(QUASI, (0.41, 0.29, 0.18, 0.08, 0.04), strict=True)
    ]
    for one in figures["riskiest"] or ():
        one["values"] = {"region": "coast", "age": "60-79", "sex": "male", "education": "*"}
        one |= {"unique_on": None, "rarest": ["region", "age"], "among": one["class"]}
    facts["log"] = facts["log"] | {
        "next": [
            {"change": "generalize age one level more", "recipe": None, "risk": [0.2, 0.04],
             "loss": [0.31, 0.33], "measure": "prosecutor, largest"},
        ]
    }  # fmt: skip
    return facts
