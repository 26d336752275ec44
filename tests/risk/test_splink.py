"""Probabilistic linkage against splink, which fits the same model in SQL."""

import numpy as np
import pyarrow as pa
import pytest

from discreet.risk import probabilistic_linkage
from discreet.risk.probabilistic import fit_agreement
from tests.risk.test_distance import z_scores
from tests.risk.test_probabilistic import agreement, pattern_counts

TOLERANCE = 0.25


def fit_by_splink(x, y, u0):
    """Give m, u and the matrix of weights, protected by original."""
    splink = pytest.importorskip("splink")
    levels = pytest.importorskip("splink.comparison_level_library")
    library = pytest.importorskip("splink.comparison_library")
    n, names = len(x), [f"x{c}" for c in range(x.shape[1])]
    comparisons = [
        library.CustomComparison(
            [
                levels.CustomLevel(f"abs({name}_l - {name}_r) <= {TOLERANCE}").configure(
                    m_probability=0.9, u_probability=u
                ),
                levels.ElseLevel().configure(m_probability=0.1, u_probability=1 - u),
            ],
            output_column_name=name,
        )
        for name, u in zip(names, u0, strict=True)
    ]
    settings = splink.SettingsCreator(
        link_type="link_only",
        comparisons=comparisons,
        blocking_rules_to_generate_predictions=["1=1"],
        probability_two_random_records_match=1 / n,
        em_convergence=1e-5,
        max_iterations=400,
    )
    api = splink.DuckDBAPI()
    files = [
        api.register(
            pa.table({"unique_id": np.arange(n), **dict(zip(names, z.T, strict=True))}),
            dataset_display_name=name,
        )
        for name, z in (("a_protected", z_scores(y)), ("b_original", z_scores(x)))
    ]
    linker = splink.Linker(files, settings, log_level="ERROR")
    linker.training.estimate_parameters_using_expectation_maximisation(
        "1=1",
        fix_u_probabilities=False,
        fix_probability_two_random_records_match=True,
        record_sample_proportion=1.0,
    )
    fitted = [c["comparison_levels"][0] for c in linker.misc.save_model_to_json()["comparisons"]]
    found = linker.inference.predict().as_pyarrow_table()
    assert set(found["source_dataset_l"].to_pylist()) == {"a_protected"}
    weights = np.full((n, n), np.nan)
    weights[found["unique_id_l"].to_numpy(), found["unique_id_r"].to_numpy()] = found[
        "match_weight"
    ].to_numpy()
    return [np.array([c[key] for c in fitted]) for key in ("m_probability", "u_probability")], (
        weights
    )


def test_parameters_and_links():
    pytest.importorskip("splink", reason="splink is a development dependency (extra 'bench')")
    rng = np.random.default_rng(1)
    x = rng.normal(size=(150, 6))
    y = x + 0.2 * rng.normal(size=x.shape)
    agrees = agreement(x, y, [TOLERANCE])
    (m, u), weights = fit_by_splink(x, y, agrees.mean(axis=(1, 2)))
    ours_m, ours_u = fit_agreement(pattern_counts(agrees), len(x))
    np.testing.assert_allclose(ours_m[:, 1], m, atol=1e-3)
    np.testing.assert_allclose(ours_u[:, 1], u, atol=1e-4)
    best = weights >= weights.max(axis=1, keepdims=True) - 1e-6
    expected = np.mean(np.diag(best) / best.sum(axis=1))
    assert probabilistic_linkage(x, y, agreement="sd", known="all") == pytest.approx(expected)
