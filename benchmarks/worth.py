"""Qualities of whole classes, and classes that must pay, on Adult: five times as fast as ARX.

ARX's times are of the processor, warm, on the machine where the goals were set.
"""

from typing import Any

from benchmarks.generalization import COLUMNS
from benchmarks.rows import Case, row

# Cost, gain, the publisher's loss, and benefit.
FIGURES = {"cheap": (20.0, 120.0, 3000.0, 1200.0), "dear": (20.0, 120.0, 3000.0, 120.0)}
OTHER_COLUMNS = (*COLUMNS[:-1], "salary-class")
# Quality or model, options, limit: ARX's milliseconds, levels, value.
KNOWN: dict[tuple[str, str, float], tuple[dict[str, Any], float, str, float]] = {
    ("kl-divergence, as ARX sums", "", 0.05): (
        {"quality": "kl-divergence-by-record"}, 6777.6, "13003002", 25.005561241562138),
    ("kl-divergence, as ARX sums", "", 1.0): (
        {"quality": "kl-divergence-by-record"}, 18081.4, "02000000", 10.146522436949402),
    ("kl-divergence", "", 1.0): ({"quality": "kl-divergence"}, 18081.4, "", 0.0),
    ("classification", "", 0.05): (
        {"quality": "classification", "target": "salary-class"}, 1368.0, "12112220",
        0.17747496850341551),
    ("classification", "", 1.0): (
        {"quality": "classification", "target": "salary-class"}, 3584.0, "12112220",
        0.17747496850341551),
    ("classification, factor 0.25", "", 1.0): (
        {"quality": "classification", "target": "salary-class", "factor": 0.25}, 3534.3,
        "12111200", 0.168133744446659),
    ("classification of a key column", "", 1.0): (
        {"quality": "classification", "target": "salary-class", "columns": OTHER_COLUMNS}, 909.4,
        "11110210", 0.1750049731450168),
    ("payout", "cheap", 0.05): ({"quality": "payout"}, 613.2, "13003002", 17482436.851101056),
    ("payout", "dear", 1.0): ({"quality": "payout"}, 2725.9, "13000002", 1640934.8717954769),
    ("entropy-based, factor 0.1", "", 1.0): (
        {"quality": "entropy-based", "factor": 0.1}, 202.8, "01000000", 4169.021509240378),
    ("loss, factor 0.1", "", 1.0): ({"factor": 0.1}, 467.8, "03000000", 0.08692288511157953),
    ("loss by rank", "", 0.05): ({"aggregate": "rank"}, 497.7, "03012111", 0.4561534381),
    ("height", "", 0.05): ({"quality": "height"}, 617.3, "", 8.0),
    ("profitability, loss", "dear", 0.05): (
        {"columns": OTHER_COLUMNS, "model": True}, 713.0, "03011110", 0.2015088209764193),
    ("profitability, payout", "dear", 1.0): (
        {"quality": "payout", "columns": OTHER_COLUMNS, "model": True}, 871.8, "13000000",
        1207311.8507490233),
}  # fmt: skip


def prepared(options: dict[str, Any], figures: str, limit: float) -> Any:
    """Return what searches Adult from its codes."""
    from discreet.datasets import adult_hierarchy_paths, load_adult
    from discreet.generalization import Hierarchy, KAnonymity, Payout, Profitability
    from discreet.generalization._tuples import collapse, lay_out
    from discreet.generalization.by_class import Asked
    from discreet.generalization.privacy import bind
    from discreet.generalization.search import Search

    columns, target = options.get("columns", COLUMNS), options.get("target")
    table, paths = load_adult(), adult_hierarchy_paths()
    trees = [(Hierarchy.from_csv(paths[name]), name) for name in columns]
    both = [tree.bind_and_encode(table[name], name) for tree, name in trees]
    ladders, codes = [ladder for ladder, _ in both], [code for _, code in both]
    money = FIGURES.get(figures)
    model = Profitability(*money) if money and options.get("model") else KAnonymity(5)
    counted = [target] if target and target not in columns else []

    def search() -> Any:
        others = {name: table[name] for name in counted}
        bound = bind([model], others, table.num_rows, counted_too=counted, labelled=True)
        tuples, _ = collapse(lay_out(ladders), codes, bound)
        at = columns.index(target) if target in columns else (0, len(bound.rules.q))
        asked = Asked(
            options.get("quality", "loss"),
            options.get("aggregate", "geometric"),
            None,
            options.get("factor", 0.5),
            at,
            Payout(*money) if money else None,
            len(bound.rules.q) if options.get("quality") == "kl-divergence-by-record" else -1,
        )
        tuples = asked.ready(tuples)
        lo, hi = [0] * len(ladders), [ladder.height for ladder in ladders]
        allowed = int(limit * tuples.n + 1e-9)
        return Search(tuples, bound.rules, asked.on(tuples), allowed, lo, hi).run()

    return search


def said(found: Any, levels: str, value: float, ms: float) -> str:
    proof = found.certificate
    if levels:
        assert "".join(map(str, found.levels)) == levels, found.levels
    if value:
        assert abs(proof.optimum - value) <= 1e-9 * value, proof.optimum
    return f"{proof.evaluations:,} of {proof.nodes:,} nodes; ARX {ms:.0f} ms"


for (name, money, limit), (options, ms, levels, value) in KNOWN.items():

    @row(f"Adult from codes, {name}, limit {limit:.0%}", seconds=ms / 5000)
    def _(
        options: dict[str, Any] = options,
        money: str = money,
        limit: float = limit,
        ms: float = ms,
        levels: str = levels,
        value: float = value,
    ) -> Case:
        return Case(
            ours=prepared(options, money, limit),
            check=lambda found, _: said(found, levels, value, ms),
        )
