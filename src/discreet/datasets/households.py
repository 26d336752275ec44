"""Invented people in households, with the correlations and the outliers of a real survey.

Values come from uniform draws through sums, products, quotients and square roots only. These are
rounded alike everywhere, whereas exp and log may differ in the last bit from machine to machine.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from discreet.datasets import _household_tables as tables
from discreet.errors import BadInput

Rng = np.random.Generator
Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

REFERENCE_DATE = np.datetime64("2024-01-01")
NEVER_NULL = ("name", "household_id", "household_size", "weight", "household_income")


def make_households(
    n: int = 10_000, seed: int = 0, null_rate: float = 0.0, *, survey: bool = False
) -> pa.Table:
    """Invent a survey of people who live in households.

    The rows of a household are neighbours. The last household is cut short where needed to give
    exactly `n` rows. Equal arguments give equal tables, on any machine; the seed is not secret.

    Parameters
    ----------
    n : int, default=10_000
        Number of rows, that is of people; at least 1.
    seed : int, default=0
        Seed of the random numbers.
    null_rate : float, default=0.0
        Share of cells to make null, at random, in all columns but ``name``, ``household_id``,
        ``household_size`` and ``weight``; from 0 to below 1. The other cells do not depend on it.
    survey : bool, default=False
        As surveys release it: the weight is that of one of nine strata in each region, and the
        last column is ``household_income``, the sum over the members.

    Returns
    -------
    pyarrow.Table
        The columns ``name``, ``region``, ``postcode`` (text, some with leading zeros),
        ``birth_date``, ``age`` (on 2024-01-01), ``sex``, ``education``, ``occupation``,
        ``marital_status``, ``household_id``, ``household_size``, ``income``, ``assets`` (with many
        zeros and some debts), ``disease`` and ``weight`` (of sampling).

    Raises
    ------
    BadInput
        A ValueError, if `n` or `null_rate` is out of range.

    Examples
    --------
    >>> from discreet.datasets import make_households
    >>> people = make_households(1000, null_rate=0.1)
    >>> people.num_rows, people.column_names[:4]
    (1000, ['name', 'region', 'postcode', 'birth_date'])
    >>> people["household_id"].null_count
    0
    """
    if n < 1:
        raise BadInput(f"n is {n}, but a table needs at least 1 row: give a positive number.")
    if not 0 <= null_rate < 1:
        raise BadInput(f"null_rate is {null_rate}, but it must be at least 0 and below 1.")
    rng = np.random.Generator(np.random.PCG64(seed))
    homes = _homes(rng, n)
    birth_date, age = _ages(rng, homes)
    female = _sexes(rng, homes, age)
    region, postcode = _places(rng, homes)
    marital = _marital(rng, homes, age, female)
    wanted, level = _education(rng, homes, age)
    occupation = _occupations(rng, age, female, wanted, level)
    income = _incomes(rng, age, level, occupation, region, postcode)
    columns = {
        "name": _names(rng, homes, female),
        "region": texts(tables.REGIONS, region),
        "postcode": texts(tables.POSTCODES, postcode),
        "birth_date": pa.array(birth_date),
        "age": pa.array(age),
        "sex": texts(("male", "female"), female),
        "education": texts(list(tables.EDUCATION_PAY), level),
        "occupation": texts(list(tables.OCCUPATIONS), occupation),
        "marital_status": texts(tables.MARITAL, marital),
        "household_id": pa.array(_household_ids(rng, homes)),
        "household_size": pa.array(homes.size[homes.of]),
        "income": pa.array(income),
        "assets": pa.array(_assets(rng, age, income)),
        "disease": _diseases(rng, age, female),
        "weight": pa.array(_weights(rng, homes, region, survey)),
    }
    if survey:
        columns["household_income"] = pa.array(_together(homes, income))
    return pa.table(_with_nulls(columns, seed, null_rate) if null_rate else columns)


@dataclass(frozen=True)
class _Homes:
    """The households (one entry each), and each person's place in them (one entry per person)."""

    size: Ints
    adults: Ints
    couple: Bools
    flat: Bools
    of: Ints
    place: Ints  # 0 is the mother where there is one, 1 her partner; the children come last

    @property
    def child(self) -> Bools:
        return self.place >= self.adults[self.of]

    def draw(self, rng: Rng) -> Floats:
        return rng.random(len(self.size))


