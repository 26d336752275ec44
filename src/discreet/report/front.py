"""The front of a search as a page: which release to take, why, and what the others are."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from discreet.report import pictures
from discreet.report.measures import told
from discreet.report.page import Table, counted, figure, render, share, shortened
from discreet.report.pictures.fronts import Axis, in_percent

Facts = Mapping[str, Any]
MOST_CARDS = 3
# So many words of a release are shown at once; the others are folded.
MOST_WORDS = 7
LONGEST_WORDS = 500
_BETTER = {"small": "smaller", "less": "smaller", "large": "larger", "more": "larger"}
_SHARES = ("share", "%")
_SHARES_FOUND = ("informed_linkage", "linkage", "risk")


@dataclass(frozen=True)
class Side:
    """Risk or loss of a release, in words."""

    large: str  # the figure, such as "3.1 %"
    what: str  # what it is a figure of
    sentence: str
    bound: str  # whether it keeps its bound; empty if there is none
    kept: bool
    note: str  # such as its range over fresh draws, if that is one


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
    verified: bool


def front_page(front: Facts) -> str:
    r"""Write the front of a search, as `Front.to_dict` returns it, as one HTML page.

    Examples
    --------
    >>> point = {"name": "01", "risk": 0.031, "loss": 0.22, "words": ["age in 10-year groups"],
    ...          "spread": {}, "measures": {}, "columns": {}, "recipe": "recipes/01.toml"}
    >>> front = {"rows": 1080, "searched_rows": 1080, "evaluations": 500, "seconds": 60, "seed": 0,
    ...          "risk": {"name": "informed_linkage", "bound": 0.05},
    ...          "loss": {"name": "information_loss", "bound": None}, "figures": [],
    ...          "points": [point], "searched": [], "recommended": [], "further": [], "best": "01"}
    >>> page = front_page(front).replace("\N{NO-BREAK SPACE}", " ")
    >>> "An informed intruder finds 3.1 % of the records: about 33 of 1,080." in page
    True
    """
    points = front["points"]
    html = render(
        "front.html",
        title=title(front),
        best=front["best"],
        cards=cards(front),
        missed=missed(front),
        map=drawn(front) if points else None,
        further=front["further"],
        points=_points(front),
        measures=_measures(front),
        columns=_columns(front),
        searched=_searched(front),
        intruder=_found(front["risk"]),
        found=_of(front),
        information=_information(front["loss"]),
    )
    # A number and its sign stay on one line.
    return re.sub(r"(?<=\d) %(?!\w)", "\N{NO-BREAK SPACE}%", html)


def title(front: Facts) -> str:
    """Say which recipe to take."""
    if not front["points"]:
        return "No recipe was found"
    if missed(front):
        return f"No recipe meets the bound; {front['best']} comes nearest"
    return f"Take recipe {front['best']}"


def _best(front: Facts) -> Facts:
    found: Facts = next(p for p in front["points"] if p["name"] == front["best"])
    return found


def missed(front: Facts) -> str:
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
    return f"No recipe that was found meets {' and '.join(over)}. {best['name']} comes nearest."


def _kept(point: Facts, front: Facts, side: str) -> bool:
    bound = front[side].get("bound")
    return bound is None or bool(point[side] <= bound)


def _found(risk: Facts) -> bool:
    """Tell whether the risk is the share of records that the informed intruder finds."""
    return risk["name"] in _SHARES_FOUND


def _information(loss: Facts) -> bool:
    return loss["name"] in ("information_loss", "information loss")


def _axis(front: Facts, side: str) -> Axis:
    """Return how the figures of risk or of loss are named and written."""
    own = front[side]
    bound = own.get("bound")
    if side == "risk" and _found(own):
        return Axis(f"{_of(front)} found, log scale", bound)
    if side == "loss" and _information(own):
        return Axis("information lost", bound)
    return Axis(own["name"], bound, share=own.get("unit") in _SHARES)


def cards(front: Facts) -> list[Card]:
    """Return the recommended releases, the one to take first."""
    if not front["points"]:
        return []
    points = {point["name"]: point for point in front["points"]}
    names = dict.fromkeys([front["best"], *(one["name"] for one in front["recommended"])])
    return [_card(points[name], front) for name in list(names)[:MOST_CARDS]]


def _card(point: Facts, front: Facts) -> Card:
    best = _best(front)
    own = [one for one in front["recommended"] if one["name"] == point["name"]]
    heading, words, folded, fold = _done(point, best)
    return Card(
        name=point["name"],
        kinds=", ".join(_kinds(front).get(point["name"], [])),
        reasons=tuple(dict.fromkeys(one["reason"] for one in own)),
        risk=_risk(point, front),
        loss=_loss(point, front),
        heading=heading,
        words=tuple(map(_brief, words)),
        folded=tuple(map(_brief, folded)),
        fold=fold,
        against=_against(point, best, front),
        command=f"discreet protect TABLE --recipe FRONT/{point['recipe']} --out FOLDER",
        best=point is best,
        verified=point.get("check_ok", True),
    )


def _done(point: Facts, best: Facts) -> tuple[str, tuple[str, ...], tuple[str, ...], str]:
    """Return what is done to a release: a heading, words, those that are folded, and their title.

    Of one that is not the best only what is done otherwise helps to choose.
    """
    words, other = tuple(point["words"]), _otherwise(point, best)
    if other == words:
        first, rest = _folded(words)
        return "What is done", first, rest, f"and {len(rest)} more"
    first, _ = _folded(other)
    rest = tuple(word for word in words if word not in first)
    fold = f"and {len(rest)} more" + f", as in {best['name']}" * (first == other)
    return f"Otherwise than in {best['name']}", first, rest, fold


def _otherwise(point: Facts, best: Facts) -> tuple[str, ...]:
    """Return the words of a release that the best one does not share; all if it shares them."""
    words, shared = tuple(point["words"]), set(best["words"])
    return tuple(word for word in words if word not in shared) or words


def _brief(words: str) -> str:
    """Leave out the middle of a name that is too long for a card, and of what is too long at all.

    Examples
    --------
    >>> _brief("a" * 200 + " in 10-year groups") == "a" * 20 + "…" + "a" * 19 + " in 10-year groups"
    True
    """
    words = re.sub(r"\S{41,}", lambda found: f"{found[0][:20]}…{found[0][-19:]}", words)
    half = LONGEST_WORDS // 2
    return words if len(words) <= LONGEST_WORDS else f"{words[:half]}…{words[-half:]}"


def _folded(words: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return what is shown at once and what is folded; one alone is not worth a fold."""
    if len(words) <= MOST_WORDS + 1:
        return words, ()
    return words[:MOST_WORDS], words[MOST_WORDS:]


