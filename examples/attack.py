"""Attack your own release: what it adds to what anybody could guess.

For whoever has to say how safe a release is, and not only which promise it keeps. Some people are
set aside before anything is done (`holdout`). An attack that succeeds as often with them has
learnt about everybody, and not about the people in the file: only the rest is the release's doing.
The picture shows that excess for a table without its names, and for a protected one: what is left
is that keys and income together still single people out.
Singling out by one column alone is not shown: the protected table offers too few targets to judge.
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt

import discreet
from discreet.datasets import make_households

plt.rcParams |= {"axes.spines.top": False, "axes.spines.right": False}
KEYS, SECRETS = ["age", "sex", "region"], ["income"]
TREES = {"age": {"kind": "intervals", "widths": [10, 20]}, "sex": {"kind": "flat"},
         "region": {"kind": "flat"}}  # fmt: skip
PROTECTED = [
    {"method": "generalize", "columns": KEYS, "suppression_limit": 0.02,
     "privacy": [{"model": "k-anonymity", "k": 10}], "hierarchies": TREES},
    {"method": "oma", "columns": SECRETS, "k": 25},
]  # fmt: skip


def main(folder: Path) -> None:
    people = make_households(3000, seed=6)
    roles = {"identifiers": ["name"], "quasi": KEYS, "confidential": SECRETS, "rest": "drop"}
    names_dropped = {"roles": roles | {"untouched": KEYS}, "steps": []}
    recipes = {"without names": names_dropped, "protected": {"roles": roles, "steps": PROTECTED}}
    figure, ax = plt.subplots(figsize=(8, 3.8))
    for place, (name, recipe) in enumerate(recipes.items()):
        # A seed of your own sets the same people aside again.
        recipe = recipe | {"seed": 314159265358979323846264338327950288}
        release = discreet.protect(people, recipe, holdout=0.2)
        found = discreet.attack(people, release, queries=400)
        shown = [one for one in found.attacks if one.detail.get("mode") != "one"]
        for row, one in enumerate(shown):
            low, high = (100 * end for end in one.interval)
            print(f"{name:<13}  {one.name:<12} adds {100 * one.excess:5.1f} points")
            y, colour = row + 0.14 * (2 * place - 1), ("#D55E00", "#0072B2")[place]
            ax.plot([low, high], [y, y], color=colour, linewidth=2.5)
            ax.plot(100 * one.excess, y, "os"[place], color=colour, label=name if not row else None)
    ax.axvline(0, color="#555555", linewidth=1)
    ax.set_yticks(range(len(shown)), [one.name for one in shown])
    ax.invert_yaxis()
    ax.set(title="What the release adds, with 95 % intervals", xlabel="percentage points")
    ax.legend(frameon=False, loc="center right")
    figure.savefig(folder / "attack.png", dpi=160, bbox_inches="tight")


if __name__ == "__main__":
    main(Path(*sys.argv[1:]))
