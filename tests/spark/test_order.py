"""Spark's frames sort as all engines' do."""

import pytest

from discreet.engines.spark import SparkFrame
from tests.engines.order import Order

pytestmark = pytest.mark.spark


class TestSpark(Order):
    @pytest.fixture(scope="class")
    @classmethod
    def make(cls, session):
        # Rows as few as these would be in one file.
        session.spark.conf.set("spark.sql.adaptive.coalescePartitions.enabled", "false")
        yield lambda files: SparkFrame.stored(session, files)
        session.spark.conf.unset("spark.sql.adaptive.coalescePartitions.enabled")
