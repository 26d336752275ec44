"""Groups of names proposed from a column: by words that they share, and the rare ones together."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

# The share of the records whose values a level keeps apart, the commonest first; the others are one
# group. The finest level first.
_KEPT = (0.97, 0.8, 0.5)
_GROUPS = ("rare", "less common", "other")
# Up to these shares of the records a group is called so.
_RARE = (0.05, 0.25)
_WORD = re.compile(r"[\W_]+")
# Words at the beginning or end of a name that say nothing of what it is.
_EMPTY = {
    "the", "and", "not", "non", "with", "without", "never", "other", "others", "for", "from", "der",
    "die", "das", "und", "mit", "los", "las", "con", "una", "les", "des", "aux", "avec",
}  # fmt: skip
_SHORTEST = 3

# Stages of education from the lowest on, by what their names hold; the first that fits.
_STAGES = {
    "doctorate or master": r"doctor|ph\.?d|master|magister|msc|\bma\b|postgrad|prof.?school",
    "bachelor": r"bachelor|licen|bsc|\bba\b|undergrad|\bdegree|university|higher",
    "after school": r"assoc|some.?college|vocation|apprentice|technical|trade|post.?secondary|"
    r"diploma|tertiary",
    "upper secondary": r"hs.?grad|high.?school|upper.?sec|12th|11th|abitur|a.?level|bacca|"
    r"grade.?1[12]|^secondary",
    "lower secondary": r"lower.?sec|middle|7th|8th|9th|10th|grade.?([789]|10)\b|junior",
    "primary or none": r"primary|elementary|none|no.?(school|educ|formal|qualif)|pre.?school|"
    r"kinder|1st|4th|5th|6th|illiterate|grade.?[1-6]\b",
}
_ABOVE = {
    "doctorate or master": "higher",
    "bachelor": "higher",
    "after school": "secondary and more",
    "upper secondary": "secondary and more",
    "lower secondary": "basic",
    "primary or none": "basic",
}
_SCHOOLING = re.compile(r"(?i)educ|school|degree|bildung|qualif|studies|diplom")

Tree = dict[str, Any]
# Of each value its labels, the finest first.
Labels = dict[str, list[str]]


def propose_tree(values: Sequence[str], counts: np.ndarray, name: str) -> Tree | None:
    """Group names as a person would who knows their words and how many records hold them.

    Names that begin or end with the same word are a group of the first level. Above that the
    commonest stay, and the others become one group, which takes in more at each level.

    Examples
    --------
    >>> jobs = ["Self-emp-inc", "Self-emp-not-inc", "Private", "State-gov", "Local-gov"]
    >>> tree = propose_tree(jobs, np.array([5, 9, 70, 8, 7]), "workclass")
    >>> for group, inside in tree.items():
    ...     print(group, inside)
    Private ['Private']
    other {'gov': ['State-gov', 'Local-gov'], 'Self-emp': ['Self-emp-not-inc', 'Self-emp-inc']}
    """
    stages = _schooling(values, name)
    if stages is not None:
        return _tree(stages)
    first = _by_words(values)
    records = dict(zip(values, counts.tolist(), strict=True))
    ranked = _ranked(first, records)
    levels = [first] if len(ranked) < len(values) else []
    levels += _by_counts(first, ranked)
    if not levels:
        return None
    place = {label: number for number, label in enumerate(ranked)}
    order = sorted(values, key=lambda v: (place[first[v]], -records[v], v))
    return _tree({value: [level[value] for level in levels] for value in order})


def _schooling(values: Sequence[str], name: str) -> Labels | None:
    """Return stages of education, if that is what all the names are."""
    if not _SCHOOLING.search(name):
        return None
    found = {}
    for value in values:
        stage = next((s for s, like in _STAGES.items() if re.search(f"(?i){like}", value)), None)
        if stage is None:
            return None
        found[value] = stage
    stages = [stage for stage in reversed(_STAGES) if stage in found.values()]
    if not 3 <= len(stages) < len(values):
        return None
    ordered = sorted(values, key=lambda value: stages.index(found[value]))
    return {value: [found[value], _ABOVE[found[value]]] for value in ordered}


def _by_words(values: Sequence[str]) -> dict[str, str]:
    """Return the words that each name begins or ends with together with others, or itself.

    The word that most names share comes first, and takes its names away from the next.
    """
    taken: dict[str, str] = {}
    shared: dict[tuple[bool, str], list[str]] = {}
    for value in values:
        parts = [part for part in _WORD.split(value.casefold()) if part]
        for last in (False, True):
            word = parts[-1 if last else 0] if len(parts) > 1 else ""
            if len(word) >= _SHORTEST and word not in _EMPTY and not word.isdigit():
                shared.setdefault((last, word), []).append(value)
    for (last, _), named in sorted(shared.items(), key=lambda item: (-len(item[1]), item[0])):
        free = [value for value in named if value not in taken]
        if 2 <= len(free) < len(values):
            label = _common(free, last)
            if label not in values and label not in taken.values():
                taken |= dict.fromkeys(free, label)
    return {value: taken.get(value, value) for value in values}


def _common(names: Sequence[str], last: bool) -> str:
    """Return all the words that names begin or end with, as the first of them writes these."""
    split = [re.findall(r"[\W_]+|[^\W_]+", name) for name in names]
    split = [parts[::-1] if last else parts for parts in split]
    alike = 0
    for parts in zip(*split, strict=False):
        if len({part.casefold() for part in parts}) > 1:
            break
        alike += 1
    kept = split[0][:alike]
    while kept and not _WORD.sub("", kept[-1]):
        kept.pop()
    return "".join(kept[::-1] if last else kept)


def _ranked(first: Mapping[str, str], counts: Mapping[str, int]) -> dict[str, int]:
    """Return the labels of the first level with their records, the commonest first."""
    records: dict[str, int] = {}
    for value, label in first.items():
        records[label] = records.get(label, 0) + counts[value]
    return dict(sorted(records.items(), key=lambda item: (-item[1], item[0])))


def _by_counts(first: Mapping[str, str], ranked: Mapping[str, int]) -> list[dict[str, str]]:
    """Return levels at which the common labels of the first level stay, and the others are one."""
    shares = np.cumsum(list(ranked.values())) / max(sum(ranked.values()), 1)
    kept_at: list[int] = []
    for share in _KEPT:
        # At least two are put together, and one more than before.
        most = (kept_at[-1] if kept_at else len(ranked) - 1) - 1
        kept = min(int(np.searchsorted(shares, share - 1e-12)) + 1, most)
        if kept >= 1:
            kept_at.append(kept)
    names = _names([1 - shares[kept - 1] for kept in kept_at], {*first, *ranked})
    common = [set(list(ranked)[:kept]) for kept in kept_at]
    return [
        {value: label if label in kept else rest for value, label in first.items()}
        for kept, rest in zip(common, names, strict=True)
    ]


def _names(shares: Sequence[float], values: Collection[str]) -> list[str]:
    """Name the groups of all but the common, by the share of the records that each holds."""
    taken, place, found = {value.casefold() for value in values}, len(_GROUPS), []
    for share in reversed(shares):
        place = min(place - 1, sum(share > most for most in _RARE))
        found.append(_GROUPS[max(place, 0)])
    return [name if name not in taken else f"{name} values" for name in reversed(found)]


def _tree(labels: Mapping[str, Sequence[str]]) -> Tree:
    """Turn the labels of each value into a tree, the coarsest outside."""
    groups: dict[str, dict[str, list[str]]] = {}
    for value, (*inside, outside) in labels.items():
        groups.setdefault(outside, {})[value] = inside
    return {
        outside: _tree(inner) if any(set(one) - {outside} for one in inner.values()) else [*inner]
        for outside, inner in groups.items()
    }
