"""Anatomy on Adult with nulls: the figures of docs/reference/methods."""

import pytest

from discreet.generalization import Anatomy
from discreet.reproduce.deficient import QUASI, nulled
from discreet.utility import null_rates


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*fit into no group:UserWarning")
@pytest.mark.parametrize(
    ("l", "small_group", "suppressed"),
    [(2, "suppress", 0), (4, "suppress", 0), (7, "suppress", 892), (7, "append", 0)],
)
def test_adult_with_a_thousand_nulls(l, small_group, suppressed):  # noqa: E741
    table = nulled(1_000, 0).table
    quasi = [name for name in QUASI if name != "occupation"]
    method = Anatomy(l, ["occupation"], small_group=small_group, random_state=1)
    after = method.fit_transform(table)
    rates = null_rates(table, after, quasi, suppressed=method.suppressed_mask_, detail=True)
    print(f"SRC {rates.suppressed}, NVIr {rates.value:.5f}, NVRr {rates.records:.5f}")
    assert rates.suppressed == suppressed
    assert rates.records == pytest.approx(0.02957, abs=1e-5)
    assert rates.value == pytest.approx(0.02957 if suppressed else 0.00422, abs=1e-5)
