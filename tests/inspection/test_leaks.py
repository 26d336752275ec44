"""Proposed recipes do not release what gives a treated column away."""

import numpy as np
import pyarrow as pa

from discreet.inspection import inspect
from discreet.inspection.leaks import find_leaks
from discreet.inspection.proposal import propose

N = 4000


def survey():
    draw = np.random.default_rng(4)
    home = np.repeat(np.arange(N), draw.integers(1, 6, N))[:N]
    region = draw.integers(0, 9, N)[home]
    return pa.table(
        {
            "household_id": 10_000 + home,
            "household_size": np.bincount(home)[home],
            "region": [f"region {r}" for r in region],
            "stratum": [f"s{r}" for r in region * 8 + draw.integers(0, 8, N)],
            "sex": draw.choice(["male", "female"], N),
            "income": np.round(draw.lognormal(9, 1, N), 2),
        }
    )


def test_a_column_that_tells_the_region_is_dropped():
    seen = inspect(survey())
    shown = {"stratum": True, "sex": True}
    found = find_leaks(seen.encoded, ["region"], ["income"], shown, None)
    assert found.dropped == {"stratum": "gives region away for 100% of the records"}
    assert not found.accepted
    assert found.household is None


def test_a_household_whose_size_is_treated_is_not_numbered():
    seen = inspect(survey())
    assert seen.roles["household_id"].role == "household"
    proposal = propose(seen, {"household_size": "quasi", "region": "quasi"})
    assert not proposal.recipe.roles.release_household
    said = "# its number of rows tells household_size of 100% of the records"
    assert f"release_household = false  {said}" in proposal.text


def test_what_a_person_wants_is_released_and_the_leak_is_named():
    proposal = propose(inspect(survey()), {"region": "quasi", "stratum": "insensitive"})
    assert proposal.recipe.roles.insensitive == ["stratum"]
    assert proposal.recipe.allow_leaks == ["region"]
    assert "# Given away: stratum tells region of 100% of the records." in proposal.text
