"""A privacy budget: groups that are neither too small nor too large.

For whoever must promise differential privacy. Incomes become the means of groups of k people,
with noise that hides what any one of them earns. Small groups need much noise, and large ones blur
what they average. The picture shows how far released incomes are from true ones, by k and by the
budget epsilon.
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import discreet
from discreet.datasets import make_households

plt.rcParams |= {"axes.spines.top": False, "axes.spines.right": False}
SIZES = [20, 50, 100, 200, 500, 1000, 2000]
BUDGETS = {0.5: ("#D55E00", "o-"), 1.0: ("#0072B2", "s-"), 2.0: ("#009E73", "^-")}
# What an income can be, known without looking at the table.
BOUNDS = {"income": [0, 300_000]}


def error(table, k: int, epsilon: float) -> float:
    """Return how far released incomes are from true ones, in standard deviations."""
    step = {"method": "dp-microaggregation", "columns": ["income"], "k": k, "epsilon": epsilon,
            "bounds": BOUNDS, "precision": "full"}  # fmt: skip
    # A seed of your own makes this run repeatable; for a release leave it out.
    seed = 161803398874989484820458683436563811 + k
    recipe = {"roles": {"confidential": ["income"]}, "steps": [step], "seed": seed}
    before = table["income"].to_numpy()
    after = discreet.protect(table, recipe).table["income"].to_numpy()
    return float(np.sqrt(np.mean((after - before) ** 2)) / before.std())


def main(folder: Path) -> None:
    people = make_households(10_000, seed=2).select(["income"])
    figure, ax = plt.subplots(figsize=(7, 4.2))
    for epsilon, (colour, line) in BUDGETS.items():
        errors = [error(people, k, epsilon) for k in SIZES]
        best = int(np.argmin(errors))
        print(f"epsilon {epsilon}: best k {SIZES[best]}, off by {errors[best]:.2f} deviations")
        ax.plot(SIZES, errors, line, color=colour, label=f"epsilon = {epsilon:g}")
    ax.set(title="Small groups need much noise, large ones blur", xscale="log")
    ax.set(xlabel="people in a group (k)", ylabel="error in standard deviations")
    ax.set_xticks(SIZES, [f"{k:,}" for k in SIZES])
    ax.minorticks_off()
    ax.set_ylim(0, None)
    ax.legend(frameon=False)
    figure.savefig(folder / "budget.png", dpi=160, bbox_inches="tight")


if __name__ == "__main__":
    main(Path(*sys.argv[1:]))
