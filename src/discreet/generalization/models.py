"""The privacy models: what each of them says, and how a recipe gives it.

A class is the set of records that share their quasi-identifiers. p is the distribution of a
confidential column in the class, q over all records.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Annotated, Any, ClassVar, Literal, get_args

from pydantic import BeforeValidator

from discreet.errors import BadInput, nearest
from discreet.generalization.hierarchy import Hierarchy
from discreet.generalization.population import DeltaPresence, KMap
from discreet.generalization.profit import Profitability
from discreet.generalization.targets import LargestRisk, Whole
from discreet.parameters import Constraints, Rule, check_declared, number, whole

Diversity = Literal["distinct", "entropy", "recursive"]
Estimator = Literal["shannon", "grassberger"]
Distance = Literal["equal", "ordered", "hierarchical"]


class _Declared:
    """Base of the models: their parameters keep their rules."""

    constraints: ClassVar[Constraints] = {
        "k": whole(1),
        "column": Rule(
            wanted="the name of a confidential column",
            good=lambda x: bool(x) and isinstance(x, str),
        ),
        "c": number(above=0, optional=True),
        "t": number(least=0, most=1),
        "delta": number(above=0),
        "beta": number(above=0),
        "alpha": number(above=0, most=1),
        "order": Rule(
            wanted="a list of two or more different values",
            good=lambda x: (
                isinstance(x, list | tuple)
                and all(isinstance(one, str) for one in x)
                and len(x) == len(set(x)) > 1
            ),
            optional=True,
        ),
    }

    def __post_init__(self) -> None:
        check_declared(self)


@dataclass(frozen=True)
class KAnonymity(_Declared):
    """Every class has at least k records.

    Parameters
    ----------
    k : int
        The fewest records, or units, that share a combination of values.

    Examples
    --------
    >>> KAnonymity(5)
    KAnonymity(k=5)
    """

    k: int
    model: Literal["k-anonymity"] = field(default="k-anonymity", init=False, repr=False)


@dataclass(frozen=True)
class LDiversity(_Declared):
    """Every class has l well represented values of a confidential column.

    Parameters
    ----------
    l : float
        A whole number unless `kind` is `"entropy"`.
    column : str
        The confidential column.
    kind : {"distinct", "entropy", "recursive"}
        At least l distinct values; exp(Shannon entropy) of at least l; or
        r_1 < c (r_l + ... + r_m), the counts r in falling order.
    c : float
        Of the recursive kind, and needed there.
    estimator : {"shannon", "grassberger"}
        Of the entropy kind: the entropy of the class as it is, the default; or an estimate of that
        of what it is a sample of, G(n) - sum c G(c) / n with the counts c (Grassberger 2003). The
        estimate is larger, so that more classes keep it; they have l distinct values besides.

    Examples
    --------
    >>> LDiversity(3, column="diagnosis")
    LDiversity(l=3, column='diagnosis', kind='distinct', c=None, estimator=None)
    """

    l: float  # noqa: E741
    column: str = field(kw_only=True)
    kind: Diversity = field(default="distinct", kw_only=True)
    c: float | None = field(default=None, kw_only=True)
    estimator: Estimator | None = field(default=None, kw_only=True)
    model: Literal["l-diversity"] = field(default="l-diversity", init=False, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        (number(least=1) if self.kind == "entropy" else whole(1)).check("l", self.l)
        if (self.kind == "recursive") != (self.c is not None):
            raise BadInput("c belongs to recursive l-diversity, and is needed there, such as c = 2")
        if self.estimator is not None and self.kind != "entropy":
            raise BadInput(
                f"estimator = '{self.estimator}' belongs to entropy l-diversity, and the kind is "
                f"'{self.kind}'"
            )


@dataclass(frozen=True)
class TCloseness(_Declared):
    """The distribution of a confidential column in every class is near that over all records.

    Parameters
    ----------
    t : float
        Largest distance, of 0 to 1.
    column : str
        The confidential column.
    distance : {"equal", "ordered", "hierarchical"}
        0.5 sum |p - q|; sum |cumulated (p - q)| / (m - 1), for numbers, ordered categories and text
        with an `order`; or the earth mover's distance where two values are (lowest common level) /
        height apart.
    hierarchy : Hierarchy or dict
        Of the column, for `"hierarchical"`.
    order : list of str
        Of a text column, for `"ordered"`: all its values, from one end to the other. Those that
        the table does not hold are passed over: m is the number of those that it does.

    Examples
    --------
    >>> TCloseness(0.2, column="salary", distance="ordered")
    TCloseness(t=0.2, column='salary', distance='ordered', hierarchy=None, order=None)
    >>> TCloseness(0.2, column="pain", distance="ordered", order=["none", "mild", "severe"]).order
    ('none', 'mild', 'severe')
    """

    t: float
    column: str = field(kw_only=True)
    distance: Distance = field(default="equal", kw_only=True)
    hierarchy: Hierarchy | None = field(default=None, kw_only=True)
    order: tuple[str, ...] | None = field(default=None, kw_only=True)
    model: Literal["t-closeness"] = field(default="t-closeness", init=False, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.distance == "hierarchical") != (self.hierarchy is not None):
            raise BadInput(
                f"the t-closeness of '{self.column}' needs a hierarchy where its distance is "
                "'hierarchical', and takes none elsewhere"
            )
        if self.order is not None:
            if self.distance != "ordered":
                raise BadInput(
                    f"order belongs to distance = 'ordered', and that of '{self.column}' is "
                    f"'{self.distance}'"
                )
            object.__setattr__(self, "order", tuple(self.order))
        if self.hierarchy is not None:
            object.__setattr__(self, "hierarchy", Hierarchy.from_spec(self.hierarchy))


@dataclass(frozen=True)
class BetaLikeness(_Declared):
    """In no class does the confidence about a value rise by more than beta, (p - q) / q.

    Parameters
    ----------
    beta : float
        Largest relative gain.
    column : str
        The confidential column.
    enhanced : bool
        The gain is also at most -ln q.

    Examples
    --------
    >>> BetaLikeness(1.0, column="diagnosis")
    BetaLikeness(beta=1.0, column='diagnosis', enhanced=False)
    """

    beta: float
    column: str = field(kw_only=True)
    enhanced: bool = field(default=False, kw_only=True)
    model: Literal["beta-likeness"] = field(default="beta-likeness", init=False, repr=False)


@dataclass(frozen=True)
class DeltaDisclosure(_Declared):
    """In every class, each value that it has is about as common as over all: |log2(p / q)| < delta.

    Nothing is asked of values that the class does not have.

    Parameters
    ----------
    delta : float
        Above 0.
    column : str
        The confidential column.

    Examples
    --------
    >>> DeltaDisclosure(1.5, column="diagnosis")
    DeltaDisclosure(delta=1.5, column='diagnosis')
    """

    delta: float
    column: str = field(kw_only=True)
    model: Literal["delta-disclosure"] = field(default="delta-disclosure", init=False, repr=False)


@dataclass(frozen=True)
class AlphaKAnonymity(_Declared):
    """Every class has at least k records, and no value has a share above alpha in it.

    Parameters
    ----------
    alpha : float
        Largest share of one value, above 0 and at most 1.
    k : int
        The fewest records of a class.
    column : str
        The confidential column.

    Examples
    --------
    >>> AlphaKAnonymity(0.5, 5, column="diagnosis")
    AlphaKAnonymity(alpha=0.5, k=5, column='diagnosis')
    """

    alpha: float
    k: int
    column: str = field(kw_only=True)
    model: Literal["alpha-k-anonymity"] = field(default="alpha-k-anonymity", init=False, repr=False)


_Model = (
    KAnonymity
    | LDiversity
    | TCloseness
    | BetaLikeness
    | DeltaDisclosure
    | AlphaKAnonymity
    | KMap
    | DeltaPresence
    | Profitability
    | LargestRisk
    | Whole
)
MODELS: dict[str, Any] = {kind.model: kind for kind in get_args(_Model)}


def read_model(given: Any) -> Any:
    """Make a privacy model from a recipe's table; what is one already stays.

    Examples
    --------
    >>> read_model({"model": "k-anonymity", "k": 5})
    KAnonymity(k=5)
    """
    if isinstance(given, get_args(_Model)):
        return given
    if not isinstance(given, Mapping):
        raise BadInput(
            f'a privacy model must be such as KAnonymity(5) or {{ model = "k-anonymity", k = 5 }}'
            f", not {given!r}"
        )
    name = given.get("model")
    if name is None:
        raise BadInput(
            f'a privacy model needs its name, such as model = "k-anonymity", in {given!r}'
        )
    if not isinstance(name, str) or name not in MODELS:
        raise BadInput(f"there is no privacy model '{name}'; {nearest(str(name), MODELS)}")
    known = [f.name for f in fields(MODELS[name]) if f.init]
    values = {key: value for key, value in given.items() if key != "model"}
    for key in values:
        if key not in known:
            raise BadInput(f"{name} has no parameter '{key}'; {nearest(key, known)}")
    try:
        return MODELS[name](**values)
    except TypeError:
        needed = [f.name for f in fields(MODELS[name]) if f.init and f.name not in values]
        raise BadInput(f"{name} needs {needed[0]}") from None


# A model as a recipe or a parameter gives it.
PrivacyModel = Annotated[_Model, BeforeValidator(read_model)]


def read_models(given: Any) -> list[Any]:
    """Take one model or several, as objects or tables."""
    several = isinstance(given, Sequence) and not isinstance(given, str)
    models = [read_model(one) for one in (given if several else [given])]
    if not models:
        raise BadInput("privacy is empty; name a model, such as KAnonymity(5)")
    return models


def confidential_columns(models: Sequence[Any]) -> list[str]:
    """Name the columns that models look at."""
    return list(dict.fromkeys(m.column for m in models if hasattr(m, "column")))


def smallest_class(models: Sequence[Any], n: int | None = None) -> int:
    """Return K: the largest k of the models, 1 where none has one.

    The k of a model with a population is of that. Where it is estimated, n records, or units, of
    the sample tell what a class needs; without, it is no more than k.

    Examples
    --------
    >>> smallest_class([KAnonymity(5), KMap(100, population=60_000)], 600)
    5
    """
    sizes = [m.k for m in models if hasattr(m, "k") and getattr(m, "population", None) is None]
    for model in models:
        if isinstance(model, KMap) and isinstance(model.population, int):
            sizes.append(model.k if n is None else model.least(n))
    return max(sizes, default=1)
