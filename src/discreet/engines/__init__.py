"""Tables larger than memory: where their rows are, and how to count, map and order them there.

An engine knows no methods and no releases. Rows are looked at a piece at a time, by functions that
can be sent to where the rows are; only what those give back comes here.
"""

from discreet.engines.frame import Engine, Frame

__all__ = ["Engine", "Frame"]
