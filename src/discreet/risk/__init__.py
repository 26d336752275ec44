"""Risk: what an intruder could still learn from a release."""

from discreet.measure import measures_in
from discreet.risk.attacker import journalist as journalist
from discreet.risk.attacker import marketer as marketer
from discreet.risk.attacker import prosecutor as prosecutor
from discreet.risk.closeness import t_closeness as t_closeness
from discreet.risk.composition import unique_households as unique_households
from discreet.risk.distance import distance_linkage as distance_linkage
from discreet.risk.diversity import alpha_k_anonymity as alpha_k_anonymity
from discreet.risk.diversity import beta_likeness as beta_likeness
from discreet.risk.diversity import l_diversity as l_diversity
from discreet.risk.found_for_certain import found_for_certain as found_for_certain
from discreet.risk.frequency import class_sizes as class_sizes
from discreet.risk.frequency import frequencies as frequencies
from discreet.risk.individual import global_risk as global_risk
from discreet.risk.individual import household_risk as household_risk
from discreet.risk.individual import individual_risk as individual_risk
from discreet.risk.informed import informed_linkage as informed_linkage
from discreet.risk.informed_values import informed_values as informed_values
from discreet.risk.interval import interval_disclosure as interval_disclosure
from discreet.risk.linked_rows import linked_rows as linked_rows
from discreet.risk.population import population_uniqueness as population_uniqueness
from discreet.risk.probabilistic import probabilistic_linkage as probabilistic_linkage
from discreet.risk.suda import suda2 as suda2

# What `assess` takes, in the order in which it is shown.
MEASURES = [
    *measures_in(__name__, "frequency", "found_for_certain", "individual", "attacker"),
    *measures_in(__name__, "population"),
    *measures_in(__name__, "composition", "linked_rows"),
    *measures_in(
        __name__, "diversity", "suda", "informed", "distance", "probabilistic", "interval"
    ),
    *measures_in(__name__, "informed_values"),
]
