"""The commands. Imports of the library are inside them, so that `--help` answers at once."""

from __future__ import annotations

import gc
import signal
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli import app as the_app
from discreet.cli import complete, options, policies, show
from discreet.cli.attack import attack
from discreet.cli.compare import assess, compare
from discreet.cli.demo import demo
from discreet.cli.inspect import inspect
from discreet.cli.invent import invent
from discreet.cli.recipe import recipes
from discreet.cli.report import report
from discreet.cli.reproduce import reproduce
from discreet.cli.risk import risk
from discreet.cli.search import search
from discreet.cli.sweep import sweep
from discreet.errors import BadInput, BrokenPromise

if TYPE_CHECKING:
    from discreet.check import CheckReport

app = typer.Typer(
    help="Statistical disclosure control: from a table to one you can share, with the proof.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def main() -> None:
    """Run a command: exit 0 when done, 1 for a failed promise, check or policy, 2 for bad input."""
    warnings.showwarning = _warn
    # Loading packages makes objects by the hundred thousand, and next to none that can go.
    gc.set_threshold(50_000)
    asked: list[int] = []

    def stop(number: int, frame: Any) -> None:
        asked.append(number)
        sys.exit(128 + number)

    # Temporary files hold rows of people; whoever is asked to stop removes them first.
    for name in ("SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), stop)
    if hasattr(signal, "SIGPIPE"):
        # A reader that stops listening, such as `head`, is not a failed check.
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    try:
        app(prog_name="discreet")
    except SystemExit as ended:
        # A query that is stopped reports an interruption, whatever the signal was.
        sys.exit(128 + asked[0] if asked and ended.code else ended.code)
    except BrokenPromise as error:
        sys.exit(_fail(str(error), 1))
    except (BadInput, OSError) as error:
        # Names of files may have line ends.
        sys.exit(_fail("\\n".join(str(error).splitlines()), 2))
    except MemoryError:
        sys.exit(_fail("there is too little memory for this; --engine duckdb takes less", 2))


def _fail(message: str, code: int) -> int:
    print(f"discreet: {show.visible(message)}", file=sys.stderr)
    return code


def _warn(message: Warning | str, *where: Any, **more: Any) -> None:
    print(f"discreet: warning: {show.visible(str(message))}", file=sys.stderr)


@app.callback(invoke_without_command=True)
def _top(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and its commit.")
    ] = False,
) -> None:
    if version:
        from discreet.version import version as told

        print(f"discreet {told()}")
        raise typer.Exit


app.command()(inspect)


@app.command()
@options.reads_files
def protect(
    file: options.TableFile,
    out_path: Annotated[
        Path, typer.Option("--out", help="Folder to write, or a file such as shared.csv.")
    ],
    recipe: Annotated[Path | None, typer.Option(help="TOML file with roles and steps.")] = None,
    plan: Annotated[
        Path | None,
        typer.Option(help="Instead of a recipe, internal/ of an earlier release: apply its plan."),
    ] = None,
    suppress: Annotated[
        bool,
        typer.Option("--suppress", help="With --plan: suppress what would break a promise."),
    ] = False,
    anew: Annotated[
        list[int] | None,
        typer.Option(help="With --plan: number of a step to decide on anew; may be repeated."),
    ] = None,
    same_pseudonyms: Annotated[
        bool,
        typer.Option("--same-pseudonyms", help="With --plan: keep the key of its pseudonyms."),
    ] = False,
    format: Annotated[
        str | None,
        typer.Option(
            help="csv, parquet, xlsx, sav, dta, ... (parquet for Parquet, else csv); several with "
            "commas.",
            autocompletion=complete.formats,
        ),
    ] = None,
    force: options.Force = False,
    csv_safe: Annotated[
        bool,
        typer.Option("--csv-safe", help="Quote text that spreadsheets take for formulas."),
    ] = False,
    engine: Annotated[
        str,
        typer.Option(
            help="memory, duckdb or spark; auto: memory if it fits, else duckdb.",
            autocompletion=complete.engines,
        ),
    ] = "auto",
    memory: options.Memory = None,
    master: Annotated[str | None, typer.Option(help="Spark master, such as local[4].")] = None,
    sign: Annotated[
        Path | None, typer.Option(help="Ed25519 private key (PEM) to sign the release with.")
    ] = None,
    holdout: Annotated[
        float | None,
        typer.Option(help="Share of the records to set aside for attacks, such as 0.1."),
    ] = None,
    any_key: Annotated[
        bool, typer.Option("--any-key", help="With --plan: take one that a colleague's key sealed.")
    ] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", help="Print every step, finding and figure.")
    ] = False,
    as_json: options.Json = False,
    **dialect: str | None,
) -> None:
    """Protect a table by a recipe, or by the plan of an earlier release.

    Writes public/ to share and internal/ to keep.
    Exits with 1 and writes nothing if a promise is broken; exits with 1 if the release misses a
    rule of the policy that the recipe names.
    """
    from discreet.flow.protection import asked_for, protect_to

    with show.stages() as tell:
        found = protect_to(
            file,
            asked_for(recipe, plan, suppress, anew or (), same_pseudonyms, any_key),
            out_path,
            engine,
            format=format,
            force=force,
            csv_safe=csv_safe,
            sign=sign,
            holdout=holdout,
            memory=memory,
            master=master,
            dialect=dialect,
            tell=tell,
        )
    _print_release(*found, as_json, verbose)
    release, _, written = found
    policy = None if release.check is None else release.check.policy
    if policy is not None and policy.status == "missed":
        raise typer.Exit(_fail(policies.missed(policy, written), 1))


