"""What each column became, in words: its levels with their labels, its values, what is gone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from discreet.report.page import named, share, shortened
from discreet.report.words import level_words, step_in_short

Facts = Mapping[str, Any]
_NAMES = {"household": "replaced by random numbers", "pseudonyms": "replaced by pseudonyms"}
UNCHANGED, DROPPED, STAR = "unchanged", "dropped", "*"
# Labels of a level that are listed; more are counted.
MOST_LABELS = 4
# A share of cells from which a column is told to be removed.
MOST = 0.5


def columns_of(facts: Facts) -> list[dict[str, Any]]:
    """Say of each column of the input what it became.

    Returns one entry a column: `column`, `role`, `became` (in words, with its figures), `how` (the
    same without figures, by which columns can be told together), `short` (several levels in a few
    words, or None), `starred` and `blanked` (shares of the released cells, or None) and `values`
    (how many there were and are, or None).
    """
    log = facts.get("log")
    if not log:
        return []
    return [_column(facts, log, name) for name in log["input"]["columns"]]


def _column(facts: Facts, log: Facts, name: str) -> dict[str, Any]:
    role = log["roles"].get(name, "insensitive")
    entry: dict[str, Any] = {"column": name, "role": role, "starred": None, "blanked": None}
    entry |= {"values": None, "short": None}
    if name in log["dropped"]:
        return entry | {"became": DROPPED, "how": DROPPED}
    if role in _NAMES:
        return entry | {"became": _NAMES[role], "how": _NAMES[role]}
    figures = ((facts.get("assessment") or {}).get("figures") or {}).get("columns", {})
    own = figures.get(name, {})
    entry["values"] = own.get("values")
    entry["blanked"] = blanked_share(log, name)
    words: list[str] = []
    how: list[str] = []
    for asked, decided, done in _steps(facts, log, name):
        told, alike, starred = _step(asked, decided, done, name)
        words += told
        how += alike
        if starred is not None:
            entry["starred"] = starred
            entry["short"] = _in_short(asked, decided, done, name)
    if entry["starred"] is None and own.get("starred"):
        entry["starred"] = own["starred"]
    recounted = bool(words)
    if entry["blanked"]:
        blank = share(entry["blanked"])
        if entry["blanked"] < MOST:
            words = [*words, f"blank for {blank}"]
        else:
            words = [f"removed (blank) for {blank}{', else ' * bool(words)}{', '.join(words)}"]
        how.append("some cells blank")
    if not log["changed_cells"].get(name) and not entry["blanked"]:
        words, how = [], []
    elif (
        recounted and entry["values"] and not entry["starred"] and own.get("kind") != "categorical"
    ):
        before, after = entry["values"]
        if before != after:
            words.insert(0, f"{after:,} values ({before:,} before)")
    return entry | {
        "became": ", ".join(words) or UNCHANGED,
        "how": ", ".join(how) or UNCHANGED,
    }


def blanked_share(log: Facts, name: str) -> float | None:
    """Return the share of a column's cells that were emptied, of records or one by one."""
    cells = (log.get("suppressed") or {}).get("blanked_cells", {}).get(name, 0)
    emptied = [step.get(key, {}) for step in log["steps"] for key in ("blanked", "hidden")]
    cells += sum(own.get(name, 0) for own in emptied)
    return cells / max(1, log["input"]["rows"]) if cells else None


def gone_share(entry: Facts) -> float:
    """Return the share of a column's cells of which nothing is left."""
    return min(1.0, (entry["starred"] or 0.0) + (entry["blanked"] or 0.0))


def _steps(facts: Facts, log: Facts, name: str) -> Iterator[tuple[Facts, Facts, Facts]]:
    recipe, plan = facts.get("recipe"), facts.get("plan")
    if recipe and plan:
        for step in zip(recipe["steps"], plan["steps"], log["steps"], strict=True):
            if name in step[0]["columns"]:
                yield step


