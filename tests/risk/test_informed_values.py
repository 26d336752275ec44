"""Guesses of single values against hand-made tables and brute force from the definitions."""

import math

import numpy as np
import pyarrow as pa
import pytest

import discreet
from discreet.errors import BadInput
from discreet.microaggregation import Microaggregation
from discreet.perturbation import PRAM, Noise, RankSwap, Shuffle
from discreet.regression import IPSO, PoROP
from discreet.risk import informed_values
from discreet.risk._guesses import denoised
from discreet.rounding import OMA, KMeans

rng = np.random.default_rng


def told(original, protected, *steps):
    return informed_values(original, protected, steps, detail=True).columns


def gain(found):
    return (found.guessed - found.without) / (1 - found.without)


# Numbers without a method: what the distribution alone tells


def test_without_the_release_the_densest_interval_is_guessed():
    x = np.array([[1.0], [1.1], [1.2], [7.0], [8.0], [20.0]])
    # The released column has a standard deviation of 5.
    y = np.array([[0.0], [0.0], [0.0], [0.0], [0.0], [math.sqrt(150)]])
    for width, expected in ((0.004, 1 / 6), (0.012, 2 / 6), (0.05, 3 / 6), (0.8, 5 / 6)):
        found = informed_values(x, y, [(Shuffle(), ["x0"])], width=width, detail=True)
        assert found.columns["x0"].without == expected


def test_a_shuffled_column_tells_nothing_of_single_values():
    x = rng(0).lognormal(size=(500, 1))
    y = Shuffle(random_state=1).fit_transform(x)
    found = told(x, y, (Shuffle(), ["x0"]))["x0"]
    assert found.guessed == found.without
    assert informed_values(x, y, [(Shuffle(), ["x0"])]) == 0


# Noise


@pytest.mark.parametrize("kind", ["additive", "correlated"])
@pytest.mark.parametrize("scale", [0.1, 0.5])
def test_noise_is_shrunk_by_its_known_variance(kind, scale):
    x = rng(1).normal(50, 10, size=(40_000, 1))
    noise = Noise(kind, scale, random_state=2)
    found = told(x, noise.fit_transform(x), (noise, ["x0"]))["x0"]
    # x given y is normal with variance s^2 / (1 + s^2); the interval is 0.05 sqrt(1 + s^2).
    error = scale / math.sqrt(1 + scale**2)
    half = 0.05 * math.sqrt(1 + scale**2)
    assert found.guessed == pytest.approx(math.erf(half / error / math.sqrt(2)), abs=0.015)
    assert found.without == pytest.approx(math.erf(half / math.sqrt(2)), abs=0.01)
    assert found.gain == pytest.approx(gain(found))
    assert found.certain == 0
    assert found.members is None


@pytest.mark.parametrize("kind", ["additive", "correlated"])
@pytest.mark.parametrize("scale", [0.1, 0.5])
def test_noise_is_shrunk_where_ranks_were_matched(kind, scale):
    x = rng(1).normal(50, 10, size=(40_000, 1))
    noise = Noise(kind, scale, match_ranks=True, random_state=2)
    found = told(x, noise.fit_transform(x), (noise, ["x0"]))["x0"]
    # x and y are normal with a correlation of 1 / sqrt(1 + s^2).
    error = scale / math.sqrt(1 + scale**2)
    assert found.guessed == pytest.approx(math.erf(0.05 / error / math.sqrt(2)), abs=0.015)


@pytest.mark.parametrize("match_ranks", [False, True])
@pytest.mark.parametrize("kind", ["additive", "logarithmic"])
def test_all_columns_predict_as_a_regression_on_the_originals_does(kind, match_ranks):
    common = rng(3).normal(size=(5000, 1))
    x = 3 + common + 0.3 * rng(4).normal(size=(5000, 4))
    logs = kind == "logarithmic"
    noise = Noise(kind, 0.5, match_ranks=match_ranks, random_state=5)
    y = noise.fit_transform(np.exp(x) if logs else x)
    z = np.column_stack([np.ones(5000), np.log(y) if logs else y])
    fitted = z @ np.linalg.lstsq(z, x[:, 0], rcond=None)[0]
    columns = {f"x{i}": y[:, i] for i in range(4)}
    guessed = denoised(noise, list(columns), "x0", columns)
    np.testing.assert_allclose(np.log(guessed) if logs else guessed, fitted, atol=0.2)


