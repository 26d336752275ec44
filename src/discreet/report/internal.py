"""The internal report: everything a review board asks for. It must never leave the house."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from discreet.report import measures, pictures
from discreet.report.became import grouped
from discreet.report.compare import alternatives
from discreet.report.decision import decision, next_words, record_words
from discreet.report.page import MOST_DRAWN, Table, counted, figure, named, render, share
from discreet.report.pictures import Picture
from discreet.report.policy import policy_table
from discreet.report.steps import step_parts
from discreet.report.summary import key_figures, sentences, title_of
from discreet.report.words import aside_words, plan_words

Facts = Mapping[str, Any]
# Lines on what columns became that leave the decision on the first page.
MOST_BECAME = 12
_BECOMES = {
    "identifiers": "dropped",
    "quasi": "could identify someone together with other columns",
    "confidential": "what nobody should learn about a person they know",
    "insensitive": "released",
    "pseudonyms": "replaced by keyed pseudonyms",
    "household": "replaced by random numbers, the same for all members",
    "weight": "used to measure risk",
    "target": "what supervised steps aim at",
    "row_key": "random draws go by it",
    "unit": "dropped",
    "drop": "dropped",
}


def internal_report(facts: Facts) -> str:
    """Write the internal report as one HTML page.

    The facts are any of `log`, `plan`, `recipe` (as a dict), `recipe_text` (as TOML), `check`,
    `assessment` and `comparison`, as `internal/` holds them. The page says what is missing.

    Examples
    --------
    >>> page = internal_report({"assessment": {"risk": {}, "utility": {}, "left_out": {}}})
    >>> "<h2" in page, "<script" in page
    (True, False)
    """
    log, assessment = facts.get("log"), facts.get("assessment")
    drawn = (assessment or {}).get("figures") or {}
    decided = decision(facts)
    return render(
        "internal.html",
        title=title_of(facts),
        decision=decided,
        became=grouped(decided["columns"], MOST_BECAME),
        riskiest_first=_first(decided["riskiest"]),
        next=next_words(decided),
        size=_size(log) if log else "",
        targets=_targets(decided["verdict"]["targets"]),
        sentences=sentences(facts),
        key=[measures.cells(row) for row in key_figures(facts)],
        released=_identity(log, facts.get("recipe")) if log else None,
        files=_files(facts.get("files", {})),
        roles=_roles(log, facts.get("recipe")) if log else None,
        nulls=log["nulls"] if log else None,
        recipe=facts.get("recipe_text"),
        steps=_steps(facts, drawn),
        suppressed=log.get("suppressed") if log else None,
        risk=measures.risk_table(assessment) if assessment else None,
        informed=measures.informed_table(assessment) if assessment else None,
        riskiest=_riskiest(drawn),
        no_riskiest=_no_riskiest(drawn),
        attacks=_attacks(log) if log else None,
        utility=measures.utility_table(assessment) if assessment else None,
        columns=_columns(assessment, log) if assessment else None,
        moments=measures.moment_table(assessment) if assessment else None,
        indicators=measures.indicator_table(assessment) if assessment else None,
        check=facts.get("check"),
        policy=policy_table(facts),
        warnings=_warnings(facts),
        left_out=(assessment or {}).get("left_out", {}),
        alternatives=alternatives(facts["comparison"]) if facts.get("comparison") else None,
        sampled=drawn.get("sampled"),
        undrawn=max(0, len(_changed(drawn.get("columns", {}))) - MOST_DRAWN),
        **_pictures(drawn),
    )


def _first(records: Sequence[Facts]) -> Table | None:
    """Lay out the riskiest records with what gives them away; the same is told once."""
    alike: dict[tuple[Any, ...], list[Facts]] = {}
    for one in records:
        alike.setdefault((record_words(one), one["risk"], one["class"]), []).append(one)
    told = any(said for said, *_ in alike)
    rows = [
        (
            named([f"{one['row']:,}" for one in those], 4),
            *([said or "–"] if told else []),
            share(risk),
            f"{size:,}",
            " to ".join(
                dict.fromkeys(
                    f"{end(one['class_before'] for one in those):,}" for end in (min, max)
                )
            ),
        )
        for (said, risk, size), those in alike.items()
    ]
    reason = ["what gives them away"] if told else []
    risk = "risk by weight" if any(one.get("weighted") for one in records) else "risk"
    head = ("rows", *reason, risk, "class", "before")
    return Table(head, rows, 3) if rows else None


def _size(log: Facts) -> str:
    """Say how much is released of what was given."""
    given, dropped = log["input"], len(log["dropped"])
    rows = log.get("output", {}).get("rows", given["rows"])
    columns, aside = len(given["columns"]), aside_words(log)
    return (
        f"{rows:,} of {counted(given['rows'], 'record')} and {columns - dropped} of "
        f"{counted(columns, 'column')} are released, {log['started'][:10]}."
        + (f" Before that, {aside}." if aside else "")
    )


def _targets(found: Sequence[Facts]) -> Table | None:
    verdict = {True: "met", False: "not met", None: "not verifiable"}
    rows = [(one["what"], one["source"], verdict[one["met"]], one["said"]) for one in found]
    reading = "Where a target comes from, and what was found by the check or measured."
    return Table(("target", "from", "kept", "found"), rows, 0, reading) if rows else None


def _identity(log: Facts, recipe: Facts | None) -> list[tuple[str, str]]:
    seed = (recipe or {}).get("seed")
    drawn = "drawn in secret" if log["seed"]["drawn"] else "given in the recipe"
    predictable = "; it can be found by trying" if log["seed"]["predictable"] else ""
    given, output = log["input"], log.get("output", {})
    rows = output.get("rows")
    aside = aside_words(log)
    return [
        ("release", log.get("release", "–")),
        ("protected", log["started"]),
        ("input", f"{given.get('source') or 'a table in memory'}, {given['rows']:,} rows, "
                  f"{len(given['columns'])} columns"),
        *([("holdout", f"{aside} before any step, in holdout.parquet")] if aside else []),
        *([("plan", plan_words(log["plan"]))] if log.get("plan") else []),
        ("keyed hash of the input", given.get("hmac") or "–"),
        ("engine", log.get("engine", "memory")),
        ("output", f"{output.get('format', 'not written yet')}" + (
            "" if rows is None else f", {rows:,} rows in random order")),
        ("seed", f"{figure_seed(seed)} ({drawn}{predictable})"),
        ("seed of the row order", figure_seed((recipe or {}).get("order_seed"))),
        ("software", ", ".join([f"discreet {log['discreet']}", f"Python {log['python']}",
                                *(f"{k} {v}" for k, v in log["packages"].items())])),
    ]  # fmt: skip


def figure_seed(seed: int | None) -> str:
    """Write a seed as a recipe takes it: all digits, without separators."""
    return "–" if seed is None else str(seed)


def _files(files: Mapping[str, str]) -> Table | None:
    # Of itself a page cannot tell the hash.
    rows = [(name, h) for name, h in files.items() if name != "internal/report.html"]
    reading = "SHA-256; internal/manifest.json lists them, and `discreet check` compares them."
    return Table(("file", "hash"), rows, 0, reading) if rows else None


def _roles(log: Facts, recipe: Facts | None) -> Table:
    steps = (recipe or {}).get("steps", [])
    rows = []
    blanked = log.get("suppressed", {}).get("blanked_cells", {})
    for column, role in log["roles"].items():
        as_it_is = (
            f"emptied in {blanked[column]:,} suppressed records"
            if column in blanked
            else "released as it is"
        )
        treated = ", ".join(step["method"] for step in steps if column in step["columns"])
        fate = "dropped" if column in log["dropped"] else treated or as_it_is
        if role in ("household", "pseudonyms") and column not in log["dropped"]:
            fate = "random numbers" if role == "household" else "pseudonyms"
        rows.append((column, "none" if role == "drop" else role, _BECOMES[role], fate))
    return Table(("column", "role", "which means", "what was done"), rows)


def _steps(facts: Facts, drawn: Facts) -> list[Any] | None:
    if not all(facts.get(part) for part in ("recipe", "plan", "log")):
        return None
    columns = drawn.get("columns", {})
    counts = facts.get("counts", "records")
    return step_parts(facts["recipe"], facts["plan"], facts["log"], columns, counts)


def _columns(assessment: Facts, log: Facts | None) -> Table:
    changed = log["changed_cells"] if log else None
    return measures.column_table(assessment, changed, log["input"]["rows"] if log else None)


def _riskiest(drawn: Facts) -> Table | None:
    rows = [
        (f"{r['row']:,}", f"{100 * r['risk']:.3g} %", f"{r['class']:,}", f"{r['class_before']:,}")
        for r in drawn.get("riskiest") or ()
    ]
    counts = (drawn.get("class_sizes") or {}).get("counts", "")
    size = f"{counts} in the class" if counts else "class size"
    weighted = any(r.get("weighted") for r in drawn.get("riskiest") or ())
    risk = "risk by weight" if weighted else "risk"
    head = ("row of the original", risk, size, f"{size} before")
    reading = (
        "The records of the release most at risk of being found, by their row in the original, "
        "counted from 1. Look them up there; do not copy this table into anything shared."
    )
    return Table(head, rows, 4, reading) if rows else None


def _no_riskiest(drawn: Facts) -> str:
    """Say why there is no list of the riskiest records."""
    if not drawn:
        return "nothing was measured"
    if drawn.get("class_sizes"):
        return "single records are not looked up in a table larger than memory"
    return (
        "there is no quasi column, or one was perturbed, so that classes of equal values mean "
        "nothing"
    )


def _attacks(log: Facts) -> Table | None:
    rows = [
        (
            one["attack"] + _where(one["steps"]),
            one["why"],
            one["done"],
            _measured(one),
            one["remains"],
        )
        for one in log.get("attacks", ())
    ]
    head = ("attack", "why it applies", "what is done", "what was measured", "what remains")
    reading = (
        "The attacks that apply to this recipe. The intruder knows people in the table with their "
        "quasi values, knows this program, has all of public/ and every other table about these "
        "people, and tries to find a record or to learn a value. Secret are the seeds, the "
        "pseudonym key and all else in internal/. For each row, decide whether what remains is "
        "acceptable, or change the recipe."
    )
    return Table(head, rows, 0, reading) if rows else None


def _measured(attack: Facts) -> str:
    """Name the measures of an attack, and say what it came to where that is known."""
    figures = attack.get("figures", ())
    said = list(dict.fromkeys(one["said"] for one in figures))
    if len(said) > 1:
        said = [f"Step {one['step']}: {one['said']}" for one in figures]
    names = figure(attack["measured"]) + "." * bool(said) if attack["measured"] else ""
    return " ".join(filter(None, [names, *said])) or "–"


def _where(steps: Sequence[int]) -> str:
    numbers = named([str(number) for number in steps])
    return f" (step{'s' * (len(steps) > 1)} {numbers})" if steps else ""


def _warnings(facts: Facts) -> list[str]:
    log, check = facts.get("log") or {}, facts.get("check") or {}
    assessment = facts.get("assessment") or {}
    entries = (assessment.get("risk", {}) | assessment.get("utility", {})).values()
    notes = [note for entry in entries for note in entry.get("notes", ())]
    return list(dict.fromkeys([*log.get("warnings", ()), *check.get("notes", ()), *notes]))


def _pictures(drawn: Facts) -> dict[str, Any]:
    sizes, nulls, related = (drawn.get(k) for k in ("class_sizes", "nulls", "correlations"))
    return {
        "class_sizes": pictures.class_sizes(sizes) if sizes else None,
        "null_map": pictures.nulls(nulls)
        if nulls and any(nulls["before"] + nulls["after"])
        else None,
        "correlations": pictures.correlations(related) if related else None,
        "distributions": list(_distributions(drawn.get("columns", {}))),
        "unchanged": named(
            [c for c, own in drawn.get("columns", {}).items() if not own["changed"]], 30
        ),
    }


def _changed(columns: Facts) -> list[str]:
    return [name for name, own in columns.items() if own["changed"]]


def _distributions(columns: Facts) -> Iterator[tuple[str, list[Picture], str]]:
    """Draw each changed column before and after, or say why there is no chart."""
    for name in _changed(columns)[:MOST_DRAWN]:
        own = columns[name]
        drawn = []
        if own.get("histogram"):
            drawn.append(pictures.histogram(name, own["histogram"]))
        if own.get("quantiles"):
            drawn.append(pictures.ecdf(name, own["quantiles"]))
        if own.get("categories"):
            drawn.append(pictures.categories(name, own["categories"]))
        if own.get("released_categories"):
            drawn.append(pictures.released_categories(name, own["released_categories"]))
        said = "Recoded: the original's labels are on another level." * own.get("recoded", 0)
        if not drawn:
            said = said or "No chart: no bin or label has ten records before and after."
        yield name, drawn, said
