"""An intruder who counts the cost, and a publisher who counts the benefit (Wan et al. 2015)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import BeforeValidator

from discreet.errors import BadInput, nearest
from discreet.generalization.population import Population, is_table
from discreet.parameters import Constraints, check_declared, number

# A quotient this near to a whole number is one.
_NEAR = 1e-9


@dataclass(frozen=True)
class Figures:
    """What an attack costs and gains, and what a record is worth, for a model and a quality."""

    cost: float
    gain: float
    loss: float
    benefit: float
    constraints: ClassVar[Constraints] = {
        "cost": number(above=0),
        "gain": number(least=0),
        "loss": number(least=0),
        "benefit": number(above=0),
        "population": is_table(optional=True),
    }

    def __post_init__(self) -> None:
        check_declared(self)

    @property
    def figures(self) -> np.ndarray:
        """The four figures, for compiled code."""
        return np.array([self.cost, self.gain, self.loss, self.benefit], np.float64)

    @property
    def no_attack(self) -> int:
        """The records among which an attack on one does not pay, so many or more."""
        ratio = self.gain / self.cost
        whole = round(ratio)
        if abs(ratio - whole) <= _NEAR * max(ratio, 1.0):
            return whole + 1
        return math.ceil(ratio)


@dataclass(frozen=True)
class Payout(Figures):
    """What an attack on a record costs and gains, and what a released record is worth.

    The first four are of one record and in the same currency.

    Parameters
    ----------
    cost : float
        What it costs the intruder to try.
    gain : float
        What the intruder gains if the record is found.
    loss : float
        What the publisher then loses.
    benefit : float
        What the publisher has of a record that is released as it was; of one that lost a share of
        its information the rest of that.
    journalist : bool
        True: the intruder does not know who is in the table, and finds a record among those of the
        population that a privacy model names; False: among those of its class.

    Examples
    --------
    >>> Payout(cost=4, gain=300, loss=300, benefit=1200).no_attack
    76
    """

    journalist: bool = False


@dataclass(frozen=True)
class Profitability(Figures):
    """No class is released that costs its publisher more than it is worth.

    An intruder attacks a record where what is gained, times the chance to find it, is more than an
    attack costs; the chance is one by the records of its class, or by those of the population with
    its labels. A class is kept if what the publisher has of its records is more than what is lost
    by attacks on them.

    Parameters
    ----------
    cost : float
        What it costs the intruder to try to find a record.
    gain : float
        What the intruder gains if it is found.
    loss : float
        What the publisher then loses.
    benefit : float
        What the publisher has of a record that is released as it was.
    attack : bool
        False: classes are so large that no attack pays, which is k-anonymity, or k-map.
    population : str, Path or table, optional
        Its table, the sample included: a file or a frame. The intruder is then a journalist, who
        does not know who is in the table; without, a prosecutor, who does.

    Examples
    --------
    >>> Profitability(cost=4, gain=300, loss=300, benefit=1200, attack=False).k
    76
    """

    attack: bool = True
    population: Population | None = field(default=None, kw_only=True)
    model: Literal["profitability"] = field(default="profitability", init=False, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.population is not None:
            object.__setattr__(self, "population", Population.from_spec(self.population))

    @property
    def journalist(self) -> bool:
        """True where a record is found among those of the population."""
        return self.population is not None

    @property
    def k(self) -> int:
        """The fewest records that any class can have that is kept; in the population, if given."""
        if not self.attack:
            return self.no_attack
        # Attacked classes of less would cost more than their records are worth even as they are.
        large = math.ceil(self.gain / self.cost * (1 - _NEAR))
        worth = math.floor(self.loss / self.benefit * (1 - _NEAR)) + 1
        return max(1, min(large, worth))


def attacks_of(models: Any) -> Profitability | None:
    """Return the model that looks at what classes pay; None where there is none.

    Raises
    ------
    BadInput
        Where there are several.
    """
    found = [m for m in models if isinstance(m, Profitability) and m.attack]
    if len(found) > 1:
        raise BadInput("profitability is named twice; name it once, or with attack = false")
    return found[0] if found else None


def read_payout(given: Any) -> Any:
    """Make the figures of a payout from a recipe's table; what they are already stays.

    Examples
    --------
    >>> read_payout({"cost": 4, "gain": 300, "loss": 300, "benefit": 1200})
    Payout(cost=4, gain=300, loss=300, benefit=1200, journalist=False)
    """
    if given is None or isinstance(given, Figures):
        return given
    if not isinstance(given, Mapping):
        raise BadInput(
            "payout must be such as Payout(4, 300, 300, 1200) or "
            f"{{ cost = 4, gain = 300, loss = 300, benefit = 1200 }}, not {given!r}"
        )
    known = [f.name for f in fields(Payout)]
    needed = [f.name for f in fields(Figures)]
    for key in given:
        if key not in known:
            raise BadInput(f"payout has no figure '{key}'; {nearest(str(key), known)}")
    if missing := [name for name in needed if name not in given]:
        raise BadInput(f"payout needs {missing[0]}")
    return Payout(**given)


# As a recipe or a parameter gives it.
PayoutFigures = Annotated[Payout, BeforeValidator(read_payout)]
