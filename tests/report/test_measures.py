"""Figures in words: units that fit."""

import pytest

from discreet.report.measures import moment_table

DAY = 86_400


@pytest.mark.parametrize(
    ("mean", "sd", "said"),
    [
        (1_704_103_350.0, 85.44, ("2024-01-01 10:02:30", "1.424 minutes")),
        (1_704_103_350.0, 7200.0, ("2024-01-01 10:02", "2 hours")),
        (1_704_103_350.0, 100 * DAY, ("2024-01-01", "100 days")),
        (None, None, ("–", "–")),
    ],
)
def test_means_and_spreads_of_times(mean, sd, said):
    assessment = {
        "utility": {"columns": {"columns": {"seen": {"mean": (mean, mean), "sd": (sd, sd)}}}},
        "figures": {"columns": {"seen": {"kind": "date"}}},
    }
    (row,) = moment_table(assessment).rows
    assert row == ("seen", said[0], said[0], said[1], said[1])
