"""Next year's table: the plan of an earlier release becomes the recipe of other rows.

What does not depend on the rows is kept: levels, hierarchies, cuts, points, bases, bounds. A step
whose plan is about the very records is decided on anew, and said so by name. Seeds are not kept,
whatever the recipe says: with the draws of an earlier release, whoever knows one year's noise
would know the other's.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from discreet import __version__
from discreet.check.evidence import UNREADABLE, Evidence, Log
from discreet.check.kept import not_of_recipe, refuse_changed
from discreet.errors import BadInput, BrokenPromise, Unmet
from discreet.flow.refusals import chooses_rarest
from discreet.generalization import Hierarchy
from discreet.parameters import is_whole
from discreet.recipe.recipe import Recipe, Step, read_step
from discreet.table.columns import is_number

_ANEW = "or decide anew with a recipe instead of the plan"
FRESH = (
    "all {other}draws go by a fresh secret: with that of the earlier release, what is known of one "
    "release's noise would undo the other's"
)
AS_ASKED = "as was asked for"
_FEW = 5  # values that a warning names
PARAMETERS = ["parameters"]  # what is kept of a step that decides nothing
TIED = "its draws are those of the project's key, for the values that there are now"
NEW_NAMES = (
    "pseudonyms are made with a new key, so that nobody can be followed from release to release; "
    "--same-pseudonyms, or same_pseudonyms=True, keeps the earlier one"
)


# By step, what is said of points that too few hold, a sentence for each column.
Few = dict[int, list[str]]


@dataclass(frozen=True)
class Settled:
    """The recipe that applies a plan, and what it is made of."""

    recipe: Recipe
    columns: Sequence[str]  # those of the earlier table
    told: dict[str, Any] = field(repr=False)  # what the log says of the plan
    warnings: list[str] = field(default_factory=list)
    steps: Sequence[Mapping[str, Any]] = field(default=(), repr=False)  # of the earlier plan

    def refuse_new(self, names: Sequence[str]) -> None:
        """Refuse columns that nobody has given a role, where they are not dropped."""
        roles = self.recipe.roles
        known = {*self.columns, *roles.named()}
        new = [f"'{name}'" for name in names if name not in known]
        if new and roles.rest != "drop":
            one = len(new) == 1
            raise BadInput(
                f"column{'s' * (not one)} {', '.join(new)} {'is' if one else 'are'} new, and the "
                f"plan says nothing of {'it' if one else 'them'}; leave {'it' if one else 'them'} "
                f"out of the table, {_ANEW}"
            )

    def where(self, number: int) -> str:
        """Name a step as the earlier release did."""
        return f"step {number} ({self.told['methods'][number - 1]})"

    def keeps(self, number: int) -> bool:
        """Tell whether something is kept of what a step decided."""
        return self.told["kept"].get(str(number), PARAMETERS) != PARAMETERS

    def note(
        self, log: Log, plan: Mapping[str, Any], suppressed: Mapping[int, Sequence[str]]
    ) -> None:
        """Put into a log which plan was applied, how, and what was suppressed to keep it."""
        log["plan"] = self.told
        log["warnings"] += [one for one in self.warnings if one not in log["warnings"]]
        pairs = enumerate(zip(self.steps, plan["steps"], self.recipe.steps, strict=False), start=1)
        for number, (before, now, step) in pairs:
            log["warnings"] += [
                f"{self.where(number)}: {one}" for one in _new_values(step, before, now)
            ]
        for number, said in suppressed.items():
            log["warnings"] += [
                f"{self.where(number)}: {one}; they are suppressed, as was asked for"
                for one in said
            ]


def open_plan(given: str | Path, any_key: bool = False) -> Evidence:
    """Read the plan of an earlier release, or say why it cannot be applied.

    Parameters
    ----------
    given : str or Path
        The release's internal folder, or the release folder itself.
    any_key : bool
        Take a plan that was sealed with another key than the user's own.
    """
    folder = _folder_of(Path(given))
    _refuse_newer(folder)
    evidence = Evidence.load(folder)
    foreign = refuse_changed(folder, None, evidence)
    if foreign is not None and not any_key:
        raise BadInput(f"{foreign}; if a colleague did, give --any-key, or any_key=True")
    with _readable(folder):
        problem = not_of_recipe(evidence.recipe, evidence)
    if problem is not None:
        raise BadInput(f"the plan in {folder} is not of the recipe beside it: {problem}")
    return evidence


@contextmanager
def _readable(folder: Path) -> Iterator[None]:
    """Say in a sentence that a plan is damaged: a colleague's may have been edited, and sealed."""
    try:
        yield
    except BadInput:
        raise
    except UNREADABLE as error:
        raise BadInput(
            f"the plan in {folder} is damaged ({type(error).__name__}); take it as it was written, "
            f"{_ANEW}"
        ) from None


