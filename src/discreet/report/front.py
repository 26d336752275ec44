"""The front of a search as a page: which release to take, why, and what the others are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from discreet.report import pictures
from discreet.report.measures import told
from discreet.report.page import Table, counted, figure, named, render, share
from discreet.report.pictures.fronts import Axis

Facts = Mapping[str, Any]
MOST_CARDS = 3
# So many words of a release are shown at once; the others are folded.
MOST_WORDS = 7
_BETTER = {"small": "smaller", "less": "smaller", "large": "larger", "more": "larger"}
_SHARES_FOUND = ("informed_linkage", "linkage", "risk")
_PERCENT = {"DR": "disclosure risk DR (%)", "IL": "information loss IL (%)"}


@dataclass(frozen=True)
class Side:
    """Risk or loss of a release, in words."""

    large: str  # the figure, such as "3.1 %"
    what: str  # what it is a figure of
    sentence: str
    bound: str  # whether it keeps its bound; empty if there is none
    kept: bool
    spread: str  # its range over fresh draws; empty if they give the same


@dataclass(frozen=True)
class Card:
    """A recommended release."""

    name: str
    kinds: str
    reasons: tuple[str, ...]
    risk: Side
    loss: Side
    heading: str  # what the list of words tells
    words: tuple[str, ...]
    folded: tuple[str, ...]
    fold: str  # what the folded words are
    against: str  # how it differs from the one to take
    command: str
    best: bool


def front_page(front: Facts) -> str:
    """Write the front of a search, as `Front.to_dict` returns it, as one HTML page.

    Examples
    --------
    >>> point = {"name": "01", "risk": 0.031, "loss": 0.22, "words": ["age in 10-year groups"],
    ...          "spread": {}, "measures": {}, "columns": {}, "recipe": "recipes/01.toml"}
    >>> front = {"rows": 1080, "searched_rows": 1080, "evaluations": 500, "seconds": 60, "seed": 0,
    ...          "risk": {"name": "informed_linkage", "bound": 0.05},
    ...          "loss": {"name": "information_loss", "bound": None}, "figures": [],
    ...          "points": [point], "searched": [], "recommended": [], "further": [], "best": "01"}
    >>> page = front_page(front)
    >>> "An informed intruder finds 3.1 % of the records: about 33 of 1,080." in page
    True
    """
    points = front["points"]
    cards = _cards(front)
    return render(
        "front.html",
        title=_title(front),
        cards=cards,
        missed=_missed(front),
        map=_map(front) if points else None,
        further=front["further"],
        points=_points(front),
        measures=_measures(front),
        columns=_columns(front),
        searched=_searched(front),
        intruder=_found(front["risk"]),
        information=_information(front["loss"]),
        draws=front.get("draws", 5),
    )


def _title(front: Facts) -> str:
    if not front["points"]:
        return "No release was found"
    if _missed(front):
        return f"No release meets the bound; {front['best']} comes nearest"
    return f"Take {front['best']}"


def _best(front: Facts) -> Facts:
    found: Facts = next(p for p in front["points"] if p["name"] == front["best"])
    return found


def _missed(front: Facts) -> str:
    """Say which bounds the release to take does not meet."""
    if not front["points"]:
        return ""
    best = _best(front)
    over = [
        f"the {side} bound of at most {_axis(front, side).said(front[side]['bound'])}"
        for side in ("risk", "loss")
        if not _kept(best, front, side)
    ]
    if not over:
        return ""
    return f"No release that was found meets {' and '.join(over)}. {best['name']} comes nearest."


def _kept(point: Facts, front: Facts, side: str) -> bool:
    bound = front[side].get("bound")
    return bound is None or bool(point[side] <= bound)


def _found(risk: Facts) -> bool:
    """Tell whether the risk is the share of records that the informed intruder finds."""
    return risk["name"] in _SHARES_FOUND


def _information(loss: Facts) -> bool:
    return bool(loss["name"] == "information_loss")


def _axis(front: Facts, side: str) -> Axis:
    """Return how the figures of risk or of loss are named and written."""
    own = front[side]
    bound = own.get("bound")
    if side == "risk" and _found(own):
        return Axis("records found, log scale", bound)
    if side == "loss" and _information(own):
        return Axis("information lost", bound)
    return Axis(_PERCENT.get(own["name"], own["name"]), bound, share=own.get("unit") == "%")


def _cards(front: Facts) -> list[Card]:
    """Return the recommended releases, the one to take first."""
    if not front["points"]:
        return []
    points = {point["name"]: point for point in front["points"]}
    names = dict.fromkeys([front["best"], *(one["name"] for one in front["recommended"])])
    return [_card(points[name], front) for name in list(names)[:MOST_CARDS]]


def _card(point: Facts, front: Facts) -> Card:
    best = _best(front)
    own = [one for one in front["recommended"] if one["name"] == point["name"]]
    first = point["name"] == best["name"]
    words = tuple(point["words"])
    heading, fold = "What is done", ""
    shown = words
    if not first:
        other = set(best["words"])
        changed = tuple(word for word in words if word not in other)
        # Only what differs helps to choose, unless that is nothing or all.
        if changed and len(changed) < len(words):
            heading, shown = f"Otherwise than in {best['name']}", changed
    shown, rest = _folded(shown)
    if heading != "What is done":
        rest = tuple(word for word in words if word not in shown)
        fold = counted(len(rest), "more", "more") + f", most as in {best['name']}"
        if set(rest) <= set(best["words"]):
            fold = f"{len(rest)} as in {best['name']}"
    elif rest:
        fold = f"{len(rest)} more"
    return Card(
        name=point["name"],
        kinds=", and ".join(dict.fromkeys(one["kind"] for one in own)),
        reasons=tuple(dict.fromkeys(one["reason"] for one in own)),
        risk=_risk(point, front),
        loss=_loss(point, front),
        heading=heading,
        words=shown,
        folded=rest,
        fold=fold,
        against="" if first else _against(point, best, front),
        command=_command(point),
        best=first,
    )


def _folded(words: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return what is shown at once and what is folded; one alone is not worth a fold."""
    if len(words) <= MOST_WORDS + 1:
        return words, ()
    return words[:MOST_WORDS], words[MOST_WORDS:]


