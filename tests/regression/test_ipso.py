import datetime as dt

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from threadpoolctl import threadpool_limits

import discreet
from discreet.check.evidence import Evidence
from discreet.check.original import APPLIED
from discreet.check.replay import Columns
from discreet.check.replay.regression import ipso as replay
from discreet.draws import Draws
from discreet.errors import BadInput
from discreet.regression import IPSO

QUASI, CONFIDENTIAL = ["age", "height"], ["income", "debt", "score"]


def example(n=300, seed=0):
    rng = np.random.default_rng(seed)
    income = rng.lognormal(8, 1, n)
    debt = 0.3 * income + rng.exponential(500, n)
    score = rng.normal(1e9, 1e-3, n)
    age = 30 + income / 500 + rng.normal(0, 5, n)
    height = 170 - age / 5 + 2e3 * (score - 1e9) + rng.gamma(2, 3, n)
    return pd.DataFrame({"age": age, "income": income, "height": height, "debt": debt, "score": score})  # fmt: skip


def near_zero(table):
    """Move the scores, near 1e9, to where the tests' own sums are exact enough; no bit is lost."""
    return table.assign(score=table["score"] - 1e9)


def regression(table):
    """Coefficients and residuals of Y on X and a constant; X centred, which changes no slope."""
    table = near_zero(table)
    x = table[CONFIDENTIAL] - table[CONFIDENTIAL].mean()
    x = np.column_stack([np.ones(len(x)), x / x.std()])
    y = table[QUASI].to_numpy()
    coefficients = np.linalg.solve(x.T @ x, x.T @ y)
    return coefficients, y - x @ coefficients


def synthesise(table, variant, **more):
    method = IPSO(variant, confidential=CONFIDENTIAL, random_state=more.pop("seed", 1), **more)
    return method.set_output(transform="pandas").fit_transform(table)


@pytest.mark.parametrize("variant", ["A", "B", "C"])
def test_confidential_columns_stay_and_quasi_columns_are_new(variant):
    table = example()
    new = synthesise(table, variant)
    assert list(new.columns) == list(table.columns)
    pd.testing.assert_frame_equal(new[CONFIDENTIAL], table[CONFIDENTIAL])
    assert (new[QUASI] != table[QUASI]).all(axis=None)


@pytest.mark.parametrize("variant", ["B", "C"])
def test_coefficients_are_kept(variant):
    table = example()
    before, after = regression(table)[0], regression(synthesise(table, variant))[0]
    np.testing.assert_allclose(after, before, rtol=1e-10)


def test_covariance_is_kept():
    table = example()
    new = synthesise(table, "C")
    (_, before), (_, after) = regression(table), regression(new)
    np.testing.assert_allclose(after.T @ after, before.T @ before, rtol=1e-10)
    np.testing.assert_allclose(new.mean(), table.mean(), rtol=1e-12)
    np.testing.assert_allclose(near_zero(new).cov(), near_zero(table).cov(), rtol=1e-10)


def test_the_weaker_variants_keep_less():
    """The tests above can fail: A keeps no coefficient, B no covariance."""
    table = example()
    assert not np.allclose(regression(synthesise(table, "A"))[0], regression(table)[0], rtol=1e-4)
    (_, before), (_, after) = regression(table), regression(synthesise(table, "B"))
    assert not np.allclose(after.T @ after, before.T @ before, rtol=1e-4)


def test_noise_of_a_is_the_residual_covariance_times_the_draws():
    table = example()
    new = synthesise(table, "A", seed=5)
    _, residuals = regression(table)
    fit = table[QUASI] - residuals
    covariance = residuals.T @ residuals / (len(table) - 4)
    z = np.column_stack([Draws(5, name).normal(np.arange(len(table))) for name in QUASI])
    expected = fit + z @ np.linalg.cholesky(covariance).T
    np.testing.assert_allclose(new[QUASI], expected, rtol=0, atol=1e-8)


def test_noise_of_a_has_the_residual_covariance_on_average():
    table = example(40)
    _, residuals = regression(table)
    expected = residuals.T @ residuals / (len(table) - 4)
    fit = table[QUASI] - residuals
    found = np.mean([np.cov((synthesise(table, "A", seed=s)[QUASI] - fit).T) for s in range(400)], axis=0)  # fmt: skip
    # The mean of 400 covariances of 40 records: about 1 % of standard error.
    np.testing.assert_allclose(np.diag(found), np.diag(expected), rtol=0.06)


@pytest.mark.parametrize("variant", ["A", "B", "C"])
def test_dependent_and_constant_confidential_columns_add_nothing(variant):
    table = example()
    more = table.assign(total=table["income"] + table["debt"], one=3.25)
    both = [
        IPSO(variant, confidential=c, quasi=QUASI, random_state=1).set_output(transform="pandas").fit_transform(more)[QUASI]
        for c in (CONFIDENTIAL, [*CONFIDENTIAL, "total", "one"])
    ]  # fmt: skip
    np.testing.assert_allclose(both[0], both[1], rtol=0, atol=1e-6)


