"""Full-domain generalization with a proven optimum, on Adult and on larger tables.

The Java tool ARX, measured on a machine like the one that the goals were set on (warm, k = 5,
limits 0 / 5 / 100 %): loss 31 / 541 / 1895 ms, discernibility 36 / 755 / 2397 ms of CPU; 2.3 s for
a million records and 13.1 s for ten.
"""

from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.rows import Case, row

COLUMNS = (
    "sex", "age", "race", "marital-status", "education", "native-country", "workclass",
    "occupation",
)  # fmt: skip
# Levels, quality, suppressed: known answers, where there are some.
ANSWERS = {
    ("loss", 0.0): ("04023221", 0.591585, 0),
    ("loss", 0.05): ("03001112", 0.251852, 1458),
    ("loss", 1.0): ("03002101", 0.220050, 3049),
    ("discernibility", 0.05): ("00123221", 7220555, 105),
    ("precision", 1.0): ("04001000", 0.310225, 5196),
    ("average-class", 1.0): ("00111220", 16.3214, 7185),
    ("entropy-based", 0.05): ("13003002", 14458.70, 1417),
}
GOALS = {0.0: 0.02, 0.05: 0.05, 1.0: 0.06}
OTHERS = ("precision", "nue", "nnue", "ambiguity", "average-class", "entropy-based")


def hierarchies() -> dict[str, Any]:
    from discreet.datasets import adult_hierarchy_paths
    from discreet.generalization import Hierarchy

    paths = adult_hierarchy_paths()
    return {name: Hierarchy.from_csv(paths[name]) for name in COLUMNS}


@cache
def adult() -> tuple[list[Any], list[np.ndarray]]:
    """Ladders and codes of Adult's columns."""
    from discreet.datasets import load_adult

    table, trees = load_adult(), hierarchies()
    bound = [trees[name].bind_and_encode(table[name], name) for name in COLUMNS]
    return [ladder for ladder, _ in bound], [codes for _, codes in bound]


def larger(n: int, columns: int = 8) -> tuple[list[Any], list[np.ndarray]]:
    """Adult drawn n times, one cell in eight drawn anew; more columns than Adult's are mixed."""
    ladders, codes = adult()
    rng = np.random.default_rng(0)
    chosen = rng.integers(0, len(codes[0]), n)
    drawn, trees = [], []
    for a in range(columns):
        ladder, column = ladders[a % 8], codes[a % 8][chosen]
        if a >= 8:
            column = (column + rng.integers(0, 3, n)) % len(ladder.leaves)
        anew = rng.random(n) < 1 / 64
        column = np.where(anew, rng.integers(0, len(ladder.leaves), n), column)
        drawn.append(column.astype(np.int32))
        trees.append(ladder)
    return trees, drawn


def search(
    ladders: list[Any],
    codes: list[np.ndarray],
    quality: str,
    limit: float,
    time_limit: float | None = None,
) -> Any:
    """From integer codes to the best node: tuples are counted, levels laid out, nodes searched."""
    from discreet.generalization._tuples import collapse, lay_out
    from discreet.generalization.models import KAnonymity
    from discreet.generalization.privacy import bind
    from discreet.generalization.quality import Quality
    from discreet.generalization.search import Search

    bound = bind([KAnonymity(5)], {}, len(codes[0]))
    tuples, _ = collapse(lay_out(ladders), codes, bound)
    lo, hi = [0] * len(ladders), [ladder.height for ladder in ladders]
    allowed = int(limit * tuples.n + 1e-9)
    model = Quality(quality, tuples)
    return Search(tuples, bound.rules, model, allowed, lo, hi).run(time_limit)


def said(found: Any, known: tuple[str, float, int] | None = None) -> str:
    proof = found.certificate
    if known is not None:
        levels, value, suppressed = known
        assert "".join(map(str, found.levels)) == levels, found.levels
        assert abs(proof.optimum - value) <= 1e-5 * value, proof.optimum
        assert found.suppressed == suppressed, found.suppressed
    return f"{proof.evaluations:,} of {proof.nodes:,} nodes, gap {proof.gap:.1%}"


for limit in GOALS:
    for quality in ("loss", "discernibility", *OTHERS):

        @row(
            f"Adult from codes, k=5, {quality}, limit {limit:.0%}",
            seconds=0.5 if quality in OTHERS else GOALS[limit],
        )
        def _(quality: str = quality, limit: float = limit) -> Case:
            ladders, codes = adult()
            return Case(
                ours=lambda: search(ladders, codes, quality, limit),
                check=lambda found, _: said(found, ANSWERS.get((quality, limit))),
            )


def from_frame(table: pa.Table) -> Case:
    from discreet.generalization import Generalize, KAnonymity

    frame, trees = table.to_pandas(), hierarchies()

    def ours() -> Any:
        method = Generalize(trees, [KAnonymity(5)])
        method.fit_transform(frame)
        return method

    return Case(ours=ours, check=lambda method, _: f"{method.suppressed_:,} suppressed")


@row("Adult, a pandas frame of strings, k=5, loss, limit 5%", seconds=0.15)
def _() -> Case:
    from discreet.datasets import load_adult

    table = load_adult().select(COLUMNS)
    return from_frame(pa.table({name: table[name].cast(pa.string()) for name in COLUMNS}))


