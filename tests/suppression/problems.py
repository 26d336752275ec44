"""Problems of local suppression for tests, and what solutions of them release, counted plainly."""

import csv
import itertools
from collections import Counter

import numpy as np

from discreet.datasets.reference import data_folder
from discreet.suppression._problem import GONE, Demand, Held, Problem


def reference(name):
    """Return a table of the reference data as codes, 0 where a cell is null."""
    path = data_folder() / "suppression" / f"{name}.csv"
    with path.open(encoding="utf-8", newline="") as file:
        _, *rows = csv.reader(file)
    columns = []
    for cells in zip(*rows, strict=True):
        values = sorted(set(cells) - {"", "NA"})
        columns.append([values.index(cell) + 1 if cell in values else 0 for cell in cells])
    return list(zip(*columns, strict=True))


def every(columns, sizes):
    """Return the demands of all sets of so many columns, with k by their size."""
    return [
        Demand(sum(1 << c for c in chosen), k)
        for size, k in sizes.items()
        for chosen in itertools.combinations(range(columns), size)
    ]


def problem(rows, k=None, demands=None, weights=None, record_price=np.inf, units=None):
    """Count rows of codes as a problem."""
    rows = [tuple(int(v) for v in row) for row in rows]
    tuples = sorted(set(rows))
    place = {values: i for i, values in enumerate(tuples)}
    q = len(tuples[0])
    counts, held = Counter(place[row] for row in rows), None
    if units is not None:
        pairs = Counter((place[row], unit) for row, unit in zip(rows, units, strict=True))
        places = sorted(pairs)
        held = Held(*(np.array(x) for x in zip(*places, strict=True)), _array(pairs, places))
        counts = Counter(t for t, _ in places)
    codes = np.array(tuples, np.int32)
    return Problem(
        codes,
        codes.max(axis=0) + 1,
        _array(counts, range(len(tuples))),
        np.ones(q) if weights is None else np.asarray(weights, float),
        tuple(demands or [Demand((1 << q) - 1, k)]),
        record_price,
        held,
    )


def _array(counts, keys):
    return np.array([counts[key] for key in keys], np.int64)


def random_problem(seed, most_rows=14, most_columns=4, several=True):
    """Draw a small problem with nulls, weights, fixed columns, units and prices for records."""
    rng = np.random.default_rng(seed)
    n, q = int(rng.integers(2, most_rows + 1)), int(rng.integers(1, most_columns + 1))
    rows = rng.integers(rng.integers(0, 2), rng.integers(2, 5), size=(n, q))
    demands = None
    if several and rng.random() < 0.5:
        sets = {int(rng.integers(1, 1 << q)) for _ in range(3)}
        demands = [Demand(columns, int(rng.integers(2, 4))) for columns in sorted(sets)]
    weights = rng.choice([1.0, 1.0, 2.0, 0.5, 3.0], q)
    weights[rng.random(q) < 0.15] = np.inf
    units = rng.integers(0, max(2, n // 2), n) if rng.random() < 0.4 else None
    price = float(rng.choice([np.inf, 2.0, 4.5]))
    return problem(rows, int(rng.integers(1, 4)), demands, weights, price, units)


def members(problem, solution):
    """Return each member: its original, what is released of it (None: left out) and its unit."""
    if problem.held is not None:
        sets = dict(zip(solution.held.tolist(), solution.masks.tolist(), strict=True))
        assert len(sets) == len(solution.held)
        found = [
            (int(t), sets.get(place, 0), int(unit))
            for place, (t, unit) in enumerate(
                zip(problem.held.tuples, problem.held.units, strict=True)
            )
        ]
    else:
        left, found = problem.counts.copy(), []
        for t, mask, number in zip(solution.tuples, solution.masks, solution.members, strict=True):
            assert number > 0
            left[t] -= number
            found += [(int(t), int(mask))] * int(number)
        assert (left >= 0).all()
        found += [(t, 0) for t in range(len(left)) for _ in range(left[t])]
        found = [(*one, unit) for unit, one in enumerate(found)]
    order = list(zip(solution.tuples.tolist(), solution.masks.tolist(), strict=True))
    assert order == sorted(order)
    return [(problem.codes[t].tolist(), _shown(problem, t, mask), unit) for t, mask, unit in found]


def _shown(problem, t, mask):
    if mask == GONE:
        assert np.isfinite(problem.record_price)
        return None
    assert not any(
        mask >> c & 1 and not np.isfinite(weight) for c, weight in enumerate(problem.weights)
    )
    return [0 if mask >> c & 1 else int(code) for c, code in enumerate(problem.codes[t])]


def violations(problem, solution, reading):
    """Count the members that do not have k, for any demand, by the definition of the reading."""
    found = members(problem, solution)
    broken = 0
    for demand in problem.demands:
        columns = [c for c in range(problem.codes.shape[1]) if demand.columns >> c & 1]
        for _, shown, _ in found:
            if shown is None:
                continue
            alike = {
                unit
                for original, other, unit in found
                if (reading == "own" or other is not None)
                and all(_fits(reading, shown[c], original[c], other and other[c]) for c in columns)
            }
            broken += len(alike) < demand.k
    return broken


def _fits(reading, shown, original, other):
    if reading == "own":
        return shown in (0, original)
    return shown == other or (reading == "match" and 0 in (shown, other))
