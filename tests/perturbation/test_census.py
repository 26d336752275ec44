"""The scores on Census that docs/methods.md quotes: what PoROP must be judged against."""

import numpy as np
import pytest

from discreet.datasets import load_census
from discreet.perturbation import Noise, RankSwap, Shuffle
from discreet.utility import score

# The score of "PoROP-k", 0.5 IL + 0.5 DR: in trials with other draws, and with the seeds 0, 1, 2.
SCORES = {
    "rank-swap p = 10": (lambda s: RankSwap(10, random_state=s), 24.0, 25.1),
    "rank-swap p = 15": (lambda s: RankSwap(15, random_state=s), 20.2, 20.5),
    "multiplicative 0.2": (lambda s: Noise("multiplicative", 0.2, random_state=s), 21.6, 21.1),
    "additive 0.1": (lambda s: Noise("additive", 0.1, random_state=s), 43.0, 44.2),
    "correlated 0.1": (lambda s: Noise("correlated", 0.1, random_state=s), None, 44.0),
    "shuffle": (lambda s: Shuffle(random_state=s), None, 98.4),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SCORES)
def test_scores_on_census(name):
    try:
        x = load_census().to_pandas().to_numpy(float)
    except FileNotFoundError as error:
        pytest.skip(str(error))
    method, trial, quoted = SCORES[name]
    found = np.mean([score(x, method(seed).fit_transform(x)) for seed in range(3)])
    print(f"{name}: {found:.1f}")
    assert found == pytest.approx(quoted, abs=0.06)
    if trial is not None:
        # Three seeds scatter by about half a point.
        assert found == pytest.approx(trial, abs=2)