def _step(
    asked: Facts, decided: Facts, done: Facts, name: str
) -> tuple[list[str], list[str], float | None]:
    """Say what a step made of a column, with and without figures, and the share that is `*`."""
    joint = decided.get("joint", {})
    if joint.get("kind") == "generalize":
        found = levels_of(asked, joint, done, name)
        total = max(1, sum(records for *_, records in found))
        parts = [(words, records / total) for _, words, records in found if words != STAR]
        starred = sum(records for _, words, records in found if words == STAR) / total
        return [_shares(parts, starred)], [_alike(parts, starred)], starred
    if joint.get("kind") == "mondrian":
        return _ranges(asked, joint, done, name)
    if joint.get("kind") == "local-suppression":
        return [], [], None
    words = step_in_short(asked)
    return [words], [words], None


def levels_of(asked: Facts, joint: Facts, done: Facts, name: str) -> list[tuple[int, str, int]]:
    """Return the levels of a column, the finest first: number, words with labels, records.

    The last is the top, where all is `*`: what is suppressed is there too, unless it is left out.
    """
    labels = joint["hierarchies"][name]["labels"]
    top = len(labels) - 1
    records: Counter[int] = Counter()
    used: dict[int, set[int]] = {}
    if "recoded" in done:
        level = done["recoded"][name]
        records[level], used[level] = 1, set(range(len(labels[level])))
    for group in joint["groups"] if "recoded" not in done else ():
        if group["treatment"] == "append":
            records[0] += group["rows"]
        elif not group["left_out"]:
            records[top] += group["suppressed"]
        for one in group["rounds"]:
            level = one["levels"][name]
            records[level] += int(np.sum(one["sizes"]))
            used.setdefault(level, set()).update(np.unique(one["classes"][name]).tolist())
    spec = (asked.get("hierarchies") or {}).get(name)
    spec = spec if isinstance(spec, Mapping) else {"kind": "table"}
    found = []
    for level in sorted(level for level, n in records.items() if n):
        shown = [str(labels[level][i]) for i in sorted(used.get(level, ())) if i >= 0]
        words = STAR if level == top else level_said(spec, level, shown, name)
        found.append((level, words, records[level]))
    return found


def level_said(spec: Facts, level: int, labels: Sequence[str], name: str) -> str:
    """Say a level of a hierarchy with the labels that are in use there.

    Examples
    --------
    >>> level_said({"kind": "table"}, 1, ["0-19", "20-39"], "age")
    '20-year groups (0-19 and 20-39)'
    >>> level_said({"kind": "table"}, 1, ["coast", "plain", "hills"], "region")
    '3 groups (coast, plain and hills)'
    """
    if not level:
        return UNCHANGED
    words = level_words(spec, level, labels, name).removeprefix("in ").replace(" broader", "")
    most = len(labels) if len(labels) <= MOST_LABELS + 1 else MOST_LABELS
    return f"{words} ({named(labels, most)})" if labels else words


def _shares(parts: Sequence[tuple[str, float]], starred: float) -> str:
    """Say levels with their shares; a single one without."""
    if not parts:
        return "removed (* for everyone)"
    star = f"* for {share(starred)}"
    if len(parts) == 1:
        said = parts[0][0]
        if starred >= MOST:
            return f"removed (*) for {share(starred)}, else {said}"
        return f"{said}, {star}" if starred else said
    # The labels of several levels would be a table.
    told = [f"{_short(said)} for {share(part)}" for said, part in parts]
    if starred >= MOST:
        return ", ".join([f"removed (*) for {share(starred)}", *told])
    return ", ".join([*told, *([star] if starred else [])])


def _in_short(asked: Facts, decided: Facts, done: Facts, name: str) -> str | None:
    """Say of several levels how much is as it was, coarser, and gone."""
    joint = decided["joint"]
    found = levels_of(asked, joint, done, name) if joint["kind"] == "generalize" else []
    if len(found) < 4:
        return None
    total: Counter[str] = Counter()
    for level, words, records in found:
        total[STAR if words == STAR else "coarser" if level else "as it was"] += records
    said = ("as it was", "coarser", STAR)
    return ", ".join(f"{one} for {share(total[one] / total.total())}" for one in said if total[one])


def _alike(parts: Sequence[tuple[str, float]], starred: float) -> str:
    said = [_short(one) for one, _ in parts]
    return ", ".join([*said, *(["some *"] if starred and parts else [])]) or "removed (*)"


