"""A first look at a table, its risk as it is, and the recipe that it suggests."""

from discreet.inspection.inspection import Inspection, inspect
from discreet.inspection.raw import RawRisk, risk_of

__all__ = ["Inspection", "RawRisk", "inspect", "risk_of"]
