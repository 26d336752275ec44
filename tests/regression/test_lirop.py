import numpy as np
import pytest

import discreet
from discreet.errors import BadInput
from discreet.regression import LiROP, PoROP


def line(y):
    """Slope and intercept of y on 0..k-1 in closed form: sums of 1..k, no solver."""
    k = len(y)
    i = np.arange(k)
    slope = 12 * ((i - (k - 1) / 2) * y).sum() / (k * (k * k - 1))
    return slope, y.mean() - slope * (k - 1) / 2


@pytest.mark.filterwarnings("ignore:.*came out unchanged:UserWarning")
@pytest.mark.parametrize("k", [2, 3, 10, 64, 777, 2000])
def test_the_closed_form_of_simple_regression(k):
    """One chunk in both passes: shares of the range, on positions."""
    values = np.random.default_rng(k).lognormal(size=k)
    new = LiROP(k, noise="none").fit_transform(values.reshape(-1, 1)).ravel()
    order = np.argsort(values)
    low, width = values.min(), np.ptp(values)
    slope, intercept = line((values[order] - low) / width)
    expected = low + width * (intercept + slope * np.arange(k))
    np.testing.assert_allclose(new[order], expected, rtol=0, atol=1e-10 * width)


def test_the_deviation_is_that_of_the_residuals():
    values = np.random.default_rng(0).normal(size=100)
    plan = LiROP(100, random_state=0).fit(values.reshape(-1, 1)).plan_
    share = (np.sort(values) - values.min()) / np.ptp(values)
    slope, intercept = line(share)
    residuals = share - intercept - slope * np.arange(100)
    assert plan["deviations"] == pytest.approx([np.sqrt((residuals**2).mean())], abs=1e-12)


@pytest.mark.parametrize("noise", ["synthetic", "perturbative", "none"])
def test_it_is_porop_of_degree_1(noise):
    table = np.random.default_rng(1).lognormal(size=(70, 3))
    more = {"noise": noise, "noise_scale": 2.0, "second_k": 30, "keep_range": True}
    np.testing.assert_array_equal(
        LiROP(50, random_state=4, **more).fit_transform(table),
        PoROP(50, 1, random_state=4, **more).fit_transform(table),
    )


def test_it_has_no_degree():
    assert "degree" not in LiROP(5).get_params()
    with pytest.raises(BadInput, match="k must be a whole number of at least 2, not 1"):
        LiROP(1).fit([[1.0], [2.0]])


def test_by_recipe(households, tmp_path):
    recipe = {
        "roles": {"quasi": ["age"], "confidential": ["income", "assets"], "rest": "drop"},
        "steps": [
            {"method": "lirop", "columns": ["income", "assets"], "k": 800},
            {"method": "lirop", "columns": ["age"], "k": 400, "noise_floor": 0.1},
        ],
    }
    release = discreet.protect(households, recipe)
    path = release.save(tmp_path / "out")
    report = discreet.check_release(path, release.recipe, tmp_path / "out" / "internal", households)
    assert report.ok
    assert not report.having("not verifiable")
    with pytest.raises(BadInput, match=r"step 1 \(lirop\): unknown key 'degree'"):
        discreet.protect(households, recipe | {"steps": [recipe["steps"][0] | {"degree": 2}]})