def _folder_of(given: Path) -> Path:
    if not given.exists():
        raise BadInput(f"the plan {given} does not exist")
    folder = given / "internal" if (given / "internal").is_dir() else given
    if (folder / "plan.json").is_file():
        return folder
    is_public = given.name == "public" or (given / "codebook.md").is_file()
    if is_public:
        raise BadInput(
            f"{given} is the public half of a release, which tells no plan; give the internal "
            "folder beside it"
        )
    raise BadInput(f"{given} is not the internal folder of a release: it has no plan.json")


def _refuse_newer(folder: Path) -> None:
    """Refuse a plan that may say what this version does not know; older ones are read."""
    try:
        made = str(json.loads((folder / "log.json").read_bytes())["discreet"])
    except (OSError, ValueError, LookupError, TypeError):
        return  # What is wrong with the folder is said where it is read.
    if _version(made) > _version(__version__):
        raise BadInput(
            f"the plan in {folder} was made by discreet {made}, which is newer than this one, "
            f"{__version__}; update discreet"
        )


def _version(text: str) -> tuple[int, ...]:
    """Return the numbers of a version.

    Examples
    --------
    >>> _version("0.10.2") > _version("0.9.30")
    True
    """
    return tuple(int(number) for number in re.findall(r"\d+", text)[:3])


def settle(evidence: Evidence, anew: Sequence[int] = (), same_pseudonyms: bool = False) -> Settled:
    """Turn the plan of a release into a recipe that decides on other rows as it did.

    Parameters
    ----------
    evidence : Evidence
        As `open_plan` reads it.
    anew : sequence of int
        The numbers of steps that are decided on anew, though they could be kept.
    same_pseudonyms : bool
        Keep the key of the pseudonyms.
    """
    assert evidence.folder is not None
    with _readable(evidence.folder):
        asked = _first_asked(evidence)
    _refuse_asked(len(asked), anew)
    if same_pseudonyms and evidence.recipe.pseudonym_key is None:
        raise BadInput("there are no pseudonyms to keep: the plan's recipe has no such column")
    with _readable(evidence.folder):
        earlier = [str(name) for name in evidence.log["input"]["columns"]]
        steps, kept, others, warnings = _decided(evidence, asked, anew)
    tied = evidence.recipe.project_key is not None
    drawn = [method for method in map(Step.build, evidence.recipe.steps) if method.is_random]
    apart = [method for method in drawn if not (tied and method.steady)]
    if apart:
        warnings.append(FRESH.format(other="other " * (len(apart) < len(drawn))))
    content = evidence.recipe.model_dump(exclude_none=True)
    content |= {"steps": [_without_none(step) for step in steps]}
    for secret in ("seed", "order_seed", "seed_for"):
        content.pop(secret, None)
    if not same_pseudonyms and content.pop("pseudonym_key", None) is not None:
        warnings.append(NEW_NAMES)
    sha256 = hashlib.sha256((evidence.folder / "plan.json").read_bytes()).hexdigest()
    log = evidence.log
    content["follows"] = {"release": log["release"], "plan": sha256}
    told: dict[str, Any] = {"release": log["release"], "sha256": sha256, "made": log["started"]}
    told["methods"] = [step.method for step in evidence.recipe.steps]
    told["asked"] = [_without_none(step.model_dump()) for step in asked]
    told |= {"discreet": log["discreet"], "kept": _by_text(kept), "anew": _by_text(others)}
    recipe = Recipe.from_dict(content, source=f"the recipe in {evidence.folder}")
    return Settled(recipe, earlier, told, warnings, evidence.plan["steps"])


def _refuse_asked(steps: int, anew: Sequence[int]) -> None:
    """Refuse to decide on steps anew that there are not."""
    if not isinstance(anew, Sequence) or not all(is_whole(number, 0) for number in anew):
        raise BadInput(f"anew must be a list of the numbers of steps, such as [2], not {anew!r}")
    for number in anew:
        if not 1 <= number <= steps:
            raise BadInput(f"there is no step {number} to decide on anew; the plan has {steps}")


