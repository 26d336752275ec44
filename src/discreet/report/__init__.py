"""Pages for people to read: charts and HTML, made from plain dictionaries."""

from discreet.report.external import external_report
from discreet.report.internal import internal_report
from discreet.report.summary import key_figures, sentences

__all__ = ["external_report", "internal_report", "key_figures", "sentences"]
