"""Hierarchies: what the values of a column become at coarser and coarser levels."""

from __future__ import annotations

import copy
import csv
import inspect
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pydantic_core import CoreSchema, core_schema

from discreet.docstrings import documented, in_short
from discreet.errors import BadInput, nearest
from discreet.generalization._auto import Auto
from discreet.generalization._dates import DEFAULT, Dates
from discreet.generalization._distinct import Distinct, as_text, distinct
from discreet.generalization._intervals import Intervals
from discreet.generalization._rules import Flat, Order, Prefix, Rule
from discreet.generalization._schema import JSON_SCHEMA
from discreet.generalization._show import tree
from discreet.generalization._tables import (
    CsvTable,
    Table,
    plain_tree,
    rows_given,
    rows_of,
    rows_of_tree,
    table_of,
    text_of,
)
from discreet.generalization.ladder import TOP, Ladder


class Hierarchy:
    """What the values of a column become at each level, from the values themselves to `*`.

    Made by one of its class methods. Those that list their values (`from_csv`, `from_table`,
    `groups`, `order` with values) refuse any other value; the rules (`intervals`, `prefix`,
    `dates`, `flat`) have a place for every one. Level 0 is the value as text; the last level is
    `*`, which is put on top of every rule, and of a table where no row ends with it.

    See Also
    --------
    discreet.generalization.ladder.Ladder : a hierarchy laid out for one column.

    Examples
    --------
    >>> import pyarrow as pa
    >>> ages = pa.chunked_array([[34, 38, 91, None, 17]])
    >>> hierarchy = Hierarchy.intervals(widths=[5, 10], upper=90)
    >>> for level in hierarchy.labels(ages):
    ...     print(level.to_pylist())
    ['34', '38', '91', None, '17']
    ['30-34', '35-39', '>=90', None, '15-19']
    ['30-39', '30-39', '>=90', None, '10-19']
    ['*', '*', '*', None, '*']
    >>> ladder = hierarchy.bind(ages, "age")
    >>> ladder.leaves.to_pylist(), ladder.height
    ([17, 34, 38, 91], 3)
    """

    def __init__(self, rule: Rule) -> None:
        self._rule = rule

    @classmethod
    def from_csv(cls, path: str | Path, sep: str | None = ";") -> Hierarchy:
        """Read a hierarchy from a file without header: a value, then its coarser levels.

        Parameters
        ----------
        path : str or Path
            The file; in a recipe seen from its folder.
        sep : str or None
            What separates the cells. Where it is None or does not occur in the file, `;` or `,`,
            whichever gives all rows the same number of cells.
        """
        table = CsvTable(path, sep)
        _ = table.ladder  # Says now what is wrong with the file.
        return cls(table)

    @classmethod
    def from_table(cls, rows: Any) -> Hierarchy:
        """Take a hierarchy from a frame or a list of rows: a value, then its coarser levels.

        Parameters
        ----------
        rows : frame or list of lists
            A row for each value.

        Examples
        --------
        >>> Hierarchy.from_table([["DE", "Europe"], ["FR", "Europe"], ["JP", "Asia"]])
        Hierarchy.from_table(3 values, 2 levels)
        """
        given = rows_given(rows)
        return cls(table_of(given, {"kind": "table", "rows": given}, "the hierarchy"))

    @classmethod
    def groups(cls, tree: Mapping[str, Any]) -> Hierarchy:
        """Take a tree of groups: of each group its values, or its own groups.

        A branch that is less deep than others repeats its lowest group.

        Parameters
        ----------
        tree : mapping
            From the name of each group to the list of its values, or to a mapping of its groups.

        Examples
        --------
        >>> tree = {"Europe": {"West": ["DE", "FR"], "East": ["PL"]}, "Asia": ["JP"]}
        >>> print(Hierarchy.groups(tree).show())
        *
          Europe
            West
              DE
              FR
            East
              PL
          Asia
            Asia
              JP
        """
        rows = rows_of_tree(tree)
        return cls(table_of(rows, {"kind": "groups", "tree": plain_tree(tree)}, "tree"))

    @classmethod
    def intervals(
        cls,
        widths: Sequence[float] | None = None,
        cuts: Sequence[Sequence[float]] | None = None,
        origin: float = 0,
        lower: float | None = None,
        upper: float | None = None,
        whole: bool | None = None,
    ) -> Hierarchy:
        """Merge numbers into intervals.

        Parameters
        ----------
        widths : list of float
            Of each level; each a multiple of the one before.
        cuts : list of list of float
            Instead of widths: the points of each level where an interval begins; each level has
            some of the points of the one before. The ends are open.
        origin : float
            Where one of the intervals begins.
        lower, upper : float, optional
            Values below `lower` are one interval, `<20`, and values from `upper` on, `>=90`.
        whole : bool, optional
            True: intervals are written as whole numbers, `30-39` (39.5 is in it); False: as
            `[30, 40)`. Left out: True where all numbers, those of the column too, are whole.
        """
        return cls(Intervals.make(widths, cuts, origin, lower, upper, whole))

    @classmethod
    def prefix(
        cls,
        stars: Sequence[int] | None = None,
        side: str = "right",
        keep: Sequence[int] | None = None,
    ) -> Hierarchy:
        """Hide characters of codes by stars: `1011*`, `101**`.

        Parameters
        ----------
        stars : list of int, optional
            The number of hidden characters at each level. Left out: 1, 2, ... up to one less
            than the longest value of the column has.
        side : {"right", "left"}
            Where the stars begin.
        keep : list of int, optional
            Instead of stars: the number of first characters that each level shows, the most
            first. For codes of different lengths: `E11.9` is `E11*`, and then `E*`.
        """
        return cls(Prefix.make(stars, side, keep))

    @classmethod
    def dates(cls, levels: Sequence[str] = DEFAULT, format: str | None = None) -> Hierarchy:
        """Merge dates, datetimes or text into calendar periods.

        Parameters
        ----------
        levels : list of str
            The finest first, of day (`2019-04-05`), week (ISO: `2019-W14`), month (`2019-04`),
            quarter (`2019-Q2`), year (`2019`) and decade (`2010s`). Weeks do not nest in what is
            coarser. Datetimes with a zone are taken in that zone.
        format : str, optional
            How text (or a number such as 20191231) is written, such as `%d.%m.%Y`: `%d` is the
            day, `%m` or `%b` the month, `%Y` or `%y` the year, and `%H`, `%M` and `%S` the time.
            Left out: ISO 8601, `2019-12-31`.
        """
        return cls(Dates.make(levels, format))

    @classmethod
    def order(cls, sizes: Sequence[int], values: Sequence[Any] | None = None) -> Hierarchy:
        """Merge neighbouring values, so many distinct ones at each level: `low to middle`.

        Parameters
        ----------
        sizes : list of int
            Of each level; each a multiple of the one before.
        values : list, optional
            All values, in their order. Left out: those of the column, in the order of its
            categories, or from the smallest on.
        """
        rule = Order.make(sizes)
        if values is None:
            return cls(rule)
        if isinstance(values, str) or not isinstance(values, Sequence):
            raise BadInput(f"values must be a list, not {values!r}")
        texts = [text_of(value) for value in values]
        for text, times in Counter(texts).items():
            if times > 1:
                raise BadInput(f"values lists '{text}' {times} times")
        return cls(rule.table(texts, rule.spec() | {"values": texts}))

    @classmethod
    def flat(cls) -> Hierarchy:
        """Have nothing between the values and `*`."""
        return cls(Flat())

    @classmethod
    def auto(cls) -> Hierarchy:
        """Propose a hierarchy from the column; `settle` tells which.

        Numbers become intervals of round widths; dates, written in any usual way, calendar periods;
        ordered categories are merged with their neighbours; codes with digits in them lose
        characters from the right. Names that begin or end alike are a group, and at coarser
        levels all but the commonest are one. Four values or fewer are flat.

        Examples
        --------
        >>> import pyarrow as pa
        >>> Hierarchy.auto().settle(pa.array(range(17, 91)), "age")
        Hierarchy.intervals(widths=[5, 10, 20, 40], upper=90, whole=True)
        """
        return cls(Auto())

    @classmethod
    def from_spec(cls, spec: Hierarchy | Mapping[str, Any] | str | Path) -> Hierarchy:
        """Take a hierarchy as a recipe has it.

        Parameters
        ----------
        spec : Hierarchy, mapping, str or Path
            A mapping has a `kind` and the parameters of the class method of that name (`csv` and
            `table` for `from_csv` and `from_table`). Text is the path of a CSV file. A file is not
            read before it is needed.

        Examples
        --------
        >>> Hierarchy.from_spec({"kind": "prefix", "stars": [2, 4]})
        Hierarchy.prefix(stars=[2, 4])
        """
        if isinstance(spec, Hierarchy):
            return spec
        if isinstance(spec, str | Path):
            return cls(CsvTable(spec, ";"))
        if not isinstance(spec, Mapping):
            raise BadInput(
                "a hierarchy must be a Hierarchy, a table with a kind, or the path of a CSV file, "
                f"not {spec!r}"
            )
        return _make(cls, dict(spec))

    @property
    def listed(self) -> list[str] | None:
        """The values that it lists, as text; None for a rule, which has a place for every one.

        Examples
        --------
        >>> Hierarchy.groups({"Europe": ["DE", "FR"]}).listed
        ['DE', 'FR']
        """
        return list(self._rule.ladder.labels[0]) if isinstance(self._rule, Table) else None

    @property
    def spec(self) -> dict[str, Any]:
        """The hierarchy as a recipe has it: plain data that `from_spec` takes."""
        return copy.deepcopy(self._rule.spec())

    def settle(
        self, column: pa.ChunkedArray | pa.Array, name: str, weights: np.ndarray | None = None
    ) -> Hierarchy:
        """Fix what depends on the column, so that new rows get the labels of the old.

        `auto` becomes what it proposes, `order` a list of the values, `prefix` gets its number of
        levels, `intervals` their way of writing, and a CSV file becomes a table that needs no
        file. `weights` are the records of each row.
        """
        return Hierarchy(self._rule.settle(distinct(column, name, weights), name))

    def bind(self, column: pa.ChunkedArray | pa.Array, name: str) -> Ladder:
        """Lay the hierarchy out for a column.

        Parameters
        ----------
        column : pyarrow.ChunkedArray
            Nulls are left out.
        name : str
            The column's name, for messages.

        Returns
        -------
        Ladder
            Its leaves are the rows of a table, those that the column does not have too; of a rule
            the values of the column, smallest first.
        """
        return self.bind_and_encode(column, name)[0]

    def bind_and_encode(
        self, column: pa.ChunkedArray | pa.Array, name: str, weights: np.ndarray | None = None
    ) -> tuple[Ladder, np.ndarray]:
        """Lay the hierarchy out for a column, and give the leaf of each row; -1 where null.

        `weights` are the records of each row, for messages that count them.
        """
        found = distinct(column, name, weights)
        ladder = self._ladder(found, name)
        if isinstance(self._rule, Table):
            return ladder, ladder.encode_distinct(found, name)
        return ladder, found.codes

    def _ladder(self, found: Distinct, name: str) -> Ladder:
        if isinstance(self._rule, Table):
            return self._rule.ladder
        levels = self._rule.levels(found, name)
        return Ladder.from_levels(found.values, levels, f"column '{name}'")

    def labels(self, values: pa.ChunkedArray | pa.Array, name: str = "values") -> list[pa.Array]:
        """Return what each value becomes, level by level; nulls stay.

        `auto` and `order` look at these values alone: `settle` them on the original column first.
        """
        found = distinct(values, name)
        codes = pa.array(found.codes, mask=found.codes < 0)
        levels = [as_text(found.values), *self._rule.levels(found, name)]
        levels.append(pa.array([TOP] * len(found.values), pa.string()))
        return [level.cast(pa.string()).take(codes) for level in levels]

    def show(
        self, column: pa.ChunkedArray | pa.Array | None = None, name: str = "column", most: int = 50
    ) -> str:
        """Draw the hierarchy as a tree of text, with the number of rows where a column is given.

        Parameters
        ----------
        column : pyarrow.ChunkedArray, optional
            A rule cannot be drawn without one.
        name : str
        most : int
            Lines to draw: levels that would need more are left out, the values first.

        Examples
        --------
        >>> import pyarrow as pa
        >>> zips = pa.array(["10115", "10117", "10117", "20095"])
        >>> print(Hierarchy.prefix(stars=[1, 4]).show(zips))
        *  (4 rows)
          1****  (3 rows)
            1011*  (3 rows)
              10115  (1 row)
              10117  (2 rows)
          2****  (1 row)
            2009*  (1 row)
              20095  (1 row)
        >>> print(Hierarchy.prefix(stars=[1, 4]).show(zips, most=4))
        *  (4 rows)
          1****  (2 values, 3 rows)
          2****  (1 value, 1 row)
        """
        if column is None:
            return tree(self._own_ladder("drawn"), None, most)
        ladder, codes = self.bind_and_encode(column, name)
        counts = np.bincount(codes[codes >= 0], minlength=len(ladder.leaves))
        return tree(ladder, counts, most)

    def to_csv(
        self,
        path: str | Path,
        column: pa.ChunkedArray | pa.Array | None = None,
        name: str = "column",
        sep: str = ";",
    ) -> None:
        """Write the hierarchy to a file that `from_csv` reads: a value, then its coarser levels.

        Parameters
        ----------
        path : str or Path
        column : pyarrow.ChunkedArray, optional
            A rule cannot be written without one: its values become the rows.
        name : str
        sep : str
        """
        ladder = self._own_ladder("written") if column is None else self.bind(column, name)
        with Path(path).open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, delimiter=sep, lineterminator="\n").writerows(rows_of(ladder))

    def _own_ladder(self, done: str) -> Ladder:
        if isinstance(self._rule, Table):
            return self._rule.ladder
        raise BadInput(f"{self!r} lists no values; give the column for which it is to be {done}")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Hierarchy) and self._rule.spec() == other._rule.spec()

    def __hash__(self) -> int:
        return hash(repr(self._rule.spec()))

    def __repr__(self) -> str:
        spec = self.spec
        kind = spec.pop("kind")
        name = {"csv": "from_csv", "table": "from_table"}.get(kind, kind)
        if kind in ("table", "groups") or "values" in spec:
            assert isinstance(self._rule, Table)
            ladder = self._rule.ladder
            return f"Hierarchy.{name}({len(ladder.leaves)} values, {ladder.height} levels)"
        return f"Hierarchy.{name}({', '.join(f'{key}={value!r}' for key, value in spec.items())})"

    def _from_anywhere(self) -> Hierarchy:
        """Return a hierarchy whose file is found from any folder: a release keeps its recipe."""
        rule = self._rule
        if not isinstance(rule, CsvTable) or rule.path.is_absolute():
            return self
        return Hierarchy(CsvTable(rule.path.absolute(), rule.sep))

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> CoreSchema:
        """Let a recipe hold hierarchies as `from_spec` takes them, and write them as `spec`."""
        return core_schema.no_info_plain_validator_function(
            lambda spec: cls.from_spec(spec)._from_anywhere(),
            serialization=core_schema.plain_serializer_function_ser_schema(
                lambda hierarchy: hierarchy.spec
            ),
        )

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: Any) -> dict[str, Any]:
        """Describe what a recipe may hold, for editors, in the words of the class methods."""
        made = copy.deepcopy(JSON_SCHEMA)
        for one in made["anyOf"][1:]:
            kind = one["properties"]["kind"]["const"]
            name = f"from_{kind}" if kind in ("csv", "table") else kind
            said = {"kind": in_short(getattr(cls, name)), **documented(getattr(cls, name))}
            one["description"] = said["kind"]
            one["properties"] = {
                key: {**value, "description": said[key]} for key, value in one["properties"].items()
            }
        return made


