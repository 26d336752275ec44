"""A model of the secret that is trained on the release, and asked about people."""

from __future__ import annotations

from itertools import islice
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from discreet.attacks._reading import Reading
from discreet.attacks._records import Records

# Rows to train on and trees: what more of them adds is not worth the time.
_ROWS, _TREES = 20_000, 50
# Labels of fewer rows are not learned, nor more labels than this.
_FEWEST, _CLASSES = 20, 30
# What scikit-learn's trees take as categories.
_CATEGORIES = 255


# Threads wait for each other most of the time, and what is found must not depend on their number.
@threadpool_limits.wrap(limits=1)
def asked_of_classes(
    records: Records, secret: Reading, people: np.ndarray, seed: int
) -> np.ndarray:
    """Return how likely people are to have each label of the secret: (people, labels)."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    rows = _some(np.flatnonzero(secret.labels < secret.n_labels), seed)
    counts = np.bincount(secret.labels[rows], minlength=secret.n_labels)
    # Without anything to learn, all are as likely as they are frequent.
    found = np.tile(counts.astype(np.float64), (people.shape[1], 1))
    often = np.argsort(-counts, kind="stable")[:_CLASSES]
    often = often[counts[often] >= _FEWEST]
    if len(often) < 2:
        return found
    rows = rows[np.isin(secret.labels[rows], often)]
    model = HistGradientBoostingClassifier(**_settings(records, seed))
    model.fit(_released(records, rows), secret.labels[rows])
    if (best := int(np.argmax(model.validation_score_))) == 0:
        return found
    found[:] = 0.0
    stages = model.staged_predict_proba(_asked(records, people))
    found[:, model.classes_] = next(islice(stages, best - 1, None))
    return found


@threadpool_limits.wrap(limits=1)
def asked_of_numbers(
    records: Records, secret: Reading, people: np.ndarray, seed: int
) -> np.ndarray:
    """Return the number that people are likely to have as their secret."""
    from sklearn.ensemble import HistGradientBoostingRegressor

    assert secret.middles is not None
    told = np.append(secret.middles, np.nan)[secret.labels]
    rows = _some(np.flatnonzero(np.isfinite(told)), seed)
    found = np.full(people.shape[1], np.median(told[rows]) if len(rows) else np.nan)
    if len(rows) < 2 * _FEWEST:
        return found
    # The median, not the mean: an answer is to be near, and not right on average.
    model = HistGradientBoostingRegressor(loss="absolute_error", **_settings(records, seed))
    model.fit(_released(records, rows), told[rows])
    if (best := int(np.argmax(model.validation_score_))) == 0:
        return found
    stages = model.staged_predict(_asked(records, people))
    return np.asarray(next(islice(stages, best - 1, None)))


def _settings(records: Records, seed: int) -> dict[str, Any]:
    return {
        "max_iter": _TREES,
        # A release that says nothing is not learned by heart.
        "early_stopping": True,
        "n_iter_no_change": 3,
        "random_state": seed,
        "categorical_features": [_is_category(one) for one in records.readings],
    }


def _is_category(reading: Reading) -> bool:
    return reading.middles is None and reading.n_labels <= _CATEGORIES


def _some(rows: np.ndarray, seed: int) -> np.ndarray:
    return np.sort(np.random.default_rng(seed).permutation(rows)[:_ROWS])


def _released(records: Records, rows: np.ndarray) -> np.ndarray:
    """Return released records as numbers: middles, or codes of categories; NaN for nothing."""
    found = np.column_stack([_numbers(one)[one.labels[rows]] for one in records.readings])
    # A column without any value has no place to cut, which the models do not expect.
    found[:, np.isnan(found).all(axis=0)] = 0.0
    return found


def _asked(records: Records, people: np.ndarray) -> np.ndarray:
    """Return what is known of people in the same numbers, as it would have been released."""
    pairs = zip(records.readings, people, strict=True)
    return np.column_stack([_asked_in(one, values) for one, values in pairs])


def _asked_in(reading: Reading, values: np.ndarray) -> np.ndarray:
    if isinstance(reading.said, np.ndarray):  # Numbers were released as numbers.
        return np.append(np.asarray(reading.known, np.float64), np.nan)[values]
    return _numbers(reading)[reading.likeliest(values)]


def _numbers(reading: Reading) -> np.ndarray:
    if reading.middles is not None:
        return np.append(reading.middles, np.nan)
    return np.append(np.arange(float(reading.n_labels)), np.nan)
