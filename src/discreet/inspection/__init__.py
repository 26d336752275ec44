"""A first look at a table, its risk as it is, and the recipe that it suggests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from discreet.inspection.inspection import Inspection, inspect

if TYPE_CHECKING:
    from discreet.inspection.raw import RawRisk, risk_of

__all__ = ["Inspection", "RawRisk", "inspect", "risk_of"]


def __getattr__(name: str) -> Any:
    """Import the measures on first use: a first look does not wait for them."""
    if name not in ("RawRisk", "risk_of"):
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    from discreet.inspection import raw

    return getattr(raw, name)
