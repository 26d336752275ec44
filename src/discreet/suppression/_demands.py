"""What a recipe demands of the key columns, as sets of columns with a k, and what blanks cost."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from discreet.errors import BadInput, nearest
from discreet.generalization.models import read_models, smallest_class
from discreet.parameters import as_float, whole
from discreet.suppression._problem import Demand

# Sets of columns that `subsets` may demand.
_MOST_DEMANDS = 10_000
# Prices beyond this and its inverse are mistakes, and too far apart to add up.
_LEAST_WEIGHT = 1e-6
# More members than any table has.
_MOST_MEMBERS = 1 << 40


def check_demands(method: Any) -> None:
    """Refuse parameters that demand nothing, or not in a form that can be understood."""
    asked = (method.k, method.combinations, method.subsets, method.privacy, method.max_risk)
    if all(one is None or one in ([], {}) for one in asked):
        raise BadInput(
            "nothing is demanded of the key columns; set k, such as k = 3, or combinations, "
            "subsets, privacy or max_risk"
        )
    for one in method.combinations or ():
        if not isinstance(one, Mapping) or set(one) != {"columns", "k"}:
            raise BadInput(
                "each of combinations has columns and k, such as "
                f'{{ columns = ["age", "sex"], k = 3 }}, and not {one!r}'
            )
        columns = one["columns"]
        listed = isinstance(columns, list | tuple) and len(columns) > 0
        if not listed or not all(isinstance(name, str) for name in columns):
            raise BadInput(f"columns of a combination must list column names, not {columns!r}")
        whole(1).check("k of a combination", one["k"])
    subsets = method.subsets
    if subsets == {}:
        raise BadInput("subsets is empty; give a k by size, such as { 3 = 10 }, or leave it out")
    if isinstance(subsets, Mapping):
        for size, k in with_numbers(subsets).items():
            whole(1).check("a size of subsets", size)
            whole(1).check(f"k of subsets of {size}", k)
    elif subsets is not None:
        whole(1).check("subsets", subsets)
        if method.k is None:
            raise BadInput(
                f"subsets = {subsets} needs k: by how many every {subsets} columns must be shared"
            )


def with_numbers(given: Any) -> Any:
    """Take sizes that are given as text, as in a recipe, whose keys are text."""
    if not isinstance(given, Mapping):
        return given
    return {int(n) if isinstance(n, str) and n.isdecimal() else n: k for n, k in given.items()}


def check_importance(importance: Any) -> Any:
    """Refuse weights that are not numbers above 0, and return the others."""
    if isinstance(importance, Mapping):
        for column, weight in importance.items():
            if not (_LEAST_WEIGHT <= as_float(weight) <= 1 / _LEAST_WEIGHT):
                raise BadInput(
                    f"the importance of column '{column}' must be a number above 0, from "
                    f"{_LEAST_WEIGHT:g} to {1 / _LEAST_WEIGHT:g}, not {weight!r}; list a "
                    "column that must stay whole under fixed"
                )
    elif importance is not None:
        listed = isinstance(importance, list | tuple)
        if not listed or not all(isinstance(name, str) for name in importance):
            raise BadInput(
                "importance must give a weight to columns by name, or list columns with the most "
                f"important first, not {importance!r}"
                + "; ranks in the order of the columns, as sdcMicro has them, are not understood"
                * listed
            )
        if len(set(importance)) < len(importance):
            raise BadInput("importance lists a column twice")
    return importance


def check_names(method: Any, names: Sequence[str]) -> None:
    """Refuse parameters that name what is no key column."""
    if isinstance(method.fixed, str):
        raise BadInput(f"fixed must list columns, such as ['{method.fixed}'], not a single text")
    given = {
        "importance": list(method.importance or ()),
        "fixed": method.fixed or (),
        "limit": list(method.limit or ()),
        "combinations": [c for one in method.combinations or () for c in one["columns"]],
    }
    for said, columns in given.items():
        for column in columns:
            if column not in names:
                raise BadInput(
                    f"{said} names '{column}', which is not among the columns to treat; "
                    + nearest(column, names)
                )
    for name in names:
        if name in method.reads:
            raise BadInput(
                f"column '{name}' is looked at by privacy or weight and cannot be blanked as well; "
                "take it out of the columns"
            )
    sizes = with_numbers(method.subsets)
    for size in sizes if isinstance(sizes, Mapping) else [sizes or 1]:
        if size > len(names):
            raise BadInput(f"subsets of {size} columns need more than the {len(names)} to treat")


def demands_of(method: Any, names: Sequence[str]) -> list[Demand]:
    """Return the demands, one for each set of columns."""
    everything = (1 << len(names)) - 1
    found: list[tuple[int, int]] = []
    by_size = with_numbers(method.subsets) if isinstance(method.subsets, Mapping) else {}
    if method.subsets is not None and not by_size:
        by_size = {method.subsets: method.k}
    elif method.k is not None:
        found.append((everything, method.k))
    if method.max_risk is not None and method.risk == "class":
        found.append((everything, math.ceil(1 / method.max_risk * (1 - 1e-12))))
    for one in method.combinations or ():
        found.append((sum({1 << names.index(c) for c in one["columns"]}), one["k"]))
    if sum(math.comb(len(names), size) for size in by_size) > _MOST_DEMANDS:
        raise BadInput(
            f"subsets demands something of more than {_MOST_DEMANDS:,} sets of columns; lower it, "
            "or name fewer columns"
        )
    for size, k in by_size.items():
        found += [(sum(1 << c for c in some), k) for some in combinations(range(len(names)), size)]
    return _by_columns(found)


def refuse_models(models: Sequence[Any]) -> None:
    """Refuse the privacy models that blanks cannot be chosen for."""
    for model in models:
        if getattr(model, "population", None) is not None:
            raise BadInput(
                f"{model.model} looks at a population, whose records have no blanks; use "
                "generalize, or k-anonymity"
            )
        rare = model.model == "delta-disclosure"
        if rare or getattr(model, "estimator", None) == "grassberger":
            said = model.model if rare else "Grassberger's estimate of l-diversity"
            raise BadInput(
                f"{said} can be broken by two classes together that keep it by themselves, which "
                "blanks may make look the same; use generalize or mondrian"
            )


def of_models(method: Any, names: Sequence[str]) -> list[Demand]:
    """Return what the k of privacy models demands."""
    models = [] if method.privacy is None else read_models(method.privacy)
    return [Demand((1 << len(names)) - 1, smallest_class(models))]


def _by_columns(found: Iterable[tuple[int, int]]) -> list[Demand]:
    """Return one demand for each set of columns, with the largest k."""
    largest: dict[int, int] = {}
    for columns, k in found:
        largest[columns] = max(k, largest.get(columns, 1))
    return [Demand(columns, min(int(k), _MOST_MEMBERS)) for columns, k in largest.items()]


def essential(demands: Sequence[Demand]) -> tuple[Demand, ...]:
    """Leave out what follows from another demand: of more columns and at least as many members.

    Examples
    --------
    >>> essential([Demand(0b11, 3), Demand(0b01, 2), Demand(0b10, 5), Demand(0b11, 3)])
    (Demand(columns=3, k=3), Demand(columns=2, k=5))
    """
    demands = _by_columns((demand.columns, demand.k) for demand in demands)
    columns = np.array([demand.columns for demand in demands], np.int64)
    k = np.array([demand.k for demand in demands], np.int64)
    kept = []
    for one in demands:
        above = ((columns & one.columns) == one.columns) & (k >= one.k)
        if one.k > 1 and above.sum() == 1:
            kept.append(one)
    return tuple(kept)


def prices(method: Any, names: Sequence[str]) -> np.ndarray:
    """Return what a blank costs in each column: infinite where it is fixed.

    Columns that a list does not name cost 1, and the last that it names 2.
    """
    found = np.ones(len(names))
    importance = method.importance
    if importance is not None and not isinstance(importance, Mapping):
        importance = {name: i for i, name in enumerate(reversed(importance), start=2)}
    for name, weight in (importance or {}).items():
        found[names.index(name)] = weight
    # A column of which nothing may be blanked is as good as fixed.
    whole = [name for name, share in (method.limit or {}).items() if share == 0]
    for name in [*(method.fixed or ()), *whole]:
        found[names.index(name)] = np.inf
    return found


def as_told(demands: Sequence[Demand], names: Sequence[str]) -> list[dict[str, Any]]:
    """Tell demands as the plan has them."""
    return [
        {"columns": [n for bit, n in enumerate(names) if one.columns >> bit & 1], "k": one.k}
        for one in demands
    ]
