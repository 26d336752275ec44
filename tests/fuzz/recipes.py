"""Random recipes: plain dicts, valid for a table, in chains of one to three steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tests.fuzz.hierarchies import hierarchy_for
from tests.fuzz.tables import MARKER, Made

Step = dict[str, Any]
# Of what these decide or treat all rows must be in memory.
MEMORY_ONLY = ("rank-swap", "shuffle", "microaggregation", "ipso", "joint", "anatomy")
_ROUNDING = ("oma", "mdav", "vmdav", "kmeans", "equal-width", "equal-frequency", "resampling")


def make_recipe(rng: np.random.Generator, made: Made, engine: str) -> dict[str, Any]:
    """Make a recipe for a table."""
    return _Drawing(rng, made, engine).recipe()


class _Drawing:
    """A recipe in the making."""

    def __init__(self, rng: np.random.Generator, made: Made, engine: str) -> None:
        self.rng, self.made, self.engine = rng, made, engine
        self.roles: dict[str, Any] = {}
        self.top: dict[str, Any] = {"seed": self._secret(), "order_seed": self._secret()}
        self.steps: list[Step] = []
        self.free: list[str] = []
        self.n = made.table.num_rows
        if self.chance(0.5):
            self.top["null_markers"] = [MARKER]

    def chance(self, share: float) -> bool:
        return bool(self.rng.random() < share)

    def one(self, *options: Any) -> Any:
        return options[int(self.rng.integers(len(options)))]

    def alike(self, names: list[str], least: int = 1, most: int = 3) -> list[str]:
        """Choose columns that are all, or none of them, the same for all members of a household."""
        chosen = self.some(names, least, most)
        return [name for name in chosen if self.levels(name) == self.levels(chosen[0])]

    def levels(self, name: str) -> tuple[bool, ...]:
        """Tell within what a column is constant: households, units."""
        by = [self.roles[role] for role in ("household", "unit") if role in self.roles]
        table = self.made.table
        return tuple(
            table.select([key, name]).group_by([key, name]).aggregate([]).num_rows
            == len(pc.unique(table[key]))
            for key in by
        )

    def some(self, names: list[str], least: int = 1, most: int = 3) -> list[str]:
        count = min(len(names), int(self.rng.integers(least, most + 1)))
        return [names[i] for i in self.rng.choice(len(names), count, replace=False)]

    def maybe(self, step: Step, share: float, **options: Any) -> Step:
        """Set an option of a step at times."""
        return step | {key: value for key, value in options.items() if self.chance(share)}

    def _secret(self) -> int:
        return int.from_bytes(self.rng.bytes(12), "big") + 2**64

    def recipe(self) -> dict[str, Any]:
        self._settle_roles()
        for _ in range(self.one(1, 1, 2, 2, 3)):
            self._add_step()
        self._settle_columns()
        return self.top | {"roles": self.roles, "steps": self.steps}

    # Roles

    def _settle_roles(self) -> None:
        roles, made = self.roles, self.made
        taken = list(made.of("identifier"))
        roles["identifiers"] = list(taken)
        for name in made.of("household"):
            taken.append(name)
            if self.chance(0.85):
                roles["household"] = name
                roles["release_household"] = self.chance(0.5)
                self.top |= self.maybe({}, 0.3, household_suppression="whole")
            else:
                roles["identifiers"].append(name)
        for name in made.of("unit"):
            taken.append(name)
            if self.chance(0.85):
                roles["unit"] = name
                if self.chance(0.4):
                    roles["pseudonyms"] = [name]
            else:
                roles["pseudonyms"] = [name]
                self.top["counts"] = "rows"
        for name in made.of("weight"):
            taken.append(name)
            roles["weight"] = name
        if self.engine != "memory" and self.top.get("household_suppression"):
            del self.top["household_suppression"]
        known = [key for key in ("unit", "household") if key in roles]
        if known and self.chance(0.3):
            self.top["counts"] = self.one("rows", *(f"{key}s" for key in known))
        self.free = [name for name in made.kinds if name not in taken]

    @property
    def counted(self) -> int:
        """How many there are of what k counts."""
        roles = self.roles
        by = {"rows": None, "units": roles.get("unit"), "households": roles.get("household")}
        name = by.get(self.top.get("counts", ""), roles.get("household") or roles.get("unit"))
        return self.n if name is None else len(pc.unique(self.made.table[name]))

    def values(self, name: str) -> int:
        """How many values of a column are not null."""
        return self.n - self.made.table[name].null_count

    def k(self, most: int = 6) -> int:
        return int(min(self.rng.integers(2, most + 1), max(2, self.counted // 3)))

    def _settle_columns(self) -> None:
        """Give each column a role that its step, if it has one, fits."""
        roles, rng = self.roles, self.rng
        treated = {name for step in self.steps for name in step["columns"]}
        read = {name for step in self.steps for name in _read(step)}
        for role in ("quasi", "confidential", "insensitive", "untouched"):
            roles.setdefault(role, [])
        judged = any(_is_judged(step) for step in self.steps)
        for name in self.free:
            of_model = any(_is_judged(s) and name in s["columns"] for s in self.steps)
            if of_model:
                roles["quasi"].append(name)
            elif name in treated or name in read or self.chance(0.8):
                shares = [0.0 if judged else 0.25, 0.6, 0.15 if not judged else 0.4]
                roles[str(rng.choice(["quasi", "confidential", "insensitive"], p=shares))].append(
                    name
                )
        roles["untouched"] = [name for name in roles["quasi"] if name not in treated]
        roles["rest"] = "drop" if self.chance(0.7) else "insensitive"
        roles["not_identifiers"] = [name for name in self.free if name not in treated]
        if self.chance(0.9):
            self.top["allow_leaks"] = sorted(treated)

    # Steps

    def _add_step(self) -> None:
        """Add a step on columns that are not under an earlier promise."""
        held = {c for s in self.steps if s.get("promise", True) for c in (*s["columns"], *_read(s))}
        again = {c for s in self.steps for c in s["columns"] if self.chance(0.7)}
        kinds = {
            name: kind
            for name, kind in self.made.kinds.items()
            if name in self.free and name not in held and name not in again and self.values(name)
        }
        # What became text is treated no more.
        coarse = {
            c
            for s in self.steps
            if s["method"] in ("generalize", "mondrian", "generalize-items")
            for c in s["columns"]
        }
        kinds = {name: kind for name, kind in kinds.items() if name not in coarse}
        makers = [make for name, make in _MAKERS.items() if self._runs(name)]
        for position in self.rng.permutation(len(makers)):
            step = makers[position](self, kinds)
            if step is None:
                continue
            if self.chance(0.1):
                step["promise"] = False
            if self.chance(0.15) and step["method"] not in ("top-bottom",):
                step["precision"] = "full"
            self.steps.append(step)
            return

    def _runs(self, method: str) -> bool:
        return self.engine == "memory" or method.split(" again")[0] not in MEMORY_ONLY


def _is_judged(step: Step) -> bool:
    """Tell whether a step promises something of classes of records."""
    return "privacy" in step or step["method"] == "local-suppression"


def _read(step: Step) -> list[str]:
    """Name the columns that a step reads and does not treat."""
    named = [model["column"] for model in step.get("privacy", ()) if "column" in model]
    return [*named, *step.get("confidential", ()), *([step["strata"]] if "strata" in step else [])]


Kinds = dict[str, str]


def _of(kinds: Kinds, *wanted: str) -> list[str]:
    return [name for name, kind in kinds.items() if kind in wanted]


_CENTRES = ("mean", "median", "midpoint", "resampled-mean")


def _rounding(method: str) -> Callable[[_Drawing, Kinds], Step | None]:
    def make(draw: _Drawing, kinds: Kinds) -> Step | None:
        names = draw.alike([c for c in _of(kinds, "number", "date") if draw.values(c) >= 6])
        if not names:
            return None
        step: Step = {"method": method, "columns": names}
        k = draw.k(12)
        if method in ("oma", "mdav", "vmdav"):
            step["k"] = draw.one(k, k, dict.fromkeys(names, k), "freedman-diaconis")
            step = draw.maybe(step, 0.3, keep_ties=draw.chance(0.5))
        else:
            points = int(draw.rng.integers(1, 12))
            step["n_points"] = draw.one(points, points, "freedman-diaconis")
            step = draw.maybe(step, 0.8, min_count=draw.k())
        if method == "equal-frequency":
            step = draw.maybe(step, 0.3, ties=draw.one("raise_c", "lower_c"))
        if method == "resampling":
            step |= {"max_draws": 50, "n_quantiles": draw.one(2, 5)}
            step["discretizer"] = draw.one("kmeans", "equal-width", "equal-frequency")
        step = draw.maybe(step, 0.3, representative=draw.one(*_CENTRES))
        step = draw.maybe(step, 0.2, encoding=draw.one("group", "nearest", "stochastic"))
        if method in ("oma", "kmeans"):
            step = draw.maybe(step, 0.2, objective=draw.one("l1", "l2"))
        return draw.maybe(step, 0.3, spikes=draw.one("keep", "group"))

    return make


def _joint(draw: _Drawing, kinds: Kinds) -> Step | None:
    names = draw.alike(_of(kinds, "number", "date"), 1, 4)
    if not names:
        return None
    step: Step = {"method": draw.one("kmeans", "resampling"), "columns": names, "joint": True}
    step["n_points"] = int(draw.rng.integers(1, 30))
    step = draw.maybe(step, 0.9, min_count=draw.k())
    if step["method"] == "resampling":
        step |= {"max_draws": 50, "n_quantiles": draw.one(2, 5)}
    return draw.maybe(step, 0.3, representative=draw.one("mean", "median", "midpoint"))


def _base(draw: _Drawing, kinds: Kinds) -> Step | None:
    names = draw.alike(_of(kinds, "number"))
    if not names:
        return None
    size = draw.one({"base": draw.one(2, 10, 0.5, 100, 2.5)}, {"min_attraction": draw.k()})
    if "min_attraction" in size:
        size = draw.maybe(size, 0.4, bases=draw.one("nice", [0.5, 10, 1000, 1e7]))
    step = draw.maybe({"method": "base", "columns": names} | size, 0.3, ends="open")
    encodings = ("nearest", "stochastic")
    return draw.maybe(
        step, 0.4, **draw.one({"rounding": "floor"}, {"encoding": draw.one(*encodings)})
    )


def _given_cuts(draw: _Drawing, kinds: Kinds) -> Step | None:
    names = draw.some([c for c in _of(kinds, "number") if draw.values(c) >= 6], 1, 1)
    if not names:
        return None
    values = draw.made.table[names[0]].drop_null().cast("float64").to_numpy()
    ends = np.unique(np.quantile(values, np.sort(draw.rng.random(int(draw.rng.integers(2, 9))))))
    cuts, points = ends[1::2].tolist(), ends[::2].tolist()
    points = [*points, ends[-1]] if len(points) == len(cuts) else points
    step: Step = {"method": "given-cuts", "columns": names, "points": list(map(float, points))}
    step["cuts"] = draw.one(cuts, {names[0]: cuts})
    if isinstance(step["cuts"], dict):
        step["points"] = {names[0]: step["points"]}
    step = draw.maybe(step, 0.3, kept=[float(draw.one(*values.tolist()))])
    step = draw.maybe(step, 0.2, encoding=draw.one("group", "nearest", "stochastic"))
    # Nothing is merged for it: whether more share a point is seen where a plan is applied.
    return step | {"min_count": 1}


def _supervised(draw: _Drawing, kinds: Kinds) -> Step | None:
    targets = [c for c in draw.made.of("category", "bool") if not draw.made.table[c].null_count]
    names = draw.alike([c for c in _of(kinds, "number") if draw.values(c) >= 6])
    if not names or not targets or "target" in draw.roles:
        return None
    draw.roles["target"] = draw.one(*targets)
    step: Step = {"method": draw.one("mdlp", "chimerge"), "columns": names}
    return draw.maybe(step, 0.8, min_count=draw.k())


def _microaggregation(draw: _Drawing, kinds: Kinds) -> Step | None:
    names = draw.alike(_of(kinds, "number", "number", "category", "bool"), 1, 4)
    if not names:
        return None
    step: Step = {"method": "microaggregation", "columns": names, "k": draw.k()}
    step["algorithm"] = draw.one("mdav", "vmdav", "cbfs")
    step = draw.maybe(step, 0.2, refine_moves=20)
    step = draw.maybe(step, 0.1, block_size=max(50, 4 * step["k"]))
    strata = [c for c in draw.free if draw.made.kinds[c] in ("bool", "category") and c not in names]
    return draw.maybe(step, 0.15, strata=draw.one(*strata)) if strata else step


def _top_bottom(draw: _Drawing, kinds: Kinds) -> Step | None:
    names = draw.some(_of(kinds, "number"), 1, 1)
    if not names:
        return None
    values = np.sort(draw.made.table[names[0]].drop_null().cast("float64").to_numpy())
    low, high = values[len(values) // 10], values[-1 - len(values) // 10]
    bounds = {"lower": float(low), "upper": float(high)}
    if draw.chance(0.3):
        bounds = {side: float(np.round(bound, 1)) for side, bound in bounds.items()}
    side = draw.one("lower", "upper", "")
    if bounds["lower"] >= bounds["upper"]:
        side = side or "upper"
    return {"method": "top-bottom", "columns": names} | ({side: bounds[side]} if side else bounds)


def _round_counts(draw: _Drawing, kinds: Kinds) -> Step | None:
    rule = draw.one("census-drb", "census-drb-estimates", "acro", "cms", "uk-llc")
    names = _of(kinds, "number")
    if rule != "census-drb-estimates":
        names = [name for name in names if _are_counts(draw.made.table[name])]
    names = draw.some(names, 1, 2)
    if not names:
        return None
    by_column = draw.one(rule, dict.fromkeys(names, rule))
    return {"method": "round-counts", "columns": names, "rule": by_column}


def _are_counts(column: pa.ChunkedArray) -> bool:
    values = column.drop_null().cast("float64").to_numpy()
    return bool((values >= 0).all() and (values == np.floor(values)).all())


def _noise(draw: _Drawing, kinds: Kinds) -> Step | None:
    kinds_of_noise = ["additive", "additive", "multiplicative", "logarithmic", "correlated"]
    if draw.engine == "memory":
        kinds_of_noise.append("correlated-logarithmic")
    kind = draw.one(*kinds_of_noise)
    fits = ("number", "date") if kind in ("additive", "correlated") else ("number",)
    names = draw.alike([c for c in _of(kinds, *fits) if draw.values(c) >= 4])
    if not names:
        return None
    scale = draw.one(0.01, 0.1, 0.5)
    if kind != "correlated":
        scale = draw.one(scale, dict.fromkeys(names, scale))
    step = {"method": "noise", "columns": names, "kind": kind, "scale": scale}
    return draw.maybe(step, 0.2, match_ranks=True) if draw.engine == "memory" else step


def _rank_swap(draw: _Drawing, kinds: Kinds) -> Step | None:
    names = draw.alike([c for c in _of(kinds, "number", "date") if draw.values(c) >= 10])
    if not names:
        return None
    fewest = min(draw.values(c) for c in names)
    p = 300.0 / min(fewest, draw.counted) * draw.one(1, 2, 4)
    step: Step = {"method": "rank-swap", "columns": names, "p": float(min(100, p))}
    return draw.maybe(step, 0.3, window="drawn")


def _shuffle(draw: _Drawing, kinds: Kinds) -> Step | None:
    names = draw.alike(list(kinds))
    return (
        draw.maybe({"method": "shuffle", "columns": names}, 0.4, together=True) if names else None
    )


def _pram(draw: _Drawing, kinds: Kinds) -> Step | None:
    names = draw.alike(_of(kinds, "category", "bool", "code"))
    if not names:
        return None
    step: Step = {"method": "pram", "columns": names}
    step = draw.maybe(step, 0.5, retention=draw.one(0.0, 0.5, 0.9))
    step = draw.maybe(step, 0.3, invariant=True)
    values = pc.unique(draw.made.table[names[0]].drop_null().cast("string")).to_pylist()
    if draw.chance(0.2) and len(values) > 1:
        rows = {v: {v: 0.75, values[i - 1]: 0.25} for i, v in enumerate(values)}
        step["matrix"] = {names[0]: rows}
        step.pop("retention", None)
    return step


def _date_shift(draw: _Drawing, kinds: Kinds) -> Step | None:
    names = draw.alike(_of(kinds, "date"))
    if not names:
        return None
    step: Step = {"method": "date-shift", "columns": names, "days": draw.one(7, 30, 365)}
    return draw.maybe(step, 0.3, keep_weekday=True)


def _ipso(draw: _Drawing, kinds: Kinds) -> Step | None:
    numeric = [c for c in _of(kinds, "number") if draw.values(c) >= 12]
    if len(numeric) < 2:
        return None
    chosen = draw.alike(numeric, 2, 4)
    if len(chosen) < 2:
        return None
    step: Step = {"method": "ipso", "columns": chosen[1:], "confidential": chosen[:1]}
    return step | {"variant": draw.one("A", "B", "C")}


def _regression(draw: _Drawing, kinds: Kinds) -> Step | None:
    names = draw.alike([c for c in _of(kinds, "number") if draw.values(c) >= 12])
    if not names:
        return None
    cells = min(draw.values(c) for c in names)
    step: Step = {"method": draw.one("porop", "lirop"), "columns": names}
    step["k"] = int(draw.rng.integers(4, cells + 1))
    step = draw.maybe(step, 0.3, noise=draw.one("synthetic", "perturbative", "none"))
    step = draw.maybe(step, 0.2, normalise="column")
    step = draw.maybe(step, 0.3 * (step["method"] == "porop"), degree=draw.one("auto", 1, 3))
    return draw.maybe(step, 0.3, keep_range=True, noise_floor=0.05, noise_scale=2.0)


def _generalize_items(draw: _Drawing, kinds: Kinds) -> Step | None:
    names = draw.some(_of(kinds, "items"), 1, 1)
    if not names or "unit" in draw.roles or "household" in draw.roles:
        return None
    step = {"method": "generalize-items", "columns": names, "k": draw.k(), "separator": "|"}
    return step | {"m": draw.one(1, 2, 3)}


# Generalization


def _models(draw: _Drawing, columns: list[str]) -> list[Step]:
    models: list[Step] = [{"model": "k-anonymity", "k": draw.k()}]
    treated = {name for step in draw.steps for name in step["columns"]}
    confidential = [
        name
        for name in draw.free
        if name not in columns
        and draw.made.kinds[name] in ("category", "bool", "number")
        and 1 < len(pc.unique(draw.made.table[name])) < 40
        and draw.values(name)
        and (name not in treated or draw.chance(0.3))
    ]
    if not confidential or draw.chance(0.5):
        return models
    column = draw.one(*confidential)
    number = draw.made.kinds[column] == "number"
    distance = {"distance": draw.one("equal", "ordered") if number else "equal"}
    if draw.made.kinds[column] == "category" and column not in treated and draw.chance(0.5):
        held = {str(one) for one in pc.unique(draw.made.table[column]).to_pylist()} - {"None"}
        # Any order that is not the sorted one.
        distance = {"distance": "ordered", "order": sorted(held, key=lambda one: one[::-1])}
    model = draw.one(
        {"model": "l-diversity", "l": 2},
        {"model": "l-diversity", "l": draw.one(1.5, 2), "kind": "entropy"},
        {"model": "l-diversity", "l": 2, "kind": "recursive", "c": draw.one(2.0, 4.0)},
        {"model": "t-closeness", "t": draw.one(0.3, 0.5, 0.8), **distance},
        {"model": "beta-likeness", "beta": draw.one(1.0, 4.0), "enhanced": draw.chance(0.3)},
        {"model": "alpha-k-anonymity", "alpha": draw.one(0.7, 0.95), "k": draw.k()},
    )
    return (
        [*models, model | {"column": column}] if draw.chance(0.8) else [model | {"column": column}]
    )


def _linked(draw: _Drawing) -> bool:
    return draw.roles.get("unit") in draw.roles.get("pseudonyms", ())


def _by_unit(draw: _Drawing) -> bool:
    return bool({"unit", "household"} & draw.roles.keys())


def _generalize(draw: _Drawing, kinds: Kinds) -> Step | None:
    names = draw.some(_of(kinds, "number", "date", "bool", "category", "code"), 1, 4)
    if not names or (_linked(draw) and any("privacy" in s for s in draw.steps)):
        return None
    step: Step = {"method": "generalize", "columns": names, "privacy": _models(draw, names)}
    step["hierarchies"] = {c: hierarchy_for(draw, c) for c in names}
    step["suppression_limit"] = draw.one(0.0, 0.1, 0.3, 1.0, 1.0)
    step["null_policy"] = draw.one("segregate", "segregate", "value", "suppress", "match")
    qualities = ("precision", "nue", "nnue", "discernibility", "ambiguity", "average-class")
    step = draw.maybe(step, 0.3, quality=draw.one(*qualities, "entropy-based"))
    if "quality" not in step:
        step = draw.maybe(step, 0.3, aggregate=draw.one("sum", "max", "mean"))
    if step["null_policy"] == "segregate":
        step = draw.maybe(step, 0.3, segregate="pattern")
    step = draw.maybe(step, 0.2, local=True)
    step = draw.maybe(step, 0.15, publish_minimal=False)
    beyond = any("column" in model for model in step["privacy"])
    if step["null_policy"] == "match" and beyond and ("local" in step or _by_unit(draw)):
        step["null_policy"] = "value"
    if _linked(draw):
        step = {k: v for k, v in step.items() if k not in ("local", "segregate")}
        step["null_policy"] = "value"
        draw.roles["release_household"] = False
        draw.top["counts"] = draw.one("units", "rows")
        draw.top |= draw.maybe({}, 0.6, known_rows=draw.one(1, 2))
    return step


def _mondrian(draw: _Drawing, kinds: Kinds) -> Step | None:
    names = draw.some(_of(kinds, "number", "date", "bool", "category", "code"), 1, 4)
    if not names or _linked(draw):
        return None
    step: Step = {"method": "mondrian", "columns": names, "privacy": _models(draw, names)}
    with_tree = [c for c in names if draw.chance(0.3)]
    if with_tree:
        step["hierarchies"] = {c: hierarchy_for(draw, c) for c in with_tree}
    if draw.engine == "memory":
        step = draw.maybe(step, 0.3, strict=False)
    step = draw.maybe(step, 0.2, enhanced=True)
    policies = ["segregate", "segregate", "value", "suppress"]
    if not any("column" in model for model in step["privacy"]) and "enhanced" not in step:
        policies += ["match", "contaminate"]
        # It moves single records, which needs all rows in memory, and counts these.
        if step.get("strict") is False and not _by_unit(draw):
            policies.append("semi-partition")
    step["null_policy"] = draw.one(*policies)
    if step["null_policy"] == "segregate":
        step = draw.maybe(step, 0.3, segregate="pattern")
    return step


def _local_suppression(draw: _Drawing, kinds: Kinds) -> Step | None:
    names = draw.some(_of(kinds, "number", "date", "bool", "category", "code"), 1, 5)
    if not names or _linked(draw):
        return None
    step: Step = {"method": "local-suppression", "columns": names}
    step["null_policy"] = draw.one("value", "value", "own", "match")
    k, size = draw.k(), int(draw.rng.integers(1, len(names) + 1))
    combos = [{"columns": draw.some(names, 1, 3), "k": draw.k()} for _ in range(draw.one(1, 2))]
    demands = [{"k": k}, {"k": k}, {"combinations": combos}, {"k": k, "combinations": combos}]
    demands += [{"k": k, "subsets": size}, {"subsets": {str(size): k}}, {"max_risk": 1 / k}]
    models = _models(draw, names)
    if step["null_policy"] == "value":
        demands += [{"privacy": models}, {"k": k, "privacy": models}]
        demands.append({"max_risk": draw.one(0.5, 0.1, 0.05), "risk": "suda"})
    step |= draw.one(*demands)
    step = draw.maybe(step, 0.3, importance=draw.one(names[:2], dict.fromkeys(names[:1], 2.0)))
    step = draw.maybe(step, 0.2, fixed=names[-1:])
    step = draw.maybe(step, 0.2, limit={names[0]: draw.one(0.2, 0.8)})
    step = draw.maybe(step, 0.4, record_cost=draw.one(1.5, 4.0, 10.0))
    return draw.maybe(step, 0.5, improve_moves=draw.one(0, 100))


def _anatomy(draw: _Drawing, kinds: Kinds) -> Step | None:
    names = draw.some(list(kinds), 2, 4)
    once = draw.counted == draw.n and not _linked(draw)
    if len(names) < 2 or not once or any(s["method"] == "anatomy" for s in draw.steps):
        return None
    confidential, size = names[-1:], draw.one(2, 2, 3)
    if len(names) > 2 and draw.chance(0.3):
        confidential = names[-2:]
    for name in confidential:
        counts = pc.value_counts(draw.made.table[name].drop_null()).field("counts").to_numpy()
        if counts.max(initial=0) * size > draw.values(name):
            return None
    step: Step = {"method": "anatomy", "columns": names, "confidential": confidential, "l": size}
    step = draw.maybe(step, 0.3, null_policy="value")
    step = draw.maybe(step, 0.4, small_group="append")
    return draw.maybe(step, 0.3, group="lot")


_MAKERS: dict[str, Callable[[_Drawing, Kinds], Step | None]] = {
    **{method: _rounding(method) for method in _ROUNDING},
    "base": _base,
    "given-cuts": _given_cuts,
    "supervised": _supervised,
    "joint": _joint,
    "joint again": _joint,
    "microaggregation": _microaggregation,
    "microaggregation again": _microaggregation,
    "top-bottom": _top_bottom,
    "round-counts": _round_counts,
    "noise": _noise,
    "rank-swap": _rank_swap,
    "shuffle": _shuffle,
    "pram": _pram,
    "date-shift": _date_shift,
    "ipso": _ipso,
    "anatomy": _anatomy,
    "regression": _regression,
    "generalize-items": _generalize_items,
    "generalize": _generalize,
    "generalize again": _generalize,
    "generalize once more": _generalize,
    "mondrian": _mondrian,
    "mondrian again": _mondrian,
    "local suppression": _local_suppression,
    "local suppression again": _local_suppression,
}
