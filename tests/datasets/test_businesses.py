"""What `make_businesses` promises: sameness, and the shape of a register."""

import numpy as np
import pytest

from discreet.datasets import make_businesses


def test_same_arguments_give_the_same_companies_and_another_seed_gives_others():
    table = make_businesses(500, seed=4)
    assert table == make_businesses(500, seed=4)
    assert table["turnover"] != make_businesses(500, seed=5)["turnover"]
    assert len(table["register_number"].unique()) == 500
    with pytest.raises(ValueError, match="n is 0"):
        make_businesses(0)


def test_few_companies_have_most_of_the_turnover():
    frame = make_businesses(10_000, seed=1).to_pandas()
    turnover = np.sort(frame["turnover"])
    assert (frame[["turnover", "payroll", "employees"]] > 0).all(axis=None)
    assert turnover[-100:].sum() > turnover.sum() / 3
    assert (frame["exports"] <= frame["turnover"]).all()
    assert 0.6 < (frame["exports"] == 0).mean() < 0.95
    assert frame["founded"].between(1850, 2022).all()
