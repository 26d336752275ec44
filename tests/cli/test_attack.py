"""`discreet attack`: a release, a holdout, two releases; what is printed and refused."""

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from discreet.assessment import attacked
from discreet.cli.main import app
from discreet.errors import BadInput

RECIPE = """
[roles]
quasi = ["age", "town"]
confidential = ["ill"]

[[steps]]
method = "mondrian"
columns = ["age", "town"]
privacy = [{ model = "k-anonymity", k = 5 }]
"""
HEADS = ("in the original", "not in it", "by a guess", "excess")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """People, a release of them, and others who are not in it."""
    draw = np.random.default_rng(1)
    people = pd.DataFrame(draw.integers(0, 40, (600, 2)), columns=["age", "town"])
    people["ill"] = draw.choice(["yes", "no"], 600)
    people[:500].to_csv(tmp_path / "people.csv", index=False)
    people[500:].to_csv(tmp_path / "others.csv", index=False)
    (tmp_path / "r.toml").write_text(RECIPE)
    monkeypatch.chdir(tmp_path)
    run("protect", "people.csv", "--recipe", "r.toml", "--out", "release")
    return tmp_path


def run(*words):
    found = CliRunner().invoke(app, list(words))
    if found.exception is not None and not isinstance(found.exception, SystemExit):
        raise found.exception
    assert found.exit_code == 0, found.output
    return found.output


def attack(*words):
    return run("attack", "people.csv", *words, "--queries", "100")


def test_all_attacks_are_told_in_a_table_and_a_sentence_each(folder):
    said = attack("release", "--holdout", "others.csv")
    for head in HEADS:
        assert head in said
    for name in ("Singling out, several columns:", "Linkability:", "Inference of ill:"):
        assert name in said
    assert "Membership: The attack takes a person to be in the release" in said
    assert "Left out" not in said


def test_json_has_every_attack_with_its_interval(folder):
    found = json.loads(attack("release", "--holdout", "others.csv", "--json"))["attacks"]
    names = ["singling out", "singling out", "linkability", "inference", "membership"]
    assert [one["name"] for one in found] == names
    for one in found:
        low, high = one["interval"]
        assert low <= one["excess"] <= high
        assert one["against"] == "holdout"


def test_without_a_holdout_it_says_what_cannot_be_concluded(folder):
    said = attack("release")
    assert "without a holdout" in said
    assert "Left out: membership: needs a holdout" in said


def test_columns_may_be_named_and_a_file_alone_attacked(folder):
    found = json.loads(attack("people.csv", "--known", "age", "--secret", "town", "--json"))
    secrets = [one["detail"].get("secret") for one in found["attacks"]]
    assert secrets == [None, None, "town"]
    assert list(found["left_out"]) == ["linkability", "membership"]


def test_two_releases_are_put_together(folder):
    (folder / "r.toml").write_text(RECIPE.replace("k = 5", "k = 7"))
    run("protect", "people.csv", "--recipe", "r.toml", "--out", "other")
    assert "Together the two releases narrow" in attack("release", "other")
    assert json.loads(attack("release", "other", "--json"))["differencing"]["records"] == 500


def test_releases_of_different_tables_are_not_put_together(folder):
    run("protect", "others.csv", "--recipe", "r.toml", "--out", "other")
    for pair in (("release", "other"), ("other", "release")):
        with pytest.raises(BadInput) as error:
            attack(*pair)
        assert str(error.value) == (
            "people.csv is not the table that other was made from; two releases are put together "
            "only if they are of the same table"
        )


def test_an_engines_release_is_attacked(folder):
    run("protect", "people.csv", "--recipe", "r.toml", "--out", "big", "--engine", "duckdb")
    assert "Inference of ill:" in attack("big", "--holdout", "others.csv")


def test_of_many_records_a_sample_is_attacked_and_the_intervals_are_wider(folder, monkeypatch):
    run("protect", "people.csv", "--recipe", "r.toml", "--out", "big", "--engine", "duckdb")
    words = ("big", "--holdout", "others.csv", "--json")
    whole = json.loads(attack(*words))
    assert not any("released records" in note for note in whole["notes"])
    # About a third of the people: a sample is drawn with some to spare.
    monkeypatch.setattr(attacked, "_ROWS", 10)
    some = json.loads(attack(*words))
    assert any("of 500 released records" in note for note in some["notes"])
    several = some["attacks"][0]["interval"]
    assert several[0] <= whole["attacks"][0]["excess"] <= several[1]
    for one in some["attacks"][2:]:
        assert one["interval"][0] <= 0 <= one["interval"][1]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["release", "--known", "agee"], "known names 'agee'"),
        (["release", "--secret", "name"], "secret names 'name'"),
        (["release", "release", "release"], "give one release to attack, or two"),
        (["release", "release", "--holdout", "others.csv"], "without a holdout"),
        (["release", "--holdout", "r.csv"], "r.csv"),
    ],
)
def test_what_cannot_be_attacked_is_refused(folder, words, said):
    with pytest.raises((BadInput, OSError), match=said):
        attack(*words)


