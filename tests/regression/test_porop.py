import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.polynomial import Legendre
from scipy.special import ndtri

import discreet
from discreet.check.evidence import Evidence
from discreet.check.original import APPLIED
from discreet.check.replay import Columns
from discreet.check.replay.regression import porop as replay
from discreet.draws import Draws
from discreet.errors import BadInput
from discreet.regression import LiROP, PoROP
from discreet.utility import score

# Every warning here is the one about unchanged values, which has its own tests.
pytestmark = pytest.mark.filterwarnings("ignore:.*came out unchanged:UserWarning")


def plain(table, k, degree, noise="synthetic", scale=1.0, second_k=None, floor=0.0, seed=0,
          normalise="none"):  # fmt: skip
    """PoROP step by step as the paper has it, with numpy's least squares."""
    if normalise == "column":
        low, width = np.nanmin(table, axis=0), np.nanmax(table, axis=0) - np.nanmin(table, axis=0)
        shares = (table - low) / np.where(width > 0, width, 1)
        return low + width * plain(shares, k, degree, noise, scale, second_k, floor, seed)
    rows, columns = np.nonzero(~np.isnan(table))
    cells = sorted(zip(table[rows, columns], rows, columns, strict=True), key=lambda cell: cell[0])
    entries = []
    for start in range(0, len(cells), k):
        chunk = cells[start : start + k]
        low, high = chunk[0][0], chunk[-1][0]
        for value, row, column in chunk:
            share = (value - low) / (high - low) if high > low else 0.0
            entries.append((share, low, high - low, row, column))
    entries.sort(key=lambda entry: entry[0])
    size = second_k or k
    new = np.full(table.shape, np.nan)
    for number, start in enumerate(range(0, len(entries), size)):
        own = entries[start : start + size]
        used = own if len(own) == size else entries[-size:]
        shares = np.array([entry[0] for entry in used])
        d = degree if isinstance(degree, int) else degree[number]
        fit = Legendre.fit(np.arange(size), shares, d)(np.arange(size))
        sds = np.full(size, np.sqrt(np.mean((shares - fit) ** 2)))
        if noise == "perturbative":
            sds = np.abs(shares - fit)
        offset = size - len(own)
        for i, (_, low, width, row, column) in enumerate(own, start=offset):
            z = Draws(seed, f"x{column}").normal(np.array([row]))[0] if noise != "none" else 0.0
            least = floor * np.nanstd(table[:, column], ddof=1) if floor else 0.0
            new[row, column] = low + width * fit[i] + z * max(scale * sds[i] * width, least)
    return new


def example(seed=0, shape=(60, 3), nulls=0.1):
    rng = np.random.default_rng(seed)
    table = rng.lognormal(3, 1, shape)
    table[rng.random(shape) < nulls] = np.nan
    return table