def _risk(point: Facts, front: Facts) -> Side:
    axis = _axis(front, "risk")
    large, what = axis.said(point["risk"]), "risk"
    sentence = f"{axis.title[:1].upper()}{axis.title[1:]} is {large}."
    if _found(front["risk"]):
        what, rows = "found", front["rows"]
        sentence = f"An informed intruder finds {large} of the {_of(front)}"
        if _counts_records(front):
            sentence += f": {_records(point['risk'], rows)} of {rows:,}."
        else:
            sentence += ", going by all rows of each."
    return Side(large, what, sentence, *_bound(point, front, "risk"))


def _of(front: Facts) -> str:
    """Name what the intruder finds."""
    return str(front.get("found", "records"))


def _counts_records(front: Facts) -> bool:
    return _found(front["risk"]) and _of(front) == "records"


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
    axis = _axis(front, "loss")
    large, what = axis.said(point["loss"]), "loss"
    sentence = f"{axis.title[:1].upper()}{axis.title[1:]} is {large}."
    if _information(front["loss"]):
        large, what = _left(point["loss"]), "kept"
        sentence = f"The release keeps {large} of the information."
    return Side(large, what, sentence, *_bound(point, front, "loss"))


def _left(loss: float) -> str:
    """Write what a loss leaves, so that both add up to all.

    Examples
    --------
    >>> _left(0.2213), _left(0.0532), _left(0.0), _left(0.00314)
    ('78 %', '94.7 %', '100 %', '99.69 %')
    """
    lost = float(in_percent(loss).rstrip(" %"))
    return f"{max(0.0, round(100 - lost, 2)):g} %"


def _bound(point: Facts, front: Facts, side: str) -> tuple[str, bool, str]:
    """Say whether a bound is kept, and in what range the figure lies."""
    axis, kept = _axis(front, side), _kept(point, front, side)
    turned = side == "loss" and _information(front["loss"])
    write = _left if turned else axis.said
    said = ""
    if axis.bound is not None:
        most = "at least" if turned else "at most"
        said = f"{'within' if kept else 'beyond'} the bound ({most} {write(axis.bound)})"
    ends = [write(end) for end in point.get("spread", {}).get(side) or ()]
    ends = ends[::-1] if turned else ends
    notes = [f"a loss of {axis.said(point['loss'])}"] if turned else []
    notes += [f"{' to '.join(ends)} in fresh draws"] if len(set(ends)) > 1 else []
    return said, kept, "; ".join(notes)


def _against(point: Facts, best: Facts, front: Facts) -> str:
    """Say what a release gains and what it gives up, compared with the one to take."""
    said = []
    if _counts_records(front):
        found, other = (round(p["risk"] * front["rows"]) for p in (point, best))
        less = "fewer" if found < other else "more"
        if found != other:
            said.append(f"{counted(abs(found - other), f'{less} record', f'{less} records')} found")
    if _information(front["loss"]):
        gained = round(100 * (best["loss"] - point["loss"]))
        more = "more" if gained > 0 else "less"
        if gained:
            points = counted(abs(gained), "percentage point")
            said.append(f"{points} {more} of the information kept")
    return f"Compared with {best['name']}: {', '.join(said)}." if said else ""


