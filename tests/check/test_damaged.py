"""Files of `internal/` that are damaged: one sentence, and no traceback."""

import pytest


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("log.json", "null", "log.json does not hold a table of names"),
        ("log.json", "[]", "log.json does not hold a table of names"),
        ("log.json", "{", "log.json is not JSON (Expecting property name"),
        ("log.json", "[" * 100_000, "log.json is not JSON (maximum recursion depth"),
        ("log.json", "\xff", "log.json is not JSON ("),
        ("log.json", "{}", "'release' is missing"),
        ("plan.json", "null", "plan.json does not hold a table of names"),
        ("plan.json", '{"steps": null}', "plan.json does not hold steps and their columns"),
        ("plan.json", '{"steps": [null]}', "plan.json does not hold steps and their columns"),
        ("plan.json", '{"steps": [{"columns": 1}]}', "plan.json does not hold steps and their"),
        ("plan.json", "{}", "'steps' is missing"),
        ("schema.arrow", "", "Tried reading schema message, was null or length 0"),
    ],
)
def test_a_damaged_file(place, run, name, text, said):
    (place.internal / name).write_text(text, encoding="latin-1")
    for command in (["check"], ["report"], ["assess", place.folder / "raw.csv"]):
        more = ["--recipe", place.internal / "recipe.toml"] if len(command) > 1 else []
        code, _, err = run(*command, place.release, *more)
        assert (code, err.count("\n")) == (2, 1)
        assert f"internal is not the internal folder of a release: {said}" in err


@pytest.mark.parametrize("part", ["input", "output", "roles", "warnings", "seed", "steps"])
def test_a_null_in_the_log(place, run, part):
    place.edit("internal/log.json", lambda log: log.update({part: None}))
    code, _, err = run("check", place.release)
    assert code == 2
    assert f"'{part}' of log.json is not a " in err
    place.edit("internal/log.json", lambda log: log.pop(part))
    assert f"'{part}' is missing" in run("check", place.release)[2]


def test_a_null_among_the_steps(place, run):
    place.edit("internal/log.json", lambda log: log.update(steps=[None]))
    code, _, err = run("check", place.release)
    assert code == 2
    assert err.endswith("release: a step of log.json is not a dict\n")


@pytest.mark.parametrize("name", ["check.json", "assessment.json"])
@pytest.mark.parametrize("text", ["null", "[1]", "{}", '{"risk": null, "findings": 1}', "{"])
@pytest.mark.parametrize("out", [False, True])
def test_a_report_of_damaged_files(place, run, name, text, out):
    (place.internal / name).write_text(text)
    given = ["--out", place.folder / "page.html"] if out else []
    code, _, err = run("report", place.release, *given)
    assert code == 2
    said = f"was changed after it was written: the hash of internal/{name} differs"
    assert err == f"discreet: {place.release} {said}; run discreet check\n"


def test_a_fault_of_the_report_is_not_blamed_on_the_files(place, monkeypatch):
    from discreet.flow import reports

    monkeypatch.setattr(reports, "internal_report", lambda facts: {}["fault"])
    with pytest.raises(KeyError, match="fault"):
        reports.saved_report(place.release)
