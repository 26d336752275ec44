import pytest


@pytest.fixture(scope="session")
def session(tmp_path_factory):
    """One real session for all tests: two tasks at once, each tried three times."""
    from discreet.engines.spark import Session

    with Session(tmp_path_factory.mktemp("spark"), "2GB", "local[2,3]") as started:
        yield started
