"""Several rows per patient: k must count patients, not visits.

For whoever releases a clinical file, a log or any table in which a person has many rows. A class
of five visits may be five visits of one patient. The `unit` role says whose row it is, and k then
counts persons. The picture shows how many patients the classes have if k = 5 counts rows, and if
it counts patients.
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd

import discreet
from discreet.datasets import make_episodes

plt.rcParams |= {"axes.spines.top": False, "axes.spines.right": False}
KEYS = ["sex", "birth_year"]
YEARS = {"kind": "intervals", "widths": [5, 10, 20]}


def recipe(counts: str) -> dict:
    return {
        "counts": counts,
        "roles": {"unit": "patient_id", "quasi": KEYS, "rest": "drop"},
        "steps": [{
            "method": "generalize", "columns": KEYS, "suppression_limit": 0.05,
            "privacy": [{"model": "k-anonymity", "k": 5}],
            "hierarchies": {"sex": {"kind": "flat"}, "birth_year": YEARS},
        }],
    }  # fmt: skip


def patients(visits: pd.DataFrame, counts: str) -> pd.Series:
    """Protect the visits, and count the patients of each class."""
    table = discreet.protect(visits, recipe(counts)).table
    keys = table[KEYS].dropna().astype(str).agg("|".join, axis=1)
    return visits["patient_id"].loc[keys.index].groupby(keys).nunique()


def main(folder: Path) -> None:
    visits = make_episodes(400, seed=1).to_pandas()
    sizes = {counts: patients(visits, counts) for counts in ("rows", "units")}
    for counts, found in sizes.items():
        few = f"{found[found < 5].sum()} patients in classes of fewer than 5"
        print(f"k = 5 {counts}: {len(found)} classes, {(found == 1).sum()} of one patient; {few}")
    figure, axes = plt.subplots(2, 1, sharex=True, figsize=(7, 5))
    titles = ["k = 5 counts rows: some classes are one patient", "k = 5 counts patients"]
    for ax, found, title in zip(axes, sizes.values(), titles, strict=True):
        shown = found.clip(upper=20).value_counts().sort_index()
        ax.bar(shown.index, shown, color=["#D55E00" if n < 5 else "#0072B2" for n in shown.index])
        ax.set(title=title, ylabel="classes", xticks=[1, 5, 10, 15, 20])
    ax.set_xlabel("patients in a class (the last bar: 20 or more)")
    figure.savefig(folder / "visits.png", dpi=160, bbox_inches="tight")


if __name__ == "__main__":
    main(Path(*sys.argv[1:]))
