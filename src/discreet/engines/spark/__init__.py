"""Apache Spark: it counts and sorts by its own plans, and Arrow handles pieces where the rows are.

Importing this does not need pyspark; a session does.
"""

from discreet.engines.spark.frame import SparkFrame, spark_frame
from discreet.engines.spark.session import Session, spark_session, usage

__all__ = ["Session", "SparkFrame", "spark_frame", "spark_session", "usage"]
