"""The recipe that a first look suggests: roles and steps, with the reasons beside them."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.errors import BadInput
from discreet.generalization import Hierarchy
from discreet.inspection.guesses import Guess, K
from discreet.inspection.inspection import Inspection
from discreet.inspection.leaks import Leaks, find_leaks
from discreet.inspection.missing import is_usual
from discreet.recipe.recipe import Recipe, Step
from discreet.table.columns import LARGEST_EXACT_INTEGER

_SINGLE = ("household", "unit", "weight")
ANSWERS = ("identifiers", "quasi", "confidential", "insensitive", "drop", *_SINGLE)
# Over more columns k-anonymity leaves nothing but stars.
MOST_QUASI = 10
_LISTED = ("identifiers", "quasi", "confidential", "insensitive")
# Values of a confidential category that records who share a key have, where that costs little.
L = 3
# Nodes that each round of local recoding looks at: most of what can be gained, in a few seconds.
NODES = 500
# What k = 5 promises: nobody is found with a greater chance.
_RISK = 1 / K
# Codes whose meaning is written out; more would not be read.
_MOST_MEANINGS = 50
_LEFT_OUT = "what it would tell is worth less than what the rest loses with it"


@dataclass(frozen=True)
class _Head:
    """What a recipe says before its steps."""

    lines: list[str]
    guesses: dict[str, Guess]
    leaks: Leaks
    counted: str
    who: str  # what k counts
    paths: dict[str, str]  # of the files that hierarchies are written to
    meanings: dict[str, str]  # of the codes in the columns that are generalized

    def text(
        self, guesses: Mapping[str, Guess], treated: Collection[str], untouched: Sequence[str] = ()
    ) -> list[str]:
        lines = [*self.lines, *_accepted(self.leaks, treated), self.counted]
        lines += _roles_text(guesses)
        if untouched:
            lines.append(f"untouched = {_toml(list(untouched))}  # released as they are")
        if self.leaks.household:
            lines.append(f"release_household = false  # {self.leaks.household}")
        return lines


@dataclass(frozen=True)
class Proposal:
    """Roles and steps for a table."""

    text: str  # the recipe as TOML, with comments
    recipe: Recipe
    hierarchies: dict[str, Hierarchy]  # of the columns that are generalized
    _head: _Head = field(repr=False)

    @property
    def guesses(self) -> Mapping[str, Guess]:
        """The role of each column, with its reason."""
        return self._head.guesses

    @property
    def who(self) -> str:
        """What k counts: records, people or households."""
        return self._head.who

    def to_search(self) -> dict[str, Any]:
        """Return what a search may choose within: roles, hierarchies, bound, promise for the keys.

        Where there are keys, ways to treat them are searched for, and amounts are averaged as they
        are here: an intruder knows keys, and should not learn the amounts.
        """
        content = self.recipe.model_dump(exclude_none=True, exclude_defaults=True)
        keys = set(self.hierarchies)
        of_keys = [step for step in content["steps"] if keys & set(step["columns"])]
        content["steps"] = [step for step in content["steps"] if step not in of_keys]
        content["hierarchies"] = {name: tree.spec for name, tree in self.hierarchies.items()}
        content["search"] = {"risk": f"linkage <= {_RISK:g}"}
        if self.recipe.roles.quasi:
            usual = [{"model": "k-anonymity", "k": K}]
            steps = self.recipe.model_dump(exclude_none=True)["steps"]
            demanded = [step["privacy"] for step in steps if step.get("privacy")]
            content["search"] |= {"known": "quasi", "privacy": (demanded or [usual])[0]}
        else:
            del content["steps"]
        return content

    def with_steps(self, found: Recipe, said: Sequence[str]) -> Proposal:
        """Take the steps of a recipe with these roles, but for columns that it leaves out.

        Parameters
        ----------
        found : Recipe
        said : sequence of str
            Comments that go before the steps.
        """
        released = {name for role in _LISTED for name in getattr(found.roles, role)}
        guesses = dict(self._head.guesses)
        for name, guess in guesses.items():
            if guess.role in _LISTED and name not in released:
                guesses[name] = Guess("drop", f"{_LEFT_OUT}; it was taken for {guess.role}")
        lines = [*self._head.text(guesses, found.treated, found.roles.untouched), ""]
        lines += [f"# {line}".rstrip() for line in said]
        for step in found.steps:
            lines += _step_text(step, self._head.paths, self._head.meanings)
        text = _joined(lines)
        return replace(self, text=text, recipe=Recipe.from_toml(text))


def propose(
    seen: Inspection, answers: Mapping[str, str] | None = None, folder: str | None = None
) -> Proposal:
    """Propose a recipe that runs as it is, with the roles that a person gave as answers.

    `folder` is where hierarchies are written, relative to the recipe, which holds them by default.

    Examples
    --------
    >>> from discreet.datasets import make_households
    >>> from discreet.inspection import inspect
    >>> proposal = propose(inspect(make_households(1000, seed=1)))
    >>> [step.method for step in proposal.recipe.steps]
    ['generalize', 'oma']
    """
    guesses = _roles(seen, answers or {})
    problem = _problem(seen, guesses)
    if problem:
        raise BadInput(problem)
    hierarchies = {name: proposed_hierarchy(seen, name) for name in _of(guesses, "quasi")}
    averaged = [name for name in _of(guesses, "confidential") if _numeric(seen, name)]
    counted, who = _counted(seen, guesses)
    leaks = _leaks(seen, guesses, averaged, answers or {})
    guesses |= {name: Guess("drop", reason) for name, reason in leaks.dropped.items()}
    files = file_names(seen) if folder is not None else {}
    paths = {name: f"{folder}/{file}" for name, file in files.items()}
    meanings = {name: said for name in hierarchies if (said := _meanings(seen, name))}
    head = _Head([*_opening(seen), *_markers(seen)], guesses, leaks, counted, who, paths, meanings)
    lines = head.text(guesses, [*hierarchies, *averaged])
    if hierarchies:
        lines += _generalize(hierarchies, secrets_of(seen, guesses), head)
    if averaged:
        lines += [
            "",
            f"# Amounts are replaced by the mean of at least k {who}, extremes too.",
            "[[steps]]",
            'method = "oma"',
            f"columns = {_toml(averaged)}",
            f"k = {K}",
            'spikes = "keep"  # a value that many share, such as 0, stays as it is',
        ]
    text = _joined(lines)
    # A path is not looked up before the recipe is run.
    return Proposal(text, Recipe.from_toml(text), hierarchies, head)


def proposed_hierarchy(seen: Inspection, name: str) -> Hierarchy:
    """Return what a column may become."""
    seen.column(name)  # Says so if there is none.
    column = seen.encoded[name]
    return Hierarchy.auto().settle(column.levels(), name, column.counts)


def _joined(lines: Sequence[str]) -> str:
    return "\n".join(map(_one_line, lines)) + "\n"


def _leaks(
    seen: Inspection, guesses: Mapping[str, Guess], averaged: list[str], answers: Mapping[str, str]
) -> Leaks:
    """Find what would give treated columns away; what a person asked for is not dropped."""
    kept = [name for name in _of(guesses, "confidential") if name not in averaged]
    shown = dict.fromkeys(kept, False)
    shown |= {name: name not in answers for name in _of(guesses, "insensitive")}
    household = next(iter(_of(guesses, "household")), None)
    return find_leaks(seen.encoded, list(_of(guesses, "quasi")), averaged, shown, household)


def _accepted(leaks: Leaks, treated: Collection[str]) -> list[str]:
    """Say which of the treated columns others give away."""
    accepted = {name: why for name, why in leaks.accepted.items() if name in treated}
    if not accepted:
        return []
    lines = [f"# Given away: {reason}." for reason in accepted.values()]
    return [*lines, f"allow_leaks = {_toml(list(accepted))}"]


def why_no_recipe(seen: Inspection) -> str | None:
    """Say in one sentence why no recipe is proposed, if that is so."""
    return _problem(seen, _roles(seen, {}))


def _problem(seen: Inspection, guesses: Mapping[str, Guess]) -> str | None:
    if seen.rows < 2 * K:
        records = f"{seen.rows} record{'s' * (seen.rows > 1)}"
        return (
            f"the table has {records}, too few to hide each among {K}; no recipe is proposed for "
            f"fewer than {2 * K}"
        )
    for name, guess in guesses.items():
        nulls = seen.encoded[name].nulls
        if guess.role in ("household", "unit") and nulls:
            return _one_line(
                f"'{name}' says whose each row is ({guess.role}), but {nulls:,} of {seen.rows:,} "
                "rows have none; fill it there or remove these rows, since counting rows instead "
                "would take each for a person"
            )
    if any(guess.role in _LISTED[1:] for guess in guesses.values()):
        return None
    name, guess = next(iter(guesses.items()))
    return _one_line(
        "no column would be released, so no recipe is proposed: all are identifiers or have to be "
        f"dropped ('{name}': {guess.reason})"
    )


def _roles(seen: Inspection, answers: Mapping[str, str]) -> dict[str, Guess]:
    """Choose the roles: what a person says, then what the steps can do with each column."""
    guesses = {}
    for name, guess in seen.roles.items():
        role = answers.get(name)
        if role is not None and role not in ANSWERS:
            raise BadInput(f"'{role}' is not a role; known: {', '.join(ANSWERS)}")
        told = Guess(role, "as you said", exposure=guess.exposure) if role else guess
        guesses[name] = _usable(seen, name, told)
    _keep_one_each(guesses, answers)
    for fine, coarse in seen.finer:
        both = (guesses[fine], guesses[coarse])
        if all(guess.role == "quasi" for guess in both) and fine not in answers:
            reason = f"says more than {coarse}, which it determines; keep one of the two"
            guesses[fine] = Guess("drop", reason)
    asked = sorted(
        _of(guesses, "quasi"),
        key=lambda n: (n not in answers, -guesses[n].exposure, len(seen.encoded[n].values)),
    )
    for name in asked[MOST_QUASI:]:
        reason = (
            f"k-anonymity over more than {MOST_QUASI} columns leaves little; list it if you need it"
        )
        guesses[name] = Guess("drop", reason)
    return guesses


def _keep_one_each(guesses: dict[str, Guess], answers: Mapping[str, str]) -> None:
    """Let an answer replace the guess at a role that only one column can have."""
    for role in _SINGLE:
        said = [name for name, answer in answers.items() if answer == role]
        if len(said) > 1:
            raise BadInput(f"'{said[0]}' and '{said[1]}' cannot both be the {role}; choose one")
        for name in _of(guesses, role):
            if said and name != said[0]:
                guesses[name] = Guess("drop", f"the {role} is '{said[0]}', as you said")


def _usable(seen: Inspection, name: str, guess: Guess) -> Guess:
    """Drop what no step can treat."""
    column = seen.encoded[name]
    if guess.role in ("identifiers", "drop", *_SINGLE):
        return guess
    if not column.releasable:
        return Guess("drop", f"it holds {column.given}, which no step treats")
    if guess.role == "confidential" and column.kind == "numeric":
        problem = _not_averaged(column.values, int(column.counts.sum()))
        if problem:
            return replace(guess, role="drop", reason=problem)
    return guess


def _not_averaged(values: pa.Array, present: int) -> str | None:
    if present < 2 * K:
        return f"only {present} records have a value"
    if pa.types.is_integer(values.type):
        ends = pc.min_max(values).as_py()
        if max(abs(ends["min"]), abs(ends["max"])) > LARGEST_EXACT_INTEGER:
            return "its integers have too many digits for arithmetic"
    if pa.types.is_floating(values.type) and np.isinf(values.to_numpy()).any():
        return "it holds infinity"
    return None


def _numeric(seen: Inspection, name: str) -> bool:
    return seen.encoded[name].kind == "numeric"


def _opening(seen: Inspection) -> list[str]:
    file = seen.source.name if seen.source else "TABLE"
    lines = [
        f"# Proposed by `discreet inspect {file}`. Roles are guesses: read the reasons beside",
        "# them, correct what is wrong, and run",
        f"#   discreet protect {file} --recipe THIS_FILE --out FOLDER",
        "",
    ]
    if seen.keys.riskiest:
        key = seen.keys.riskiest[0]
        joined = " x ".join(key.columns)
        lines.append(f"# The riskiest key: {joined} singles out {key.singled_out:.1%} of records.")
    for look in seen.columns:
        if look.dates:
            lines.append(f"# '{look.name}' holds dates as text ({look.dates}).")
    return lines


def _markers(seen: Inspection) -> list[str]:
    """Use the usual marks of missing values, and only mention those that may be values."""
    marks: dict[str, str] = {}
    lines = []
    for look in seen.columns:
        for value, reason in look.missing.items():
            if is_usual(reason):
                marks.setdefault(value, f"'{look.name}'")
            else:
                said = f"# Missing? '{value}' in '{look.name}' ({reason}). If so, add it below."
                lines.append(said)
    if marks:
        where = "; ".join(f"{_toml(mark)} in {column}" for mark, column in marks.items())
        lines.append(f"# Missing: {where}.")
    return [*lines, f"null_markers = {_toml(list(seen.markers))}"]


def _counted(seen: Inspection, guesses: Mapping[str, Guess]) -> tuple[str, str]:
    """Say what k counts, as a line and in a word; not what is too few."""
    for role, who, why in (
        ("household", "households", "who knows one member knows the household"),
        ("unit", "people", "a person with many records is one person"),
    ):
        for name in list(_of(guesses, role))[:1]:
            if len(seen.encoded[name].values) >= 2 * K:
                return f'counts = "{role}s"  # k counts the values of {_toml(name)}: {why}', who
    return 'counts = "rows"  # k counts records: each is taken for a person of its own', "records"


def _roles_text(guesses: Mapping[str, Guess]) -> list[str]:
    lines = ["", "[roles]"]
    for role in _LISTED:
        named = _of(guesses, role)
        lines.append(f"{role} = [" + ("]" if not named else ""))
        for name, guess in named.items():
            lines.append(f"    {_toml(name)},  # {_doubt(guess)}{guess.reason}")
        if named:
            lines.append("]")
    for role in _SINGLE:
        for place, (name, guess) in enumerate(_of(guesses, role).items()):
            mark = "# " if place else ""
            lines.append(f"{mark}{role} = {_toml(name)}  # {_doubt(guess)}{guess.reason}")
            if role == "unit" and not place:
                lines.append("# It is dropped; pseudonyms would show which records are a person's.")
    for name, guess in _of(guesses, "drop").items():
        lines.append(f"# dropped: {_toml(name)}: {guess.reason}")
    return [*lines, 'rest = "drop"']


def _of(guesses: Mapping[str, Guess], role: str) -> dict[str, Guess]:
    return {name: guess for name, guess in guesses.items() if guess.role == role}


def _doubt(guess: Guess) -> str:
    return "" if guess.sure else "doubtful: "


def _generalize(
    hierarchies: Mapping[str, Hierarchy],
    secrets: Mapping[str, int],
    head: _Head,
) -> list[str]:
    lines = [
        "",
        f"# Values become coarser until k {head.who} or more share each combination, each record",
        "# as little as can be; at most 5 % of the records are suppressed.",
    ]
    for name, values in secrets.items():
        model = f'{{ model = "l-diversity", l = {min(values, L)}, column = {_toml(name)} }}'
        lines.append(
            f"# Records that share one may share a secret too; to prevent that, add {model}."
        )
    lines += [
        "[[steps]]",
        'method = "generalize"',
        f"columns = {_toml(list(hierarchies))}",
        f'privacy = [{{ model = "k-anonymity", k = {K} }}]',
        'aggregate = "sum"',
        "local = true",
        f"evaluations = {NODES}",
    ]
    trees = {name: one.spec for name, one in hierarchies.items()}
    return lines + _trees_text(trees, head.paths, head.meanings)


def _step_text(step: Step, paths: Mapping[str, str], meanings: Mapping[str, str]) -> list[str]:
    """Write a step of a recipe, without what is so by default."""
    usual = {name: one.default for name, one in type(step).model_fields.items()}
    content = step.model_dump(exclude_none=True)
    trees = content.pop("hierarchies", {})
    lines = ["", "[[steps]]"]
    lines += [
        f"{_key(key)} = {_toml(value)}"
        for key, value in content.items()
        if key in ("method", "columns") or getattr(step, key) != usual[key]
    ]
    return lines + _trees_text(trees, paths, meanings)


def _trees_text(
    trees: Mapping[str, Any], paths: Mapping[str, str], meanings: Mapping[str, str]
) -> list[str]:
    """Write hierarchies: a line each, but a line for each group of those that have groups.

    Before one of codes a comment says what they mean.
    """
    if not trees:
        return []
    lines = ["", "[steps.hierarchies]"]
    grouped = [n for n, one in trees.items() if n not in paths and one.get("kind") == "groups"]
    for name, spec in trees.items():
        if name not in grouped:
            lines += [f"# {meanings[name]}"] if name in meanings else []
            lines.append(f"{_key(name)} = {_toml(paths.get(name, spec))}")
    for name in grouped:
        lines += ["", f"[steps.hierarchies.{_key(name)}]"]
        lines += [f"# {meanings[name]}"] if name in meanings else []
        lines.append('kind = "groups"')
        lines += _groups_text(trees[name]["tree"], "tree")
    return lines


def _meanings(seen: Inspection, name: str) -> str:
    """Say what the codes of a column mean, if the file does: `1 = North, 2 = South`."""
    column = seen.encoded[name]
    labels = column.labels.values
    known = sorted(value for value in column.values.to_pylist() if value in labels)
    if len(known) > _MOST_MEANINGS:
        return ""
    shown = (f"{value:.12g}" if isinstance(value, float) else value for value in known)
    return ", ".join(f"{code} = {labels[value]}" for code, value in zip(shown, known, strict=True))


def _groups_text(tree: Mapping[str, Any], under: str) -> list[str]:
    lines = []
    for name, inside in tree.items():
        path = f"{under}.{_key(name)}"
        if isinstance(inside, Mapping):
            lines += _groups_text(inside, path)
        else:
            lines.append(f"{path} = {_toml(inside)}")
    return lines


def secrets_of(seen: Inspection, guesses: Mapping[str, Guess]) -> dict[str, int]:
    """Return the confidential categories, with the number of their values."""
    return {
        name: len(seen.encoded[name].values)
        for name in _of(guesses, "confidential")
        if not _numeric(seen, name) and len(seen.encoded[name].values) > 1
    }


def file_names(seen: Inspection) -> dict[str, str]:
    """Name the file of each column's hierarchy; names differ even if case is ignored.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from discreet.inspection import inspect
    >>> file_names(inspect(pa.table({"marital-status": ["m"], "a/b": ["x"], "A b": ["y"]})))
    {'marital-status': 'marital-status.csv', 'a/b': 'a_b.csv', 'A b': 'A_b_2.csv'}
    """
    names: dict[str, str] = {}
    taken: set[str] = set()
    for column in seen.encoded:
        stem = re.sub(r"[^\w.-]", "_", column).lstrip(".")[:60] or "column"
        tried = (stem if number == 1 else f"{stem}_{number}" for number in count(1))
        chosen = next(name for name in tried if name.casefold() not in taken)
        taken.add(chosen.casefold())
        names[column] = f"{chosen}.csv"
    return names


def write_hierarchies(seen: Inspection, hierarchies: Mapping[str, Hierarchy], folder: Path) -> None:
    """Write hierarchies as CSV files to edit, one per column; existing files are not replaced."""
    files = file_names(seen)
    paths = {name: folder / files[name] for name in hierarchies}
    try:
        for path in paths.values():
            if path.exists():
                raise BadInput(f"{path} exists; choose another folder, or remove it")
        folder.mkdir(parents=True, exist_ok=True)
        for name, hierarchy in hierarchies.items():
            hierarchy.to_csv(paths[name], seen.encoded[name].levels(), name)
    except OSError as error:
        raise BadInput(f"cannot write to {folder}: {error.strerror}") from None


# TOML, which no library writes with comments


def _toml(value: Any) -> str:
    if isinstance(value, Mapping):
        inside = ", ".join(f"{_key(key)} = {_toml(item)}" for key, item in value.items())
        return f"{{ {inside} }}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(_toml(item) for item in value)}]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _toml(name)


def _one_line(line: str) -> str:
    """Keep a line on one line, whatever a column or the file is called."""
    return re.sub(r"[\x00-\x1f\x7f\ud800-\udfff]", " ", line)
