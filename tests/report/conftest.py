import numpy as np
import pyarrow as pa
import pytest

from discreet import protect
from discreet.datasets import make_households

# Figures that occur nowhere else, so that a search for them finds them only where they are told.
SECRETS = {"scale": 0.31717, "correlated": 0.12373, "p": 7.5377, "retention": 0.83839,
           "noise_scale": 0.77177, "porop_k": 43, "moves": 307}  # fmt: skip


def everything_table(n: int = 800) -> pa.Table:
    table = make_households(n, seed=1, null_rate=0.02)
    rng = np.random.default_rng(0)
    for i in range(10):
        values = np.round(rng.gamma(2.0, 1000.0, n), 1)
        table = table.append_column(f"x{i}", pa.array(values))
    return table


def everything_recipe() -> dict:
    """A step of every family, and a quasi column that steps leave alone."""
    flat = {"kind": "flat"}
    numbers = [f"x{i}" for i in range(10)]
    return {
        # Long, so that they can be searched for; the same in each run, so that figures are too.
        "seed": 276_447_231_098_817_120_443_551_009_871_226_531_117,
        "order_seed": 198_112_004_551_378_900_217_440_033_182_994_000_071,
        # Records with nulls are coarser than the other members of their household, who tell it.
        "allow_leaks": ["region"],
        "roles": {
            "identifiers": ["name"],
            "quasi": ["age", "sex", "region"],
            "confidential": ["income", "assets", "disease", "birth_date", *numbers],
            "household": "household_id",
            "weight": "weight",
            "target": "household_size",
            "rest": "drop",
        },
        "steps": [
            {"method": "oma", "columns": ["income", "birth_date"], "k": 5},
            {"method": "base", "columns": ["assets"], "base": 1000.0},
            {"method": "noise", "columns": ["x0", "x1"], "kind": "correlated", "scale": SECRETS["correlated"]},
            {"method": "noise", "columns": ["x2"], "scale": SECRETS["scale"]},
            {"method": "rank-swap", "columns": ["x3"], "p": SECRETS["p"]},
            {"method": "microaggregation", "columns": ["x4", "x5"], "k": 4, "refine_moves": SECRETS["moves"]},
            {"method": "porop", "columns": ["x6", "x7"], "k": SECRETS["porop_k"], "noise_scale": SECRETS["noise_scale"]},
            {"method": "shuffle", "columns": ["x8"]},
            {"method": "pram", "columns": ["disease"], "retention": SECRETS["retention"]},
            {"method": "top-bottom", "columns": ["x9"], "upper": 5000.0},
            {
                "method": "generalize",
                "columns": ["age", "sex", "region"],
                "privacy": [{"model": "k-anonymity", "k": 5}],
                "suppression_limit": 0.05,
                "hierarchies": {"age": {"kind": "intervals", "widths": [10, 20]}, "sex": flat, "region": flat},
            },
        ],
    }  # fmt: skip


@pytest.fixture(scope="session")
def everything():
    return protect(everything_table(), everything_recipe())


@pytest.fixture(scope="session")
def everything_folder(everything, tmp_path_factory):
    folder = tmp_path_factory.mktemp("report") / "out"
    everything.save(folder)
    return folder
