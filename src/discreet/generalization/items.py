"""Sets of items, generalized until any m of a record's items are shared by k records (k^m)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

import numpy as np
import pyarrow as pa
from sklearn.utils.validation import check_is_fitted

from discreet.errors import BadInput
from discreet.generalization.hierarchy import Hierarchy
from discreet.generalization.ladder import Ladder
from discreet.method import Method, as_arrow, as_given
from discreet.outcome import Given, Outcome
from discreet.parameters import Constraints, Rule, whole
from discreet.plan import ColumnPlan
from discreet.table.classes import renumber
from discreet.table.linked import Failed, Itemsets


class GeneralizeItems(Method):
    """Replace items of sets by coarser ones, or leave them out, the same in all records.

    A cell holds a set, such as the drugs of a patient or what was bought together. Afterwards any
    combination of at most m items of a record is found in at least k records: k^m-anonymity.

    Parameters
    ----------
    k : int
        Records that have each combination of items, at least.
    m : int
        How many items of a record an intruder may know.
    hierarchy : Hierarchy or dict, optional
        Of the items. Without one, rare items can only be left out.
    separator : str, optional
        What stands between the items of a text; without it, cells are lists.

    Attributes
    ----------
    plan_ : dict of str to dict
        Of each column its `items`, and the `labels` that they become; None for those left out.

    See Also
    --------
    Generalize : one value a cell; with a pseudonym, its rows are treated as items.

    Notes
    -----
    The search is that of the apriori-based anonymization of Terrovitis, Mamoulis and Kalnis
    ("Privacy-preserving anonymization of set-valued data", 2008): single items first, then pairs,
    and so on. Of the items in combinations of too few records, the one goes up that is in most of
    them for what that costs, with all items under the same parent; or it is left out, where that
    costs less. The result keeps the promise, and is not proven to lose least.

    A null stays. A set of which nothing is left becomes null, or an empty list.

    Examples
    --------
    >>> import pandas as pd
    >>> bought = pd.DataFrame({"basket": ["milk;beer", "beer;milk", "milk;wine", "wine", "milk"]})
    >>> drinks = Hierarchy.from_table([["beer", "alcohol"], ["wine", "alcohol"], ["milk", "dairy"]])
    >>> GeneralizeItems(3, m=2, hierarchy=drinks, separator=";").fit_transform(bought)
              basket
    0   alcohol;milk
    1   alcohol;milk
    2   alcohol;milk
    3        alcohol
    4           milk
    """

    recipe_name: ClassVar[str] = "generalize-items"
    anew: ClassVar[str] = "which items are rare together depends on the records"
    needs: ClassVar[Literal["numeric", "mixed", "any"]] = "any"
    blanks: ClassVar[bool] = True
    by_column: ClassVar[bool] = True
    promise: ClassVar[str] = "k-per-combination"
    in_words: ClassVar[str] = "items of sets are replaced by coarser ones, or left out"
    caveat: ClassVar[str] = (
        "labels stand for several items, and rare items were left out: that a set does not have an "
        "item says nothing"
    )
    published: ClassVar[tuple[str, ...]] = ("k", "m", "separator")
    constraints: ClassVar[Constraints] = {
        "k": whole(1),
        "m": whole(1),
        "separator": Rule(
            wanted="some text",
            good=lambda x: isinstance(x, str) and bool(x.strip()),
            optional=True,
        ),
    }

    def __init__(
        self,
        k: int,
        m: int = 2,
        hierarchy: Hierarchy | None = None,
        separator: str | None = None,
    ) -> None:
        self.k = k
        self.m = m
        self.hierarchy = hierarchy
        self.separator = separator

    def fit(self, X: Any, y: Any = None) -> GeneralizeItems:
        """Decide what the items of each column become.

        Parameters
        ----------
        X : pandas, polars or pyarrow table
        y : ignored
        """
        self.check_params()
        table = as_arrow(self, X, reset=True)
        self.plan_ = {name: self._decide(name, table[name]) for name in table.column_names}
        return self

    def transform(self, X: Any) -> Any:
        """Apply the plan; an item that is not known is left out."""
        check_is_fitted(self)
        table = as_arrow(self, X, reset=False)
        new = {name: _apply(self.plan_[name], table[name]) for name in table.column_names}
        return as_given(X, pa.table(new), set(new))

    def _run(self, given: Given) -> Outcome:
        """Treat each column by itself."""
        if given.units is not None and np.bincount(given.units).max(initial=0) > 1:
            raise BadInput(
                "generalize-items counts records, and units have several here; set "
                'counts = "rows" if that is meant'
            )
        plans = {name: self._decide(name, column) for name, column in given.columns.items()}
        new = {name: _apply(plans[name], column) for name, column in given.columns.items()}
        return Outcome(new, plans, {"kind": "items"})

    def _decide(self, name: str, column: pa.ChunkedArray) -> ColumnPlan:
        """Generalize the items of a column until all combinations are shared."""
        cells = items_of(column, self.separator, name)
        rows = np.repeat(np.arange(len(cells)), [len(cell or ()) for cell in cells])
        values = pa.array([item for cell in cells for item in cell or ()], pa.string())
        if not len(values):
            raise BadInput(f"column '{name}' holds no items")
        hierarchy = Hierarchy.flat() if self.hierarchy is None else self.hierarchy
        ladder, leaves = Hierarchy.from_spec(hierarchy).bind_and_encode(values, name)
        cut = _Cut(ladder, np.bincount(leaves, minlength=len(ladder.leaves)))
        for size in range(1, self.m + 1):
            while True:
                # Numbered again, because most nodes of the tree are not there.
                nodes = cut.nodes[leaves]
                kept = nodes >= 0
                numbers, _ = renumber(nodes[kept], cut.size)
                sets = Itemsets.of(numbers, rows[kept])
                failed = sets.failed(self.k, size)
                if not len(failed.support):
                    break
                of_number = np.empty(sets.size, np.int64)
                of_number[numbers] = nodes[kept]
                cut.break_up(failed, of_number)
        return {
            "kind": "items",
            "k": self.k,
            "m": self.m,
            "separator": self.separator,
            "items": ladder.labels[0],
            "labels": cut.labels,
        }


class _Cut:
    """A cut through the tree of items: for each leaf, the node above it that stands for it.

    Nodes are numbered level after level; -1 where an item is left out. `counts` are the records of
    each leaf.
    """

    def __init__(self, ladder: Ladder, counts: np.ndarray) -> None:
        self.ladder, self.counts = ladder, counts
        self.level = np.zeros(len(ladder.leaves), np.int64)
        self.first = np.cumsum([0, *(len(labels) for labels in ladder.labels)])
        self.size = int(self.first[-1])
        self.nodes = np.arange(len(ladder.leaves))

    @property
    def labels(self) -> list[str | None]:
        """What each leaf becomes; None where it is left out."""
        texts = [label for level in self.ladder.labels for label in level]
        return [None if node < 0 else texts[node] for node in self.nodes.tolist()]

    def break_up(self, failed: Failed, of_number: np.ndarray) -> None:
        """Change items so that each combination has one that is no longer there."""
        listed = np.append(of_number, -1)[failed.combinations]
        costs = {node: self._change(node)[0] for node in np.unique(listed[listed >= 0]).tolist()}
        while len(listed):
            nodes, hits = np.unique(listed[listed >= 0], return_counts=True)
            worth = hits / np.maximum([costs[node] for node in nodes.tolist()], 1e-12)
            _, leaves, above = self._change(int(nodes[np.argmax(worth)]))
            gone = np.unique(self.nodes[leaves])
            self.nodes[leaves] = above
            self.level[leaves] = np.searchsorted(self.first, above, side="right") - 1
            listed = listed[~np.isin(listed, gone).any(axis=1)]

    def _change(self, node: int) -> tuple[float, np.ndarray, int]:
        """Return what it costs to replace a node, the leaves it takes along, and their new node."""
        maps, own = self.ladder.maps, np.flatnonzero(self.nodes == node)
        level = int(self.level[own[0]])
        out = float(self.counts[own].sum()), own, -1
        if level + 1 >= self.ladder.height:
            # All items are under the top, which says nothing.
            return out
        parent = maps[level + 1, own[0]]
        leaves = np.flatnonzero((maps[level + 1] == parent) & (self.nodes >= 0))
        leaves = leaves[self.level[leaves] <= level]
        domain = max(1, len(self.nodes) - 1)
        wider = (maps[level + 1] == parent).sum()
        before = np.bincount(self.nodes[leaves])[self.nodes[leaves]]
        cost = float((self.counts[leaves] * (wider - before)).sum()) / domain
        up = cost, leaves, int(self.first[level + 1] + parent)
        return up if up[0] <= out[0] else out


def items_of(column: pa.ChunkedArray, separator: str | None, name: str) -> list[list[str] | None]:
    """Return the items of each cell as text, without blanks around them; None where null.

    Examples
    --------
    >>> items_of(pa.chunked_array([["b, a", None]]), ",", "letters")
    [['b', 'a'], None]
    """
    kind = column.type
    if separator is None and not (pa.types.is_list(kind) or pa.types.is_large_list(kind)):
        raise BadInput(
            f"column '{name}' holds {kind} and no lists; name what stands between its items, such "
            'as separator = ";"'
        )
    if separator is None:
        cells = column.to_pylist()
        return [None if c is None else [str(x) for x in c if x is not None] for c in cells]
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        raise BadInput(f"column '{name}' holds lists, which need no separator")
    split = {
        text: [item for part in text.split(separator) if (item := part.strip())]
        for text in column.cast(pa.string()).unique().drop_null().to_pylist()
    }
    return [None if text is None else split[text] for text in column.cast(pa.string()).to_pylist()]


def _apply(plan: Mapping[str, Any], column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Replace items, each label once and in order."""
    becomes = dict(zip(plan["items"], plan["labels"], strict=True))
    separator = plan["separator"]
    new: list[Any] = []
    for cell in items_of(column, separator, ""):
        labels = {becomes.get(item) for item in cell or ()} - {None}
        new.append(None if cell is None else sorted(map(str, labels)))
    if separator is None:
        return pa.chunked_array([pa.array(new, pa.list_(pa.string()))])
    texts: Sequence[str | None] = [separator.join(labels) if labels else None for labels in new]
    return pa.chunked_array([pa.array(texts, pa.string())])