def test_a_file_without_its_internal_folder_is_read_in_the_order_of_the_original(folder):
    known = ("--known", "age,town")
    assert json.loads(attack("release", *known, "--json"))["notes"] == []
    (folder / "release/public/table.csv").rename(folder / "alone.csv")
    [note] = json.loads(attack("alone.csv", *known, "--json"))["notes"]
    assert note.startswith("without its internal folder, the release is taken to have the")


def test_attacks_on_another_release_leave_a_policy_open(folder):
    rule = "rule = 'attack'\nattack = 'linkability'\nmost = 1\nsays = 'No more than that.'\nsource = '1'"
    head = "title = 'House'\nsource = 'Handbook'\ndate = 2024-05-01\n"
    (folder / "house.toml").write_text(f"{head}[[rules]]\n{rule}\n")
    run("protect", "people.csv", "--recipe", "r.toml", "--out", "another")
    (folder / "attacks.json").write_text(attack("release", "--json"))
    without = ["--policy", "house.toml", "--attacks", "attacks.json"]
    assert "Against House: 1 open" in run("check", "release", *without)
    held = ("--holdout", "others.csv", "--json")
    (folder / "attacks.json").write_text(attack("release", *held))
    given = ["--policy", "house.toml", "--attacks", "attacks.json"]
    assert "Against House: 1 kept" in run("check", "release", *given)
    text = " ".join(run("check", "another", *given).split())
    assert "linkability was measured on another release; measure it on this one" in text


def test_an_attack_that_left_something_out_keeps_no_rule(folder):
    """With fewer known columns, another secret, or a table alone, it says less than the rule asks."""
    recipe = RECIPE.replace('"ill"', '"ill", "job"')
    people = pd.read_csv("people.csv").assign(job="none")
    people.to_csv("people.csv", index=False)
    pd.read_csv("others.csv").assign(job="none").to_csv("others.csv", index=False)
    (folder / "r.toml").write_text(recipe)
    run("protect", "people.csv", "--recipe", "r.toml", "--out", "release", "--force")
    rule = "rule = 'attack'\nattack = 'inference'\nmost = 1\nsays = 'No more.'\nsource = '1'"
    head = "title = 'House'\nsource = 'Handbook'\ndate = 2024-05-01\n"
    (folder / "house.toml").write_text(f"{head}[[rules]]\n{rule}\n")

    def held_against(*words):
        found = attack(*words, "--holdout", "others.csv", "--json")
        (folder / "attacks.json").write_text(found)
        text = run("check", "release", "--policy", "house.toml", "--attacks", "attacks.json")
        return " ".join(text.split())

    assert "Against House: 1 kept" in held_against("release")
    assert "repeat it without --secret: 'job' not tried" in held_against(
        "release", "--secret", "ill"
    )
    assert "with all quasi columns known: 'town' not tried" in held_against(
        "release", "--known", "age"
    )
    (folder / "alone").mkdir()
    people.to_csv(folder / "alone" / "t.csv", index=False)
    by_file = held_against("alone/t.csv", "--known", "age,town", "--secret", "ill")
    assert "does not say on which release it was measured" in by_file


def test_figures_that_make_no_sense_keep_no_rule(folder):
    found = json.loads(attack("release", "--holdout", "others.csv", "--json"))
    (folder / "house.toml").write_text(
        "title = 'House'\nsource = 'H'\ndate = 2024-05-01\n[[rules]]\nrule = 'attack'\n"
        "attack = 'singling out'\nmost = 1\nsays = 'No more.'\nsource = '1'\n"
    )
    for excess, interval in ((float("nan"), [0.0, float("nan")]), (0.9, [-1.0, 0.5])):
        found["attacks"][1] |= {"excess": excess, "interval": interval}
        (folder / "attacks.json").write_text(json.dumps(found))
        with pytest.raises(BadInput, match="without figures, or without sense"):
            run("check", "release", "--policy", "house.toml", "--attacks", "attacks.json")


def test_the_original_is_no_holdout(folder):
    with pytest.raises(BadInput, match="the holdout is the original"):
        attack("release", "--holdout", "people.csv")