def _command(point: Facts) -> str:
    return f"discreet protect TABLE --recipe FRONT/{point['recipe']} --out FOLDER"


def _risk(point: Facts, front: Facts) -> Side:
    axis, value = _axis(front, "risk"), point["risk"]
    written = axis.said(value)
    if _found(front["risk"]):
        sentence = f"An informed intruder finds {written} of the records: "
        sentence += f"{_records(value, front['rows'])} of {front['rows']:,}."
        return Side(written, "of the records found", sentence, *_bound(point, front, "risk"))
    sentence = f"Its risk, {axis.title}, is {written}."
    return Side(written, axis.title, sentence, *_bound(point, front, "risk"))


def _records(risk: float, rows: int) -> str:
    """Say how many records a share is.

    Examples
    --------
    >>> _records(0.0311, 1080), _records(1.0, 1080), _records(0.0002, 1080), _records(0, 9)
    ('about 34', 'all', 'fewer than 1', 'none')
    """
    if risk == 0 or risk >= 1:
        return "all" if risk else "none"
    return f"about {round(risk * rows):,}" if risk * rows >= 1 else "fewer than 1"


def _loss(point: Facts, front: Facts) -> Side:
    axis, value = _axis(front, "loss"), point["loss"]
    if _information(front["loss"]):
        kept = share(max(0.0, 1 - value))
        sentence = f"The release keeps {kept} of the information."
        return Side(kept, "of the information kept", sentence, *_bound(point, front, "loss"))
    sentence = f"Its loss, {axis.title}, is {axis.said(value)}."
    return Side(axis.said(value), axis.title, sentence, *_bound(point, front, "loss"))


def _bound(point: Facts, front: Facts, side: str) -> tuple[str, bool, str]:
    """Say whether a bound is kept, and in what range the figure lies."""
    axis, kept = _axis(front, side), _kept(point, front, side)
    turned = side == "loss" and _information(front["loss"])
    said = ""
    if axis.bound is not None:
        asked = (
            f"at least {axis.said(1 - axis.bound)}"
            if turned
            else f"at most {axis.said(axis.bound)}"
        )
        said = f"{'within' if kept else 'beyond'} the bound: {asked}"
    ends = [1 - end if turned else end for end in point.get("spread", {}).get(side) or ()]
    low, high = (axis.said(end) for end in sorted(ends)) if ends else ("", "")
    return said, kept, f"{low} to {high} in fresh draws" if low != high else ""