for n, seconds in ((1_000_000, 0.6), (10_000_000, 4.0)):

    @row(f"n={n:.0e} from codes, k=5, loss, limit 5%", seconds=seconds, memory=True, large=n > 1e6)
    def _(n: int = n) -> Case:
        ladders, codes = larger(n)
        return Case(
            ours=lambda: search(ladders, codes, "loss", 0.05), check=lambda found, _: said(found)
        )


@row("n=1e6, a pandas frame of strings, k=5, loss, limit 5%", seconds=3.0)
def _() -> Case:
    ladders, codes = larger(1_000_000)
    texts = [pa.array(ladder.labels[0], pa.string()) for ladder in ladders]
    taken = [text.take(pa.array(column)) for text, column in zip(texts, codes, strict=True)]
    return from_frame(pa.table(dict(zip(COLUMNS, taken, strict=True))))


def permuted(columns: int) -> tuple[list[Any], list[np.ndarray]]:
    """Adult's columns, and then the same again with their cells in another order."""
    ladders, codes = adult()
    rng = np.random.default_rng(0)
    more = [rng.permutation(codes[a % 8]) for a in range(8, columns)]
    return [ladders[a % 8] for a in range(columns)], [*codes, *more]


def census() -> tuple[list[Any], list[np.ndarray]]:
    """The 13 numbers of Census, in intervals that are found."""
    from discreet.datasets import load_census
    from discreet.generalization import Hierarchy

    table, automatic = load_census(), Hierarchy.from_spec({"kind": "auto"})
    trees = {name: automatic.settle(table[name], name, None) for name in table.column_names}
    bound = [tree.bind_and_encode(table[name], name) for name, tree in trees.items()]
    return [ladder for ladder, _ in bound], [codes for _, codes in bound]


MANY = {
    "t15": lambda: permuted(15),
    "bench15": lambda: larger(100_000, 15),
    "t20": lambda: permuted(20),
    "census13": census,
}
# The loss that ARX had after 30 s of processor time (bottom-up, top-down, genetic), measured where
# the goals were set. Only bench15 was the same table there: the others' cells were permuted in
# another way, or had other hierarchies, so that these figures are shown and not compared.
ARX = {
    ("t15", 0.05): (0.4961, 0.4460, 0.4460),
    ("t15", 1.0): (0.4495, 0.4157, 0.4157),
    ("bench15", 0.05): (0.4445, 0.4444, 0.4302),
    ("bench15", 1.0): (0.4359, 0.4058, 0.4058),
    ("t20", 0.05): (0.6087, 0.5499, 0.5386),
    ("t20", 1.0): (0.5763, 0.4989, 0.4989),
    ("census13", 0.05): (0.6707, 0.6830, 0.6846),
    ("census13", 1.0): (0.6336, 0.5736, 0.5736),
}


def many(found: Any, name: str, limit: float) -> str:
    loss, arx = found.certificate.optimum, min(ARX[name, limit])
    if name == "bench15":
        assert round(loss, 4) <= arx, loss
    beside = "ARX" if name == "bench15" else "ARX on one of its kind"
    return f"loss {loss:.4f}, {beside} {arx:.4f}; {said(found)}"


for (name, limit), seconds in product(ARX, (2, 10, 30)):

    @row(
        f"{name} from codes, k=5, loss, limit {limit:.0%}, {seconds} s",
        seconds=seconds + 1.0,
        large=True,
    )
    def _(name: str = name, limit: float = limit, seconds: int = seconds) -> Case:
        ladders, codes = MANY[name]()
        return Case(
            ours=lambda: search(ladders, codes, "loss", limit, time_limit=float(seconds)),
            check=lambda found, _: many(found, name, limit),
        )


# Local recoding by ARX, suppression weight 0: with 1 % of the records a round, one record a round.
ARX_LOCAL = {0.01: (0.0560, 2.0), 0.001: (0.0496, 20.0)}

for share, least, seconds in ((0.01, 0.060, 1.0), (0.001, 0.051, 5.0)):

    @row(f"Adult, local recoding, k=5, loss, round_share {share}", seconds=seconds)
    def _(share: float = share, least: float = least) -> Case:
        from discreet.datasets import load_adult
        from discreet.generalization import Generalize, KAnonymity

        table, trees = load_adult(), hierarchies()

        def check(method: Any, _: Any) -> str:
            assert method.quality_ <= least, method.quality_
            loss, cpu = ARX_LOCAL[share]
            rounds = f"{len(method.levels_)} rounds, loss {method.quality_:.4f}"
            return f"{rounds}; ARX {loss:.4f} in {cpu:g} s"

        return Case(
            ours=lambda: Generalize(trees, [KAnonymity(5)], local=True, round_share=share).fit(
                table
            ),
            check=check,
        )


for models in ("entropy l=1.5", "t=0.2", "beta=1"):

    @row(f"Adult, k=5 and {models} of the salary, loss, limit 5%", seconds=2.0)
    def _(models: str = models) -> Case:
        from discreet.datasets import load_adult
        from discreet.generalization import (
            BetaLikeness,
            Generalize,
            KAnonymity,
            LDiversity,
            TCloseness,
        )

        more: dict[str, Any] = {
            "entropy l=1.5": LDiversity(1.5, column="salary-class", kind="entropy"),
            "t=0.2": TCloseness(0.2, column="salary-class"),
            "beta=1": BetaLikeness(1.0, column="salary-class"),
        }
        table, privacy = load_adult(), [KAnonymity(5), more[models]]
        return Case(
            ours=lambda: Generalize(hierarchies(), privacy).fit(table),
            check=lambda method, _: str(method.certificate_),
        )