@pytest.mark.parametrize("degree", [1, 2, 3, 8, 12])
@pytest.mark.parametrize("noise", ["synthetic", "perturbative", "none"])
def test_it_is_the_papers_procedure(degree, noise):
    table = example()
    new = PoROP(k=50, degree=degree, noise=noise, random_state=0).fit_transform(table)
    np.testing.assert_allclose(new, plain(table, 50, degree, noise), rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    ("parameters", "twin"),
    [
        ({"noise_scale": 8}, {"scale": 8}),
        ({"second_k": 30}, {"second_k": 30}),
        ({"noise_floor": 0.3}, {"floor": 0.3}),
        ({"noise_floor": 0.3, "noise": "perturbative", "noise_scale": 2.0}, {"floor": 0.3, "noise": "perturbative", "scale": 2.0}),
        ({"degree": [5, 2, 1, 3]}, {"degree": [5, 2, 1, 3]}),
        ({"degree": (5, 2, 1, 3)}, {"degree": [5, 2, 1, 3]}),
        ({"normalise": "column"}, {"normalise": "column"}),
        ({"normalise": "column", "noise_floor": 0.3}, {"normalise": "column", "floor": 0.3}),
    ],
)  # fmt: skip
def test_parameters(parameters, twin):
    table = example()
    assert -(-(~np.isnan(table)).sum() // 50) == 4
    new = PoROP(k=50, random_state=0, **{"degree": 2, **parameters}).fit_transform(table)
    twin = {"degree": 2, **twin}
    np.testing.assert_allclose(new, plain(table, 50, **twin), rtol=0, atol=1e-9)


@given(
    arrays(
        np.float64,
        st.tuples(st.integers(1, 12), st.integers(1, 3)),
        elements=st.integers(-3, 3).map(float) | st.floats(-100, 100) | st.just(np.nan),
    ).filter(lambda t: not np.isnan(t).all(axis=0).any() and (~np.isnan(t)).sum() > 1),
    st.data(),
)
def test_any_table(table, data):
    n = int((~np.isnan(table)).sum())
    k = data.draw(st.integers(2, n))
    degree = data.draw(st.integers(1, min(k - 1, 6)))
    new = PoROP(k, degree, random_state=3).fit_transform(table)
    # Shares that differ in their last bit only may be sorted otherwise by another formula, so the
    # twin uses the same one; see `plain`.
    np.testing.assert_allclose(new, plain(table, k, degree, seed=3), rtol=0, atol=1e-9)


@pytest.mark.parametrize("k", [2, 3, 5, 8, 12])
def test_a_curve_through_all_values_gives_them_back(k):
    table = example(k, (4, 6))
    new = PoROP(k, degree=k - 1, noise="none").fit_transform(table)
    np.testing.assert_allclose(new, table, rtol=0, atol=1e-10)


@pytest.mark.parametrize(("k", "degree"), [(60, 35), (60, 59), (100, 46), (100, 80)])
def test_any_degree_below_k(k, degree):
    """The polynomials as eigenvectors of their recurrence: powers are singular at such degrees."""
    table = example(2, (k, 2), nulls=0)
    new = PoROP(k, degree, noise="none").fit_transform(table)
    j = np.arange(1.0, k)
    b = np.sqrt(j**2 * (k**2 - j**2) / (4 * (4 * j**2 - 1)))
    basis = np.linalg.eigh(np.diag(b, 1) + np.diag(b, -1))[1]
    basis = (basis * np.sign(basis[0]))[: degree + 1]
    flat = table.ravel()
    first = np.argsort(flat, kind="stable")
    chunks = flat[first].reshape(-1, k)
    low, width = chunks[:, :1], np.ptp(chunks, axis=1, keepdims=True)
    shares = ((chunks - low) / width).ravel()
    second = np.argsort(shares, kind="stable")
    fit = np.empty(2 * k)
    fit[second] = (shares[second].reshape(-1, k) @ basis.T @ basis).ravel()
    expected = np.empty(2 * k)
    expected[first] = (low + width * fit.reshape(-1, k)).ravel()
    np.testing.assert_allclose(new.ravel(), expected, rtol=0, atol=1e-10 * flat.max())


def test_a_curve_through_all_values_is_told():
    table = example(nulls=0)
    with pytest.warns(UserWarning, match="unchanged") as told:
        PoROP(k=60, degree=59, random_state=0).fit_transform(table)
    assert str(told[0].message) == (
        "100% of the values came out unchanged: a curve of degree 59 follows nearly every value of "
        "a chunk of 60; lower degree, set noise_floor, or take another method"
    )


def test_columns_of_other_units_are_pooled_alike_when_each_is_normalised():
    table = example(nulls=0)
    units = np.array([1.0, 1000.0, 0.001])
    new = PoROP(60, normalise="column", random_state=0).fit_transform(table)
    other = PoROP(60, normalise="column", random_state=0).fit_transform(table * units)
    np.testing.assert_allclose(other / units, new, rtol=1e-9)
    as_they_are = PoROP(60, random_state=0).fit_transform(table * units)
    assert not np.allclose(as_they_are / units, PoROP(60, random_state=0).fit_transform(table))


def test_a_column_of_one_value_stays_it_when_normalised():
    table = example(nulls=0)
    table[:, 1] = 7.0
    new = PoROP(60, normalise="column", random_state=0).fit_transform(table)
    assert (new[:, 1] == 7).all()
    # The least values are pooled with its zeros.
    assert (new[:, [0, 2]] == table[:, [0, 2]]).sum() == 2


def chosen(table, k, noise="synthetic", scale=1.0, normalise="none"):
    """Loss and risk of the degrees 1 to 6, chunk by chunk; the probabilities by counting draws."""
    flat = np.sort(table.ravel(), kind="stable")
    n = len(flat)
    shares = []
    for start in range(0, n, k):
        chunk = flat[start : start + k]
        shares += list((chunk - chunk[0]) / (np.ptp(chunk) or 1.0))
    shares = np.sort(shares)
    normal = ndtri((np.arange(2000) + 0.5) / 2000)
    losses, risks = [], []
    for start in range(0, n, k):
        begin = min(start, n - k)
        own = shares[begin : begin + k]
        for degree in range(1, min(6, k - 1) + 1):
            missed = Legendre.fit(np.arange(k), own, degree)(np.arange(k)) - own
            sd = {"synthetic": missed.std(), "perturbative": np.abs(missed), "none": 0.0}[noise]
            moved = missed[:, np.newaxis] + scale * np.reshape(sd * np.ones(k), (-1, 1)) * normal
            losses.append(np.sqrt(np.mean(moved**2) / 2) / own.std())
            risks.append(np.mean(np.maximum(0, 1 - np.abs(moved) / (0.1 * own.std()))))
    return losses, risks


@pytest.mark.parametrize(
    "options", [{}, {"noise": "none"}, {"noise": "perturbative"}, {"noise_scale": 4.0}], ids=str
)
def test_the_degree_with_the_least_loss_and_risk_is_chosen(options):
    # One value is far off, so that a line is not the best for all chunks.
    table = example(3, (70, 3), nulls=0)
    table[3, 1] = 1e5
    method = PoROP(50, "auto", random_state=0, **options)
    new, plan = method.fit_transform(table), method.plan_
    loss, risk = chosen(table, 50, options.get("noise", "synthetic"), options.get("noise_scale", 1))
    np.testing.assert_allclose(plan["losses"], loss, rtol=1e-2)
    np.testing.assert_allclose(plan["risks"], risk, rtol=0, atol=5e-3)
    figures = (plan["losses"] + plan["risks"]).reshape(5, 6)
    np.testing.assert_array_equal(plan["degrees"], 1 + figures.argmin(axis=1))
    assert len(set(plan["degrees"].tolist())) > 1
    # The same fits as with these degrees given, to the last bit.
    given = PoROP(50, plan["degrees"].tolist(), random_state=0, **options)
    np.testing.assert_array_equal(given.fit_transform(table), new)
    for name in ("coefficients", "deviations"):
        np.testing.assert_array_equal(given.plan_[name], plan[name])


def test_chunks_may_get_different_degrees(census):
    plan = PoROP(7000, "auto", random_state=0).fit(census).plan_
    assert plan["degrees"].tolist() == [1, 2, 2]


@pytest.mark.parametrize(("k", "tried"), [(2, 1), (3, 1), (5, 1), (6, 2), (7, 2), (14, 6)])
def test_no_degree_is_tried_that_nearly_gives_a_chunk_back(k, tried):
    plan = PoROP(k, "auto", random_state=0).fit(np.arange(14.0).reshape(-1, 2) ** 2).plan_
    assert len(plan["losses"]) == len(plan["risks"]) == -(-14 // k) * tried
    assert k < 4 or 2 * (plan["degrees"].max() + 1) <= k


def test_equal_values_get_a_line():
    plan = PoROP(10, "auto", random_state=0).fit(np.ones((15, 2))).plan_
    assert plan["degrees"].tolist() == [1, 1, 1]
    assert (plan["losses"] == 0).all()
    assert (plan["risks"] == 1).all()


def test_a_billion_with_a_spread_of_a_thousandth():
    spread = 1e-3 * np.random.default_rng(1).random((200, 2))
    new = PoROP(k=100, random_state=0).fit_transform(1e9 + spread)
    # A float64 near 1e9 is a multiple of 1.2e-7, so the shares differ by some 1e-4.
    centred = plain((1e9 + spread) - 1e9, 100, 2)
    np.testing.assert_allclose(new - 1e9, centred, rtol=0, atol=4e-7)


def test_k_of_all_values_and_the_short_chunk():
    table = example(nulls=0)
    for k in (180, 179, 91, 90):
        new = PoROP(k, random_state=0).fit_transform(table)
        np.testing.assert_allclose(new, plain(table, k, 2), rtol=0, atol=1e-9)


def test_one_column_and_one_row():
    values = example(nulls=0, shape=(30, 1))
    np.testing.assert_allclose(
        PoROP(10, random_state=0).fit_transform(values), plain(values, 10, 2), atol=1e-9
    )
    np.testing.assert_allclose(
        PoROP(10, random_state=0).fit_transform(values.T), plain(values.T, 10, 2), atol=1e-9
    )


def test_equal_values_come_back_unchanged_and_the_user_is_told():
    table = np.repeat([[7.0], [1.0], [3.0]], 40, axis=0)
    method = PoROP(k=40, random_state=0)
    with pytest.warns(UserWarning, match="^100% of the values came out unchanged: many are equal"):
        new = method.fit_transform(table)
    assert (new == table).all()
    assert method.unchanged_ == 1.0


def test_tied_data():
    """Six distinct values among 800: nine in ten come out unchanged."""
    rng = np.random.default_rng(0)
    table = rng.choice([1.0, 2.0, 3.0, 5.0, 8.0, 13.0], (200, 4))
    with pytest.warns(
        UserWarning, match=r"9[0-9]% of the values.*raise k, set noise_floor, or take"
    ):
        PoROP(k=100, random_state=0).fit_transform(table)
    new = PoROP(k=100, noise_floor=0.2, random_state=0).fit_transform(table)
    moved = new - table
    assert (moved != 0).all()
    # At least the floor, within the error of 800 draws.
    assert moved.std() > 0.2 * table.std() * 0.9


def test_no_warning_where_few_are_unchanged(recwarn):
    method = PoROP(k=90, random_state=0).fit(example(nulls=0))
    assert method.unchanged_ == 0
    assert not recwarn.list


def test_keep_range_brings_values_to_the_ends_of_their_column():
    table = example()
    free = PoROP(k=150, noise_scale=20, random_state=0).fit_transform(table)
    kept = PoROP(k=150, noise_scale=20, keep_range=True, random_state=0).fit_transform(table)
    low, high = np.nanmin(table, axis=0), np.nanmax(table, axis=0)
    assert (np.nanmin(free, axis=0) < low).any()
    np.testing.assert_array_equal(kept, np.clip(free, low, high))


def test_a_draw_belongs_to_its_row_and_column():
    table = pd.DataFrame(example(nulls=0), columns=["a", "b", "c"])
    new = PoROP(k=60, random_state=0).fit_transform(table)
    turned = PoROP(k=60, random_state=0).fit_transform(table[["c", "a", "b"]])
    np.testing.assert_allclose(turned[:, [1, 2, 0]], new, rtol=0, atol=1e-9)
    other = PoROP(k=60, random_state=1).fit_transform(table)
    assert (other != new).all()


def test_threads_do_not_change_a_bit(monkeypatch):
    table = np.random.default_rng(5).normal(size=(300_000, 2))
    threaded = PoROP(k=1000, degree=3, random_state=0).fit_transform(table)
    monkeypatch.setattr("discreet.threads.cores", lambda: 1)
    np.testing.assert_array_equal(PoROP(k=1000, degree=3, random_state=0).fit_transform(table), threaded)  # fmt: skip


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"k": 1}, "k must be a whole number of at least 2, not 1"),
        ({"k": 2.5}, "k must be a whole number of at least 2, not 2.5"),
        ({"k": True}, "k must be a whole number of at least 2, not True"),
        ({"k": 11}, "k = 11 is more than the 10 values there are; lower k"),
        ({"k": 5, "second_k": 1}, "second_k must be a whole number of at least 2, not 1"),
        ({"k": 5, "second_k": 11}, "second_k = 11 is more than the 10 values there are; lower second_k"),
        ({"k": 5, "degree": 0}, 'degree must be a whole number of at least 1, or "auto", not 0'),
        ({"k": 5, "degree": 1.5}, 'degree must be a whole number of at least 1, or "auto", not 1.5'),
        ({"k": 5, "degree": []}, "degree is an empty list; give one degree for each chunk, or a number"),
        ({"k": 5, "degree": 5}, "degree = 5 needs chunks of more than 5 values, but they have 5; lower degree, or raise k"),
        ({"k": 5, "degree": [2, 6]}, "degree = 6 needs chunks of more than 6 values, but they have 5; lower degree, or raise k"),
        ({"k": 5, "degree": "best"}, "degree must be a whole number of at least 1, or \"auto\", not 'best'"),
        ({"k": 5, "degree": [1, "auto"]}, 'degree lists "auto"; give a whole number for each chunk, or "auto" alone'),
        ({"k": 5, "normalise": "row"}, "normalise must be one of 'none', 'column', not 'row'"),
        ({"k": 4, "degree": [1, 2]}, "degree lists 2 numbers, but there are 3 chunks of 4 values (of 10); give one for each chunk"),
        ({"k": 10, "degree": [1, 2]}, "degree lists 2 numbers, but there is 1 chunk of 10 values (of 10); give one for each chunk"),
        ({"k": 5, "noise": "loud"}, "noise must be one of synthetic, perturbative, none, not 'loud'"),
        ({"k": 5, "noise_scale": -1}, "noise_scale must be a number of at least 0, not -1"),
        ({"k": 5, "noise_scale": np.nan}, "noise_scale must be a number of at least 0, not nan"),
        ({"k": 5, "noise_scale": 0}, 'noise_scale = 0 leaves no noise; if that is meant, set noise = "none"'),
        ({"k": 5, "noise_floor": np.inf}, "noise_floor must be a number of at least 0, not inf"),
        ({"k": 5, "noise_floor": 0.1, "noise": "none"}, 'noise_floor = 0.1 has no effect with noise = "none"; leave one of them out'),
        ({"k": 2, "degree": 1, "keep_range": "no"}, "keep_range must be True or False, not 'no'"),
        ({"k": 2, "degree": 1, "keep_range": 1}, "keep_range must be True or False, not 1"),
    ],
)  # fmt: skip
def test_errors(parameters, message):
    table = np.arange(12.0).reshape(6, 2)
    table[1, 0] = table[2, 1] = np.nan
    with pytest.raises(BadInput) as caught:
        PoROP(**parameters).fit_transform(table)
    assert str(caught.value) == message


