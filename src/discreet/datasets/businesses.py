"""Invented companies of a business register, with the few giants that a real one has.

As in `households`, values come from sums, products, quotients and square roots of uniform draws.
"""

import numpy as np
import pyarrow as pa

from discreet.datasets._household_tables import LAST_NAMES, REGION_PAY, REGION_WEIGHTS, REGIONS
from discreet.datasets.households import pick, texts
from discreet.errors import BadInput

# Turnover for each person employed, in thousands, and the weight of the industry among 100.
INDUSTRIES = {
    "retail trade": (190, 19),
    "construction": (140, 16),
    "restaurants": (65, 12),
    "legal and tax advice": (110, 9),
    "wholesale trade": (520, 8),
    "health services": (80, 8),
    "software": (150, 7),
    "road haulage": (130, 6),
    "metal products": (160, 5),
    "food products": (240, 4),
    "machinery": (210, 3),
    "chemicals": (430, 1),
    "energy supply": (900, 1),
    "shipbuilding": (260, 1),
}
EXPORTING = {"wholesale trade", "software", "metal products", "food products", "machinery",
             "chemicals", "shipbuilding"}  # fmt: skip
LEGAL_FORMS = ("sole trader", "partnership", "private company", "public company")
# By the number of people employed: up to 1, 9, 49, 249, and more.
FORM_WEIGHTS = ((70, 15, 15, 0), (25, 20, 55, 0), (2, 13, 84, 1), (0, 5, 88, 7), (0, 0, 65, 35))
LAST_YEAR = 2023


def make_businesses(n: int = 10_000, seed: int = 0) -> pa.Table:
    """Invent a business register: one row a company, most of them small and a few very large.

    Equal arguments give equal tables, on any machine; the seed is not secret.

    Parameters
    ----------
    n : int, default=10_000
        Number of companies; at least 1.
    seed : int, default=0
        Seed of the random numbers.

    Returns
    -------
    pyarrow.Table
        The columns ``company`` (a name), ``register_number``, ``region``, ``industry``,
        ``legal_form``, ``founded`` (a year), ``employees``, and amounts of the year in thousands:
        ``turnover``, ``payroll``, ``exports`` (0 for most) and ``investment`` (0 for many).

    Raises
    ------
    BadInput
        A ValueError, if `n` is below 1.

    Examples
    --------
    >>> from discreet.datasets import make_businesses
    >>> companies = make_businesses(1000)
    >>> companies.num_rows, companies.column_names[:4]
    (1000, ['company', 'register_number', 'region', 'industry'])
    """
    if n < 1:
        raise BadInput(f"n is {n}, but a table needs at least 1 row: give a positive number.")
    rng = np.random.Generator(np.random.PCG64([seed, 3]))
    u, v, w, x, y, z, a, b = rng.random((8, n))
    per_head, weights = np.array(list(INDUSTRIES.values())).T
    industry, region = pick(v, weights), pick(w, REGION_WEIGHTS)
    # Sizes have a Pareto tail: one company in a hundred is ten times as large as one in ten.
    employees = np.minimum(1 + (1.7 * u / (1 - u)).astype(np.int64), 40_000)
    form = pick(x, FORM_WEIGHTS, np.searchsorted([1, 9, 49, 249], employees, side="left"))
    years = 1 + (60 * y * y * np.sqrt(np.sqrt(employees))).astype(np.int64)
    spread = np.sqrt(np.sqrt(z / (1 - z)))
    turnover = employees * per_head[industry] * REGION_PAY[region] * spread
    payroll = employees * 38 * REGION_PAY[region] * (0.6 + 0.8 * a)
    exporting = np.array([name in EXPORTING for name in INDUSTRIES])[industry]
    share = np.where(exporting & (b < 0.6), 0.9 * b, 0.0)
    start = rng.integers(0, len(LAST_NAMES), (2, n))
    names = texts(LAST_NAMES, start[0]).to_pylist(), texts(LAST_NAMES, start[1]).to_pylist()
    return pa.table(
        {
            "company": pa.array([f"{one} & {other}" for one, other in zip(*names, strict=True)]),
            "register_number": pa.array(rng.permutation(500_000 + 7 * np.arange(n))),
            "region": texts(REGIONS, region),
            "industry": texts(list(INDUSTRIES), industry),
            "legal_form": texts(LEGAL_FORMS, form),
            "founded": pa.array(np.maximum(LAST_YEAR - years, 1850)),
            "employees": pa.array(employees),
            "turnover": pa.array(np.round(turnover, 1)),
            "payroll": pa.array(np.round(payroll, 1)),
            "exports": pa.array(np.round(turnover * share, 1)),
            "investment": pa.array(np.round(turnover * 0.3 * np.clip(a * z - 0.25, 0, 1), 1)),
        }
    )