def _short(said: str) -> str:
    said = said.partition(" (")[0]
    return "as it was" if said == UNCHANGED else said


def _ranges(
    asked: Facts, joint: Facts, done: Facts, name: str
) -> tuple[list[str], list[str], float | None]:
    """Say how many ranges, groups or sets of values there are, and how many records have `*`."""
    own = joint["labels"][name]
    texts = np.asarray(own["labels"], dtype=object)
    label, sizes = np.asarray(own["label"]), np.asarray(joint["sizes"], dtype=np.float64)
    left_out = any(group["left_out"] for group in joint["groups"])
    suppressed = 0 if left_out else done.get("suppressed", 0)
    total = max(1.0, float(sizes.sum()) + suppressed)
    shown = [i for i in np.unique(label[label >= 0]) if texts[i] != STAR]
    there = np.isin(label, shown) | (label < 0)
    starred = (float(sizes[~there].sum()) + suppressed) / total
    if not shown:
        return ["removed (* for everyone)"], ["removed (*)"], starred
    if "lower" in own:
        what = "ranges"
        single = int(np.sum(np.equal(own["lower"], own["upper"])[shown]))
    else:
        what = "groups" if name in (asked.get("hierarchies") or {}) else "sets of values"
        # A label of a hierarchy may look like a value, or be named like one of its members.
        held, values = np.diff(own["ends"], prepend=0), set(map(str, own["leaves"]))
        single = sum(held[i] == 1 and str(texts[i]) in values for i in shown)
    several = len(shown) - single
    said = f"{several:,} {what}" if several else UNCHANGED
    if several and single:
        said += f" and {single:,} single value{'s' if single > 1 else ''}"
    star = [f"* for {share(starred)}"] if starred else []
    return [", ".join([said, *star])], [what], starred


def grouped(entries: Sequence[Facts], most: int, short: bool = False) -> list[tuple[str, str]]:
    """Lay columns out in at most some lines: the columns, and what they became.

    Columns that became the same are told together; where that is too long, those that were treated
    alike, and then the last ones only by number. In short, levels are not told one by one.
    """
    order = sorted(entries, key=_rank)
    keys = (lambda one: one["became"], _alike_but_levels, lambda one: one["how"])
    for key in keys:
        groups: dict[str, list[Facts]] = {}
        for entry in order:
            groups.setdefault(key(entry), []).append(entry)
        if len(groups) <= most:
            break
    said = []
    for how, members in groups.items():
        same = {(one["short"] if short else None) or one["became"] for one in members}
        names = [one["column"] for one in members]
        said.append((named(names, 6), same.pop() if len(same) == 1 else _ranged(how, members)))
    if len(said) > most and [*groups][-2:] == [UNCHANGED, DROPPED]:
        # Nobody decides by these, so that one line does for both.
        (kept, how), gone = said[-2:]
        said[-2:] = [(f"{kept}: {how}; {gone[0]}", gone[1])]
    if len(said) > most:
        rest = [one["column"] for some in list(groups.values())[most - 1 :] for one in some]
        said = [*said[: most - 1], (named(rest, 4), "in the report")]
    return said


def _alike_but_levels(entry: Facts) -> str:
    """Return how a column was treated, and of levels also which."""
    return str(entry["how"] if entry["starred"] is None else entry["became"])


def _ranged(how: str, members: Sequence[Facts]) -> str:
    """Say of columns that were treated alike from which share to which they are `*`."""
    stars = sorted(one["starred"] or 0.0 for one in members)
    ends = dict.fromkeys(map(share, (stars[0], stars[-1])))
    return how.replace("some *", f"* for {' to '.join(ends)}")


def _rank(entry: Facts) -> tuple[int, bool]:
    """Treated columns come first, then what is as it was, then what is not there."""
    rank = {UNCHANGED: 1, DROPPED: 2}.get(entry["became"], 0)
    return rank, not rank and entry["role"] != "quasi"


def most_gone(entries: Sequence[Facts]) -> list[tuple[str, float]]:
    """Return the columns of which most cells are gone, with that share, the worst first."""
    gone = [(shortened(one["column"]), gone_share(one)) for one in entries]
    return sorted(((c, part) for c, part in gone if part >= MOST), key=lambda one: -one[1])
