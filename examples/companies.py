"""A business register with amounts: what hides the largest company.

For statistical offices and central banks. The largest companies of a register are known by their
amounts alone. Rounding moves them by next to nothing, top-coding hides them and takes their money
away, and microaggregation gives at least five companies the same amount and keeps the total.
The picture shows by how much each company's turnover changes.
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import discreet

plt.rcParams |= {"axes.spines.top": False, "axes.spines.right": False}
WAYS = {
    "rounding to 10,000": {"method": "base", "base": 10_000.0},
    "top-coding at 20 million": {"method": "top-bottom", "upper": 20_000_000.0},
    "microaggregation, k = 5": {"method": "oma", "k": 5},
}


def register(n: int) -> pd.DataFrame:
    rng = np.random.default_rng(5)
    turnover = np.round(np.exp(rng.normal(12.5, 1.9, n)), -2)
    return pd.DataFrame({"company": [f"C{i:05d}" for i in range(n)], "turnover": turnover})


def main(folder: Path) -> None:
    companies = register(2000)
    before = companies["turnover"]
    largest = before.nlargest(20).index
    figure, axes = plt.subplots(1, 3, sharex=True, sharey=True, figsize=(11, 4.4))
    print(f"{'':<26}{'total':>9}{'the largest':>15}{'equal to it':>15}")
    for ax, (name, step) in zip(axes, WAYS.items(), strict=True):
        roles = {"identifiers": ["company"], "confidential": ["turnover"]}
        step = step | {"columns": ["turnover"]}
        after = discreet.protect(companies, {"roles": roles, "steps": [step]}).table["turnover"]
        top = after[before.idxmax()]
        total, moved = after.sum() / before.sum(), top / before.max()
        print(f"{name:<26}{total:>9.1%}{moved:>15.1%}{(after == top).sum():>15,}")
        change = 100 * (after / before - 1)
        ax.axhline(0, color="#999999", linewidth=1, zorder=0)
        ax.scatter(before, change, s=8, color="#0072B2", label="companies")
        ax.scatter(before[largest], change[largest], s=28, color="#D55E00", marker="D",
                   label="the 20 largest")  # fmt: skip
        ax.set(title=name, xlabel="turnover", xscale="log", ylim=(-105, 105))
    figure.suptitle("Microaggregation hides the largest and keeps the total", y=1.01)
    axes[0].set_ylabel("change of turnover in %")
    axes[2].legend(loc="upper right", frameon=False)
    figure.savefig(folder / "companies.png", dpi=160, bbox_inches="tight")


if __name__ == "__main__":
    main(Path(*sys.argv[1:]))
