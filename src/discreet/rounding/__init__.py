"""Rounding of numeric columns: each column is cut into parts, each part gets one value."""

from discreet.rounding.base_rounding import BaseRounding as BaseRounding
from discreet.rounding.chimerge import ChiMerge as ChiMerge
from discreet.rounding.equal_frequency import EqualFrequency as EqualFrequency
from discreet.rounding.equal_width import EqualWidth as EqualWidth
from discreet.rounding.given_cuts import GivenCuts as GivenCuts
from discreet.rounding.kmeans import KMeans as KMeans
from discreet.rounding.mdav import MDAV as MDAV
from discreet.rounding.mdlp import MDLP as MDLP
from discreet.rounding.oma import OMA as OMA
from discreet.rounding.resampling import Resampling as Resampling
from discreet.rounding.round_counts import RoundCounts as RoundCounts
from discreet.rounding.vmdav import VMDAV as VMDAV
