"""A row of each family runs and passes its own check: what they call may change unseen."""

import pytest

from benchmarks import rows
from benchmarks.__main__ import load_families
from discreet.datasets import data_folder

# The quickest of each family. Of the other families the quickest row takes seconds, or searches for
# as long as it is told, which is left to `make bench`: `make test-slow` runs one of the former.
QUICK = [
    "app/20 nodes of the lattice, n=30,162 x 8",
    "attacks/linkability, 2,000 targets, n=3e4",
    "differential/SafePub from codes, Adult, epsilon 2, delta 1e-05",
    "frequency/wildcard class sizes n=1e5 x 5, 2 % nulls",
    "generalization/Adult from codes, k=5, loss, limit 5%",
    "microaggregation/mdav n=1e3 x 5 k=5, exact",
    "models/Adult from tuples, k-map 10, limit 5%",
    "mondrian/k=5 from codes, cost against n",
    "perturbation/top-bottom n=1e6",
    "regression/score on Census, lirop k=5000",
    "risk/probabilistic linkage 1e3 x 1e3 x 5, peer splink",
    "rounding/oma k=10, cost against n",
    "targets/Adult from codes, AverageRisk, average 0.05, limit 5%",
    "worth/Adult from codes, height, limit 5%",
]
SLOW = [
    "engines/memory oma+generalize n=1e5",
    "inspection/inspect n=1e6 x 20",
    "leaks/leaks n=1e6 x 20, all pairs",
    "people/protect and assess n=1e5 by household",
    "report/report n=1e5 x 20",
    "suppression/testdata2_7, k=3, strict",
    "utility/il_metrics n=1e6 x 6",
]
SEARCHES = {"proposal", "search", "search_keys", "search_score"}


@pytest.mark.parametrize(
    "key", [*QUICK, *(pytest.param(key, marks=pytest.mark.slow) for key in SLOW)]
)
def test_a_row_of_each_family(key, long_search):
    try:
        data_folder()
    except FileNotFoundError as error:
        pytest.skip(str(error))
    load_families()
    row = rows.ROWS[key]
    case = row.build(min(row.sizes)) if row.sizes else row.build()
    made = case.ours()
    if case.check is not None and case.peer is None:
        case.check(made, None)


def test_no_family_is_left_out():
    load_families()
    named = {key.partition("/")[0] for key in (*QUICK, *SLOW)} | SEARCHES
    assert named == {row.family for row in rows.ROWS.values()}
