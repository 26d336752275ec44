"""Perturbation.

Peers: numpy, which is always there.
"""

from typing import Any

import numpy as np

from benchmarks.rows import Case, row


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