def _homes(rng: Rng, n: int) -> _Homes:
    kind = pick(rng.random(n), tables.HOME_WEIGHTS)  # n homes are enough, as none is empty
    flat = kind == 4
    adults = np.where(flat, 2 + (rng.random(n) < 0.4), np.where((kind == 1) | (kind == 2), 2, 1))
    children = 1 + pick(rng.random(n), tables.CHILD_WEIGHTS)
    size = adults + np.where((kind == 2) | (kind == 3), children, 0)
    ends = np.cumsum(size)
    count = int(np.searchsorted(ends, n)) + 1
    size, flat = size[:count], flat[:count]
    size[-1] -= ends[count - 1] - n
    adults = np.minimum(adults[:count], size)
    couple = (adults == 2) & ~flat
    of = np.repeat(np.arange(count), size)
    place = np.arange(n) - (np.cumsum(size) - size)[of]
    swapped = (couple & (rng.random(count) < 0.5))[of] & (place < 2)
    return _Homes(size, adults, couple, flat, of, np.where(swapped, 1 - place, place))


def _ages(rng: Rng, homes: _Homes) -> tuple[npt.NDArray[Any], Ints]:
    band = pick(homes.draw(rng), tables.AGE_WEIGHTS, homes.couple + 2 * homes.flat)
    first = tables.AGE_EDGES[band] + homes.draw(rng) * np.diff(tables.AGE_EDGES)[band]
    # Parents get their age from the children's: 19.5 years at the first, at most 43.5 at the last.
    children = homes.size - homes.adults
    spacing = 1.4 + 2.6 * homes.draw(rng)
    span = np.maximum(children - 1, 0) * spacing
    oldest = 0.5 + span + homes.draw(rng) * (22 - span)
    parent = oldest + 19.5 + (24 - span) * (homes.draw(rng) + homes.draw(rng)) / 2
    first = np.where(children > 0, parent, first)

    of, place = homes.of, homes.place
    u, v, w = rng.random((3, len(of)))
    partner = first[of] + 2.2 + 7 * (u + v + w - 1.5)
    partner = np.maximum(partner, 18.5 + u + np.where(children > 0, oldest, 0)[of])
    flatmate = 18.5 + 15 * u
    child = oldest[of] - (place - homes.adults[of]) * spacing[of] + 0.8 * (u - 0.5)
    other = np.where(homes.couple[of], partner, flatmate)
    years = np.where(homes.child, child, np.where(place == 0, first[of], other))
    birth_date = REFERENCE_DATE - (years * 365.2425).astype(np.int64)
    # The day before birth puts those born on 1 January, whose birthday counts, a year back.
    age = 2023 - ((birth_date - 1).astype("datetime64[Y]").astype(np.int64) + 1970)
    return birth_date, age


def _sexes(rng: Rng, homes: _Homes, age: Ints) -> Bools:
    of, lead = homes.of, homes.place == 0
    u = rng.random(len(of))
    same, women = homes.draw(rng) < 0.04, homes.draw(rng) < 0.5
    paired = np.where(same[of], women[of], lead)
    lone_parent = lead & ((homes.adults == 1) & (homes.size > 1))[of]
    share = np.where(lone_parent, 0.83, np.where(lead & (age > 60), 0.64, 0.49))
    return np.where(homes.couple[of] & ~homes.child, paired, u < share)


def _places(rng: Rng, homes: _Homes) -> tuple[Ints, Ints]:
    region = pick(homes.draw(rng), tables.REGION_WEIGHTS)
    postcode = np.empty_like(region)
    for code, count in enumerate(tables.POSTCODE_COUNTS):
        here = np.flatnonzero(region == code)
        sizes = 840_000 // np.arange(4, 4 + count)  # Zipf's law, flattened a little at the head
        postcode[here] = sum(tables.POSTCODE_COUNTS[:code]) + pick(rng.random(len(here)), sizes)
    return region[homes.of], postcode[homes.of]


