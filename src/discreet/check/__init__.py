"""Whether a release keeps its promises: written from definitions, with no method or measure."""

from discreet.check.check import check_release
from discreet.check.findings import CheckReport

__all__ = ["CheckReport", "check_release"]
