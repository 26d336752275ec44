"""Utility: what a release costs in information."""

from discreet.measure import measures_in
from discreet.utility.contingency import contingency_loss as contingency_loss
from discreet.utility.indicators import indicators as indicators
from discreet.utility.information import information_loss as information_loss
from discreet.utility.loss import il1s as il1s
from discreet.utility.loss import sse_ratio as sse_ratio
from discreet.utility.models import classification_utility as classification_utility
from discreet.utility.models import propensity_mse as propensity_mse
from discreet.utility.models import regression_utility as regression_utility
from discreet.utility.moments import il_metrics as il_metrics
from discreet.utility.nulls import null_rates as null_rates
from discreet.utility.scores import dr as dr
from discreet.utility.scores import il_dr_score as il_dr_score
from discreet.utility.scores import normalized_score as normalized_score
from discreet.utility.scores import score as score
from discreet.utility.structure import correlation_distance as correlation_distance
from discreet.utility.structure import eigen as eigen
from discreet.utility.structure import entropy as entropy
from discreet.utility.structure import mean_absolute_correlation as mean_absolute_correlation

# What `assess` takes, in the order in which it is shown.
MEASURES = measures_in(
    __name__,
    "moments",
    "loss",
    "information",
    "structure",
    "contingency",
    "nulls",
    "models",
    "indicators",
)
