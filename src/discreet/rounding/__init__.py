"""Rounding of numeric columns: each column is cut into parts, each part gets one value."""

from discreet.rounding.oma import OMA as OMA
