"""The search for what gives treated columns away. No peers: none of the others looks for it."""

from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.inspection import people
from benchmarks.rows import Case, row

COARSE = {"region": 3, "age": 10, "education": 3, "occupation": 4, "household_size": 3}


def released(table: pa.Table) -> pa.Table:
    """Make some columns coarser, and incomes the means of five; the weight gives nothing away."""
    for name, group in COARSE.items():
        codes = table[name].combine_chunks().dictionary_encode().indices.fill_null(-1).to_numpy()
        place = table.column_names.index(name)
        table = table.set_column(place, name, pa.array([f"{c}" for c in codes // group]))
    income = table["income"].to_numpy()
    groups = np.argsort(np.argsort(income)) // 5
    means = (np.bincount(groups, income) / np.bincount(groups))[groups]
    return table.set_column(table.column_names.index("income"), "income", pa.array(means))


@row("leaks n=1e6 x 20, all pairs", seconds=20, memory=True)
def _() -> Case:
    from discreet.check.leaks import leaks
    from discreet.engines.memory import MemoryFrame
    from discreet.recipe.given import as_recipe

    table = people(1_000_000)
    steps: list[dict[str, Any]] = [{"method": "oma", "columns": ["income"], "k": 5}]
    steps += [
        {
            "method": "generalize",
            "columns": [name],
            "privacy": [{"model": "k-anonymity", "k": 5}],
            "hierarchies": {name: {"kind": "auto"}},
        }
        for name in COARSE
    ]
    roles = {"household": "household_id", "rest": "insensitive"}
    recipe = as_recipe({"roles": roles, "steps": steps})
    frames = MemoryFrame(released(table)), MemoryFrame(table)

    def ours() -> Any:
        return leaks(*frames, recipe, np.empty(0, np.int64))

    def found(ours: Any, peer: Any) -> str:
        told = [said.detail for said in ours[0] if said.status == "broken"]
        assert any("the number of rows per 'household_id' tells" in said for said in told)
        return f"{len(told)} leaks"

    return Case(ours=ours, check=found)