def test_other_columns_take_noise_away_as_a_regression_on_the_originals_would():
    common = rng(3).normal(size=(5000, 1))
    x = 100 + 5 * (common + 0.3 * rng(4).normal(size=(5000, 4)))
    noise = Noise(scale=0.5, random_state=5)
    y = noise.fit_transform(x)
    columns = ["x0", "x1", "x2", "x3"]
    alone = told(x[:, :1], y[:, :1], (noise, ["x0"]))["x0"]
    together = told(x, y, (noise, columns))["x0"]
    # The intruder has no original, yet does as well as who fits them.
    design = np.column_stack([np.ones(len(y)), y])
    best = design @ np.linalg.lstsq(design, x[:, 0], rcond=None)[0]
    near = (np.abs(best - x[:, 0]) <= 0.05 * y[:, 0].std(ddof=1)).mean()
    assert together.guessed == pytest.approx(near, abs=0.01)
    assert together.guessed > 1.15 * alone.guessed
    # An untouched column counts too.
    beside = told(x[:, :2], np.column_stack([y[:, 0], x[:, 1]]), (noise, ["x0"]))["x0"]
    assert beside.guessed > alone.guessed


def test_correlated_noise_does_not_average_out():
    x = np.tile(rng(3).normal(size=(5000, 1)), 4)
    found = {}
    for kind in ("additive", "correlated"):
        noise = Noise(kind, 0.3, random_state=5)
        released = noise.fit_transform(x)
        found[kind] = told(x, released, (noise, ["x0", "x1", "x2", "x3"]))["x0"].guessed
    assert found["additive"] > 1.7 * found["correlated"]


def test_multiplicative_noise_is_noise_on_logarithms():
    logs = rng(6).normal(10, 1, size=(5000, 1)) + 0.1 * rng(7).normal(size=(5000, 3))
    x = np.exp(logs)
    noise = Noise("multiplicative", 0.3, random_state=8)
    y = noise.fit_transform(x)
    assert (y > 0).mean() > 0.999
    keep = (y > 0).all(axis=1)
    x, y = x[keep], y[keep]
    found = told(x, y, (noise, ["x0", "x1", "x2"]))["x0"]
    half = 0.05 * y[:, 0].std(ddof=1)
    design = np.column_stack([np.ones(len(y)), np.log(y)])
    best = np.exp(design @ np.linalg.lstsq(design, np.log(x[:, 0]), rcond=None)[0])
    assert found.guessed == pytest.approx((np.abs(best - x[:, 0]) <= half).mean(), abs=0.02)
    assert found.guessed > (np.abs(y - x)[:, 0] <= half).mean() + 0.05
    # With zeros there are no logarithms, and the released value is no worse a guess than before.
    x[0], y[0] = 0, 0
    zero = told(x, y, (noise, ["x0", "x1", "x2"]))["x0"]
    assert zero.guessed >= (np.abs(y - x)[:, 0] <= half).mean()


@pytest.mark.parametrize("missing", [0.3, 0.6])
def test_nulls_at_random_hide_little_of_what_other_columns_tell(missing):
    """Nearly as much is guessed as by one who knows the distribution, from what each record has."""
    x = 10 * rng(31).normal(size=(3000, 1)) + rng(32).normal(size=(3000, 6))
    x[rng(33).random(x.shape) < missing] = np.nan
    noise = Noise(scale=0.5, random_state=34)
    y = noise.fit_transform(x)
    found = told(x, y, (noise, [f"x{i}" for i in range(6)]))
    before = np.full((6, 6), 100.0) + np.eye(6)
    after = before + 0.25 * 101 * np.eye(6)
    half, right = 0.05 * math.sqrt(1.25 * 101), []
    for row, released in zip(x, y, strict=True):
        have = np.flatnonzero(~np.isnan(released))
        best = before[np.ix_(have, have)] @ np.linalg.pinv(after[np.ix_(have, have)])
        right += list(np.abs(best @ released[have] - row[have]) <= half)
    guessed = np.mean([one.guessed for one in found.values()])
    assert guessed == pytest.approx(np.mean(right), abs=0.012)
    naive = np.abs(y - x)[~np.isnan(x)] <= half
    assert guessed > naive.mean() + 0.05


