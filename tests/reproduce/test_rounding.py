"""The rounding paper: cells that are known to agree."""

from dataclasses import replace

import numpy as np
import pytest

from discreet.reproduce import data, rounding, rounding_findings
from discreet.reproduce.results import Figures
from discreet.reproduce.rounding_findings import findings
from tests.reproduce.expected import figures


@pytest.fixture(scope="module")
def wine():
    return figures("wine")


@pytest.fixture(scope="module")
def boston():
    try:
        return figures("boston")
    except data.NotFound as error:
        pytest.skip(str(error))


# Table 8, the cells that ties do not decide.
ENTROPIES = {
    "OMA": {"k = 10": 54.24, "k = 15": 46.41, "k = 20": 40.39, "k = 25": 38.05},
    "MDAV": {"k = 2": 81.12, "k = 7": 61.88, "k = 10": 54.45, "k = 20": 40.00},
    "VMDAV": {"k = 5": 64.58, "k = 7": 58.96, "k = 10": 52.95, "k = 25": 35.57},
    "EWD": {"c = 3": 36.90, "c = 5": 45.64, "c = 10": 56.12, "c = 15": 62.04},
    "EFD": {"c = 3": 38.89, "c = 5": 46.73, "c = 10": 58.57},
}
RULE = {"OMA": 45.07, "MDAV": 45.33, "VMDAV": 43.67}


def test_wine_entropies_are_the_papers(wine):
    entropies = wine.pick(quantity="entropy")
    for series, cells in ENTROPIES.items():
        for setting, paper in (cells | {rounding.RULE: RULE.get(series)}).items():
            if paper is None:
                continue
            [found] = entropies.pick(series=series, setting=setting)
            assert found.paper == paper
            assert found.measured == pytest.approx(paper, abs=0.01), found.row
    original, mdlp = (entropies.pick(series=s)[0] for s in ("Original model", "MDLP"))
    assert (original.paper, round(original.measured, 2)) == (82.80, 82.80)
    assert (mdlp.paper, round(mdlp.measured, 2)) == (18.08, 18.08)


def test_codes_lose_the_classes_of_original_rows(wine):
    accuracies = {f.series: f.measured for f in wine.pick(quantity="AccO") if not f.setting}
    assert accuracies["Original model"] > 0.9
    assert accuracies["MDLP"] == pytest.approx(0.39, abs=0.1)
    assert accuracies["ChiM"] == pytest.approx(0.30, abs=0.1)


def test_boston_original_model(boston):
    original = {f.quantity: f for f in boston.pick(table="7", series="Original model")}
    assert (original["MSE"].paper, round(original["MSE"].measured, 2)) == (21.89, 21.89)
    assert (original["R2"].paper, round(original["R2"].measured, 2)) == (0.74, 0.74)


def test_boston_equal_frequency_lowers_c_and_is_scored_on_the_rounded_target(boston):
    cells = boston.pick(table="7", series="EFD", quantity="MSE, rounded target")
    for setting, paper in (("c = 10", 17.88), ("c = 15", 22.99), ("c = 30", 22.23)):
        [found] = cells.pick(setting=setting)
        assert found.paper == paper
        assert found.measured == pytest.approx(paper, abs=0.01)


def test_least_squares_is_the_least(boston):
    mse = boston.pick(table="7", quantity="MSE")
    [original] = mse.pick(series="Original model")
    assert min(f.measured for f in mse) == original.measured
    # What the paper prints is less in these, so it is not what it says.
    assert sum(f.paper < round(original.measured, 2) for f in mse.given()) == 25


def told(found, text):
    [finding] = [f for f in findings(found) if f.text.startswith(text)]
    return finding


def test_what_is_told_follows_from_the_figures(wine):
    moved = Figures(replace(f, measured=f.measured + 0.5) for f in wine)
    for text in ("Wine, entropy of OMA", "Wine, entropy of EWD", "Wine, accuracy of a tree"):
        assert told(wine, text).verdict == "agrees"
        assert told(moved, text).verdict == "differs"
    assert "0 of 27 cells are within 0.01" in told(moved, "Wine, entropy of OMA").text
    assert told(wine, "RBD on wine").text.endswith("In the paper c was ignored.")
    level = Figures(replace(f, measured=f.paper or 0.0) for f in wine)
    assert told(level, "RBD on wine").verdict == "differs"
    assert "ignored" not in told(level, "RBD on wine").text


def test_what_is_told_of_boston_follows_from_the_figures(boston):
    text = "25 of the 55 MSEs"
    assert "Its MSEs fit the rounded target best" in told(boston, text).text
    masked = [f for f in boston if f.quantity == "MSE" and f.series != "Original model"]
    exchanged = Figures(replace(f, measured=f.paper) if f in masked else f for f in boston)
    assert "Its MSEs fit the original target best" in told(exchanged, text).text
    assert told(boston, "Boston, the model of the original data").verdict == "agrees"
    worse = Figures(replace(f, measured=f.measured + 0.01) for f in boston)
    assert told(worse, "Boston, the model of the original data").verdict == "differs"


def test_which_reading_of_ddr_was_printed():
    cells = figures("exponential").pick(table="1")
    [said] = [f.text for f in rounding_findings._synthetic(cells) if f.text.startswith("DDR is")]
    gaps = {
        name: np.mean([abs(f.measured - f.paper) for f in cells.pick(quantity=name)])
        for name in ("DDR", "DDR, as worded")
    }
    assert gaps["DDR"] < 0.01 < 0.1 < gaps["DDR, as worded"]
    assert f"that is {gaps['DDR, as worded']:.3f} off" in said
    assert f"it is {gaps['DDR']:.3f} off them" in said
    assert said.endswith("So what was printed goes from original to masked, over cells.")
