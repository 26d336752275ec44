"""Tables that the benchmarks of proposals share with the tests: invented, with fixed seeds."""

import numpy as np
import pyarrow as pa

from discreet.datasets import load_adult, make_episodes, make_households


def make_dwellings(rows: int = 4_580, seed: int = 0) -> pa.Table:
    """Invent a survey of a developing country as its office codes it: numbers for categories.

    Examples
    --------
    >>> make_dwellings(100).column_names[:6]
    ['urbrur', 'roof', 'walls', 'water', 'electcon', 'relat']
    """
    rng = np.random.default_rng([seed, 3])
    size = rng.choice(np.arange(1, 11), rows, p=_shares(4, 7, 12, 17, 18, 15, 11, 8, 5, 3))
    of = np.repeat(np.arange(rows), size)[:rows]
    place = np.arange(rows) - np.searchsorted(of, of)
    homes = of[-1] + 1
    rural = rng.random(homes) < 0.55

    def by_home(codes: list[int], urban: list[float], country: list[float]) -> np.ndarray:
        u = rng.random(homes)
        ends = np.cumsum([_shares(*urban), _shares(*country)], axis=1)[rural.astype(int)]
        return np.array(codes)[(u[:, None] > ends[:, :-1]).sum(axis=1)][of]

    head = 22 + 50 * rng.beta(2, 3, homes)
    relat = np.where(place == 0, 1, np.where((place == 1) & (rng.random(rows) < 0.85), 2, 3))
    far = (relat == 3) & (rng.random(rows) < 0.12)
    relat = np.where(far, rng.choice([4, 5, 6, 7, 8, 9], rows, p=_shares(1, 2, 5, 3, 1, 1)), relat)
    age = np.select(
        [relat == 1, relat == 2, relat == 3],
        [head[of], head[of] - 3 + 6 * rng.normal(size=rows), (head[of] - 20) * rng.random(rows)],
        95 * rng.random(rows),
    )
    age = np.clip(age, 0, 95).astype(int)
    sex = 1 + (rng.random(rows) < np.select([relat == 1, relat == 2], [0.2, 0.95], 0.5))
    single = (age < 20) | ((relat > 2) & (rng.random(rows) < 0.6))
    status = rng.choice([2, 3, 4, 5], rows, p=_shares(84, 8, 3, 5))
    expend = np.exp(rng.normal(10.5, 0.7, homes)) * (1 - 0.3 * rural)
    income = expend[of] * np.exp(rng.normal(0.1, 0.5, rows))
    return pa.table(
        {
            "urbrur": 1 + rural[of],
            "roof": by_home([2, 4, 5, 6, 9], [3, 60, 20, 15, 2], [40, 45, 4, 8, 3]),
            "walls": by_home([2, 3, 9], [25, 74, 1], [60, 37, 3]),
            "water": by_home([1, 2, 3, 4, 5, 7, 8, 9], [40, 20, 25, 5, 4, 3, 2, 1],
                             [5, 8, 25, 22, 18, 4, 14, 4]),
            "electcon": by_home([1, 2, 3, 4], [70, 20, 2, 8], [25, 20, 5, 50]),
            "relat": relat,
            "sex": sex,
            "age": age,
            "hhcivil": np.where(single, 1, status),
            "expend": expend[of].round(2),
            "income": income.round(2),
            "savings": np.where(rng.random(rows) < 0.2, 0, income * rng.random(rows)).round(2),
            "ori_hid": 1 + of,
            "sampling_weight": np.where(rural, 100.0, 60.0)[of] + 2.5 * (of % 12),
        }
    )  # fmt: skip


def _shares(*weights: float) -> np.ndarray:
    return np.array(weights) / sum(weights)


TABLES = {
    "Adult": load_adult,
    "dwellings": make_dwellings,
    "households": lambda: make_households(4_000, seed=1),
    "episodes": lambda: make_episodes(800, seed=1),
}