def test_records_without_a_common_pattern_of_nulls():
    x = rng(35).normal(size=(800, 1)) + 0.1 * rng(36).normal(size=(800, 30))
    complete = x.copy()
    x[rng(37).random(x.shape) < 0.2] = np.nan
    noise = Noise(scale=0.5, random_state=38)
    columns = [f"x{i}" for i in range(30)]
    some = told(x, noise.fit_transform(x), (noise, columns))
    few = told(x[:, :3], noise.fit_transform(x[:, :3]), (noise, columns[:3]))
    assert some["x0"].guessed > few["x0"].guessed + 0.03
    whole = told(complete, noise.fit_transform(complete), (noise, columns))
    assert whole["x0"].guessed > some["x0"].guessed


# Means of groups


def test_fellow_members_subtract_their_own_values():
    companies = np.array([[1, 10], [50, 99], [2, 12], [3, 14], [52, 93], [54, 90.0]])
    method = Microaggregation(k=3)
    found = told(companies, method.fit_transform(companies), (method, ["x0", "x1"]))
    assert [found[name].members for name in ("x0", "x1")] == [1.0, 1.0]
    # The released mean itself is within 1.4 of 1, 2, 3 and 52, and within 2.2 of 10, 12, 14, 93.
    assert [found[name].guessed for name in ("x0", "x1")] == [4 / 6, 4 / 6]


@pytest.mark.parametrize("decimals", [0, 2, 6])
@pytest.mark.parametrize("k", [3, 8])
def test_rounding_blurs_what_fellow_members_know(decimals, k):
    x = rng(9).normal(40, 12, size=301).round(decimals)
    release = OMA(k).fit_transform(x.reshape(-1, 1)).ravel().round(decimals)
    half = 0.05 * release.std(ddof=1)
    known = 0
    for i, y in enumerate(release):
        group = np.flatnonzero(release == y)
        others = x[group[group != i]].sum()
        known += len(group) <= k and abs(len(group) * y - others - x[i]) <= half
    found = told(x.reshape(-1, 1), release.reshape(-1, 1), (OMA(k), ["x0"]))["x0"]
    assert found.members == pytest.approx(known / len(x))
    assert found.members > 0 if decimals else found.members < 1


def test_who_lacks_a_member_does_not_know_and_medians_tell_no_sums():
    x = np.array([[1.0], [2], [4], [50], [52], [57], [60]])
    y = np.repeat([7 / 3, 219 / 4], [3, 4]).reshape(-1, 1)
    assert told(x, y, (OMA(3), ["x0"]))["x0"].members == 3 / 7
    assert told(x, y, (OMA(4), ["x0"]))["x0"].members == 1
    assert told(x, y, (OMA(3, representative="median"), ["x0"])) == {}
    assert told(x, y, (KMeans(2), ["x0"]))["x0"].members == 0


def test_the_re_sampled_mean_of_a_narrow_group_tells_nearly_as_much():
    x = np.concatenate([rng(3).normal(50, 1e-4, 60), rng(4).normal(0, 20, 240)]).reshape(-1, 1)
    method = OMA(3, representative="resampled-mean", random_state=1)
    y = method.fit_transform(x)
    half, known = 0.05 * y.std(ddof=1), 0
    for i in range(len(x)):
        group = np.flatnonzero(y == y[i])
        others = x[group[group != i]].sum()
        known += len(group) == 3 and abs(3 * y[i, 0] - others - x[i, 0]) <= half
    found = told(x, y, (method, ["x0"]))["x0"]
    assert found.members == known / len(x) > 0.15
    assert found.knows == "that the mean of a group is released"