def test_dependent_quasi_columns_stay_dependent():
    table = example().assign(months=lambda t: 12 * t["age"])
    new = IPSO("C", confidential=CONFIDENTIAL, random_state=1).set_output(transform="pandas").fit_transform(table)  # fmt: skip
    np.testing.assert_allclose(new["months"], 12 * new["age"], rtol=1e-9)


def test_columns_that_are_neither_stay():
    table = example()
    new = IPSO("A", confidential=["income"], quasi=["age"], random_state=0).fit_transform(table)
    changed = (new != table.to_numpy()).any(axis=0)
    assert dict(zip(table.columns, changed, strict=True)) == {
        "age": True, "income": False, "height": False, "debt": False, "score": False,
    }  # fmt: skip


def with_nulls():
    table = example()
    table.loc[[3, 7], "age"] = np.nan
    table.loc[[7, 20, 21], "income"] = np.nan
    table.loc[[21, 22], ["debt", "score"]] = np.nan
    table.loc[23, CONFIDENTIAL] = np.nan
    return table


@pytest.mark.parametrize("variant", ["A", "B", "C"])
def test_nulls_stay_and_every_value_is_replaced(variant):
    table = with_nulls()
    new = synthesise(table, variant)
    pd.testing.assert_frame_equal(new.isna(), table.isna())
    pd.testing.assert_frame_equal(new[CONFIDENTIAL], table[CONFIDENTIAL])
    there = table[QUASI].notna().to_numpy()
    assert (new[QUASI].to_numpy() != table[QUASI].to_numpy())[there].all()


def test_with_nulls_the_complete_records_are_kept_exactly():
    table = with_nulls()
    complete = table.notna().all(axis=1)
    new = synthesise(table, "C")[complete]
    np.testing.assert_allclose(near_zero(new).cov(), near_zero(table[complete]).cov(), rtol=1e-10)
    np.testing.assert_allclose(regression(new)[0], regression(table[complete])[0], rtol=1e-10)


def test_a_record_without_some_x_is_drawn_from_the_regression_on_the_others():
    table = with_nulls()
    new = synthesise(table, "C")
    complete = table[table.notna().all(axis=1)]
    # Row 22 has only the income, row 23 nothing: the other variants' noise does not reach them.
    for row, used in ((22, ["income"]), (23, [])):
        x, centre = complete[used], complete[used].mean()
        design = np.column_stack([np.ones(len(x)), x - centre])
        coefficients, *_ = np.linalg.lstsq(design, complete[QUASI].to_numpy(), rcond=None)
        residuals = complete[QUASI].to_numpy() - design @ coefficients
        covariance = residuals.T @ residuals / (len(x) - 1 - len(used))
        z = np.array([Draws(1, name).normal(np.array([row]))[0] for name in QUASI])
        at = np.array([1.0, *(table.loc[row, used] - centre)])
        expected = at @ coefficients + np.linalg.cholesky(covariance) @ z
        np.testing.assert_allclose(new.loc[row, QUASI].to_numpy(float), expected, rtol=1e-9)


def test_a_column_that_x_determines_is_told():
    table = pd.DataFrame({"a": np.arange(50.0), "b": 2 * np.arange(50.0) + 1})
    method = IPSO("C", confidential=["b"], random_state=0)
    with pytest.warns(
        UserWarning, match="^100% of the values came out unchanged: the confidential"
    ):
        method.fit(table)
    assert method.unchanged_ == 1.0


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"variant": "D", "confidential": ["b"]}, "variant must be one of A, B, C, not 'D'"),
        ({"confidential": []}, "confidential must be a list of column names, not []"),
        ({"confidential": "b"}, "confidential must be a list of column names, not 'b'"),
        ({"confidential": ["b"], "quasi": []}, "quasi must be a list of column names, not []"),
        ({"confidential": ["b", "b"]}, "confidential lists 'b' twice"),
        ({"confidential": ["b"], "quasi": ["a", "b"]}, "column 'b' cannot be both synthesised and confidential"),
        ({"confidential": ["bb"]}, "the table has no column 'bb'; did you mean 'b'?"),
        ({"confidential": ["b"], "quasi": ["aa"]}, "the table has no column 'aa'; did you mean 'a'?"),
        ({"confidential": ["a", "b"]}, "every column is confidential, so there is none to synthesise"),
        ({"confidential": ["b"]}, "IPSO needs at least 4 rows without nulls in a and b, but there are 3"),
    ],
)  # fmt: skip
def test_errors(parameters, message):
    table = pd.DataFrame({"a": [1.0, 2.0, 4.0, np.nan], "b": [1.0, 2.0, 3.0, 4.0]})
    with pytest.raises(BadInput) as caught:
        IPSO(**parameters).fit(table)
    assert str(caught.value) == message


def recipe(*steps, quasi=("age",)):
    return {
        "roles": {"quasi": list(quasi), "confidential": ["income", "assets"], "rest": "drop"},
        "steps": list(steps),
    }


def ipso(**more):
    return {"method": "ipso", "columns": ["age"], "confidential": ["income", "assets"], **more}