def test_values_too_far_apart():
    with pytest.raises(
        BadInput, match=r"values from -1e\+308 to 1e\+308 are too far apart for float64"
    ):
        PoROP(k=2, degree=1).fit_transform(np.array([[-1e308], [1e308]]))


def test_a_column_of_nulls():
    with pytest.raises(BadInput, match=r"^column 'x1' holds only nulls$"):
        PoROP(k=2, degree=1).fit_transform(np.array([[1.0, np.nan], [2.0, np.nan]]))


def recipe(**step):
    roles = {"identifiers": ["name"], "confidential": ["income", "assets"], "rest": "drop"}
    return {"roles": roles, "steps": [{"method": "porop", "columns": ["income", "assets"], **step}]}


@pytest.mark.parametrize(
    "step",
    [
        {"k": 150, "degree": 3},
        {"k": 150, "second_k": 400, "degree": [4, 2, 1], "noise": "perturbative", "precision": "full"},
        {"k": 300, "noise_floor": 0.05, "keep_range": True},
        {"k": 300, "noise": "none"},
        {"k": 2, "degree": 1, "precision": "full"},
        {"k": 900, "degree": 40, "noise_scale": 5},
        {"k": 300, "degree": 200, "precision": "full"},
        {"k": 90, "degree": "auto", "precision": "full"},
        {"k": 300, "second_k": 70, "degree": "auto", "noise": "perturbative", "normalise": "column", "precision": "full"},
        {"k": 300, "normalise": "column", "noise_floor": 0.05, "keep_range": True, "precision": "full"},
    ],
)  # fmt: skip
def test_by_recipe(step, households, tmp_path):
    release = discreet.protect(households, recipe(**step))
    assert release.check.ok
    path = release.save(tmp_path / "out")
    report = discreet.check_release(path, release.recipe, tmp_path / "out" / "internal", households)
    assert report.ok
    assert not report.having("not verifiable")
    for name in ("income", "assets"):
        before, after = households[name], release.table[name]
        assert after.type == before.type
        assert after.is_null().to_pylist() == before.is_null().to_pylist()
    again = discreet.protect(households, release.recipe)
    assert again.table.equals(release.table)


