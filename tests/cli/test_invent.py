"""`discreet invent`: an invented table in a file."""

import pytest

from discreet import datasets, read_table
from discreet.cli import main


def run(monkeypatch, *words: str) -> int:
    monkeypatch.setattr("sys.argv", ["discreet", *words])
    with pytest.raises(SystemExit) as ended:
        main()
    return int(ended.value.code or 0)


@pytest.mark.parametrize(
    ("kind", "made"),
    [
        ("people", lambda: datasets.make_households(30, seed=4)),
        ("survey", lambda: datasets.make_households(30, seed=4, survey=True)),
        ("visits", lambda: datasets.make_episodes(30, seed=4)),
        ("businesses", lambda: datasets.make_businesses(30, seed=4)),
    ],
)
def test_file_holds_what_the_function_of_that_name_makes(kind, made, tmp_path, monkeypatch, capsys):
    path = tmp_path / "t.parquet"
    assert run(monkeypatch, "invent", kind, str(path), "--size", "30", "--seed", "4") == 0
    assert read_table(path).equals(made())
    assert f"{made().num_rows:,} rows" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["peple", "new.csv"], "did you mean 'people'"),
        (["people", "old.csv"], "old.csv exists; choose another name"),
        (["people", "no/new.xlsx"], "cannot write to no/new.xlsx: there is no folder no"),
        (["visits", "new.csv", "--null-rate", "0.1"], "leave out --null-rate"),
    ],
)
def test_what_cannot_be_is_said_in_a_sentence_and_nothing_is_written(
    words, said, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "old.csv").write_text("a\n1\n")
    assert run(monkeypatch, "invent", *words) == 2
    assert said in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["old.csv"]
    assert (tmp_path / "old.csv").read_text() == "a\n1\n"
