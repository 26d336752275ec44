"""Engines: tables in memory, on DuckDB or on Spark, and how to count, map and order their rows.

An engine knows nothing about methods or releases. It looks at rows one piece at a time, with
functions that can be sent to where the rows are; only their results come back.
"""

from discreet.engines.frame import Engine, Frame

__all__ = ["Engine", "Frame"]