def _marital(rng: Rng, homes: _Homes, age: Ints, female: Bools) -> Ints:
    of = homes.of
    eldest = np.maximum.reduceat(age, np.flatnonzero(np.r_[True, np.diff(of) > 0]))
    wed = homes.draw(rng) < np.clip((eldest - 20) / 28, 0.08, 0.94)
    u = rng.random(len(of))
    widowed = np.where(age > 55, (age - 55) * np.where(female, 0.022, 0.012), 0.01)
    divorced = np.clip((age - 24) * 0.015, 0, 0.4)
    status = np.where(u < widowed + divorced, tables.DIVORCED, tables.SINGLE)
    status = np.where(u < widowed, tables.WIDOWED, status)
    together = np.where(wed, tables.MARRIED, tables.COHABITING)[of]
    status = np.where(homes.couple[of], together, np.where(age < 25, tables.SINGLE, status))
    return np.where(homes.child, tables.SINGLE, status)


def _education(rng: Rng, homes: _Homes, age: Ints) -> tuple[Ints, Ints]:
    """Draw the level a person aims at, and find the one completed so far."""
    mean = (homes.draw(rng)[homes.of] + rng.random(len(age))) / 2  # half of it is the family's
    rank = np.where(mean < 0.5, 2 * mean * mean, 1 - 2 * (1 - mean) * (1 - mean))
    period = np.searchsorted(tables.PERIODS, 2023 - age, side="right")
    wanted = pick(rank, tables.EDUCATION_WEIGHTS, period)
    return wanted, np.minimum(wanted, np.searchsorted(tables.EDUCATION_AGES, age, side="right"))


def _occupations(rng: Rng, age: Ints, female: Bools, wanted: Ints, level: Ints) -> Ints:
    u, v, w = rng.random((3, len(age)))
    schooling = np.searchsorted((3, 5), level, side="right")
    job = tables.FIRST_JOB + pick(u, tables.JOB_WEIGHTS, schooling)
    at_home = np.where(female, np.where(age < 40, 0.07, 0.15), 0.01)
    job = np.where(v < at_home, tables.HOMEMAKER, job)
    job = np.where(v > 0.9 + 0.012 * level, tables.UNEMPLOYED, job)
    job = np.where(age >= 58 + 10 * w, tables.RETIRED, job)
    job = np.where((age < 30) & (wanted > level) & (w < 0.9), tables.STUDENT, job)
    return np.where(age < 6, tables.CHILD, np.where(age < 18, tables.PUPIL, job))


def _incomes(rng: Rng, age: Ints, level: Ints, job: Ints, region: Ints, postcode: Ints) -> Floats:
    u, v = rng.random((2, len(age)))
    # Incomes nearly follow a log-logistic (Fisk) law, with a heavier upper half for the employed.
    odds = np.sqrt(np.sqrt(u / (1 - u)))
    upper = (u > 0.5) & (job >= tables.FIRST_JOB)
    spread = np.where(upper, odds * np.sqrt(odds), odds)
    seniority = 0.7 + 0.02 * np.clip(age - 18, 0, 25)
    quarter = (0.85 + 0.3 * rng.random(len(tables.POSTCODES)))[postcode]
    job_pay, without = np.array(list(tables.OCCUPATIONS.values())).T
    pay = np.array(list(tables.EDUCATION_PAY.values()))[level] * job_pay[job]
    pay = 27_000 * pay * tables.REGION_PAY[region] * seniority * quarter * spread
    return np.where(v < without[job], 0.0, np.round(pay, 2))