def test_a_plan_with_long_arrays_is_read_back(tmp_path):
    rng = np.random.default_rng(0)
    born = pa.array(rng.integers(0, 20_000, 15_000), pa.int32()).cast(pa.date32())
    seen = pa.array(rng.integers(9_000, 20_000, 15_000), pa.int32()).cast(pa.date32())
    table = pa.table({"born": born, "seen": seen})
    step = {"method": "porop", "columns": ["born", "seen"], "k": 4, "noise_floor": 0.1}
    release = discreet.protect(table, {"roles": {"rest": "insensitive"}, "steps": [step]})
    path = release.save(tmp_path / "out")
    assert len(list((tmp_path / "out" / "internal").glob("plan-*.parquet"))) == 1
    report = discreet.check_release(path, release.recipe, tmp_path / "out" / "internal", table)
    assert report.ok
    assert not report.having("not verifiable")
    assert release.table["born"].type == pa.date32()


def test_the_plan_and_the_log(households):
    release = discreet.protect(households, recipe(k=150, degree=3))
    (step,) = release.plan["steps"]
    n = sum(len(households[c]) - households[c].null_count for c in ("income", "assets"))
    chunks = -(-n // 150)
    assert step["joint"]["kind"] == "porop"
    assert len(step["joint"]["coefficients"]) == 4 * chunks
    assert len(step["joint"]["deviations"]) == chunks
    (log,) = release.log["steps"]
    assert log["effect"] == "perturbs"
    assert 0 <= log["unchanged"] <= 1


def test_the_warning_is_in_the_log():
    table = pa.table({"name": ["a"] * 40, "income": [1, 2] * 20, "assets": [5, 7] * 20})
    release = discreet.protect(table, recipe(k=20))
    warning, weak = release.log["warnings"]
    assert weak.startswith("weak: step 1 (porop) changed no cell of 'income', 'assets': take")
    assert warning.startswith("step 1 (porop): ")
    assert "of the values came out unchanged" in warning


@pytest.mark.parametrize("change", ["coefficients", "deviations", "k", "second_k", "noise_scale"])
def test_a_plan_that_was_altered_is_found_out(households, change):
    release = discreet.protect(households, recipe(k=150, degree=3, precision="full"))
    (step,) = release.plan["steps"]
    step["joint"][change] = step["joint"][change] * 2
    evidence = Evidence(release.plan, release.log, release.recipe)
    report = discreet.check_release(release.table, release.recipe, evidence, households)
    assert APPLIED in [f.promise for f in report.having("broken")]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"degrees": 0}, "degree in column 'income' is"),
        ({"risks": 0}, "degree in column 'income' is"),
        ({"losses": None}, "figures of degrees in column 'income' is [0, "),
    ],
    ids=str,
)
def test_another_degree_than_the_best_is_found_out(households, change, said):
    release = discreet.protect(households, recipe(k=150, degree="auto"))
    joint = release.plan["steps"][0]["joint"]
    ((name, by),) = change.items()
    joint[name] = np.array([]) if by is None else joint[name][::-1] + 1
    evidence = Evidence(release.plan, release.log, release.recipe)
    report = discreet.check_release(release.table, release.recipe, evidence)
    assert any(f"the plan's {said}" in finding.detail for finding in report.having("broken"))


