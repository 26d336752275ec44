"""Microaggregation of several columns at once: groups of similar records, replaced by their centre."""

from discreet.microaggregation.microaggregation import Microaggregation as Microaggregation