# PRAM


def test_pram_is_undone_by_bayes():
    """Shares, chances and guesses in plain loops, from the true shares."""
    labels = ["a", "b", "c"]
    x = rng(10).choice(labels, size=30_000, p=[0.85, 0.1, 0.05])
    pram = PRAM(0.5, random_state=11)
    y = pram.fit(pa.table({"c": x})).transform(pa.table({"c": x}))["c"].to_pylist()
    shares = {i: (x == i).mean() for i in labels}
    guess = {j: max(labels, key=lambda i: shares[i] * (0.5 if i == j else 0.25)) for j in labels}
    assert guess == {"a": "a", "b": "a", "c": "a"}
    found = told(pa.table({"c": x}), pa.table({"c": y}), (pram, ["c"]))["c"]
    assert found.guessed == pytest.approx(
        np.mean([guess[j] == i for i, j in zip(x, y, strict=True)])
    )
    assert found.without == pytest.approx(shares["a"])
    # So rare are the others that the release adds nothing to guessing the most frequent.
    assert found.gain == 0


def test_pram_is_undone_as_by_one_who_knows_the_shares():
    """Tables whose released shares are exactly what the matrix makes of the original ones."""
    for seed in range(200):
        size = int(rng(seed).integers(3, 7))
        counts = rng(seed).integers(1, 60, (size, size)) ** 2
        labels = np.array(list("abcdef"[:size]))
        x, y = (np.repeat(part, counts.ravel()) for part in np.indices(counts.shape).reshape(2, -1))
        chances = counts / counts.sum(axis=1, keepdims=True)
        matrix = {
            a: dict(zip(labels, row, strict=True))
            for a, row in zip(labels, chances.tolist(), strict=True)
        }
        before, after = pa.table({"c": labels[x]}), pa.table({"c": labels[y]})
        found = told(before, after, (PRAM(matrix={"c": matrix}), ["c"]))["c"]
        assert found.guessed == pytest.approx(counts.max(axis=0).sum() / counts.sum()), seed


def test_a_matrix_with_zeros_makes_values_certain():
    x = ["ill"] * 30 + ["well"] * 70
    y = ["ill"] * 30 + ["ill"] * 7 + ["well"] * 63
    matrix = {"c": {"ill": {"ill": 1.0}, "well": {"ill": 0.1, "well": 0.9}}}
    found = told(pa.table({"c": x}), pa.table({"c": y}), (PRAM(matrix=matrix), ["c"]))["c"]
    # Whoever is said to be well is well; of 37 said to be ill, 30 are.
    assert found.certain == 0.63
    assert found.guessed == 0.93
    assert found.without == 0.7
    assert found.gain == pytest.approx(0.23 / 0.3)


def test_pram_of_numbers_nulls_and_dictionaries():
    x = pa.table({"n": [1, 2, None, 2], "d": pa.array(["u", "v", "u", None]).dictionary_encode()})
    found = told(x, x, (PRAM(0.9), ["n", "d"]))
    assert found["n"].guessed == found["d"].guessed == 1
    assert found["n"].without == found["d"].without == pytest.approx(2 / 3)


# Swapping, synthesis, the rest


def test_a_window_within_the_interval_is_certain():
    # Two dense clouds: ranks away from the gap have windows of near values only.
    x = np.concatenate([rng(12).normal(0, 0.1, 300), rng(13).normal(100, 0.1, 300)])
    swap = RankSwap(5, random_state=14)
    y = swap.fit_transform(x.reshape(-1, 1)).ravel()
    half, window = 0.05 * y.std(ddof=1), 30
    ordered = np.sort(y)
    sure = 0
    for rank in range(600):
        candidates = ordered[max(rank - window, 0) : rank + window + 1]
        sure += candidates[-1] - candidates[0] <= 2 * half
    found = told(x.reshape(-1, 1), y.reshape(-1, 1), (swap, ["x0"]))["x0"]
    assert found.certain == pytest.approx(sure / 600)
    assert found.certain == pytest.approx(540 / 600)
    drawn = told(x.reshape(-1, 1), y.reshape(-1, 1), (RankSwap(5, window="drawn"), ["x0"]))["x0"]
    assert drawn.certain == 0
    assert drawn.guessed > 0.9


