"""Methods that replace values by coarser ones, so that every record has enough others like it."""

from discreet.generalization.anatomy import Anatomy as Anatomy
from discreet.generalization.generalize import Generalize as Generalize
from discreet.generalization.hierarchy import Hierarchy as Hierarchy
from discreet.generalization.items import GeneralizeItems as GeneralizeItems
from discreet.generalization.models import AlphaKAnonymity as AlphaKAnonymity
from discreet.generalization.models import BetaLikeness as BetaLikeness
from discreet.generalization.models import DeltaDisclosure as DeltaDisclosure
from discreet.generalization.models import KAnonymity as KAnonymity
from discreet.generalization.models import LDiversity as LDiversity
from discreet.generalization.models import TCloseness as TCloseness
from discreet.generalization.mondrian import Mondrian as Mondrian
from discreet.generalization.population import DeltaPresence as DeltaPresence
from discreet.generalization.population import KMap as KMap
from discreet.generalization.profit import Payout as Payout
from discreet.generalization.profit import Profitability as Profitability
from discreet.generalization.safepub import SafePub as SafePub
from discreet.generalization.targets import AverageRisk as AverageRisk
from discreet.generalization.targets import LargestRisk as LargestRisk
from discreet.generalization.targets import PopulationUniqueness as PopulationUniqueness
from discreet.generalization.targets import SampleUniqueness as SampleUniqueness
