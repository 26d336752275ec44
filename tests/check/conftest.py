"""One check, on every engine."""

import shutil

import pytest

from discreet import check_release, protect, write_table
from discreet.engines import duckdb
from tests.check.held import judging
from tests.check.tampered import RECIPE, Place, people, signing_key


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


@pytest.fixture
def judge(checked, tmp_path):
    """Hold a table against one rule of a policy, on every engine."""
    return judging(checked, tmp_path)


@pytest.fixture(scope="session")
def signed_releases(tmp_path_factory, key_store):
    folder = tmp_path_factory.mktemp("tampering")
    key, stranger = (signing_key(folder / f"{name}.pem") for name in ("signing", "stranger"))
    write_table(people(100), folder / "raw.csv")
    release = protect(folder / "raw.csv", RECIPE)
    assessment = release.assess()
    for name in ("former", "release"):
        release = protect(folder / "raw.csv", RECIPE)
        release.save(folder / name, sign=key, assessment=assessment)
    protect(people(7), RECIPE).save(
        folder / "another", format="csv", sign=stranger, assessment=assessment
    )
    return folder


@pytest.fixture
def place(signed_releases, tmp_path):
    return Place(shutil.copytree(signed_releases, tmp_path / "copy"))
