"""Polars in, polars out, and a model between that hardly notices.

For data scientists. `protect` returns the kind of table that it was given, and every method is a
scikit-learn transformer, so that it fits into a pipeline. Here a model predicts income from age,
household and assets that were rounded, so that each released value stands for k people or more.
The picture shows how well it predicts, by k.
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import polars as pl
from matplotlib.ticker import PercentFormatter
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeRegressor

import discreet
from discreet.datasets import make_households
from discreet.rounding import OMA

plt.rcParams |= {"axes.spines.top": False, "axes.spines.right": False}
INPUTS, TARGET = ["age", "household_size", "assets"], "income"
SIZES = [5, 20, 50, 100, 200, 400, 800]


def main(folder: Path) -> None:
    people = pl.from_arrow(make_households(3000, seed=8)).select([*INPUTS, TARGET])
    roles = {"quasi": INPUTS, "confidential": [TARGET], "untouched": INPUTS}
    steps = [{"method": "oma", "columns": [TARGET], "k": 5}]
    released = discreet.protect(people, {"roles": roles, "steps": steps}).table
    print("polars in, polars out:", isinstance(released, pl.DataFrame), released.columns)

    values, target = people.select(INPUTS).to_numpy().astype(float), people[TARGET].to_numpy()
    model = DecisionTreeRegressor(max_depth=6, min_samples_leaf=20, random_state=0)
    plain = cross_val_score(model, values, target, cv=4).mean()
    scores = []
    for k in SIZES:
        protected = make_pipeline(OMA(k=k), model)
        scores.append(cross_val_score(protected, values, target, cv=4).mean())
        print(f"k = {k:>3}: explains {scores[-1]:.0%} of the variance ({plain:.0%} unprotected)")

    figure, ax = plt.subplots(figsize=(7, 4))
    ax.axhline(plain, color="#999999", linestyle="--", label="unprotected")
    ax.plot(SIZES, scores, "o-", color="#0072B2", label="inputs rounded by OMA")
    ax.set(title="The model notices only large groups", xscale="log", ylim=(0, None))
    ax.set(xlabel="people behind each value (k)", ylabel="variance explained")
    ax.set_xticks(SIZES, [str(k) for k in SIZES])
    ax.minorticks_off()
    ax.yaxis.set_major_formatter(PercentFormatter(1, 0, " %"))
    ax.legend(frameon=False)
    figure.savefig(folder / "pipeline.png", dpi=160, bbox_inches="tight")


if __name__ == "__main__":
    main(Path(*sys.argv[1:]))