def _against(point: Facts, best: Facts, front: Facts) -> str:
    """Say what a release gains and what it gives up, compared with the one to take."""
    said = []
    if _found(front["risk"]):
        found, other = (round(p["risk"] * front["rows"]) for p in (point, best))
        if found != other:
            less = "fewer" if found < other else "more"
            said.append(f"{counted(abs(found - other), f'{less} record', f'{less} records')} found")
    if _information(front["loss"]):
        points = round(100 * (best["loss"] - point["loss"]), 1)
        if points:
            more = "more" if points > 0 else "less"
            said.append(f"{abs(points):g} points {more} of the information kept")
    return f"Compared with {best['name']}: {', '.join(said)}." if said else ""


def _map(front: Facts) -> pictures.Picture:
    kinds: dict[str, str] = {}
    for one in front["recommended"]:
        kinds.setdefault(one["name"], one["kind"])
    points = [
        {
            "label": _label(point["name"], kinds.get(point["name"], ""), front["best"]),
            "risk": point["risk"],
            "loss": point["loss"],
            "best": point["name"] == front["best"],
            "advised": point["name"] in kinds or point["name"] == front["best"],
        }
        for point in front["points"]
    ]
    axes = _axis(front, "risk"), _axis(front, "loss")
    return pictures.front_map(points, front["searched"], *axes, front["rows"])


def _label(name: str, kind: str, best: str) -> str:
    short = kind.partition(" within")[0]
    return f"{name} take this one" if name == best else f"{name} {short}".rstrip()


def _points(front: Facts) -> list[dict[str, Any]]:
    """Lay out the rows of the table of all releases."""
    kinds: dict[str, list[str]] = {}
    for one in front["recommended"]:
        kinds.setdefault(one["name"], []).append(one["kind"])
    return [
        {
            "name": point["name"],
            "best": point["name"] == front["best"],
            "kinds": ", ".join(kinds.get(point["name"], [])),
            "words": point["words"],
            "short": named(point["words"], 2) if point["words"] else "nothing",
            "risk": _axis(front, "risk").said(point["risk"]),
            "loss": _axis(front, "loss").said(point["loss"]),
            "records": _records(point["risk"], front["rows"]) if _found(front["risk"]) else "",
            "recipe": point["recipe"],
        }
        for point in front["points"]
    ]


def _measures(front: Facts) -> Table | None:
    """Lay out every measure beside the releases."""
    points: Sequence[Facts] = front["points"]
    rows = [
        (_measure(one), *(told(one, point["measures"].get(one["key"])) for point in points))
        for one in front["figures"]
    ]
    said = "A dash stands for a figure that was not taken. Each is defined in docs/measures.md."
    names = (point["name"] for point in points)
    return Table(("measure", *names), rows, len(points), said) if rows else None


def _measure(one: Facts) -> str:
    notes = [one["unit"]] if one["unit"] not in ("", "%", "percent") else []
    better = _BETTER.get(one.get("better") or "")
    notes += [f"{better} is better"] if better else []
    return one["name"] + (f" ({', '.join(notes)})" if notes else "")


def _columns(front: Facts) -> Table | None:
    points = front["points"]
    names = dict.fromkeys(name for point in points for name in point["columns"])
    rows = [(name, *(share(point["columns"].get(name)) for point in points)) for name in names]
    said = (
        "Share of a column's information about a record that its released value no longer gives; "
        "100 % where it is not released."
    )
    return (
        Table(("column", *(p["name"] for p in points)), rows, len(points), said) if rows else None
    )


def _searched(front: Facts) -> list[tuple[str, str]]:
    """Say how the search was made."""
    rows, taken = front["rows"], front["searched_rows"]
    on = counted(rows, "record")
    if taken < rows:
        on = f"a sample of {taken:,} of {rows:,} records; the releases shown were measured on all"
    return [
        ("releases tried", f"{front['evaluations']:,} in {_time(front['seconds'])}"),
        ("shown", counted(len(front["points"]), "release") + " that no other beats"),
        ("measured on", on),
        ("seed of the search", figure(front["seed"])),
    ]


def _time(seconds: float) -> str:
    """Write how long it took.

    Examples
    --------
    >>> _time(41.2), _time(300), _time(4000)
    ('41 s', '5 min', '1 h 7 min')
    """
    if seconds < 100:
        return f"{seconds:.0f} s"
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min"
