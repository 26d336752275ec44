"""DuckDB's frames sort as all engines' do."""

import pytest

from discreet.engines.duckdb import DuckDBFrame, Session
from tests.engines.order import Order


class TestDuckDB(Order):
    @pytest.fixture(scope="class")
    @classmethod
    def make(cls, tmp_path_factory):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("discreet.engines.duckdb.PIECE", 7)
            with Session(tmp_path_factory.mktemp("duckdb"), "200MB") as session:
                yield lambda files: DuckDBFrame(session, files)

    def test_removing_takes_temporary_files_only(self, frame):
        made = frame.ranked(["x"], was="row", stretch=10)
        assert made.files[0].exists()
        made.remove()
        made.remove()
        frame.remove()
        assert not made.files[0].exists()
        assert all(path.exists() for path in frame.files)
