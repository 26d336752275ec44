"""Risk: what an intruder could still learn from a release."""

from discreet.risk.distance import distance_linkage as distance_linkage
from discreet.risk.frequency import class_size_risk as class_size_risk
from discreet.risk.interval import interval_disclosure as interval_disclosure
from discreet.risk.probabilistic import probabilistic_linkage as probabilistic_linkage
