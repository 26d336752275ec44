import numpy as np
import pyarrow as pa
import pytest

import discreet
from discreet.draws import Draws
from discreet.errors import BadInput
from discreet.kernels.parts import bootstrap_means
from discreet.rounding import Resampling
from discreet.rounding.resampling import _limit_means, _means, _medians
from discreet.table import summarise


@pytest.mark.parametrize("discretizer", ["kmeans", "equal-width", "equal-frequency"])
@pytest.mark.parametrize("centre", ["mean", "median"])
def test_each_value_goes_to_the_nearest_point(discretizer, centre):
    x = np.random.default_rng(0).lognormal(size=(400, 1))
    method = Resampling(6, discretizer=discretizer, centre=centre, random_state=1)
    out = method.fit_transform(x)
    points = method.rounding_sets_["x0"]
    assert 2 <= len(points) <= 6
    assert (out.ravel() == points[np.abs(x - points).argmin(axis=1)]).all()


@pytest.mark.parametrize("size", [1, 2, 7, 50])
def test_bootstrap_means_are_those_of_plain_sums(size):
    values = np.sort(np.random.default_rng(size).normal(size=size))
    words = np.random.default_rng(1).integers(0, 2**64, (20, -(-size // 2)), dtype=np.uint64)
    expected = []
    for row in words.tolist():
        halves = [half for word in row for half in (word & 0xFFFFFFFF, word >> 32)][:size]
        expected.append(np.mean([values[half * size >> 32] for half in halves]))
    np.testing.assert_allclose(bootstrap_means(values, words), expected, rtol=0, atol=1e-14)


def test_means_have_the_expected_centre_and_spread():
    values = np.random.default_rng(2).lognormal(size=101)
    part, samples = summarise(values), 4000
    error = values.std() / np.sqrt(len(values))
    for draw in (_means, _limit_means):
        means = draw(part, samples, Draws(7, "x"), 1)
        # Five standard errors of the mean of the means, and of their standard deviation.
        assert abs(means.mean() - values.mean()) <= 5 * error / np.sqrt(samples)
        assert abs(means.std() / error - 1) <= 5 / np.sqrt(2 * samples)


@pytest.mark.parametrize("size", [1, 2, 5, 10, 101])
def test_medians_have_the_distribution_of_bootstrapped_medians(size):
    values = np.sort(np.random.default_rng(3).normal(size=size))
    samples = 20_000
    found = _medians(summarise(values), samples, Draws(11, "x"), (1, 2))
    drawn = np.random.default_rng(4).choice(values, (samples, size))
    plain = np.median(drawn, axis=1)
    grid = np.quantile(values, np.linspace(0, 1, 21))
    shares = [(sample[:, None] <= grid).mean(axis=0) for sample in (found, plain)]
    # Two empirical distribution functions of 20,000 draws: 0.02 is past four standard errors.
    assert np.abs(shares[0] - shares[1]).max() < 0.02


def test_the_normal_limit_is_told():
    x = np.random.default_rng(5).normal(size=(12_000, 1))
    with pytest.warns(
        UserWarning, match="'x0': in 1 of 1 parts the means of samples of more than 10,000 values"
    ):
        method = Resampling(3, n_quantiles=1, max_draws=50, random_state=0).fit(x)
    assert method.plan_["x0"]["parts"] == method.plan_["x0"]["parts_by_limit"] == 1


def test_quantiles_that_coincide_are_told():
    x = np.append(np.zeros(50), np.arange(1.0, 51.0)).reshape(-1, 1)
    breaks = np.unique(np.quantile(x, np.linspace(0, 1, 11)))
    said = f"column 'x0': samples are drawn from {len(breaks) - 1} parts, not 10: frequent values "
    with pytest.warns(UserWarning, match=said + "make its quantiles coincide"):
        plan = Resampling(3, random_state=0).fit(x).plan_["x0"]
    assert plan["parts"] == len(breaks) - 1 == 6
    assert plan["parts_by_limit"] == 0
    with pytest.warns(UserWarning, match="from 2 parts, not 10: it has only 2 distinct values"):
        Resampling(2, random_state=0).fit([[1.0], [2.0]] * 20)


def test_what_a_release_says_of_its_parts():
    x = np.append(np.zeros(50), np.arange(1.0, 51.0))
    step = {"method": "resampling", "columns": ["x"], "n_points": 3, "min_count": 3}
    recipe = {"roles": {"confidential": ["x"]}, "steps": [step]}
    release = discreet.protect(pa.table({"x": x}), recipe)
    assert release.plan["steps"][0]["columns"]["x"]["parts"] == 6
    assert "samples are drawn from 6 parts, not 10" in str(release.log)


def test_it_depends_on_its_seed_alone():
    x = np.random.default_rng(6).normal(size=(200, 1))
    one, same, other = (Resampling(4, random_state=s).fit_transform(x) for s in (1, 1, 2))
    assert (one == same).all()
    assert (one != other).any()
    assert Resampling(4).is_random


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_quantiles": 0}, "n_quantiles must be a whole number of at least 1, not 0"),
        ({"max_draws": 1.5}, "max_draws must be a whole number of at least 1, not 1.5"),
        ({"centre": "mode"}, "centre must be one of 'mean', 'median', not 'mode'"),
        ({"discretizer": "x"}, "discretizer must be one of 'kmeans', "),
    ],
)
def test_errors(parameters, message):
    with pytest.raises(BadInput, match=message):
        Resampling(2, **parameters).fit([[1.0], [2.0]])
