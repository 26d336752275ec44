"""Disclosure risk.

Peers, for development only: scipy's k-d tree, splink (5.0.0) and recordlinkage (0.16; it wants
pandas below 3, so it is not in the extra `bench`: install it in an environment of its own).
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.rows import Case, row

Table = NDArray[np.float64]


def masked(n: int, p: int, noise: float, factors: int = 0) -> tuple[Table, Table]:
    """Normal columns, driven by a few common factors if asked, and the same with noise."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, p))
    if factors:
        x = 0.5 * x + rng.normal(size=(n, factors)) @ rng.normal(size=(factors, p))
        x /= x.std(axis=0)
    return x, x + noise * rng.normal(size=x.shape)


def z_scores(x: Table) -> Table:
    return (x - x.mean(axis=0)) / x.std(axis=0, ddof=1)


def distance(x: Table, y: Table) -> Any:
    from discreet.risk import distance_linkage

    return distance_linkage(x, y, known="all")


# The peer gets standardised columns and both cores, and breaks ties as it likes.
for noise in (0.05, 0.2, 0.5):

    @row(f"distance linkage 1e5 x 1e5 x 5, noise {noise}", peer="scipy.spatial.cKDTree", goal=1.5)
    def _(noise: float = noise) -> Case:
        x, y = masked(100_000, 5, noise)
        zx, zy = z_scores(x), z_scores(y)

        def peer() -> Any:
            from scipy.spatial import cKDTree

            return cKDTree(zx).query(zy, workers=-1)[1]

        def check(ours: Any, nearest: Any) -> float:
            theirs = float((nearest == np.arange(len(x))).mean())
            assert abs(ours - theirs) < 1e-4, f"{ours} against {theirs}"
            return float(ours)

        return Case(ours=lambda: distance(x, y), peer=peer, check=check)

    @row(f"distance linkage 1e6 x 1e6 x 5, noise {noise}", seconds=4.0, memory=True)
    def _(noise: float = noise) -> Case:
        x, y = masked(1_000_000, 5, noise)
        return Case(ours=lambda: distance(x, y), check=lambda ours, _: float(ours))

    @row(f"distance linkage 1e5 x 1e5 x 13, correlated, noise {noise}", seconds=8.0)
    def _(noise: float = noise) -> Case:
        x, y = masked(100_000, 13, noise, factors=3)
        return Case(ours=lambda: distance(x, y), check=lambda ours, _: float(ours))


def probabilistic(x: Table, y: Table, agreement: Any = "sd") -> Any:
    from discreet.risk import probabilistic_linkage

    return probabilistic_linkage(x, y, agreement=agreement, known="all")


def share_of_best(weights: Table) -> float:
    """Linkage of a matrix of weights, protected by original; ties share."""
    best = weights >= weights.max(axis=1, keepdims=True) - 1e-6
    return float(np.mean(np.diag(best) / best.sum(axis=1)))


def by_splink(zx: Table, zy: Table, u: list[float]) -> float:
    import pyarrow as pa
    import splink
    import splink.comparison_level_library as levels
    import splink.comparison_library as library

    n, names = len(zx), [f"x{c}" for c in range(zx.shape[1])]
    settings = splink.SettingsCreator(
        link_type="link_only",
        comparisons=[
            library.CustomComparison(
                [
                    levels.CustomLevel(f"abs({name}_l - {name}_r) <= 0.25").configure(
                        m_probability=0.9, u_probability=share
                    ),
                    levels.ElseLevel().configure(m_probability=0.1, u_probability=1 - share),
                ],
                output_column_name=name,
            )
            for name, share in zip(names, u, strict=True)
        ],
        blocking_rules_to_generate_predictions=["1=1"],
        probability_two_random_records_match=1 / n,
    )
    api = splink.DuckDBAPI()
    files = [
        api.register(
            pa.table({"unique_id": np.arange(n), **dict(zip(names, z.T, strict=True))}),
            dataset_display_name=name,
        )
        for name, z in (("a", zy), ("b", zx))
    ]
    linker = splink.Linker(files, settings, log_level="ERROR")
    linker.training.estimate_parameters_using_expectation_maximisation(
        "1=1",
        fix_u_probabilities=False,
        fix_probability_two_random_records_match=True,
        record_sample_proportion=1.0,
    )
    found = linker.inference.predict().as_pyarrow_table()
    weights = np.empty((n, n))
    at = (found["unique_id_l"].to_numpy(), found["unique_id_r"].to_numpy())
    weights[at] = found["match_weight"].to_numpy()
    return share_of_best(weights)


def by_recordlinkage(zx: Table, zy: Table, u: list[float]) -> float:
    import pandas as pd
    import recordlinkage

    names = [f"x{c}" for c in range(zx.shape[1])]
    x, y = pd.DataFrame(zx, columns=names), pd.DataFrame(zy, columns=names)
    indexer = recordlinkage.Index()
    indexer.full()
    compare = recordlinkage.Compare()
    for name in names:
        compare.numeric(name, name, method="step", offset=0.25, label=name)
    agrees = compare.compute(indexer.index(y, x), y, x)
    model = recordlinkage.ECMClassifier(binarize=0.5)
    model.fit(agrees)
    return share_of_best(model.prob(agrees).to_numpy().reshape(len(y), len(x)))


for package, peer_links in (("splink", by_splink), ("recordlinkage", by_recordlinkage)):

    @row(f"probabilistic linkage 1e3 x 1e3 x 5, peer {package}", peer=package, goal=100.0)
    def _(peer_links: Any = peer_links) -> Case:
        x, y = masked(1000, 5, 0.1)
        zx, zy = z_scores(x), z_scores(y)
        u = [float((abs(zy[:, [c]] - zx[:, c]) <= 0.25).mean()) for c in range(5)]

        def check(ours: Any, theirs: Any) -> str:
            # They stop the EM earlier, and recordlinkage estimates the share of matches.
            assert abs(ours - theirs) < 0.05, f"{ours} against {theirs}"
            return f"{ours:.3f} / {theirs:.3f}"

        return Case(
            ours=lambda: probabilistic(x, y), peer=lambda: peer_links(zx, zy, u), check=check
        )


@row("probabilistic linkage 2e4 x 2e4 x 5", seconds=1.0, memory=True)
def _() -> Case:
    x, y = masked(20_000, 5, 0.1)
    return Case(ours=lambda: probabilistic(x, y), check=lambda ours, _: float(ours))


@row("probabilistic linkage 2e4 x 2e4 x 5, graded", seconds=1.0, memory=True)
def _() -> Case:
    x, y = masked(20_000, 5, 0.1)
    return Case(ours=lambda: probabilistic(x, y, "graded"), check=lambda ours, _: float(ours))


@row("probabilistic linkage 2e4 x 2e4 x 13, correlated", memory=True)
def _() -> Case:
    x, y = masked(20_000, 13, 0.1, factors=3)
    return Case(ours=lambda: probabilistic(x, y), check=lambda ours, _: float(ours))
