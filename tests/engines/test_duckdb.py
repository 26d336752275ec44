"""DuckDB's frames keep the contract of all engines."""

import pytest

from discreet.engines.duckdb import DuckDBFrame, Session
from tests.engines.contract import Contract


class TestDuckDB(Contract):
    @pytest.fixture(scope="class")
    @classmethod
    def make(cls, tmp_path_factory):
        with Session(tmp_path_factory.mktemp("duckdb"), "1GB") as session:
            yield lambda files, markers: DuckDBFrame(session, files, markers)
