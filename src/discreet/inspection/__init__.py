"""A first look at a table, and the recipe that it suggests."""

from discreet.inspection.inspection import Inspection, inspect

__all__ = ["Inspection", "inspect"]