@pytest.mark.parametrize(
    ("step", "said"),
    [
        ({"k": 40, "degree": 39}, "gives values back: a curve of degree 39 goes through all 40 values of a chunk; lower degree, or set noise_floor"),
        ({"k": 40, "degree": 39, "noise": "none"}, "gives values back: a curve of degree 39 goes through all 40 values of a chunk; lower degree"),
        ({"k": 90, "second_k": 40, "degree": 20}, "gives values nearly back: a curve of degree 20 has 21 coefficients for the 40 values of a chunk; lower degree, or set noise_floor"),
        ({"k": 40, "degree": 19}, ""),
        ({"k": 40, "degree": 39, "noise_floor": 0.2}, ""),
        ({"k": 4, "degree": "auto"}, ""),
        ({"k": 3, "degree": "auto"}, "gives values nearly back: a curve of degree 1 has 2 coefficients for the 3 values of a chunk; raise k, or set noise_floor"),
        ({"k": 2, "degree": "auto", "noise": "none"}, "gives values back: a curve of degree 1 goes through all 2 values of a chunk; raise k"),
    ],
)  # fmt: skip
def test_curves_that_give_values_back_are_weak(households, step, said):
    weak = [w for w in discreet.protect(households, recipe(**step)).log["warnings"] if "back" in w]
    assert weak == ([f"weak: step 1 (porop) {said}"] if said else [])


