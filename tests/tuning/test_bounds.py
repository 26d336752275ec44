"""Which risk and loss a search goes by."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from discreet import utility
from discreet.errors import BadInput
from discreet.tuning.bounds import LOSSES, Bound, read_loss, read_risk, read_standards


@pytest.mark.parametrize("given", ["linkage <= 0.05", "risk<=5%", "informed_linkage <= 5e-2", 0.05])
def test_a_bound_on_the_risk(given: Any) -> None:
    assert read_risk(given) == Bound("informed_linkage", 0.05)


def test_of_a_score_the_risk_is_in_percent() -> None:
    assert read_risk("dr <= 20", "score") == Bound("dr", 20.0)


def test_the_loss_is_a_measure_a_bound_or_both() -> None:
    assert read_loss(None) == (None, None)
    assert read_loss("information_loss") == (None, None)
    assert read_loss(0.3) == (None, Bound("information_loss", 0.3))
    assert read_loss("score <= 18") == ("score", Bound("score", 18.0))
    assert read_loss(utility.il1s) == (utility.il1s, None)


def test_every_named_loss_is_a_measure() -> None:
    assert all(callable(getattr(utility, name)) for name in LOSSES)


@pytest.mark.parametrize(
    ("read", "given", "said"),
    [
        (
            read_risk,
            "linkage < 0.05",
            "risk: 'linkage < 0.05' is not a bound; write it as 'linkage <= 0.05'",
        ),
        (
            read_risk,
            "linkage <= 0.0.5",
            "risk: 'linkage <= 0.0.5' is not a bound; write it as 'linkage <= 0.05'",
        ),
        (
            read_risk,
            "suda <= 0.05",
            "risk: there is no risk 'suda' to search by; known: linkage, informed_linkage, risk",
        ),
        (
            read_risk,
            "linkage <= 5",
            "risk: the bound on informed_linkage must be from 0 to 1, not 5",
        ),
        (
            read_loss,
            "information_los",
            "loss: there is no measure 'information_los'; did you mean 'information_loss'?",
        ),
        (
            read_loss,
            "information_loss = 0.3",
            "loss: 'information_loss = 0.3' is not a bound; write it as 'information_loss <= 0.3'",
        ),
        (
            read_standards,
            {"correlation": 0.1},
            "there is no standard 'correlation'; did you mean 'correlations'?",
        ),
        (
            read_standards,
            {"pmse": "low"},
            "the standard pmse must be a number of at least 0, not 'low'",
        ),
        (
            read_standards,
            0.1,
            "standards must be a table such as {correlations = 0.1}, not 0.1",
        ),
    ],
)
def test_what_cannot_be_used_is_told(read: Callable[[Any], Any], given: Any, said: str) -> None:
    with pytest.raises(BadInput) as error:
        read(given)
    assert str(error.value) == said
