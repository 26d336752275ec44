"""What the figures of PoROP's reproduction show, in sentences with the figures."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from discreet.reproduce.porop import KNOWN
from discreet.reproduce.results import Figures, Finding, verdict

_WHERE = {"I": "Census", "II": "EIA"}


def findings(figures: Figures) -> Iterator[Finding]:
    """Say what agrees, what does not, and how other methods do."""
    scores = figures.pick(quantity="score")
    for table in ("I", "II"):
        if given := scores.pick(table=table).given():
            yield from _minima(given, table)
            yield _levels(given, table)
    if known := figures.pick(table=("I", "II"), quantity=KNOWN).given():
        yield _readings(scores, known)
    both = scores.pick(table=("I", "II"))
    yield from _noise(both)
    if others := scores.pick(table="baselines"):
        yield from _others(scores, others)


def _minima(given: Figures, table: str) -> Iterator[Finding]:
    told, same = [], True
    for series in dict.fromkeys(f.series for f in given):
        line = given.pick(series=series)
        theirs = min(line.papers())
        paper = [f"{f.x:.0f}" for f in line if f.paper == theirs]
        ours = min(line, key=lambda f: f.measured)
        same &= f"{ours.x:.0f}" in paper
        said = f"{series.split(',')[0]} {' and '.join(paper)} in the paper ({theirs:.1f}), "
        said += f"{ours.x:.0f} here ({ours.measured:.1f})"
        if f"{ours.x:.0f}" not in paper:
            there = min(f.measured for f in line if f"{f.x:.0f}" in paper)
            said += f", where the paper's k has {there:.1f}"
        told.append(said)
    yield Finding(
        verdict(same),
        f"{_WHERE[table]}, the k with the least score: {'; '.join(told)}.",
    )


def _levels(given: Figures, table: str) -> Finding:
    gaps = np.array(given.differences())
    middle = float(np.median(gaps))
    r = np.corrcoef([(f.paper, f.measured) for f in given], rowvar=False)[0, 1]
    text = (
        f"{_WHERE[table]}, {len(gaps)} scores with synthetic noise: ours are {abs(middle):.1f} "
        f"{'lower' if middle < 0 else 'higher'} in the median ({gaps.min():+.1f} to "
        f"{gaps.max():+.1f}), correlation {r:.2f}."
    )
    good = abs(middle) < 2 and r > 0.9
    if not good and table == "II":
        text += (
            " The paper does not name its five columns, nor how its probabilistic linkage decides "
            "that two values agree; nothing was tuned to hide that."
        )
    return Finding(verdict(good), text)


def _readings(scores: Figures, known: Figures) -> Finding:
    told = []
    for table, where in _WHERE.items():
        if fewer := known.pick(table=table):
            gaps = [
                np.abs(some.differences()).mean()
                for some in (scores.pick(table=table).given(), fewer)
            ]
            told.append(f"{where} {gaps[0]:.2f} and {gaps[1]:.2f}")
    return Finding(
        "beyond",
        "The paper does not say whether interval disclosure is of all columns or of those that "
        "its intruder knows, set by set, as linkage is. Mean difference from its scores, of all "
        f"and of known columns: {'; '.join(told)}. The scores here are of all columns.",
    )


def _noise(both: Figures) -> Iterator[Finding]:
    told = []
    for table, where in _WHERE.items():
        least = {
            kind: min(
                (f.measured for f in both if f.table == table and kind in f.series), default=None
            )
            for kind in ("synthetic", "perturbative")
        }
        if None not in least.values():
            told.append(
                f"{where}, the least score is {least['synthetic']:.1f} with synthetic noise and "
                f"{least['perturbative']:.1f} with perturbative noise"
            )
    if told:
        yield Finding(
            "beyond", f"The two kinds of noise: {'; '.join(told)}. The paper prints the first."
        )


def _others(scores: Figures, others: Figures) -> Iterator[Finding]:
    for table, where in _WHERE.items():
        here = others.pick(series=where)
        if not here:
            continue
        porop = [f for f in scores.pick(table=table) if "synthetic" in f.series]
        best = sorted((f for f in here if "PoROP" not in f.setting), key=lambda f: f.measured)[:3]
        nothing = here.pick(setting="no masking")[0].measured
        told = ", ".join(f"{f.setting} {f.measured:.1f}" for f in best)
        text = f"{where}, on the paper's own score the best of the other methods are {told}"
        if porop:
            text += f"; PoROP at its best has {min(f.measured for f in porop):.1f}"
        yield Finding("beyond", f"{text}; no masking at all has {nothing:.1f}.")
