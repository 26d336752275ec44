"""A survey with households: nobody's household stands alone.

For whoever publishes a survey of people who live together. Five rows of one family are one
household and not a crowd of five: `counts = "households"` makes k count them so. What all members
have in common, such as their income, is left out, since it would show who lives together. The
picture shows how many households share what a neighbour may know, before and after.
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd

import discreet
from discreet.datasets import make_households

plt.rcParams |= {"axes.spines.top": False, "axes.spines.right": False}
KEYS = ["region", "age", "sex", "household_size"]
RECIPE = {
    "counts": "households",
    "roles": {
        "identifiers": ["name"], "quasi": KEYS, "confidential": ["income"],
        "household": "household_id", "release_household": False, "weight": "weight", "rest": "drop",
    },
    "steps": [
        {"method": "oma", "columns": ["income"], "k": 5},
        {"method": "generalize", "columns": KEYS, "suppression_limit": 0.05,
         "privacy": [{"model": "k-anonymity", "k": 5},
                     {"model": "l-diversity", "l": 2, "column": "income"}],
         "hierarchies": {"age": {"kind": "intervals", "widths": [5, 10, 20, 40]},
                         "household_size": {"kind": "intervals", "widths": [2, 4]},
                         "region": {"kind": "flat"}, "sex": {"kind": "flat"}}},
    ],
}  # fmt: skip
SIZES = {"alone": 1, "2 to 4": 4, "5 to 19": 19, "20 or more": float("inf")}


def shares(table: pd.DataFrame, households: pd.Series) -> pd.Series:
    """Return the share of people by how many households have the same keys as theirs."""
    keys = table[KEYS].astype(str).agg("|".join, axis=1)
    sharing = households.groupby(keys).transform("nunique")
    return pd.cut(sharing, [0, *SIZES.values()], labels=list(SIZES)).value_counts(normalize=True)


def main(folder: Path) -> None:
    people = make_households(4000, seed=7, survey=True).to_pandas()
    release = discreet.protect(people, RECIPE)
    print(release)
    both = {"before": people, "after": release.table}
    found = pd.DataFrame({n: shares(table, people["household_id"]) for n, table in both.items()})
    axes = (100 * found.loc[list(SIZES)]).plot.bar(color=["#999999", "#0072B2"], rot=0, width=0.75)
    axes.set(title="After protection, at least five households look alike", ylabel="% of people")
    axes.set_xlabel("households with the same region, age, sex and size")
    axes.figure.savefig(folder / "households.png", dpi=160, bbox_inches="tight")


if __name__ == "__main__":
    main(Path(*sys.argv[1:]))
