"""Spark's frames keep the contract of all engines."""

import pytest

from discreet.engines.spark import SparkFrame
from tests.engines.contract import Contract

pytestmark = pytest.mark.spark


class TestSpark(Contract):
    @pytest.fixture(scope="class")
    @classmethod
    def make(cls, session):
        return lambda files, markers: SparkFrame.stored(session, files, markers)