def drawn(front: Facts) -> pictures.Picture:
    """Draw the map of risk and loss."""
    kinds = _kinds(front)
    chosen = "" if missed(front) else front["best"]
    points = [
        {
            "label": _label(point["name"], kinds.get(point["name"], [""])[0], chosen),
            "risk": point["risk"],
            "loss": point["loss"],
            "best": point["name"] == front["best"],
            "advised": point["name"] in kinds or point["name"] == front["best"],
        }
        for point in front["points"]
    ]
    axes = _axis(front, "risk"), _axis(front, "loss")
    return pictures.front_map(points, front["searched"], *axes, front["rows"])


def _kinds(front: Facts) -> dict[str, list[str]]:
    """Return what releases are recommended for, by their names."""
    found: dict[str, list[str]] = {}
    for one in front["recommended"]:
        found.setdefault(one["name"], []).extend(one.get("kinds") or [one["kind"]])
    return found


def _label(name: str, kind: str, best: str) -> str:
    """Write a label for the map: what a release is best in, without the conditions.

    Examples
    --------
    >>> _label("02", "safest within the loss bound", "05"), _label("05", "best balance", "05")
    ('02 safest', '05 take this one')
    """
    short = re.split(" within | at | to | and |,", kind)[0]
    return f"{name} take this one" if name == best else f"{name} {short}".rstrip()


def _points(front: Facts) -> list[dict[str, Any]]:
    """Lay out the rows of the table of all releases."""
    kinds, risk, loss = _kinds(front), _axis(front, "risk"), _axis(front, "loss")
    return [
        {
            "name": point["name"],
            "best": point["name"] == front["best"],
            "kinds": ", ".join(kinds.get(point["name"], [])),
            "words": point["words"],
            "short": _short(_otherwise(point, _best(front))),
            "risk": risk.said(point["risk"]),
            "loss": loss.said(point["loss"]),
            "records": _records(point["risk"], front["rows"]) if _counts_records(front) else "",
            "recipe": point["recipe"],
            "verified": point.get("check_ok", True),
        }
        for point in front["points"]
    ]


def _short(words: tuple[str, ...]) -> str:
    """Join the first words of a release, and say how many more there are."""
    more = (f"{len(words) - 2} more",) if len(words) > 2 else ()
    return "; ".join([shortened(word) for word in words[:2]] + list(more)) or "nothing"


def _measures(front: Facts) -> Table | None:
    """Lay out every measure beside the releases."""
    points: Sequence[Facts] = front["points"]
    rows = [
        (_measure(one), *(_told(one, point["measures"].get(one["key"])) for point in points))
        for one in front["figures"]
    ]
    said = "A dash: the figure was not taken. The documentation defines each, under Measures."
    names = (point["name"] for point in points)
    return Table(("measure", *names), rows, len(points), said) if rows else None


def _told(one: Facts, value: Any) -> str:
    return share(value) if one["unit"] in _SHARES else told(one, value)


def _measure(one: Facts) -> str:
    notes = [one["unit"]] if one["unit"] not in (*_SHARES, "", "percent", "count") else []
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
    measured = front.get("measured_rows", rows)
    if taken < rows and measured < rows:
        on = (
            f"a sample of {taken:,} of {rows:,} records; the recipes shown were run and checked on "
            f"all, and measured on another sample of about {measured:,}"
        )
    elif taken < rows:
        on = f"a sample of {taken:,} of {rows:,} records; the recipes shown were measured on all"
    return [
        ("recipes tried", f"{front['evaluations']:,}{_time(front['seconds'])}"),
        ("shown", counted(len(front["points"]), "recipe") + " that no other beats"),
        ("measured on", on),
        *([("the intruder knows", ", ".join(front["known"]))] if _known(front) else []),
        *(
            (f"left out: {why}", counted(n, "recipe"))
            for why, n in front.get("dropped", {}).items()
        ),
        ("seed of the search", figure(front["seed"])),
    ]


def _known(front: Facts) -> bool:
    return bool(front.get("known")) and _found(front["risk"])


def _time(seconds: float | None) -> str:
    """Write how long it took; a page that is saved does not tell, since it varies.

    Examples
    --------
    >>> _time(41.2), _time(300), _time(4000), _time(None)
    (' in 41 s', ' in 5 min', ' in 1 h 7 min', '')
    """
    if seconds is None:
        return ""
    if seconds < 100:
        return f" in {seconds:.0f} s"
    hours, minutes = divmod(round(seconds / 60), 60)
    return f" in {hours} h {minutes} min" if hours else f" in {minutes} min"
