"""Invented visits of patients to clinics: several rows a person.

As in `households`, values come from sums, products, quotients and square roots of uniform draws.
"""

import numpy as np
import pyarrow as pa

from discreet.datasets.households import Floats, Ints, Rng, pick, texts
from discreet.errors import BadInput

FIRST_DAY = np.datetime64("2020-01-01")
_PLACES = ("Alderbeck", "Brookstad", "Coldmere", "Easthurst", "Fairwick", "Glenton", "Holmgate")
_KINDS = ("Clinic", "General Hospital", "Medical Centre", "University Hospital")
CLINICS = [f"{place} {kind}" for kind in _KINDS for place in _PLACES]
CLINIC_WEIGHTS = 840 // np.arange(3, 3 + len(CLINICS))
# From the commonest to the rarest.
_CODES = (
    "I10 E11 M54 F32 J45 I25 E78 M17 J44 N18 K21 I48 F41 E03 G43 M81 L40 K50 C50 H40 I63 C61 C34 "
    "G20 G40 B18 G35 M32 D57 B20 E84 G12 G10 E75"
)
DIAGNOSES = _CODES.split()
DIAGNOSIS_WEIGHTS = 40_000 // np.arange(2, 2 + len(DIAGNOSES)) ** 2
_MOST_VISITS = 80


def make_episodes(persons: int = 1000, seed: int = 0) -> pa.Table:
    """Invent a clinical file: about seven visits a person, one row each.

    The rows of a person are neighbours, in the order of their dates. Equal arguments give equal
    tables, on any machine; the seed is not secret.

    Parameters
    ----------
    persons : int, default=1000
        Number of people; at least 1.
    seed : int, default=0
        Seed of the random numbers.

    Returns
    -------
    pyarrow.Table
        The columns ``patient_id`` (subject numbers, most of them consecutive), ``clinic_name``,
        ``sex`` and ``birth_year`` (the same in all rows of a person), ``visit_date``,
        ``diagnosis`` (several a person), ``days`` (length of stay) and ``cost``.

    Raises
    ------
    BadInput
        A ValueError, if `persons` is below 1.

    Examples
    --------
    >>> from discreet.datasets import make_episodes
    >>> visits = make_episodes(1000)
    >>> visits.num_rows, visits.column_names[:3]
    (6627, ['patient_id', 'clinic_name', 'sex'])
    """
    if persons < 1:
        raise BadInput(f"persons is {persons}, but a table needs at least 1: give more.")
    rng = np.random.Generator(np.random.PCG64([seed, 2]))
    u, v, w, skipped = rng.random((4, persons))
    visits = np.minimum(1 + (4.5 * np.sqrt(u / (1 - u))).astype(np.int64), _MOST_VISITS)
    of = np.repeat(np.arange(persons), visits)
    numbers = 200_000 + np.cumsum(1 + 40 * (skipped < 0.03))
    diagnosis, rank = _diagnoses(rng, of, persons)
    days = _days(rng, rank)
    return pa.table(
        {
            "patient_id": pa.array(numbers[of]),
            "clinic_name": texts(CLINICS, _clinics(rng, of, persons)),
            "sex": texts(("male", "female"), (v < 0.54)[of]),
            "birth_year": pa.array((2010 - (80 * np.sqrt(w)).astype(np.int64))[of]),
            "visit_date": pa.array(_dates(rng, of, visits)),
            "diagnosis": diagnosis,
            "days": pa.array(days),
            "cost": pa.array(_costs(rng, days, rank)),
        }
    )


def _diagnoses(rng: Rng, of: Ints, persons: int) -> tuple[pa.Array, Ints]:
    """Draw two lasting illnesses a person, and what else a visit may be about."""
    lasting = pick(rng.random(2 * persons), DIAGNOSIS_WEIGHTS).reshape(2, persons)
    u = rng.random(len(of))
    other = pick(rng.random(len(of)), DIAGNOSIS_WEIGHTS)
    rank = np.where(u < 0.5, lasting[0][of], np.where(u < 0.8, lasting[1][of], other))
    return texts(DIAGNOSES, rank), rank


def _clinics(rng: Rng, of: Ints, persons: int) -> Ints:
    usual = pick(rng.random(persons), CLINIC_WEIGHTS)[of]
    elsewhere = pick(rng.random(len(of)), CLINIC_WEIGHTS)
    return np.where(rng.random(len(of)) < 0.1, elsewhere, usual)


def _dates(rng: Rng, of: Ints, visits: Ints) -> np.ndarray:
    gap = rng.random(len(of))
    passed = np.cumsum(1 + (100 * gap * gap).astype(np.int64))
    first = np.cumsum(visits) - visits
    day = (700 * rng.random(len(visits))).astype(np.int64)[of] + passed - passed[first][of]
    return FIRST_DAY + day


def _days(rng: Rng, rank: Ints) -> Ints:
    u, v = rng.random((2, len(rank)))
    stay = 1 + (2.5 * np.sqrt(v / (1 - v)) * (1 + rank / 30)).astype(np.int64)
    return np.where(u < 0.6, 0, np.minimum(stay, 120))


def _costs(rng: Rng, days: Ints, rank: Ints) -> Floats:
    u, v = rng.random((2, len(days)))
    tests = 60 + 90 * np.sqrt(u / (1 - u)) * (1 + rank / 10)
    return np.round(tests + days * (380 + 240 * v), 2)
