"""What a shell completes where an option takes one of a few names.

The library is imported by the functions that need it, when somebody presses Tab.
"""

from __future__ import annotations

from collections.abc import Iterable

ENGINES = ("auto", "memory", "duckdb", "spark")


def _begin(incomplete: str, names: Iterable[str]) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]


def engines(incomplete: str) -> list[str]:
    """Complete an engine that protects.

    Examples
    --------
    >>> engines("d")
    ['duckdb']
    """
    return _begin(incomplete, ENGINES)


def measuring(incomplete: str) -> list[str]:
    """Complete an engine that measures and checks."""
    return _begin(incomplete, ENGINES[:3])


def formats(incomplete: str) -> list[str]:
    """Complete a format of files, or the last of several with commas."""
    from discreet.table.signatures import FORMATS

    *before, _ = incomplete.split(",")
    known = dict.fromkeys(suffix.removeprefix(".") for suffix in FORMATS)
    return _begin(incomplete, (",".join([*before, name]) for name in known if name not in before))


def measures(incomplete: str) -> list[str]:
    """Complete the name of a measure."""
    from discreet.assessment.catalogue import measures as known

    return _begin(incomplete, known())


def risks(incomplete: str) -> list[str]:
    """Complete a figure of risk that releases can be ranked by."""
    from discreet.assessment.catalogue import axes

    return _begin(incomplete, ("linkage", *axes("risk")))


def losses(incomplete: str) -> list[str]:
    """Complete a figure of loss that releases can be ranked by."""
    from discreet.assessment.catalogue import axes

    return _begin(incomplete, axes("utility"))


def policies(incomplete: str) -> list[str]:
    """Complete the name of a shipped policy."""
    from discreet.recipe.policies import shipped

    return _begin(incomplete, shipped())


def parameters(incomplete: str) -> list[str]:
    """Complete a method and its parameter, as `generalize.suppression_limit=`."""
    from discreet.registry import methods
    from discreet.registry import parameters as of

    known = (f"{name}.{own}=" for name, method in methods().items() for own, *_ in of(method))
    return _begin(incomplete, known)


def best(incomplete: str) -> list[str]:
    """Complete what the best of a sweep is told by."""
    from discreet.tuning.swept import COLUMNS

    return _begin(incomplete, COLUMNS)


def papers(incomplete: str) -> list[str]:
    """Complete the name of a paper."""
    from discreet.reproduce import PAPERS

    return _begin(incomplete, (*PAPERS, "all"))
