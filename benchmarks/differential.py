"""Differential privacy: SafePub on Adult against ARX's warm times, and noisy centres on Census.

ARX, warm, in ms (`models_known.csv` of the specification): k and the sample at epsilon = 1 and
delta = 1e-5 10.3, at epsilon = 2 717.8 and with delta = 1e-7 2591.3, most of which is its interval
arithmetic for k; levels drawn in 10 steps 87.5, in 100 steps 392.5. Goals are a fifth of these.
"""

from typing import Any

import numpy as np

from benchmarks.rows import Case, row

LEVELS = (1, 2, 1, 1, 2, 1, 1, 1, 1)
# Epsilon, delta, and the steps by which levels are drawn with half of epsilon: ARX's milliseconds.
ARX = {
    (1.0, 1e-5, 0): 10.3,
    (2.0, 1e-5, 0): 717.8,
    (2.0, 1e-7, 0): 2591.3,
    (2.0, 1e-5, 10): 87.5,
    (2.0, 1e-5, 100): 392.5,
}


def safepub(epsilon: float, delta: float, steps: int) -> Case:
    """From integer codes to the released rows: k and the share are worked out anew each time."""
    from discreet.datasets import adult_hierarchy_paths, load_adult
    from discreet.draws import Draws
    from discreet.generalization import Hierarchy, SafePub
    from discreet.generalization._budget import least_class

    table, paths = load_adult(), adult_hierarchy_paths()
    names = table.column_names
    trees = {name: Hierarchy.from_csv(paths[name]) for name in names}
    levels = None if steps else dict(zip(names, LEVELS, strict=True))
    search: dict[str, Any] = {"epsilon_search": epsilon / 2, "steps": steps} if steps else {}
    method = SafePub(trees, epsilon, delta, levels, **search)
    coded = [method._encoded(table[name], name) for name in names]
    ladders, codes = [one for one, _ in coded], [one for _, one in coded]

    def ours() -> Any:
        least_class.cache_clear()
        return method._treat(names, ladders, codes, Draws(2**100, "adult"))

    def check(found: Any, _: Any) -> str:
        assert found.sizes[found.sizes >= found.k].sum() == found.kept.sum()
        at = "".join(map(str, found.levels))
        return f"k {found.k}, {found.kept.sum():,} records at {at}"

    return Case(ours=ours, check=check)


for (epsilon, delta, steps), ms in ARX.items():
    drawn = f", {steps} steps" if steps else ""

    @row(
        f"SafePub from codes, Adult, epsilon {epsilon:g}, delta {delta:g}{drawn}",
        seconds=ms / 5000,
    )
    def _(epsilon: float = epsilon, delta: float = delta, steps: int = steps) -> Case:
        return safepub(epsilon, delta, steps)


KS = (10, 50, 100, 200, 360)
COLUMNS = {"13 columns": slice(0, 13), "2 columns": slice(0, 2), "1 column": slice(7, 8)}


def census(columns: str) -> tuple[np.ndarray, dict[str, list[float]]]:
    """Return Census, and bounds from 0 to half more than the largest value, as the paper has."""
    from discreet.datasets import load_census

    values = np.column_stack([c.to_numpy() for c in load_census().columns]).astype(float)
    values = values[:, COLUMNS[columns]]
    return values, {f"x{i}": [0.0, 1.5 * x.max()] for i, x in enumerate(values.T)}


def loss(values: np.ndarray, released: np.ndarray) -> float:
    """Return the mean over columns of 100 SSE / SST."""
    total = ((values - values.mean(axis=0)) ** 2).sum(axis=0)
    return 100 * float((((values - released) ** 2).sum(axis=0) / total).mean())


def losses(columns: str, epsilon: float, runs: int = 10) -> dict[str, float]:
    """Return the loss with Laplace noise on each record, and with noise on centres, by k."""
    from discreet.microaggregation import DPMicroaggregation

    values, bounds = census(columns)
    high, rng = np.array([bound[1] for bound in bounds.values()]), np.random.default_rng(0)
    scale = high * len(bounds) / epsilon
    plain = [
        loss(values, np.clip(values + rng.laplace(size=values.shape) * scale, 0, high))
        for _ in range(runs)
    ]
    found = {"records": float(np.mean(plain))}
    for k in KS:
        methods = [DPMicroaggregation(k, epsilon, bounds, random_state=s) for s in range(runs)]
        found[str(k)] = float(np.mean([loss(values, m.fit_transform(values)) for m in methods]))
    return found


for columns in COLUMNS:
    for epsilon in (0.1, 0.5, 1.0, 5.0, 10.0):

        @row(f"loss in %, Census, {columns}, epsilon {epsilon:g}")
        def _(columns: str = columns, epsilon: float = epsilon) -> Case:
            def check(found: dict[str, float], _: Any) -> str:
                assert min(found[str(k)] for k in KS) < found["records"]
                return ", ".join(f"{name} {value:,.0f}" for name, value in found.items())

            return Case(ours=lambda: losses(columns, epsilon), check=check)
