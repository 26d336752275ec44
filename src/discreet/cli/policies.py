"""Policies in the terminal: which there are, what they ask for, and what became of their rules."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Column, Table

from discreet.cli import complete, options, show
from discreet.cli.show import escape
from discreet.errors import BadInput

if TYPE_CHECKING:
    from discreet.check.verdicts import PolicyReport
    from discreet.recipe import Recipe
    from discreet.recipe.policies import Against, Policy

Named = Annotated[
    str | None,
    typer.Option(
        help="Policy to hold it against: a name (`discreet policies`) or file.",
        autocompletion=complete.policies,
    ),
]
Population = Annotated[
    Path | None, typer.Option(help="Table with numbers of people, for the rules of a policy.")
]
Collected = Annotated[
    str | None, typer.Option(help="Last day that the data are about, such as 2024-12-31.")
]
Groups = Annotated[
    list[str] | None,
    typer.Option("--group", help="Columns of a group that rules name, as counts=patients,deaths."),
]
Attacks = Annotated[Path | None, typer.Option(help="What `discreet attack --json` printed.")]
_COLOURS = {"kept": "green", "missed": "bold red", "open": "yellow"}


def given(
    recipe: Recipe,
    policy: str | None,
    population: Path | None,
    collected: str | None,
    attacks: Path | None,
    groups: list[str] | None,
) -> Against | None:
    """Return the policy that the options name, or else the recipe's, with what else they give."""
    from pydantic import ValidationError

    from discreet.recipe.policies import Against
    from discreet.recipe.wording import say

    own = recipe.against
    found = {
        "population": population and str(population),
        "collected": collected,
        "attacks": attacks and str(attacks),
        "groups": dict(map(_group, groups)) if groups else None,
    }
    more = {key: value for key, value in found.items() if value is not None}
    if policy is None and own is None:
        if more:
            option = next(iter(more)).replace("groups", "group")
            raise BadInput(f"--{option} is for the rules of a policy; give --policy, too")
        return None
    if policy is None and not more:
        return None
    for path in (population, attacks):
        if path is not None and not path.is_file():
            raise BadInput(f"{path}, which the policy's rules need, does not exist")
    before = {} if own is None else own.model_dump(exclude_none=True)
    content = before | more | ({} if policy is None else {"name": policy})
    try:
        return Against.model_validate(content)
    except ValidationError as error:
        raise BadInput(f"the policy's options: {say(error, Against)}") from None


def _group(text: str) -> tuple[str, list[str]]:
    name, mark, columns = text.partition("=")
    if not mark or not name.strip():
        raise BadInput(f"--group takes a name and columns, as counts=patients,deaths, not '{text}'")
    return name.strip(), [one.strip() for one in columns.split(",") if one.strip()]


def policies(
    name: Annotated[
        str | None,
        typer.Argument(
            help="One of them, or a file, to see its rules.", autocompletion=complete.policies
        ),
    ] = None,
    as_json: options.Json = False,
) -> None:
    """List the policies that a release can be held against, or the rules of one."""
    from discreet.check.findings import counted
    from discreet.recipe.policies import Policy, shipped

    found = [Policy.load(one) for one in ([name] if name is not None else shipped())]
    if as_json:
        plain = [one.model_dump(mode="json", exclude_none=True) for one in found]
        show.print_json(plain[0] if name is not None else plain)
    elif name is not None:
        _one(found[0], name)
    else:
        width = max(len(one.name) for one in found)
        for one in found:
            said = f"{one.title}, {one.date.year} ({counted(len(one.rules), 'rule')})"
            show.out.print(f"{one.name:<{width}}  {said}", markup=False, soft_wrap=True)
        show.out.print(
            "Rules and sources of one: discreet policies NAME. Held against it: discreet check "
            'RELEASE --policy NAME, or policy = "NAME" in the recipe.',
            markup=False,
        )


