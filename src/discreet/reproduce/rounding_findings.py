"""What the figures of the rounding paper's reproduction show, in sentences with the figures."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from discreet import utility
from discreet.reproduce import data, rounding_text
from discreet.reproduce.masking import GROUPS, POINTS
from discreet.reproduce.results import Figures, Finding, paper_figures, verdict
from discreet.reproduce.rounding import WORDED

_GROUPS = tuple(GROUPS)


def findings(figures: Figures) -> Iterator[Finding]:
    """Say what agrees, what does not, and where the paper contradicts itself."""
    if boston := figures.pick(table="7"):
        yield from _boston(boston)
    if wine := figures.pick(table="8"):
        yield from _wine(wine)
    if synthetic := figures.pick(table=("1", "2", "3", "4", "5", "6")):
        yield from _synthetic(synthetic)
    if quoted := figures.pick(table="5.3"):
        yield from _quoted(quoted)
    yield from rounding_text.findings(figures)
    yield from _levels(figures)
    if figures.pick(table=("3", "4")):
        yield _copied_rows()
    if synthetic:
        yield _degenerate_score()


def _wine(wine: Figures) -> Iterator[Finding]:
    entropies = wine.pick(quantity="entropy")
    cells = entropies.pick(series=_GROUPS)
    yield Finding(
        verdict(_mostly(cells, 0.0101)),
        f"Wine, entropy of OMA, MDAV and V-MDAV: {_close(cells, 0.0101)} cells are within 0.01 of "
        f"the paper's; the largest difference is {_largest(cells)}. Ties are split in row order, "
        "so which of two equal values goes where decides the rest.",
    )
    pooled = entropies.pick(series=("EWD", "EFD"))
    [first] = pooled.pick(series="EWD", setting="c = 3")
    own, theirs = _own_points_entropy(), first.paper or 0.0
    slip = abs(first.measured - theirs) < abs(own - theirs)
    yield Finding(
        verdict(_mostly(pooled, 0.0101)),
        f"Wine, entropy of EWD and EFD: {_close(pooled, 0.0101)} cells are within 0.01 of the "
        f"paper's, the largest difference is {_largest(pooled)}, if each cell is replaced by the "
        "nearest of the rounding points of all 13 columns together; with each column's own points "
        f"the entropy of EWD at c = 3 is {own:.2f} and the paper's {theirs:.2f}."
        + (" Surely a slip; the product does not do that." if slip else ""),
    )
    accuracies = wine.pick(quantity=("AccV", "AccO"), series=(*_GROUPS, *POINTS))
    far = list(map(abs, accuracies.differences()))
    folds = float(np.mean([f.spread for f in accuracies if f.spread] or [0.0]))
    yield Finding(
        verdict(float(np.mean(far)) <= max(0.02, 2 * folds)),
        f"Wine, accuracy of a tree that stops as rpart does: the mean difference over {len(far)} "
        f"cells is {np.mean(far):.3f}, the largest {max(far):.3f}"
        + (f"; the folds alone move a cell by {folds:.3f} (standard deviation)." if folds else "."),
    )
    resampled = entropies.pick(series="RBD")
    given, ours = resampled.papers(), [f.measured for f in resampled]
    ignored = max(given) - min(given) < 0.1 * (max(ours) - min(ours))
    yield Finding(
        "contradiction" if ignored else "differs",
        f"RBD on wine, over all c: the paper's entropies lie between {min(given):.2f} and "
        f"{max(given):.2f}, ours between {min(ours):.2f} and {max(ours):.2f}."
        + (" In the paper c was ignored." if ignored else ""),
    )
    codes = wine.pick(series=("MDLP", "ChiM"), quantity="AccO")
    yield Finding(
        "differs",
        "MDLP and ChiMerge release the number of a value's part, 1, 2, ..., where others release a "
        "value, so a tree trained on codes meets values: AccO "
        + ", ".join(
            f"{f.series} {f.paper:.2f} in the paper and {f.measured:.2f} here" for f in codes
        )
        + ". Their AccV and entropy do not depend on that.",
    )


def _own_points_entropy() -> float:
    from discreet.rounding import EqualWidth

    whole = data.from_scikit_learn("wine")
    x = whole.drop(columns="class")
    new = pd.DataFrame(EqualWidth(n_points=3).fit_transform(x), columns=x.columns)
    return utility.entropy(whole, new.assign(**{"class": whole["class"]}))


def _boston(boston: Figures) -> Iterator[Finding]:
    original = {f.quantity: f for f in boston.pick(series="Original model")}
    mse, r2 = original["MSE"], original["R2"]
    yield Finding(
        verdict(all(round(f.measured, 2) == f.paper for f in (mse, r2))),
        f"Boston, the model of the original data: MSE {mse.measured:.2f} (paper {mse.paper:.2f}), "
        f"R2 {r2.measured:.2f} ({r2.paper:.2f}).",
    )
    rows = boston.pick(series=(*_GROUPS, *POINTS))
    against = {name: rows.pick(quantity=name) for name in ("MSE", "MSE, rounded target")}
    mean = {name: _mean_difference(found) for name, found in against.items()}
    given = against["MSE"].papers()
    below = sum(value < round(mse.measured, 2) for value in given)
    closest = min(mean, key=lambda name: mean[name])
    yield Finding(
        "contradiction" if below else "agrees",
        f"{below} of the {len(given)} MSEs of masked tables in Table 7 are below "
        f"{mse.measured:.2f}, the least that any linear model reaches on the original values, "
        "which the paper says it is scored on. Its MSEs fit the "
        f"{'original' if closest == 'MSE' else 'rounded'} target best: mean difference "
        f"{mean['MSE, rounded target']:.2f} from the rounded one, {mean['MSE']:.2f} from the "
        "original one.",
    )
    gaps = boston.pick(quantity="mean absolute correlation").differences()
    yield Finding(
        "differs",
        "Boston, mean absolute correlation: ours minus the paper's is "
        f"{np.median(gaps):+.2f} in the median "
        f"({original['mean absolute correlation'].measured:.3f} for the original, the paper's "
        f"{original['mean absolute correlation'].paper:.2f}), over the 13 numeric columns without "
        "chas; the paper does not say which pairs it takes.",
    )


def _synthetic(synthetic: Figures) -> Iterator[Finding]:
    # Table 4's EWD rows are not of that data.
    cells = Figures(f for f in synthetic.given() if (f.table, f.series) != ("4", "EWD"))
    for methods, what in ((_GROUPS, "MDAV, OMA, V-MDAV"), (("EWD", "EFD"), "EWD, EFD")):
        chosen = cells.pick(series=methods)
        if any(f.spread for f in chosen):
            shares = [_inside(chosen.pick(quantity=q)) for q in ("IDR", "DDR", "IL1s")]
            parts = [chosen.pick(quantity=q) for q in ("IDR", "DDR")]
            yield Finding(
                verdict(all(_share_inside(part) > 0.8 for part in parts)),
                f"Synthetic data, {what}: the paper's one draw lies within two standard deviations "
                f"of the mean of ours in {shares[0]} cells (IDR) and {shares[1]} (DDR).",
            )
            sums = chosen.pick(quantity="IL1s")
            yield Finding(
                verdict(_share_inside(sums) > 0.8),
                f"Synthetic data, {what}: IL1s lies within two standard deviations of the mean of "
                f"ours in {shares[2]} cells; the paper's is {_ratio(sums):.2f} times ours in the "
                "median.",
            )
    if cells.pick(quantity=WORDED):
        yield _linkage(cells)
    random = {m: found for m in ("KMD", "RBD") if (found := cells.pick(series=m))}
    if random:
        ratios = {m: _ratio(found.pick(quantity="IL1s")) for m, found in random.items()}
        twice = [m for m, ratio in ratios.items() if 1.5 < ratio < 2.5]
        yield Finding(
            "differs",
            "Synthetic data, the random methods: "
            + "; ".join(
                f"{m} IL1s {ratios[m]:.2f} times ours in the median, IDR "
                f"within two standard deviations in {_inside(found.pick(quantity='IDR'))} cells"
                for m, found in random.items()
            )
            + "."
            + "".join(f" The data has 2 columns: {m}'s sum looks twice too large." for m in twice),
        )
    loss = cells.pick(quantity="IL metrics")
    wide = [f.spread / f.measured for f in loss if f.spread and f.measured]
    if wide:
        yield Finding(
            "differs",
            "IL metrics divides by each cell, so one value next to zero decides it: on the "
            f"synthetic data its standard deviation over draws is {np.median(wide):.1f} times its "
            "mean in the median"
            + (
                ", and one draw of the paper says nothing about its level."
                if np.median(wide) > 1
                else "."
            ),
        )
    risks = {(f.table, f.row): f.measured for f in synthetic.pick(quantity="IDR")}
    scores = synthetic.pick(quantity="IL-DR score")
    share = [risks[f.table, f.row] / 4 / f.measured for f in scores]
    yield Finding(
        "beyond",
        "The IL-DR score is the mean of two losses that have no bound and two risks that are at "
        f"most 1: interval disclosure is {100 * np.median(share):.2f} % of it in the median.",
    )


def _linkage(cells: Figures) -> Finding:
    fit, worded = (_mean_difference(cells.pick(quantity=q)) for q in ("DDR", WORDED))
    halves = [abs(f.measured / 2 - (f.paper or 0.0)) for f in cells.pick(quantity=WORDED)]
    best = "original to masked, over cells" if fit < worded else "masked to original, over records"
    return Finding(
        "differs",
        "DDR is worded as the share of masked records whose nearest original is their own: that is "
        f"{worded:.3f} off the printed figures in the mean, and divided by cells, of two columns, "
        f"{np.mean(halves):.3f}. The other way round, original records "
        "whose nearest masked record is their own, divided by the number of cells, it is "
        f"{fit:.3f} off them. So what was printed goes from {best}.",
    )


def _quoted(quoted: Figures) -> Iterator[Finding]:
    given = paper_figures("rounding", "table", "method", "data", "parameter", "quantity")
    apart = []
    for f in quoted.pick(quantity="mean AccO"):
        own = [v for (t, m, _, _, q), v in given.items() if (t, m, q) == ("8", f.series, "AccO")]
        apart.append((abs(float(np.mean(own)) - (f.paper or 0.0)), f.series, np.mean(own), f.paper))
    if apart:
        gap, name, own_mean, said = max(apart)
        ours = _mean_difference(quoted.pick(quantity="mean AccO"))
        yield Finding(
            verdict(gap <= 0.005),
            "The mean AccO per method that section 5.3 quotes against the mean of the paper's own "
            f"Table 8: at most {gap:.3f} apart ({name}: quoted {said:.3f}, table {own_mean:.3f}); "
            f"ours differ from the quoted by {ours:.3f} in the mean.",
        )
    risks = quoted.pick(quantity="IDR")
    if risks:
        groups, points = risks.pick(series=_GROUPS), risks.pick(series=POINTS)
        yield Finding(
            "differs",
            "Boston, interval disclosure with Freedman and Diaconis's rule: the mean difference is "
            f"{_mean_difference(groups):.3f} for the methods with a k and "
            f"{_mean_difference(points):.3f} for those with a c, two of which are random and "
            "start somewhere else each time.",
        )


def _levels(figures: Figures) -> Iterator[Finding]:
    parts, ratios = [], []
    for table, name in (("7", "Boston"), ("8", "wine")):
        for methods, what in ((_GROUPS, "microaggregation"), (("EWD", "EFD"), "EWD and EFD")):
            cells = figures.pick(table=table, series=methods, quantity="IL1s").given()
            if cells:
                ratios.append(_ratio(cells))
                parts.append(f"{name}, {what}: {ratios[-1]:.1f}")
    if parts:
        yield Finding(
            "differs",
            "IL1s is a sum over cells. The paper's over ours, median ratio: "
            + "; ".join(parts)
            + "."
            + (
                " Both tables have 13 masked columns, and some of the paper's sums look multiplied "
                "by that number; nothing in the paper says why."
                if any(10 < ratio < 16 for ratio in ratios)
                else ""
            ),
        )
    cells = figures.pick(
        table=("7", "8"), quantity="IL metrics", series=(*_GROUPS, *POINTS)
    ).given()
    pairs = np.array([(f.paper, f.measured) for f in cells if f.paper and f.measured])
    if len(pairs) > 2:
        r = np.corrcoef(pairs.T)[0, 1]
        level = float(np.median(pairs[:, 0] / pairs[:, 1]))
        yield Finding(
            verdict(abs(level - 1) < 0.1 and r > 0.9),
            f"IL metrics on Boston and wine: the paper's are {level:.1f} times ours in the median, "
            f"correlation {r:.2f} over {len(pairs)} cells.",
        )


def _copied_rows() -> Finding:
    given = paper_figures("rounding", "table", "method", "parameter", "quantity")
    rows: dict[tuple[str, str], dict[str, list[float]]] = {("4", "EWD"): {}, ("3", "VMDAV"): {}}
    for (table, method, parameter, _), value in given.items():
        if (table, method) in rows:
            rows[table, method].setdefault(parameter, []).append(value)
    fourth, third = rows.values()
    same = [
        f"c = {c} as k = {k}"
        for c, row in fourth.items()
        for k, other in third.items()
        if row == other
    ]
    return Finding(
        "contradiction",
        f"{len(same)} of the {len(fourth)} rows of Table 4's EWD (exponential data) equal rows of "
        f"Table 3's V-MDAV (normal data) in all figures: {', '.join(same)}.",
    )


def _degenerate_score() -> Finding:
    x = np.random.default_rng(0).normal(size=(500, 2))
    nothing = utility.il_dr_score(x, x, linkage="to-protected")
    every = paper_figures("rounding", "table", "method", "parameter", "quantity")
    given = [v for (*_, q), v in every.items() if q == "IL-DR score"]
    return Finding(
        "contradiction",
        "The IL-DR score, of which less is better, rewards no masking at all: the data as they "
        f"are score {nothing:.3f}, less than {sum(nothing < v for v in given)} of the paper's "
        f"{len(given)} scores ({min(given):.2f} to {max(given):.2f}).",
    )


def _inside(figures: Figures) -> str:
    """Count the cells within two standard deviations."""
    return f"{round(_share_inside(figures) * len(figures))} of {len(figures)}"


def _share_inside(figures: Figures) -> float:
    # The paper prints two decimals.
    inside = [abs(f.difference or 0.0) <= 2 * (f.spread or 0.0) + 0.005 for f in figures]
    return sum(inside) / len(inside)


def _mostly(figures: Figures, within: float) -> bool:
    gaps = figures.differences()
    return sum(abs(gap) <= within for gap in gaps) > len(gaps) / 2


def _ratio(figures: Figures) -> float:
    """Return the median ratio of the paper's figures to ours."""
    return float(np.median([f.paper / f.measured for f in figures if f.paper and f.measured]))


def _close(figures: Figures, within: float) -> str:
    gaps = figures.differences()
    return f"{sum(abs(gap) <= within for gap in gaps)} of {len(gaps)}"


def _largest(figures: Figures) -> str:
    worst = max(figures.given(), key=lambda f: abs(f.difference or 0.0))
    return f"{abs(worst.difference or 0.0):.2f} ({worst.row})"


def _mean_difference(figures: Figures) -> float:
    return float(np.mean(np.abs(figures.differences())))
