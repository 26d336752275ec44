"""Risk: what an intruder could still learn from a release."""

from discreet.risk.attacker import ATTACKERS
from discreet.risk.attacker import journalist as journalist
from discreet.risk.attacker import marketer as marketer
from discreet.risk.attacker import prosecutor as prosecutor
from discreet.risk.closeness import t_closeness as t_closeness
from discreet.risk.distance import DISTANCE_LINKAGE
from discreet.risk.distance import distance_linkage as distance_linkage
from discreet.risk.diversity import DIVERSITY
from discreet.risk.diversity import alpha_k_anonymity as alpha_k_anonymity
from discreet.risk.diversity import beta_likeness as beta_likeness
from discreet.risk.diversity import l_diversity as l_diversity
from discreet.risk.frequency import CLASS_SIZES
from discreet.risk.frequency import class_sizes as class_sizes
from discreet.risk.frequency import frequencies as frequencies
from discreet.risk.individual import INDIVIDUAL_RISK
from discreet.risk.individual import global_risk as global_risk
from discreet.risk.individual import household_risk as household_risk
from discreet.risk.individual import individual_risk as individual_risk
from discreet.risk.interval import INTERVAL_DISCLOSURE
from discreet.risk.interval import interval_disclosure as interval_disclosure
from discreet.risk.probabilistic import PROBABILISTIC_LINKAGE
from discreet.risk.probabilistic import probabilistic_linkage as probabilistic_linkage
from discreet.risk.suda import SUDA2
from discreet.risk.suda import suda2 as suda2

# What `assess` takes, in the order in which it is shown.
MEASURES = [
    CLASS_SIZES,
    INDIVIDUAL_RISK,
    ATTACKERS,
    DIVERSITY,
    SUDA2,
    DISTANCE_LINKAGE,
    PROBABILISTIC_LINKAGE,
    INTERVAL_DISCLOSURE,
]