def _one(policy: Policy, given: str) -> None:
    show.out.print(f"[bold]{escape(policy.title)}[/bold]")
    where = f" ({policy.url})" if policy.url else ""
    show.out.print(escape(f"{policy.source}, {policy.date}{where}"), soft_wrap=True)
    if policy.about:
        show.out.print(escape(policy.about))
    table = Table("rule", "asks for", "as written", "source", show_lines=True)
    for rule in policy.rules:
        told = {"rule", "says", "source", "date", "remedy"}
        figures = rule.model_dump(exclude_none=True, exclude_defaults=True, exclude=told)
        said = ", ".join(f"{key} = {_value(value)}" for key, value in figures.items())
        cells = (rule.rule, rule.says, said, f"{rule.source}, {rule.date}")
        table.add_row(*map(escape, cells))
    show.out.print(table)
    show.out.print(
        f"Hold a release against it: {_command(policy, given)}", markup=False, soft_wrap=True
    )


def _value(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(_value, value))
    if isinstance(value, dict):  # A band of rounding.
        return f"to {value['to']:,g} up to {value['up_to']:,.15g}"
    return str(value)


def _command(policy: Policy, given: str) -> str:
    """Return the command that holds a release against a policy, with all that its rules need."""
    groups: dict[str, None] = {}
    for rule in policy.rules:
        usual = {"rounding": "counts", "hidden": "counts", "dominance": "amounts"}.get(rule.rule)
        own = getattr(rule, "group", None) or (
            usual if getattr(rule, "columns", 1) is None else None
        )
        groups |= dict.fromkeys([*([own] if own else []), *(getattr(rule, "groups", None) or ())])
    kinds = {rule.rule for rule in policy.rules}
    people = any(getattr(rule, "counted", "") == "population" for rule in policy.rules)
    words = [f"discreet check RELEASE --policy {given}"]
    words += [f"--group '{name}=COLUMNS'" for name in groups if name not in policy.groups]
    words += ["--population FILE"] * (people or "areas" in kinds)
    words += ["--collected DAY"] * bool(kinds & {"old", "ages"})
    words += ["--attacks FILE"] * ("attack" in kinds)
    return " ".join(words)


def missed(report: PolicyReport, written: Path) -> str:
    """Say that a release misses rules, and what that means."""
    from discreet.check.findings import counted

    rules = len(report.verdicts) - len(report.spare)
    return (
        f"{written} misses {len(report.having('missed'))} of {counted(rules, 'rule')} of "
        f"{report.title}, the policy of its recipe; mend the recipe before you share it"
    )


def gone(report: PolicyReport) -> str:
    """Say which files the rules would have needed."""
    them = "it" if len(report.gone) == 1 else "them"
    return (
        f"{' and '.join(report.gone)}, which the recipe names for its policy, cannot be read; put "
        f"{them} back, or give another"
    )


def show_policy(report: PolicyReport | None) -> None:
    """Print what became of the rules of a policy: first all of them, then what to do."""
    if report is None:
        return
    from discreet.check.verdicts import SPARE

    title = f"Against {report.title}: {report.summary}"
    names = ("rule", "verdict", "found", "source")
    table = Table(*(Column(name, overflow="fold") for name in names), title=escape(title))
    for one in report.verdicts:
        status = f"[{_COLOURS[one.status]}]{one.status}[/]"
        if one in report.spare:
            status = f"{one.status}, but {SPARE}"
        cells = (one.found, f"{one.source}, {one.date}")
        table.add_row(escape(one.says), status, *map(escape, cells))
    show.out.print(table)
    for status, word in (("missed", "Missed"), ("open", "Open")):
        for one in report.having(status):  # type: ignore[arg-type]
            what = f"{one.says.rstrip('.')}: {one.found}"
            said = escape(
                f"{what}; {one.remedy}." if status == "open" else f"{what}. Next: {one.remedy}."
            )
            show.out.print(f"[{_COLOURS[status]}]{word}:[/] {said}", soft_wrap=True)
