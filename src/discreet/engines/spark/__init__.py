"""Apache Spark: counting and sorting by its own plans, pieces by Arrow where the rows are.

Nothing here needs pyspark to be imported; a session does.
"""

from discreet.engines.spark.frame import SparkFrame, spark_frame
from discreet.engines.spark.session import Session, spark_session, usage

__all__ = ["Session", "SparkFrame", "spark_frame", "spark_session", "usage"]
