"""The privacy models on Adult, each beside ARX: the search from distinct tuples, without reading.

ARX's milliseconds are of processor time, warm, best of three (of one where it took a second or
more), measured on a machine like the one that the goals were set on. A goal is a fifth of them.
"""

from collections.abc import Callable
from typing import Any

from benchmarks.rows import Case, row

KEYS = (
    "sex", "age", "race", "marital-status", "education", "native-country", "workclass",
    "salary-class",
)  # fmt: skip
JOB = "occupation"


def k_map(k: int, **options: Any) -> Callable[[], list[Any]]:
    def make() -> list[Any]:
        from discreet.datasets import load_adult
        from discreet.generalization import KMap

        return [KMap(k, **({"population": load_adult()} | options))]

    return make


def presence(minimum: float, maximum: float) -> Callable[[], list[Any]]:
    def make() -> list[Any]:
        from discreet.datasets import load_adult
        from discreet.generalization import DeltaPresence

        return [DeltaPresence(minimum, maximum, population=load_adult())]

    return make


def of_values(name: str, *given: Any, k: int = 1, **options: Any) -> Callable[[], list[Any]]:
    def make() -> list[Any]:
        from discreet import generalization as g
        from discreet.datasets import load_adult

        if options.get("distance") == "ordered":
            options["order"] = sorted(load_adult()[JOB].unique().to_pylist())
        return [g.KAnonymity(k), getattr(g, name)(*given, column=JOB, **options)]

    return make


# Name, models, whether a tenth of the records is the sample, limit, levels, loss, suppressed, ARX.
ROWS = (
    ("k-map 10, limit 0%", k_map(10), True, 0.0, "04111220", 0.512541249, 0, 22.0),
    ("k-map 10, limit 5%", k_map(10), True, 0.05, "03012110", 0.220663504, 135, 312.7),
    (
        "k-map 20 of 60,324 by Poisson, limit 5%",
        k_map(20, population=60_324, arx=True), False, 0.05, "03022110", 0.268633626, 1328, 282.0,
    ),
    (
        "k-map 20 of 60,324, zero-truncated, limit 5%",
        k_map(20, population=60_324, estimator="zero-truncated"),
        False, 0.05, "03022110", 0.268192756, 1312, 294.9,
    ),
    (
        "presence 0 to 0.5, limit 100%",
        presence(0, 0.5),
        True, 1.0, "03001000", 0.1156611, 222, 256.1,
    ),
    (
        "presence 0.05 to 0.15, limit 0%",
        presence(0.05, 0.15),
        True, 0.0, "04113220", 0.61391614, 0, 11.6,
    ),
    (
        "presence 0.05 to 0.15, limit 5%",
        presence(0.05, 0.15),
        True, 0.05, "04113220", 0.61391614, 0, 839.7,
    ),
    (
        "delta-disclosure 2, limit 0%",
        of_values("DeltaDisclosure", 2.0),
        False, 0.0, "14123221", 1.0, 0, 2097.9,
    ),
    (
        "delta-disclosure 2, limit 5%",
        of_values("DeltaDisclosure", 2.0),
        False, 0.05, "14023121", 0.748587558, 1347, 2177.9,
    ),
    (
        "delta-disclosure 2, limit 100%",
        of_values("DeltaDisclosure", 2.0),
        False, 1.0, "14003020", 0.630392335, 9926, 2839.9,
    ),
    (
        "delta-disclosure 5, limit 5%",
        of_values("DeltaDisclosure", 5.0),
        False, 0.05, "01000000", 0.021263047, 494, 43.8,
    ),
    (
        "entropy l=5 by Grassberger, limit 5%",
        of_values("LDiversity", 5.0, kind="entropy", estimator="grassberger"),
        False, 0.05, "03003120", 0.281591918, 1056, 787.6,
    ),
    (
        "entropy l=7.5, limit 5%",
        of_values("LDiversity", 7.5, kind="entropy"),
        False, 0.05, "14013120", 0.550974695, 1463, 1001.2,
    ),
    (
        "recursive (3, 3), limit 100%",
        of_values("LDiversity", 3, kind="recursive", c=3.0),
        False, 1.0, "03002110", 0.178347355, 1629, 1295.7,
    ),
    (
        "distinct l=5, limit 100%",
        of_values("LDiversity", 5),
        False, 1.0, "03002110", 0.199861073, 2361, 1245.1,
    ),
    (
        "ordered t=0.2 and k=5, limit 5%",
        of_values("TCloseness", 0.2, k=5, distance="ordered"),
        False, 0.05, "02003110", 0.214458062, 1451, 718.0,
    ),
    (
        "equal t=0.2 and k=5, limit 5%",
        of_values("TCloseness", 0.2, k=5),
        False, 0.05, "14113121", 0.815003186, 235, 1657.3,
    ),
    (
        "equal t=0.1 and k=5, limit 100%",
        of_values("TCloseness", 0.1, k=5),
        False, 1.0, "14023011", 0.735784673, 9285, 2321.3,
    ),
)  # fmt: skip


def prepared(models: list[Any], tenth: bool, limit: float) -> tuple[Any, Any, Any]:
    """Return the tuples of Adult, the rules, and what a search is to do."""
    from discreet.datasets import adult_hierarchy_paths, load_adult
    from discreet.generalization import Generalize, Hierarchy
    from discreet.generalization._treat import Treatment

    table, paths = load_adult(), adult_hierarchy_paths()
    table = table.take(list(range(0, len(table), 10))) if tenth else table
    trees = {name: Hierarchy.from_csv(paths[name]) for name in KEYS}
    method = Generalize(trees, models, suppression_limit=limit)
    columns = {name: table[name] for name in KEYS}
    made = Treatment(method, columns, {name: table[name] for name in method.reads})
    return made.done[0].tuples, made.bound.rules, made.settings


for name, models, tenth, limit, levels, loss, suppressed, milliseconds in ROWS:

    @row(f"Adult from tuples, {name}", seconds=milliseconds / 5000)
    def _(
        models: Callable[[], list[Any]] = models,
        tenth: bool = tenth,
        limit: float = limit,
        known: tuple[str, float, int] = (levels, loss, suppressed),
        milliseconds: float = milliseconds,
    ) -> Case:
        from benchmarks.generalization import said
        from discreet.generalization.quality import Quality

        tuples, rules, settings = prepared(models(), tenth, limit)

        def ours() -> Any:
            quality = Quality("loss", tuples)
            return settings.search(tuples, rules, quality, int(limit * tuples.n + 1e-9)).run()

        return Case(
            ours=ours,
            check=lambda found, _: f"{said(found, known)}; ARX {milliseconds:g} ms",
        )