def near_1e9(rng):
    return pa.table({name: rng.uniform(1e9 - 1e-3, 1e9 + 1e-3, 200) for name in "ab"}), 200


def heavy_tailed(rng):
    """Like incomes: the largest is 3e10, the median 25,000."""
    values = 25_000 * np.exp(1.2 * rng.standard_normal((400, 2)))
    values[7, 0] = 3e10
    return pa.table({"a": values[:, 0], "b": values[:, 1]}), 50


@pytest.mark.parametrize("data", [near_1e9, heavy_tailed])
@pytest.mark.parametrize("noise", ["synthetic", "perturbative", "none"])
@pytest.mark.parametrize("keep_range", [False, True])
def test_the_check_allows_each_cell_what_another_arithmetic_may_change(data, noise, keep_range):
    """Its own slack for each: not one for the column, which the largest value would set."""
    table, k = data(np.random.default_rng(0))
    given = {name: table[name].to_numpy() for name in table.column_names}
    draws = lambda name: Draws(1, name)  # noqa: E731
    method = PoROP(k, 3, noise=noise, noise_scale=2.0, keep_range=keep_range)
    done = method.run(given, draws)
    found = replay({"joint": done.joint, "columns": done.plans}, Columns(table), draws)
    pooled = np.sort(np.concatenate(list(given.values())))
    lows = pooled[::k]
    widths = np.append(pooled[k - 1 :: k], pooled[-1])[: len(lows)] - lows
    for name, (values, slack) in found.items():
        assert (np.abs(values - done.columns[name]) <= slack).all()
        width = widths[np.searchsorted(lows, given[name], side="right") - 1]
        assert (slack < 1e-3 * width).all()


