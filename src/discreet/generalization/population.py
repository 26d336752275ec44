"""Privacy models that look beyond the table, at the population of which it is a sample."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Number
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic_core import CoreSchema, core_schema

from discreet.engines.choice import choose, open_engine
from discreet.errors import BadInput, nearest
from discreet.parameters import Constraints, Rule, check_declared, is_whole, number, whole
from discreet.table.native import to_arrow

PopulationEstimator = Literal["poisson", "zero-truncated"]
# Distinct tuples that are taken into memory at once, at some 100 bytes each.
_MOST_TUPLES = 1 << 24


class Population:
    """The table of a population, the sample included: a file that is read when needed, or a frame.

    Parameters
    ----------
    source : str, Path or table
        A file of any format that tables are read from, a folder of Parquet files, or a pandas,
        polars or pyarrow table.

    Examples
    --------
    >>> people = Population(pa.table({"age": [31, 31, 52], "sex": ["f", "f", "m"]}))
    >>> tuples, counts = people.counted({"age": pa.int64()})
    >>> tuples["age"].to_pylist(), counts.tolist()
    ([31, 52], [2, 1])
    """

    def __init__(self, source: Any) -> None:
        named = isinstance(source, str | Path)
        # From any folder: a release keeps its recipe, which names the file.
        self.source = Path(source).absolute() if named else to_arrow(source)

    @classmethod
    def from_spec(cls, given: Any) -> Population:
        """Take a population as a recipe or a parameter gives it."""
        return given if isinstance(given, Population) else cls(given)

    @property
    def spec(self) -> str:
        """The population as a recipe has it: the path of its file."""
        if isinstance(self.source, Path):
            return str(self.source)
        raise BadInput("a recipe names the file of its population; write the frame to one")

    def counted(self, types: Mapping[str, pa.DataType]) -> tuple[pa.Table, np.ndarray]:
        """Count the records of each distinct tuple of some columns, in the types of the sample's.

        Of a file that is larger than memory, DuckDB counts them.
        """
        name = choose("auto", self.source)
        with open_engine(name) as engine:
            frame = engine.read(self.source, lambda _: list(types))
            for column in types:
                if column not in frame.schema.names:
                    raise BadInput(
                        f"the population has no column '{column}'; "
                        + nearest(column, frame.schema.names)
                    )
            if frame.about_how_many(list(types)) > _MOST_TUPLES:
                raise BadInput(
                    f"{self} has more than {_MOST_TUPLES:,} distinct combinations of "
                    f"{', '.join(types)}; round or group them first"
                )
            tuples, counts = frame.counts(list(types))
        columns = {c: _as_type(tuples[c], kind, c) for c, kind in types.items()}
        return pa.table(columns), counts

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Population):
            return False
        if isinstance(self.source, Path) or isinstance(other.source, Path):
            return self.source is other.source or str(self.source) == str(other.source)
        return self.source is other.source or bool(self.source.equals(other.source))

    def __hash__(self) -> int:
        return hash(self.source if isinstance(self.source, Path) else len(self.source))

    def __repr__(self) -> str:
        if isinstance(self.source, Path):
            # Where the file is is nobody's business.
            return f"the population in {self.source.name}"
        return f"a population of {len(self.source):,} records"

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> CoreSchema:
        """Let a recipe hold the path of a population."""
        return core_schema.no_info_plain_validator_function(
            cls.from_spec,
            serialization=core_schema.plain_serializer_function_ser_schema(lambda x: x.spec),
        )

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: Any) -> dict[str, Any]:
        """Describe what a recipe may hold, for editors."""
        said = "The path of the population's table, the sample included."
        return {"type": "string", "title": "Population", "description": said}


def _as_type(column: pa.ChunkedArray, kind: pa.DataType, name: str) -> pa.ChunkedArray:
    """Return a column in the type of the sample's, without categories."""
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    try:
        return column.cast(kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise BadInput(
            f"column '{name}' holds {kind} in the table and {column.type} in the population; "
            "give both the same type"
        ) from None


def _is_table(given: Any) -> bool:
    if isinstance(given, str | Path):
        return bool(str(given))
    return given is not None and not isinstance(given, Number | np.bool_)


def is_table(optional: bool = False) -> Rule:
    """Return the rule of a parameter that is the table of a population."""
    wanted = "the table of the population: a file or a frame, the sample included"
    return Rule(wanted=wanted, good=_is_table, optional=optional)


_IS_POPULATION = Rule(
    wanted="the number of the population's records, or its table: a file or a frame",
    good=lambda x: is_whole(x, 1) or _is_table(x),
)


@dataclass(frozen=True)
class KMap:
    """Every class has at least k records in the population, of which the table is a sample.

    With the table of the population these are counted: its records are generalized as the sample's
    are, and are not released. Without, they are estimated from the number of the population's
    records: with f the share of them that is in the sample, a class of k in the population has more
    than m records in the sample with a probability of at most `significance`, so that m + 1 records
    are enough (El Emam and Dankar 2008; Pannekoek 1999).

    Parameters
    ----------
    k : int
        The fewest records of a class, in the population.
    population : int, str, Path or table
        The number of its records; or its table, the sample included: a file or a frame.
    estimator : {"poisson", "zero-truncated"}
        Without a table: the records of a class in the sample are Poisson with mean f k, the
        default; or so, given that there are any.
    significance : float
        Without a table; 0.05 by default.
    arx : bool
        Under `"poisson"`, m + 2 records, as ARX asks for.

    Examples
    --------
    >>> KMap(20, population=60_324).least(30_162)
    16
    >>> KMap(5, population="register.parquet")
    KMap(k=5, population=the population in register.parquet)
    """

    k: int
    population: Population | int = field(kw_only=True)
    estimator: PopulationEstimator | None = field(default=None, kw_only=True)
    significance: float | None = field(default=None, kw_only=True)
    arx: bool = field(default=False, kw_only=True)
    model: Literal["k-map"] = field(default="k-map", init=False, repr=False)

    constraints: ClassVar[Constraints] = {
        "k": whole(1),
        "population": _IS_POPULATION,
        "significance": number(above=0, most=0.5, optional=True),
    }

    def __post_init__(self) -> None:
        check_declared(self)
        if isinstance(self.population, int | np.integer):
            object.__setattr__(self, "population", int(self.population))
            object.__setattr__(self, "estimator", self.estimator or "poisson")
            object.__setattr__(self, "significance", self.significance or 0.05)
        else:
            if self.estimator is not None or self.significance is not None:
                raise BadInput(
                    "estimator and significance belong to a k-map whose population is a number; "
                    "in a table it is counted"
                )
            object.__setattr__(self, "population", Population.from_spec(self.population))
        if self.arx and self.estimator != "poisson":
            raise BadInput(
                "arx = true belongs to estimator = 'poisson': elsewhere ARX does as here"
            )

    def least(self, n: int) -> int:
        """Return the records that a class needs in a sample of n, where these are estimated."""
        assert isinstance(self.population, int)
        assert self.significance is not None
        if self.population < n:
            raise BadInput(
                f"the population of {self.population:,} records is smaller than the table, which "
                f"has {n:,}; it includes them"
            )
        if self.population < self.k:
            raise BadInput(
                f"no class can have k = {self.k:,} records in a population of "
                f"{self.population:,}; take a smaller k"
            )
        mean = n / self.population * self.k
        truncated = self.estimator == "zero-truncated"
        # Summed from the first count that there can be; in logarithms, since e^-mean may be 0.
        m = 1 if truncated else 0
        whole = -math.expm1(-mean) if truncated else 1.0
        reached = _chance(m, mean)
        # In floats the sum may stay below 1, and more than k records are never needed.
        while m < self.k and reached < (1 - self.significance) * whole:
            m += 1
            reached += _chance(m, mean)
        return min(m + (2 if self.arx else 1), self.k, n)

    def __repr__(self) -> str:
        given: dict[str, Any] = {
            "k": self.k,
            "population": self.population,
            "estimator": self.estimator,
        }
        given |= {"significance": self.significance, "arx": self.arx or None}
        said = [f"{name}={value!r}" for name, value in given.items() if value is not None]
        return f"KMap({', '.join(said)})"


def _chance(count: int, mean: float) -> float:
    """Return the probability of a count under Poisson."""
    return math.exp(count * math.log(mean) - mean - math.lgamma(count + 1))


@dataclass(frozen=True)
class DeltaPresence:
    """Of every class's records in the population, a share between two bounds is in the table.

    Who knows that somebody is in the population then learns little about whether they are in the
    table (Nergiz, Atzori and Clifton 2007). With a minimum above 0, every class of the population
    must have records in the table.

    Parameters
    ----------
    minimum, maximum : float
        Shares of 0 to 1.
    population : str, Path or table
        Its table, the sample included: a file or a frame.

    Examples
    --------
    >>> DeltaPresence(0, 0.2, population="register.parquet")
    DeltaPresence(minimum=0, maximum=0.2, population=the population in register.parquet)
    """

    minimum: float
    maximum: float
    population: Population = field(kw_only=True)
    model: Literal["delta-presence"] = field(default="delta-presence", init=False, repr=False)

    constraints: ClassVar[Constraints] = {
        "minimum": number(least=0, most=1),
        "maximum": number(least=0, most=1),
        "population": is_table(),
    }

    def __post_init__(self) -> None:
        check_declared(self)
        if self.minimum > self.maximum or self.maximum == 0:
            raise BadInput(
                f"minimum = {self.minimum:g} and maximum = {self.maximum:g} leave no share of the "
                "population to the table; the maximum is above 0, and not below the minimum"
            )
        object.__setattr__(self, "population", Population.from_spec(self.population))


def table_of(models: Sequence[Any]) -> Population | None:
    """Return the population that models count in, if they do.

    Raises
    ------
    BadInput
        Where they name several.
    """
    given = [m.population for m in models if isinstance(getattr(m, "population", None), Population)]
    for one in given[1:]:
        if one != given[0]:
            raise BadInput(
                "the privacy models name several populations; a table is a sample of one"
            )
    return given[0] if given else None


def refuse_table(models: Sequence[Any], who: str) -> None:
    """Refuse models that count in the table of a population, and say why and what to do."""
    for model in models:
        if isinstance(getattr(model, "population", None), Population):
            raise BadInput(f"{model.model} counts classes in the table of a population, and {who}")


@dataclass(frozen=True)
class Counted:
    """The distinct tuples of a population beside the columns of a sample.

    Attributes
    ----------
    columns : dict of str to pyarrow.ChunkedArray
        Those of the sample with those of the tuples at the end, as dictionaries.
    counts : ndarray of int64
        The records of each tuple.
    """

    columns: dict[str, pa.ChunkedArray]
    counts: np.ndarray

    @classmethod
    def beside(cls, population: Population, sample: Mapping[str, pa.ChunkedArray]) -> Counted:
        """Count a population by the columns of a sample, which are dictionaries."""
        tuples, counts = population.counted({name: c.type for name, c in sample.items()})
        return cls({name: _joined(c, tuples[name]) for name, c in sample.items()}, counts)


def _joined(column: pa.ChunkedArray, more: pa.ChunkedArray) -> pa.ChunkedArray:
    """Append values to a dictionary; those that it does not list follow, in their order."""
    column = column.unify_dictionaries()
    listed = column.chunk(0).dictionary if column.num_chunks else pa.array([], more.type)
    new = more.filter(pc.invert(pc.is_in(more, value_set=listed))).unique().drop_null()
    values = pa.concat_arrays([listed, new.take(pc.sort_indices(new))])
    places = pc.index_in(more.combine_chunks(), value_set=values, skip_nulls=True)
    indices = [chunk.indices.cast(pa.int32()) for chunk in column.chunks]
    ordered = column.type.ordered
    chunks = [
        pa.DictionaryArray.from_arrays(one, values, ordered=ordered) for one in [*indices, places]
    ]
    return pa.chunked_array(chunks)
