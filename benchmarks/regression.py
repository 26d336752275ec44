"""Regression methods: PoROP against the same steps in numpy, and their scores on Census.

The peer of PoROP is numpy.polyfit, chunk by chunk, with numpy's stable sorts: what one would write
first. The rows on Census print as their quality the score 0.5 IL + 0.5 DR (lower is better) and the
percentage of records linked by distance, means of 5 seeds.
"""

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.rows import Case, growth, row

Table = NDArray[np.float64]


def run(name: str, table: Any, *arguments: Any, **parameters: Any) -> Table:
    import discreet.regression

    method = getattr(discreet.regression, name)(*arguments, **parameters)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # k is small for so many values
        return method.fit_transform(table)


def in_numpy(x: Table, k: int, degree: int) -> Table:
    """PoROP by argsort and polyfit; k divides the number of values."""
    first = np.argsort(x.ravel(), kind="stable")
    chunks = x.ravel()[first].reshape(-1, k)
    low, width = chunks[:, :1], np.ptp(chunks, axis=1, keepdims=True)
    share = ((chunks - low) / width).ravel()
    second = np.argsort(share, kind="stable")
    positions, rng = np.linspace(-1, 1, k), np.random.default_rng(0)
    made = np.empty_like(share)
    for start in range(0, len(share), k):
        y = share[second[start : start + k]]
        fit = np.polyval(np.polyfit(positions, y, degree), positions)
        sd = np.sqrt(np.mean((y - fit) ** 2))
        made[second[start : start + k]] = fit + rng.normal(0, sd, k)
    new = np.empty_like(share)
    new[first] = (low + width * made.reshape(-1, k)).ravel()
    return new.reshape(x.shape)


def alike(x: Table, ours: Table, theirs: Table) -> float:
    """How far ours moves the middle value over how far the peer does: only the draws differ."""
    ratio = float(np.median(np.abs(ours - x)) / np.median(np.abs(theirs - x)))
    assert abs(ratio - 1) < 0.01, f"moved {ratio:.4f} times as far as the peer"
    return ratio


# Ten columns of a million rows are as many values as one column of ten million.
for shape in ((10_000_000, 1), (1_000_000, 10)):
    for k, seconds in ((100_000, 4.0), (1_000, 5.0)):

        @row(
            f"porop {shape[0]:.0e} x {shape[1]} degree=3 k={k:.0e}",
            peer="numpy.polyfit",
            seconds=seconds,
            memory=True,
        )
        def _(k: int = k, shape: tuple[int, int] = shape) -> Case:
            x = np.random.default_rng(0).lognormal(10, 1, shape)
            return Case(
                ours=lambda: run("PoROP", x, k, 3, random_state=0),
                peer=lambda: in_numpy(x, k, 3),
                check=lambda ours, theirs: alike(x, ours, theirs),
            )


# A chosen degree costs a pass more, over all degrees; a steep one k numbers for each degree.
for k, degree in ((1_000, "auto"), (200, 199)):

    @row(f"porop 1e6 x 1 degree={degree} k={k:.0e}", memory=True)
    def _(k: int = k, degree: Any = degree) -> Case:
        x = np.random.default_rng(0).lognormal(10, 1, (1_000_000, 1))
        return Case(ours=lambda: run("PoROP", x, k, degree, random_state=0))


@growth("porop k=1000 degree=3, cost against n", sizes=(10_000, 100_000, 1_000_000, 10_000_000))
def _(n: int) -> Case:
    x = np.random.default_rng(0).lognormal(10, 1, (n, 1))
    return Case(ours=lambda: run("PoROP", x, 1000, 3, random_state=0))


for variant in "ABC":

    @row(f"ipso {variant} 1e6 x (3 + 3)")
    def _(variant: str = variant) -> Case:
        x = np.random.default_rng(0).normal(size=(1_000_000, 6))
        x[:, 3:] += x[:, :3]
        names = ["x0", "x1", "x2"]
        return Case(ours=lambda: run("IPSO", x, variant, confidential=names, random_state=0))


CONFIDENTIAL = [f"x{i}" for i in range(7, 13)]  # the intruder knows the first 7 columns
ON_CENSUS: dict[str, tuple[str, tuple[Any, ...], dict[str, Any]]] = {
    "lirop k=5000": ("LiROP", (5000,), {}),
    "porop k=2000": ("PoROP", (2000,), {}),
    "porop k=7000": ("PoROP", (7000,), {}),
    "porop k=7000, perturbative": ("PoROP", (7000,), {"noise": "perturbative"}),
    "porop k=7000 degree=3": ("PoROP", (7000, 3), {}),
    "porop k=7000 degrees 5, 2, 1": ("PoROP", (7000, [5, 2, 1]), {}),
    "porop k=7500 degree=5 noise x 8": ("PoROP", (7500, 5), {"noise_scale": 8}),
    "ipso A": ("IPSO", ("A",), {"confidential": CONFIDENTIAL}),
    "ipso B": ("IPSO", ("B",), {"confidential": CONFIDENTIAL}),
    "ipso C": ("IPSO", ("C",), {"confidential": CONFIDENTIAL}),
}
for name, (method, arguments, more) in ON_CENSUS.items():

    @row(f"score on Census, {name}")
    def _(method: str = method, arguments: Any = arguments, more: Any = more) -> Case:
        from discreet.datasets import load_census

        table = load_census().to_pandas().to_numpy(float)

        def release(seed: int) -> Table:
            return run(method, table, *arguments, random_state=seed, **more)

        def check(ours: Any, theirs: Any) -> str:
            from discreet.utility import score

            runs = (release(seed) for seed in range(5))
            found = [score(table, one, interval="all", detail=True) for one in runs]
            linked = np.mean([one.parts["dld"] for one in found])
            return f"{np.mean([one.value for one in found]):.1f} ({linked:.1f} % linked)"

        return Case(ours=lambda: release(0), check=check)


# Degrees chosen for each chunk, beside the same degree for all: score, and those of degrees 1 to 4.
SIZES = {"Census": range(2000, 7001, 1000), "EIA": range(4000, 18_001, 2000)}
for data, normalise, k in [
    (data, normalise, k)
    for data, sizes in SIZES.items()
    for normalise in ("none", "column")
    for k in sizes
]:
    called = "" if normalise == "none" else " normalise=column"

    @row(f"score on {data}, porop k={k} degree=auto{called}")
    def _(data: str = data, k: int = k, normalise: str = normalise) -> Case:
        from discreet.reproduce.porop import load

        table = load("I" if data == "Census" else "II")

        def release(degree: Any, seed: int) -> Table:
            return run("PoROP", table, k, degree, normalise=normalise, random_state=seed)

        def check(ours: Any, theirs: Any) -> str:
            from discreet.utility import score

            found = {
                degree: np.mean([score(table, release(degree, seed)) for seed in range(5)])
                for degree in ("auto", 1, 2, 3, 4)
            }
            given = ", ".join(f"{found[degree]:.1f}" for degree in (1, 2, 3, 4))
            return f"{found['auto']:.1f} ({given})"

        return Case(ours=lambda: release("auto", 0), check=check)
