import os
import re
import sys

import pytest

from discreet.errors import BadInput
from discreet.tuning.figures import Figures
from discreet.tuning.journal import Journal

HEADER = {"table": "a1", "recipe": "b2", "seed": 0, "version": "0.1"}


def written(path, n=5):
    journal = Journal(path, HEADER)
    for number in range(n):
        journal.add((number, 1), None if number % 2 else 50, Figures(0.1 * number, 1 / 3))
    journal.close()
    return journal.known


def test_a_journal_is_read_as_it_was_written(tmp_path):
    path = tmp_path / "journal.jsonl"
    known = written(path)
    assert Journal(path, HEADER, resume=True).known == known
    assert oct(path.stat().st_mode)[-3:] == "600"


@pytest.mark.parametrize("cut", range(1, 60, 7))
def test_a_torn_line_is_left_out_and_the_journal_goes_on_after_the_last_whole_one(tmp_path, cut):
    path = tmp_path / "journal.jsonl"
    known = written(path)
    whole = path.read_bytes()
    os.truncate(path, len(whole) - cut)
    journal = Journal(path, HEADER, resume=True)
    assert journal.known.items() <= known.items()
    for key, figures in list(known.items())[len(journal.known) :]:
        journal.add(*key, figures)
    journal.close()
    assert path.read_bytes() == whole


def test_a_journal_without_a_whole_header_is_begun_anew(tmp_path):
    path = tmp_path / "journal.jsonl"
    path.write_text('{"table": "a1", "rec')
    assert Journal(path, HEADER, resume=True).known == {}
    assert Journal(path, HEADER, resume=True).known == {}


def test_another_search_is_refused_by_what_differs(tmp_path):
    path = tmp_path / "front" / "journal.jsonl"
    path.parent.mkdir()
    written(path)
    message = (
        f"'{path.parent}' is of a search with another recipe; "
        "search into another folder, or without resuming"
    )
    with pytest.raises(BadInput, match=f"^{re.escape(message)}$"):
        Journal(path, HEADER | {"seed": 1, "recipe": "c3"}, resume=True)


@pytest.mark.skipif(sys.platform == "win32", reason="no such locks")
@pytest.mark.parametrize("resume", [False, True])
def test_two_searches_do_not_write_to_the_same_journal(tmp_path, resume):
    path = tmp_path / "journal.jsonl"
    first = Journal(path, {"seed": 1})
    first.add((0, 1), None, Figures(0.5, 0.1))
    text = path.read_text()
    with pytest.raises(BadInput, match=r"another search is under way in '.*'; wait for its end"):
        Journal(path, {"seed": 1}, resume=resume)
    assert path.read_text() == text
    first.close()
    assert len(Journal(path, {"seed": 1}, resume=resume).known) == resume


@pytest.mark.parametrize("line", ["5", "[1]", "[[0], null, 3]", '[["a"], null, [1, 2, 3]]', "{}"])
def test_what_is_no_line_of_a_journal_ends_it(tmp_path, line):
    path = tmp_path / "journal.jsonl"
    known = written(path)
    whole = path.read_bytes()
    path.write_bytes(whole + line.encode() + b"\n")
    assert Journal(path, HEADER, resume=True).known == known
    assert path.read_bytes() == whole
    path.write_text(line + "\n")
    with pytest.raises(BadInput, match="is of a search with another table"):
        Journal(path, HEADER, resume=True)