@pytest.mark.parametrize("variant", ["A", "B", "C"])
@pytest.mark.parametrize("precision", ["input", "full"])
def test_by_recipe(variant, precision, households, tmp_path):
    release = discreet.protect(households, recipe(ipso(variant=variant, precision=precision)))
    path = release.save(tmp_path / "out")
    report = discreet.check_release(path, release.recipe, tmp_path / "out" / "internal", households)
    assert report.ok
    assert not report.having("not verifiable")
    for name in ("income", "assets"):
        assert release.table[name].equals(households[name])
    assert release.table["age"].is_null().equals(households["age"].is_null())
    assert release.log["steps"][0]["changed_cells"]["age"] > 400
    assert discreet.protect(households, release.recipe).table.equals(release.table)


def test_by_recipe_dates_and_columns_that_an_earlier_step_treated(households):
    steps = [
        {"method": "oma", "columns": ["income"], "k": 5, "promise": False},
        {"method": "ipso", "columns": ["age", "income"], "confidential": ["birth_date"], "variant": "B"},
    ]  # fmt: skip
    plan = recipe(*steps)
    plan["roles"] |= {"confidential": ["income", "birth_date"]}
    plan["allow_leaks"] = ["age"]  # the date of birth stays as it is
    release = discreet.protect(households, plan)
    assert release.check.ok
    assert not release.check.having("not verifiable")
    swapped = {"method": "ipso", "columns": ["birth_date"], "confidential": ["income"]}
    plan["steps"] = [swapped | {"columns": ["birth_date", "age"]}]
    born = discreet.protect(households, plan).table["birth_date"]
    assert born.type == pa.date32()
    assert isinstance(born[0].as_py() or dt.date.min, dt.date)


@pytest.mark.parametrize("variant", ["A", "C"])
def test_the_number_of_threads_changes_no_byte(variant):
    rng = np.random.default_rng(0)
    table = rng.normal(size=(200_000, 8)) @ rng.normal(size=(8, 8))
    method = IPSO(variant, confidential=["x0", "x1", "x2"], random_state=0)
    made = set()
    for threads in (1, 2, 4):
        with threadpool_limits(threads, user_api="blas"):
            made.add(method.fit_transform(table).tobytes())
    assert len(made) == 1


@pytest.mark.parametrize("variant", ["A", "B", "C"])
@pytest.mark.parametrize(("centre", "spread"), [(1e9, 1e-3), (0.0, 1.0)])
def test_the_check_allows_each_cell_what_another_arithmetic_may_change(variant, centre, spread):
    """Its own slack for each: not one for the column, which the largest value would set."""
    table = example()
    table["income"] *= np.where(table["income"] == table["income"].max(), 1e6, 1)
    table["age"] = centre + spread * (table["age"] - table["age"].mean()) / table["age"].std()
    table.loc[::7, "debt"] = table.loc[::9, "height"] = np.nan
    given = {name: table[name].to_numpy() for name in QUASI}
    arrow = pa.Table.from_pandas(table)
    others = {name: arrow[name] for name in CONFIDENTIAL}
    draws = lambda name: Draws(1, name)  # noqa: E731
    done = IPSO(variant, confidential=CONFIDENTIAL).run(given, draws, others=others)
    found = replay({"joint": done.joint, "columns": done.plans}, Columns(arrow), draws)
    for name, (values, slack) in found.items():
        off = np.abs(values - done.columns[name])
        assert ((off <= slack) | np.isnan(given[name])).all()
        assert np.isnan(values).tolist() == np.isnan(given[name]).tolist()
        assert np.nanmedian(slack) < 1e-3 * np.nanstd(given[name])
        # The record that is a million times the others has fits, and a slack, of its own.
        assert np.nanmax(slack) < 1e-2 * np.nanstd(done.columns[name])


def test_an_altered_plan_is_found_out(households):
    release = discreet.protect(households, recipe(ipso(variant="C", precision="full")))
    release.plan["steps"][0]["joint"]["parts"][-1]["noise"] *= 1.001
    evidence = Evidence(release.plan, release.log, release.recipe)
    report = discreet.check_release(release.table, release.recipe, evidence, households)
    assert [f.promise for f in report.having("broken")] == [APPLIED]


def test_recipe_errors(households):
    for step, message in [
        (ipso(confidential=["incom"]), "step 1 (ipso): the table has no column 'incom'; did you mean 'income'?"),
        (ipso(confidential=["disease"]), 'step 1 (ipso) reads \'disease\', which has no role and is dropped (rest = "drop"); give it one'),
        (ipso(quasi=["age"]), "the recipe: step 1 (ipso): unknown key 'quasi'"),
        (ipso(columns=["age", "income"]), "column 'income' cannot be both synthesised and confidential"),
        (ipso(variant="D"), "the recipe: step 1 (ipso): 'variant' should be 'A', 'B' or 'C', not 'D'"),
    ]:  # fmt: skip
        with pytest.raises(BadInput) as caught:
            discreet.protect(households, recipe(step))
        assert message in str(caught.value)