def test_nulls_have_no_slack_and_equal_values_next_to_none():
    table = pa.table({"a": [5.0, None, 5.0, 5.0]})
    draws = lambda name: Draws(1, name)  # noqa: E731
    done = PoROP(2, 1).run({"a": np.array([5.0, np.nan, 5.0, 5.0])}, draws)
    ((values, slack),) = replay(
        {"joint": done.joint, "columns": done.plans}, Columns(table), draws
    ).values()
    np.testing.assert_array_equal(values, [5.0, np.nan, 5.0, 5.0])
    np.testing.assert_array_equal(slack, 4 * np.spacing(values))


def test_a_small_seed_is_refused_only_where_there_is_noise(households):
    with pytest.raises(
        BadInput, match=r"seed = 7 can be found by trying, which undoes step 1 \(porop\)"
    ):
        discreet.protect(households, recipe(k=150) | {"seed": 7})
    assert discreet.protect(households, recipe(k=150, noise="none") | {"seed": 7}).check.ok


# The score of spec and paper (0.5 IL + 0.5 DR), "ours", by degree, for k = 2000, 3000, ..., 10000.
CENSUS = {
    1: [41.8, 40.7, 40.0, 36.6, 39.3, 37.9, 45.9, 49.1, 58.7],
    2: [42.1, 41.7, 41.9, 40.8, 41.1, 28.1, 28.9, 34.0, 40.7],
    3: [42.1, 41.9, 41.9, 41.5, 41.7, 33.7, 35.8, 40.8, 40.7],
}
BEST = {1: 5000, 2: 7000, 3: 7000}


def mean_score(table, *parameters, seeds=5, **more):
    releases = (
        PoROP(*parameters, random_state=s, **more).fit_transform(table) for s in range(seeds)
    )
    return np.mean([score(table, new, interval="all") for new in releases])


@pytest.mark.slow
@pytest.mark.parametrize("degree", [1, 2, 3])
def test_scores_on_census(census, degree):
    sizes = range(2000, 10001, 1000)
    found = {k: mean_score(census, k, degree) for k in sizes}
    for k, expected in zip(sizes, CENSUS[degree], strict=True):
        within = 5 if (degree, k) == (1, 8000) else 3
        assert found[k] == pytest.approx(expected, abs=within), k
    assert min(found, key=lambda k: found[k]) == BEST[degree]


@pytest.mark.slow
def test_what_lowers_the_score_on_census_further(census):
    assert mean_score(census, 7000, [5, 2, 1]) == pytest.approx(27.4, abs=1)
    assert mean_score(census, 7500, 5, noise_scale=8) == pytest.approx(26.9, abs=1)


@pytest.mark.slow
@pytest.mark.parametrize("k", range(2000, 7001, 1000))
def test_chosen_degrees_score_as_the_best_given_one(census, k):
    best = min(mean_score(census, k, degree, seeds=3) for degree in (1, 2, 3, 4))
    assert mean_score(census, k, "auto", seeds=3) == pytest.approx(best, abs=1)


def test_degree_1_is_lirop(census):
    linear = LiROP(k=5000, random_state=0).fit_transform(census)
    np.testing.assert_array_equal(PoROP(5000, 1, random_state=0).fit_transform(census), linear)