def _print_release(
    release: Any, assessment: Any, written: Path, as_json: bool, verbose: bool
) -> None:
    if as_json:
        from discreet.report.decision import decision
        from discreet.report.measures import guided
        from discreet.table.two_tables import SECOND, second_of

        judged, failed = guided(assessment.to_dict())
        second = {SECOND: str(second_of(written))} if release.recipe.apart else {}
        show.print_json(
            {
                "table": str(written),
                **second,
                "tables": [str(path) for path in show.tables(release, written)],
                "decision": decision(release.facts(assessment=assessment)),
                "log": release.log,
                "check": release.check.to_dict(),
                "assessment": assessment.to_dict(),
                "guide_values": {"of": len(judged), "not_met": [row["name"] for row in failed]},
            }
        )
    else:
        show.release(release, assessment, written, verbose)


@app.command()
@options.reads_files
def check(
    release: options.ReleasePath,
    original: Annotated[Path | None, typer.Option(help="The table it was made from.")] = None,
    recipe: Annotated[
        Path | None, typer.Option(help="The recipe, if there is no internal folder.")
    ] = None,
    engine: Annotated[
        str,
        typer.Option(
            help="memory or duckdb; auto: memory if the tables fit.",
            autocompletion=complete.measuring,
        ),
    ] = "auto",
    memory: options.Memory = None,
    public_key: Annotated[
        Path | None, typer.Option(help="Ed25519 public key (PEM) of whoever signed the release.")
    ] = None,
    any_key: Annotated[
        bool, typer.Option("--any-key", help="Accept a release that a colleague's key sealed.")
    ] = False,
    policy: policies.Named = None,
    population: policies.Population = None,
    collected: policies.Collected = None,
    attacks: policies.Attacks = None,
    group: policies.Groups = None,
    as_json: options.Json = False,
    **dialect: str | None,
) -> None:
    """Verify what a release promises; exits with 1 if one is broken, or it is not yours.

    With --policy, or one in the recipe, also whether it keeps the rules of a policy; exits with 1
    if one is missed, or a file that the recipe names for them is gone. Rules that are open, which
    need more than is there or a person, do not change the exit code.
    """
    from discreet.check import CheckReport, check_release
    from discreet.check.folders import find_release
    from discreet.check.signatures import signatures
    from discreet.recipe import Recipe, Roles

    table, internal = find_release(release)
    known = internal.is_dir()
    bare = recipe is None and not known
    if bare and policy is None:
        if public_key is None:
            raise BadInput(f"{internal} does not exist; give the recipe with --recipe")
        found = CheckReport(tuple(signatures(table, None, public_key)))
    else:
        # Rules of results, such as tables of counts, need no recipe.
        path = recipe if recipe is not None else internal / "recipe.toml"
        rules = Recipe(roles=Roles()) if bare else Recipe.load(path)
        against = policies.given(rules, policy, population, collected, attacks, group)
        with show.stages() as tell:
            found = check_release(
                table,
                rules,
                internal if known else None,
                original,
                engine=engine,
                memory=memory,
                dialect=dialect,
                public_key=public_key,
                policy=against,
                tell=tell,
            )
        if bare:
            found = CheckReport((), policy=found.policy)
    if as_json:
        show.print_json(found.to_dict())
    else:
        if found.findings:
            show.check(found)
        policies.show_policy(found.policy)
    if not found.ok or (found.policy is not None and found.policy.status == "missed"):
        raise typer.Exit(1)
    if found.policy is not None and found.policy.gone:
        raise typer.Exit(_fail(policies.gone(found.policy), 1))
    if not any_key and _is_foreign(found):
        said = "was sealed with another key than yours, so anybody could have made it"
        raise typer.Exit(_fail(f"{release} {said}; if a colleague did, give --any-key", 1))


def _is_foreign(found: CheckReport) -> bool:
    """Tell whether a user who has a key checked what is neither sealed with it nor signed."""
    from discreet.check.keys import own_key
    from discreet.check.manifest import ANOTHER_KEY, AUTHENTIC
    from discreet.check.signatures import INTERNAL

    said = {one.promise: one for one in found.findings}
    sealed, signed = said.get(AUTHENTIC), said.get(INTERNAL)
    if sealed is None or not sealed.detail.startswith(ANOTHER_KEY):
        return False
    return own_key() is not None and (signed is None or signed.status != "verified")


for command in (risk, search, sweep, assess, attack, compare, report):
    app.command()(command)


@app.command()
def methods(as_json: options.Json = False) -> None:
    """List the methods with their parameters, effects and promises."""
    from discreet.registry import methods as registered

    rows = [show.describe(method) for method in registered().values()]
    if as_json:
        show.print_json(rows)
    else:
        show.methods(rows)


app.add_typer(recipes, name="recipe")
app.command(name="app")(the_app.app)
app.command(name="policies")(policies.policies)
for command in (invent, demo, reproduce):
    app.command()(command)