def _decided(
    evidence: Evidence, asked: Sequence[Step], anew: Sequence[int]
) -> tuple[list[dict[str, Any]], dict[int, list[str]], dict[int, str], list[str]]:
    """Return the steps, what is kept of some, why others are decided on anew, and warnings."""
    steps, kept, others, warnings = [], {}, {}, list[str]()
    before = evidence.log.get("plan", {}).get("kept", {})
    tied = evidence.recipe.project_key is not None
    # What was added to suppress is not carried on: whether it is wanted is asked each time.
    pairs = zip(asked, evidence.recipe.steps, evidence.plan["steps"], strict=False)
    for number, (first, step, plan) in enumerate(pairs, start=1):
        method = step.build()
        found = method.carried(_plain(plan))
        if number in anew:
            _refuse_decided(number, first, step, found)
            found = AS_ASKED
        if tied and method.steady:
            found = TIED
        if isinstance(found, str):
            others[number] = found
            warnings.append(f"step {number} ({first.method}) was decided on anew: {found}")
            steps.append(first.model_dump())
        else:
            if chooses_rarest(step):
                found.pop("min_count", None)  # that nobody gave: it would allow points of one
            set_ = sorted(key for key, value in found.items() if value is not None)
            names = [key for key in set_ if key != "method"]
            kept[number] = names or before.get(str(number), PARAMETERS)
            steps.append(_with(_without_suppressing(step, first), found))
            warnings += _other_labels(number, step, plan)
    return steps, kept, others, warnings


def _first_asked(evidence: Evidence) -> Sequence[Step]:
    """Return the steps of the first recipe, from which no plan had decided anything yet."""
    given = evidence.log.get("plan", {}).get("asked")
    if given is None:
        return evidence.recipe.steps
    return [read_step(step, number) for number, step in enumerate(given, start=1)]


def _refuse_decided(number: int, first: Step, step: Step, found: Mapping[str, Any] | str) -> None:
    """Refuse to decide on a step anew that has nothing to decide."""
    if first.method == step.method and found == {}:
        raise BadInput(
            f"step {number} ({step.method}) has nothing to decide on anew: its parameters say all; "
            "change them in a recipe, and give it with --recipe"
        )


def _without_suppressing(step: Step, first: Step) -> Step:
    """Take back what was changed in a step to suppress what broke its promise."""
    changed = {"promise": first.promise}
    if "suppression_limit" in step.parameters():
        changed["suppression_limit"] = first.parameters()["suppression_limit"]
    return step.model_copy(update=changed)


def _by_text(steps: Mapping[int, Any]) -> dict[str, Any]:
    return {str(number): what for number, what in steps.items()}


def _with(step: Step, found: Mapping[str, Any]) -> dict[str, Any]:
    """Return a step with other parameters, or as one of another method."""
    own = step.model_dump()
    if "method" in found:
        own = {name: own[name] for name in ("columns", "promise", "precision")}
    return {**own, **found}


def _without_none(step: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in step.items() if value is not None}


def _plain(value: Any) -> Any:
    """Return part of a plan with lists in place of arrays, as a recipe has them."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list) else value


def _other_labels(number: int, step: Step, plan: Mapping[str, Any]) -> list[str]:
    """Say where a hierarchy's file gives values of the earlier table other labels than then."""
    found = []
    for name, hierarchy in (step.parameters().get("hierarchies") or {}).items():
        hierarchy = Hierarchy.from_spec(hierarchy)
        if hierarchy.spec["kind"] != "csv":
            continue
        before = plan["joint"]["hierarchies"][name]
        values = pa.array([str(value) for value in before["values"]])
        try:
            now = [level.to_pylist() for level in hierarchy.labels(values, name)]
        except BadInput as error:
            raise BadInput(
                f"step {number} ({step.method}): the hierarchy's file is not what it was: {error}"
            ) from None
        leaf = np.asarray(before["leaf"], dtype=np.int64)
        was = [
            [labels[i] for i in np.asarray(up)[leaf]]
            for labels, up in zip(before["labels"], before["maps"], strict=True)
        ]
        pairs = zip(zip(*now, strict=True), zip(*was, strict=True), strict=True)
        other = sum(one != two for one, two in pairs)
        if other or len(now) != len(was):
            found.append(
                f"step {number} ({step.method}): the hierarchy of '{name}' gives {other:,} "
                f"value{'s' * (other != 1)} of the earlier table other labels than then"
            )
    return found


