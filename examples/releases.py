"""The map of releases: all the ways to protect a table, and the best of them.

For whoever must choose a recipe and defend the choice. `search` tries recipes, measures the risk
that an informed intruder finds somebody and the information that is lost, and returns those that
no other beats in both. You say which risk you accept, and it names the recipe to take. The picture
shows what was tried, and what is best.
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
from matplotlib.ticker import PercentFormatter

import discreet
from discreet.datasets import make_households

plt.rcParams |= {"axes.spines.top": False, "axes.spines.right": False}
ROLES = {
    "identifiers": ["name"],
    "quasi": ["region", "age", "sex"],
    "confidential": ["income"],
    "rest": "drop",
}
MOST = 0.05


def main(folder: Path) -> None:
    people = make_households(1500, seed=4)
    # So many evaluations give the same front again; minutes=5 is what you would ask for.
    front = discreet.search(people, {"roles": ROLES}, risk=f"linkage <= {MOST}", evaluations=150)
    print(front)
    for one in front.best.words:
        print(f"- {one}")

    figure, ax = plt.subplots(figsize=(7.5, 4.6))
    tried = [(loss, risk) for risk, loss in front.searched if risk > 0]
    ax.scatter(*zip(*tried, strict=True), s=9, color="#bbbbbb", label="tried")
    losses, risks = [one.loss for one in front.points], [one.risk for one in front.points]
    ax.plot(losses, risks, "o-", color="#0072B2", label="beaten by none")
    ax.axhspan(1e-4, MOST, color="#0072B2", alpha=0.08, label=f"risk of at most {100 * MOST:g} %")
    best = front.best
    ax.scatter([best.loss], [best.risk], s=150, color="#D55E00", zorder=3, label="take this one")
    low = 0.6 * min(risk for risk in risks if risk > 0)
    ax.set(title="Less risk costs information", yscale="log", ylim=(low, 1.3))
    ax.set(xlabel="information lost", ylabel="records that an intruder finds")
    ax.xaxis.set_major_formatter(PercentFormatter(1, 0, " %"))
    ax.set_yticks([0.001, 0.01, 0.1, 1], ["0.1 %", "1 %", "10 %", "100 %"])
    ax.minorticks_off()
    ax.legend(loc="lower left", frameon=False)
    figure.savefig(folder / "releases.png", dpi=160, bbox_inches="tight")


if __name__ == "__main__":
    main(Path(*sys.argv[1:]))