@pytest.mark.parametrize(("variant", "members"), [("A", None), ("B", 1.0), ("C", 1.0)])
def test_exact_means_give_the_last_record_away(variant, members):
    x = rng(15).normal(size=(200, 3)) @ rng(16).normal(size=(3, 3))
    ipso = IPSO(variant, confidential=["x2"], random_state=17)
    y = ipso.fit_transform(x)
    found = told(x, y, (ipso, ["x0", "x1"]))
    assert found["x0"].members == members
    if members:
        # Everything but the first record is known.
        assert 200 * y[:, 0].mean() - x[1:, 0].sum() == pytest.approx(x[0, 0])
        # And the regression on the confidential column is the original's.
        slopes = [np.polyfit(side[:, 2], side[:, 0], 1) for side in (x, y)]
        fit = np.polyval(slopes[0], x[:, 2])
        assert slopes[1] == pytest.approx(slopes[0])
        near = (np.abs(fit - x[:, 0]) <= 0.05 * y[:, 0].std(ddof=1)).mean()
        assert found["x0"].guessed >= near


def test_a_column_that_others_determine_is_guessed_from_them():
    pay, tax = rng(18).lognormal(size=(300, 2)).T
    x = np.column_stack([2 * pay - tax + 0.001 * rng(19).normal(size=300), pay, tax])
    ipso = IPSO("A", confidential=["x1", "x2"], random_state=20)
    assert informed_values(x, ipso.fit_transform(x), [(ipso, ["x0"])]) == 1


def test_other_methods_and_chains_are_judged_by_the_released_value():
    x = rng(21).normal(size=(400, 2))
    porop = PoROP(200, random_state=22)
    y = porop.fit_transform(x)
    found = told(x, y, (porop, ["x0", "x1"]))["x0"]
    half = 0.05 * y[:, 0].std(ddof=1)
    assert found.guessed == (np.abs(x - y)[:, 0] <= half).mean()
    assert found.knows == "the released value"
    chain = told(x, y, (porop, ["x0", "x1"]), (Noise(), ["x0"]))["x0"]
    assert (chain.method, chain.knows) == ("porop and noise", "the released value")


def test_width_is_checked():
    with pytest.raises(BadInput, match="width = -1 must be 0 or more"):
        informed_values([[1.0]], [[1.0]], [], width=-1)


# In an assessment


def people(n=400):
    return pa.table(
        {
            "age": rng(23).integers(18, 90, n),
            "sex": rng(24).choice(["f", "m"], n),
            "pay": rng(25).lognormal(10, 1, n).round(),
        }
    )


RECIPE = {
    "roles": {"quasi": ["age", "sex"], "confidential": ["pay"]},
    "steps": [
        {"method": "noise", "columns": ["age"], "scale": 0.05},
        {"method": "pram", "columns": ["sex"], "retention": 0.9},
        {"method": "oma", "columns": ["pay"], "k": 4},
    ],
}


def test_it_is_taken_whenever_a_step_perturbs_or_releases_means(tmp_path):
    table = people()
    release = discreet.protect(table, RECIPE)
    taken = release.assess()
    entry = taken.risk["informed_values"]
    own = informed_values(table, release.table, release.recipe, detail=True)
    assert entry["value"] == own.value
    assert {n: c["guessed"] for n, c in entry["columns"].items()} == {
        n: c.guessed for n, c in own.columns.items()
    }
    assert entry["perturbed"] == max(own.columns[n].gain for n in ("age", "sex"))
    assert entry["members"] == own.columns["pay"].members > 0.5
    page = taken.to_html()
    assert "Single values, to one who knows the method" in page
    assert "that the mean of a group is released" in page
    assert "informed_values.perturbed" in str(taken)
    none = discreet.protect(
        table,
        {
            "roles": {"quasi": ["age"], "rest": "insensitive"},
            "steps": [{"method": "top-bottom", "columns": ["age"], "upper": 80}],
        },
    ).assess()
    assert none.left_out["informed_values"] == "no step perturbs, or releases the means of groups"


