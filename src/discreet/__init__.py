"""Statistical disclosure control: from a table to one that can be shared, with the proof.

The whole flow is a few names; methods and measures are in the family packages
(`discreet.rounding`, `discreet.perturbation`, `discreet.risk`, `discreet.utility`).
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# Imported on first use, so that `discreet --help` does not wait for numpy, pyarrow and numba.
_HOME = {
    "protect": "discreet.flow",
    "assess": "discreet.assessment",
    "attack": "discreet.assessment.attacked",
    "check_release": "discreet.check",
    "compare": "discreet.assessment",
    "inspect": "discreet.inspection",
    "risk_of": "discreet.inspection",
    "search": "discreet.tuning.search",
    "sweep": "discreet.tuning.sweep",
    "Recipe": "discreet.recipe",
    "Roles": "discreet.recipe",
    "read_table": "discreet.table",
    "write_table": "discreet.table",
}
__all__ = [
    "Recipe",
    "Roles",
    "__version__",
    "assess",
    "attack",
    "check_release",
    "compare",
    "inspect",
    "protect",
    "read_table",
    "risk_of",
    "search",
    "sweep",
    "write_table",
]

if TYPE_CHECKING:
    from discreet.assessment import assess as assess
    from discreet.assessment import compare as compare
    from discreet.assessment.attacked import attack as attack
    from discreet.check import check_release as check_release
    from discreet.flow import protect as protect
    from discreet.inspection import inspect as inspect
    from discreet.inspection import risk_of as risk_of
    from discreet.recipe import Recipe as Recipe
    from discreet.recipe import Roles as Roles
    from discreet.table import read_table as read_table
    from discreet.table import write_table as write_table
    from discreet.tuning.search import search as search
    from discreet.tuning.sweep import sweep as sweep


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'discreet' has no attribute '{name}'")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return __all__
