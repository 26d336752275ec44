"""Microaggregation of several columns at once: similar records are replaced by their centre."""

from discreet.microaggregation.dp_microaggregation import DPMicroaggregation as DPMicroaggregation
from discreet.microaggregation.microaggregation import Microaggregation as Microaggregation
