"""From a table and a recipe to a release: decide, apply, check, write."""

from discreet.flow.protection import protect
from discreet.flow.release import Release

__all__ = ["Release", "protect"]