def _assets(rng: Rng, age: Ints, income: Floats) -> Floats:
    u, v = rng.random((2, len(age)))
    root = np.sqrt(u / (1 - u))
    years = np.clip(age - 14, 2, 56) / 25
    wealth = (income + 5_000) * years * years * root * np.sqrt(root)
    debt = -(income + 5_000) * 0.4 * root
    nothing = np.clip(0.42 - 0.005 * (age - 18), 0.1, 0.42)
    nothing = nothing + 0.2 * (income < 12_000) - 0.1 * (income > 40_000)
    nothing = np.where(age < 18, 0.93, nothing)
    owing = nothing + np.where(age < 18, 0, np.where(age < 55, 0.17, 0.05))
    assets = np.where(v < owing, debt, wealth) * (v >= nothing)
    return np.round(assets, 2) + 0.0  # a debt below half a cent is 0.0, not -0.0


def _diseases(rng: Rng, age: Ints, female: Bools) -> pa.Array:
    codes = [*tables.DISEASE_RATES, tables.MALE_CANCER]
    rates = np.array(list(tables.DISEASE_RATES.values())).T
    band = np.searchsorted(tables.DISEASE_AGES, age, side="right")
    code = pick(rng.random(len(age)), rates, band)
    men = (code == codes.index(tables.FEMALE_CANCER)) & ~female
    return texts(codes, np.where(men, len(codes) - 1, code))


def _household_ids(rng: Rng, homes: _Homes) -> Ints:
    steps = rng.integers(1, 20, len(homes.size))
    return rng.permutation(1_000_000 + np.cumsum(steps))[homes.of]


def _weights(rng: Rng, homes: _Homes, region: Ints, strata: bool) -> Floats:
    reach = tables.SIZE_SAMPLING[np.minimum(homes.size, len(tables.SIZE_SAMPLING)) - 1]
    u = homes.draw(rng)
    response = 0.81 + 0.047 * np.floor(9 * u) if strata else reach * (0.8 + 0.45 * u)
    return np.round(tables.SAMPLING[region] * response[homes.of], 4)


def _together(homes: _Homes, income: Floats) -> Floats:
    total: Floats = np.add.reduceat(income, np.cumsum(homes.size) - homes.size)
    return np.round(total, 2)[homes.of]


def _names(rng: Rng, homes: _Homes, female: Bools) -> pa.Array:
    of, names, lasts = homes.of, len(tables.MALE_NAMES), len(tables.LAST_NAMES)
    start, step = rng.integers(0, names, len(homes.size)), rng.integers(1, names, len(homes.size))
    first = (start[of] + homes.place * step[of]) % names + names * female
    middle = rng.integers(0, len(tables.INITIALS), len(of))
    last, family = rng.integers(0, lasts, len(of)), rng.integers(0, lasts, len(homes.size))
    kept = homes.flat[of] | (homes.couple[of] & (rng.random(len(of)) < 0.15))
    return pc.binary_join_element_wise(
        texts(tables.MALE_NAMES + tables.FEMALE_NAMES, first),
        texts(tables.INITIALS, middle),
        texts(tables.LAST_NAMES, np.where(kept & ~homes.child, last, family[of])),
        " ",
    )


def pick(u: Floats, weights: Any, row: Any = 0) -> Ints:
    """Turn uniform numbers into codes 0, 1, ... with the given weights, from a row of them each."""
    table = np.cumsum(np.atleast_2d(weights), axis=1)
    rows, width = table.shape
    ends = table / table[:, -1:] + np.arange(rows)[:, None]
    code = np.searchsorted(ends.ravel(), u + row, side="right") - width * np.asarray(row)
    return np.minimum(code, width - 1)  # u + row may round up to the next whole number


def texts(values: Any, codes: npt.NDArray[Any]) -> pa.Array:
    """Turn codes into the texts that they number."""
    return pa.array(values, pa.string()).take(pa.array(codes.astype(np.int32)))


def _with_nulls(columns: dict[str, pa.Array], seed: int, null_rate: float) -> dict[str, pa.Array]:
    # A generator of its own, so that the cells left are those of the table without nulls.
    rng = np.random.Generator(np.random.PCG64([seed, 1]))
    holed = dict(columns)
    for name, column in columns.items():
        if name not in NEVER_NULL:
            gaps = pa.array(rng.random(len(column)) < null_rate)
            holed[name] = pc.if_else(gaps, pa.scalar(None, column.type), column)
    return holed
