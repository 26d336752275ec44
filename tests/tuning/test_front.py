"""A front on disk: private, whole, with recipes that are ready to run."""

import json
import os

import pytest

from discreet.errors import BadInput
from discreet.recipe import Recipe
from discreet.tuning.front import Front
from discreet.tuning.points import Axis, Point

RECIPE = Recipe.from_dict(
    {
        "roles": {"confidential": ["pay"]},
        "steps": [{"method": "rank-swap", "columns": ["pay"], "p": 5.0}],
        "seed": 7,
        "allow_predictable_seed": True,
    }
)


def front(**options):
    points = [
        Point("01", RECIPE, 0.02, 0.4, ["pay\nswapped"], {"distance_linkage": 0.01},
              {"pay": 0.4}, {"risk": (0.01, 0.03), "loss": (0.39, 0.41)}),
        Point("02", RECIPE, 0.3, 0.1, ["pay kept as it is"]),
    ]  # fmt: skip
    axes = Axis("linkage", None, "share", 1.0), Axis("information loss", None, top=1.0)
    return Front(points, *axes, rows=100, seconds=1.23, **options)


def test_a_saved_front_is_private_and_whole(tmp_path):
    folder = front().save(tmp_path / "front")
    assert sorted(path.name for path in folder.iterdir()) == [
        "README", "front.json", "index.html", "recipes",
    ]  # fmt: skip
    assert {oct(os.stat(path).st_mode)[-3:] for path in (folder, folder / "recipes")} == {"700"}
    assert {oct(os.stat(path).st_mode)[-3:] for path in folder.rglob("*.*")} == {"600"}
    assert "Never share it." in (folder / "README").read_text()
    assert [path.name for path in tmp_path.iterdir()] == ["front"]
    content = json.loads((folder / "front.json").read_text())
    assert content == {**front().to_dict(), "seconds": None}


def test_saved_recipes_run_with_seeds_of_their_own(tmp_path):
    folder = front().save(tmp_path / "front")
    for name in ("01", "02"):
        recipe = Recipe.load(folder / "recipes" / f"{name}.toml")
        assert recipe.seed is None
        assert not recipe.allow_predictable_seed
        assert recipe.steps == RECIPE.steps
    text = (folder / "recipes" / "01.toml").read_text()
    assert text.startswith(
        "# Recipe 01: risk 2 % (linkage), loss 0.4 (information loss).\n# - pay swapped\n\n"
    )


def test_only_fronts_are_replaced_and_only_when_asked(tmp_path):
    target = tmp_path / "front"
    front().save(target)
    with pytest.raises(BadInput, match="exists; choose another place, or replace it with --force"):
        front().save(target)
    front(seed=5).save(target, force=True)
    assert json.loads((target / "front.json").read_text())["seed"] == 5
    other = tmp_path / "other"
    other.mkdir()
    (other / "thesis.txt").write_text("mine")
    with pytest.raises(BadInput, match="exists and is not a front, so it is not replaced"):
        front().save(other, force=True)
    assert (other / "thesis.txt").read_text() == "mine"
    with pytest.raises(BadInput, match=r"front\.csv cannot be written"):
        front().save(tmp_path / "front.csv")


def test_what_a_user_put_into_a_front_is_never_deleted(tmp_path):
    target = tmp_path / "front"
    front().save(target)
    for name in ("notes.txt", "recipes/mine.toml"):
        (target / name).write_text("mine")
        with pytest.raises(BadInput, match=f"it also holds '{name}'; move that elsewhere"):
            front().save(target, force=True)
        assert (target / name).read_text() == "mine"
        (target / name).unlink()
    front().save(target, force=True)


def test_other_files_named_like_those_of_a_front_are_not_replaced(tmp_path):
    target = tmp_path / "diary"
    target.mkdir()
    (target / "journal.jsonl").write_text('{"day": 1}\n')
    with pytest.raises(BadInput, match="exists and is not a front"):
        front().save(target, force=True)
    (target / "front.json").write_text("{}")
    with pytest.raises(BadInput, match="exists and is not a front"):
        front().save(target, force=True)
    assert (target / "journal.jsonl").read_text() == '{"day": 1}\n'


def test_the_journal_of_the_search_stays(tmp_path):
    target = tmp_path / "front"
    target.mkdir()
    (target / "journal.jsonl").write_text('{"version": "1"}\n')
    front().save(target)
    front().save(target, force=True)
    assert (target / "journal.jsonl").read_text() == '{"version": "1"}\n'


def test_plain_data_say_what_is_best():
    content = front().to_dict()
    assert content["best"] == "01"
    assert content["points"][0]["recommended"] == [
        "best balance", "least loss within the risk bound", "safest at a bearable loss",
    ]  # fmt: skip
    assert content["points"][0]["spread"] == {"risk": [0.01, 0.03], "loss": [0.39, 0.41]}
    assert content["figures"] == [
        {"key": "distance_linkage", "name": "found by distance", "unit": "share",
         "better": "small"},
    ]  # fmt: skip
    assert json.dumps(content)


def test_a_front_without_points_is_refused():
    with pytest.raises(BadInput, match="no recipe held up on fresh seeds"):
        Front([], Axis("linkage"), Axis("loss"), rows=10)
