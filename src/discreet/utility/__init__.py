"""Utility: what a release costs in information."""

from discreet.utility.loss import il1s as il1s
