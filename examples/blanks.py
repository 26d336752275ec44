"""Blank a few cells: fewer blanks, or nobody found.

For whoever would rather lose a few cells than make every age coarser, as users of sdcMicro do.
Ages become ten-year groups, and `local-suppression` then blanks the fewest cells that still give
somebody away. What a blank means decides how many that are: as one more value (`value`) nobody is
found for certain, and read as "could be anything" (`match`) it takes fewer blanks and leaves some
people to be found. The picture shows both.
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt

import discreet
from discreet.datasets import make_households

KEYS = ["region", "age", "sex", "household_size", "marital_status"]
READINGS = ["value", "own", "match"]


def recipe(reading: str) -> dict:
    ages = {"method": "generalize", "columns": ["age"], "levels": {"age": 1},
            "hierarchies": {"age": {"kind": "intervals", "widths": [10]}}}  # fmt: skip
    blanks = {"method": "local-suppression", "columns": KEYS, "k": 3, "null_policy": reading}
    # A seed of your own makes a rerun give the same; without one a secret one is drawn.
    return {
        "roles": {"quasi": KEYS, "rest": "drop"},
        "steps": [ages, blanks],
        "seed": 271828182845904523536028747135266249,
    }


def main(folder: Path) -> None:
    people = make_households(3000, seed=3)
    blanked, found = [], []
    for reading in READINGS:
        release = discreet.protect(people, recipe(reading))
        step = release.log["steps"][1]
        blanked.append(100 * step["cells"] / (len(KEYS) * people.num_rows))
        found.append(step["found_for_certain"])
        print(f"{reading:<6} {step['cells']:,} cells blanked ({blanked[-1]:.1f} %), "
              f"{found[-1]} people found for certain")  # fmt: skip
    figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3), sharey=True)
    shown = {left: (blanked, "#0072B2", "%.1f %%"), right: (found, "#D55E00", "%d")}
    for ax, (values, colour, written) in shown.items():
        ax.bar_label(ax.barh(READINGS, values, color=colour), fmt=written, padding=4)
        ax.spines[["top", "right", "bottom"]].set_visible(False)
        ax.set(xticks=[], xlim=(0, 1.2 * max(values)))
    figure.suptitle("Fewer blanks leave people to be found", y=1.06)
    left.invert_yaxis()
    left.set(title="cells blanked", ylabel="how a blank is read")
    right.set(title="people found for certain")
    figure.savefig(folder / "blanks.png", dpi=160, bbox_inches="tight")


if __name__ == "__main__":
    main(Path(*sys.argv[1:]))
