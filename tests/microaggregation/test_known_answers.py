"""Losses on the reference files of the field, in percent, for k = 3, 5, 10.

MDAV: Domingo-Ferrer and Mateo-Sanz 2002 and the comparisons after it. EIA is UTILITYID and the ten
columns of revenues and sales.
"""

import pytest

from discreet.datasets import load_census, load_eia, load_tarragona
from discreet.microaggregation import Microaggregation

FILES = {"census": load_census, "tarragona": load_tarragona, "eia": load_eia}
MDAV = {
    "census": {3: 5.6922, 5: 9.0884, 10: 14.1559},
    "tarragona": {3: 16.9326, 5: 22.4619, 10: 33.1929},
    "eia": {3: 0.4829, 5: 1.6667, 10: 3.8397},
}
# What the refinement is to reach in 60 s on two threads; the best that we could read of is above.
REFINED = {
    "census": {3: 4.75, 5: 7.45, 10: 11.60},
    "tarragona": {3: 14.55, 5: 20.25, 10: 30.30},
    "eia": {3: 0.352, 5: 0.740, 10: 1.98},
}
CASES = [(name, k) for name in FILES for k in (3, 5, 10)]


def reference(name):
    try:
        table = FILES[name]()
    except FileNotFoundError as error:
        pytest.skip(str(error))
    return table.select([0, *range(5, 15)]) if name == "eia" else table


@pytest.mark.parametrize(("name", "k"), CASES)
def test_mdav_loses_what_was_published(name, k):
    assert round(Microaggregation(k).fit(reference(name)).loss_, 4) == MDAV[name][k]


@pytest.mark.parametrize("name", FILES)
def test_a_short_refinement_already_beats_the_published_heuristics(name):
    best, moves = {"census": (8.42, 300), "tarragona": (21.85, 300), "eia": (0.76, 3000)}[name]
    method = Microaggregation(5, refine_moves=moves, random_state=1).fit(reference(name))
    assert method.loss_ < best


@pytest.mark.slow
@pytest.mark.parametrize(("name", "k"), CASES)
def test_refinement_in_a_minute(name, k):
    method = Microaggregation(k, refine=60.0, random_state=1).fit(reference(name))
    print(f"{name} k={k}: {method.loss_:.4f} after {method.moves_} moves")
    assert method.loss_ <= REFINED[name][k]