def test_on_an_engine_it_is_taken_from_a_sample(tmp_path, monkeypatch):
    table = people(20_000)
    discreet.write_table(table, tmp_path / "in.parquet")
    found = {
        engine: discreet.protect(tmp_path / "in.parquet", RECIPE, engine=engine)
        .assess()
        .risk["informed_values"]["columns"]
        for engine in ("memory", "duckdb")
    }
    for name, own in found["memory"].items():
        other = found["duckdb"][name]
        assert other["guessed"] == pytest.approx(own["guessed"], abs=0.03)
        assert other["without"] == pytest.approx(own["without"], abs=0.03)
        assert other["members"] == (
            None if own["members"] is None else pytest.approx(own["members"], abs=0.03)
        )


# On Census, in percent: right without the release and with it, means over the 13 columns; the
# largest gain; known to fellow members, the mean again. All with the seed 0.
CENSUS = {
    "noise, additive, scale 0.1": [12, 44, 52],
    "noise, additive, scale 0.5": [13, 19, 13],
    "noise, correlated, scale 0.1": [12, 39, 39],
    "noise, correlated, scale 0.5": [13, 13, 7],
    "noise, multiplicative, scale 0.2": [12, 30, 54],
    "noise, multiplicative, scale 0.5": [14, 21, 26],
    "rank-swap, p = 15": [12, 22, 39],
    "rank-swap, p = 15, drawn": [12, 22, 33],
    "rank-swap, p = 30, drawn": [12, 15, 9],
    "microaggregation, k = 5": [11, 20, 18, 100],
    "microaggregation, k = 20": [11, 13, 11, 100],
    "oma, k = 5": [12, 99, 100, 47],
    "porop, k = 7000": [12, 58, 78],
    "shuffle": [12, 12, 0],
}
METHODS = {
    "noise, additive, scale 0.1": Noise(scale=0.1, random_state=0),
    "noise, additive, scale 0.5": Noise(scale=0.5, random_state=0),
    "noise, correlated, scale 0.1": Noise("correlated", 0.1, random_state=0),
    "noise, correlated, scale 0.5": Noise("correlated", 0.5, random_state=0),
    "noise, multiplicative, scale 0.2": Noise("multiplicative", 0.2, random_state=0),
    "noise, multiplicative, scale 0.5": Noise("multiplicative", 0.5, random_state=0),
    "rank-swap, p = 15": RankSwap(15, random_state=0),
    "rank-swap, p = 15, drawn": RankSwap(15, window="drawn", random_state=0),
    "rank-swap, p = 30, drawn": RankSwap(30, window="drawn", random_state=0),
    "microaggregation, k = 5": Microaggregation(5),
    "microaggregation, k = 20": Microaggregation(20),
    "oma, k = 5": OMA(5),
    "porop, k = 7000": PoROP(7000, random_state=0),
    "shuffle": Shuffle(random_state=0),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", METHODS)
def test_census(name, census):
    """The table in docs/reference/measures.md."""
    x, method = census, METHODS[name]
    found = told(x, method.fit_transform(x), (method, [f"x{i}" for i in range(13)])).values()
    known = [one.members for one in found if one.members is not None]
    figures = [
        np.mean([one.without for one in found]),
        np.mean([one.guessed for one in found]),
        max(one.gain for one in found),
        *([np.mean(known)] if known else []),
    ]
    print(f"| {name} | {' | '.join(f'{100 * f:.0f}' for f in figures)} |")
    assert [round(100 * f) for f in figures] == CENSUS[name]
