"""Perturbation.

Peers: numpy, which is always there.
"""

from typing import Any

import numpy as np

from benchmarks.rows import Case, row

MILLION = 1_000_000


def incomes() -> Any:
    """Five skewed columns without ties."""
    return np.random.default_rng(0).lognormal(10, 1, (MILLION, 5))


@row("top-bottom n=1e6", peer="numpy.clip")
def _() -> Case:
    x = np.random.default_rng(0).lognormal(10, 1, (1_000_000, 1))
    lower, upper = np.quantile(x, [0.01, 0.99])

    def ours() -> Any:
        from discreet.perturbation import TopBottom

        return TopBottom(lower=lower, upper=upper).fit_transform(x)

    def check(ours: Any, peer: Any) -> str:
        np.testing.assert_array_equal(ours, peer)
        return "equal"

    return Case(ours=ours, peer=lambda: np.clip(x, lower, upper), check=check)


@row("noise additive n=1e6 x 5", peer="numpy.random", seconds=1)
def _() -> Case:
    x = incomes()

    def ours() -> Any:
        from discreet.perturbation import Noise

        return Noise("additive", 0.1, random_state=0).fit_transform(x)

    def plain() -> Any:
        generator = np.random.default_rng(0)
        return x + 0.1 * x.std(axis=0, ddof=1) * generator.standard_normal(x.shape)

    def check(ours: Any, peer: Any) -> str:
        ratio = (ours - x).std() / (peer - x).std()
        assert abs(ratio - 1) < 0.01
        return f"sd {ratio:.4f} of the peer's"

    return Case(ours=ours, peer=plain, check=check)


for kind in ("correlated", "multiplicative"):

    @row(f"noise {kind} n=1e6 x 5", seconds=1)
    def _(kind: Any = kind) -> Case:
        x = incomes()

        def ours() -> Any:
            from discreet.perturbation import Noise

            return Noise(kind, 0.1, random_state=0).fit_transform(x)

        return Case(ours=ours)


@row("rank-swap p=15 n=1e6 x 5", seconds=1)
def _() -> Case:
    x = incomes()

    def ours() -> Any:
        from discreet.perturbation import RankSwap

        return RankSwap(15, random_state=0).fit_transform(x)

    def check(ours: Any, peer: Any) -> str:
        farthest = 0
        for before, after in zip(x.T, ours.T, strict=True):
            ordered = np.sort(before)
            np.testing.assert_array_equal(np.sort(after), ordered)
            moved = np.searchsorted(ordered, after) - np.searchsorted(ordered, before)
            farthest = max(farthest, int(np.abs(moved).max()))
        assert farthest <= 0.15 * MILLION
        return f"farthest {farthest:,} ranks"

    return Case(ours=ours, check=check)


@row("shuffle n=1e6 x 5")
def _() -> Case:
    x = incomes()

    def ours() -> Any:
        from discreet.perturbation import Shuffle

        return Shuffle(random_state=0).fit_transform(x)

    return Case(ours=ours)


@row("pram n=1e6, 20 categories", peer="numpy.random", seconds=1)
def _() -> Case:
    import pyarrow as pa

    labels = np.array([f"region {i}" for i in range(20)])
    codes = np.random.default_rng(0).integers(0, 20, MILLION)
    table = pa.table({"region": pa.array(labels[codes])})

    def ours() -> Any:
        from discreet.perturbation import PRAM

        return PRAM(0.8, random_state=0).fit_transform(table)

    def plain() -> Any:
        generator = np.random.default_rng(0)
        found = np.array(table["region"].to_pylist())
        new = found.copy()
        for label in labels:
            weights = np.where(labels == label, 0.8, 0.2 / 19)
            rows = found == label
            new[rows] = generator.choice(labels, rows.sum(), p=weights)
        return new

    def check(ours: Any, peer: Any) -> str:
        kept = float((np.array(ours["region"].to_pylist()) == labels[codes]).mean())
        assert abs(kept - 0.8) < 5 * np.sqrt(0.16 / MILLION)
        return f"{kept:.4f} kept"

    return Case(ours=ours, peer=plain, check=check)
