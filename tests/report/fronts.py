"""Fronts as a search returns them, made by hand."""

import math
from typing import Any

import numpy as np

ALL = [
    "age in 10-year groups", "region kept as it is", "1.2 % of cells blank",
    "income swapped within 8 % of ranks", "assets rounded to groups of 10",
    "education in 3 groups", "sex kept as it is", "birth_date left out",
    "household_size kept as it is", "disease kept with probability 0.9",
]  # fmt: skip
FIGURES = [
    {"key": "informed_linkage", "name": "informed linkage", "unit": "%", "better": "small"},
    {"key": "linkage", "name": "linkage by distance", "unit": "%", "better": "small"},
    {"key": "interval_disclosure", "name": "interval disclosure", "unit": "%", "better": "small"},
    {"key": "leaks", "name": "leaks", "unit": "records", "better": "small"},
    {"key": "information_loss", "name": "information loss", "unit": "%", "better": "small"},
    {"key": "correlations", "name": "largest change of a correlation", "unit": "", "better": "small"},
    {"key": "pmse", "name": "pMSE", "unit": "", "better": "small"},
    {"key": "il1s", "name": "information loss IL1s", "unit": "", "better": "small"},
]  # fmt: skip
KINDS = ("least loss within the risk bound", "best balance", "safest within the loss bound")


def made(
    n: int = 15,
    *,
    risk: float | None = 0.05,
    loss: float | None = None,
    words: list[str] | None = None,
    columns: tuple[str, ...] = ("age", "region", "income", "assets"),
) -> dict[str, Any]:
    """Return a front of n points, from a risk of 0.1 % and a loss of 80 % on."""
    points = [_point(i, n, words or ALL, columns) for i in range(n)]
    within = [p for p in points if risk is None or p["risk"] <= risk]
    best = within[-1] if within else points[0]
    chosen = [best, points[n // 2], points[n // 4]]
    advised = [
        {"kind": kind, "name": p["name"], "reason": f"It is the {kind}."}
        for kind, p in zip(KINDS, chosen, strict=True)
    ]
    for one in advised:
        next(p for p in points if p["name"] == one["name"])["recommended"].append(one["kind"])
    rng = np.random.default_rng(1)
    tried = [
        [min(1.0, p["risk"] * math.exp(a)), min(1.0, p["loss"] + b)]
        for p in points
        for a, b in rng.gamma(1.5, 0.25, (60, 2)) * [1.5, 0.4]
    ]
    return {
        "version": "1", "rows": 1080, "searched_rows": 1080, "evaluations": 4213, "seconds": 300.4,
        "seed": 0, "risk": {"name": "informed_linkage", "better": "small", "bound": risk},
        "loss": {"name": "information_loss", "bound": loss}, "figures": FIGURES, "points": points,
        "searched": tried, "recommended": advised, "best": best["name"],
        "further": ["Below 1 % of the records found, income has to go: 12 points more are lost.",
                    "To keep 90 % of the information, age in years must stay: 14 % are found."],
    }  # fmt: skip


def _point(i: int, n: int, words: list[str], columns: tuple[str, ...]) -> dict[str, Any]:
    part = i / max(n - 1, 1)
    risk, loss = 0.001 * 900**part, 0.8 * (1 - part) ** 1.5 + 0.01
    own = [w if j % 3 != i % 3 else f"{w}, more or less ({i})" for j, w in enumerate(words)]
    return {
        "name": f"{i + 1:02d}", "risk": risk, "loss": loss,
        "spread": {"risk": [risk * 0.9, risk * 1.1], "loss": [loss, loss]}, "words": own,
        "measures": {one["key"]: risk * (k + 1) / 8 for k, one in enumerate(FIGURES)},
        "columns": dict.fromkeys(columns, loss),
        "recipe": f"recipes/{i + 1:02d}.toml", "recommended": [],
    }  # fmt: skip