def _make(cls: type[Hierarchy], spec: dict[str, Any]) -> Hierarchy:
    """Call the class method of a kind, with its parameters."""
    makers: dict[str, Callable[..., Hierarchy]] = {
        "csv": lambda path, sep=";": cls(CsvTable(path, sep)),
        "table": cls.from_table,
        "groups": cls.groups,
        "intervals": cls.intervals,
        "prefix": cls.prefix,
        "dates": cls.dates,
        "order": cls.order,
        "flat": cls.flat,
        "auto": cls.auto,
    }
    if "kind" not in spec:
        raise BadInput(f"the hierarchy has no kind; known: {', '.join(makers)}")
    kind = spec.pop("kind")
    if not isinstance(kind, str) or kind not in makers:
        raise BadInput(f"there is no hierarchy of kind '{kind}'; {nearest(kind, makers)}")
    known = inspect.signature(makers[kind]).parameters
    for key in spec:
        if key not in known:
            raise BadInput(
                f"a hierarchy of kind '{kind}' has no '{key}'; "
                + (nearest(key, known) if known else "it takes no parameters")
            )
    for key, parameter in known.items():
        if parameter.default is inspect.Parameter.empty and key not in spec:
            raise BadInput(f"a hierarchy of kind '{kind}' needs '{key}'")
    return makers[kind](**spec)
