"""Risk and utility of a release, before and after, and of several releases side by side."""

from discreet.assessment.assessing import assess
from discreet.assessment.assessment import Assessment
from discreet.assessment.comparison import Comparison, compare

__all__ = ["Assessment", "Comparison", "assess", "compare"]
