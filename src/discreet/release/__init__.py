"""The flow: table, roles and recipe in; protect, check, assess; a release out."""

from discreet.release.assessment import Assessment, assess
from discreet.release.check import CheckReport, check_release
from discreet.release.comparing import Comparison, compare
from discreet.release.protection import protect
from discreet.release.recipe import Recipe
from discreet.release.release import Release
from discreet.release.roles import Roles

__all__ = [
    "Assessment",
    "CheckReport",
    "Comparison",
    "Recipe",
    "Release",
    "Roles",
    "assess",
    "check_release",
    "compare",
    "protect",
]