def _new_values(step: Step, before: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    """Name categories that the earlier table had not, where the hierarchy has a place for any.

    Numbers are new each year; words are, where they are written or coded in another way.
    """
    trees = [one.get("joint", {}).get("hierarchies", {}) for one in (before, now)]
    for name, hierarchy in (step.parameters().get("hierarchies") or {}).items():
        if Hierarchy.from_spec(hierarchy).spec["kind"] != "flat":
            continue
        if not all(name in one for one in trees):
            continue
        had, has = (dict.fromkeys(map(str, one[name]["values"])) for one in trees)
        new = [value for value in has if value not in had]
        if not new or all(map(is_number, had)):
            continue
        listed = ", ".join(f"'{value}'" for value in new[:_FEW])
        more = f" and {len(new) - _FEW:,} more" if len(new) > _FEW else ""
        yield (
            f"'{name}' has {len(new):,} value{'s' * (len(new) != 1)} that the earlier table had "
            f"not ({listed}{more}), and lacks {len(had.keys() - has):,} that it had; if they "
            "are only written in another way, write them as before, or the releases cannot be "
            "compared"
        )


# What no longer holds


def unkept(recipe: Recipe, plan: Mapping[str, Any]) -> Few:
    """Find the given points that too few records hold."""
    found: Few = {}
    for number, (step, entry) in enumerate(zip(recipe.steps, plan["steps"], strict=True), 1):
        if step.method != "given-cuts" or not step.promise or step.build().promise is None:
            continue
        for name, column in entry["columns"].items():
            least = step.least_records(name)
            points, at = np.unique(column["points"], return_inverse=True)
            held = column.get("units", column["counts"])
            # Units at two points that were rounded to one may be the same ones; the check counts.
            shared, records = (np.bincount(at, weights=x) for x in (held, column["counts"]))
            few = (shared > 0) & (shared < least)
            if few.any():
                # Of columns that are treated once a household, households are counted.
                once = entry.get("levels", {}).get(name)
                homes = "households" if once == recipe.roles.household else "units"
                whose = "records" if once is None else homes
                said = (
                    f"{int(records[few].sum()):,} {whose} hold {int(few.sum()):,} of the "
                    f"{len(points):,} points of '{name}', each shared by fewer than {least} "
                    f"{recipe.counted_as}"
                )
                found.setdefault(number, []).append(said)
    return found


def with_limit(recipe: Recipe, error: Unmet) -> Recipe | None:
    """Return a recipe whose step may suppress as many records as it must; None if none helps."""
    assert error.step is not None
    step = recipe.steps[error.step - 1]
    limit = step.parameters().get("suppression_limit")
    if error.works is None or limit is None or error.works <= limit:
        return None
    steps = list(recipe.steps)
    steps[error.step - 1] = step.model_copy(update={"suppression_limit": error.works})
    return recipe.model_copy(update={"steps": steps})


def with_blanks(recipe: Recipe, few: Few) -> Recipe:
    """Return a recipe in which cells at points that too few hold are blanked by a further step."""
    content = recipe.model_dump(exclude_none=True)
    for number in few:
        step = recipe.steps[number - 1]
        # The further steps promise what this one did, of all of its columns.
        content["steps"][number - 1]["promise"] = False
        for name in step.columns:
            blanks = {"method": "local-suppression", "columns": [name]}
            content["steps"].append(blanks | {"k": step.least_records(name)})
    return Recipe.from_dict(content)


def broken(
    settled: Settled,
    said: Mapping[int, Sequence[str]],
    suppressible: bool = True,
    then: str | None = None,
) -> BrokenPromise:
    """Say what no longer holds, a line for each promise by its step, and what to do.

    `then` is why it could not be found out whether suppressing what breaks them is enough.
    """
    lines = "".join(f"\n  {settled.where(n)}: {one}" for n in sorted(said) for one in said[n])
    if then is not None:
        lines += f"\nand with as many suppressed as that takes, the next step fails:\n  {then}"
    those = [f"--anew {n}" for n in sorted(said) if settled.keeps(n)]
    first = "suppress what breaks them with --suppress, " if suppressible else ""
    which = f"on these steps anew with {' '.join(those)}, or on all" if those else "on all anew"
    return BrokenPromise(
        f"the plan of release {settled.told['release']} does not keep its promises on these "
        f"rows:{lines}\n{first}decide {which} with --recipe"
    )
