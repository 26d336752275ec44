"""One check, on every engine."""

import pytest

from discreet import check_release
from discreet.engines import duckdb


@pytest.fixture
def checked(monkeypatch):
    """Check a release on every engine, in small pieces; the reports must be one."""
    monkeypatch.setattr(duckdb, "PIECE", 101)

    def check(*given, **more):
        reports = [check_release(*given, **more, engine=one) for one in ("memory", "duckdb")]
        assert str(reports[1]) == str(reports[0])
        assert reports[1] == reports[0]
        return reports[0]

    return check
